"""What the files of a run have, as JSON Schemas (2020-12) that are made of the types that read them.

`kafka-chaos list --schema NAME` prints one, and `make docs` writes all to docs/schemas/. None is committed,
for a type that gets a field would change two files.

A field that is added is no change of schema; one that is removed, or means something else, is one, and SCHEMA of
evidence/run.py rises: programs that read these files look at `schema` first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from evidence.events import AnyEvent
from evidence.findings import Findings
from evidence.ledger import AnyLine
from evidence.run import SCHEMA, RunRecord
from judgement.verdict import Verdict

FOLDER: Final = Path(__file__).parents[1] / "docs" / "schemas"
EXIT_STATUS: Final = {"type": "integer", "description": "The status that a command ends with that has this verdict"}
FILES: Final[Mapping[str, tuple[Any, str]]] = {
    "verdict": (Verdict, "verdict.json: the outcome for the records, the verdict and what is documented"),
    "findings": (Findings, "findings/findings.json: what the analysis found"),
    "timeline": (AnyEvent, "timeline.jsonl: each line but the first, which has the schema"),
    "run": (RunRecord, "run.json: what was run"),
    "ledger": (AnyLine, "ledger.jsonl and results/ledger/: each line"),
}


def schema(name: str) -> dict[str, Any]:
    """The schema of one file."""
    kind, title = FILES[name]
    made: dict[str, Any] = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
    made |= json.loads(json.dumps(msgspec.json.schema(kind)))  # plain values, as a file has them
    if name == "verdict":  # what `Verdict.as_json` adds to the type
        made["$defs"]["Verdict"]["properties"]["exit_status"] = EXIT_STATUS
    if name in ("run", "findings"):  # and what is written beside it
        made["$defs"][kind.__name__]["properties"].setdefault("schema", {"const": SCHEMA})
    return made


def as_text(name: str) -> str:
    """The schema of one file, as it is printed and written."""
    return json.dumps(schema(name), indent=1) + "\n"


def main() -> None:
    """Write docs/schemas/ anew."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (FOLDER / f"{name}.schema.json").write_text(as_text(name), encoding="utf-8")


if __name__ == "__main__":
    main()
