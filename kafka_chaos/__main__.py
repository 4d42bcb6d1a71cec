"""Where the installed program begins: `kafka-chaos`, or `python -m kafka_chaos`.

The program's packages have common names (`app`, `audit`, `checks`), which other people's packages have too. So an
installation keeps them in a folder of this one, PROGRAM, and not beside it: only the program's own processes, and those
that it starts, look for modules there. In a checkout they lie beside this package, and there is no such folder.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

PROGRAM: Final = Path(__file__).resolve().parent / "program"
MODULES: Final = "PYTHONPATH"


def main() -> int:
    """Run the program's command line, and return its exit status."""
    if PROGRAM.is_dir():
        sys.path.insert(0, str(PROGRAM))
        os.environ[MODULES] = os.pathsep.join([str(PROGRAM), *filter(None, [os.environ.get(MODULES)])])
    from app.__main__ import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
