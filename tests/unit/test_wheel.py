"""What an installed copy has: everything that a checkout says of runs, it says too."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

from hatchling.builders.wheel import WheelBuilder

import results

ROOT = Path(__file__).parents[2]


def test_the_wheel_has_what_runs_showed(tmp_path: Path) -> None:
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with ZipFile(wheel) as file:
        carried = {name: file.getinfo(name).file_size for name in file.namelist()}
        (entries,) = (file.read(name).decode() for name in carried if name.endswith("entry_points.txt"))
    assert {"kafka_chaos/pytest_plugin.py", "kafka_chaos/session.py", "kafka_chaos/py.typed"} <= carried.keys()
    assert "[pytest11]\nkafka-chaos = kafka_chaos.pytest_plugin" in entries
    data = [path for path in results.ROOT.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert results.ROOT / "told" / "museum-late-end.json" in data
    sizes = {f"results/{path.relative_to(results.ROOT)}": path.stat().st_size for path in data}
    assert sizes.items() <= carried.items()
