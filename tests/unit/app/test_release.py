"""What a release consists of: evidence that the ledger binds, a wheel of the commit, notes and checksums."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from app import evidence, ledger, release
from app.evidence import Bundle
from evidence.errors import UsageError
from evidence.ledger import SCHEMA, Packed, encode
from judgement.report import facts
from tests.ledgers import AT, judged, started
from tests.unit.judgement.report import synthetic

CELL = {"runs": 3, "good": 2, "verdicts": {"as-documented": 2, "unexpected": 1}}


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    (tmp_path / "dist" / release.EVIDENCE).mkdir(parents=True)
    return tmp_path / "dist"


@pytest.fixture
def bundle(tmp_path: Path, dist: Path) -> Bundle:
    run_dir = synthetic.double_failover_lost(tmp_path / "runs")
    facts.judge_run(run_dir)
    packed = evidence.pack(run_dir)
    evidence.write(packed, dist / release.EVIDENCE)
    return packed


def store(tmp_path: Path, bundle: Bundle, **changes: str) -> ledger.LedgerFolder:
    """A ledger that binds the archive, but for what `changes` says."""
    about = {"digest": bundle.digest, "manifest": release.manifest_of(bundle.data)} | changes
    made = ledger.LedgerFolder(tmp_path)
    packed = Packed(schema=SCHEMA, run=bundle.run, at=AT, digest=about["digest"], bytes=len(bundle.data))
    verdict = judged(bundle.run, manifest=about["manifest"], text="1 of 5 acknowledged records LOST")
    for line in (started(bundle.run, scenario="double-failover"), verdict, packed):
        made.add(encode(line), line, "a test")
    return made


def test_an_archive_that_the_ledger_binds_is_listed(tmp_path: Path, dist: Path, bundle: Bundle) -> None:
    found = release.archives(dist / release.EVIDENCE, store(tmp_path, bundle))
    assert [(one.digest, one.size) for one in found] == [(bundle.digest, len(bundle.data))]
    _, row = release.index(found).splitlines()
    assert row.startswith(f"{bundle.run}.tar.xz,double-failover,default,4.3.1,as-documented,1 of 5 acknowledged")
    assert row.endswith(f",{'0' * 40},{bundle.digest},{len(bundle.data)}")


@pytest.mark.parametrize(
    ("changes", "told"),
    [({"digest": "f" * 64}, "its digest is in no line"), ({"manifest": "f" * 64}, "no verdict on the files")],
    ids=["of another archive", "of other files"],
)
def test_an_archive_that_it_does_not_bind_is_refused(
    changes: dict[str, str], told: str, tmp_path: Path, dist: Path, bundle: Bundle
) -> None:
    with pytest.raises(UsageError, match=told):
        release.archives(dist / release.EVIDENCE, store(tmp_path, bundle, **changes))


def test_an_archive_that_was_changed_is_refused(tmp_path: Path, dist: Path, bundle: Bundle) -> None:
    path = dist / release.EVIDENCE / f"{bundle.run}.tar.xz"
    path.write_bytes(bundle.data + b"\0")
    with pytest.raises(UsageError, match="its digest is in no line"):
        release.archives(dist / release.EVIDENCE, store(tmp_path, bundle))


def test_without_evidence_there_is_no_release(tmp_path: Path, dist: Path) -> None:
    with pytest.raises(UsageError, match="no evidence to publish"):
        release.archives(dist / release.EVIDENCE, ledger.LedgerFolder(tmp_path))


def test_what_is_no_archive_has_no_manifest() -> None:
    assert release.manifest_of(b"nothing") == ""


def test_notes_count_from_the_rows_and_name_what_has_no_evidence(tmp_path: Path, dist: Path, bundle: Bundle) -> None:
    found = release.archives(dist / release.EVIDENCE, store(tmp_path, bundle))
    data = {"double-failover": {"cases": {"default": {"4.3.1": CELL, "2.8.2": CELL}}}}
    text = release.notes("0.1.0", "c" * 40, found, data, "# Log\n\n## Unreleased\n\n- new\n\n## 0.0.9\n\n- old\n")
    assert "6 runs with a result, in 2 cells" in text
    assert "4 ended as documented, and 2 contradict" in text
    assert "1 archive in evidence/" in text
    assert "1 cell with results have no archive" in text
    assert text.endswith("## What changed\n\n- new\n")


def test_the_changelogs_section_of_the_version_comes_first() -> None:
    log = "# Log\n\n## Unreleased\n\n- new\n\n## 0.1.0 (2026)\n\n- this\n"
    assert (release.changes(log, "0.1.0"), release.changes(log, "0.2.0"), release.changes("", "1")) == (
        "- this",
        "- new",
        "",
    )


def test_checksums_are_of_every_file_but_their_own(dist: Path) -> None:
    (dist / release.EVIDENCE / "a").write_bytes(b"a")
    (dist / release.SUMS).write_text("of before")
    assert release.sums(dist) == f"{hashlib.sha256(b'a').hexdigest()}  evidence/a\n"


def test_a_tree_that_has_changes_makes_no_release(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no checkout"):
        release.commit_of(tmp_path)
    who = ["-c", "user.name=n", "-c", "user.email=e"]
    for words in (["init", "-q"], [*who, "commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    assert len(release.commit_of(tmp_path)) == 40
    (tmp_path / "new").touch()
    with pytest.raises(UsageError, match=r"has changes: \?\? new"):
        release.commit_of(tmp_path)


def test_the_wheel_of_a_commit_has_the_same_bytes_again(tmp_path: Path) -> None:
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kafka_chaos-0.0.1-py3-none-any.whl").touch()
        made.append(release.build_wheel(tmp_path / name, "HEAD"))
    assert made[0].name == made[1].name != "kafka_chaos-0.0.1-py3-none-any.whl"
    assert made[0].read_bytes() == made[1].read_bytes()
