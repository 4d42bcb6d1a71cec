"""`kafka-chaos audit --prove`: somebody's own configurations, run through the faults of the matrix.

Each case of an answer (a producer, resolved one way, on a topic) becomes a subject of the audit's scenarios: a client
of its own release with its own settings, and a topic as audited. All that are on one version are struck by one run of
each fault. What cannot be as configured is told in the answer, never silently changed:

* Brokers are those that the matrix is measured on, one version for each line (`MEASURED`): sequences are proved there.
  A fault in which these do otherwise than the brokers that were audited is not run (eligible leader replicas).
* Kafka's own clients are those whose jars are locked: the nearest release with the same defaults and rules; librdkafka
  is the one that is installed. There are three replicas at most.
* Settings go to the client as they are written if they are numbers, switches, or names of acks and compression, and the
  client knows them. Any other text stays out, and with it every address, class, path, identity and secret. None of
  these is ever in a run directory, and neither are the producer's and its topics' names.
* Time-outs are those of the scenario in place of the configuration's.

The scenario's rule states what such settings mean, and so what must come of the subject, if the matrix's domain has
them. Nothing is stated of others, and what comes of them is observed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import structs

from app.audit_cells import VERSIONS, cells_of, line_of, same_fields, scenarios
from app.matrix import Matrix, MatrixCell
from audit.cells import LAST_REPLICA, CellKey, canonical, normal
from audit.defaults import NAMES, RULES, product
from audit.grade import AuditAnswer, ProducerCase, with_proofs
from audit.known import Kind, known
from audit.model import Setting
from audit.proof import Proof, Proved
from audit.resolve import Resolved, written
from audit.topics import IF_ONE
from evidence import borders
from evidence.errors import HarnessError, UsageError
from evidence.releases import numbers
from evidence.rundir import RunDir
from evidence.text import plural
from harness.cluster import disks, versions
from harness.cluster.docker import connect
from harness.setup.images import ensure_image
from harness.setup.jars import LOCKS
from harness.subjects import MANY, NOTHING_STATED, ClientSettings, Producer, Topic, UserSubject, write_user_subjects
from harness.workloads.libraries import library, understood
from harness.workloads.settings import LIBRDKAFKA, SCALA

if TYPE_CHECKING:
    from docker import DockerClient

MOST_REPLICAS: Final = 3
MOST_IN_SYNC: Final = 2
"""Of min.insync.replicas, in the matrix's domain."""
LONGEST_LINGER_MS: Final = 10_000
"""A linger that leaves room for a request within the delivery time-out of a run."""
KNOWN_AS: Final[Mapping[str, Kind]] = {"java": "java-producer", "scala": "scala-producer", LIBRDKAFKA: "librdkafka"}

NUMBER_OR_SWITCH: Final = re.compile(r"-?\d{1,19}(\.\d{1,9})?|true|false", re.IGNORECASE)
WORDS: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("acks", "request.required.acks"), frozenset({"all"})),
    **dict.fromkeys(
        ("compression.type", "compression.codec"), frozenset({"none", "gzip", "snappy", "lz4", "zstd", "inherit"})
    ),
    "queuing.strategy": frozenset({"fifo", "lifo"}),
}
"""The settings that are neither, and what they may be."""
TIME_OUTS: Final = frozenset(
    {"request.timeout.ms", "delivery.timeout.ms", "message.timeout.ms", "socket.timeout.ms",
     "socket.connection.setup.timeout.ms"}
)  # fmt: skip
LINGERS: Final = frozenset({"linger.ms", "queue.buffering.max.ms"})
UNFIT: Final = re.compile(
    r"(ssl|sasl|security|test|internal|log|plugin|metrics?|config|transaction(al)?|enable\.ssl|enable\.sasl)[._].*"
    r"|delivery\.report\.only\.error|dr(_msg)?_cb|statistics\.interval\.ms|enable\.metrics\.push"
)
"""What a run has no use for, or is not to have, whatever its value."""

Echo = Callable[[str], None]


class Unprovable(Exception):
    """Why a case cannot be run at all, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofRequest:
    """A case that is to be proved: where it stands in the answer, and how it is run."""

    at: tuple[int, int]
    case: ProducerCase
    version: str = ""
    given: UserSubject | None = None
    differs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    why_not: str = ""

    def faults(self, chosen: Sequence[str]) -> list[str]:
        """Those of the chosen that there are for its topic."""
        return [fault for fault in chosen if fault in self.case.applies]

    def why_not_by(self, fault: str) -> str:
        """Why one fault would prove something else, or nothing, on the version that is run; empty if it would not."""
        asked = CellKey(**asdict(normal(self.case.settings)[0]), fault=fault)
        here = replace(asked, version=self.version)
        if replace(canonical(asked)[0], version="") != replace(canonical(here)[0], version=""):
            return f"{self.version}, on which it would be run, does otherwise than {asked.version} with such a topic"
        if fault == LAST_REPLICA and asked.line == "old" and not asked.unclean:
            return "with unclean elections off such brokers exit rather than follow the one that returns"
        return ""


def prove(answer: AuditAnswer, options: argparse.Namespace, echo: Echo) -> AuditAnswer:
    """The answer, with what came of each of its configurations. Raises UsageError for faults that do not exist."""
    chosen = chosen_faults(options.faults)
    wanted = [
        proof_request((row_at, case_at), case)
        for row_at, row in enumerate(answer.rows)
        for case_at, case in enumerate(row.cases)
        if not case.resolved.refused and case.topic.provided != IF_ONE
    ]
    ran = _run(wanted, chosen, options, echo) if any(one.given for one in wanted) else {}
    proved = {one.at: _proved(one, chosen, ran) for one in wanted}
    rows = []
    for row_at, row in enumerate(answer.rows):
        cases = [
            with_proofs(case, proved[row_at, case_at]) if (row_at, case_at) in proved else case
            for case_at, case in enumerate(row.cases)
        ]
        rows.append(replace(row, cases=tuple(cases)))
    return replace(answer, rows=tuple(rows))


def chosen_faults(names: Sequence[str]) -> list[str]:
    """The faults to prove: these, or all that scenarios of the audit have. Raises UsageError for a fault that does not
    exist.
    """
    there = [fault for fault in scenarios() if fault != "none"]
    for name in names:
        if name not in there:
            raise UsageError(f"--faults {name!r}: what can be proved is {', '.join(there)}")
    return list(dict.fromkeys(names)) or there


# How a configuration is run


def proof_request(at: tuple[int, int], case: ProducerCase) -> ProofRequest:
    """How a case is run, or why it cannot be."""
    try:
        version, differs = _version(case)
        client, release, more = _client(case.resolved, versions.get(version))
        topic, others = _topic(case)
        settings, notes = settings_to_run(case.resolved, release)
        apart = tuple(filter(None, (differs, more, *others)))
        given = UserSubject(
            producer=same_fields(Producer, case.settings, retries=MANY if case.resolved.retries.value else "0"),
            topic=topic,
            own=ClientSettings(release=release, settings=settings, stated=_in_domain(case, client, version)),
        )
    except Unprovable as error:
        return ProofRequest(at=at, case=case, why_not=str(error))
    return ProofRequest(at=at, case=case, version=version, given=given, differs=apart, notes=notes)


def _version(case: ProducerCase) -> tuple[str, str]:
    """The version that is measured of the brokers' line, and how it differs from what was audited."""
    version = next(one for one in map(versions.get, VERSIONS) if line_of(one) == case.topic.line)
    asked = case.topic.version.value
    return version.id, "" if numbers(asked) == numbers(version.kafka) else f"run on {version.id}, audited {asked}"


def _client(resolved: Resolved, version: versions.Version) -> tuple[str, str, str]:
    """The client, the release that is run, and how that differs from what was audited."""
    client, asked = resolved.client, resolved.release
    rules = RULES[client]
    if client == LIBRDKAFKA:
        from confluent_kafka import libversion

        there = [libversion()[0]]
    else:
        there = [path.stem for path in Path(LOCKS).glob("*.lock")]
    if client != LIBRDKAFKA and not understood(numbers(asked), version.release):
        raise Unprovable(f"{product(client, asked)} and brokers of {version.kafka} do not understand each other")
    alike = [each for each in there if rules(each) == rules(asked) and _understood(client, each, version)]
    if not alike:
        raise Unprovable(
            f"no client that is here does what {product(client, asked)} does and is understood by {version.id}: "
            f"{', '.join(sorted(there, key=numbers))}"
        )
    release = min(alike, key=lambda each: _apart(each, asked))
    same = numbers(release) == numbers(asked) or not resolved.producer.release
    return client, release, "" if same else f"run with {product(client, release)}, audited {asked}"


def _understood(client: str, release: str, version: versions.Version) -> bool:
    try:
        library(client if client == LIBRDKAFKA else f"{client}-{release}", version)
    except UsageError:
        return False
    return True


def _apart(one: str, other: str) -> tuple[int, ...]:
    pairs = zip((*numbers(one), 0, 0, 0, 0)[:4], (*numbers(other), 0, 0, 0, 0)[:4], strict=True)
    return tuple(abs(a - b) for a, b in pairs)


def _topic(case: ProducerCase) -> tuple[Topic, list[str]]:
    factor, least = case.settings.replication_factor, case.settings.min_insync_replicas
    if least > factor:
        raise Unprovable(f"min.insync.replicas={least} is more than there are replicas, {factor}: nothing is written")
    if least > MOST_REPLICAS:
        raise Unprovable(f"min.insync.replicas={least} needs more than the {MOST_REPLICAS} replicas of a run")
    topic = same_fields(Topic, case.settings, replication_factor=min(factor, MOST_REPLICAS))
    return topic, [f"run with {MOST_REPLICAS} replicas, audited {factor}"] if factor > MOST_REPLICAS else []


def _in_domain(case: ProducerCase, client: str, version: str) -> bool:
    """Whether the matrix has cells of such a client and topic, and so a rule of what comes of them."""
    where_scala_is = client != SCALA or versions.get(version).release < borders.IDEMPOTENT_PRODUCERS.release
    return where_scala_is and case.topic.min_insync_replicas.value <= MOST_IN_SYNC


def settings_to_run(resolved: Resolved, release: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """The settings to run a client of this release with, and notes on the settings left out.

    The notes name keys only: a value that is left out may be a secret.
    """
    producer, client = resolved.producer, resolved.client
    here = known(KNOWN_AS[client]).at(release)
    settings: dict[str, Setting] = {**producer.presets, **producer.settings}
    for concept, names in NAMES[client].items():  # of several names for one thing the one that counts
        counts = written(producer, client, concept)
        for name in names:
            if counts is not None and name in settings and name != counts.key:
                del settings[name]
    given, replaced, left_out = {}, [], []
    for key, setting in sorted(settings.items()):
        if key in TIME_OUTS:
            replaced.append(key)
        elif key in here and _fits(key, setting, client):
            given[key] = setting.value
        else:
            left_out.append(key)
    notes = []
    if resolved.idempotence.value and "transactional.id" in settings and "enable.idempotence" not in given:
        given["enable.idempotence"] = "true"
        notes.append("enable.idempotence=true in place of transactional.id, which asks for it: no transactions are run")
    if left_out:
        notes.append(f"left out, since no run needs or may have them: {', '.join(left_out)}")
    if replaced:
        notes.append(f"the run's own time-outs in place of {', '.join(replaced)}")
    return given, tuple(notes)


def _fits(key: str, setting: Setting, client: str) -> bool:
    if not setting.known or UNFIT.fullmatch(key):
        return False
    value = setting.value.lower()
    if key in LINGERS and (not value.isdecimal() or int(value) > LONGEST_LINGER_MS):
        return client == SCALA and value.isdecimal()  # that is of producer.type=async, which is not run
    return bool(NUMBER_OR_SWITCH.fullmatch(value)) or value in WORDS.get(key, frozenset())


# Runs

Ran = dict[tuple[str, str, UserSubject], Proof]
"""By version, fault and subject."""
Groups = dict[tuple[str, tuple[UserSubject, ...]], list[str]]
"""Faults, by the version and the subjects that they strike together."""


def _run(wanted: Iterable[ProofRequest], chosen: Sequence[str], options: argparse.Namespace, echo: Echo) -> Ran:
    """Run each fault on each version once, with all subjects that it is to strike there. Where that proves nothing,
    once more for each by itself: one whose client fails is not to hide the others.
    """
    by_version: dict[str, list[ProofRequest]] = {}
    for one in wanted:
        if one.given is not None:
            by_version.setdefault(one.version, []).append(one)
    client = connect()
    for version in by_version:
        ensure_image(versions.get(version).build, echo)
    lacking = without_disks(chosen, client, versions.get(next(iter(by_version))).image)
    found: Ran = {}
    for fault, why in lacking.items():
        echo(f"{fault} cannot be proved here: {why}")
        found |= {(one.version, fault, one.given): Proof(fault=fault, why_not=why) for one in wanted if one.given}
    groups: Groups = {}
    for version, those in by_version.items():
        for fault in (each for each in chosen if each not in lacking):
            struck = [one for one in those if fault in one.faults(chosen) and not one.why_not_by(fault)]
            given = tuple(dict.fromkeys(one.given for one in struck if one.given))
            if given:
                groups.setdefault((version, given), []).append(fault)
    options.runs_dir.mkdir(parents=True, exist_ok=True)
    count = sum(map(len, groups.values()))
    echo(f"to prove: {plural(count, 'run')}, {options.jobs} at a time, in {options.runs_dir}")
    found |= _run_groups(groups, options, echo)
    alone: Groups = {}
    for (version, given), faults in groups.items():
        for subject in given if len(given) > 1 else ():
            if again := [fault for fault in faults if found[version, fault, subject].cell is None]:
                alone[version, (subject,)] = again
    if alone:
        echo(f"to prove one by one, for what was run together proves nothing: {sum(map(len, alone.values()))} runs")
        found |= _run_groups(alone, options, echo)
    return found


def without_disks(faults: Iterable[str], client: DockerClient, image: str) -> dict[str, str]:
    """The faults that take file systems of their own which cannot be had here, each with the reason."""
    known, lacking = scenarios(), dict[str, str]()
    for fault in faults:
        if (plan := known[fault].cluster.disks) is not None:
            try:
                disks.probe(client, image, plan.file_system)
            except (UsageError, HarnessError) as error:
                lacking[fault] = str(error)
    return lacking


def _run_groups(groups: Groups, options: argparse.Namespace, echo: Echo) -> dict[tuple[str, str, UserSubject], Proof]:
    """Run each group's faults, and what they prove."""
    found: dict[tuple[str, str, UserSubject], Proof] = {}
    known_scenarios = scenarios()
    for (version, given), faults in groups.items():
        path = options.runs_dir / f"subjects-{_digest(given)}.json"
        write_user_subjects(given, path)
        wanted_cells = {
            MatrixCell(scenario=known_scenarios[fault].name, version=version, seed=1): fault for fault in faults
        }
        runs = Matrix(root=options.runs_dir, settings={}, jobs=options.jobs, echo=echo, subjects=path)
        done = runs.run(list(wanted_cells))
        for cell, fault in wanted_cells.items():
            proofs = _proofs(fault, given, version, done.get(cell), runs.lost)
            found |= {(version, fault, one): proof for one, proof in proofs.items()}
    return found


def _digest(given: Sequence[UserSubject]) -> str:
    return hashlib.sha256(json.dumps([one.as_json for one in given], sort_keys=True).encode()).hexdigest()[:12]


def _proofs(
    fault: str, given: Sequence[UserSubject], version: str, run_dir: RunDir | None, lost: Sequence[str]
) -> dict[UserSubject, Proof]:
    """What a run proves of each of its subjects."""
    if run_dir is None:
        return dict.fromkeys(given, Proof(fault=fault, why_not="; ".join(lost) or "there was no run"))
    where = str(run_dir.path)
    try:
        subjects, cells = run_dir.read_run().subjects, list(cells_of(run_dir))
    except UsageError as error:
        return dict.fromkeys(given, Proof(fault=fault, run_dir=where, why_not=str(error)))
    by_identity = {_told(structs.asdict(one)): cell for one, cell in zip(subjects, cells, strict=True)}
    missing = Proof(fault=fault, run_dir=where, why_not="the run has no such subject")
    found = {}
    for one in given:
        cell = by_identity.get(_identity(one, version))
        found[one] = missing if cell is None else Proof(fault=fault, run_dir=where, cell=cell)
    return found


KEY: Final = (
    "client", "acks", "idempotence", "in_flight", "retries", "replication_factor", "min_insync_replicas", "unclean",
    "flush_each", "client_release", "own",
)  # fmt: skip


def _identity(given: UserSubject, version: str) -> str:
    """What tells a subject from others, as `_told` has it of a run's."""
    subject = given.subject(NOTHING_STATED)
    value = subject.key | {
        "client_release": subject.library(versions.get(version)).release,
        "own": dict(given.own.settings),
    }
    return _told(value)


def _told(subject: Mapping[str, Any]) -> str:
    return json.dumps([subject.get(name) for name in KEY], sort_keys=True)


# The answer


def _proved(one: ProofRequest, chosen: Sequence[str], ran: Ran) -> Proved:
    faults = one.faults(chosen)
    if one.given is None:
        return Proved(proofs=tuple(Proof(fault=fault, why_not=one.why_not) for fault in faults))
    proofs = tuple(
        Proof(fault=fault, why_not=why)
        if (why := one.why_not_by(fault))
        else replace(ran[one.version, fault, one.given], differs=one.differs)
        for fault in faults
    )
    overrides: dict[str, set[str]] = {}
    for proof in proofs:
        for key, value in proof.cell.overrides.items() if proof.cell is not None else ():
            overrides.setdefault(key, set()).add(value)
    short = ", ".join(f"{key}={' or '.join(sorted(values, key=int))}" for key, values in sorted(overrides.items()))
    notes = [*one.notes, *([f"time-outs of the runs: {short}"] if short else [])]
    if not one.given.own.stated:
        notes.append("nothing is stated of such settings beforehand: what came of them was observed")
    return Proved(proofs=proofs, notes=tuple(notes))
