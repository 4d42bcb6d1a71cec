"""The reports: valid, whole, and safe to show."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from audit import baseline
from audit.grade import AuditAnswer, Breach, Cost, Grader
from audit.model import InputProblem, Inputs, Origin, ProducerConfig, Setting, TopicConfig
from audit.report import console, data, junit, page, sarif, words
from audit.topics import StatedByUser, parse_topic
from judgement.report import html
from tests.unit.audit.cells import cell, dark, matrix, run, standing

THREE = (TopicConfig(name="orders", replication_factor=3),)
IDEMPOTENT: dict[str, Any] = {"enable.idempotence": "true"}
ROOT = Path(__file__).parents[3]
NASTY = "evil\x1b[2J<script>alert(1)</script>\u202e]]>"


def producer(name: str = "app", path: str = "conf/app.properties", line: int = 1, **settings: Any) -> ProducerConfig:
    return ProducerConfig(
        name=name,
        client="java",
        release="2.8.2",
        settings={
            key: Setting(key, value, Origin(path, line + at)) for at, (key, value) in enumerate(settings.items(), 1)
        },
        topics=("orders",),
        origin=Origin(path, line),
    )


def answer(*producers: ProducerConfig, **more: Any) -> AuditAnswer:
    return Grader(matrix()).answer(Inputs(producers=producers, **more), StatedByUser(version="2.8.2"))


def every() -> AuditAnswer:
    """All kinds of rows and problems, with names that want to do harm."""
    refused = producer("refused", acks="1", **IDEMPOTENT)
    live = ProducerConfig(name="defaults", client="java", release="2.8.2", origin=Origin("--client java-2.8.2"))
    unmeasured = ProducerConfig(
        name="scala", client="scala", release="0.8.2.2", origin=Origin("old app/ä.properties", 3)
    )
    untold = ProducerConfig(name="untold", client="unknown", origin=Origin("x.yml", 1))
    return answer(
        producer(NASTY, f"conf/{NASTY}.properties", acks="1"),
        producer(acks="all"),
        refused,
        live,
        unmeasured,
        untold,
        problems=(InputProblem(Origin(f"{NASTY}.yml", 3), "unknown-key", f"no key {NASTY!r}", NASTY),),
        read=("conf/app.properties",),
        ignored={"binary": 2},
    )


def schema(path: str) -> Any:
    return json.loads((ROOT / path).read_text())


# JSON and SARIF


@pytest.mark.parametrize("accept", [False, True])
def test_json_is_as_its_documented_schema_says(accept: bool) -> None:
    accepted = baseline.every(every()) if accept else frozenset()
    told = json.loads(data.render(every(), accepted=accepted, failed={"loss"}))
    jsonschema.Draft202012Validator(schema("docs/audit.schema.json")).validate(told)
    findings = [one for row in told["producers"] for case in row["cases"] for one in case["findings"]]
    assert findings
    assert all(one["accepted"] is accept for one in findings)
    assert told["summary"]["failed"] == ["loss"]


@pytest.mark.parametrize("baselined", [False, True])
def test_sarif_is_valid_against_the_official_schema(baselined: bool) -> None:
    told = json.loads(sarif.render(every(), baselined=baselined))
    jsonschema.Draft202012Validator(schema("tests/data/sarif/sarif-2.1.0.json")).validate(told)


def test_the_schema_would_refuse_what_is_no_sarif() -> None:
    told = json.loads(sarif.render(every()))
    told["runs"][0]["results"][0]["level"] = "terrible"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema("tests/data/sarif/sarif-2.1.0.json")).validate(told)


def results(found: AuditAnswer, **more: Any) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = json.loads(sarif.render(found, **more))["runs"][0]["results"]
    return made


def test_a_sarif_result_points_at_the_line_that_sets_it() -> None:
    (loss, duplicate) = results(answer(producer(line=4, acks="1")))
    place = loss["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "conf/app.properties"}, "region": {"startLine": 5}}
    assert (loss["ruleId"], loss["level"]) == ("acknowledged-records-lost", "error")
    assert (duplicate["ruleId"], duplicate["level"]) == ("acknowledged-records-duplicated", "warning")
    assert "37 of 37 acknowledged records were lost by leader-crash-behind (run behind-1" in loss["message"]["text"]


def test_a_default_has_no_line_so_the_producer_is_pointed_at() -> None:
    place = results(answer(producer(line=4)))[0]["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 4}


def test_what_has_no_file_has_a_logical_location_alone() -> None:
    live = ProducerConfig(name="defaults", client="java", release="2.8.2", origin=Origin("--client java-2.8.2"))
    assert list(results(answer(live))[0]["locations"][0]) == ["logicalLocations"]


def test_paths_become_uris() -> None:
    uris = {
        path: results(answer(producer(path=path)))[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for path in ("./a b/ä#.properties", "/etc/kafka/p.properties")
    }
    assert uris == {
        "./a b/ä#.properties": "a%20b/%C3%A4%23.properties",
        "/etc/kafka/p.properties": "file:///etc/kafka/p.properties",
    }


def test_with_a_baseline_a_sarif_result_says_whether_it_is_new() -> None:
    found = answer(producer(acks="1"))
    assert {one["baselineState"] for one in results(found, baselined=True)} == {"new"}
    accepted = baseline.every(found)
    assert {one["baselineState"] for one in results(found, accepted=accepted, baselined=True)} == {"unchanged"}
    assert all("baselineState" not in one for one in results(found))


# JUnit


def test_junit_fails_what_fail_on_names_and_never_passes_what_is_not_measured() -> None:
    found = every()
    root = ET.fromstring(junit.render(found, fail_on=("loss",)).split("?>", 1)[1])
    cases = {case.get("name", ""): case for case in root.iter("testcase")}
    assert int(root.get("tests", "")) == len(cases) == len(found.rows)
    assert next(case for name, case in cases.items() if name.startswith("evil")).find("failure") is not None
    assert cases["app → orders"].find("failure") is None
    for name in ("refused → orders", "scala → any topic"):
        assert cases[name].find("skipped") is not None
    assert root.get("failures") == str(len(list(root.iter("failure"))))


def test_junit_fails_nothing_that_is_accepted() -> None:
    found = answer(producer(acks="1"))
    accepted = baseline.every(found)
    assert "<failure" in junit.render(found, fail_on=("loss",))
    assert "<failure" not in junit.render(found, fail_on=("loss",), accepted=accepted)
    assert "<failure" not in junit.render(found, fail_on=("reorder",))


# What people read


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def test_the_page_is_self_contained_and_nothing_in_it_is_run() -> None:
    made = page.render(every(), style="body{}")
    tags = Tags()
    tags.feed(made)
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in tags.seen}
    hrefs = [value for _, attrs in tags.seen if (value := attrs.get("href")) is not None]
    assert hrefs
    assert all(href.startswith("#") for href in hrefs)
    assert "&lt;script&gt;" in made


def test_the_colours_of_the_page_are_those_of_the_style_sheet() -> None:
    sheet = html.style()
    made = page.render(every(), style=sheet)
    assert set(re.findall(r"var\((--[a-z-]+)\)", made)) <= set(re.findall(r"(--[a-z-]+):", sheet))
    assert {page.tone(letter) for letter in "ABCDF?-"} <= set(re.findall(r"\.verdict\.([a-z]+)", sheet))


@pytest.mark.parametrize("form", ["console", "page", "sarif", "junit", "brief"])
def test_control_characters_are_shown_by_their_escape(form: str) -> None:
    made = {
        "console": lambda: console.render(every()),
        "brief": lambda: console.render(every(), quiet=True),
        "page": lambda: page.render(every(), style=""),
        "sarif": lambda: "\n".join(re.findall(r'"text": .*', sarif.render(every()))),
        "junit": lambda: junit.render(every()),
    }[form]()
    assert "\\x1b" in made
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", made)
    assert "\\u001b" not in made


def test_the_console_says_grade_place_reason_evidence_and_change() -> None:
    text = console.render(answer(producer(line=4, acks="1"), topics=THREE), width=400)
    for said in (
        "D at best app → orders   conf/app.properties:4",
        "37 of 37 acknowledged records were lost by leader-crash-behind: followers stand still",
        "acks=1 (line 5)",
        "loses         leader-crash-behind: 37 of 37 (run behind-1; 2 of 2 runs did this)",
        "duplicates    lost-acknowledgement: 3 of 20 (run ack-1)",
        "change        acks=all (line 5): removes the losses (then B); brings reordering by lost-acknowledgement",
        "what it costs is not measured often enough",
        "or            acks=all (line 5) and enable.idempotence=true: removes the losses and duplicates (then A)",
        "not measured  13 of 19 faults",
        'make audit-matrix FAULT="leader-crash-under-load leader-cut-off shrunk-isr-crash double-failover ',
        "kafka-chaos run follower-reboot --version 2.8.2 --client java",
        "1 producer and topic: 1 × D at best",
    ):
        assert said in text, said


def test_the_worst_stands_first_and_quiet_is_a_line_each() -> None:
    found = answer(producer("good", **IDEMPOTENT), producer("bad", acks="1"), topics=THREE)
    lines = console.render(found, quiet=True).splitlines()
    assert [line.split()[3 if "best" in line else 1] for line in lines[:2]] == ["bad", "good"]
    assert len(lines) == 3


def test_what_is_accepted_is_marked_in_text_and_page() -> None:
    found = answer(producer(acks="1"))
    accepted = baseline.every(found)
    assert "[accepted]" in console.render(found, accepted=accepted)
    assert "accepted</span>" in page.render(found, style="", accepted=accepted)
    assert "[accepted]" not in console.render(found)


def test_each_side_of_an_unknown_release_is_said() -> None:
    untold = ProducerConfig(name="untold", client="java", origin=Origin("x.yml", 1), topics=("orders",))
    text = console.render(answer(untold, topics=THREE), width=200)
    assert text.startswith("A to D")
    assert "that is if    the client is kafka-clients 3.0.1 or later" in text
    assert "but if        the client is kafka-clients 2.1 to 2.8: D" in text


def test_what_is_promised_of_replicas_that_nobody_tells_is_told_with_its_condition() -> None:
    text = console.render(answer(producer(**IDEMPOTENT)), width=200)
    assert text.startswith("A to F")
    assert "that is if    the topic has 3 replicas" in text
    assert "but if        the topic has one replica, as Kafka makes it by itself: F" in text
    lossy = console.render(answer(producer(acks="1")), width=400)
    assert "(then A if the topic has 3 replicas)" in lossy
    assert "one replica" not in lossy
    told = console.render(answer(producer(**IDEMPOTENT), topics=THREE), width=200)
    assert told.startswith("A    app")
    assert "replicas" not in told.split("producer")[0]
    (policy,) = [one for one in results(answer(producer(**IDEMPOTENT))) if one["ruleId"] == "policy"]
    assert policy["level"] == "note"
    cases = data.as_json(answer(producer(**IDEMPOTENT)))["producers"][0]["cases"]
    assert [(one["grade"], one["when"]) for one in cases] == [
        ("A", "the topic has 3 replicas"),
        ("F", "the topic has one replica, as Kafka makes it by itself"),
    ]


def test_nothing_is_said_to_measure_a_topic_that_nobody_can_write_to() -> None:
    def told(least: int) -> str:
        stated = StatedByUser(
            version="2.8.2", topics=(parse_topic(f"orders:replication.factor=1,min.insync.replicas={least}"),)
        )
        inputs = Inputs(producers=(producer(acks="all"),))
        return console.render(Grader(matrix()).answer(inputs, stated), width=400)

    assert "every record sent with acks=all is refused" in told(2)
    assert "to measure" not in told(2)
    assert "to measure" in told(1)


def test_what_failed_for_good_and_under_what_load_is_told() -> None:
    limits = {"request.timeout.ms": "12000", "delivery.timeout.ms": "30000"}
    struck = replace(cell("broker-restart", run("r1", 20, refused=5), run("r2", 25)), overrides=limits)
    told = console.render(Grader([struck]).answer(Inputs(producers=(producer(acks="1"),)), StatedByUser()), width=400)
    assert "refuses       broker-restart: 5 of 25 sends, for good (run r1; 1 of 2 runs did this)" in told
    assert "10 records a second of this producer in broker-restart" in told
    assert (
        "delivery.timeout.ms=30000, request.timeout.ms=12000 (a delivery time-out of 120000 ms was not measured)"
        in told
    )
    quiet = Grader([cell("client-crash", run("r1", 20, duplicated=5))])
    assert "records a second" not in console.render(
        quiet.answer(Inputs(producers=(producer(acks="1"),)), StatedByUser())
    )


def test_what_is_measured_of_no_topic_with_unclean_elections_can_be_proved() -> None:
    topic = parse_topic("orders:replication.factor=3,unclean.leader.election.enable=true")
    inputs = Inputs(producers=(producer(acks="1"),))
    text = console.render(Grader(matrix()).answer(inputs, StatedByUser(version="2.8.2", topics=(topic,))), width=400)
    assert 'make audit-matrix FAULT="shrunk-isr-crash last-replica last-disk-lost" VERSION=2.8.2' in text
    assert "kafka-chaos audit PATH… --prove --faults " in text


def in_the_dark(*, accepted: bool = False, **settings: Any) -> tuple[AuditAnswer, frozenset[str]]:
    inputs = Inputs(producers=(producer(**settings),), topics=THREE)
    told = Grader([*matrix(), *dark()]).answer(inputs, StatedByUser(version="2.8.2"))
    return told, baseline.every(told) if accepted else frozenset()


SAYS = "7 of 12 acknowledged records were lost when all replicas lose power at one moment"


def test_every_format_says_what_power_loss_does_and_what_removes_it() -> None:
    told, _ = in_the_dark(acks="all")
    for text in (console.render(told, width=400), page.render(told, style=""), junit.render(told), sarif.render(told)):
        flat = " ".join(text.split())
        assert SAYS in flat
        assert re.search(
            "change flush.messages=1 for the topic: removes the losses .*not measured often enough", flat, re.I
        )
    (case,) = data.as_json(told)["producers"][0]["cases"]
    assert [(one["fault"], one["count"]) for one in case["ungraded"]] == [("power-loss", 7)]
    assert [one["key"] for one in case["flushed"]["changes"]] == ["flush.messages"]
    assert "power-loss" not in [one["fault"] for one in case["findings"]]
    schema = json.loads((ROOT / "docs/audit.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(data.as_json(told, failed=["power-loss"]))


def test_no_format_says_it_where_it_was_not_measured() -> None:
    told = answer(producer(acks="all"))
    for text in (console.render(told, width=400), page.render(told, style=""), junit.render(told)):
        assert "lose power at one moment" not in text
    assert "power-loss" not in {one["ruleId"] for one in json.loads(sarif.render(told))["runs"][0]["results"]}


@pytest.mark.parametrize(("accepted", "state"), [(True, "unchanged"), (False, "new")])
def test_power_loss_is_a_note_of_its_own_for_code_scanning(accepted: bool, state: str) -> None:
    told, known = in_the_dark(accepted=accepted, acks="all")
    results = json.loads(sarif.render(told, accepted=known, baselined=True))["runs"][0]["results"]
    (note,) = [one for one in results if one["ruleId"] == "power-loss"]
    assert (note["level"], note["baselineState"], note["properties"]["runs"]) == ("note", state, ["dark-1"])
    assert not any("power-loss" in one["properties"]["faults"] for one in results if one["level"] != "note")


@pytest.mark.parametrize(
    ("fail_on", "accepted", "failures"),
    [(("loss", "duplicate", "reorder"), False, 0), (("power-loss",), False, 1), (("power-loss",), True, 0)],
)
def test_power_loss_fails_a_test_case_only_if_it_is_named(
    fail_on: tuple[str, ...], accepted: bool, failures: int
) -> None:
    told, known = in_the_dark(accepted=accepted, **IDEMPOTENT)
    root = ET.fromstring(junit.render(told, fail_on=fail_on, accepted=known))
    assert [one.get("type") for one in root.iter("failure")] == ["power-loss"] * failures


def test_every_format_says_what_the_last_replica_loses_apart_from_a_power_loss_of_all() -> None:
    cells = [*matrix(), *dark(), cell("last-replica", run("alone-1", 10, lost=5), acks="all")]
    inputs = Inputs(producers=(producer(acks="all"),), topics=THREE)
    told = Grader(cells).answer(inputs, StatedByUser(version="2.8.2"))
    sentence = "5 of 10 acknowledged records were lost when the last replica in sync loses power and is back"
    for text in (console.render(told, width=400), page.render(told, style=""), junit.render(told), sarif.render(told)):
        flat = " ".join(text.split())
        assert SAYS in flat
        assert sentence in flat
        assert re.search("removes 1 of 2 findings, leaves last-replica", flat)
    results = json.loads(sarif.render(told))["runs"][0]["results"]
    notes = {one["ruleId"]: one["properties"]["runs"] for one in results if "runs" in one.get("properties", {})}
    assert (notes["power-loss"], notes["last-replica"]) == (["dark-1"], ["alone-1"])
    known = {one["partialFingerprints"]["kafkaChaosAudit/v1"] for one in results if one["level"] == "note"}
    assert len(known) == 2
    for kind in ("power-loss", "last-replica"):
        root = ET.fromstring(junit.render(told, fail_on=[kind]))
        assert [one.get("type") for one in root.iter("failure")] == [kind]


def test_every_format_says_which_change_makes_another_replica_eligible() -> None:
    plain: dict[str, Any] = {"acks": "all", "enable.idempotence": "false"}
    inputs = Inputs(producers=(replace(producer(**plain), release="4.3.1"),))
    told = Grader(standing()).answer(inputs, StatedByUser(version="4.3.1"))
    for text in (console.render(told, width=400), page.render(told, style="")):
        flat = " ".join(text.split())
        assert "or min.insync.replicas=2 for the topic: removes the losses by last-replica" in flat
    schema = json.loads((ROOT / "docs/audit.schema.json").read_text())
    answered = data.as_json(told, failed=["last-replica"])
    jsonschema.Draft202012Validator(schema).validate(answered)
    (case,) = answered["producers"][0]["cases"]
    assert [one["key"] for one in case["eligible"]["changes"]] == ["min.insync.replicas"]


def test_the_console_breaks_no_path_in_two() -> None:
    path = f"{'deep/' * 30}broken.yml"
    told = replace(answer(producer()), problems=(InputProblem(Origin(path, 3), "unreadable", "cannot be read"),))
    assert f"{path}:3" in console.render(told, width=100)


def test_what_a_change_costs_is_told_of_five_runs_with_its_spread_or_not_at_all() -> None:
    def cost(runs: int, middle: float) -> Cost:
        spread = {"latency_p50_ms": (middle / 2, middle * 2)}
        return Cost(middle, None, None, tuple(f"r{at}" for at in range(runs)), spread)

    (fix, *_) = answer(producer(acks="1")).rows[0].cases[0].fixes
    assert words.costs(replace(fix, before=cost(5, 1.0), after=cost(4, 2.0))) == ""
    told = words.costs(replace(fix, before=cost(5, 1.0), after=cost(6, 2.0)))
    assert told == "median latency 1.0 (0.5 to 2.0) → 2.0 (1.0 to 4.0) ms"


def test_rows_of_which_the_same_is_said_are_one_block_that_names_all() -> None:
    alike = [replace(producer(acks="1"), name=name) for name in ("first", "second", "third")]
    text = console.render(answer(*alike), width=200)
    assert text.count("leader-crash-behind: 37 of 37") == 1
    assert "and 2 more" in text
    assert "second → " in text
    assert "third → " in text


def test_what_was_passed_over_is_counted_on_the_console() -> None:
    told = replace(answer(producer(acks="1")), ignored={"binary": 2, "in target/": 1})
    assert "passed over: 2 binary, 1 in target/" in console.render(told)


def test_releases_that_are_not_told_are_one_remark_if_they_are_many() -> None:
    def problems(count: int) -> list[str]:
        sentence = "its client is not told for 'p', and defaults depend on it"
        return words.remarks([InputProblem(Origin(f"{at}.yml"), "release", sentence) for at in range(count)])

    assert len(problems(3)) == 3
    (one,) = problems(300)
    assert one.startswith("0.yml and 299 more: ")


def test_every_rule_of_sarif_has_help_and_lost_power_is_told_once() -> None:
    cells = [*matrix(), *dark()]
    inputs = Inputs(producers=(producer(acks="1"), producer(acks="all")))
    told = Grader(cells).answer(inputs, StatedByUser(version="2.8.2"))
    made = json.loads(sarif.render(told))["runs"][0]
    assert all(rule["help"]["text"] and rule["defaultConfiguration"] for rule in made["tool"]["driver"]["rules"])
    assert [one["ruleId"] for one in made["results"]].count("power-loss") == 1


def test_the_policy_grades_refused_sends_in_a_line() -> None:
    made = [Breach(fault=f"refused-{name}", letter=letter, sentence="x", source="run 1") for name, letter in FAILED]
    assert words.refused_sends(made) == "F: sends fail for good by rack-lost and disk-lost; C: whole-isr-down"
    assert words.refused_sends(made[2:]) == "C: sends fail for good by whole-isr-down"


FAILED = (("rack-lost", "F"), ("disk-lost", "F"), ("whole-isr-down", "C"))
