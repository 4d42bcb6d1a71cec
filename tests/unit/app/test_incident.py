"""What saved logs, partitions and configuration tell of lost records (tests/incidents.py)."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from app import incident, incident_causes, incident_logs, incident_signs
from app.cli import main
from harness.cluster import versions
from harness.scenario import all_scenarios, get_scenario
from tests import incidents

FIXTURES = Path(__file__).parents[2] / "data" / "runs"
INCIDENTS = Path(__file__).parents[2] / "data" / "incidents"
CLEANING = "[2026-11-23 10:00:00,000] INFO Starting log cleanup with a period of 300000 ms. (kafka.log.LogManager)\n"
NO_EFFECT = "INFO [UnifiedLog partition=t-0] Truncating to 0 has no effect as the largest offset in the log is -1\n"
CUT = "INFO [UnifiedLog partition=t-0, dir=/d] Truncating to offset 111 (kafka.log.UnifiedLog)\n"
CUT_OLD = "INFO Truncating log t-0 to offset 3. (kafka.log.Log)\n"
TO_WATERMARK = "INFO [ReplicaFetcher] Truncating partition t-0 to local high watermark 88 (kafka.server.R)\n"
BY_EPOCH = "INFO Truncating partition t-0 with TruncationState(offset=8) due to leader epoch and offset\n"
STARTED = "[2026-11-23 10:00:01,000] INFO Kafka version: 2.8.2 (org.apache.kafka.common.utils.AppInfoParser)\n"
OLD = "[2026-11-23 10:00:01,000] INFO Kafka version : 0.10.2.2 (org.apache.kafka.common.utils.AppInfoParser)\n"
RECOVERED = "[2026-11-23 10:00:00,500] INFO [LogLoader partition=t-0, dir=/d] Recovering unflushed segment 0.\n"
ZEROS = (
    "WARN Found invalid messages in log segment /d/t-0/0.log at byte offset 9: Found record size 0 smaller than 14\n"
)
UNCLEAN = "INFO [QuorumController id=100] UNCLEAN partition change for t-0: isr: [] -> [2], leader: -1 -> 2\n"
ENABLED = "\tunclean.leader.election.enable = true\n"
NO_LEADER = "Failed to elect leader for partition t-0 under strategy OfflinePartitionLeaderElectionStrategy(false)\n"
REFUSED = "INFO Unable to register broker 1 because the controller returned error DUPLICATE_BROKER_REGISTRATION\n"
DELETED = "INFO [Log partition=t-0] Deleting segment 0 due to retention time 604800000ms breach\n"
EMPTY = "WARN No meta.properties file under dir /d/meta.properties (kafka.server.BrokerMetadataCheckpoint)\n"
DISK = "java.io.IOException: No space left on device\n"
AHEAD = "[2026-12-01 10:00:00,000] " + DELETED
CHANGED = "INFO Processing override for entityPath: brokers/<default> with config: Map(message.max.bytes -> 1)\n"


def logs(folder: Path, **texts: str) -> list[Path]:
    for name, text in texts.items():
        (folder / f"{name}.log").write_text(text)
    return sorted(folder.glob("*.log"))


def causes_of(paths: list[Path], release: str = "2.8.2") -> list[str]:
    case = incident_causes.IncidentEvidence(incident_logs.read_all(paths), (), (), release)
    return [one.kind.id for one in incident_causes.causes(case)]


@pytest.mark.parametrize(
    ("text", "causes"),
    [
        (CUT, ["truncation"]),
        (CUT_OLD, ["truncation"]),
        ("INFO Truncating log orders-3 to offset 88123 (kafka.log.Log)\n", ["truncation"]),
        (TO_WATERMARK, []),
        ("\tinter.broker.protocol.version = 0.10.2\n" + CUT, ["truncation-to-high-watermark"]),
        (NO_EFFECT, []),
        ("INFO Truncating log t-0 to offset 0. (kafka.log.Log)\n", []),
        (UNCLEAN, ["unclean-election"]),
        (UNCLEAN.replace(", leader: -1 -> 2", ""), []),
        (ENABLED, []),
        (NO_LEADER, []),
        (ENABLED + NO_LEADER, ["unclean-election"]),
        (DELETED, ["retention"]),
        ("log.retention.ms = 604800000\n", []),
        (CLEANING + AHEAD + STARTED, ["clock-ahead", "retention"]),
        (CLEANING + DELETED + STARTED, ["retention"]),
        (DISK, ["disk"]),
        (RECOVERED, ["crash"]),
        (RECOVERED + ZEROS, ["power-loss", "crash"]),
        (DISK + RECOVERED + ZEROS, ["disk", "crash"]),
        (ZEROS, []),
        (REFUSED, ["duplicate-broker-id"]),
        (STARTED + CLEANING + REFUSED, ["duplicate-broker-id"]),
        (REFUSED + CLEANING + STARTED, []),
        (EMPTY + STARTED, []),
        (STARTED + EMPTY + CLEANING, ["empty-disk"]),
        ("INFO Truncating to offset 0 (kafka.log.Log)\n", ["empty-disk", "truncation"]),
        (CUT + UNCLEAN, ["unclean-election", "truncation"]),
        ("", []),
    ],
)
def test_lines_tell_of_a_cause_or_of_none(tmp_path: Path, text: str, causes: list[str]) -> None:
    assert causes_of(logs(tmp_path, server=text)) == causes


def test_an_old_release_truncates_to_the_high_watermark(tmp_path: Path) -> None:
    assert causes_of(logs(tmp_path, server=OLD + CUT_OLD), "0.10.2.2") == ["truncation-to-high-watermark"]


def test_settings_are_forgotten_on_releases_that_forget_them(tmp_path: Path) -> None:
    paths = logs(tmp_path, server=CHANGED + DELETED)
    assert causes_of(paths, "2.2.2") == ["forgotten-overrides", "retention"]
    assert causes_of(paths, "2.8.2") == ["retention"]


def test_a_crash_of_all_brokers_and_one_of_some(tmp_path: Path) -> None:
    assert causes_of(logs(tmp_path, a=CLEANING + RECOVERED, b=CLEANING + CUT)) == ["truncation", "crash"]
    assert causes_of(logs(tmp_path, b=CLEANING + RECOVERED)) == ["all-brokers-crashed"]


def test_a_controller_is_no_broker(tmp_path: Path) -> None:
    metadata = RECOVERED.replace("partition=t-0", "partition=__cluster_metadata-0")
    paths = logs(tmp_path, broker=CLEANING + REFUSED + STARTED, controller=STARTED + metadata + REFUSED)
    assert causes_of(paths) == ["crash"]


def test_releases_are_read_from_logs(tmp_path: Path) -> None:
    paths = logs(tmp_path, new=STARTED, old=OLD)
    assert incident_causes.releases(incident_logs.read_all(paths)) == ["0.10.2.2", "2.8.2"]


def test_lines_are_found_wherever_pieces_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filler = "INFO nothing of interest happens here, and it is told at some length\n"
    text = "".join(filler * 3 + line for line in (CUT, UNCLEAN, RECOVERED, REFUSED) for _ in range(9)) + CUT.strip()
    (path,) = logs(tmp_path, server=text)
    whole = incident_logs.read(path).lines
    assert {kind: len(lines) for kind, lines in whole.items()} == {
        "truncated": 10,
        "unclean": 9,
        "recovering": 9,
        "refused id": 9,
    }
    for piece, block in ((64, 8), (100, 200), (4096, 64)):
        monkeypatch.setattr(incident_logs, "PIECE", piece)
        monkeypatch.setattr(incident_logs, "BLOCK", block)
        assert incident_logs.read(path).lines == whole
    assert text[whole["unclean"][0].at :].startswith(UNCLEAN)


def test_each_cause_names_a_scenario_that_shows_it() -> None:
    assert {kind.scenario for kind in incident_causes.kinds()} <= all_scenarios().keys()
    assert len({kind.id for kind in incident_causes.kinds()}) == len(list(incident_causes.kinds()))


def test_the_lines_of_a_cause_are_looked_for() -> None:
    literals = " ".join(one.decode() for of_kind in incident_logs.LITERALS.values() for one in of_kind)
    literals += " Failed to elect leader for partition  Truncating to offset 0"
    for kind in incident_causes.kinds():
        assert all(line in literals for line in kind.lines), kind.id


@pytest.mark.parametrize("one", [*incidents.WRITTEN_WITH, *incidents.HELD_OUT], ids=lambda one: str(one.name))
@pytest.mark.slow
def test_the_cause_is_named_first(one: incidents.SavedIncident) -> None:
    assert incidents.read(one.name)[0] == one.cause


def test_every_archive_is_scored_and_its_counts_are_published() -> None:
    scored = [*incidents.WRITTEN_WITH, *incidents.HELD_OUT]
    assert {one.name for one in scored} == {path.name.partition(".")[0] for path in INCIDENTS.glob("*.tar.xz")}
    assert {one.cause for one in scored} <= {kind.id for kind in incident_causes.kinds()}
    for one in incidents.HELD_OUT:
        scenario, _, version = one.run.partition(" ")
        assert scenario.partition("/")[0] in all_scenarios()
        assert version
        assert one.first
    page = (FIXTURES.parents[2] / "docs" / "trust.md").read_text()
    assert incidents.sentence(len(incidents.HELD_OUT)) in " ".join(page.split())
    assert incidents.sentence_of_unseen(incidents.read_unseen(incidents.UNSEEN)) in " ".join(page.split())


def test_what_is_declared_documents_a_loss() -> None:
    every = [one for declared in incidents.SETS for one in declared]
    for one in every:
        place, _, version = one.cell.partition(" ")
        scenario, _, case = place.partition("/")
        documented = get_scenario(scenario).documented_for(versions.get(version), case)
        assert "lost-write" in documented.required, one.cell
    assert {cause for one in every for cause in one.causes} <= {k.id for k in incident_causes.kinds()}
    assert len({one.cell for one in every}) == len(every)


def test_a_table_of_unseen_losses_is_read_as_it_was_written(tmp_path: Path) -> None:
    cell = incidents.DECLARED[0].cell
    rows = [
        incidents.Unseen(run="a", cell=cell, named="damaged-record"),
        incidents.Unseen(run="b", cell=cell, named="nothing"),
    ]
    (tmp_path / "table.csv").write_text(incidents.as_csv(rows))
    assert incidents.read_unseen(tmp_path / "table.csv") == rows
    assert [incidents.named_first(one) for one in rows] == [True, False]
    assert "named 1 of 2 first" in incidents.sentence_of_unseen(rows)
    assert incidents.read_unseen(tmp_path / "none.csv") == []


def test_an_incident_names_no_scenario(tmp_path: Path) -> None:
    """Neither its run nor the scenario: what the rules read must not tell."""
    run = tmp_path / "20261124t100000-unclean-election-4-3-1-s1-abcd"
    (run / "logs").mkdir(parents=True)
    (run / "config").mkdir()
    (run / "replicas" / "01-final" / "broker-1").mkdir(parents=True)
    (run / "run.json").write_text('{"scenario": "unclean-election"}')
    (run / "logs" / "broker-1.log").write_text(f"2026-11-24T10:00:00.1Z [2026] INFO {run.name} unclean-election\n")
    (run / "config" / "broker-1.properties").write_text("broker.id=1\n")
    archive = incidents.pack(run, "x", tmp_path)
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    assert (tmp_path / "x" / "logs" / "broker-1.log").read_text() == "[2026] INFO cluster cluster\n"
    assert (tmp_path / "x" / "data" / "broker-1").is_dir()


LARGE = "org.apache.kafka.common.errors.RecordBatchTooLargeException: Message batch size is 2500074 bytes\n"
CANNOT_COPY = "ERROR [ReplicaFetcher] Unexpected error occurred while processing data for partition t-0 at offset 1\n"
GAVE_UP = "ERROR Shutting down because we were unable to register with the controller quorum.\n"
TORN = "WARN [LogLoader partition=t-0] Corruption found in segment 0, truncating to offset 5\n"
LOADING = "INFO [GroupMetadataManager] Scheduling loading of offsets and group metadata from __consumer_offsets-0 (k)\n"
LOADED = "INFO [GroupMetadataManager] Finished loading offsets and group metadata from __consumer_offsets-0 in 1 ms\n"
MORE = "INFO nothing of interest happens here, and it is told at some length\n" * 60


@pytest.mark.parametrize(
    ("text", "release", "causes"),
    [
        (LARGE, "4.3.1", []),
        (CANNOT_COPY + LARGE, "4.3.1", ["too-large-to-copy"]),
        (CANNOT_COPY + LARGE + UNCLEAN, "4.3.1", ["too-large-to-copy", "unclean-election"]),
        (CLEANING + GAVE_UP + RECOVERED + TORN, "3.5.1", ["false-clean-shutdown", "power-loss"]),
        (CLEANING + GAVE_UP + RECOVERED + TORN, "3.9.2", ["power-loss", "started-without-controllers"]),
        (CLEANING + RECOVERED + TORN + GAVE_UP, "3.5.1", ["power-loss", "started-without-controllers"]),
        (CLEANING + LOADING + LOADED + MORE, "1.1.1", []),
        (CLEANING + LOADING + MORE, "1.1.1", ["group-not-loaded"]),
        (CLEANING + LOADING, "1.1.1", []),
        ("INFO [GroupMetadataManager] Removed 0 expired offsets in 3 milliseconds.\n", "1.1.1", []),
        ("INFO [GroupMetadataManager] Removed 2 expired offsets in 3 milliseconds.\n", "1.1.1", ["expired-offsets"]),
    ],
)
def test_rules_of_bugs(tmp_path: Path, text: str, release: str, causes: list[str]) -> None:
    named = causes_of(logs(tmp_path, server=text), release)
    assert named[: len(causes)] == causes
    assert causes or not named


def test_copied_partitions_of_a_run_are_found_and_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the names of the run's folders: as somebody saves them."""
    with tarfile.open(FIXTURES / "replica-divergence-0.10.2.2.tar.xz") as packed:
        packed.extractall(tmp_path / "run", filter="data")
    saved = tmp_path / "saved"
    (tmp_path / "run" / "replicas" / "02-final").rename(saved)
    logs(saved, server=CUT_OLD)
    (saved / "producer.properties").write_text("bootstrap.servers=a:9092\nacks=1\nkey.serializer=x\n")
    assert main(["incident", str(saved), "--version", "0.10.2.2"]) == 0
    told = capsys.readouterr().out
    assert "t-0: replicas differ" in told
    assert "replicas-differ: replicas hold different records" in told
    assert "truncation-to-high-watermark: before 0.11" in told
    assert "KAFKA-4682" in told
    assert "grade" in told
    following = told.partition("Next: ")[2]
    assert "kafka-chaos replicas" in following
    assert "send them again" in following


def test_what_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["incident", "/nowhere/at/all"]) == 254
    assert capsys.readouterr().err.count("\n") == 1


def test_where_nothing_can_be_read_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broker-1" / "data").mkdir(parents=True)
    (tmp_path / "broker-1" / "data" / "replication-offset-checkpoint").write_text("0\n0\n")
    (tmp_path / "broker-1" / "server.properties").write_text("broker.id=1\nlog.dirs=/d\nzookeeper.connect=z:2181\n")
    (tmp_path / "broker-1" / "server.log").touch()
    assert main(["incident", str(tmp_path / "broker-1"), "--version", "2.8.2"]) == 254
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert f"nothing was read in {tmp_path / 'broker-1'}" in told.err
    assert "*.log" in told.err


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("server.log", STARTED, "no line is known"),
        ("producer.properties", "bootstrap.servers=a:9092\nacks=1\nkey.serializer=x\n", "nothing to look at"),
    ],
)
def test_a_single_file_is_enough(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, told: str
) -> None:
    (tmp_path / name).write_text(text)
    assert main(["incident", str(tmp_path)]) == 0
    assert told in capsys.readouterr().out


def test_rows_of_one_line_say_what_tells_them_apart() -> None:
    told = {kind.id: kind.means for kind in incident_causes.kinds()}
    assert told["truncation"].startswith("from 0.11 on")
    assert told["truncation-to-high-watermark"].startswith("before 0.11")
    assert told["all-brokers-crashed"].startswith("the log of every broker")
    assert told["crash"].startswith("one log alone")


def test_the_page_saves_before_it_looks_and_restores_before_the_table() -> None:
    page = (FIXTURES.parents[2] / "docs" / "lost-records.md").read_text()
    places = [
        page.index(one)
        for one in ("Do not start", "retention.ms=-1,retention.bytes=-1", "tar -czS", "stay down", "## Get the")
    ]
    assert [*places, page.index("<!-- symptoms -->")] == sorted([*places, page.index("<!-- symptoms -->")])


def test_the_page_has_every_cause() -> None:
    page = (FIXTURES.parents[2] / "docs" / "lost-records.md").read_text()
    assert incident.table() in page
    assert incident.table_of_files() in page
    for kind in incident_causes.kinds():
        assert incident.row(kind) in page, kind.id
    for sign in incident_signs.SIGNS:
        assert incident.sign_row(sign) in page, sign.id


def test_the_page_begins_with_what_to_save() -> None:
    page = (FIXTURES.parents[2] / "docs" / "lost-records.md").read_text()
    places = [page.index(one) for one in ("Do not start or restart", "retention.ms=-1", "Copy from every", "Only then")]
    assert places == sorted(places)
    assert places[-1] < page.index("## ")
    assert "bugs of this release up below" not in incident.table()


def test_the_index_is_sorted_and_says_whether_one_line_is_enough() -> None:
    rows = incident.table().splitlines()[2:]
    first = [row.partition("`")[2].partition("`")[0].casefold() for row in rows]
    assert first == sorted(first)
    told = {kind.id: incident.fragments(kind) for kind in incident_causes.kinds()}
    assert told["retention"] == "any of: `retention time`, `retention size`"
    assert told["reassigned-to-one"] == "all of: `scheduled for deletion`, `Shrinking ISR`"
    assert told["follower-refused-batch"].startswith("any of: `OutOfOrderSequenceException`, ")
    assert told["follower-refused-batch"].endswith("; and `Error due to`")
    assert told["shrunk-isr"] == "`Shrinking ISR`"
    assert told["session"].startswith("any of: `Session expired`")
    assert incident.TOGETHER.keys() <= told.keys()


def test_the_index_names_the_releases_of_a_bug_and_of_nothing_else() -> None:
    told = {kind.id: incident.releases_of(kind) for kind in incident_causes.kinds()}
    assert told["isr-change-lost"] == "ZooKeeper, from 2.7.0 on, fixed in 3.1.0"
    assert told["expired-offsets"] == told["topic-deleted"] == told["transaction-timed-out"] == ""


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        (TO_WATERMARK, ["truncation-to-high-watermark-announced"]),
        (TO_WATERMARK.replace("to local", "with OffsetTruncationState(offset=8) due to local"),
         ["truncation-to-high-watermark-announced"]),
        (BY_EPOCH, ["truncation-announced"]),
        (BY_EPOCH + CUT, []),
        (CANNOT_COPY, ["batch-not-copied"]),
        (CANNOT_COPY + LARGE, []),
        (CANNOT_COPY + "org.apache.kafka.common.errors.OutOfOrderSequenceException: x\n",
         ["batch-not-copied", "sequence-refused"]),
        ("INFO nothing of interest\n", []),
    ],
)  # fmt: skip
def test_lines_that_name_no_cause_alone_are_told(tmp_path: Path, text: str, signs: list[str]) -> None:
    read = incident_logs.read_all(logs(tmp_path, server=text))
    case = incident_causes.IncidentEvidence(read, (), (), "2.8.2")
    causes = {one.kind.id for one in incident_causes.causes(case)}
    assert [one.sign.id for one in incident_signs.seen(read, causes)] == signs


def test_an_answer_without_a_cause_excludes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = logs(tmp_path, server="INFO one\nINFO two\nINFO three")
    assert main(["incident", str(path)]) == 0
    told = capsys.readouterr().out
    assert "3 log lines read in 1 file: no line is known" in told
    assert "This does not mean that nothing was lost" in told
    path.write_text(TO_WATERMARK)
    assert main(["incident", str(path)]) == 0
    told = capsys.readouterr().out
    assert "1 log line read in 1 file: no line names a cause by itself" in told
    assert "Truncating to offset N" in told
