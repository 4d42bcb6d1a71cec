"""The catalogue of anomalies and the checks of the analysis name the same things."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from analysis.check import check_run
from checks import catalogue as anomalies
from checks import claims
from checks.anomaly import CLUSTER, COPIES, HISTORY, REGISTRY, also_found, anomaly
from checks.claim import Judged, RunEvidence, claim
from checks.names import ANOMALIES, CLAIMS, refuse_others
from checks.view import Evidence, PartitionView
from evidence.errors import UsageError
from harness.words import EVERY_VERSION, Documented
from tests.records import STATED
from tests.unit.analysis.runs import make_run
from tests.unit.checks.histories import polled, sent

ROOT = Path(__file__).parents[3]


def test_the_checks_of_a_run_are_the_catalogue(tmp_path: Path) -> None:
    ran = check_run(make_run(tmp_path / "run", {"producer-1": [sent(0, 0)], "consumer-1": [polled(0, 0)]}))
    assert {check.name for check in ran.checks} == set(anomalies.CATALOGUE)


def test_every_entry_has_a_name_of_its_own_and_says_what_it_is() -> None:
    assert len(anomalies.CATALOGUE) == len(anomalies.EVERY)
    for entry in anomalies.EVERY:
        assert entry.definition.endswith(".")
        assert entry.source
        assert entry.follows_from in {"", *anomalies.CATALOGUE}
        assert bool(entry.permitted) == (entry.permits is not anomalies.Anomaly.__dataclass_fields__["permits"].default)


def test_an_anomaly_that_does_not_hold_together_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checks.anomaly.REGISTRY", dict(REGISTRY))

    def check(view: PartitionView) -> list[Evidence]:
        """What is found."""
        return []

    with pytest.raises(ValueError, match="two anomalies 'duplicate'"):
        anomaly("duplicate", **STATED, reads=(HISTORY,))(check)
    with pytest.raises(ValueError, match="no anomaly 'duplicat'"):
        also_found("duplicat", reads=(HISTORY,))(check)
    with pytest.raises(ValueError, match="not available at one place"):
        anomaly("new", **STATED, reads=(HISTORY, CLUSTER))(check)
    with pytest.raises(ValueError, match="a parameter for each kind"):
        anomaly("new", **STATED, reads=(HISTORY, COPIES))(check)
    with pytest.raises(ValueError, match="begin with the definition"):
        anomaly("new", **STATED, reads=(HISTORY,))(lambda view: [])
    anomaly("new", **STATED, reads=(HISTORY,))(check)


def test_a_scenario_that_names_no_anomaly_is_refused() -> None:
    typo = frozenset({"lost-wriet"})
    with pytest.raises(UsageError, match="did you mean lost-write"):
        Documented(on=EVERY_VERSION, required=typo, **STATED)
    with pytest.raises(UsageError, match="did you mean lost-write"):
        Documented(on=EVERY_VERSION, allowed=typo, **STATED)


def test_a_second_claim_of_a_name_and_one_without_a_definition_are_refused() -> None:
    def judge(evidence: RunEvidence) -> Judged:
        raise NotImplementedError

    with pytest.raises(ValueError, match="two claims 'acks-all-waits-for-isr'"):
        claim("acks-all-waits-for-isr", **STATED)(judge)
    with pytest.raises(ValueError, match="begin with the definition"):
        claim("of-nothing", **STATED)(judge)
    assert "of-nothing" not in claims.CATALOGUE


def test_the_catalogues_are_imported_without_spark_or_a_compiler() -> None:
    """And without pandas, which the first array of pyarrow would load (evidence/arrow.py)."""
    told = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from checks import catalogue, claims; import pyarrow as pa; "
    )
    told += "pa.array(['a']); pa.table({'a': [1]}); print(*sys.modules)"
    seen = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout.split()
    assert "checks.claims.replication.acks" in seen
    assert {"pyspark", "numba", "pandas", "docker"} & set(seen) == set()


@pytest.mark.parametrize(("kind", "names"), [("anomaly", ANOMALIES), ("claim", CLAIMS)])
def test_a_name_without_a_function_and_a_function_without_a_name_are_refused(kind: str, names: frozenset[str]) -> None:
    functions = anomalies.CATALOGUE if kind == "anomaly" else claims.CATALOGUE
    refuse_others(kind, names, functions)
    some = min(names)
    with pytest.raises(ValueError, match=f"has the {kind} {some}, which no function has"):
        refuse_others(kind, names, set(functions) - {some})
    with pytest.raises(ValueError, match=f"has not the {kind} {some}, which a function has"):
        refuse_others(kind, names - {some}, functions)


def test_what_asks_for_pandas_still_gets_it() -> None:
    assert pa.table({"a": pa.array([1, None])}).to_pandas()["a"].isna().tolist() == [False, True]
