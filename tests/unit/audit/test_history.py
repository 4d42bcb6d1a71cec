"""The trend over repositories: what is remembered of an audit, and what changed."""

from __future__ import annotations

import pytest

from app.cli import main
from audit import history
from audit.history import Audited
from evidence.errors import UsageError

FILE = 'bootstrap.servers=k:9092\nkey.serializer=S\nacks={}\nsasl.jaas.config=x required password="s3cr3t";\n'


def test_an_audit_adds_a_line_and_the_next_one_tells_what_changed(tmp_path, capsys) -> None:
    repository, file = tmp_path / "orders", tmp_path / "h.jsonl"
    (repository / ".git").mkdir(parents=True)
    for acks in ("1", "all"):
        (repository / "producer.properties").write_text(FILE.format(acks))
        assert main(["audit", str(repository), "--client", "java-3.9.1", "--history", str(file), "--quiet"]) == 0
    said = capsys.readouterr().err
    assert "orders since 20" in said
    assert " gone" in said
    first, last = history.load(file)
    assert (first.repository, sum(first.grades.values())) == ("orders", 1)
    assert set(last.findings) < set(first.findings)
    assert "s3cr3t" not in file.read_text()
    assert str(tmp_path) not in file.read_text()
    assert main(["audit", "--history", str(file)]) == 0
    assert "orders  " in (told := capsys.readouterr().out)
    assert "1 repository now: " in told


def test_repositories_with_the_worst_grades_come_first() -> None:
    audits = [
        Audited("good", "2026-11-01", {"A": 2}, ()),
        Audited("bad", "2026-11-01", {"C": 1}, ("a", "b")),
        Audited("bad", "2026-11-20", {"F": 1}, ("b", "c", "d")),
    ]
    assert history.lines(audits) == [
        "bad  2026-11-01 to 2026-11-20, 2 audits: C 1 → F 1; 2 new, 1 gone",
        "good  2026-11-01: A 2",
        "2 repositories now: F 1, A 2",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"repository": "r", "day": "x", "grades": {}, "findings": []}',
        '{"repository": "r", "day": "2026-11-01", "grades": {"Z": 1}, "findings": []}',
    ],
)
def test_what_is_no_history_is_one_line(tmp_path, text) -> None:
    (tmp_path / "h").write_text(text)
    with pytest.raises(UsageError, match="not a history of audits"):
        history.load(tmp_path / "h")
    with pytest.raises(UsageError, match="no such history"):
        history.load(tmp_path / "gone")
