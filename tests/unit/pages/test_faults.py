"""docs/writing-a-fault.md: its table is what the types say, and its example is a fault as it stands on the page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pages import faults

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / faults.PAGE).read_text(encoding="utf-8")
BLOCK = re.compile(r"^\*\*(?P<file>\S+)\*\*\n```python\n(?P<code>.*?)^```", re.DOTALL | re.MULTILINE)
ROOMS = ("analysis", "checks", "evidence", "harness", "judgement", "kafkafiles", "pages", "tests/unit/evidence")

CARRIED_OUT = """
import os, subprocess, sys
from pathlib import Path
from types import SimpleNamespace
from evidence.run_state import RunState
from evidence.errors import FaultUnproved
from evidence.faults.base import Lasts
from evidence.faults.priority import LowPriorityProof
from evidence.timeline import Timeline, read
from harness.faults.base import Faults
from harness.faults.priority import LowPriority
from harness.run import Run
from judgement import soundness
from judgement.report.steps import proof_text
from judgement.report.timeline_svg.faults import short
from pages import faults

place = Path(sys.argv[1])
sleeping = subprocess.Popen(["sleep", "60"])
node = SimpleNamespace(name="broker-1", state=lambda: {"Pid": sleeping.pid, "Running": sleeping.poll() is None})
try:
    with Timeline(place) as timeline:
        carried_out = Faults(timeline)
        proof = carried_out.carry_out(LowPriority(node))
        assert proof == LowPriorityProof(threads=1, nice=(19,)), proof
        assert [kind for _, kind in carried_out.active] != []
        if os.geteuid() == 0:
            carried_out.heal(LowPriorityProof)
            assert os.getpriority(os.PRIO_PROCESS, sleeping.pid) == 0
        LowPriority.inject = lambda self: None
        os.geteuid() == 0 and carried_out.carry_out(LowPriority(node))
except FaultUnproved as error:
    assert "its 1 threads have nice [0]" in str(error), error
finally:
    sleeping.kill()
reading = read(place)
assert reading.damaged == (), reading.damaged
run_state = RunState(reading.events)
assert soundness.unsupported_proofs(run_state) == []
fault = run_state.faults[0]
assert (fault.kind, short(fault)) == ("low-priority", "low priority broker-1")
assert proof_text(fault) == "proved: its 1 threads have nice 19"
assert "| low-priority | until it is healed | Every thread of the process has" in faults.table()
assert {"lower_priority", "restore_priority"} <= set(dir(Run))
"""


def test_the_table_is_what_the_types_say() -> None:
    assert faults.renewed(TEXT) == TEXT, "`make docs` writes it anew"
    assert "| kill | until its node is started again | Docker's `kill` event" in TEXT


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rooms that know faults, with the example in its three files and its proof in the tests' table."""
    root = tmp_path_factory.mktemp("house")
    for room in ROOMS:
        shutil.copytree(ROOT / room, root / room)  # with what is compiled: that takes longest
    for name in ("tests/__init__.py", "tests/unit/__init__.py", "tests/proofs.py", "tests/unit/timelines.py"):
        shutil.copy(ROOT / name, root / name)
    written = {found["file"]: found["code"] for found in BLOCK.finditer(TEXT)}
    kind, fault, words = written
    assert [Path(name).parent for name in (kind, fault)] == [Path("evidence/faults"), Path("harness/faults")]
    for name in (kind, fault):
        assert not (root / name).exists()
        (root / name).write_text(written[name])
    nemesis = root / words
    imports = "from evidence.faults.priority import LowPriorityProof\nfrom harness.faults.priority import LowPriority\n"
    begin, _, rest = nemesis.read_text().partition("from evidence.errors")
    methods = textwrap.indent(textwrap.dedent(written[words]), "    ")
    nemesis.write_text(f"{begin}{imports}from evidence.errors{rest}\n{methods}")
    (proof,) = re.findall(r"LowPriorityProof\(threads=.*?\)\)?(?=`)", TEXT)
    proofs = root / "tests" / "proofs.py"
    text = proofs.read_text().replace("    for one in (\n", f"    for one in (\n        {proof},\n", 1)
    proofs.write_text(text.replace("import msgspec\n", "import msgspec\n" + imports.splitlines()[0] + "\n", 1))
    return root


def run(house: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, *arguments]
    environment["PYTHONPATH"] = str(house)
    return subprocess.run(command, cwd=house, env=environment, capture_output=True, text=True, check=False)


def test_the_example_is_carried_out_proved_told_and_judged(house: Path) -> None:
    done = run(house, "-c", CARRIED_OUT, str(house / "timeline.jsonl"))
    assert done.returncode == 0, done.stderr


def test_the_example_is_sabotaged_by_the_tables_that_there_are(house: Path) -> None:
    tests = "tests/unit/evidence/test_fault_kinds.py"
    done = run(house, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "low-priority", tests)
    assert done.returncode == 0, done.stdout
    assert "7 passed" in done.stdout, done.stdout
