"""The examples of docs/writing-an-anomaly.md and docs/writing-a-claim.md, run as they stand there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("guide", "listed"),
    [
        ("writing-an-anomaly.md", ("--anomalies", "acknowledged-before-sent")),
        ("writing-a-claim.md", ("--claims", "isr-is-never-empty")),
    ],
)
def test_a_newcomer_who_does_what_the_guide_says_is_done(guide: str, listed: tuple[str, str], tmp_path: Path) -> None:
    """In a copy of checks/ that has the module of the page the tests of the page pass, and the entry is listed."""
    text = (ROOT / "docs" / guide).read_text()
    found = re.findall(r"`((?:checks|tests)/[a-z_/]+\.py)`(?:; modules[^:]*)?:\n\n```python\n(.*?)```", text, re.DOTALL)
    (module, content), (test, tests) = found
    shutil.copytree(ROOT / "checks", tmp_path / "checks", ignore=shutil.ignore_patterns("__pycache__"))
    assert not (tmp_path / module).exists()
    (tmp_path / module).write_text(content)
    (tmp_path / Path(test).name).write_text(tests)
    option, name = listed
    names = tmp_path / "checks" / "names.py"
    heading = f"{option.removeprefix('--').upper()}: Final = frozenset(\n    {{\n"
    assert f'"{name}",' in text, "the page says which line checks/names.py gets"
    names.write_text(names.read_text().replace(heading, f'{heading}        "{name}",\n'))
    code = f"import pytest; from app.cli import main; main(['list', {option!r}]); sys.exit(pytest.main(sys.argv[1:]))"
    path = f"import sys; sys.path[:0] = {[str(tmp_path), str(ROOT)]!r}; "
    command = [sys.executable, "-c", path + code, "-q", "-p", "no:cacheprovider", str(tmp_path / Path(test).name)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert name in done.stdout.splitlines()
