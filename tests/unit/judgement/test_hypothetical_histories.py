"""Histories that somebody made up, each with the verdict that a committer of Kafka's would expect of it.

They are the histories of a review that asked: which new bug of Kafka's would pass here? Each is a run that could be,
with the least that makes it one: what the analysis found, what the steps checked, what else went wrong. The numbers are
the review's.
"""

from __future__ import annotations

from typing import Any, Literal

import pytest
from msgspec.structs import replace

from evidence.events import (
    Container,
    Duty,
    Ends,
    Event,
    FaultPhase,
    Log,
    Machine,
    Moment,
    Partition,
    Precondition,
    Stillness,
    Waits,
    Witness,
)
from judgement import verdict
from tests.unit.judgement.test_verdict import PROVED, blind, container, fault, found, judge, run
from tests.unit.timelines import at

SECOND = 1_000_000_000
NOTHING: dict[str, Any] = {"required": [], "allowed": []}


def duty(
    at_s: float,
    name: str = "it is done",
    *,
    witness: Witness = "clients",
    since_s: int | None = None,
    limit_s: float | None = None,
    held: bool = False,
) -> Duty:
    """A duty that the steps checked at a time, or waited for since another, for its limit or longer."""
    since_ns = None if since_s is None else since_s * SECOND
    limit_ms = None if since_s is None else round(1000 * (limit_s or at_s - since_s))
    return at(round(at_s * SECOND), Duty(name=name, held=held, witness=witness, since_ns=since_ns, limit_ms=limit_ms))


def claimed(
    name: str = "offline-partition-waits", *rows: dict[str, Any], measured_ms: float | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A run that documents a claim, and findings in which it is contradicted."""
    told = {"name": name, "outcome": "contradicted", "observed": "it did not", "evidence": list(rows)}
    documented = NOTHING | {"claims": [name]}
    return run(version="4.3.1", documented=documented), found() | {"claims": [told | {"measured_ms": measured_ms}]}


def unheld(at_s: int = 5) -> Precondition:
    return at(at_s * SECOND, Precondition(name="the sequence takes its course", held=False))


KAFKA: dict[str, Any] = run(version="4.3.1", documented=NOTHING)
STOPPED = {"ended": False, "cause": "x", "preconditions": 0, "duties": 0, "faults": 1}
FAILED: dict[str, Any] = KAFKA | {"state": "failed", "failure": "a wait ended", "sequence": STOPPED}


PLAIN: list[dict[str, Any]] = [
    {"name": "producer-1", "kind": "producer", "settings": {"enable.idempotence": "false"}},
    {"name": "final-read-1", "kind": "final-read", "final": True},
]


# H1, H15: what is lost, or comes back, is never outranked


@pytest.mark.parametrize("name", ["lost-write", "resurrected"])
@pytest.mark.parametrize("facts", [KAFKA, FAILED, KAFKA | {"state": "interrupted"}], ids=["sound", "failed", "cut"])
def test_h1_h15_a_lost_record_is_unexpected_under_any_doubt(name: str, facts: dict[str, Any]) -> None:
    assert judge(facts, [*PROVED, unheld()], found(name)).verdict == "unexpected"


# H3, H4, H12, H14: a duty is not a precondition


def test_h3_a_minority_leader_acknowledges_acks_all() -> None:
    name = "the small side acknowledges with acks=1 only"
    judged = judge(KAFKA, [*PROVED, duty(20, name)], found())
    assert judged.verdict == "unexpected"
    assert judged.reasons[0] == f"Kafka owes this and did not do it: {name}"


def test_h4_a_follower_is_thrown_out_by_brief_cuts_however_often() -> None:
    facts, told = claimed("isr-outlasts-brief-cuts", {"at_ns": 12 * SECOND})
    assert judge(facts, PROVED, told).verdict == "unexpected"
    both = [*PROVED, duty(20, "the follower stays in the ISR", witness="metadata")]
    assert judge(facts, both, told).verdict == "unexpected"
    assert judge(KAFKA, both, found()).verdict == "unexpected"


def test_h12_a_partition_is_led_uncleanly_and_nothing_is_lost() -> None:
    events = [*PROVED, duty(20, "the partition waits for its ISR", witness="metadata")]
    assert judge(KAFKA, events, found()).verdict == "unexpected"
    # Also where no step looks.
    assert judge(KAFKA, PROVED, found("unclean-election")).verdict == "unexpected"


def test_h14_an_acknowledgement_below_min_insync_and_a_torn_line() -> None:
    torn = ["timeline.jsonl line 9: torn"]
    assert judge(KAFKA, PROVED, found("acknowledged-below-min-insync"), torn).verdict == "unexpected"
    assert judge(KAFKA, [*PROVED, duty(20)], found(), torn).verdict == "unexpected"
    # A claim is judged from the file that the line is torn from.
    facts, told = claimed("acks-all-refused-below-min-isr")
    assert judge(facts, PROVED, told, torn).verdict == "unknown"


# H5, H6, H13, H22, H23: what never comes


@pytest.mark.parametrize(
    ("name", "witness"),
    [
        ("another than broker-1 is the controller", "metadata"),
        ("the ISR of t-0 is [1, 2, 3]", "metadata"),
        ("a record sent to t-0 with acks=all is acknowledged", "clients"),
    ],
    ids=["H5: nobody is elected", "H6: a follower never comes back", "H22: the new leader never acknowledges"],
)
def test_h5_h6_h22_a_promised_state_that_does_not_come(name: str, witness: Witness) -> None:
    events = [*PROVED, duty(80, name, witness=witness, since_s=20)]
    judged = judge(KAFKA, events, found())
    assert judged.verdict == "unexpected"
    assert judged.reasons[0] == f"Kafka owes this and did not do it within 60 s: {name}"


def test_h5_a_contradicted_claim_outranks_a_wait_that_ended() -> None:
    facts, told = claimed("controller-replaced-in-time", {"at_ns": 20 * SECOND})
    failed = facts | {"state": "failed", "failure": "not within 60 s", "sequence": STOPPED}
    assert judge(failed, PROVED, told).verdict == "unexpected"
    # A harness that failed before the run had come to its end may never have asked it of Kafka.
    assert judge(failed | {"sequence": STOPPED | {"faults": None}}, PROVED, told).verdict == "error"


@pytest.mark.parametrize("name", ["stuck-isr", "no-leader", "no-controller", "not-registered", "unreadable"])
def test_h13_h23_what_is_not_well_again_at_the_end(name: str) -> None:
    assert judge(KAFKA, PROVED, found(name)).verdict == "unexpected"
    permitted = KAFKA | {"documented": NOTHING | {"out_of_sync": True}}
    assert judge(permitted, PROVED, found(name)).verdict == ("as-documented" if name == "stuck-isr" else "unexpected")


# What comes for no reason


@pytest.mark.parametrize("what", ["election", "isr-shrink", "fencing", "controller-change"])
def test_what_comes_for_no_reason_is_unexpected(what: str) -> None:
    assert judge(KAFKA, PROVED, found(f"spontaneous-{what}")).verdict == "unexpected"


# H7: a broker ends itself


def test_h7_a_healthy_broker_halts_itself() -> None:
    died = container(5 * SECOND, "broker-2", "die", 1)
    judged = judge(KAFKA, [*PROVED, died], found("broker-exit"))
    assert (judged.verdict, judged.unexpected) == ("unexpected", ("broker-exit",))


# H8, H9, H10, H25: a load that may be lost as a whole


def losing(*seconds: float, offset: int | None = None) -> dict[str, Any]:
    """The load has lost the records that were acknowledged at these seconds."""
    findings = found("lost-write")
    rows = [
        {"process": "producer-1", "producer": 1, "sequence": n, "offset": n if offset is None else offset}
        | {"completed_ns": round(at_s * SECOND)}
        for n, at_s in enumerate(seconds)
    ]
    findings["findings"][0] |= {"evidence": rows, "count": len(rows)}
    return findings


def struck(*times: tuple[float, float], kind: str = "freeze") -> list[Event]:
    """Faults from one second to another each; whether they are proved is no matter here."""
    found = list[Event]()
    for number, (begin_s, end_s) in enumerate(times):
        phases: tuple[tuple[FaultPhase, float], ...] = (
            ("inject", begin_s),
            ("verified", begin_s + 0.1),
            ("heal", end_s),
            ("healed", end_s + 0.1),
        )
        found += [fault(round(at_s * SECOND), phase, id_=f"f{number}", kind=kind) for phase, at_s in phases]
    return found


def load_at_stake(**more: Any) -> dict[str, Any]:
    load = {"name": "producer-1", "kind": "producer", "expected_loss": True}
    documented = {"required": [], "allowed": ["lost-write"]}
    return run(version="4.3.1", kafka="4.3.1", documented=documented, processes=[load, PLAIN[1]], **more)


WRITEBACK = {"file_system": "ext4", "size_bytes": 1, "log_directories": 1}
LIMITS = {"dirty_expire_centisecs": 3000, "dirty_writeback_centisecs": 500}
ROLLING = {"mode": "zookeeper", "kafka": "3.9.2", "settings": {"inter.broker.protocol.version": "0.10.2"}}
ON_DISKS = load_at_stake(disks=WRITEBACK | {"writeback": LIMITS})
TEN: list[tuple[float, float]] = [(20, 24), (60, 64), (100, 104)]


@pytest.mark.parametrize(
    ("facts", "events", "seconds", "covered"),
    [
        (load_at_stake(), struck((20, 30)), [21, 29, 35], True),
        (load_at_stake(), struck((20, 30)), [1, 21, 29], False),
        (load_at_stake(), struck((20, 30)), [21, 60], False),
        (load_at_stake() | ROLLING, struck(*TEN), [19, 22, 58, 101], True),
        (load_at_stake() | ROLLING, struck(*TEN), [n * 0.12 for n in range(100, 1000)], False),
        (ON_DISKS, struck((60, 70), kind="power-loss"), [30, 59], True),
        (ON_DISKS, struck((60, 70), kind="power-loss"), [2, 30, 59], False),
        (load_at_stake(), struck((20, 30), (40, 50), kind="kill"), [21, 41], True),
        (load_at_stake(), struck((20, 30), (40, 50), kind="kill"), [10, 41], False),
    ],
    ids=[
        "H8: what the leader alone had",
        "H8: also what was acknowledged long before",
        "H8: also what was acknowledged long after",
        "H9: what lay above a checkpoint",
        "H9: nine of ten of the load",
        "H10: the last half minute",
        "H10: all of the load",
        "H25: what the uncleanly elected leader lacked",
        "H25: also what it had",
    ],
)
def test_h8_h9_h10_h25_only_what_was_at_stake_may_be_lost(
    facts: dict[str, Any], events: list[Event], seconds: list[float], covered: bool
) -> None:
    judged = judge(facts, events, losing(*seconds))
    assert judged.unexpected == (() if covered else ("lost-write",))


@pytest.mark.parametrize(("hw", "covered"), [(6, True), (7, True), (8, False)])
def test_h25_what_lay_below_every_high_watermark_is_never_covered(hw: int, covered: bool) -> None:
    """Acknowledged a second before the fault, so that it may have been at stake."""
    ends = {"broker-1": {"t-0": Ends(leo=9, hw=9)}, "broker-2": {"t-0": Ends(leo=9, hw=hw)}}
    events = [at(19 * SECOND, Moment(name="00-armed", nodes=ends, begun_ns=19 * SECOND)), *struck((20, 30))]
    judged = judge(load_at_stake(), events, losing(19, offset=7))
    assert judged.unexpected == (() if covered else ("lost-write",))


@pytest.mark.parametrize(
    ("moment_s", "kind", "covered"),
    [(19, "freeze", False), (25, "freeze", True), (19, "power-loss", True)],
    ids=["before the fault", "copied afterwards", "the power went: it was on no disk"],
)
def test_what_a_high_watermark_says_it_says_before_the_fault_and_not_of_disks(
    moment_s: int, kind: str, covered: bool
) -> None:
    ends = {f"broker-{n}": {"t-0": Ends(leo=9, hw=9)} for n in (1, 2)}
    copied = at(moment_s * SECOND, Moment(name="00-copied", nodes=ends, begun_ns=moment_s * SECOND))
    judged = judge(load_at_stake(), [copied, *struck((20, 30), kind=kind)], losing(19, offset=7))
    assert judged.unexpected == (() if covered else ("lost-write",))


def test_h11_what_a_documented_loss_implies_is_told_of_its_own_records_alone() -> None:
    facts = run(version="4.3.1", documented={"required": ["lost-write"], "allowed": []})
    told = found("lost-write", "unreplicated-acknowledgement")
    rows = [{"producer": 1, "sequence": n} for n in range(10)]
    told["findings"][0] |= {"evidence": rows, "count": 10}
    for missing, expected in ((rows[:1], ()), ([{"producer": 1, "sequence": 10}], ("unreplicated-acknowledgement",))):
        told["findings"][1]["evidence"] = missing
        assert judge(facts, PROVED, told).unexpected == expected


# H16: what is told of as documentation is told of by the scenario; here nothing excuses it


def test_h16_a_duty_is_owed_beside_what_is_documented() -> None:
    documented = run(version="4.3.1", documented={"required": ["lost-write"], "allowed": []})
    assert judge(documented, [*PROVED, duty(20)], found("lost-write")).verdict == "unexpected"


# H2, H24: duplicates and order


IDEMPOTENT = [PLAIN[0] | {"settings": {"enable.idempotence": "true"}}, PLAIN[1]]


def again(name: str, *flights: tuple[float, float], count: int | None = None) -> dict[str, Any]:
    """Records that were written twice, or out of order, each in flight from one second to another."""
    sends = [{"invoked_ns": round(one * SECOND), "completed_ns": round(other * SECOND)} for one, other in flights]
    findings = found(name)
    rows = [{"process": "producer-1", "writers": [send], "before": send, "after": send} for send in sends]
    findings["findings"][0] |= {"evidence": rows, "count": count or len(rows)}
    return findings


FROZEN = [
    fault(30 * SECOND, "inject", id_="f2", kind="freeze"),
    fault(31 * SECOND, "verified", id_="f2", kind="freeze"),
    fault(40 * SECOND, "heal", id_="f2", kind="freeze"),
    fault(41 * SECOND, "healed", id_="f2", kind="freeze"),
]
TWICE_OR_BACK = pytest.mark.parametrize("name", ["duplicate", "nonmonotonic-send"])


@TWICE_OR_BACK
def test_h2_nothing_is_written_twice_or_out_of_order_without_a_fault(name: str) -> None:
    baseline = KAFKA | {"processes": PLAIN}
    assert judge(baseline, [], again(name, *[(n, n + 1) for n in range(500)])).verdict == "unexpected"
    assert judge(baseline, [], found(name)).verdict == "unexpected"  # of which nobody knows when they were sent


@TWICE_OR_BACK
@pytest.mark.parametrize(
    ("flights", "permitted"),
    [
        ([(29, 33)], True),
        ([(35, 36)], True),
        ([(44, 45)], True),
        ([(29, 33), (44, 45)], True),
        ([(20, 29)], False),
        ([(47, 48)], False),
        ([(29, 33), (47, 48)], False),
    ],
)
def test_h24_what_was_in_flight_when_something_happened_may_be_sent_again(
    name: str, flights: list[tuple[float, float]], permitted: bool
) -> None:
    judged = judge(KAFKA | {"processes": PLAIN}, FROZEN, again(name, *flights))
    assert judged.unexpected == (() if permitted else (name,))


@TWICE_OR_BACK
def test_h24_nothing_is_permitted_of_an_idempotent_producer(name: str) -> None:
    assert judge(KAFKA | {"processes": IDEMPOTENT}, FROZEN, again(name, (29, 33))).verdict == "unexpected"


def led(at_s: float, leader: int = 1, isr: tuple[int, ...] = (1, 2), topic: str = "t") -> Partition:
    """A partition's state; each has a leader epoch of its own."""
    state = Partition(source="kraft", topic=topic, partition=0, leader=leader, leader_epoch=round(at_s), isr=isr)
    return at(round(at_s * SECOND), state)


FROZEN_BEFORE = struck((20, 23))


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([*FROZEN_BEFORE, led(30, 2, (2,))], True),
        ([*FROZEN_BEFORE, led(30, 2, (2,)), led(38, 2)], True),
        ([*FROZEN_BEFORE, led(30, 2, (2,), "u")], False),
        ([led(30, 2, (2,))], False),
        ([led(26, 2), led(28, 2, (2,)), led(30, 2)], False),
        ([container(30 * SECOND, "broker-2", "die", 1)], True),
        ([at(31 * SECOND, Stillness(begin_ns=30 * SECOND, late_ms=1000))], True),
    ],
    ids=[
        "an election",
        "an election, and who led is back in the ISR",
        "one of another partition",
        "one that nothing explains (H2)",
        "a leader and an ISR that come and go for nothing (H2)",
        "a broker's end",
        "the machine stood still",
    ],
)
@TWICE_OR_BACK
def test_what_may_have_a_producer_send_again(name: str, events: list[Event], expected: bool) -> None:
    created = [led(1), led(1, topic="u")]
    judged = judge(KAFKA | {"processes": PLAIN}, [*created, *events], again(name, (29, 33)))
    assert (judged.unexpected == ()) == expected
    assert judge(KAFKA | {"processes": PLAIN}, created, again(name, (1, 2))).verdict == "unexpected"


@pytest.mark.parametrize(("stalled_s", "expected"), [(9, "unknown"), (8, "unexpected")])
def test_an_election_that_the_machine_may_explain_is_a_doubt(stalled_s: int, expected: str) -> None:
    """Half a session of 18 s, which is the longest default."""
    stalled = at((19 + stalled_s) * SECOND, Stillness(begin_ns=19 * SECOND, late_ms=stalled_s * 1000))
    events = [led(1), stalled, led(36, 2)]
    findings = again("duplicate", (35, 37))
    assert judge(KAFKA | {"processes": PLAIN}, events, findings).verdict == expected
    assert judge(KAFKA, events, found()).verdict == ("unknown" if expected == "unknown" else "as-documented")


# H26: a doubt that does not touch


def foreign(node: str, signal: int | None) -> Container:
    return at(15 * SECOND, Container(node=node, action="kill", signal=signal, time_nano=15 * SECOND))


@pytest.mark.parametrize(
    ("node", "signal", "expected"),
    [
        ("broker-3", 1, "unexpected"),
        ("broker-1", 1, "unknown"),
        ("broker-3", 9, "unknown"),
        ("broker-3", None, "unknown"),
    ],
    ids=["another's signal", "its own signal", "another was killed", "nobody knows with what"],
)
def test_h26_a_foreign_signal_to_another_broker(node: str, signal: int | None, expected: str) -> None:
    facts, told = claimed("leader-replaced-in-time", {"at_ns": 20 * SECOND, "node": "broker-1", "took_ms": 9000.0})
    assert judge(facts, [*PROVED, foreign(node, signal)], told).verdict == expected


ASKED: list[Event] = [fault(10 * SECOND, "inject", kind="stop", id_="f1")]
KILLED_AFTER_ALL: list[Event] = [
    container(70 * SECOND, "broker-1", "die", 137),
    fault(71 * SECOND, "unproved", kind="stop", id_="f1", seen="exit code 137"),
]


@pytest.mark.parametrize(
    ("signals", "over_ns", "expected"),
    [
        ((15, 9), 70 * SECOND - 1, "unexpected"),
        ((15, 9), 70 * SECOND, "unknown"),
        ((15, 9), None, "unknown"),
        ((9,), 70 * SECOND - 1, "unknown"),
    ],
    ids=["until it was killed", "and then", "nobody says until when", "it was never asked to end"],
)
def test_a_broker_that_was_asked_to_end_owes_what_it_owes_until_it_is_killed(
    signals: tuple[int, ...], over_ns: int | None, expected: str
) -> None:
    row: dict[str, Any] = {"at_ns": 10 * SECOND, "node": "broker-1"}
    facts, told = claimed("leader-moved-before-shutdown", row | ({} if over_ns is None else {"over_ns": over_ns}))
    asked = [
        at((11 + second) * SECOND, Container(node="broker-1", action="kill", signal=signal, time_nano=second))
        for second, signal in enumerate(signals)
    ]
    assert judge(facts, [*ASKED, *asked, *KILLED_AFTER_ALL], told).verdict == expected


# What does touch


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([unheld()], "unexpected"),
        ([fault(10, "inject", id_="f2"), fault(11, "unproved", id_="f2", seen="x")], "unknown"),
        ([fault(30 * SECOND, "inject", id_="f2"), fault(31 * SECOND, "unproved", id_="f2", seen="x")], "unexpected"),
        ([blind(19 * SECOND, "begin"), blind(21 * SECOND, "end")], "unknown"),
        ([blind(11 * SECOND, "begin"), blind(12 * SECOND, "end")], "unexpected"),
        ([blind(19 * SECOND, "begin", "docker"), blind(21 * SECOND, "end", "docker")], "unexpected"),
        ([container(15 * SECOND, "broker-3", "die", 137)], "unknown"),
    ],
    ids=[
        "a precondition did not hold",
        "a fault before was not proved",
        "a fault afterwards was not proved",
        "its observer was blind",
        "its observer was blind before",
        "another observer was blind",
        "somebody killed a broker",
    ],
)
def test_a_duty_is_taken_back_by_doubts_about_its_witness_alone(events: list[Event], expected: str) -> None:
    told = [*PROVED, *events, duty(20, "the follower is registered still", witness="metadata")]
    assert judge(KAFKA, sorted(told, key=lambda event: event.at_ns), found()).verdict == expected


@pytest.mark.parametrize("held", [True, False])
def test_a_duty_is_held_against_nobody_under_settings_of_the_users_own(held: bool) -> None:
    judged = judge(KAFKA | {"observed": True}, [*PROVED, duty(20, held=held)], found())
    assert judged.verdict == "observed"


def test_a_duty_that_is_done_is_nothing_to_tell() -> None:
    assert judge(KAFKA, [*PROVED, duty(20, held=True)], found()).verdict == "as-documented"


# The machine


def still(from_s: float, to_s: float) -> Stillness:
    return at(round(to_s * SECOND), Stillness(begin_ns=round(from_s * SECOND), late_ms=round((to_s - from_s) * 1000)))


Kind = Literal["a limit", "a moment", "an acknowledgement", "a time", "no time"]


@pytest.mark.parametrize(
    ("kind", "from_s", "to_s", "expected"),
    [
        ("a limit", 30, 37, "unknown"),
        ("a limit", 30, 33, "unexpected"),
        ("a limit", 90, 99, "unexpected"),
        ("a moment", 30, 34, "unknown"),
        ("a moment", 30, 32, "unexpected"),
        ("a moment", 5, 7, "unexpected"),
        ("an acknowledgement", 30, 79, "unexpected"),
        ("a time", 21, 23, "unknown"),
        ("a time", 21, 21.5, "unexpected"),
        ("a time", 40, 50, "unexpected"),
        ("no time", 21, 29, "unexpected"),
    ],
)
def test_a_machine_that_stood_still_excuses_times_and_nothing_else(
    kind: Kind, from_s: float, to_s: float, expected: str
) -> None:
    facts, told, events = KAFKA, found(), list[Event]()
    if kind == "a limit":
        events = [duty(80, witness="metadata", since_s=20)]
    elif kind == "a moment":
        events = [duty(80, witness="metadata")]
    elif kind == "an acknowledgement":
        events = [duty(80)]
    else:
        row = {"at_ns": 20 * SECOND, "took_ms": 9000.0, "bound_ms": 6000.0}
        facts, told = claimed("leader-replaced-in-time", row, measured_ms=9000.0 if kind == "a time" else None)
    judged = judge(facts, [*PROVED, *events, still(from_s, to_s)], told)
    assert judged.verdict == expected
    assert any("stood still" in reason for reason in judged.reasons) == (expected == "unknown")


@pytest.mark.parametrize(
    ("waited_s", "still_s", "expected"),
    [
        (60, 6, "unexpected"),
        (60, 6.1, "unknown"),
        (66, 6.1, "unexpected"),
        (66, 12, "unexpected"),
        (66, 12.1, "unknown"),
        (90, 30, "unexpected"),
        (90, 36.1, "unknown"),
        (239, 200, "unknown"),
        (240, 200, "unexpected"),
    ],
    ids=[
        "a tenth is missing",
        "more than a tenth is missing",
        "what stood still was waited for",
        "but for a tenth",
        "and more",
        "it had its whole limit of 60 s",
        "it had not",
        "nearly four limits",
        "four limits",
    ],
)
def test_a_limit_is_of_the_time_in_which_the_machine_ran(waited_s: float, still_s: float, expected: str) -> None:
    """Its limit is 60 s. So much of what was waited the machine stood still."""
    owed = duty(20 + waited_s, witness="metadata", since_s=20, limit_s=60)
    judged = judge(KAFKA, [*PROVED, still(21, 21 + still_s), owed], found())
    assert judged.verdict == expected
    assert f"within {waited_s:g} s" in judged.reasons[0]


def test_a_lost_record_is_excused_by_no_machine() -> None:
    assert judge(KAFKA, [*PROVED, still(1, 100)], found("lost-write")).verdict == verdict.UNEXPECTED


@pytest.mark.parametrize(
    ("busy", "took_ms", "expected"),
    [
        (0.97, 9000.0, "unknown"),
        (0.79, 9000.0, "unexpected"),
        (0.97, 24000.0, "unexpected"),
    ],
    ids=["over the bound on a busy machine", "on one that was less busy", "four times the bound"],
)
def test_a_busy_machine_excuses_a_time_that_is_not_far_over_its_bound(
    busy: float, took_ms: float, expected: str
) -> None:
    row = {"at_ns": 20 * SECOND, "took_ms": took_ms, "bound_ms": 6000.0}
    facts, told = claimed("leader-replaced-in-time", row, measured_ms=took_ms)
    machine = at(99 * SECOND, Machine(seconds=99.0, late_ms=300, cpu=busy))
    judged = judge(facts, [*PROVED, machine], told)
    assert judged.verdict == expected
    assert any("waited for a CPU in 97% of the run's time" in reason for reason in judged.reasons) == (
        expected == "unknown"
    )


def test_a_busy_machine_excuses_nothing_that_is_of_no_time() -> None:
    facts, told = claimed("leader-replaced-in-time", {"at_ns": 20 * SECOND, "took_ms": 7.0, "bound_ms": 6.0})
    machine = at(99 * SECOND, Machine(seconds=99.0, late_ms=300, cpu=1.0))
    assert judge(facts, [*PROVED, machine], told).verdict == "unexpected"
    assert judge(facts, [*PROVED, machine, *waited((0, 99, 1.0))], told).verdict == "unexpected"


def waited(*periods: tuple[float, float, float]) -> list[Waits]:
    """Slices of 250 ms of each period (from, to, the share of it in which some process waited for a CPU)."""
    return [
        at(
            round(end_s * SECOND),
            Waits(
                begin_ns=round(begin_s * SECOND),
                slices=((250_000, round(250_000 * share)),) * round((end_s - begin_s) * 4),
            ),
        )
        for begin_s, end_s, share in periods
    ]


@pytest.mark.parametrize(
    ("periods", "took_ms", "expected"),
    [
        ([(0, 99, 0.34)], 9000.0, "unknown"),
        ([(0, 99, 0.32)], 9000.0, "unexpected"),
        ([(20, 29, 0.34), (29, 99, 0.0)], 9000.0, "unknown"),
        ([(0, 20, 1.0), (20, 29, 0.0), (29, 99, 1.0)], 9000.0, "unexpected"),
        ([(0, 26, 0.0), (26, 29, 1.0), (29, 99, 0.0)], 9000.0, "unknown"),
        ([(0, 26.5, 0.0), (26.5, 29, 1.0), (29, 99, 1.0)], 9000.0, "unexpected"),
        ([(0, 99, 0.76)], 23900.0, "unknown"),
        ([(0, 99, 0.74)], 23900.0, "unexpected"),
        ([(0, 99, 1.0)], 24000.0, "unexpected"),
        ([(0, 10, 1.0)], 9000.0, "unexpected"),
    ],
    ids=[
        "more was waited than it was over",
        "less was",
        "only in that time",
        "at all times but in that one",
        "at its end",
        "at its end, and too little",
        "nearly four bounds",
        "nearly four bounds, less than three quarters",
        "four bounds",
        "nobody counted then",
    ],
)
def test_a_time_is_excused_by_no_more_than_was_waited_for_a_cpu_in_it(
    periods: list[tuple[float, float, float]], took_ms: float, expected: str
) -> None:
    """Whatever the whole run was like: it is busy in all of these by the machine's own line."""
    row = {"at_ns": 20 * SECOND, "took_ms": took_ms, "bound_ms": 6000.0}
    facts, told = claimed("leader-replaced-in-time", row, measured_ms=took_ms)
    machine = at(99 * SECOND, Machine(seconds=99.0, late_ms=300, cpu=0.99))
    judged = judge(facts, [*PROVED, *waited(*periods), machine], told)
    assert judged.verdict == expected
    assert any("some process waited for a CPU" in reason for reason in judged.reasons) == (expected == "unknown")


def test_every_time_that_is_too_long_is_held_to_what_was_waited_in_it() -> None:
    rows = [{"at_ns": at_s * SECOND, "took_ms": 9000.0, "bound_ms": 6000.0} for at_s in (20, 40)]
    facts, told = claimed("leader-replaced-in-time", *rows, measured_ms=9000.0)
    assert judge(facts, [*PROVED, *waited((0, 99, 0.5))], told).verdict == "unknown"
    assert judge(facts, [*PROVED, *waited((0, 30, 0.5), (30, 99, 0.1))], told).verdict == "unexpected"


def test_a_time_whose_begin_is_not_told_is_excused_by_no_wait() -> None:
    facts, told = claimed("leader-replaced-in-time", {"took_ms": 9000.0, "bound_ms": 6000.0}, measured_ms=9000.0)
    assert judge(facts, [*PROVED, *waited((0, 99, 1.0))], told).verdict == "unexpected"


def test_what_stood_still_and_what_waited_is_summed_once() -> None:
    row = {"at_ns": 20 * SECOND, "took_ms": 10_000.0, "bound_ms": 6000.0}
    facts, told = claimed("leader-replaced-in-time", row, measured_ms=10_000.0)
    both = [still(21, 22.5), *waited((20, 21, 0.0), (21, 22.5, 1.0), (22.5, 30, 0.4))]
    assert judge(facts, [*PROVED, *both], told).verdict == "unknown"  # 1.5 s and 3 s
    once = [still(21, 22.5), *waited((20, 21, 0.0), (21, 22.5, 1.0), (22.5, 30, 0.2))]
    assert judge(facts, [*PROVED, *once], told).verdict == "unexpected"  # 1.5 s and 1.5 s, not 4.5 s


@pytest.mark.parametrize(
    "forged",
    [[], waited((0, 99, 1.0)), waited((0, 99, 0.0)), waited((0, 1, 1.0))],
    ids=["taken away", "all waited", "none waited", "cut short"],
)
def test_slices_that_somebody_forged_make_no_late_time_good(forged: list[Waits]) -> None:
    row = {"at_ns": 20 * SECOND, "took_ms": 9000.0, "bound_ms": 6000.0}
    facts, told = claimed("leader-replaced-in-time", row, measured_ms=9000.0)
    assert judge(facts, [*PROVED, *forged], told).verdict in ("unexpected", "unknown")


def test_a_lost_record_and_an_unclean_leader_are_excused_by_no_wait() -> None:
    busy = waited((0, 99, 1.0))
    for anomaly in ("lost-write", "leader-outside-isr"):
        assert judge(KAFKA, [*PROVED, *busy, still(1, 100)], found(anomaly)).verdict == verdict.UNEXPECTED
    assert judge(KAFKA, [*PROVED, *busy, duty(80)], found()).verdict == verdict.UNEXPECTED


# Variants of the histories above: bounds of count, place and time


TOPIC: dict[str, Any] = {"name": "t", "partitions": {"0": [1, 2, 3]}, "settings": {}}


@TWICE_OR_BACK
def test_h24_what_was_answered_before_a_client_tries_again_was_sent_once(name: str) -> None:
    """A client waits for retry.backoff.ms, 100 ms by default."""
    quick = [(30 + n / 100, 30 + n / 100 + 0.002) for n in range(500)]
    assert judge(KAFKA | {"processes": PLAIN}, FROZEN, again(name, *quick)).verdict == "unexpected"
    slow = [(30 + n / 100, 30 + n / 100 + 0.2) for n in range(500)]
    assert judge(KAFKA | {"processes": PLAIN}, FROZEN, again(name, *slow)).unexpected == ()
    patient = [PLAIN[0] | {"settings": {"retry.backoff.ms": "1000"}}, PLAIN[1]]
    assert judge(KAFKA | {"processes": patient}, FROZEN, again(name, *slow)).verdict == "unexpected"


@TWICE_OR_BACK
def test_h24_of_records_that_are_not_listed_nothing_is_permitted(name: str) -> None:
    judged = judge(KAFKA | {"processes": PLAIN}, FROZEN, again(name, (29, 33), (29, 33), count=5000))
    assert judged.verdict == "unknown"
    assert any("2 of 5000" in reason for reason in judged.reasons)


def documenting(name: str, *, processes: list[dict[str, Any]] = PLAIN) -> dict[str, Any]:
    """A run that documents an anomaly."""
    return KAFKA | {"documented": {"required": [name], "allowed": []}, "processes": processes}


@TWICE_OR_BACK
@pytest.mark.parametrize(
    ("flight", "kind", "node", "covered"),
    [
        ((35, 36), "freeze", "broker-1", True),
        ((43, 44), "freeze", "broker-1", True),
        ((200, 200.05), "freeze", "broker-1", False),
        ((5, 6), "freeze", "broker-1", False),
        ((35, 36), "withhold", "broker-1", True),
        ((35, 36), "freeze-client", "producer-1", True),
        ((35, 36), "freeze-client", "reader-1", False),
        ((35, 36), "kill-client", "reader-1", False),
    ],
    ids=[
        "a broker stood still",
        "shortly after",
        "long after",
        "before",
        "its answer was withheld",
        "its producer stood still",
        "a consumer stood still",
        "a consumer was killed",
    ],
)
def test_what_is_documented_to_be_sent_again_was_in_flight_when_something_happened(
    name: str, flight: tuple[float, float], kind: str, node: str, covered: bool
) -> None:
    phases: tuple[tuple[int, FaultPhase], ...] = ((30, "inject"), (31, "verified"), (40, "heal"), (41, "healed"))
    events = [fault(at_s * SECOND, phase, id_="f2", kind=kind, node=node) for at_s, phase in phases]
    judged = judge(documenting(name), events, again(name, flight))
    assert judged.unexpected == (() if covered else (name,))


@TWICE_OR_BACK
def test_nothing_is_documented_of_an_idempotent_producer_beside_a_plain_one(name: str) -> None:
    """It sends beside the load for no other reason."""
    idempotent = {"name": "producer-1", "kind": "producer", "settings": {"enable.idempotence": "true"}}
    alone = judge(documenting(name, processes=[idempotent, PLAIN[1]]), FROZEN, again(name, (35, 36)))
    assert alone.unexpected == ()
    beside = [idempotent | {"beside": True}, PLAIN[0] | {"name": "producer-2"}, PLAIN[1]]
    judged = judge(documenting(name, processes=beside), FROZEN, again(name, (35, 36)))
    assert judged.unexpected == (name,)
    assert "producer-1 sends beside the load, to be held to idempotence" in judged.reasons[0]


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("log-truncated-below-high-watermark", "at_ns"),
        ("committed-offset-regression", "at_ns"),
        ("unclean-election", "at_ns"),
        ("aborted-read", "completed_ns"),
        ("resurrected", "completed_ns"),
        ("stale-commit-accepted", "invoked_ns"),
    ],
)
def test_what_is_documented_comes_of_the_fault_and_not_before_it(name: str, column: str) -> None:
    findings = found(name)
    for at_s, unexpected in ((31, ()), (29, (name,))):
        findings["findings"][0] |= {"evidence": [{column: 31 * SECOND}, {column: at_s * SECOND}], "count": 2}
        assert judge(documenting(name), FROZEN, findings).unexpected == unexpected
        # Where no fault is injected another thing is its cause.
        assert judge(documenting(name), [], findings).unexpected == ()


def test_records_that_were_acknowledged_before_the_fault_are_what_it_may_lose() -> None:
    findings = found("unreplicated-acknowledgement")
    findings["findings"][0] |= {"evidence": [{"completed_ns": 29 * SECOND}], "count": 1}
    assert judge(documenting("unreplicated-acknowledgement"), FROZEN, findings).unexpected == ()


@pytest.mark.parametrize(("handed", "covered"), [(2, True), (1, False)])
def test_what_is_documented_to_be_processed_again_was_handed_over_as_often(handed: int, covered: bool) -> None:
    """With transactions, too, where the brokers cannot tell who is out of the group."""
    outputs = [{"output": {"producer": number, "sequence": 0}} for number in (1, 2)]
    findings = found("repeated-processing")
    row = {"offset": 0, "detail": {"outputs": outputs, "handed": handed}}
    findings["findings"][0] |= {"evidence": [row], "count": 1}
    pipeline = {"name": "processor-1", "kind": "processor", "settings": {"transactional.id": "one"}}
    judged = judge(documenting("repeated-processing", processes=[*PLAIN, pipeline]), FROZEN, findings)
    assert judged.unexpected == (() if covered else ("repeated-processing",))


@pytest.mark.parametrize(("topic", "covered"), [("t", True), ("other", False), ("__consumer_offsets", True)])
def test_a_documented_anomaly_is_documented_of_the_scenarios_own_topics(topic: str, covered: bool) -> None:
    facts = KAFKA | {"documented": {"required": ["replica-divergence"], "allowed": []}, "topics": [TOPIC]}
    findings = found("replica-divergence")
    findings["findings"][0] |= {"topic": topic}
    assert judge(facts, struck((20, 30)), findings).unexpected == (() if covered else ("replica-divergence",))


@pytest.mark.parametrize(
    ("offset", "kind", "covered"),
    [(7, "freeze", False), (8, "freeze", True), (7, "power-loss", True)],
    ids=["below every high watermark", "above one", "the power went: it was on no disk"],
)
def test_no_election_makes_replicas_differ_below_every_high_watermark(offset: int, kind: str, covered: bool) -> None:
    ends = {f"broker-{n}": {"t-0": Ends(leo=9, hw=8)} for n in (1, 2)}
    events = [at(19 * SECOND, Moment(name="00-copied", nodes=ends, begun_ns=19 * SECOND)), *struck((20, 30), kind=kind)]
    findings = found("replica-divergence")
    findings["findings"][0] |= {"evidence": [{"offset": offset}], "count": 1}
    facts = KAFKA | {"documented": {"required": ["replica-divergence"], "allowed": []}}
    assert judge(facts, events, findings).unexpected == (() if covered else ("replica-divergence",))


UNCLEAN: dict[str, Any] = {"documented": {"required": [], "allowed": ["high-watermark-regression"]}}
READ_BEFORE: dict[str, Any] = {"process": "reader-1", "offset": 9}


def went_back(count: int, *rows: tuple[dict[str, Any], int]) -> dict[str, Any]:
    """Findings of a high watermark that went back: what there was before, and the leader epoch after."""
    findings = found("high-watermark-regression")
    evidence = [{"before": before, "after": {"high_watermark": 4, "leader_epoch": epoch}} for before, epoch in rows]
    findings["findings"][0] |= {"evidence": evidence, "count": count}
    return findings


def alone(second: int, leader: int, epoch: int) -> Event:
    state = Partition(topic="t", partition=0, leader=leader, leader_epoch=epoch, isr=(leader,), source="zookeeper")
    return at(second * SECOND, state)


TRUNCATES = at(33 * SECOND, Log(node="broker-1", event="truncate", line="Truncating", topic="t", partition=0, offset=4))


@pytest.mark.parametrize(
    ("events", "findings", "covered"),
    [
        ([alone(1, 1, 0), alone(25, 2, 1)], went_back(1, (READ_BEFORE, 1)), True),
        ([alone(1, 1, 0), alone(25, 2, 1)], went_back(1000, (READ_BEFORE, 1)), False),
        ([alone(1, 1, 0), alone(25, 2, 1), TRUNCATES], went_back(2, (READ_BEFORE, 1)), True),
        ([alone(1, 1, 0), alone(25, 2, 1)], went_back(2, (READ_BEFORE, 1)), False),
        ([alone(1, 1, 0)], went_back(1, (READ_BEFORE, 0)), False),
        ([alone(1, 1, 0), alone(25, 2, 1)], went_back(1, (READ_BEFORE, 0)), False),
        ([alone(1, 1, 0), alone(25, 2, 1)], went_back(1, ({"high_watermark": 9, "leader_epoch": 1}, 1)), False),
    ],
    ids=[
        "elected",
        "a thousand times",
        "and one truncates",
        "nobody truncates",
        "nobody is",
        "before it",
        "in between",
    ],
)
def test_a_high_watermark_goes_back_once_for_each_that_leads_or_truncates(
    events: list[Event], findings: dict[str, Any], covered: bool
) -> None:
    judged = judge(KAFKA | UNCLEAN, [*events, *struck((20, 30))], findings)
    assert judged.unexpected == (() if covered else ("high-watermark-regression",))


@pytest.mark.parametrize(("acknowledged_s", "covered"), [(34, True), (44, False)])
def test_h8_what_a_leader_acknowledges_long_after_the_fault_is_not_at_stake(acknowledged_s: int, covered: bool) -> None:
    judged = judge(load_at_stake(), struck((20, 30)), losing(acknowledged_s))
    assert judged.unexpected == (() if covered else ("lost-write",))


@pytest.mark.parametrize(("kind", "covered"), [("freeze", True), ("freeze-client", False), ("kill-client", False)])
def test_a_fault_of_a_client_puts_no_record_at_stake(kind: str, covered: bool) -> None:
    judged = judge(load_at_stake(), struck((20, 30), kind=kind), losing(25))
    assert judged.unexpected == (() if covered else ("lost-write",))


@pytest.mark.parametrize(("of_sessions", "expected"), [(True, "unknown"), (False, "unexpected")])
def test_a_stall_excuses_what_sessions_decide_and_nothing_else(of_sessions: bool, expected: str) -> None:
    duty = Duty(name="the partition waits for its ISR", held=False, witness="metadata", of_sessions=of_sessions)
    assert judge(KAFKA, [still(30, 34), at(80 * SECOND, duty)], found()).verdict == expected


@pytest.mark.parametrize(
    ("settings", "stood_s", "expected"),
    [
        ({"broker.session.timeout.ms": "4000"}, 1.9, "unexpected"),
        ({"broker.session.timeout.ms": "4000"}, 2.1, "unknown"),
        ({"broker.session.timeout.ms": "9000", "2:broker.session.timeout.ms": "4000"}, 2.1, "unknown"),
        ({"broker.session.timeout.ms": "9000", "replica.lag.time.max.ms": "1000"}, 0.6, "unknown"),
        ({}, 2.9, "unexpected"),
        ({}, 3.1, "unknown"),
    ],
    ids=["less", "half a session", "of one broker", "half a lag", "by default less", "by default half of it"],
)
def test_a_stall_excuses_a_state_if_it_lasted_for_half_a_session(
    settings: dict[str, str], stood_s: float, expected: str
) -> None:
    duty = Duty(name="the small side refuses", held=False, witness="metadata")
    run = KAFKA | {"settings": settings}
    assert judge(run, [still(21, 21 + stood_s), at(80 * SECOND, duty)], found()).verdict == expected
    assert judge(run, [still(10, 10 + stood_s), at(80 * SECOND, duty)], found()).verdict == "unexpected"


STEADY = {"settings": {"auto.leader.rebalance.enable": "false", "broker.session.timeout.ms": "4000"}}
ELECTED_BUSY = [alone(1, 1, 0), alone(30, 2, 1)]
"""Nothing was done, and another broker leads."""


@pytest.mark.parametrize(
    ("share", "at_s", "limit_ms", "expected"),
    [
        (0.9, 30, None, "unknown"),
        (0.05, 30, None, "unexpected"),
        (0.9, 100, None, "unexpected"),
        (0.9, 30, 30_000, "unknown"),
        (0.05, 30, 30_000, "unexpected"),
        (0.9, 70, 45_000, "unexpected"),
        (0.9, 30, 7_000, "unexpected"),
    ],
    ids=["busy", "not busy", "long before", "waited for", "and not busy", "and long before", "for four limits"],
)
def test_what_a_busy_machine_changed_excuses_the_state_that_comes_of_it(
    share: float, at_s: int, limit_ms: int | None, expected: str
) -> None:
    since_ns = None if limit_ms is None else 10 * SECOND
    name = "nobody was elected"
    undone = Duty(name=name, held=False, witness="metadata", since_ns=since_ns, limit_ms=limit_ms)
    waits = Waits(begin_ns=10 * SECOND, slices=((1_000_000, round(share * 1_000_000)),) * 20)
    events = [*ELECTED_BUSY, at(30 * SECOND, waits), at((at_s + 10) * SECOND, undone)]
    assert judge(KAFKA | STEADY, events, found()).verdict == expected


def test_what_a_busy_machine_changed_excuses_nothing_that_clients_saw() -> None:
    waits = Waits(begin_ns=10 * SECOND, slices=((1_000_000, 900_000),) * 20)
    undone = Duty(name="the small side refuses", held=False, witness="clients")
    events = [*ELECTED_BUSY, at(30 * SECOND, waits), at(40 * SECOND, undone)]
    assert judge(KAFKA | STEADY, events, found()).verdict == "unexpected"


@pytest.mark.parametrize(
    ("partitions", "expected"),
    [((("t", 0),), "unknown"), ((("t", 0), ("u", 0)), "unknown"), ((("u", 0),), "unexpected"), ((), "unknown")],
    ids=["its own", "one of its own", "of another", "it names none"],
)
def test_what_a_busy_machine_changed_excuses_no_other_partition(
    partitions: tuple[tuple[str, int], ...], expected: str
) -> None:
    waits = Waits(begin_ns=10 * SECOND, slices=((1_000_000, 900_000),) * 20)
    undone = Duty(name="nobody was elected", held=False, witness="metadata", partitions=partitions)
    events = [*ELECTED_BUSY, at(30 * SECOND, waits), at(40 * SECOND, undone)]
    assert judge(KAFKA | STEADY, events, found()).verdict == expected


SLOW: list[Event] = [
    fault(26 * SECOND, "inject", kind="slow-disk"),
    fault(27 * SECOND, "verified", kind="slow-disk"),
]


@pytest.mark.parametrize(("done", "expected"), [(SLOW, "unexpected"), ([], "unknown")], ids=["it was struck", "not"])
def test_what_a_fault_did_to_a_node_is_no_doing_of_a_busy_machine(done: list[Event], expected: str) -> None:
    """The leader's disk is slow, and another leader is elected. That does not excuse a state that is owed."""
    waits = Waits(begin_ns=10 * SECOND, slices=((1_000_000, 900_000),) * 20)
    undone = Duty(name="the partition waits", held=False, witness="metadata", partitions=(("t", 0),))
    events = [ELECTED_BUSY[0], *done, ELECTED_BUSY[1], at(31 * SECOND, waits), at(40 * SECOND, undone)]
    verdict = judge(KAFKA | STEADY, events, found())
    assert verdict.verdict == expected, verdict.reasons
    assert any("the partition waits" in reason for reason in verdict.reasons)


def test_what_lay_between_nodes_explains_nothing_that_a_busy_machine_may_have_done() -> None:
    """A link is down too briefly for anybody to leave the ISR, and a follower leaves it on a busy machine."""
    links = (("broker-1", "broker-2"), ("broker-2", "broker-1"))
    phases: list[tuple[int, FaultPhase]] = [(20, "inject"), (20, "verified"), (21, "heal"), (21, "healed")]
    cut = [
        replace(fault(at_s * SECOND, phase, kind="cut", node="broker-1, broker-2"), links=links)
        for at_s, phase in phases
    ]
    both, alone_again = (
        at(at_s * SECOND, Partition(topic="t", partition=0, leader=1, leader_epoch=0, isr=isr, source="zookeeper"))
        for at_s, isr in ((1, (1, 2)), (28, (1,)))
    )
    waits = Waits(begin_ns=0, slices=((1_000_000, 900_000),) * 29)
    undone = Duty(name="the follower stays in the ISR", held=False, witness="metadata", partitions=(("t", 0),))
    events = [both, *cut, alone_again, at(29 * SECOND, waits), at(30 * SECOND, undone)]
    told = judge(KAFKA | STEADY, events, found())
    assert [reason for reason in told.reasons if "stays in the ISR" in reason and "proves nothing" in reason]
