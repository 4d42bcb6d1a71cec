"""The lane of faults: what was healed has a mark of its own, with words where there are few."""

from __future__ import annotations

import re
from pathlib import Path

from evidence.events import Fault, Target
from judgement.report import facts
from judgement.report.timeline_svg import render
from judgement.report.timeline_svg.faults import MOST_HEALED
from tests.unit.judgement.report.synthetic import Synthetic


def made(root: Path, count: int, *, healed: bool = True) -> str:
    """The picture of a run with so many freezes of a broker."""
    run = Synthetic(root, "baseline", "4.3.1", mode="kraft")
    run.cluster(brokers=1, controller=1)
    run.partition(6.2, 1, 0, [1])
    for number in range(count):
        whom, what = Target(role="leader of t-0", node="broker-1"), "freeze of broker-1"
        name = run.fault(7.0 + number, "freeze", "broker-1", "leader of t-0", what, proof=None)
        if healed:
            run.event(7.5 + number, Fault(fault_kind="freeze", id=name, phase="healed", target=whom, description=what))
    run_dir = run.write(ended_s=20.0)
    facts.judge_run(run_dir)
    return render(facts.load(run_dir))


def test_a_thaw_has_a_ring_and_words_at_its_time(tmp_path: Path) -> None:
    svg = made(tmp_path, 1)
    assert re.findall(r">(thaw [^<]*)</text>", svg) == ["thaw broker-1"]
    assert "7.50 s: healed: freeze of broker-1" in svg
    assert ">healed</text>" in svg


def test_what_was_not_healed_has_none(tmp_path: Path) -> None:
    svg = made(tmp_path, 1, healed=False)
    assert "mark healed" not in svg
    assert ">healed</text>" not in svg


def test_many_have_rings_without_words(tmp_path: Path) -> None:
    svg = made(tmp_path, MOST_HEALED + 1)
    assert svg.count('class="mark healed"') == MOST_HEALED + 1
    assert "thaw" not in svg
