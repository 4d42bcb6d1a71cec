"""The Atlas: for a version line and a producer's settings, what can happen to acknowledged records.

    lines.py      the version lines that have a page
    columns.py    producers' settings that people have, as columns
    events.py     the events in words, and what to do where no producer setting helps
    model.py      everything on a page, from the audit's matrix, the ledger's cells and the museum's bugs
    tables.py     the same as rows, CSV and Parquet
    terminal.py   the same as text

Nothing here states a result of its own: each count is of runs, each bug is the museum's, each default was asked of the
release's own code. What was not measured is a hole, and a result of another release is told with that release.
"""
