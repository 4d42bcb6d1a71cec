"""`python -m tests.clients NAME`: builds a client and prints its command."""

import sys

from tests.clients import command

if __name__ == "__main__":
    sys.stdout.write(command(sys.argv[1]) + "\n")
