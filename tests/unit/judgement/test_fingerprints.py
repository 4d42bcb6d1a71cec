"""What differs from run to run is not of a fingerprint; the class, the level and the words are."""

from __future__ import annotations

from pathlib import Path

import pytest

from judgement.fingerprints import fingerprint, of_logs

STAMP = "2026-11-23T19:24:16.708688322Z [2026-11-23T19:24:16.708Z]"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (
            "WARN [RaftManager id=1] Connection to node 100 (/172.24.51.100:9093) could not be established. "
            "(org.apache.kafka.clients.NetworkClient)",
            "warning NetworkClient: [RaftManager id=N] Connection to node N (/N) could not be established.",
        ),
        (
            "ERROR Error while writing to file /data/kafka/recovery-point (kafka.server.LogDirFailureChannel)",
            "error line LogDirFailureChannel: Error while writing to file PATH",
        ),
        (
            "WARN topic id 4xMVfzSURtqP9eTTEXAMPL is unknown (kafka.server.ReplicaManager)",
            "warning ReplicaManager: topic id ID is unknown",
        ),
        (
            "FATAL [Replica Manager on Broker 1]: Halting (kafka.server.R)",
            "error line R: [Replica Manager on Broker N]: Halting",
        ),
        ("INFO all is well (kafka.server.R)", "None"),
    ],
)
def test_a_line_is_told_without_what_changes(told: str, expected: str) -> None:
    assert str(fingerprint(f"{STAMP} {told}")) == expected


def test_lines_of_a_stack_are_none(tmp_path: Path) -> None:
    log = tmp_path / "broker-1.log"
    log.write_text(
        f"{STAMP} ERROR Failed 1 (kafka.A)\njava.io.IOException: ERROR\n\tat kafka.A.b(A.scala:1)\n"
        f"{STAMP} ERROR Failed 2 (kafka.A)\n{STAMP} INFO saw [x] ERROR (kafka.A)\n"
    )
    assert [str(one) for one in of_logs([log])] == ["error line A: Failed N"]
