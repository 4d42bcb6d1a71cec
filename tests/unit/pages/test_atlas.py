"""The Atlas: every number and word of it is of the matrix, the ledger, the museum or a release's own defaults."""

from __future__ import annotations

import gzip
import re
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet
import pytest

from audit import matrix
from audit.cells import FAULTS, covering_in
from audit.defaults import java
from audit.known import known
from evidence.errors import UsageError
from harness.cluster import apache
from harness.cluster.builds import Build
from harness.cluster.versions import Version
from pages.atlas import columns, events, lines, model, moving, tables, terminal
from pages.site import words

BY_NAME = {line.name: line for line in lines.every()}


@pytest.fixture(scope="module")
def data() -> model.Data:
    return model.load()


@pytest.fixture(scope="module")
def of_28(data: model.Data) -> model.Atlas:
    return model.atlas(BY_NAME["2.8"], data)


def test_every_release_is_on_the_page_of_its_line() -> None:
    assert {release for line in lines.every() for release in line.releases} == set(apache.releases())
    assert len(BY_NAME) == len(lines.every())


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("2.8", ["2.8"]),
        ("2.8.1", ["2.8"]),
        ("3.9", ["3.9-kraft", "3.9-zk"]),
        ("3.9.2-kraft", ["3.9-kraft"]),
        ("3.9-pinned", ["3.9-pinned"]),
        ("0.11.0", ["0.11.0"]),
    ],
)
def test_a_line_is_found_by_what_people_call_it(name: str, found: list[str]) -> None:
    assert [line.name for line in lines.asked(name)] == found


@pytest.mark.parametrize("name", ["2.9", "4.3-zk", "2.8-kraft", "2.8-x", "", "two"])
def test_what_is_no_version_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        lines.asked(name)


def test_a_release_shows_its_own_bugs_and_not_those_that_a_later_one_of_its_line_has(data: model.Data) -> None:
    older = model.atlas(lines.asked("2.8.1")[0], data)
    newer = model.atlas(lines.asked("2.8.2")[0], data)
    assert "KAFKA-13636" in {bug.id for bug in older.bugs} - {bug.id for bug in newer.bugs}
    assert [(bug, has) for bug, has, _ in model.fixed_in_line(newer.line, data) if bug == "KAFKA-13636"] == [
        ("KAFKA-13636", ("2.8.0", "2.8.1"))
    ]


def test_every_fault_has_words_and_one_group() -> None:
    assert set(events.EVENTS) == set(FAULTS) - {"none"}
    grouped = [fault for _, faults in events.grouped() for fault in faults]
    assert sorted(grouped) == sorted(events.EVENTS)


def test_a_cell_says_what_the_matrix_has(data: model.Data, of_28: model.Atlas) -> None:
    for client in columns.CLIENTS:
        for cell in of_28.cells(client):
            settings = cell.column.settings(client, "epoch", "2.8.2")
            measured = covering_in(data.measured, settings).get(cell.fault)
            if measured is None:
                assert cell.worst == model.HOLE
            elif cell.worst == model.KEPT:
                assert not measured.cell.seen
            else:
                assert cell.worst in measured.cell.seen
                assert 0 < cell.times <= len(cell.runs)
                assert cell.count > 0


def test_figures_count_the_cells_that_lose(of_28: model.Atlas) -> None:
    column = of_28.column("java", columns.ACKS_1)
    figure = of_28.figures[columns.ACKS_1]
    assert figure.count == sum("loses" in one.outcomes for one in column) > 0
    assert figure.of + figure.holes == len(events.EVENTS)
    assert of_28.figures[columns.FLUSHED].count < of_28.figures[columns.RECOMMENDED].count < figure.count


def test_what_was_not_measured_is_a_hole(data: model.Data) -> None:
    old = model.atlas(BY_NAME["0.10.2"], data)
    holes = [cell.fault for cell in old.column("java", columns.ACKS_1) if cell.worst == model.HOLE]
    measured = {cell.key.fault for cell in matrix.measured() if cell.key.version == "0.10.2.2"}
    assert set(holes) == {"follower-reboot"} | (events.EVENTS.keys() - measured)
    nothing = replace(data, measured={})
    assert {cell.worst for cell in model.atlas(BY_NAME["2.8"], nothing).cells("java")} == {model.HOLE}


def test_a_row_is_told_of_another_release_only_if_the_same_is_documented(data: model.Data) -> None:
    """Eligible leader replicas decide over the last replica that stands: 3.9 loses what 4.3 keeps."""
    rows = {(name, one.row.case): one.cell for name in ("3.9-kraft", "4.3") for one in _atlas(data, name).rows}
    assert rows["3.9-kraft", "min-2-stopped"].worst == model.LOST
    assert rows["4.3", "min-2-stopped"].worst == model.KEPT
    assert rows["3.9-kraft", "min-2-stopped"].version == "3.9.2-kraft"
    double = {one.row.scenario: one.cell for one in _atlas(data, "2.8").rows}["duplicate-id-counts-as-replica"]
    assert double.worst == model.HOLE
    assert "KRaft" in double.why


def _atlas(data: model.Data, name: str) -> model.Atlas:
    return model.atlas(BY_NAME[name], data)


def test_advice_rests_on_runs_that_lost_nothing(data: model.Data) -> None:
    for row in events.ROWS:
        assert row.scenario in data.scenarios
        assert row.case in data.scenarios[row.scenario].cases
        if row.prevented_by is not None:
            assert model.backed(row, data), row.event
    for line in ("2.8", "4.3", "0.10.2"):
        for one in _atlas(data, line).rows:
            assert one.prevention is None or one.prevention.lost == 0


def test_what_to_set_names_the_events_that_still_lose_records(data: model.Data) -> None:
    for line in ("2.8", "4.3", "3.9-zk", "0.10.2", "3.9-pinned"):
        atlas = _atlas(data, line)
        weak = next(column for column in atlas.columns if column.id == columns.ACKS_1)
        still = [one.fault for one in atlas.column("java", columns.RECOMMENDED) if one.worst == model.LOST]
        told = words.advice(atlas, weak)
        named = [fault for fault, brief in events.BRIEF.items() if brief in told]
        assert named == (sorted(still, key=list(events.BRIEF).index) if len(still) <= words.NAMED else []), line


def test_pauses_are_of_the_ledger(data: model.Data, of_28: model.Atlas) -> None:
    assert {one.pause for one in of_28.pauses} == set(events.PAUSES)
    for one in of_28.pauses:
        cell = data.runs[one.pause.scenario]["cases"][one.pause.case][one.version]
        assert [one.runs, one.least_s * 1000, one.median_s * 1000, one.most_s * 1000] == pytest.approx(
            list(cell["clients"]["write_pause_ms"])
        )


def test_defaults_are_the_releases_own() -> None:
    for name, acks in (("2.8", "1"), ("3.2", "all"), ("4.3", "all")):
        line = BY_NAME[name]
        found = {one.name: one for one in model._settings(line)}
        assert found["acks"].default == acks == java(line.newest).acks
        brokers = known("broker").at(line.newest)
        assert found["min.insync.replicas"].default == brokers["min.insync.replicas"].default
    assert {one.name: one for one in model._settings(BY_NAME["0.10.2"])}["unclean.leader.election.enable"].differs


def test_the_nearest_release_without_mended_bugs_has_none(data: model.Data) -> None:
    for name in ("2.4", "2.8", "3.9-kraft", "4.3"):
        line = BY_NAME[name]
        free = next(iter(model.releases_free_of_mended(line, data)), "")
        for made in data.scenarios.values():
            bug = made.exhibit.bug if made.exhibit else None
            if free and bug and bug.fixed and bug.whose == "brokers":
                then = Version(id=free, build=Build(kafka=free), mode=line.mode)
                assert not bug.affects(then), (name, bug.id)


def test_settings_fall_in_their_column_and_no_other(data: model.Data) -> None:
    line = BY_NAME["2.8"]
    for column in columns.columns(line.audit):
        found = columns.falls_in(data.measured, column.settings("java", line.audit, line.newest), line)
        assert found is not None
        assert found.id == column.id
    one_replica = replace(columns.columns(line.audit)[1], replication_factor=1)
    assert columns.falls_in(data.measured, one_replica.settings("java", line.audit, line.newest), line) is None


def test_min_insync_replicas_does_not_matter_with_acks_1(data: model.Data) -> None:
    line = BY_NAME["2.8"]
    told = replace(columns.columns(line.audit)[1], min_insync_replicas=2)
    found = columns.falls_in(data.measured, told.settings("java", line.audit, line.newest), line)
    assert found is not None
    assert found.id == columns.ACKS_1


def test_the_terminal_has_every_event_and_marks_a_column(of_28: model.Atlas) -> None:
    text = terminal.text(of_28, "java", mine=["acks-1"], named={"acks-1": "orders"})
    for brief in events.BRIEF.values():
        assert brief in text
    assert "<- orders" in text
    assert terminal.MARK in text
    assert max(map(len, text.splitlines())) <= 120
    assert len(text.splitlines()) <= 40


def test_all_of_a_page_stands_behind_an_option(of_28: model.Atlas) -> None:
    whole = terminal.text(of_28, "java", named={}, whole=True, width=400)
    for title in events.EVENTS.values():
        assert title in whole
    for one in of_28.rows:
        if one.cell.worst == model.LOST:
            assert one.row.do in whole
    for bug in of_28.bugs:
        assert bug.id in whole
        assert bug.id not in terminal.text(of_28, "java", named={})


def test_every_event_has_a_brief_name_that_fits() -> None:
    assert events.BRIEF.keys() == events.EVENTS.keys()
    assert max(map(len, events.BRIEF.values())) <= events.WIDEST_BRIEF
    assert len(set(events.BRIEF.values())) == len(events.BRIEF)


def test_an_event_that_acks_decides_stands_apart(data: model.Data, of_28: model.Atlas) -> None:
    """What helps against it is a producer setting, so it is not among those that none decides."""
    apart = [row for row in events.ROWS if row.decided_by]
    assert [row.scenario for row in apart] == ["coordinator-outage"]
    for row in events.ROWS:
        assert ("acks=1" in row.settings) == bool(row.decided_by)
        assert row.decided_by or "acks=all" not in row.do
    whole = terminal.text(of_28, "java", named={}, whole=True, width=400)
    assert whole.index("acks decides these") < whole.index(apart[0].event)
    beside = sum(one.cell.worst == model.LOST and not one.row.decided_by for one in of_28.rows)
    assert words.whatever_is_set(of_28) == f"{beside} further events lose records, whatever producers set."


def test_a_cell_of_one_run_says_so(data: model.Data, of_28: model.Atlas) -> None:
    cells = [cell for cell in of_28.cells("java") if cell.runs]
    assert {cell.few for cell in cells if len(cell.runs) < model.FEW} == {True}
    assert {cell.few for cell in cells if len(cell.runs) >= model.FEW} == {False}
    assert "1?" in terminal.text(of_28, "java", named={})


def test_a_bug_that_loses_half_a_transaction_loses_records(data: model.Data) -> None:
    harms = {made.exhibit.bug.id: model.harm_of(made) for made in data.scenarios.values() if made.exhibit}
    assert harms["KAFKA-17754"] == harms["KAFKA-6119"] == model.HARM_ORDER[0]
    for made in data.scenarios.values():
        if made.exhibit and re.search(r"record\w* (?:is|are|were) lost|transaction .* is lost", made.exhibit.bug.title):
            assert model.harm_of(made) == model.HARM_ORDER[0], made.name


def test_a_move_tells_what_chance_does_not_explain(data: model.Data, of_28: model.Atlas) -> None:
    newest = moving.target(of_28.line, data)
    assert newest is not None
    assert moving.target(newest.line, data) is None
    move = moving.compare(of_28, newest)
    changed = {(one.event, one.loses) for one in move.losses}
    assert (events.EVENTS["last-replica"], False) in changed
    assert ("A second machine starts with a broker's node.id", True) in changed
    assert not {event for event, _ in changed} & {events.EVENTS["leader-crash-under-load"]}, "2 of 5 and 0 of 5"
    assert {one.id for one in move.gone} | {one.id for one in move.stay} == {one.id for one in of_28.bugs}
    assert {one.id for one in move.added} | {one.id for one in move.stay} == {one.id for one in newest.bugs}
    assert ("acks", "1", "all") in move.defaults
    assert moving.compare(of_28, of_28).losses == ()


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [((5, 5), (0, 5), True), ((2, 5), (0, 5), False), ((0, 5), (5, 5), True), ((1, 1), (0, 1), False)],
)
def test_counts_that_chance_may_explain_do_not_differ(
    before: tuple[int, int], after: tuple[int, int], *, told: bool
) -> None:
    assert moving.differ(before, after) is told


def test_rows_have_the_same_columns_in_every_format(of_28: model.Atlas, tmp_path: Path) -> None:
    rows = list(tables.rows([of_28]))
    assert len(rows) == len(columns.CLIENTS) * len(events.EVENTS) * len(of_28.columns) + len(events.ROWS)
    tables.write_parquet(rows, tmp_path / "atlas.parquet")
    read = pyarrow.parquet.read_table(tmp_path / "atlas.parquet").to_pylist()
    assert read == rows
    assert tables.as_csv(rows).splitlines()[0].split(",") == list(tables.COLUMNS)
    tables.write_csv(rows, tmp_path / "atlas.csv.gz")
    assert gzip.decompress((tmp_path / "atlas.csv.gz").read_bytes()).decode() == tables.as_csv(rows)
    lost = [row for row in rows if row["kind"] == "grid" and row["client"] == "java" and row["outcome"] == "lost"]
    assert len(lost) == sum(one.worst == model.LOST for one in of_28.cells("java"))
