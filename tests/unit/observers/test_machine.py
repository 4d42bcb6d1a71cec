"""When a machine stands still, by samples that somebody made up."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from evidence.events import Machine, Stillness, Waits
from evidence.timeline import Timeline, read
from harness.observers.machine import SLICES, MachineObserver, Sample, StillnessWatch, WaitsWatch, sample

MS = 1_000_000


def told(*steps: tuple[int, int, int], steal: int = 0) -> tuple[list[Stillness], Machine]:
    """What is told of samples: each is (ms since the one before, by how much it was late, ms that all stood)."""
    at_ms = stood_ms = ticks = 0
    watch, found = StillnessWatch(Sample(at_ns=0)), []
    for passed_ms, late_ms, memory_ms in steps:
        at_ms, stood_ms, ticks = at_ms + passed_ms, stood_ms + memory_ms, ticks + passed_ms
        now = Sample(at_ns=at_ms * MS, memory_us=stood_ms * 1000, ticks=ticks, steal_ticks=ticks * steal // 100)
        found.append(watch.take(now, late_ms * MS))
    last, whole = watch.end()
    return [one for one in (*found, last) if one is not None], whole


WELL = (250, 1, 0)


def test_a_machine_that_is_well_has_one_line() -> None:
    periods, whole = told(*[WELL] * 20)
    assert periods == []
    assert (whole.seconds, whole.late_ms, whole.memory) == (5.0, 1, 0.0)


def test_a_thread_that_is_woken_late() -> None:
    (period,), whole = told(*[WELL] * 4, (2250, 2000, 0), *[WELL] * 8)
    assert (period.begin_ns, period.monotonic_ns, period.late_ms) == (1000 * MS, 3250 * MS, 2000)
    assert whole.late_ms == 2000


def test_two_stops_in_one_second_are_one_period() -> None:
    (period,), _ = told(*[WELL] * 4, (1500, 1250, 0), WELL, (1500, 1250, 0), *[WELL] * 8)
    assert (period.begin_ns, period.monotonic_ns) == (1000 * MS, 4250 * MS)


def test_all_wait_for_memory() -> None:
    (period,), _ = told(*[WELL] * 4, *[(250, 1, 240)] * 8, *[WELL] * 12)
    assert (period.begin_ns, period.monotonic_ns, period.memory) == (1000 * MS, 3000 * MS, 0.96)


def test_others_have_the_processors() -> None:
    assert told(*[WELL] * 8, steal=40)[0] == []
    (period,), whole = told(*[WELL] * 8, steal=60)
    assert (period.steal, whole.steal) == (0.6, 0.6)


def test_a_short_wait_is_none() -> None:
    assert told(*[WELL] * 4, (600, 350, 0), (250, 1, 240), *[WELL] * 8)[0] == []


def test_a_period_that_lasts_until_the_end_is_told() -> None:
    (period,), _ = told(*[WELL] * 4, (2250, 2000, 0))
    assert period.late_ms == 2000


def test_what_the_kernel_says(tmp_path: Path) -> None:
    (tmp_path / "pressure").mkdir()
    for name, total in (("cpu", 5), ("memory", 6), ("io", 7)):
        lines = f"some avg10=0.00 avg60=0.00 avg300=0.00 total={total}\nfull avg10=0.00 avg60=0.00 total={total}0\n"
        (tmp_path / "pressure" / name).write_text(lines)
    (tmp_path / "stat").write_text("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n")
    seen = sample(tmp_path)
    assert (seen.cpu_us, seen.memory_us, seen.io_us, seen.steal_ticks, seen.ticks) == (5, 60, 70, 8, 36)


@pytest.mark.parametrize("stat", [None, "", "cpu  1 2"])
def test_a_kernel_that_does_not_count(stat: str | None, tmp_path: Path) -> None:
    if stat is not None:
        (tmp_path / "stat").write_text(stat)
    seen = sample(tmp_path)
    assert (seen.cpu_us, seen.memory_us, seen.io_us, seen.steal_ticks) == (0, 0, 0, 0)


def test_slices_fill_lines_that_follow_upon_each_other() -> None:
    watch = WaitsWatch(Sample(at_ns=1000 * MS, cpu_us=5_000_000))
    lines = [
        watch.take(Sample(at_ns=(1000 + 250 * one) * MS, cpu_us=5_000_000 + 100_000 * one))
        for one in range(1, SLICES + 3)
    ]
    (first,) = [line for line in lines if line is not None]
    rest = watch.end()
    assert rest is not None
    assert (first.begin_ns, first.monotonic_ns) == (1000 * MS, 11_000 * MS)
    assert (rest.begin_ns, rest.monotonic_ns) == (11_000 * MS, 11_500 * MS)
    assert first.slices + rest.slices == ((250_000, 100_000),) * (SLICES + 2)
    assert watch.end() is None


def test_nobody_waits_for_longer_than_a_slice_lasts() -> None:
    watch = WaitsWatch(Sample(at_ns=0))
    assert watch.take(Sample(at_ns=250 * MS, cpu_us=260_000)) is None
    told = watch.end()
    assert told is not None
    assert told.slices == ((250_000, 250_000),)


def test_a_thread_that_is_woken_late_has_one_long_slice() -> None:
    watch = WaitsWatch(Sample(at_ns=0))
    watch.take(Sample(at_ns=3000 * MS, cpu_us=2_900_000))
    told = watch.end()
    assert told is not None
    assert told.slices == ((3_000_000, 2_900_000),)


def test_an_observer_writes_what_it_saw(tmp_path: Path) -> None:
    with Timeline(tmp_path / "timeline.jsonl") as timeline:
        taken = threading.Semaphore(0)

        def take() -> Sample:
            taken.release()
            return sample()

        observer = MachineObserver(timeline, take)
        observer.start()
        for _ in range(3):  # the first, and a whole slice
            assert taken.acquire(timeout=30)
        observer.close()
        observer.close()
    told = read(tmp_path / "timeline.jsonl")
    assert len(told.of(Machine)) == 1
    (waits,) = told.of(Waits)
    assert sum(lasted_us for lasted_us, _ in waits.slices) <= (waits.monotonic_ns - waits.begin_ns) // 1000
