"""The wall clock of a real broker: it jumps both ways and is right again, and a step that is none is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from evidence.events import Fault
from evidence.run import DEFAULT_CASE
from evidence.run_state import RunState
from evidence.timeline import read
from harness.cluster import versions
from harness.plan import ClusterPlan, TopicPlan
from harness.run import Run
from harness.runner import Finished, Request, execute
from harness.scenario import Scenario
from harness.words import EVERY_VERSION, Case, Documented
from judgement.soundness import unsupported_proofs
from tests.proofs import shown
from tests.records import STATED

pytestmark = pytest.mark.docker
HOURS_S = 2 * 3600


def steps(run: Run) -> None:
    t = run.partition()
    for seconds in (HOURS_S, -HOURS_S):
        run.step_clock(run.leader_of(t), seconds)
        run.set_clocks_right()
    run.send(t)


STEPS = Scenario(
    name="clock-steps",
    claim="A clock that is set takes effect and heals.",
    source="this test",
    operator="",
    cluster=ClusterPlan(own_clocks=True),
    topic=TopicPlan(),
    cases={DEFAULT_CASE: Case(documented=(Documented(on=EVERY_VERSION, **STATED),))},
    steps=steps,
)


def carried_out(version: str, place: Path) -> Finished:
    request = Request(scenario=STEPS, version=versions.get(version), root=place)
    finished = execute(request, echo=lambda _: None)
    finished.removals.wait()
    return finished


@pytest.mark.parametrize("version", ["0.10.2.2", "4.3.1"])
def test_a_clock_jumps_and_is_right_again(version: str, tmp_path: Path) -> None:
    finished = carried_out(version, tmp_path)
    run, events = finished.run_dir.read_run(), read(finished.run_dir.timeline).events
    assert run.state == "complete", run.failure
    proofs = [one.proof for one in events if isinstance(one, Fault) and one.phase == "verified"]
    assert [round(shown(proof)["ahead_ms"] / 3_600_000) for proof in proofs] == [2, -2]
    assert unsupported_proofs(RunState(events)) == []


def test_a_clock_that_goes_on_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.faults.clock.ClockStep._set", lambda *_: None)
    finished = carried_out("4.3.1", tmp_path)
    unproved = [one for one in read(finished.run_dir.timeline).of(Fault) if one.phase == "unproved"]
    assert ["was to be 7200 s from the machine's" in one.seen for one in unproved] == [True]
