"""One module for each command, whose `run` carries it out and returns the exit status (app/cli.py has the table)."""
