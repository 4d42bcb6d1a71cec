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
from evidence.releases import numbers
from harness.cluster import apache
from harness.cluster.builds import Build
from harness.cluster.versions import Version
from harness.harms import HARM_ORDER, harm_of
from pages.atlas import columns, events, lines, model, moving, tables, terminal
from pages.site import atlas as pages
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


CLIENT_AND_LINE = [
    (client, name) for client in columns.CLIENTS for name in ("2.8", "4.3", "4.0", "3.9-zk", "0.10.2", "3.9-pinned")
]


@pytest.mark.parametrize(("client", "name"), CLIENT_AND_LINE)
def test_what_no_producer_setting_prevents_is_what_the_recommended_settings_lose(
    client: str, name: str, data: model.Data
) -> None:
    atlas = _atlas(data, name)
    told = words.not_prevented(atlas, client)
    lost = {column: [one.fault for one in atlas.column(client, column) if one.worst == model.LOST]
            for column in (columns.RECOMMENDED, columns.FLUSHED)}  # fmt: skip
    grid, further = (
        [events.EVENTS[one] for one in lost[columns.RECOMMENDED]],
        [one.row.event for one in atlas.further()],
    )
    assert sorted(told.events) == sorted({*grid, *further})
    of = atlas.losing(client, columns.RECOMMENDED).of
    parts = f": {len(set(grid))} of the {of} above and {len(told.events) - len(set(grid))} more"
    assert told.first == f"{len(told.events)} events lose records whatever producers set{parts}."
    prevented = [events.EVENTS[one] for one in lost[columns.RECOMMENDED] if one not in lost[columns.FLUSHED]]
    assert list(told.events[: len(prevented)]) == prevented
    assert told.kept_by_flush == set(prevented)
    assert set(words.not_prevented(atlas, client, flushed=True).events) == set(told.events) - set(prevented)


def test_an_event_that_is_in_the_grid_is_not_told_twice(data: model.Data) -> None:
    """Rows have a loss of power with other settings. 4.3 loses where followers were killed, not stopped."""
    of_28, of_43 = ([one.row for one in _atlas(data, name).further()] for name in ("2.8", "4.3"))
    assert not {row.same_as for row in of_28} & {"power-loss", "last-replica"}
    assert ("last-replica-standing", "min-2-killed") in {(row.scenario, row.case) for row in of_43}
    for row in (*of_28, *of_43):
        assert not row.needs, "with recommended settings of topics and brokers it cannot happen"
        assert not row.decided_by


@pytest.mark.parametrize(("client", "name"), CLIENT_AND_LINE)
def test_what_to_set_counts_what_is_lost_then_with_this_client(client: str, name: str, data: model.Data) -> None:
    atlas = _atlas(data, name)
    weak = next(column for column in atlas.columns if column.id == columns.ACKS_1)
    best = next(column for column in atlas.columns if column.id == columns.RECOMMENDED)
    told, then = words.to_change(atlas, client, weak), atlas.losing(client, columns.RECOMMENDED)
    assert told.first == f"Set {words.to_set(atlas, weak, best)}."
    assert told.rest.startswith(f"Then {then.count} of {then.of} events lose")
    twice = sum("duplicates" in one.outcomes and one.worst != model.LOST
                for one in atlas.column(client, columns.RECOMMENDED))  # fmt: skip
    assert (f"{twice} more write" in told.rest) == bool(twice)


def test_settings_are_told_as_they_are_written(data: model.Data) -> None:
    """What a column lacks; where unclean elections are on, by a column or by default, that they are to be off."""
    for name, column, told in (
        ("2.8", columns.ACKS_1, "acks=all and enable.idempotence=true in producers, min.insync.replicas=2 in topics"),
        ("2.8", "all-min-1", "min.insync.replicas=2 in topics"),
        ("2.8", "unclean", "min.insync.replicas=2 and unclean.leader.election.enable=false in topics"),
        ("2.8", "not-idempotent", "enable.idempotence=true in producers"),
        (
            "0.10.2",
            columns.ACKS_1,
            "acks=all and max.in.flight.requests.per.connection=1 in producers, min.insync.replicas=2 and "
            "unclean.leader.election.enable=false in topics",
        ),
    ):
        atlas = _atlas(data, name)
        by_id = {one.id: one for one in atlas.columns}
        assert words.to_set(atlas, by_id[column], by_id[columns.RECOMMENDED]) == told
        assert "min.insync.replicas=2" in words.as_written(by_id[columns.RECOMMENDED])


def test_the_release_to_be_on_is_told_with_what_it_fixes(data: model.Data, of_28: model.Atlas) -> None:
    step = of_28.step
    assert step is not None
    there = {bug.id for bug in _atlas(data, "3.9-zk").bugs}
    assert (step.release, step.first) == ("3.9.2", of_28.free_of_mended)
    assert {one.id for one in step.fixed} == {bug.id for bug in of_28.bugs} - there
    assert {one.id for one in step.stay} | {one.id for one in step.added} == there
    told = words.release(of_28, "java")
    assert told.first == "Be on 3.9.2, the last line with ZooKeeper."
    of_brokers = [(one.what, bug.id) for one in told.points for bug in one.bugs if bug not in of_28.client_bugs]
    assert sorted(of_brokers) == sorted(
        [
            *((words.FIXED, bug.id) for bug in step.fixed),
            *((words.STAYS, bug.id) for bug in step.stay),
            *((words.NEW, bug.id) for bug in step.added),
        ]
    )
    for bug in step.fixed:
        assert (f"{bug.id} (loses records)" in str(told)) == (bug.harm == HARM_ORDER[0])
    assert step.acks_1["java"].count
    count = f"It fixes {len(step.fixed)} of the {len(of_28.bugs)} known bugs of 2.8.2’s brokers."
    assert told.rest == f"{count} With acks=1, records are lost there too."


def test_bugs_of_transactions_are_one_point(of_28: model.Atlas) -> None:
    (fixed,) = [one for one in words.release(of_28, "java").points if one.what == words.FIXED and len(one.bugs) > 1]
    assert fixed.touches == "transactions"
    assert all(bug.touches.startswith("transactions") for bug in fixed.bugs)


def test_every_bug_says_what_it_touches_in_a_few_words(data: model.Data) -> None:
    bugs = {one.id: one.touches for line in lines.every() for one in _every_bug(_atlas(data, line.name))}
    assert len(bugs) > 10
    assert {name: told for name, told in bugs.items() if not 0 < len(told) <= 42} == {}


def _every_bug(atlas: model.Atlas) -> tuple[model.BugOnPage, ...]:
    return (*atlas.bugs, *atlas.client_bugs)


def test_the_table_has_every_event_that_the_answer_names(data: model.Data) -> None:
    """And no other, so that a reader who counts finds as many."""
    for line in lines.every():
        atlas = _atlas(data, line.name)
        assert tuple(name for name, _ in pages.not_prevented(atlas)) == words.not_prevented(atlas, "java").events


def test_a_release_is_not_recommended_without_what_it_does_worse(data: model.Data, of_28: model.Atlas) -> None:
    """3.9.2 wrote a record of librdkafka twice, with the recommended settings; 2.8.2 did not."""
    assert of_28.step is not None
    assert [one.fault for one in of_28.step.worse["librdkafka"]] == ["broker-restart"]
    (cell,) = of_28.step.worse["librdkafka"]
    said = f"records were written twice in {cell.times} of {len(cell.runs)} runs of “one broker restarted cleanly”"
    assert said in words.release(of_28, "librdkafka").rest
    assert said not in words.release(of_28, "java").rest


def test_a_move_past_a_border_says_which_event_no_longer_loses_records(data: model.Data, of_28: model.Atlas) -> None:
    old = _atlas(data, "0.10.2")
    assert old.step is not None
    assert of_28.step is not None
    assert [one.fault for one in old.step.better["java"]] == ["double-failover"]
    assert "keeps records when: leader and successor killed, replicated." in words.release(old, "java").rest
    assert of_28.step.better["java"] == ()


def test_the_newest_release_of_its_mode_is_told_to_stay_on(data: model.Data) -> None:
    zookeeper, kraft = _atlas(data, "3.9-zk"), _atlas(data, "4.3")
    assert zookeeper.step is None
    assert words.release(zookeeper, "java").first == "Be on 3.9.2, with ZooKeeper."
    assert kraft.step is not None
    assert words.release(kraft, "java").first == f"Be on 4.3.1 or {kraft.step.release}, with KRaft."
    assert "Finish the upgrade" in words.release(_atlas(data, "3.9-pinned"), "java").rest


def test_a_client_bug_is_told_to_those_who_have_the_client(of_28: model.Atlas) -> None:
    (bug,) = of_28.client_bugs
    said = f"Fixed by Java clients of 3.9.2: {bug.touches}: {bug.id} (loses records)."
    assert "3.9.2" in bug.fixed
    assert said in str(words.release(of_28, "java"))
    assert bug.id not in str(words.release(of_28, "librdkafka"))


def test_with_acks_0_nothing_was_acknowledged(of_28: model.Atlas) -> None:
    by_id = {column.id: column for column in of_28.columns}
    assert "records that the client reported as sent" in words.lost(of_28, "java", by_id["acks-0"]).first
    assert "acknowledged records" in words.lost(of_28, "java", by_id[columns.ACKS_1]).first


def test_the_default_of_librdkafka_is_its_own(data: model.Data, of_28: model.Atlas) -> None:
    """acks=all without idempotence: no column of 2.8 has that with min.insync.replicas=1, one of 0.10.2 has."""
    told, old = (words.default_of(one, "librdkafka", data) for one in (of_28, _atlas(data, "0.10.2")))
    assert "acks=all, not idempotent. It has no column here. With min.insync.replicas=1, 2 of 18 measured" in told
    assert "It is the column “acks=all, min.insync.replicas=1”." in old
    assert words.default_of(of_28, "java", data) == "Shown first: acks=1, the default of a Java producer of 2.8.2."


def test_the_answers_of_a_page_are_short(data: model.Data) -> None:
    """279 words were too many at night. Half of the rest are names of events; bugs are a list beside it."""
    for name in ("2.8", "4.3", "4.4", "3.9-zk", "0.10.2"):
        atlas = _atlas(data, name)
        for column in atlas.columns:
            told = words.answers(atlas, "java", column)
            assert len(told) == 4
            assert sum(len(one.first.split()) for one in told) <= 60, (name, column.id)
            assert sum(len(str(replace(one, points=())).split()) for one in told) <= 205, (name, column.id)
            assert max(len(str(point).split()) for one in told for point in one.points) <= 9


@pytest.mark.parametrize(
    ("name", "where"),
    [("0.8.2", "kafka-topics.sh --zookeeper"), ("2.4", "kafka-configs.sh --zookeeper"),
     ("2.5", "kafka-configs.sh --bootstrap-server"), ("4.3", "kafka-configs.sh --bootstrap-server")],
)  # fmt: skip
def test_the_command_that_sets_a_topic_is_the_releases_own(name: str, where: str) -> None:
    """kafka-configs.sh came with 0.9 (KIP-21), and changes topics through brokers from 2.5 on (KIP-543)."""
    told = words.command(BY_NAME[name])
    assert told.startswith(where)
    assert told.endswith("min.insync.replicas=2")


@pytest.mark.parametrize(
    ("name", "said"),
    [("2.8", "is 18 s: add 10 to 14 s at most."), ("0.10.2", "is 6 s."), ("4.3", "is 9 s: add 1 to 5 s at most.")],
)
def test_how_much_later_a_crash_is_noticed_by_default(name: str, said: str, data: model.Data) -> None:
    assert words.sessions(_atlas(data, name)).endswith(said)


def test_runs_with_unclean_elections_are_told_where_a_column_has_none(data: model.Data) -> None:
    """4.0 has no eligible leader replicas by default: runs of 4.3.1 with unclean elections stand for it."""

    def cell(name: str) -> model.GridCell:
        return next(
            one for one in _atlas(data, name).column("java", columns.RECOMMENDED) if one.fault == "last-replica"
        )

    old, new = cell("4.0"), cell("4.3")
    assert old.cell is not None
    assert old.cell.key.unclean
    assert words.UNCLEAN in words.detail(old)
    assert words.UNCLEAN not in words.detail(new)


def test_the_note_of_an_event_says_that_a_partition_waits_where_it_does(data: model.Data, of_28: model.Atlas) -> None:
    assert "offline" in words.note(of_28, "shrunk-isr-crash")
    lost = replace(of_28, grids={"java": {"shrunk-isr-crash": tuple(
        replace(one, covering=_atlas(data, "2.8").grids["java"]["power-loss"][1].covering)
        for one in of_28.grids["java"]["shrunk-isr-crash"])}})  # fmt: skip
    assert words.note(lost, "shrunk-isr-crash") == ""


def test_what_was_not_run_is_told_beside_what_is_like_it(data: model.Data, of_28: model.Atlas) -> None:
    told = words.not_run(of_28)
    assert "last in-sync replica's disk lost" in told
    assert "last in-sync broker returns with an empty disk (6 of 6 runs lost records)" in told
    assert words.not_run(_atlas(data, "4.3")) == ""


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
            if free and bug and bug.fixed and bug.whose == "brokers" and not bug.is_back(numbers(line.newest)):
                then = Version(id=free, build=Build(kafka=free), mode=line.mode)
                assert not bug.affects(then), (name, bug.id)


def test_no_release_that_has_a_bug_again_is_free_of_it(data: model.Data) -> None:
    """KAFKA-15665 is back in 4.3."""
    assert model.releases_free_of_mended(BY_NAME["4.2"], data)[-1] == "4.2.2"
    assert model.releases_free_of_mended(BY_NAME["4.3"], data)[-1] == "4.4.0"


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
    for name in events.EVENTS.values():
        assert name in text
    assert "<- orders" in text
    assert terminal.MARK in text
    assert max(map(len, text.splitlines())) <= 120
    assert len(text.splitlines()) <= 40


def test_all_of_a_page_stands_behind_an_option(of_28: model.Atlas) -> None:
    whole = terminal.text(of_28, "java", named={}, whole=True, width=400)
    for fault, note in events.NOTES.items():
        assert fault in events.EVENTS
        assert note in whole
    for one in of_28.rows:
        if one.cell.worst == model.LOST:
            assert one.row.do in whole
    for bug in of_28.bugs:
        assert bug.id in whole
        assert bug.id not in terminal.text(of_28, "java", named={})


def test_every_event_has_one_name_that_fits() -> None:
    assert max(map(len, events.EVENTS.values())) <= events.WIDEST
    assert len(set(events.EVENTS.values())) == len(events.EVENTS)
    for row in events.ROWS:
        assert row.same_as in ("", *events.EVENTS)


def test_what_was_not_measured_is_never_none_of_none(data: model.Data) -> None:
    own = columns.of(columns.columns("epoch")[1].settings("java", "epoch", "2.8.2"), "")
    nothing = model.atlas(BY_NAME["2.8"], replace(data, measured={}), own)
    text = terminal.text(nothing, "java", named={})
    assert "0 of 0" not in text
    assert "H not measured" in text


def test_the_terminal_says_what_kept_means_while_a_partition_waits(of_28: model.Atlas) -> None:
    assert "the partition is offline until that broker returns" in terminal.text(of_28, "java", named={})


def test_an_event_that_acks_decides_stands_apart(data: model.Data, of_28: model.Atlas) -> None:
    """What helps against it is a producer setting, so it is not among those that none decides."""
    apart = [row for row in events.ROWS if row.decided_by]
    assert [row.scenario for row in apart] == ["coordinator-outage"]
    for row in events.ROWS:
        assert ("acks=1" in row.settings) == bool(row.decided_by)
        assert row.decided_by or "acks=all" not in row.do
    whole = terminal.text(of_28, "java", named={}, whole=True, width=400)
    assert whole.index("acks decides these") < whole.index(apart[0].event)
    assert apart[0].event not in words.not_prevented(of_28, "java").events


def test_a_cell_of_one_run_says_so(data: model.Data, of_28: model.Atlas) -> None:
    cells = [cell for cell in of_28.cells("java") if cell.runs]
    assert {cell.few for cell in cells if len(cell.runs) < model.FEW} == {True}
    assert {cell.few for cell in cells if len(cell.runs) >= model.FEW} == {False}
    assert "1?" in terminal.text(of_28, "java", named={})


def test_a_bug_that_loses_half_a_transaction_loses_records(data: model.Data) -> None:
    harms = {made.exhibit.bug.id: harm_of(made) for made in data.scenarios.values() if made.exhibit}
    assert harms["KAFKA-17754"] == harms["KAFKA-6119"] == HARM_ORDER[0]
    for made in data.scenarios.values():
        if made.exhibit and re.search(r"record\w* (?:is|are|were) lost|transaction .* is lost", made.exhibit.bug.title):
            assert harm_of(made) == HARM_ORDER[0], made.name


def test_a_move_tells_what_chance_does_not_explain(data: model.Data, of_28: model.Atlas) -> None:
    newest = moving.target(of_28.line, data)
    assert newest is not None
    assert moving.target(newest.line, data) is None
    move = moving.compare(of_28, newest)
    changed = {(one.event, one.loses) for one in move.losses}
    assert (events.EVENTS["last-replica"], False) in changed
    assert ("Second machine starts with a broker's node.id", True) in changed
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
    assert model.differ(before, after) is told


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
