"""`make sabotage`: does anything wrong pass? Runs are sabotaged, live and on their files, and judged.

__main__   fresh runs, every case on them, docs/sabotage.md; fails if a case passes that must not
files      cases that change copies of finished run directories
live       cases that interfere with a run from outside while it goes on
patched    cases in which the harness itself has a bug, such as a kill that does nothing
"""
