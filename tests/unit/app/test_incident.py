"""What saved logs, partitions and configuration tell of lost records."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from app import incident
from app.cli import main
from harness.scenario import all_scenarios

FIXTURES = Path(__file__).parents[2] / "data" / "runs"
LOADED = "[2026-11-23 10:00:00,000] INFO Loading logs from log dirs (kafka.log.LogManager)\n"
NO_EFFECT = "INFO [UnifiedLog partition=t-0] Truncating to 0 has no effect as the largest offset in the log is -1\n"
CUT = "INFO [UnifiedLog partition=t-0, dir=/d] Truncating to offset 111 (kafka.log.UnifiedLog)\n"
CUT_OLD = "INFO Truncating log t-0 to offset 3. (kafka.log.Log)\n"
RECOVERED = "INFO [LogLoader partition=t-0, dir=/d] Recovering unflushed segment 0. (kafka.log.LogLoader)\n"
UNCLEAN = "INFO [QuorumController id=100] UNCLEAN partition change for t-0: isr: [] -> [2]\n"


def logs(folder: Path, **texts: str) -> list[Path]:
    for name, text in texts.items():
        (folder / f"{name}.log").write_text(text)
    return sorted(folder.glob("*.log"))


def first(paths: list[Path]) -> list[str]:
    return [one.sign.id for one in incident.signs(paths)[0]]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (CUT, ["truncation"]),
        (CUT_OLD, ["truncation"]),
        (NO_EFFECT, []),
        ("INFO Truncating log t-0 to offset 0. (kafka.log.Log)\n", []),
        (UNCLEAN, ["unclean-election"]),
        ("unclean.leader.election.enable = false\n", []),
        ("Deleting segment due to log retention time 604800000ms breach\n", ["retention"]),
        ("log.retention.ms = 604800000\n", []),
        ("java.io.IOException: No space left on device\n", ["disk"]),
        (RECOVERED, ["crash"]),
        (CUT + UNCLEAN, ["unclean-election", "truncation"]),
        ("", []),
    ],
)
def test_a_line_is_a_sign_or_none(tmp_path: Path, text: str, told: list[str]) -> None:
    assert first(logs(tmp_path, server=LOADED + text)) == told


def test_a_crash_of_all_brokers_comes_first_and_one_of_some_does_not(tmp_path: Path) -> None:
    some = logs(tmp_path, a=LOADED + RECOVERED, b=LOADED + CUT, controller=UNCLEAN)
    assert first(some) == ["unclean-election", "truncation", "crash"]
    every = logs(tmp_path, b=LOADED + RECOVERED + CUT)
    assert first(every) == ["all-brokers-crashed", "unclean-election", "truncation"]


def test_releases_are_read_from_logs(tmp_path: Path) -> None:
    paths = logs(tmp_path, new="INFO Kafka version: 2.8.2\n", old="INFO Kafka version : 0.10.2.2\n")
    assert incident.signs(paths)[1] == ["0.10.2.2", "2.8.2"]


def test_each_sign_names_a_scenario_that_shows_it() -> None:
    assert {sign.scenario for sign in incident.SIGNS} <= all_scenarios().keys()
    assert len({sign.id for sign in incident.SIGNS}) == len(incident.SIGNS)


def test_copied_partitions_of_a_run_are_found_and_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the names of the run's folders: as somebody saves them."""
    with tarfile.open(FIXTURES / "replica-divergence-0.10.2.2.tar.xz") as packed:
        packed.extractall(tmp_path / "run", filter="data")
    saved = tmp_path / "saved"
    (tmp_path / "run" / "replicas" / "02-final").rename(saved)
    logs(saved, server=LOADED + CUT_OLD)
    (saved / "producer.properties").write_text("bootstrap.servers=a:9092\nacks=1\nkey.serializer=x\n")
    assert main(["incident", str(saved), "--version", "0.10.2.2"]) == 0
    told = capsys.readouterr().out
    assert "t-0: replicas differ" in told
    assert "truncation: a follower removed" in told
    assert "KAFKA-4682" in told
    assert "grade" in told


def test_what_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["incident", "/nowhere/at/all"]) == 254
    assert capsys.readouterr().err.count("\n") == 1


def test_the_page_has_every_sign() -> None:
    page = (FIXTURES.parents[2] / "docs" / "lost-records.md").read_text()
    for sign in incident.SIGNS:
        literals = ", ".join(f"`{one.decode()}`" for one in sign.literals)
        assert f"| {literals} | {sign.means} | {sign.do} | `{sign.scenario}` |" in page
