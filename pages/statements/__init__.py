"""docs/statements.md: the statements of the design documents about Kafka, and what runs showed of each.

    witness      what runs say of a statement: as documented, a claim held, records kept
    statement    a statement, in a sentence of ours, with its witnesses
    documents    all of them, in the order of the documents
    judged       their verdicts, counted from the ledger's cells (results/cells.jsonl)
    page         the page

A verdict is never written by hand. Whoever adds a scenario that shows a statement adds one line to its `by` in
documents.py, and the next `make docs` counts its runs.

`kafka-chaos statements` and `make statements` are something else: they compare what two commits expect of Kafka.
"""
