"""Every fault on real brokers, in one run: each is proved, composes with the others, and heals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from evidence.events import Fault, Note, Precondition
from evidence.faults.network import HoldProof
from evidence.run import DEFAULT_CASE
from evidence.timeline import read
from harness.cluster import versions
from harness.cluster.listings import CHAIN
from harness.faults import cut
from harness.faults.answers import Hold, Reset
from harness.faults.client import FreezeClient, KillClient
from harness.faults.cut import Cut
from harness.faults.files import Wipe
from harness.faults.process import Double
from harness.plan import ClusterPlan, TopicPlan
from harness.run import Run
from harness.runner import Request, execute
from harness.scenario import Scenario
from harness.words import EVERY_VERSION, Case, Documented
from tests.records import STATED, steps_ended

pytestmark = pytest.mark.docker


def rules(run: Run, broker: int) -> list[str]:
    """Our DROP rules in a broker's kernel."""
    listing = run.cluster.node(broker).run_inside("sh", "-c", "iptables -S")
    return [line for line in listing.splitlines() if line.startswith(f"-A {CHAIN}") and "DROP" in line]


def steps(run: Run) -> None:
    one, two, three = run.replicas_of(run.partition())
    run.cut([one], [two], one_way=True)
    run.cut([one], [three])
    found = rules(run, 1)
    run.require("one rule for one way, two for both", len(found) == 3, rules=found)

    run.slow([two], [three], 20_000)
    run.slow([two], [run.coordinator()], 500_000)
    run.lose([three], [run.coordinator()], 0.3)
    run.cut_from_coordinator(two)
    run.heal_network(two, run.coordinator())
    with run.load(run.partition(), rate_per_s=20, acks="1"):
        run.cut_clients(one)
        run.heal_network()
    run.send(run.partition(), 1)
    run.hold_answers(one)
    run.reset_clients(one)
    run.heal_network()
    run.cut([two], [one], port=9092)
    run.flap([three], [one], times=2, down_s=0.5, up_s=0.5)
    run.heal_network()
    run.cut([one], [two], one_way=True)
    run.cut([one], [three])

    producer = run.producer(settings={"client.id": "to be killed"})
    producer.send(*run.partition(), timeout_s=30)
    run.freeze_client(producer)
    run.thaw_clients()
    producer.send(*run.partition(), timeout_s=30)
    run.kill_client(producer)

    run.freeze(two)
    run.thaw()

    run.kill(one)
    run.start(one)
    run.require("a restarted node is cut again", len(rules(run, 1)) == 3, rules=rules(run, 1))

    run.heal_network()
    run.heal_network()
    run.require("healed: no rule is left", rules(run, 1) == [], rules=rules(run, 1))

    run.stop(three)
    run.start(three)

    run.expect_exit(run.start_double(), "already registered|unable to register")
    run.kill(two)
    run.wait_unregistered(two)
    run.overwrite_high_watermark(two, run.partition(), 1000)
    run.wipe(two)
    run.start(two)
    run.wait_isr(run.partition(), run.replicas_of(run.partition()))
    run.send(run.partition(), 1)


EVERY_FAULT = Scenario(
    name="every-fault",
    claim="Every fault takes effect and heals.",
    source="this test",
    operator="",
    cluster=ClusterPlan(double_of=1, settings={"replica.fetch.wait.max.ms": "500", "replica.lag.time.max.ms": "10000"}),
    topic=TopicPlan(),
    cases={DEFAULT_CASE: Case(documented=(Documented(on=EVERY_VERSION, **STATED),))},
    steps=steps,
)


@pytest.mark.parametrize("version", ["0.10.2.2", "4.3.1"])
def test_every_fault_is_proved_and_heals(version: str, tmp_path: Path) -> None:
    request = Request(scenario=EVERY_FAULT, version=versions.get(version), root=tmp_path)
    finished = execute(request, echo=lambda _: None)
    finished.removals.wait()
    run = finished.run_dir.read_run()
    reading = read(finished.run_dir.timeline)
    notes = [event.text for event in reading.of(Note) if event.source == "runner"]
    assert run.state == "complete", run.failure
    assert all(event.held for event in reading.of(Precondition)), notes
    phases = [(event.fault_kind, event.phase) for event in reading.of(Fault)]
    proved = [fault for fault, phase in phases if phase == "verified"]
    network = ["cut", "cut", "slow", "slow", "loss", "cut", "cut", "hold", "cut", "cut", "cut", "cut", "cut"]
    with_reset = [*network[:8], "reset", *network[8:]]
    assert proved == [
        *with_reset,
        "freeze-client",
        "kill-client",
        "freeze",
        "kill",
        "start",
        "stop",
        "start",
        "double",
        "exit",
        "kill",
        "overwrite",
        "wipe",
        "start",
    ]
    assert [phase for _, phase in phases].count("healed") == len(network) + 2


def test_answers_whose_loss_tcp_is_told_of_are_no_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut, "LOST", cut.DROPPED)
    scenario = replace(EVERY_FAULT, name="sabotaged-fault", steps=held_back)
    finished = execute(Request(scenario=scenario, version=versions.get("4.3.1"), root=tmp_path), echo=lambda _: None)
    finished.removals.wait()
    verified = [event.proof for event in read(finished.run_dir.timeline).of(Fault) if event.phase == "verified"]
    # A broker that answers later than its kernel acknowledges by itself (40 ms) has taken the request all the same.
    taken = [isinstance(proof, HoldProof) and bool(proof.taken_and_unanswered) for proof in verified]
    assert taken == [True] or "request of our own was not taken" in steps_ended(finished.run_dir)


def killed_and_wiped(run: Run) -> None:
    run.send(run.partition(), 1)
    (one, *_) = run.replicas_of(run.partition())
    run.kill(one)
    run.wipe(one)


def held_back(run: Run) -> None:
    run.send(run.partition(), 1)
    run.hold_answers(run.leader_of(run.partition()))


def of_another_port(hold: Hold) -> None:
    """Rules that no answer runs into."""
    Cut(hold.senders, hold.receivers, one_way=True, port=1).inject()


def reset(run: Run) -> None:
    run.send(run.partition(), 1)
    run.reset_clients(run.leader_of(run.partition()))


def client_killed(run: Run) -> None:
    run.kill_client(run.producer())


def client_frozen(run: Run) -> None:
    producer = run.producer()
    producer.send(*run.partition(), timeout_s=30)
    run.freeze_client(producer)


def doubled(run: Run) -> None:
    run.start_double()


def expected_to_end(run: Run) -> None:
    """A second broker that somebody kills has not ended itself."""
    double = run.start_double()
    double.node.container.kill()
    run.expect_exit(double, "")


@pytest.mark.parametrize(
    ("sequence", "sabotaged", "seen"),
    [
        (killed_and_wiped, Wipe, "there was no log on its disk"),
        (doubled, Double, "no 'start' event"),
        (held_back, Hold, "no such rule in the kernel"),
        (reset, Reset, "there was none"),
        (client_killed, KillClient, "not by SIGKILL"),
        (client_frozen, FreezeClient, "threads are not stopped"),
        (expected_to_end, None, "exit code 137: not by itself"),
    ],
    ids=[
        "a disk that is not wiped",
        "a second broker that is not started",
        "answers that are not held back",
        "connections that are not reset",
        "a client that is not killed",
        "a client that is not frozen",
        "an end that is not its own",
    ],
)
def test_a_fault_that_does_nothing_is_noticed(
    sequence: Callable[[Run], None],
    sabotaged: type[Wipe | Double | Hold | Reset | KillClient | FreezeClient] | None,
    seen: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if sabotaged is Hold:
        monkeypatch.setattr(Hold, "inject", of_another_port)
    elif sabotaged is not None:
        monkeypatch.setattr(sabotaged, "inject", lambda self: None)
    scenario = replace(EVERY_FAULT, name="sabotaged-fault", steps=sequence)
    finished = execute(Request(scenario=scenario, version=versions.get("0.10.2.2"), root=tmp_path), echo=lambda _: None)
    finished.removals.wait()
    unproved = [event for event in read(finished.run_dir.timeline).of(Fault) if event.phase == "unproved"]
    assert [seen in event.seen for event in unproved] == [True]
    assert seen in steps_ended(finished.run_dir)
