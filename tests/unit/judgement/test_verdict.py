"""Every cell of the policy: what was seen × how sound the run is."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.catalogue import TRUNCATED
from evidence import manifest
from evidence.engine import ContainerAction
from evidence.errors import UsageError
from evidence.events import Blind, Container, Event, Fault, FaultPhase, Precondition, Step, Target, Waits
from evidence.faults import DEATHS
from evidence.findings import Findings, write_findings
from evidence.run_state import RunState
from evidence.rundir import RunDir
from judgement import doubts, policy, subjects, verdict
from judgement.report.facts import judge_run
from tests.findings import findings
from tests.proofs import proof as proof_of
from tests.records import run_record
from tests.unit.timelines import at, sound, write_lines

SETTINGS = {"enable.idempotence": "true"}
RUN: dict[str, Any] = {
    "run": "r1",
    "scenario": "double-failover",
    "version": "0.10.2.2",
    "seed": 1,
    "documented": {"required": ["lost-write"], "allowed": ["replica-divergence"]},
    "processes": [
        {"name": "producer-1", "kind": "producer", "settings": SETTINGS, "expected_loss": True},
        {"name": "final-read-1", "kind": "final-read", "final": True},
    ],
    "state": "complete",
    "failure": None,
    "started_wall_ns": 0,
    "ended_wall_ns": 20_000_000_000,
}
FINDINGS: dict[str, Any] = {
    "checks": [{"name": "lost-write", "status": "ok"}, {"name": "replica-divergence", "status": "ok"}],
    "findings": [],
    "problems": [],
    "seconds": 1.5,
}


def fault(
    ns: int,
    phase: FaultPhase,
    *,
    id_: str = "f1",
    kind: str = "kill",
    node: str = "broker-1",
    seen: str = "",
    **proof: Any,
) -> Fault:
    target = Target(node=node)
    return at(
        ns,
        Fault(
            fault_kind=kind,
            id=id_,
            phase=phase,
            target=target,
            description=f"{kind} of {node}",
            proof=proof_of(kind, **proof) if phase == "verified" else None,
            seen=seen,
        ),
    )


def container(ns: int, node: str, action: ContainerAction, exit_code: int | None = None) -> Container:
    return at(ns, Container(node=node, action=action, exit_code=exit_code, time_nano=ns))


def blind(
    ns: int, phase: Literal["begin", "end"], source: Literal["zookeeper", "docker", "kraft"] = "zookeeper"
) -> Blind:
    return at(ns, Blind(source=source, phase=phase, reason="suspended"))


def judge(
    facts: dict[str, Any], events: Sequence[Event], told: dict[str, Any] | None, *more: Any, **options: Any
) -> verdict.Verdict:
    """The verdict on a run that is sound but for what is told of it, and whose producers may lose every record."""
    processes = [{"expected_loss": one.get("kind") == "producer"} | one for one in facts["processes"]]
    record, whole = sound(run_record(facts | {"processes": processes}), events)
    return policy.judge(record, RunState(whole), None if told is None else of_producer(told), *more, **options)


def of_producer(told: dict[str, Any]) -> Findings:
    """The findings; a row of lost-write that names no process is of producer-1."""
    told = copy.deepcopy(told)
    for one in told["findings"]:
        if one["anomaly"] == "lost-write":
            one["evidence"] = [{"process": "producer-1"} | row for row in one.get("evidence") or [{}]]
    return findings(told)


DIED: dict[str, Any] = {"exit_code": 137, "event": "die", "time_nano": 11, "signal_nano": 11}
PROVED: list[Event] = [
    fault(10, "inject"),
    container(11, "broker-1", "kill"),
    container(11, "broker-1", "die", 137),
    fault(11, "verified", **DIED),
]


def found(*names: str) -> dict[str, Any]:
    findings = [{"anomaly": name, "topic": "t", "partition": 0, "count": 1, "summary": "one"} for name in names]
    return FINDINGS | {"findings": findings}


def run(**changes: Any) -> dict[str, Any]:
    return copy.deepcopy(RUN) | changes


def in_flight(*names: str, process: str | None = None) -> dict[str, Any]:
    """Findings of sends that were in flight when `PROVED` struck, of the last of these names."""
    findings = found(*names)
    flight = {"invoked_ns": 9, "completed_ns": 200_000_009}  # longer than retry.backoff.ms
    findings["findings"][-1]["evidence"] = [{"process": process, "writers": [flight], "after": flight}]
    return findings


# Each makes a run unsound in one way: (run, events, findings to add, damaged), and a word its reason must hold.
DOUBTS: dict[str, tuple[dict[str, Any], list[Event], dict[str, Any], list[str], str]] = {
    "never verified": ({}, [fault(10, "inject")], {}, [], "never verified"),
    "unproved": (
        {},
        [fault(10, "inject"), fault(11, "unproved", seen="running=True")],
        {},
        [],
        "running=True",
    ),
    "not healed": ({}, [*PROVED, fault(12, "heal")], {}, [], "never confirmed"),
    "precondition": (
        {},
        [at(5, Precondition(name="dead in time", held=False, detail={"leo": 4}))],
        {},
        [],
        "dead in time (leo=4)",
    ),
    "cut short": ({"state": "running"}, PROVED, {}, [], "cut short"),
    "interrupted": ({"state": "interrupted"}, PROVED, {}, [], "interrupted"),
    "no final read": ({"processes": RUN["processes"][:1]}, PROVED, {}, [], "no final read"),
    "out of memory": ({}, [container(5, "broker-2", "oom")], {}, [], "out of memory"),
    "foreign kill": (
        {},
        [container(5, "broker-2", "die", 137)],
        {},
        [],
        "other than a fault",
    ),
    "blind": (
        {},
        [*PROVED, blind(12, "begin")],
        {},
        [],
        "blind during kill of broker-1 (zookeeper observer: suspended)",
    ),
    "damaged": ({}, PROVED, {}, ["timeline.jsonl line 9: torn"], "line 9"),
    "crashed check": (
        {},
        PROVED,
        {"checks": [*FINDINGS["checks"], {"name": "phantom", "status": "crashed", "reason": "KeyError"}]},
        [],
        "phantom crashed: KeyError",
    ),
    "check left out": ({}, PROVED, {"checks": []}, [], "nothing checked for lost-write"),
    "check not applicable": (
        {},
        PROVED,
        {"checks": [{"name": "lost-write", "status": "not-applicable", "reason": "no history"}]},
        [],
        "did not apply: no history",
    ),
    "recorder died": (
        {},
        PROVED,
        {"problems": [{"what": "recorder died", "process": "producer-1", "detail": "no close"}]},
        [],
        "recorder died: producer-1: no close",
    ),
}


# Sound runs


@pytest.mark.parametrize(
    ("node", "proved", "expected"),
    [
        ("producer-1", True, "as-documented"),
        ("producer-2, producer-1", True, "as-documented"),
        ("producer-2", True, "unknown"),
        ("producer-1", False, "unknown"),
        ("", False, "unknown"),
    ],
    ids=["killed", "killed with another", "another was killed", "it was not proved", "nobody was killed"],
)
def test_the_history_of_a_client_that_the_run_has_killed_needs_no_end(node: str, proved: bool, expected: str) -> None:
    died = {"problems": [{"what": "recorder died", "process": "producer-1", "detail": "no close"}]}
    killed = [
        fault(13, "inject", id_="f9", kind="kill-client", node=node),
        fault(14, "verified", id_="f9", kind="kill-client", node=node, status=-9),
    ]
    events = [*PROVED, *killed[: 2 if proved else 1 if node else 0]]
    assert judge(run(), events, found("lost-write") | died).verdict == expected


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (["lost-write"], "as-documented"),
        (["lost-write", "replica-divergence"], "as-documented"),
        ([], "not-reproduced"),
        (["replica-divergence"], "not-reproduced"),
        (["phantom"], "unexpected"),
        (["lost-write", "phantom"], "unexpected"),
    ],
)
def test_a_sound_run(seen: list[str], expected: str) -> None:
    judged = judge(run(), PROVED, found(*seen))
    assert judged.verdict == expected
    assert judged.seen == tuple(sorted(seen))
    assert bool(judged.reasons) == (expected != "as-documented")


@pytest.mark.parametrize(("seen", "expected"), [([], "as-documented"), (["lost-write"], "unexpected")])
def test_a_sound_run_where_nothing_is_documented(seen: list[str], expected: str) -> None:
    assert judge(run(documented={"required": [], "allowed": []}), PROVED, found(*seen)).verdict == expected


@pytest.mark.parametrize(("contradictions", "expected"), [([], "as-documented"), (["2 refused"], "unexpected")])
def test_what_a_subject_came_to_and_no_anomaly_shows(
    contradictions: list[str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = subjects.JudgedSubjects(contradictions=contradictions)
    monkeypatch.setattr(subjects, "judge", lambda *_: told)
    judged = judge(run(documented={"required": [], "allowed": []}), PROVED, found())
    assert judged.verdict == expected
    assert [reason.startswith("2 refused") for reason in judged.reasons] == [True] * len(contradictions)


# Unsound runs: every doubt, against everything that may have been seen


@pytest.mark.parametrize("doubt", DOUBTS)
@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (["lost-write"], "unknown"),
        ([], "unknown"),
        (["phantom"], "unexpected"),
        (["lost-write", "phantom"], "unexpected"),
    ],
)
def test_an_unsound_run(doubt: str, seen: list[str], expected: str) -> None:
    changes, events, more, damaged, word = DOUBTS[doubt]
    judged = judge(run(**changes), events, found(*seen) | more, damaged)
    assert judged.verdict == expected
    assert any(word in reason for reason in judged.reasons), judged.reasons


@pytest.mark.parametrize(("seen", "expected"), [(["lost-write"], "error"), ([], "error"), (["phantom"], "unexpected")])
def test_a_run_the_harness_failed_in(seen: list[str], expected: str) -> None:
    judged = judge(run(state="failed", failure="no leader in 60 s"), PROVED, found(*seen))
    assert judged.verdict == expected
    assert "the harness failed: no leader in 60 s" in judged.reasons


def test_two_doubts_are_both_named() -> None:
    events: list[Event] = [fault(10, "inject"), at(5, Precondition(name="p", held=False))]
    reasons = judge(run(), events, found("lost-write")).reasons
    assert len(reasons) == 2


@pytest.mark.parametrize("failure", [None, "Spark did not start"])
def test_no_findings_is_unknown_and_never_a_stack_trace(failure: str | None) -> None:
    judged = judge(run(), PROVED, None, analysis_failure=failure)
    assert judged.verdict == "unknown"
    assert (failure or "not been analysed") in judged.reasons[0]


# What is no doubt


def test_a_death_by_our_own_kill_is_no_doubt() -> None:
    died = container(12, "broker-1", "die", 137)
    assert judge(run(), PROVED, found("lost-write")).verdict == "as-documented"
    assert judge(run(), [*PROVED, died], found("lost-write")).verdict == "unknown"


@pytest.mark.parametrize(
    ("node", "kind", "source", "begin_s", "end_s", "explained"),
    [
        pytest.param("zookeeper", "kill", "zookeeper", 10, 24, True, id="away"),
        pytest.param("zookeeper", "power-loss", "zookeeper", 10, 24, True, id="without power"),
        pytest.param("zookeeper", "freeze", "zookeeper", 9, 24, True, id="since its last word"),
        pytest.param("zookeeper", "freeze", "zookeeper", 8, 24, False, id="before that"),
        pytest.param("zookeeper", "kill", "zookeeper", 10, 37, False, id="long after it was back"),
        pytest.param("zookeeper", "cut", "zookeeper", 10, 24, False, id="cut off"),
        pytest.param("broker-1", "kill", "zookeeper", 10, 24, False, id="another node"),
        pytest.param("controller-100", "power-loss", "kraft", 10, 24, True, id="a controller without its disk"),
        pytest.param("controller-100", "kill", "kraft", 10, 24, False, id="a dead controller's disk is there"),
        pytest.param("broker-1", "power-loss", "kraft", 10, 24, False, id="a broker's disk is no matter"),
    ],
)
def test_an_observer_is_blind_while_what_it_looks_at_is_away(
    node: str, kind: str, source: Literal["zookeeper", "kraft"], begin_s: int, end_s: int, explained: bool
) -> None:
    second = 1_000_000_000
    struck = [fault(10 * second, "inject", kind=kind, node=node), fault(11 * second, "verified", kind=kind, node=node)]
    back: list[Event] = [container(10 * second, node, "die", 137), container(20 * second, node, "start")]
    back.append(fault(20 * second, "inject", id_="f2", kind="start", node=node))
    back.append(fault(21 * second, "verified", id_="f2", kind="start", node=node))
    healed = [fault(20 * second, phase, kind=kind, node=node) for phase in ("heal", "healed")]
    seen = [blind(begin_s * second, "begin", source), blind(end_s * second, "end", source)]
    events = sorted([*struck, *(back if kind in DEATHS else healed), *seen], key=lambda event: event.monotonic_ns)
    reasons = doubts.blind_during_faults(RunState(tuple(events)))
    assert (reasons == []) == explained


def test_blindness_counts_only_while_a_fault_lasts() -> None:
    up, again = container(1, "broker-1", "start"), container(21, "broker-1", "start")
    restarted = [
        up,
        fault(20, "inject", id_="f2", kind="start"),
        again,
        fault(22, "verified", id_="f2", kind="start", event="start", time_nano=21),
    ]
    outcomes = {
        (begin, end): judge(
            run(), [blind(begin, "begin"), blind(end, "end"), *PROVED, *restarted], found("lost-write")
        ).verdict
        for begin, end in [(1, 9), (1, 10), (9, 11), (15, 16), (21, 30), (22, 30)]
    }
    assert outcomes == {
        (1, 9): "as-documented",
        (1, 10): "as-documented",
        (9, 11): "unknown",
        (15, 16): "unknown",
        (21, 30): "unknown",
        (22, 30): "as-documented",
    }


# What settings permit


@pytest.mark.parametrize(
    ("settings", "name", "expected"),
    [
        ({"enable.idempotence": "false"}, "duplicate", "as-documented"),
        ({"enable.idempotence": "true"}, "duplicate", "unexpected"),
        ({"enable.idempotence": "false", "message.send.max.retries": "0"}, "duplicate", "unexpected"),
        ({"transactional.id": "x"}, "duplicate", "unexpected"),
        ({"enable.idempotence": "false"}, "nonmonotonic-send", "as-documented"),
        ({"enable.idempotence": "false", "max.in.flight": "1"}, "nonmonotonic-send", "unexpected"),
        ({"enable.idempotence": "false"}, "phantom", "unexpected"),
    ],
)
def test_what_the_producers_settings_permit(settings: dict[str, str], name: str, expected: str) -> None:
    processes = [{"name": "producer-1", "kind": "producer", "settings": settings}, RUN["processes"][1]]
    judged = judge(run(processes=processes), PROVED, in_flight("lost-write", name))
    assert judged.verdict == expected
    assert bool(judged.permitted) == (expected == "as-documented")
    assert name in judged.seen


@pytest.mark.parametrize(
    ("client", "settings", "expected"),
    [
        ("java-3.1.1", {"acks": "all"}, "unexpected"),
        ("java-3.1.0", {"acks": "all"}, "as-documented"),  # KAFKA-13598
        ("java-4.3.1", {}, "unexpected"),
        ("java-2.8.2", {"acks": "all"}, "as-documented"),
        ("librdkafka", {"acks": "all"}, "as-documented"),
        ("java-3.1.1", {"acks": "1"}, "as-documented"),
        ("java-3.1.1", {"enable.idempotence": "false"}, "as-documented"),
        ("java-3.1.1", {"max.in.flight.requests.per.connection": "6"}, "as-documented"),
    ],
)
def test_java_clients_from_3_0_on_are_documented_as_idempotent(
    client: str, settings: dict[str, str], expected: str
) -> None:
    processes = [{"name": "producer-1", "kind": "producer", "settings": settings}, RUN["processes"][1]]
    seen = judge(run(processes=processes, client=client), PROVED, in_flight("lost-write", "duplicate"))
    assert seen.verdict == expected


@pytest.mark.parametrize(
    ("defaults", "settings", "expected"),
    [
        ({"enable.idempotence": "true"}, {"acks": "all"}, "unexpected"),
        ({"enable.idempotence": "true"}, {"acks": "1"}, "as-documented"),
        ({"enable.idempotence": "true"}, {"enable.idempotence": "false"}, "as-documented"),
        ({}, {"acks": "all"}, "as-documented"),
        ({}, {"enable.idempotence": "true"}, "unexpected"),
    ],
)
def test_a_client_of_the_users_own_is_idempotent_if_it_says_so(
    defaults: dict[str, str], settings: dict[str, str], expected: str
) -> None:
    own = {"name": "java-3", "version": "1", "command": "./x", "can": ["produce"], "defaults": defaults}
    processes = [{"name": "producer-1", "kind": "producer", "settings": settings}, RUN["processes"][1]]
    given = run(processes=processes, client="own-java-3-1", own_client=own)
    assert judge(given, PROVED, in_flight("lost-write", "duplicate")).verdict == expected
    # What librdkafka sends in the same run is held to librdkafka's.
    processes[0] = processes[0] | {"library": "librdkafka", "settings": {"acks": "all"}}
    beside = run(processes=processes, client="own-java-3-1", own_client=own)
    assert judge(beside, PROVED, in_flight("lost-write", "duplicate")).verdict == "as-documented"


def test_a_duplicate_of_the_idempotent_producer_is_not_excused_by_another() -> None:
    processes = [
        {"name": "producer-1", "kind": "producer", "settings": {"enable.idempotence": "true"}},
        {"name": "producer-2", "kind": "producer", "settings": {"enable.idempotence": "false"}},
        RUN["processes"][1],
    ]
    for name, expected in (("producer-1", "unexpected"), ("producer-2", "as-documented")):
        findings = in_flight("lost-write", "duplicate", process=name)
        assert judge(run(processes=processes), PROVED, findings).verdict == expected
    assert judge(run(processes=processes), PROVED, found("lost-write", "duplicate")).verdict == "unexpected"


def test_a_duplicate_of_an_application_goes_by_its_own_producer() -> None:
    """A load beside it is idempotent."""
    for idempotent, expected in (("false", "as-documented"), ("true", "unexpected")):
        processes = [
            {"name": "processor-1", "kind": "processor", "settings": {"enable.idempotence": idempotent}},
            {"name": "producer-1", "kind": "producer", "settings": {"enable.idempotence": "true"}},
            RUN["processes"][1],
        ]
        findings = in_flight("duplicate", process="processor-1")
        assert judge(run(processes=processes, documented={}), PROVED, findings).verdict == expected


def test_an_application_clears_no_producer_beside_it() -> None:
    processes = [
        {"name": "processor-1", "kind": "processor", "settings": {"enable.idempotence": "false"}},
        {"name": "producer-1", "kind": "producer", "settings": {"enable.idempotence": "true"}},
        RUN["processes"][1],
    ]
    findings = in_flight("duplicate", process="processor-1")
    (row,) = findings["findings"][-1]["evidence"]
    findings["findings"][-1]["evidence"] = [row, row | {"process": "producer-1"}]
    assert judge(run(processes=processes, documented={}), PROVED, findings).verdict == "unexpected"


# A documented loss seen from another side


def reused(*, values: list[int], lost: list[int], read: list[int], count: int | None = None) -> dict[str, Any]:
    """Findings of lost records and of one offset with these values (sequences of producer 1)."""

    def identities(sequences: list[int]) -> list[dict[str, Any]]:
        return [{"producer": 1, "sequence": sequence} for sequence in sequences]

    findings = found("lost-write", "inconsistent-offsets")
    findings["findings"][0] |= {"evidence": identities(lost), "count": count or len(lost)}
    row = {"offset": 3, "values": identities(values), "readers": identities(read)}
    findings["findings"][1] |= {"evidence": [row]}
    return findings


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        (reused(values=[3, 4], lost=[3], read=[4]), "as-documented"),
        (reused(values=[3, 4, 5], lost=[3, 4], read=[5]), "as-documented"),
        (reused(values=[3, 4], lost=[3, 4], read=[]), "as-documented"),
        (reused(values=[3, 4], lost=[7], read=[4]), "unexpected"),
        (reused(values=[3, 4], lost=[7], read=[3, 4]), "unexpected"),
        (reused(values=[3, 4], lost=[3], read=[3, 4]), "unexpected"),
        (reused(values=[3, 4], lost=[7], read=[4], count=2000), "unknown"),
        (reused(values=[3, 4], lost=[7], read=[3, 4], count=2000), "unexpected"),
    ],
)
def test_the_offset_of_a_lost_record_is_given_to_another(findings: dict[str, Any], expected: str) -> None:
    judged = judge(run(), PROVED, findings)
    assert judged.verdict == expected
    assert bool(judged.permitted) == (expected != "unexpected")


def test_a_reused_offset_is_excused_only_by_a_documented_loss_of_the_same_partition() -> None:
    findings = reused(values=[3, 4], lost=[3], read=[4])
    nothing: dict[str, Any] = {"required": [], "allowed": []}
    assert judge(run(documented=nothing), PROVED, findings).unexpected == ("inconsistent-offsets", "lost-write")
    findings["findings"][0]["partition"] = 1
    assert judge(run(), PROVED, findings).unexpected == ("inconsistent-offsets",)


def test_a_run_that_was_cut_short_cannot_tell_a_lost_record_from_an_unread_one() -> None:
    findings = reused(values=[3, 4], lost=[3], read=[4])
    findings["findings"][0]["anomaly"] = "unseen"
    assert judge(run(state="interrupted"), PROVED, findings).verdict == "unknown"


@pytest.mark.parametrize(
    ("missing", "documented", "expected"),
    [([3], ["lost-write"], "as-documented"), ([3, 4], ["lost-write"], "unexpected"), ([3], [], "unexpected")],
)
def test_a_lost_record_is_missing_from_in_sync_replicas(
    missing: list[int], documented: list[str], expected: str
) -> None:
    findings = found("lost-write", "unreplicated-acknowledgement")
    findings["findings"][0] |= {"evidence": [{"producer": 1, "sequence": 3}], "count": 1}
    findings["findings"][1] |= {"evidence": [{"producer": 1, "sequence": one} for one in missing]}
    policy: dict[str, Any] = {"required": documented, "allowed": []}
    assert judge(run(documented=policy), PROVED, findings).verdict == expected


@pytest.mark.parametrize(
    ("pair", "documented", "expected"),
    [
        ((3, 4), ["lost-write"], "as-documented"),
        ((4, 3), ["lost-write"], "unexpected"),
        ((4, 5), ["lost-write"], "unexpected"),
        ((3, 3), ["lost-write"], "unexpected"),
        ((3, 4), [], "unexpected"),
    ],
    ids=["it came before", "it came after", "another record", "nothing but the lost one", "the loss is not documented"],
)
def test_what_is_sent_after_a_lost_record_has_a_lower_offset(
    pair: tuple[int, int], documented: list[str], expected: str
) -> None:
    findings = found("lost-write", "nonmonotonic-send")
    findings["findings"][0] |= {"evidence": [{"records": [["t", 0, 1, 3]]}], "count": 1}
    findings["findings"][1] |= {"evidence": [{"records": [["t", 0, 1, one] for one in pair]}], "count": 1}
    policy: dict[str, Any] = {"required": documented, "allowed": []}
    assert judge(run(documented=policy), PROVED, findings).verdict == expected


@pytest.mark.parametrize(("leader", "expected"), [(-1, "as-documented"), (None, "as-documented"), (2, "unexpected")])
def test_nobody_is_in_sync_with_nobody(leader: int | None, expected: str) -> None:
    findings = found("lost-write", "empty-isr")
    findings["findings"][1] |= {"evidence": [{"leader": leader, "isr": []}]}
    assert judge(run(), PROVED, findings).verdict == expected


# Suites


def test_the_worst_verdict_of_a_suite() -> None:
    order: list[verdict.Name] = ["as-documented", "unknown", "error", "not-reproduced", "unexpected"]
    made = {name: verdict.Verdict(verdict=name) for name in order}
    for a, b in itertools.product(order, order):
        assert verdict.worst([made[a], made[b]]).verdict == max(a, b, key=order.index)
    assert [made[name].exit_status for name in order] == [0, 2, 255, 1, 1]


def test_an_empty_suite_shows_nothing() -> None:
    assert verdict.worst([]).exit_status == 2


# Files


def on_disk(path: Path) -> RunDir:
    """The run, sealed."""
    run_dir, (record, events) = RunDir(path), sound(run_record(RUN), PROVED)
    run_dir.write_run(record)
    write_lines(run_dir.timeline, events)
    manifest.write(run_dir, record.run)
    return run_dir


def test_the_verdict_is_written_and_read_back(tmp_path: Path) -> None:
    run_dir = on_disk(tmp_path)
    write_findings(run_dir, of_producer(found("lost-write")))
    judged = judge_run(run_dir).verdict
    written = json.loads(run_dir.verdict.read_text())
    assert (judged.verdict, judged.seconds) == ("as-documented", 21.5)
    assert written["schema"] == 2
    assert written["exit_status"] == 0
    assert written["documented"] == {"required": ["lost-write"], "allowed": ["replica-divergence"]}
    assert verdict.read_verdict(run_dir) == judged


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"findings": 3}', '{"findings": []}', '{"schema": 2, "findings": [1]}', '{"schema": 2}']
)
def test_findings_that_cannot_be_read_are_unknown(tmp_path: Path, content: str) -> None:
    run_dir = on_disk(tmp_path)
    run_dir.findings.parent.mkdir()
    run_dir.findings.write_text(content)
    judged = judge_run(run_dir).verdict
    assert judged.verdict == "unknown"
    assert "findings.json" in judged.reasons[0]


def test_a_torn_timeline_is_unknown(tmp_path: Path) -> None:
    run_dir = on_disk(tmp_path)
    run_dir.timeline.write_bytes(run_dir.timeline.read_bytes() + b'{"monotonic_ns": 12, "ki')
    write_findings(run_dir, of_producer(found("lost-write")))
    assert judge_run(run_dir).verdict.verdict == "unknown"


@pytest.mark.parametrize("content", [None, "{", '{"verdict": "fine"}', "[]"])
def test_a_verdict_that_cannot_be_read_is_one_line(tmp_path: Path, content: str | None) -> None:
    run_dir = RunDir(tmp_path)
    if content is not None:
        run_dir.verdict.write_text(content)
    with pytest.raises(UsageError, match="kafka-chaos check") as caught:
        verdict.read_verdict(run_dir)
    assert "\n" not in str(caught.value)


# The lattice, for any combination


@given(
    required=st.sets(st.sampled_from(["lost-write", "replica-divergence"])),
    seen=st.sets(st.sampled_from(["lost-write", "replica-divergence", "phantom"])),
    doubts=st.sets(st.sampled_from(sorted(DOUBTS))),
    failed=st.booleans(),
)
def test_any_combination(required: set[str], seen: set[str], doubts: set[str], failed: bool) -> None:
    facts, findings = run(documented={"required": sorted(required), "allowed": []}), found(*seen)
    events: list[Event] = []
    damaged: list[str] = []
    for name in sorted(doubts):
        changes, more_events, more_findings, more_damaged, _ = DOUBTS[name]
        facts, findings = facts | changes, findings | more_findings
        events += more_events
        damaged += more_damaged
    if failed:
        facts["state"] = "failed"
    judged = judge(facts, events, findings, damaged)
    if seen - required:
        assert judged.verdict == "unexpected"
    elif failed:
        assert judged.verdict == "error"
    elif judged.verdict in ("as-documented", "not-reproduced"):
        assert (judged.verdict == "as-documented") == (seen == required)
        assert not set(doubts) - {"check left out", "check not applicable"}
    else:
        assert judged.verdict == "unknown"
        assert doubts
    assert bool(judged.reasons) == (judged.verdict != "as-documented")


CUT: dict[str, Any] = {"log_end": 1, "announced_by": "leader", "cut_off": [{"producer": 1, "sequence": 1}]}
LOST: dict[str, Any] = {"producer": 1, "sequence": 1, "offset": 1}


def cut_off(loss: dict[str, Any] | None, *rows: dict[str, Any]) -> dict[str, Any]:
    findings = found(*(["lost-write"] if loss else []), TRUNCATED)
    evidence = [[loss]] * bool(loss) + [list(rows)]
    named = zip(findings["findings"], evidence, strict=True)
    return findings | {"findings": [finding | {"evidence": part} for finding, part in named]}


@pytest.mark.parametrize(
    ("loss", "row", "unexpected"),
    [
        (LOST, CUT, ()),
        (LOST, CUT | {"announced_by": "itself", "cut_off": []}, ()),
        (LOST, CUT | {"cut_off": [{"producer": 1, "sequence": 2}]}, (TRUNCATED,)),
        (LOST, CUT | {"announced_by": "itself", "cut_off": [], "log_end": 2}, (TRUNCATED,)),
        (None, CUT, (TRUNCATED,)),
    ],
    ids=["the lost record", "by its own checkpoint", "another record", "beyond what is lost", "nothing is lost"],
)
def test_a_log_that_was_cut_off_where_the_lost_record_lay(
    loss: dict[str, Any] | None, row: dict[str, Any], unexpected: tuple[str, ...]
) -> None:
    assert judge(run(version="4.3.1"), PROVED, cut_off(loss, row)).unexpected == unexpected


@pytest.mark.parametrize(
    ("kafka", "protocol", "announced_by", "unexpected"),
    [
        ("0.10.2.2", "", "leader", ()),
        ("3.9.2", "0.10.2", "leader", ()),
        ("0.11.0.3", "", "leader", (TRUNCATED,)),
        ("0.10.2.2", "", "itself", (TRUNCATED,)),
        ("unheard of", "", "leader", (TRUNCATED,)),
    ],
)
def test_truncating_to_the_high_watermark_is_what_old_protocols_do(
    kafka: str, protocol: str, announced_by: str, unexpected: tuple[str, ...]
) -> None:
    findings = cut_off(None, CUT | {"announced_by": announced_by})
    settings = {"inter.broker.protocol.version": protocol} if protocol else {}
    facts = run(version="retired", kafka=kafka, mode="zookeeper", settings=settings)
    assert judge(facts, PROVED, findings).unexpected == unexpected


@pytest.mark.parametrize(
    ("expect", "seen", "expected", "why"),
    [
        (None, (), "observed", ""),
        (None, ("lost-write", "replica-divergence"), "observed", ""),
        ([], (), "observed", ""),
        ([], ("lost-write",), "unexpected", "lost-write: one; this is not expected (--expect none)"),
        (["lost-write"], ("lost-write",), "observed", ""),
        (["lost-write"], (), "not-reproduced", "lost-write is expected (--expect lost-write) and was not seen"),
        (["lost-write"], ("phantom", "lost-write"), "unexpected", "phantom: one; this is not expected"),
    ],
)
def test_what_was_seen_under_settings_of_the_users_own(
    expect: list[str] | None, seen: tuple[str, ...], expected: str, why: str
) -> None:
    judged = judge(run(observed=True, expect=expect), PROVED, found(*seen))
    assert judged.verdict == expected
    assert judged.exit_status == (0 if expected == "observed" else 1)
    assert why in " ".join(judged.reasons)
    assert judged.seen == tuple(sorted(seen))


@pytest.mark.parametrize("expect", [None, [], ["lost-write"]])
def test_an_unsound_run_shows_nothing_under_any_settings(expect: list[str] | None) -> None:
    unproved = [fault(10, "inject"), fault(11, "unproved")]
    findings = found(*(expect or ()))
    assert judge(run(observed=True, expect=expect), unproved, findings).verdict == "unknown"
    assert judge(run(observed=True, expect=expect, state="failed"), PROVED, findings).verdict == "error"


@pytest.mark.parametrize(("settings", "unexpected"), [({}, ()), ({"transactional.id": "x"}, ("repeated-processing",))])
def test_processing_twice_is_permitted_without_transactions(
    settings: dict[str, str], unexpected: tuple[str, ...]
) -> None:
    processes = [*RUN["processes"], {"name": "pipeline", "kind": "processor", "settings": settings}]
    findings = found("repeated-processing")
    findings["findings"][0]["evidence"] = [{"offset": 0, "process": "pipeline"}]
    assert judge(run(processes=processes), PROVED, findings).unexpected == unexpected


def started(program: str) -> list[Event]:
    return [at(1, Step(name="application", phase="begin", detail={"program": program}))]


@pytest.mark.parametrize(
    ("events", "handed", "excused"),
    [
        (PROVED, 2, True),
        (PROVED, None, True),
        (PROVED, 1, False),
        ([], 2, False),
        ([*PROVED, *started("process-then-commit")], 2, True),
        ([*PROVED, *started("commit-then-process")], 2, False),
        ([*started("process-then-commit"), *started("process-then-commit")], 2, True),
        (started("process-then-commit"), 2, False),
    ],
    ids=[
        "two members had it",
        "nobody says who had it",
        "one member had it once",
        "nothing happened",
        "it commits last",
        "it commits first",
        "another member came",
        "there was one member",
    ],
)
def test_an_input_is_processed_again_where_a_member_may_have_lost_it(
    events: list[Event], handed: int | None, excused: bool
) -> None:
    processes = [*RUN["processes"], {"name": "pipeline", "kind": "processor", "settings": {}}]
    findings = found("repeated-processing")
    outputs = [{"output": {"producer": number, "sequence": 0}} for number in (1, 2)]
    row = {"offset": 0, "process": "pipeline", "detail": {"outputs": outputs} | ({"handed": handed} if handed else {})}
    findings["findings"][0]["evidence"] = [row]
    assert bool(judge(run(processes=processes), events, findings).permitted) == excused


@pytest.mark.parametrize(
    ("again_s", "waited", "whole", "expected"),
    [
        # The member that was killed at 10 s had it in its hand.
        (20, 0.0, True, "as-documented"),
        (9, 0.0, True, "unexpected"),
        # Nothing but the machine may be the reason.
        (9, 0.9, True, "unknown"),
        (9, 0.1, True, "unexpected"),
        # Of others nobody knows when they were processed.
        (20, 0.0, False, "unknown"),
    ],
)
def test_an_input_is_processed_again_shortly_after_something_happened(
    again_s: int, waited: float, whole: bool, expected: str
) -> None:
    second = 10**9
    processes = [*RUN["processes"], {"name": "pipeline", "kind": "processor", "settings": {}}]
    told = [
        {"output": {"producer": one, "sequence": 0}, "processed_ns": s * second} for one, s in ((1, 5), (2, again_s))
    ]
    findings = found("repeated-processing")
    row = {"offset": 0, "process": "pipeline", "detail": {"outputs": told, "handed": 2}}
    findings["findings"][0] |= {"evidence": [row], "count": 1 if whole else 2}
    slices = ((second // 1000, round(second // 1000 * waited)),) * 30
    waits = at(30 * second, Waits(begin_ns=0, slices=slices))
    killed = [at(event.monotonic_ns * second, event) for event in PROVED]
    facts = run(processes=processes, documented={"required": [], "allowed": []})
    judged = judge(facts, [*killed, waits], findings)
    assert judged.verdict == expected
    assert bool(judged.permitted) == (expected != "unexpected")


def claimed(outcome: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """A run that documents a claim, and findings that have this outcome of it."""
    facts = run(documented={"required": [], "allowed": [], "claims": ["one-controller-at-a-time"]})
    told = {
        "name": "one-controller-at-a-time",
        "outcome": outcome,
        "observed": "2 controllers",
        "evidence": [{"epoch": 1}],
    }
    return facts, found() | {"claims": [told] if outcome else []}


@pytest.mark.parametrize(
    ("outcome", "expected", "why"),
    [
        ("held", "as-documented", ""),
        ("contradicted", "unexpected", "the claim one-controller-at-a-time is contradicted: 2 controllers"),
        ("not-observed", "unknown", "the claim one-controller-at-a-time was not observed: 2 controllers"),
        (None, "unknown", "the claim one-controller-at-a-time was not observed: it was not judged"),
    ],
)
def test_a_documented_claim_must_be_held(outcome: str | None, expected: str, why: str) -> None:
    facts, findings = claimed(outcome)
    judged = judge(facts, PROVED, findings)
    assert judged.verdict == expected
    assert judged.reasons == ((why,) if why else ())
    assert [one.outcome for one in judged.claims] == ([outcome] if outcome else [])
    assert all(one.evidence == () for one in judged.claims)
    assert msgspec.convert(judged.as_json(), verdict.Verdict) == judged


def test_a_claim_contradicted_by_an_unsound_run_is_unknown() -> None:
    facts, findings = claimed("contradicted")
    assert judge(facts, [fault(10, "inject"), fault(11, "unproved")], findings).verdict == "unknown"


def test_a_claim_that_is_not_documented_here_counts_for_nothing() -> None:
    _, findings = claimed("contradicted")
    assert judge(run(documented={"required": [], "allowed": []}), PROVED, findings).verdict == "as-documented"
