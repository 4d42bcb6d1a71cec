"""One scenario, one version, one seed: from nothing to a complete run directory.

    create containers → start the coordinator and the controller's broker → the rest → topic → the steps
      → heal, restart whoever is down, wait for full ISRs → final read → copies of replicas → seal: "complete"

A run directory is opened before anything else and `run.json` says "running" until the very end, so a run that
was killed is known for what it is. The final part is done whatever became of the steps, as far as it can be:
a sequence that went astray may still have lost something. Containers are removed in the background while the
analysis runs (harness/removal.py). On Ctrl-C, SIGTERM, SIGHUP or any error they are removed before it is passed on, and
before `run.json` says so: a full disk may refuse that, and live data takes most of the room.
"""

from __future__ import annotations

import os
import platform
import re
import secrets
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from docker.errors import DockerException
from msgspec import convert
from msgspec.structs import replace

from evidence import ledger, manifest
from evidence import timeline as timelines
from evidence.errors import (
    FaultUnproved,
    HarnessError,
    KafkaChaosError,
    NodeEnded,
    RecorderDied,
    UsageError,
    WaitTimeout,
    refusal,
)
from evidence.events import End, Event, Firewall, Software, Unread
from evidence.history.seal import seal_run
from evidence.run import (
    DEFAULT_CASE,
    CaseChanges,
    DisksRecord,
    DocumentedRecord,
    HostRecord,
    RunRecord,
    SequenceRecord,
    full_name,
)
from evidence.rundir import RunDir
from evidence.timeline import Timeline
from harness.cluster import cluster as clusters
from harness.cluster import versions
from harness.cluster.admin import open_admin
from harness.cluster.disks import DiskMounter, make_disks, release, require_disks, require_maker, writeback
from harness.cluster.docker import connect, find_ours, remove, unanswered, why_unanswered
from harness.cluster.namespace import namespace
from harness.cluster.networks import may_be_elsewhere, require_reached
from harness.cluster.ownership import owner
from harness.cluster.relay import Relays
from harness.cluster.stores import make_store
from harness.faults.network import foreign_rules
from harness.load import load
from harness.observers import broker_logs, transactions
from harness.observers.docker_events import DockerEvents
from harness.observers.kraft import KRaftObserver
from harness.observers.machine import MachineObserver
from harness.observers.packet_filters import PacketFilters
from harness.observers.zookeeper import ZooKeeperObserver
from harness.plan import SECOND, layout
from harness.removal import Removals, abandoned_data, abandoned_disks, remove_data
from harness.run import START_LIMIT_S, DutyNotDone, Partition, Parts, PreconditionNotHeld, Run
from harness.run.record import GrowingRecord, topic_record
from harness.run.who import partitions_of
from harness.scenario import mistakes_told
from harness.setup import builds, jars, own
from harness.setup.images import ensure_image
from harness.setup.store_image import ensure_store_image, store_image
from harness.subjects import NOTHING_STATED, UserSubject, read_user_subjects
from harness.workloads.handles.client import FinalReader
from harness.workloads.libraries import Library, library

if TYPE_CHECKING:
    from docker import DockerClient

    from harness.cluster.state import ClusterObserver
    from harness.cluster.versions import Version
    from harness.plan import ClusterPlan, Mutant, TopicPlan
    from harness.scenario import Scenario

FINAL_ISR_LIMIT_S: Final = 60.0
LATE_ISR_LIMIT_S: Final = 1.0
QUIET_LIMIT_S: Final = 20.0
LOW_DISK_BYTES: Final = 2 * 1024**3
FULL_DISK_BYTES: Final = 32 * 1024**2
NOT_RUN: Final = (":(top,exclude)results/ledger", ":(top,exclude)results/cells.jsonl")
"""What runs told, which changes no further run: a tree in which runs were entered there is not modified."""
NAMED_CHANGES: Final = 3
"""Changed files that are named."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to run."""

    scenario: Scenario
    version: Version
    case: str = DEFAULT_CASE
    seed: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)
    """Broker settings of the user's own, over all others."""
    expect: tuple[str, ...] | None = None
    """The anomalies that the user expects, in place of what is documented; None: no expectation of the user's."""
    client: str | None = None
    """The producers to drive, in place of the case's."""
    subjects: Path | None = None
    """A file of the user's own subjects, in place of the scenario's (harness/subjects.py)."""
    unconfirmed: str = ""
    """If no recorded run showed what is documented on this very version: a sentence that says so."""
    root: Path = Path("runs")
    keep: bool = False
    """Leave the cluster up and its data in place."""
    mutant: Mutant | None = None
    """Brokers that were changed on purpose, in place of the release's."""

    @property
    def command(self) -> str:
        """The command that runs this again."""
        case = f" --case {self.case}" if self.case != DEFAULT_CASE else ""
        options = "".join(f" --setting {key}={value}" for key, value in sorted(self.settings.items()))
        if self.client is not None:
            options += f" --client {shlex.quote(self.client)}"
        if self.subjects is not None:
            options += f" --subjects {shlex.quote(str(self.subjects))}"
        if self.expect is not None:
            options += f" --expect {','.join(self.expect) or 'none'}"
        program = "kafka-chaos run" if self.mutant is None else self.mutant.command
        return f"{program} {self.scenario.name}{case} --version {self.version.id} --seed {self.seed}{options}"

    @property
    def layout(self) -> dict[int, int]:
        """Which broker plays the role of which of the scenario's replicas, from the seed."""
        return layout(self.scenario.cluster_of(self.scenario.case(self.case)).brokers, self.seed)

    @property
    def cluster(self) -> ClusterPlan:
        """The cluster of this run: the scenario's, the case's settings, the seed's layout, the mutant's image."""
        plan = self.scenario.cluster_of(self.scenario.case(self.case)).laid_out(self.layout)
        return plan if self.mutant is None else plan.mutated(self.mutant)

    @property
    def topic(self) -> TopicPlan:
        """The topic of this run, likewise."""
        return self.scenario.topic_of(self.scenario.case(self.case)).laid_out(self.layout)

    @property
    def library(self) -> Library:
        """The producers of this run. Raises UsageError for a client that does not exist."""
        return library(self.client or self.scenario.case(self.case).client, self.version)

    def require_client(self) -> None:
        """Hold the client to what the case needs of it. Raises UsageError for one of the user's own that has it not."""
        case = self.scenario.case(self.case)
        self.library.require(self.scenario.needs_of(case), full_name(self.scenario.name, case.name))

    @cached_property
    def given(self) -> tuple[UserSubject, ...]:
        """The user's own subjects. Raises UsageError for a file of none, and for clients that are not understood."""
        if self.subjects is None:
            return ()
        if not self.scenario.name.startswith("audit-"):
            raise UsageError(f"{self.scenario.name} takes no --subjects: only scenarios of the audit do (audit-…)")
        given = read_user_subjects(self.subjects)
        for one in given:
            library(one.subject(NOTHING_STATED).library(self.version).name, self.version)
        return given

    @property
    def observed(self) -> bool:
        """Whether nothing is documented for this run: an expectation, a client or settings of the user's own."""
        declared = clusters.broker_settings(self.version, self.cluster, {})
        changed = any(declared.get(key) != value for key, value in self.settings.items())
        return changed or self.expect is not None or self.client is not None


class Phases:
    """How long each part took, in seconds, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        start = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.monotonic() - start, 3)


def run_id(request: Request) -> str:
    """A name for a run that is a valid compose project name too, and that no other run has."""
    stamp = datetime.now(UTC).strftime("%Y%m%dt%H%M%S")
    version = re.sub(r"[^a-z0-9-]", "-", request.version.id.lower())
    case = f"-{request.case}" if request.case != DEFAULT_CASE else ""
    return f"{stamp}-{request.scenario.name}{case}-{version}-s{request.seed}-{secrets.token_hex(2)}"


def git_commit() -> str | None:
    """The commit of the harness, with "+" if the tree has changes, but for what runs told; None outside a checkout."""
    here = Path(__file__).parent
    try:
        sha = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=True
        ).stdout.strip()
        return sha + ("+" if changed_files() else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def changed_files() -> list[str]:
    """What git says is changed in the tree, or new in it, but for what runs told: "?? notes.txt".

    Raises OSError or CalledProcessError outside a checkout.
    """
    command = ["git", "status", "--porcelain", "--", ":/", *NOT_RUN]
    here = Path(__file__).parent
    return subprocess.run(command, cwd=here, capture_output=True, text=True, check=True).stdout.splitlines()


def tell_of_changes(echo: Callable[[str], None]) -> None:
    """Say that runs of a tree with changes will not count, and what is changed: it may be a file that is no code."""
    with suppress(OSError, subprocess.CalledProcessError):
        if changed := changed_files():
            more = f" and {len(changed) - NAMED_CHANGES} more" if len(changed) > NAMED_CHANGES else ""
            named = ", ".join(line.strip() for line in changed[:NAMED_CHANGES])
            echo(f"the tree has changes ({named}{more}): these runs are entered in the ledger and not counted")


def describe_host(client: DockerClient) -> HostRecord:
    """The machine and the engine, as far as they may matter to an outcome."""
    info = client.version()
    return HostRecord(
        system=platform.platform(),
        cores=os.cpu_count(),
        python=platform.python_version(),
        docker=info.get("Version"),
        kernel=platform.release(),
    )


def reap_abandoned(client: DockerClient, root: Path) -> int:
    """Remove what killed harnesses left on the engine, in the run directories of `root`, and as mounted file systems
    anywhere; what a living one owns stays. So does what the engine refuses to remove, such as a network with an
    endpoint of a container that is gone: it is in no run's way, and `kafka-chaos clean` tells of it.
    """
    reaped = 0
    with suppress(HarnessError):
        reaped = remove(find_ours(client, only_abandoned=True))
    left = chain(list(abandoned_data("*/data", root)), abandoned_disks())
    return reaped + sum(remove_data(client, run_dir) is None for run_dir in left)


def check_disk(path: Path) -> None:
    """Refuse to start with less than 2 GiB free: a full disk looks like a broken broker.

    Raises HarnessError.
    """
    free = shutil.disk_usage(path).free
    if free < LOW_DISK_BYTES:
        raise HarnessError(
            f"{path.resolve()}: only {free / 1024**2:.0f} MiB free, a run needs 2 GiB; free some or use --runs-dir"
        )


@dataclass(slots=True)
class Recording:
    """The run directory while it is being written: a record that grows, and the timeline."""

    run_dir: RunDir
    record: GrowingRecord
    timeline: Timeline
    phases: Phases = field(default_factory=Phases)

    def save(self, **changes: Any) -> None:
        self.record.change(**changes, phases=dict(self.phases.seconds))
        self.run_dir.write_run(self.record.run)

    def fail(self, why: str) -> None:
        """Take down why the harness failed, if nothing failed before."""
        self.record.change(failure=self.record.run.failure or why)


def open_recording(request: Request, name: str, settings: Mapping[str, str], client: DockerClient) -> Recording:
    """Make the run directory and write down what is about to be run."""
    run_dir = RunDir(request.root / name)
    run_dir.path.mkdir(parents=True)
    for folder in (run_dir.history, run_dir.config, run_dir.logs, run_dir.replicas, run_dir.data):
        folder.mkdir()
    documented = request.scenario.documented_for(request.version, request.case)
    topic, observed = request.topic, request.observed
    recording = Recording(
        run_dir,
        GrowingRecord(
            RunRecord(
                run=name,
                scenario=request.scenario.name,
                case=request.case,
                client=request.library.name,
                own_client=request.library.record,
                case_changes=convert(request.scenario.case(request.case).as_json(), CaseChanges),
                version=request.version.id,
                kafka=request.version.kafka,
                mutant=request.mutant.name if request.mutant else "",
                mode=request.version.mode,
                seed=request.seed,
                layout=request.layout,
                settings=dict(settings),
                overridden=dict(request.settings),
                observed=observed,
                given=tuple(one.as_json for one in request.given),
                expect=request.expect,
                topics=(topic_record(topic),),
                processes=(),
                subjects=(),
                disks=None,
                drawn=(),
                moments=(),
                sequence=None,
                state="running",
                failure=None,
                documented=DocumentedRecord(
                    required=() if observed else tuple(sorted(documented.required)),
                    allowed=() if observed else tuple(sorted(documented.allowed)),
                    claims=() if observed else tuple(documented.claims),
                    on=documented.on.label,
                    out_of_sync=documented.out_of_sync,
                    claim=documented.as_json().get("sentence", request.scenario.claim),
                    source=documented.source,
                    basis=str(documented.basis),
                    unconfirmed="" if observed else request.unconfirmed,
                    operator=request.scenario.operator,
                ),
                jars=builds.digests(request.version.build),
                build=own.record(request.version.build),
                further_builds=tuple(
                    found
                    for one in clusters.further_versions(request.version, request.cluster)
                    if (found := own.record(one.build)) is not None
                ),
                locked=not request.version.build.own and jars.is_committed(request.version.kafka),
                releases=clusters.first_releases(request.cluster),
                further_jars={
                    one.build.name: builds.digests(one.build)
                    for one in map(versions.get, request.cluster.releases.values())
                    if one.build != request.version.build
                },
                owner=owner(),
                namespace=namespace(),
                started_wall_ns=time.time_ns(),
                started_monotonic_ns=time.monotonic_ns(),
                ended_wall_ns=None,
                host=describe_host(client),
                commit=git_commit(),
                images={},
                command=request.command,
                phases={},
            )
        ),
        Timeline(run_dir.timeline),
    )
    try:
        # Before anything else: a run that is not in the ledger was never begun, whatever ends this process.
        code = ledger.blob(Path(request.scenario.path).read_bytes())
        ledger.append(request.root / ledger.FILE, ledger.started(recording.record.run, load(), code))
        recording.save()
    except OSError:
        recording.timeline.close()
        raise
    return recording


def _observer(cluster: clusters.Cluster, timeline: Timeline) -> ClusterObserver:
    if cluster.version.mode == "zookeeper":
        controllers = frozenset(node.id for node in cluster.nodes.values() if node.name.startswith("controller-"))
        return ZooKeeperObserver(cluster.zookeeper, timeline, controllers=controllers)
    return KRaftObserver({name: cluster.data / name / "kafka" for name in cluster.nodes}, timeline)


def _bring_up(run: Run) -> None:
    """Start the nodes in order and wait until the cluster is whole."""
    cluster, plan = run.cluster, run.cluster.plan
    if cluster.store is not None:
        cluster.start(cluster.store)
    brokers = [node for node in cluster.brokers.values() if node.id not in plan.joins]
    first = brokers[0]
    if cluster.version.mode == "zookeeper":
        # A broker that asks a ZooKeeper that is still starting is turned away, and may take its time to ask again.
        cluster.start(cluster.coordinator)
        run.observer.start()
        if plan.migrates:
            run.admin.set_cluster_id(clusters.CLUSTER_ID)
        cluster.start(first)
        run.wait_state(
            f"{first.name} is the controller",
            lambda state: state.controller == plan.controller,
            START_LIMIT_S,
            alive=[run.broker(first.id)],
        )
        cluster.start(*brokers[1:])
    else:
        cluster.start(*(node for node in cluster.members if node.id not in plan.joins))
        run.observer.start()
    wanted = {node.id for node in brokers}
    run.wait_state(
        f"brokers {sorted(wanted)} registered",
        lambda state: wanted <= state.brokers and state.controller is not None,
        START_LIMIT_S,
        alive=[run.broker(node.id) for node in brokers],
    )


def _collect_logs(cluster: clusters.Cluster, recording: Recording) -> None:
    """Keep what every node printed, and put the telling lines among everything else that happened."""
    stores = {} if cluster.store is None else {cluster.store.name: cluster.store}
    broker_logs.collect({name: node.container for name, node in (cluster.nodes | stores).items()}, recording.run_dir)
    offset_ns = time.monotonic_ns() - time.time_ns()
    broker_logs.append_to(recording.timeline, recording.run_dir, wall_to_monotonic_ns=offset_ns)
    if cluster.version.mode == "zookeeper":
        told = timelines.read(recording.run_dir.timeline).events
        data = cluster.data / cluster.coordinator.name
        transactions.append_to(recording.timeline, told, data, wall_to_monotonic_ns=offset_ns)


def _settle(run: Run) -> list[Partition]:
    """Heal everything, start whoever is down, wait until every replica is in sync again, and return the partitions of
    which that is so.

    Whoever does not come back is noted, not waited for beyond the limit: the findings say what that means.
    """
    run.heal()
    # The controller of a migration that did not come so far was made and never started: it is left alone.
    down = [
        run.broker(node.id) if node in run.cluster.brokers.values() else run.node(node.name)
        for node in run.cluster.members
        if node.name not in run.cluster.retired
        and not (state := node.state())["Running"]
        and state.get("Status") != "created"
    ]
    try:
        if down:
            run.start(*down)
    except (FaultUnproved, WaitTimeout, NodeEnded) as error:
        run.note(f"not every broker came up again: {error}")
    return _whole(run, partitions_of(run.topics))


def _whole(run: Run, partitions: Iterable[Partition]) -> list[Partition]:
    """Those of the partitions whose ISR is whole, waiting until it is. When one was waited for in vain, the others have
    had that time too: a replica that stays away costs one limit, not one for each of its partitions.
    """
    whole, timeout_s = [], FINAL_ISR_LIMIT_S
    for t in partitions:
        try:
            run.wait_isr(t, run.replicas_of(t), timeout_s)
            whole.append(t)
        except WaitTimeout as error:
            run.note(f"not every replica came back in sync: {error}")
            timeout_s = LATE_ISR_LIMIT_S
    return whole


def _wait_quiet(run: Run) -> None:
    """Wait until the in-sync replicas' files end at one offset and their high watermarks have caught up with it."""
    for t in partitions_of(run.topics):
        try:
            run.wait_quiet(t, run.in_isr(t), QUIET_LIMIT_S)
        except WaitTimeout as error:
            run.note(str(error))


def _packet_filters(run: Run, watched: PacketFilters) -> None:
    """Put on record which rules the packet filters of nodes that run still have, all cuts being healed, and what was
    changed in them.

    Every namespace is asked, which takes a tenth of a second each: beside the final read it takes no time of the run.
    """

    def ask(node: clusters.Node) -> None:
        try:
            if node.state()["Running"]:
                rules, changes = tuple(foreign_rules(node)), watched.changes(node)
                run.timeline.append(Firewall(node=node.name, rules=rules, changes=changes))
                if changes is None and (why := watched.refused(node)):
                    run.note(f"{node.name}: the watching of its packet filter was refused: {' '.join(why.split())}")
        except (HarnessError, DockerException) as error:  # it is paused, or just ended: Docker's events tell of that
            run.note(f"{node.name} does not say which rules its packet filter has: {_one_line(error)}")

    with ThreadPoolExecutor() as pool:
        list(pool.map(ask, run.cluster.nodes.values()))


def _final_read(run: Run, reader: FinalReader) -> None:
    asked_ns = time.monotonic_ns()
    try:
        with run.step("final read"):
            result = reader.read()
    except RecorderDied as error:
        run.note(f"nobody read to the end: {error}")
        return
    if not result.complete:
        run.note(f"the final read did not reach the end of every partition: {result}")
        for (topic, number), (end, reached) in result.partitions.items():
            if end is None or reached < end:
                run.timeline.append(Unread(topic=topic, partition=number, end=end, reached=reached, asked_ns=asked_ns))


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that has ended. Its facts are complete; its containers may still be on their way out."""

    run_dir: RunDir
    removals: Removals


def execute(
    request: Request,
    *,
    client: DockerClient | None = None,
    removals: Removals | None = None,
    echo: Callable[[str], None] = print,
    listen: Callable[[Event], None] | None = None,
    on_up: Callable[[], None] | None = None,
) -> Finished:
    """Run one scenario to a complete run directory.

    `listen` sees every event of the timeline as it is written; `on_up` is called once the cluster is up, when
    the machine has cores to spare again. Raises UsageError before anything is started if the request cannot
    be met. Once started, a failure is recorded in `run.json` (state "failed", one line) and the directory is
    returned all the same. A full disk (HarnessError), KeyboardInterrupt and defects are passed on after everything of
    the run has been removed. Whoever gives `removals` waits for them, whatever happens.
    """
    request.scenario.documented_for(request.version, request.case)
    request.require_client()
    _ = request.given
    client = client or connect()
    request.root.mkdir(parents=True, exist_ok=True)
    check_disk(request.root)
    reap_abandoned(client, request.root)
    elsewhere = may_be_elsewhere()
    if elsewhere:
        require_reached(client)
    settings = clusters.broker_settings(request.version, request.cluster, request.settings)
    further = [version.build for version in clusters.further_versions(request.version, request.cluster)]
    for build in (request.version.build, *further):
        ensure_image(build, echo)
    if request.cluster.disks is not None:
        require_maker(client, request.version.image, request.cluster.disks.file_system)
        if elsewhere:
            require_disks(client, request.version.image, request.cluster.disks.file_system, request.root)
    if request.cluster.store is not None:
        ensure_store_image(echo)
    recorders = request.library.arguments(request.version, echo)
    for one in request.given:
        one.subject(NOTHING_STATED).library(request.version).arguments(request.version, echo)  # fetches its jars
    name = run_id(request)
    removals = removals or Removals()

    def remove_everything() -> None:
        try:
            remove(find_ours(client, run=name))
        finally:
            data = RunDir(request.root / name).data
            release(client, data)
            shutil.rmtree(data, ignore_errors=True)

    if not request.keep:
        removals.register(name, remove_everything)
    recording = open_recording(request, name, settings, client)
    if listen is not None:
        recording.timeline.listen(listen)
    state = "interrupted"
    failure: str | None = "interrupted before it was complete"
    try:
        with tidying(recording) as cleanup:
            _carry_out(request, name, settings, client, recording, cleanup, on_up, recorders)
        failure = recording.record.run.failure
        state = "failed" if failure else "complete"
    except Exception as error:
        state, failure = "failed", recording.record.run.failure or _one_line(error)
        if not isinstance(error, (KafkaChaosError, OSError, DockerException)):
            raise
    finally:
        full = disk_full(recording.run_dir.path) if state == "failed" else None
        try:
            removals.start(name)
            if state != "complete":
                removals.wait()
        finally:
            _conclude(recording, removals, state=state, failure=full or failure)
    if full is not None:
        raise HarnessError(full)
    return Finished(recording.run_dir, removals)


def _conclude(recording: Recording, removals: Removals, **changes: Any) -> None:
    """Write down how the run ended, and the manifest of its files; once more when the live data is gone, if
    the disk is too full for that.
    """
    changes["ended_wall_ns"] = time.time_ns()

    def save() -> None:
        recording.save(**changes)
        manifest.write(recording.run_dir, recording.record.run.run)

    try:
        save()
    except OSError:
        removals.wait()
        try:
            save()
        except OSError as error:
            raise HarnessError(
                disk_full(recording.run_dir.path) or f"run.json cannot be written: {refusal(error)}"
            ) from None
    finally:
        # A disk that is too full for this line leaves a run that was started and has no end, which is what is known.
        with suppress(OSError):
            end = ledger.ended(recording.record.run, load())
            ledger.append(recording.run_dir.path.parent / ledger.FILE, end)


@contextmanager
def tidying(recording: Recording) -> Iterator[ExitStack]:
    """A stack of things to tidy up, all of which are, the timeline last.

    What fails meanwhile is the run's failure only if nothing failed before: it must not hide a Ctrl-C or a first error.
    """
    with ExitStack() as cleanup:
        cleanup.callback(_tidy, recording, recording.timeline.close)
        cleanup.callback(_tidy, recording, _end, recording)
        yield cleanup


def _end(recording: Recording) -> None:
    """The last line of the timeline: a cut one is known by its absence."""
    recording.timeline.append(End(run=recording.record.run.run))


def _tidy(recording: Recording, action: Callable[..., object], *arguments: Any) -> None:
    try:
        action(*arguments)
    except Exception as error:
        recording.fail(f"tidying up: {_one_line(error)}")


def disk_full(path: Path) -> str | None:
    """A line that says that the disk under `path` is full; None if it is not."""
    free = shutil.disk_usage(path).free
    if free >= FULL_DISK_BYTES:
        return None
    return (
        f"{path.resolve()}: the disk is full ({free / 1024**2:.0f} MiB free), so the run was ended; "
        "free some or use --runs-dir"
    )


def _one_line(error: BaseException) -> str:
    if isinstance(error, unanswered()):
        return why_unanswered(error)
    if isinstance(error, OSError):
        return refusal(error)
    text = str(error) if isinstance(error, KafkaChaosError) else f"{type(error).__name__}: {error}"
    return text.strip() or type(error).__name__


def _carry_out(
    request: Request,
    name: str,
    settings: Mapping[str, str],
    client: DockerClient,
    recording: Recording,
    cleanup: ExitStack,
    on_up: Callable[[], None] | None,
    recorders: Mapping[str, Any],
) -> None:
    run_dir, timeline, phases = recording.run_dir, recording.timeline, recording.phases
    plan = request.cluster
    events = DockerEvents(client, name, timeline)
    events.start()
    cleanup.callback(_tidy, recording, events.close)
    machine = MachineObserver(timeline)
    machine.start()
    cleanup.callback(_tidy, recording, machine.close)
    relays = Relays(plan.broker_ids(request.version.mode)) if plan.relayed else None
    if relays is not None:
        cleanup.callback(_tidy, recording, relays.close)
    with phases.measure("create"):
        cluster = clusters.create(
            client,
            version=request.version,
            plan=plan,
            settings=settings,
            run_id=name,
            data=run_dir.data.resolve(),
            rendered=run_dir.compose_file,
            relays=relays,
        )
        if relays is not None:
            relays.serve({broker: node.address for broker, node in cluster.brokers.items()})
        if plan.disks is not None:
            cluster.mounter = DiskMounter(client, request.version.image)
            cleanup.callback(_tidy, recording, cluster.mounter.close)
            cluster.disks = make_disks(cluster.mounter, plan.disks, cluster.data, list(cluster.nodes))
            if plan.disks.log_directories > 1:
                brokers = [node.name for node in cluster.brokers.values()]
                cluster.second_disks = make_disks(cluster.mounter, plan.disks, cluster.data, brokers, SECOND)
            recording.record.change(disks=DisksRecord(**asdict(plan.disks), writeback=writeback()))
        images = clusters.images_of(cluster)
        if plan.store is not None:
            cluster.store = make_store(client, plan.store, store_image(), name, cluster.prefix)
            images[cluster.store.name] = str(cluster.store.container.attrs["Image"])
        recording.save(images=images)
        for name_of_node, release in clusters.releases_of(cluster).items():
            timeline.append(Software(source="docker", node=name_of_node, version=release))
    cleanup.callback(_tidy, recording, _collect_logs, cluster, recording)
    cleanup.callback(_tidy, recording, cluster.wait_rendered)
    watched = PacketFilters(cluster.nodes)
    timeline.listen(watched.note)
    cleanup.callback(_tidy, recording, watched.close)
    observer = _observer(cluster, timeline)
    cleanup.callback(_tidy, recording, observer.close)
    run = Run(
        Parts(
            version=request.version,
            topics=[request.topic],
            case=request.scenario.case(request.case),
            run_dir=run_dir,
            timeline=timeline,
            cluster=cluster,
            events=events,
            observer=observer,
            open_admin=lambda: open_admin(
                cluster, observer, observer.client if isinstance(observer, ZooKeeperObserver) else None
            ),
            library=request.library,
            recorders=recorders,
            record=recording.record,
            given=request.given,
        )
    )
    cleanup.callback(_tidy, recording, run.close_clients)
    run.owing = False
    with phases.measure("start"):
        if request.library.hello is None:  # one of the user's own may give up when it is made and finds no brokers
            run.producer()
        _bring_up(run)
        events.look_back()
        run.create_topic(run.topic)
    if on_up is not None:
        on_up()
    recording.save()
    with phases.measure("steps"):
        cause = None
        run.owing = True
        try:
            with mistakes_told(request.scenario.path):
                request.scenario.steps_of(request.case)(run)
        except (DutyNotDone, FaultUnproved, PreconditionNotHeld, RecorderDied) as error:
            run.note(f"the sequence ended early: {error}")
            cause = _one_line(error)
        except HarnessError as error:
            run.note(f"the sequence failed: {error}")
            cause = _one_line(error)
            # What a client of the user's own does not do in time is no failure of the harness's, and not Kafka's.
            if request.library.hello is None or not isinstance(error, WaitTimeout):
                recording.record.change(failure=cause)
        finally:
            run.owing = False
        sequence = SequenceRecord(
            ended=cause is None, cause=cause, preconditions=run.preconditions, duties=run.duties, faults=None
        )
        recording.record.change(sequence=sequence)
    reader = run.final_reader()
    cleanup.callback(_tidy, recording, reader.close)
    with phases.measure("settle"):
        whole = _settle(run)
        _wait_quiet(run)
    with phases.measure("final read"), ThreadPoolExecutor() as pool:
        filters = pool.submit(_packet_filters, run, watched)
        _final_read(run, reader)
        _whole(run, whole)  # a machine that stood still for longer than a session has cost one
        run.copy_replicas("final", groups=True)
        filters.result()
    recording.record.change(sequence=replace(sequence, faults=run.faults))
    with phases.measure("seal"):
        run.close_clients()
        for node in cluster.nodes.values():
            source = cluster.data / node.name / clusters.PROPERTIES
            with suppress(FileNotFoundError):
                shutil.copyfile(source, run_dir.config / f"{node.name}.properties")
        seal_run(run_dir, run.killed_clients)
