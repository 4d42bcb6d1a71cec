"""Compiled code is kept apart for each content of the modules whose functions others call."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kafkafiles import compiled

CALLER = "from kafkafiles.compiled import compiled\nfrom kafkafiles.sums import answer\n\n\n"
CALLER += "@compiled\ndef ask(n):\n    return answer(n)\n"
CALLED = "from kafkafiles.compiled import compiled\n\n\n@compiled\ndef answer(n):\n    return n + %d\n"


def asked(root: Path, kept: str = "") -> str:
    """What the function answers in a process of its own, which leaves no bytecode: Python takes a file that was written
    anew within one second, in the same length, for the one it has compiled.
    """
    told = subprocess.run(
        [sys.executable, "-B", "-c", "from kafkafiles.kernels import ask; print(ask(1))"],
        cwd=root,
        env={name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
        | {"PYTHONPATH": str(root)}
        | ({"NUMBA_CACHE_DIR": kept} if kept else {}),
        capture_output=True,
        text=True,
        check=True,
    )
    return told.stdout.strip()


def package(root: Path) -> Path:
    (root / "kafkafiles").mkdir()
    (root / "kafkafiles" / "__init__.py").touch()
    shutil.copy(compiled.__file__, root / "kafkafiles")
    (root / "kafkafiles" / "kernels.py").write_text(CALLER)
    (root / "kafkafiles" / "sums.py").write_text(CALLED % 1)
    return root


@pytest.mark.slow
def test_a_function_follows_the_one_of_another_module_that_it_calls(tmp_path):
    root = package(tmp_path)
    assert asked(root) == "2"
    (root / "kafkafiles" / "sums.py").write_text(CALLED % 2)
    assert asked(root) == "3"


@pytest.mark.slow
def test_a_folder_of_the_users_own_is_left_to_numba(tmp_path):
    root = package(tmp_path)
    assert asked(root, str(tmp_path / "own")) == "2"
    assert any((tmp_path / "own").rglob("*.nbi"))
    assert not list((root / "kafkafiles").rglob("compiled-*"))


def test_the_folder_is_named_after_the_contents(tmp_path):
    module = tmp_path / "sums.py"
    module.write_text("a")
    first = compiled.folder(tmp_path, [module])
    module.write_text("b")
    assert compiled.folder(tmp_path, [module]) != first
    module.write_text("a")
    assert compiled.folder(tmp_path, [module]) == first
