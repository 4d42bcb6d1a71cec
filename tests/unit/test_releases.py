"""`make test` sets up the images of tests/releases.py: exactly those that tests on real brokers use.

A version that such a test names is a string that equals a version's id, as a parameter or as an argument, so they are
taken from the syntax trees: pytest knows parameters alone. A version that a test computes is not seen here; it fails in
tests.integration.engine.needs_image, in one line.
"""

from __future__ import annotations

import ast
from pathlib import Path

from harness.cluster import versions
from tests import releases

INTEGRATION = Path(__file__).resolve().parents[1] / "integration"


def versions_named(source: str) -> set[str]:
    """The ids of versions among the strings of a module."""
    ids = {version.id for version in versions.ALL}
    strings = {node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)}
    return {text for text in strings if isinstance(text, str) and text in ids}


def test_a_version_is_found_wherever_a_test_names_it() -> None:
    source = """
'''Not "4.0.2", which is only spoken of.'''
LIST = ["0.9.0.1"]
@pytest.mark.parametrize("version", ["4.3.1", "no version"])
def test(version): run("3.9.2-zk", version)  # nor "1.1.1"
"""
    assert versions_named(source) == {"0.9.0.1", "4.3.1", "3.9.2-zk"}


def test_the_list_names_what_tests_on_real_brokers_use_and_nothing_else() -> None:
    used = {name for path in INTEGRATION.glob("*.py") for name in versions_named(path.read_text())}
    # Ways to run one release share its image.
    wanted, listed = ({versions.get(name).kafka for name in names} for names in (used, releases.VERSIONS))
    assert sorted(wanted - listed) == [], "used by tests, and not in tests/releases.py"
    assert sorted(listed - wanted) == [], "in tests/releases.py, and used by no test"


def test_every_test_on_real_brokers_is_in_the_directory_that_is_looked_at() -> None:
    marked = [path for path in INTEGRATION.parent.rglob("*.py") if "pytest.mark.docker" in path.read_text()]
    outside = [path for path in marked if path.parent != INTEGRATION and path != Path(__file__).resolve()]
    assert not outside
