"""Sabotage of runs while they go on: from outside, or by a bug of the harness (patched).

A run is a process of its own. What is done from outside is done as soon as the timeline tells of the first
acknowledged record, to a broker of the partition.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evidence.errors import HarnessError
from evidence.rundir import RunDir

LIMIT_S: Final = 900.0
POLL_S: Final = 0.1
TRIES: Final = 3
"""Of a command of docker's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """One way of interfering with a run."""

    name: str
    before: str
    scenario: str = "baseline"
    case: str = ""
    """Of the scenario, if it has several."""
    version: str = "4.3.1"
    bug: str = ""
    """Of the harness, by its name in `patched`."""
    do: Sequence[Sequence[str]] = ()
    """Arguments of docker, one command after the other; NODE stands for the container, NET for its network."""
    pause_s: float = 0.0
    """Between the commands."""


def docker(name: str, *commands: Sequence[str], **more: object) -> Live:
    return Live(name=name, do=commands, **more)  # type: ignore[arg-type]


AS_BEFORE: Final = "as-documented"
NEW: Final = "not tried"
NODE: Final = "NODE"
CASES: Final = (
    docker("docker stop, and start", ("stop", NODE), ("start", NODE), before=AS_BEFORE),
    docker("SIGTERM, and start", ("kill", "-s", "TERM", NODE), ("wait", NODE), ("start", NODE), before=AS_BEFORE),
    docker("SIGABRT", ("kill", "-s", "ABRT", NODE), before=AS_BEFORE),
    docker("kill -9, and start", ("kill", NODE), ("start", NODE), before="unknown"),
    docker("docker restart", ("restart", NODE), before=AS_BEFORE, version="0.10.2.2"),
    docker("docker pause for 2 s", ("pause", NODE), ("unpause", NODE), pause_s=2.0, before=AS_BEFORE),
    docker("network disconnect for 3 s", ("network", "disconnect", "NET", NODE), ("network", "connect", "NET", NODE),
           pause_s=3.0, before=AS_BEFORE),
    docker("a rule of iptables in a broker, to the end",
           ("exec", "-u", "0", NODE, "iptables", "-A", "INPUT", "-s", "203.0.113.1", "-j", "DROP"), before=AS_BEFORE),
    docker("a rule of iptables in a broker, for 2 s",
           ("exec", "-u", "0", NODE, "iptables", "-A", "INPUT", "-s", "203.0.113.1", "-j", "DROP"),
           ("exec", "-u", "0", NODE, "iptables", "-D", "INPUT", "-s", "203.0.113.1", "-j", "DROP"),
           pause_s=2.0, before=AS_BEFORE),
    docker("network disconnect to the end", ("network", "disconnect", "NET", NODE), before=AS_BEFORE),
    docker("docker pause for 2 s, in a run with faults", ("pause", NODE), ("unpause", NODE), pause_s=2.0,
           scenario="follower-reboot", version="0.10.2.2", before=AS_BEFORE),
    Live(name="the image of 0.10.2.2 in a run of 2.8.2", version="2.8.2", bug="another_image", before=AS_BEFORE),
    Live(name="kill does nothing", scenario="double-failover", bug="kill_does_nothing", before="unknown"),
    Live(name="kill is a SIGTERM", scenario="double-failover", bug="kill_is_a_clean_stop", before="unknown"),
    Live(name="kill does nothing and claims a proof", scenario="double-failover", bug="kill_is_claimed",
         before="error"),
    Live(name="cut does nothing", scenario="leader-isolated", bug="cut_does_nothing", before="unknown"),
    Live(name="cut does nothing and claims a proof", scenario="leader-isolated", bug="cut_is_claimed", before="error"),
    Live(name="freeze of ZooKeeper does nothing", scenario="coordinator-outage", case="frozen", version="2.8.2",
         bug="freeze_does_nothing", before=NEW),
    Live(name="freeze of ZooKeeper does nothing and claims a proof", scenario="coordinator-outage", case="frozen",
         version="2.8.2", bug="freeze_is_claimed", before=NEW),
    Live(name="no packet goes through the slow link", scenario="isr-lag-max-messages", bug="slow_does_nothing",
         before=NEW),
    Live(name="a checkpoint stays as it was", scenario="offset-checkpoints", case="old-file", version="0.10.2.2",
         bug="overwrite_does_nothing", before=NEW),
    Live(name="a checkpoint stays as it was and a proof is claimed", scenario="offset-checkpoints", case="old-file",
         version="0.10.2.2", bug="overwrite_is_claimed", before=NEW),
    *(Live(name=f"migrating to KRaft does nothing{also}", scenario="museum-ids-given-twice", version="3.9.2-zk",
           bug=f"migration_{told}", before=NEW)
      for also, told in (("", "does_nothing"), (" and claims a proof", "is_claimed"))),
    *(Live(name=f"{what} does nothing{also}", scenario=scenario, case=case, bug=f"{bug}_{told}", before=NEW)
      for what, bug, scenario, case in (
          ("holding answers back", "hold", "lost-acknowledgement", "idempotent"),
          ("delaying what clients send", "delay", "museum-late-end", "default"),
          ("resetting connections", "reset", "lost-acknowledgement", "retries"),
          ("resetting connections, of an idempotent producer,", "reset", "lost-acknowledgement", "idempotent"),
          ("kill of a client", "kill_client", "client-crash", "lingering"),
          ("kill of a client that has sent", "kill_client", "client-crash", "unanswered"),
      )
      for also, told in (("", "does_nothing"), (" and claims a proof", "is_claimed"))),
    *(Live(name=f"an application {what}", scenario="at-least-once", case="between", bug=bug, before=NEW)
      for what, bug in (
          ("says that it has processed, and makes nothing", "application_sends_nothing"),
          ("commits before it processes, and claims the opposite", "application_commits_first"),
      )),
    *(Live(name=f"{what}{also}", scenario=scenario, case=case, bug=bug + told, before=NEW)
      for what, bug, scenario, case, does_nothing in (
          ("a power loss is a kill", "power_loss", "page-cache-only", "default", "_is_a_kill"),
          ("the power loss of a leader is a kill", "power_loss", "memory-survives", "leader", "_is_a_kill"),
          ("the failure of a log directory does nothing", "disk_failure", "log-directory-failure", "leader",
           "_does_nothing"),
          ("a disk that is made read-only does nothing", "disk_failure", "disk-full", "leader-read-only",
           "_does_nothing"),
          ("filling a disk does nothing", "full_disk", "disk-full", "leader", "_does_nothing"),
          ("slowing a disk down does nothing", "slow_disk", "slow-disk", "follower", "_does_nothing"),
          ("setting a clock does nothing", "clock", "clock-step", "leader-behind", "_does_nothing"),
      )
      for also, told in (("", does_nothing), (" and claims a proof", "_is_claimed"))),
    Live(name="flushing a log does nothing", scenario="museum-marker-lost", case="power-cut",
         bug="flush_log_does_nothing", before=NEW),
    Live(name="Docker's die events are not heard", scenario="double-failover", bug="deaths_are_not_heard",
         before="unknown"),
    Live(name="copies leave out .log files", scenario="double-failover", bug="copies_without_segments",
         before=AS_BEFORE),
    Live(name="every copy is of broker-1's files", scenario="double-failover", bug="copies_of_one_broker",
         before=AS_BEFORE),
    Live(name="preconditions are not written down", scenario="double-failover", bug="preconditions_are_not_written",
         before=AS_BEFORE),
    Live(name="duties of Kafka are not written down", scenario="leader-crash", case="acks-all",
         bug="duties_are_not_written", before=NEW),
)  # fmt: skip


def run(case: Live, root: Path, told: Callable[[str], None]) -> RunDir:
    """Carry one case out; the run directory, not judged yet. HarnessError if the run leaves none, or nothing was done
    to it.
    """
    own = root / "".join(c if c.isalnum() else "-" for c in case.name)
    shutil.rmtree(own, ignore_errors=True)
    log = root / f"{own.name}.log"
    root.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as said:
        child = subprocess.Popen(command(case, own), stdout=said, stderr=said, stdin=subprocess.DEVNULL)
        try:
            if case.do:
                _interfere(case, _wait_until_sent(own, child), told)
            child.wait(LIMIT_S)
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()
    found = sorted(path for path in own.glob("*/run.json")) if own.is_dir() else []
    if not found:
        raise HarnessError(f"{case.name}: no run directory; see {log}")
    return RunDir(found[-1].parent)


def command(case: Live, own: Path) -> list[str]:
    """The run of a case, whose directory goes into `own`."""
    program = ["tests.sabotage.patched", case.bug] if case.bug else ["app"]
    of_case = ["--case", case.case] if case.case else []
    options = ["--runs-dir", str(own), "--no-check", "--json"]
    return [sys.executable, "-m", *program, "run", case.scenario, "--version", case.version, *of_case, *options]


def _wait_until_sent(root: Path, child: subprocess.Popen[bytes]) -> RunDir:
    """The run's directory, when its first record has been acknowledged."""
    deadline = time.monotonic() + LIMIT_S
    while child.poll() is None and time.monotonic() < deadline:
        for path in root.glob("*/timeline.jsonl"):
            if b'"kind":"acked"' in path.read_bytes():
                return RunDir(path.parent)
        time.sleep(POLL_S)
    raise HarnessError("the run ended before a record was acknowledged")


def _interfere(case: Live, run_dir: RunDir, told: Callable[[str], None]) -> None:
    name = run_dir.path.name
    names = {"NODE": f"{name}-broker-2-1", "NET": f"{name}_cluster"}
    for number, arguments in enumerate(case.do):
        if number and case.pause_s:
            time.sleep(case.pause_s)
        command = ["docker", *(names.get(argument, argument) for argument in arguments)]
        for _ in range(TRIES):  # on a busy machine runc may not be able to freeze a container
            done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
            if done.returncode == 0:
                break
            told(f"{case.name}: {' '.join(command)}: {done.stderr.strip()}")
        else:
            raise HarnessError(f"{' '.join(command)}: {done.stderr.strip()}")


def facts_of(run_dir: RunDir) -> str:
    """The run's state, for the log."""
    return str(json.loads(run_dir.run_json.read_text()).get("state"))
