"""What Kafka's DumpLogSegments prints, of every version, as values, and our reading of the same files held against
it.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from kafkafiles import batches as log
from kafkafiles import codecs, columns, group_records, index_checks, indexes, metadata_records
from kafkafiles.batches import BatchHeader, Corrupt, Record

CONTROL = {"ABORT": log.CONTROL_ABORT, "COMMIT": log.CONTROL_COMMIT}
TEXT = re.compile(r" (?P<name>key|payload): ")
PAIR = re.compile(r"(\w+): (\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dump:
    """The tool's lines for one file: those of batches (format 2) and those of records or index entries."""

    batches: list[dict[str, str]]
    rows: list[dict[str, str]]


def parse(text: str) -> dict[str, Dump]:
    """Dumps by file name."""
    found: dict[str, Dump] = {}
    current = Dump(batches=[], rows=[])
    for line in text.splitlines():
        if line.startswith("Dumping "):
            current = found[Path(line.removeprefix("Dumping ").strip()).name] = Dump(batches=[], rows=[])
        elif line.startswith("baseOffset: "):
            current.batches.append(pairs(line))
        elif PAIR.match(line.removeprefix("| ")) and "tarting offset" not in line:
            current.rows.append(row(line.removeprefix("| ")))
    return found


def row(line: str) -> dict[str, str]:
    """`name: value` pairs, then the key and the payload, which may hold anything but a line's end."""
    head, *rest = TEXT.split(line, maxsplit=2)
    values = pairs(head)
    for name, value in zip(rest[::2], rest[1::2], strict=True):
        values[name] = value
    if "headerKeys" in head:
        values["headerKeys"] = head.partition("headerKeys: [")[2].partition("]")[0]
    return values


def pairs(text: str) -> dict[str, str]:
    """Names in lower case: versions differ in the case of some."""
    return {name.lower(): value for name, value in PAIR.findall(text)}


# --- what we say ----------------------------------------------------------------------------------------------------


def compare_directory(directory: Path) -> int:
    """Hold every file of a partition directory against `dump.txt`; AssertionError where they differ. Returns the rows
    compared.
    """
    dumps = parse((directory / "dump.txt").read_text())
    assert dumps, f"{directory}: nothing in dump.txt"
    compared = 0
    for name, dump in dumps.items():
        path = directory / name
        if name.endswith(".log"):
            compared += compare_log(path.read_bytes(), dump, path)
        elif name.endswith(".index"):
            ours = [{"offset": str(each.offset), "position": str(each.position)} for each in indexes.read_index(path)]
            compared += equal(ours, dump.rows, path)
            assert index_checks.check_index(indexes.read_index(path), headers_of(path)) == []
        elif name.endswith(".timeindex"):
            entries = indexes.read_time_index(path)
            times = [{"timestamp": str(each.timestamp_ms), "offset": str(each.offset)} for each in entries]
            compared += equal(times, dump.rows, path)
            assert index_checks.check_time_index(entries, headers_of(path)) == []
        elif name.endswith(".txnindex"):
            compared += equal(list(aborted(path)), dump.rows, path)
        elif name.endswith(".snapshot"):
            rows = [{"timestamp": row.get("lasttimestamp", ""), **row} for row in dump.rows]  # its name in 0.11
            compared += equal(list(producers(path)), rows, path)
    return compared


def headers_of(path: Path) -> columns.HeaderArray:
    return columns.read_headers(path.with_suffix(".log"))[0]


def equal(ours: list[dict[str, str]], theirs: list[dict[str, str]], path: Path) -> int:
    shared = [{name: row[name] for name in mine if name in row} for mine, row in zip(ours, theirs, strict=False)]
    assert ours == shared, f"{path}"
    assert len(ours) == len(theirs), f"{path}"
    return len(ours)


def aborted(path: Path) -> Iterator[dict[str, str]]:
    for each in indexes.read_transaction_index(path):
        yield {
            "producerid": str(each.producer_id),
            "firstoffset": str(each.first_offset),
            "lastoffset": str(each.last_offset),
            "laststableoffset": str(each.last_stable_offset),
        }


def producers(path: Path) -> Iterator[dict[str, str]]:
    for each in indexes.read_snapshot(path).producers:
        yield {
            "producerid": str(each.producer_id),
            "producerepoch": str(each.producer_epoch),
            "coordinatorepoch": str(each.coordinator_epoch),
            "timestamp": str(each.timestamp_ms),
            "offsetdelta": str(each.offset_delta),
            "lastsequence": str(each.last_sequence),
            "lastoffset": str(each.last_offset),
        }


def compare_log(data: bytes, dump: Dump, path: Path) -> int:
    found = list(log.records(data))
    assert not [each for each in found if isinstance(each, Corrupt)], f"{path}"
    ours = [each for each in found if isinstance(each, Record)]
    assert len(ours) == len(dump.rows), f"{path}: {len(ours)} records, the tool shows {len(dump.rows)}"
    for record, theirs in zip(ours, dump.rows, strict=True):
        mine = record_row(record)
        shared = {name: theirs[name] for name in mine if name in theirs}
        assert {name: mine[name] for name in shared} == shared, f"{path}: offset {record.offset}"
        assert {"offset"} < shared.keys()
        compare_content(record, theirs, path)
    compare_headers(data, dump, path)
    compare_columns(data, ours)
    return len(ours)


def record_row(record: Record) -> dict[str, str]:
    sizes = [str(-1 if part is None else len(part)) for part in (record.key, record.value)]
    values = {
        "offset": str(record.offset),
        "keysize": sizes[0],
        "valuesize": sizes[1],
        "payloadsize": sizes[1],
        "sequence": str(record.sequence),
        "headerKeys": ",".join(key.decode() for key, _ in record.headers),
        "isvalid": str(record.valid).lower(),
    }
    if record.magic == 2:
        values |= {"producerid": str(record.producer_id), "producerepoch": str(record.producer_epoch)}
        values["istransactional"] = str(record.transactional).lower()
    if record.magic < 2:
        values |= {"position": str(record.position), "magic": str(record.magic)}
    if record.timestamp_type != log.NO_TIMESTAMP:
        name = "createtime" if record.timestamp_type == log.CREATE_TIME else "logappendtime"
        values[name] = str(record.timestamp_ms)
    return values


def compare_content(record: Record, theirs: Mapping[str, str], path: Path) -> None:
    where = f"{path}: offset {record.offset}"
    if "endtxnmarker" in theirs:
        assert record.control == CONTROL[theirs["endtxnmarker"]], where
    elif record.control is None and path.parent.name.startswith("__cluster_metadata"):
        compare_metadata(record, json.loads(theirs["payload"]), where)
    elif record.control is None and path.parent.name.startswith("__consumer_offsets"):
        compare_group_record(record, theirs, where)
    elif record.control is None and record.value is None and "key" not in theirs:
        assert theirs.get("payload", "null") == "null", where  # up to 2.2 the tool may not show the key then, either
    elif record.control is None:
        assert ("key" in theirs) == (record.key is not None), where
        assert theirs.get("key") == (None if record.key is None else record.key.decode()), where
        if record.value is not None:
            assert theirs.get("payload", "") == record.value.decode(), where


def compare_headers(data: bytes, dump: Dump, path: Path) -> None:
    headers = [each for each in log.scan_batches(data) if isinstance(each, BatchHeader)]
    if not dump.batches:
        return
    assert len(headers) == len(dump.batches), f"{path}"
    for header, theirs in zip(headers, dump.batches, strict=True):
        time = "createtime" if header.timestamp_type == log.CREATE_TIME else "logappendtime"
        mine = {
            "baseoffset": str(header.base_offset),
            "lastoffset": str(header.last_offset),
            "count": str(header.count),
            "basesequence": str(header.base_sequence),
            "producerid": str(header.producer_id),
            "producerepoch": str(header.producer_epoch),
            "partitionleaderepoch": str(header.leader_epoch),
            "istransactional": str(header.is_transactional).lower(),
            "iscontrol": str(header.is_control).lower(),
            "position": str(header.position),
            time: str(header.max_timestamp_ms),
            "size": str(header.size),
            "magic": str(header.magic),
            "compresscodec": codecs.name(header.codec),
            "crc": str(header.crc),
            "isvalid": str(log.checksum_matches(data, header)).lower(),
        }
        theirs = {**theirs, "compresscodec": theirs["compresscodec"].lower()}
        shared = {name: theirs[name] for name in mine if name in theirs}
        assert len(shared) >= 14, f"{path}: {sorted(theirs)}"
        assert {name: mine[name] for name in shared} == shared, f"{path}: batch at offset {header.base_offset}"


def compare_columns(data: bytes, ours: list[Record]) -> None:
    for compiled in (False, True):
        table, problems = columns.table(data, compiled=compiled)
        assert problems == []
        assert table.num_rows == len(ours)
        for name in ("offset", "key", "value", "timestamp_ms", "sequence", "control"):
            assert column(table, name) == [getattr(record, name) for record in ours], name


def column(table: pa.Table, name: str) -> list[Any]:
    values: list[Any] = table[name].to_pylist()
    return values


def compare_metadata(record: Record, theirs: Mapping[str, Any], where: str) -> None:
    kind, version, fields = metadata_records.decode_record(record.value)
    assert (kind, version) == (theirs["type"], theirs["version"]), where
    for name, value in theirs["data"].items():
        assert snake(name) in fields, f"{where}: {kind} has {name}, which we do not read"
        assert plain(fields[snake(name)]) == value, f"{where}: {kind}.{name}"


def compare_group_record(record: Record, theirs: Mapping[str, str], where: str) -> None:
    """A record of groups' coordinators: as JSON (3.8 and later), or as the text of the releases before."""
    ours = group_records.decode_record(record.key, record.value)
    assert ours.kind not in ("UNKNOWN", "CORRUPT"), f"{where}: {ours}"
    if theirs["key"].startswith("{"):
        key = json.loads(theirs["key"])
        assert int.from_bytes((record.key or b"")[:2], "big") == int(key["type"]), where
        assert plain(ours.key) == key["data"], where
        value = None if theirs["payload"] == "<DELETE>" else json.loads(theirs["payload"])
        assert (ours.fields is None) == (value is None), where
        if value is not None:
            assert ours.version == int(value["version"]), where
            mine = plain(ours.fields)
            assert {name: mine[name] for name in value["data"]} == value["data"], where
    elif ours.kind == group_records.GROUP_METADATA:
        compare_generation(ours.key["group"], ours.fields or {}, theirs, where)
    else:
        compare_commit(ours.key, ours.fields or {}, theirs, where)


def compare_commit(key: Mapping[str, Any], fields: Mapping[str, Any], theirs: Mapping[str, str], where: str) -> None:
    group, topic, partition = key.values()
    offset, metadata = str(fields["offset"]), fields["metadata"]
    if theirs["key"].startswith("offset_commit::"):  # 2.4 and later
        assert theirs["key"] == f"offset_commit::group={group},partition={topic}-{partition}", where
        assert theirs["payload"] == f"offset={offset}" + (f",metadata={metadata}" if metadata else ""), where
    else:
        assert theirs["key"] == f"offset::{group}:{topic}:{partition}", where
        assert theirs["payload"] == offset + (f":{metadata}" if metadata else ""), where


def compare_generation(group: str, fields: Mapping[str, Any], theirs: Mapping[str, str], where: str) -> None:
    if theirs["key"].startswith("group_metadata::"):  # 2.4 and later
        assert theirs["key"] == f"group_metadata::group={group}", where
        stated = json.loads(theirs["payload"])
        protocols = [stated["protocolType"], stated["protocol"] or "null"]
        generation, assignment = stated["generationId"], stated["assignment"]
    else:
        assert theirs["key"] == f"metadata::{group}", where
        *protocols, generation, assignment = theirs["payload"].split(":", 3)
    if fields["members"] or protocols[0]:  # 0.10.2.2 and 0.11.0.3 say nothing of a group without members
        assert [fields["protocol_type"], fields["protocol"] or "null"] == protocols, where
    assert fields["generation"] == int(generation), where
    given = {
        member["member_id"]: {
            f"{owned['topic']}-{number}"
            for owned in member["assignment"]["assigned_partitions"]
            for number in owned["partitions"]
        }
        for member in fields["members"]
    }
    told = re.findall(r"([^={},]+)=\[(.*?)\]", assignment)
    assert given == {member: set(partitions.split(", ")) for member, partitions in told}, where


def snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {camel(name): plain(each) for name, each in value.items()}
    return value
