"""The scenarios as declared: every one documents every version it applies to, as the catalogue of claims has
it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from app.listing import Selection, chosen
from app.matrix import cells
from evidence.errors import UsageError
from harness.cluster import versions
from harness.plan import ClusterPlan, TopicPlan
from harness.runner import Request, run_id
from harness.scenario import _REGISTRY, Scenario, all_scenarios, get_scenario, mistakes_told, scenario
from harness.setup.settings import validate
from harness.words import EVERY_VERSION, Case, Documented, ranges
from tests.records import STATED

if TYPE_CHECKING:
    from harness.run import Run

ROOT = Path(__file__).parents[2]
OLD = ("0.8.2.2", "0.9.0.1", "0.10.2.2")
PINNED = ("2.2.2-pinned", "2.8.2-pinned", "3.9.2-pinned")
EPOCH = ("0.11.0.3", "1.1.1", "2.2.2", "2.8.2", "3.9.2-zk")
KRAFT = ("3.9.2-kraft", "4.0.2", "4.1.2", "4.3.1", "4.4.0")
LOST, DIVERGED = (frozenset({name}) for name in ("lost-write", "replica-divergence"))


def outcome(scenario: str, version: str) -> tuple[frozenset[str], frozenset[str]]:
    documented = get_scenario(scenario).documented_for(versions.get(version))
    return documented.required, documented.allowed


WORDS_THAT_NEED = {
    "transactions": re.compile(r"run\.transaction\("),
    "groups": re.compile(r"run\.consume\([^)]*group="),
    "acks-1": re.compile(r"run\.(send|load)\([^)]*acks=\"1\""),
    "idempotence": re.compile(r"run\.(send|load)\([^)]*settings=IDEMPOTENT"),
}


def unexplained(declared: Scenario) -> list[tuple[str, str]]:
    """The outcomes that allow something and have no sentence on what that depends on: case and versions."""
    stated = [(case.name, outcome) for case in declared.cases.values() for outcome in case.documented]
    return [(case, outcome.on.label) for case, outcome in stated if outcome.allowed and not outcome.sentence]


@pytest.mark.parametrize("name", all_scenarios())
def test_an_outcome_that_allows_something_says_on_what_it_depends(name: str) -> None:
    if not name.startswith("audit-"):  # whose subjects each have a stated outcome
        assert unexplained(get_scenario(name)) == []


def test_an_allowance_without_a_sentence_is_found() -> None:
    declared = get_scenario("double-failover")
    (case,) = declared.cases.values()
    silent = [replace(outcome, sentence="") for outcome in case.documented]
    changed = replace(declared, cases={case.name: replace(case, documented=silent)})
    (found,) = unexplained(changed)
    assert found == (case.name, ranges.HIGH_WATERMARK_TRUNCATION.label)


@pytest.mark.parametrize("name", all_scenarios())
def test_a_scenario_says_what_its_steps_need_of_a_client(name: str) -> None:
    declared = get_scenario(name)
    text = Path(declared.path).read_text()
    needed = {word for word, used in WORDS_THAT_NEED.items() if used.search(text)}
    if not name.startswith("audit-"):  # whose subjects have clients of their own
        assert {word for case in declared.cases.values() for word in needed - declared.needs_of(case)} == set()


@pytest.mark.parametrize(
    ("case", "needed"), [("idempotent", ["idempotence"]), ("retries-acks-1", ["acks-1"]), ("retries", [])]
)
def test_a_case_needs_what_its_acks_and_its_settings_are(case: str, needed: list[str]) -> None:
    declared = get_scenario("lost-acknowledgement")
    assert sorted(declared.needs_of(declared.case(case))) == needed


def test_what_no_client_has_a_word_for_is_refused() -> None:
    with pytest.raises(UsageError, match="needs transaction, which is not one of produce"):
        scenario(name="s", claim="", source="", operator="", documented=[Documented(**STATED)], needs=["transaction"])


@pytest.mark.parametrize("version", [*OLD, *PINNED])
def test_old_truncation_loses(version: str) -> None:
    assert outcome("double-failover", version) == (LOST, DIVERGED)
    assert outcome("replica-divergence", version) == (LOST | DIVERGED, frozenset())


@pytest.mark.parametrize("version", [*EPOCH, *KRAFT])
def test_epochs_do_not(version: str) -> None:
    for name in (
        "double-failover",
        "follower-reboot",
        "follower-reboot-epoch",
        "leader-epoch-recovery",
        "baseline",
    ):
        assert outcome(name, version) == (frozenset(), frozenset())
    assert outcome("replica-divergence", version) == (LOST, frozenset())


@pytest.mark.parametrize("version", [*OLD, "2.2.2-pinned"])
def test_follower_reboot_loses_where_the_dead_controller_stays_in_the_isr(version: str) -> None:
    assert outcome("follower-reboot", version) == (LOST | DIVERGED, frozenset())


@pytest.mark.parametrize("version", ["2.8.2-pinned", "3.9.2-pinned"])
def test_follower_reboot_does_not_where_it_leaves(version: str) -> None:
    assert outcome("follower-reboot", version) == (frozenset(), frozenset())


@pytest.mark.parametrize("name", ["leader-epoch-recovery", "follower-reboot-epoch"])
def test_epoch_scenarios_do_not_apply_to_old_truncation(name: str) -> None:
    with pytest.raises(UsageError, match=r"does not apply to 0\.10\.2\.2"):
        get_scenario(name).documented_for(versions.get("0.10.2.2"))


@pytest.mark.parametrize(
    ("case", "losing"),
    [("default", OLD), ("enabled", (*OLD, *EPOCH, *PINNED, *KRAFT)), ("disabled", ())],
)
def test_an_unclean_election_loses_where_it_is_enabled(case: str, losing: tuple[str, ...]) -> None:
    """By default it is before 0.11 (KIP-106), whatever protocol a later release is pinned to."""
    made = get_scenario("unclean-election")
    for version in (*OLD, *EPOCH, *PINNED, *KRAFT):
        documented = made.documented_for(versions.get(version), case)
        assert documented.required == (LOST | {"inconsistent-offsets"} if version in losing else frozenset()), version


def test_every_scenario_documents_every_version_it_applies_to() -> None:
    for made in all_scenarios().values():
        for version in versions.ALL:
            for case in made.cases.values():
                if made.applies_to(version, case):
                    made.documented_for(version, case.name)


def test_every_scenario_says_what_an_operator_takes_from_it() -> None:
    assert [made.name for made in all_scenarios().values() if not made.operator.endswith(".")] == []


def test_advice_names_no_page_that_is_not_there() -> None:
    """Generated pages are not committed, so advice names a command in their place."""
    root = Path(__file__).parents[2]
    ignored = [line.strip("/") for line in (root / ".gitignore").read_text().splitlines() if line.startswith("/docs")]
    for made in all_scenarios().values():
        for named in re.findall(r"[\w/-]+\.md", made.operator):
            assert (root / named).exists(), (made.name, named)
            assert not any(fnmatch(named, f"{one}*") for one in ignored), (made.name, named)


def test_a_misspelt_name_gets_near_ones() -> None:
    with pytest.raises(UsageError, match="did you mean double-failover"):
        get_scenario("double-failovr")
    with pytest.raises(UsageError, match="the nearest releases are"):
        versions.get("0.10.2.9")


def test_a_scenario_is_found_by_its_other_names() -> None:
    duplicates = get_scenario("producer-retry-duplicates")
    assert duplicates.name == "lost-acknowledgement"
    found = chosen([], Selection(find="producer-retry-duplicates"))
    assert [made for those in found.values() for made in those] == [duplicates]
    assert chosen(["producer-retry-duplicates"], Selection()) == found


def test_no_two_scenarios_have_one_name() -> None:
    every = all_scenarios()
    names = [name for made in every.values() for name in (made.name, *made.also_called)]
    assert len(set(names)) == len(names)


def test_cells_leave_out_what_does_not_apply_and_go_seed_by_seed() -> None:
    made = [get_scenario("double-failover"), get_scenario("leader-epoch-recovery")]
    chosen = [versions.get("0.10.2.2"), versions.get("4.3.1")]
    found = [(cell.scenario, cell.version, cell.seed) for cell in cells(made, chosen, seed=7, repeat=2)]
    one = [("double-failover", "0.10.2.2"), ("double-failover", "4.3.1"), ("leader-epoch-recovery", "4.3.1")]
    assert found == [(*pair, 7) for pair in one] + [(*pair, 8) for pair in one]


@pytest.fixture
def with_cases() -> Iterator[Scenario]:
    """A scenario of two cases, of which one is for KRaft alone."""
    one, kraft = (
        Case(
            documented=[Documented(on=EVERY_VERSION, required=LOST, **STATED)],
            acks="1",
            settings={"min.insync.replicas": "1"},
        ),
        Case(
            documented=[Documented(on=ranges.KRAFT, **STATED)],
            topic={"retention.ms": "-1"},
            replicas=((1, 2),),
            applies=ranges.KRAFT,
        ),
    )

    @scenario(name="of-cases", claim="", source="this test", operator="", cases={"acks-1": one, "only-kraft": kraft})
    def made(run: Run) -> None: ...

    yield made
    _REGISTRY.pop("of-cases")


def test_a_case_may_have_a_cluster_of_its_own() -> None:
    made = get_scenario("controller-failover")
    assert made.cluster_of(made.case("a-broker")).combined
    apart = made.cluster_of(made.case("apart"))
    assert (apart.combined, apart.controllers) == (False, 3)
    assert made.case("apart").as_json()["controllers"] == 3


def test_each_case_is_a_cell_where_it_applies(with_cases: Scenario) -> None:
    chosen = [versions.get("0.10.2.2"), versions.get("4.3.1")]
    found = [(cell.case, cell.version) for cell in cells([with_cases], chosen, seed=1, repeat=1)]
    assert found == [("acks-1", "0.10.2.2"), ("acks-1", "4.3.1"), ("only-kraft", "4.3.1")]
    assert str(cells([with_cases], chosen, seed=1, repeat=1)[0]) == "of-cases (acks-1) on 0.10.2.2, seed 1"
    assert len(cells([with_cases], chosen, seed=1, repeat=1, cases=["only-kraft"])) == 1


def test_a_case_has_a_documented_outcome_and_settings_of_its_own(with_cases: Scenario) -> None:
    old, new = versions.get("0.10.2.2"), versions.get("4.3.1")
    assert with_cases.documented_for(new, "acks-1").required == LOST
    assert with_cases.documented_for(new, "only-kraft").required == frozenset()
    assert with_cases.cluster_of(with_cases.case("acks-1")).settings == {"min.insync.replicas": "1"}
    topics = [with_cases.topic_of(with_cases.case(name)) for name in ("acks-1", "only-kraft")]
    assert [(topic.settings, topic.replicas) for topic in topics] == [
        ({}, ((1, 2, 3),)),
        ({"retention.ms": "-1"}, ((1, 2),)),
    ]
    assert with_cases.case("only-kraft").as_json()["replicas"] == "1,2"
    assert [case.name for case in with_cases.cases_for(old)] == ["acks-1"]
    with pytest.raises(UsageError, match=r"case only-kraft, does not apply to 0\.10\.2\.2; it applies to: KRaft"):
        with_cases.cases_for(old, ["only-kraft"])
    with pytest.raises(UsageError, match="there is no case 'acks-2'; did you mean acks-1"):
        with_cases.case("acks-2")


def test_the_roles_are_those_of_the_cases_own_cluster() -> None:
    two, three = (
        Request(scenario=get_scenario("museum-segment-below-batch"), version=versions.get("4.3.1"), case=case, seed=2)
        for case in ("default", "rolling-restart")
    )
    assert (two.layout, two.topic.replicas) == ({1: 2, 2: 1}, ((2, 1),))
    assert (three.layout, three.topic.replicas) == ({1: 1, 2: 3, 3: 2}, ((1, 3, 2),))
    assert "2:log.segment.bytes" in three.cluster.settings


@pytest.mark.parametrize("cases", [None, {"Acks 1": Case(documented=[])}], ids=["nothing is stated", "a bad name"])
def test_a_scenario_states_what_follows(cases: dict[str, Case] | None) -> None:
    with pytest.raises(UsageError, match="scenario x: "):
        scenario(name="x", claim="", source="", operator="", cases=cases)


def test_the_seed_decides_which_broker_plays_which_role(with_cases: Scenario) -> None:
    cluster = ClusterPlan(controller=2, zookeeper_sessions_ms={2: 7000}, settings={"2:a": "b", "c": "d"})
    made = replace(with_cases, cluster=cluster, topic=TopicPlan(replicas=((1, 2), (3, 1))))
    seeds = [Request(scenario=made, version=versions.get("4.3.1"), case="acks-1", seed=seed) for seed in range(1, 8)]
    assert seeds[0].layout == {1: 1, 2: 2, 3: 3}
    assert len({tuple(request.layout.values()) for request in seeds}) == 6
    assert seeds[6].layout == seeds[0].layout
    third = seeds[2]
    assert third.layout == {1: 2, 2: 1, 3: 3}
    assert third.topic.replicas == ((2, 1), (3, 2))
    assert (third.cluster.controller, third.cluster.zookeeper_sessions_ms) == (1, {1: 7000})
    assert third.cluster.settings == {"1:a": "b", "c": "d", "min.insync.replicas": "1"}


@pytest.mark.parametrize(
    ("settings", "expect", "observed"),
    [
        ({}, None, False),
        ({"min.insync.replicas": "1"}, None, False),
        ({"min.insync.replicas": "2"}, None, True),
        ({}, (), True),
    ],
    ids=["none", "what the case has", "another", "an expectation"],
)
def test_nothing_is_documented_for_settings_of_the_users_own(
    with_cases: Scenario, settings: dict[str, str], expect: tuple[str, ...] | None, observed: bool
) -> None:
    version = versions.get("4.3.1")
    request = Request(scenario=with_cases, version=version, case="acks-1", settings=settings, expect=expect)
    assert request.observed is observed
    assert "--case acks-1" in request.command
    assert ("--expect none" in request.command) == (expect is not None)
    assert "of-cases-acks-1-4-3-1-s1" in run_id(request)


def test_no_cell_at_all_is_bad_input() -> None:
    with pytest.raises(UsageError, match="none of these scenarios applies"):
        cells([get_scenario("leader-epoch-recovery")], [versions.get("0.8.2.2")], seed=1, repeat=1)


def test_every_setting_that_a_scenario_makes_is_known_to_the_version() -> None:
    for one in all_scenarios().values():
        for version in versions.ALL:
            for case in one.cases.values():
                if one.applies_to(version, case):
                    validate(version, one.cluster_of(case).settings, one.file)


def test_a_setting_of_one_broker_is_looked_up_by_its_name() -> None:
    validate(versions.get("4.3.1"), {"2:replica.lag.time.max.ms": "1"}, "--setting")
    with pytest.raises(UsageError, match="did you mean"):
        validate(versions.get("4.3.1"), {"2:replica.lag.max": "1"}, "--setting")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Documented(on='4.3.1', **STATED)", "line 3: .*is a range of versions"),
        (
            "Documented(on=EVERY_VERSION, required='lost-write', source='KIP-1', basis=Basis.KIP)",
            "line 3: .*several names",
        ),
        (
            "Documented(on=EVERY_VERSION, required={'lost-wriet'}, source='KIP-1', basis=Basis.KIP)",
            "line 3: .*did you mean lost-write",
        ),
        ("Documented(on=EVERY_VERSION)", "line 3: TypeError: .*'source' and 'basis'"),
        ("Documented(source='KIP 1', basis=Basis.KIP)", "line 3: .*names no KIP"),
        ("Documented(source='KIP-1', basis='hearsay')", "line 3: .*is not one of documentation, KIP"),
        ("Case(acks='2', documented=[])", "line 3: .*acks is 0, 1, all"),
        ("Case()", "line 3: TypeError: .*documented"),
        ("Documentd()", "line 3: NameError"),
        ("Documented(", "line 3"),
    ],
)
def test_an_authors_mistake_is_one_line_with_the_place(text: str, why: str) -> None:
    names = "EVERY_VERSION, Basis, Case, Documented"
    source = f"from harness.words import {names}\nfrom tests.records import STATED\nmade = {text}\n"
    with pytest.raises(UsageError, match=f"^mine.py, {why}") as caught, mistakes_told("mine.py"):
        exec(compile(source, "mine.py", "exec"))
    assert "\n" not in str(caught.value)


def test_an_error_from_deeper_down_is_no_mistake_of_the_file() -> None:
    with pytest.raises(TypeError), mistakes_told("mine.py"):
        exec(compile("from pathlib import Path\n\nPath(None)\n", "mine.py", "exec"))


def test_a_folder_without_init_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = ModuleType("scenarios")
    package.__path__ = [str(tmp_path)]
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "mine.py").touch()
    (tmp_path / "__init__.py").touch()
    monkeypatch.setitem(sys.modules, "scenarios", package)
    with pytest.raises(UsageError, match=r"no __init__\.py"):
        all_scenarios()


def say(run: Any, word: str) -> None:
    run.said.append(word)


def walked(made: Scenario, case: str) -> list[str]:
    run: Any = SimpleNamespace(said=[])
    made.steps_of(case)(run)
    return list(run.said)


def test_a_case_takes_its_own_steps_or_the_scenarios(monkeypatch: pytest.MonkeyPatch) -> None:
    registry: dict[str, Scenario] = {}
    monkeypatch.setattr("harness.scenario._REGISTRY", registry)

    told: dict[str, Any] = {"name": "x", "claim": "c", "source": "s", "operator": "o"}
    documented = (Documented(**STATED),)
    own = Case(steps=partial(say, word="own"), documented=documented)
    made = scenario(**told, cases={"own": own, "other": Case(documented=documented)})(partial(say, word="shared"))
    assert (walked(made, "own"), walked(made, "other")) == (["own"], ["shared"])

    scenario(**told | {"name": "y"}, cases={"own": own, "other": Case(documented=documented)})
    scenario(**told | {"name": "z"}, cases={"own": own})
    assert registry.keys() == {"x", "z"}, "of y a case has no steps yet: there is something to decorate"
    assert walked(registry["z"], "own") == ["own"]
    with pytest.raises(UsageError, match="scenario z, case other: it names no function of steps"):
        replace(registry["z"], cases={"other": Case(documented=documented)}).steps_of("other")


def test_no_steps_ask_which_case_they_are() -> None:
    asked = re.compile(r"\bcase\.(name|settings|topic|client|cluster|steps)\b")
    for path in (ROOT / "scenarios").rglob("*.py"):
        assert asked.findall(path.read_text()) == [], path
