"""A border between releases is drawn for a reason that can be looked up."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from harness.cluster import ranges

REASON = re.compile(r"\b(KIP|KAFKA|ZOOKEEPER)-\d+|#\d+|\b[0-9a-f]{10,}\b|\b[A-Z]\w+\.[a-z]\w+: .* in \d+(\.\d+){2,3}, ")
"""A proposal, a ticket, a commit, or a method of Kafka's source with what it does in a release on either side."""
OURS = {
    "DELETION_REASON_LOGGED",  # a line of the log that a claim reads: what it says, not what brokers do
    "BESIDE_PROTOCOL_2_0",  # the releases that the harness pins to it
}


def borders() -> dict[str, str]:
    """The ranges whose label names a release: what is written of each."""
    body = ast.parse(Path(ranges.__file__).read_text()).body
    found = {}
    for node, after in zip(body, [*body[1:], ast.Pass()], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            told = ast.unparse(node.value)
            doc = str(ast.literal_eval(after.value)) if isinstance(after, ast.Expr) else ""
            if re.search(r"\d\.\d", told):
                found[node.target.id] = f"{told} {doc}"
    return found


def test_each_border_between_releases_names_its_reason() -> None:
    told = borders()
    assert len(told) > 30
    assert {name for name, text in told.items() if not REASON.search(text)} == OURS


def test_a_last_fetch_holds_nothing_up_from_1_1_on() -> None:
    """KAFKA-6051 is in 1.1.0, and not in 1.0.2."""
    from harness.cluster import versions

    assert ranges.FETCHES_HOLD_UP.holds(versions.get("0.11.0.3"))
    assert not ranges.FETCHES_HOLD_UP.holds(versions.get("1.1.1"))
    assert ranges.FETCHES_END.holds(versions.get("1.1.1"))
