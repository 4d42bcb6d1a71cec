"""Where the program begins: `kafka-chaos`, or `python -m app`.

Loading the command line takes a tenth of a second. A Ctrl-C in that time ends the process as it ends any program,
instead of with the traceback of an import.
"""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Load the command line and run it; it handles signals itself as soon as there is something to clean up."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from app import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
