"""One answer withheld on real brokers: the commit takes effect, the client hears of it later, a no-op is noticed."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest
from confluent_kafka import Consumer, TopicPartition

from evidence.events import Fault, Precondition
from evidence.faults.clients import WithheldProof
from evidence.run import DEFAULT_CASE
from evidence.timeline import read
from harness.cluster import versions
from harness.cluster.relay import Relay, Relays
from harness.faults.client import ClientProcess
from harness.plan import ClusterPlan, TopicPlan
from harness.polling import poll
from harness.run import Run
from harness.runner import Request, execute
from harness.scenario import Scenario
from harness.words import EVERY_VERSION, Case, Documented
from tests.records import STATED, steps_ended

pytestmark = pytest.mark.docker

GROUP = "behind-relays"
LIMIT_S = 60.0
SHORT_S = 5.0


@dataclass
class Committer:
    """A client behind relays that commits an offset, once an answer to it would be withheld."""

    relays: Relays
    limit_s: float
    name: str = GROUP
    clients: tuple[str, ...] = (GROUP,)
    answers: list[object] = field(default_factory=list)

    def commit(self, topic: str, offset: int) -> None:
        settings = {"bootstrap.servers": self.relays.bootstrap, "group.id": GROUP, "enable.auto.commit": False}
        poll(lambda: not any(relay._passing.is_set() for relay in self.relays.of.values()), self.limit_s)
        consumer = Consumer(settings | {"on_commit": lambda error, _: self.answers.append(error)})
        consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=True)
        poll(lambda: consumer.poll(0.1) is None and bool(self.answers), self.limit_s)
        consumer.close()


def withheld(run: Run, limit_s: float = LIMIT_S) -> None:
    t, relays = run.partition(), run.cluster.relays
    assert relays is not None
    run.send(t, 3)
    run.commit(GROUP, t, 1)
    client = Committer(relays, limit_s)
    thread = threading.Thread(target=client.commit, args=(t.topic, 3))
    thread.start()
    try:
        run.withhold_answer(cast("ClientProcess", client), "OffsetCommit", timeout_s=limit_s)
        run.wait_committed(GROUP, t, 3, timeout_s=limit_s)
        run.require("the client has not heard of it", not client.answers)
        run.answer_again()
        run.require("it hears of it then", bool(poll(lambda: client.answers, limit_s)), answers=len(client.answers))
    finally:
        run.answer_again()
        thread.join()


def briefly(run: Run) -> None:
    withheld(run, SHORT_S)


WITHHELD = Scenario(
    name="withheld",
    claim="A commit whose answer is withheld takes effect.",
    source="this test",
    operator="",
    cluster=ClusterPlan(relayed=True),
    topic=TopicPlan(),
    cases={
        DEFAULT_CASE: Case(documented=(Documented(on=EVERY_VERSION, **STATED),)),
        "briefly": Case(steps=briefly, documented=(Documented(on=EVERY_VERSION, **STATED),)),
    },
    steps=withheld,
)


@pytest.mark.parametrize("version", ["0.11.0.3", "4.3.1"])
def test_a_commit_takes_effect_and_its_client_hears_of_it_later(version: str, tmp_path: Path) -> None:
    request = Request(scenario=WITHHELD, version=versions.get(version), root=tmp_path)
    finished = execute(request, echo=lambda _: None)
    finished.removals.wait()
    run, reading = finished.run_dir.read_run(), read(finished.run_dir.timeline)
    assert run.state == "complete", run.failure
    assert steps_ended(finished.run_dir) == "True"
    assert [event.name for event in reading.of(Precondition) if not event.held] == []
    faults = [event for event in reading.of(Fault) if event.fault_kind == "withhold"]
    assert [event.phase for event in faults] == ["inject", "verified", "heal", "healed"]
    proof = faults[1].proof
    assert isinstance(proof, WithheldProof)
    assert (proof.api, proof.asked_id) == ("OffsetCommit", proof.answered_id)


def test_a_relay_that_withholds_nothing_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Relay, "withhold", lambda *_: None)
    request = Request(scenario=WITHHELD, version=versions.get("4.3.1"), case="briefly", root=tmp_path)
    finished = execute(request, echo=lambda _: None)
    finished.removals.wait()
    assert "no broker had answered one after 5 s" in steps_ended(finished.run_dir)
