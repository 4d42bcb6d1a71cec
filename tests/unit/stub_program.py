"""Stands in for `kafka-chaos` where the plugin of pytest calls it: three cells, a run of each, and a cluster.

The run of `double-failover` loses a record, and that of `baseline` ends without a verdict.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

CELLS = [
    {"scenario": "leader-crash", "case": "acks-all", "version": "4.3.1", "seed": 1},
    {"scenario": "double-failover", "case": "default", "version": "4.3.1", "seed": 1},
    {"scenario": "baseline", "case": "default", "version": "4.3.1", "seed": 1},
]
UP = {"bootstrap_servers": "10.0.0.1:9092", "brokers": [1, 2, 3], "version": "4.3.1", "run_dir": "runs/x"}
STORY = "<testsuites><testcase><system-out>1 of 5 acknowledged records LOST</system-out></testcase></testsuites>"


def tell(kind: str, **values: object) -> None:
    print(json.dumps({"kind": kind} | values), flush=True)


def run(scenario: str, options: list[str]) -> int:
    tell("step", text="· kill the leader")
    if scenario == "baseline":
        print("kafka-chaos: no Docker engine", flush=True)
        return 255
    run_dir = Path(options[options.index("--runs-dir") + 1]) / scenario
    run_dir.mkdir(parents=True)
    (run_dir / "junit.xml").write_text(STORY)
    tell("run", verdict="unexpected" if scenario == "double-failover" else "as-documented", run_dir=str(run_dir))
    return 1


def cluster() -> int:
    tell("up", **UP)
    for line in sys.stdin:
        asked = json.loads(line)
        tell("fault", text=f"✓ {asked['do']}: exit code 137")
        if asked["do"] == "stop":
            tell("answer", error="it runs still", of="FaultUnproved")
        else:
            tell("answer", value=2 if asked["do"] == "leader" else None)
        with Path(os.environ["STUB_ASKED"]).open("a") as file:
            file.write(line)
    return 0


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    if command == "matrix" and "no-such" in rest:
        print("kafka-chaos: there is no scenario 'no-such'", file=sys.stderr)
        sys.exit(254)
    if command == "matrix":
        assert {"--dry-run", "--json"} <= set(rest)
        print(json.dumps(CELLS))
        sys.exit(0)
    sys.exit(run(rest[0], rest) if command == "run" else cluster())
