"""`kafka-chaos explain`: the life of a record from every witness, in the order of time.

A record is named TOPIC-PARTITION:PRODUCER/SEQUENCE (t-0:1/3), the identity in its own bytes, which findings carry too;
or by its place, TOPIC-PARTITION@OFFSET (t-0@3), which names every record that any witness places there. Without a name
the records of the run's findings are told.

The stories are those of the report (judgement/report/story.py); this module finds the records and prints.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

from evidence.errors import UsageError, unknown_name
from evidence.records import RecordId, TopicPartition
from evidence.rundir import RunDir
from judgement.report import console
from judgement.report.facts import JudgedRun, load
from judgement.report.headline import headline, outcome
from judgement.report.steps import StoryStep, named
from judgement.report.story import Story, findings_of, stories, stories_of
from judgement.report.witnesses import RecordSources, missing_from_timeline

SCHEMA: Final = 1
MAX_STORIES: Final = 10
FORMS: Final = "name a record TOPIC-PARTITION:PRODUCER/SEQUENCE, such as t-0:1/3, or by its place, such as t-0@3"
NAME: Final = re.compile(
    r"(?P<topic>[\w.-]+)-(?P<partition>\d{1,10})(?::(?P<producer>\d{1,10})/(?P<sequence>\d{1,15})|@(?P<offset>\d{1,18}))"
)


def records_named(facts: JudgedRun, witnesses: RecordSources, text: str) -> list[RecordId]:
    """The records a name stands for: one, or all those known at an offset.

    Raises UsageError, in one line, if there is none, with those near it.
    """
    found = NAME.fullmatch(text)
    if found is None:
        raise UsageError(f"--record {text!r}: {FORMS}{_examples(facts)}")
    where = (found["topic"], int(found["partition"]))
    known = sorted({*facts.assignment, *facts.partitions, *((send.topic, send.partition) for send in facts.sends)})
    if where not in known:
        raise unknown_name("partition", named(where), map(named, known), hint=f"of --record {text}")
    if found["offset"] is not None:
        at_offset = witnesses.records_at(where, [int(found["offset"])])
        if not at_offset:
            raise UsageError(f"nobody knows of a record of clients at {text}; {_offsets_near(witnesses, where)}")
        return at_offset
    one = RecordId(*where, int(found["producer"]), int(found["sequence"]))
    if not witnesses.sends([one])[one] and not witnesses.offsets([one])[one]:
        raise UsageError(f"nobody knows of a record {one}; {_records_near(facts, witnesses, one)}")
    return [one]


def _examples(facts: JudgedRun) -> str:
    """Examples of records of this run, to show how they are named."""
    named_by_findings = [one for finding in findings_of(facts) for one in finding.records]
    scripted = [send.key for send in facts.sends]
    some = list(dict.fromkeys([*named_by_findings, *scripted]))[:3]
    return f"; there are {', '.join(map(str, some))}" if some else ""


def _offsets_near(witnesses: RecordSources, where: TopicPartition) -> str:
    ends = witnesses.known_offsets(where)
    if ends is None:
        return f"nothing is known of any offset of {named(where)}"
    return f"offsets known are {named(where)}@{ends[0]} to @{ends[1]}"


def _records_near(facts: JudgedRun, witnesses: RecordSources, one: RecordId) -> str:
    known = witnesses.history(one.where).known()
    for send in facts.sends:
        if (send.topic, send.partition) == one.where:
            low, high = known.get(send.producer, (send.sequence, send.sequence))
            known[send.producer] = (min(low, send.sequence), max(high, send.sequence))
    if one.producer in known:
        known = {one.producer: known[one.producer]}
    ranges = [
        f"{RecordId(*one.where, producer, low)} to {high}" if low < high else f"{RecordId(*one.where, producer, low)}"
        for producer, (low, high) in sorted(known.items())[:4]
    ]
    return f"there are {', '.join(ranges)}" if ranges else f"no record of {named(one.where)} is known"


def anomaly_named(facts: JudgedRun, name: str) -> str:
    """The name itself. Raises UsageError if no check of this run has it, with those near it."""
    if facts.findings is None:
        raise UsageError(f"--anomaly {name}: this run has not been analysed; `kafka-chaos check` does it")
    known = {*(check.name for check in facts.findings.checks), *facts.findings.seen}
    if name not in known:
        raise unknown_name("anomaly", name, known, hint=f"found here: {_found(facts)}")
    return name


def _found(facts: JudgedRun) -> str:
    return ", ".join(sorted({finding.anomaly for finding in findings_of(facts)})) or "nothing"


# What is shown


def text_lines(
    facts: JudgedRun, told: Sequence[Story], more: int, missing: Sequence[str], note: str, *, width: int, colour: bool
) -> Iterator[str]:
    """The stories for people."""
    yield console.first_line(facts, colour=colour)
    yield from console.wrapped(headline(facts), width)
    for story in told:
        yield ""
        yield from console.story_lines(facts, story, width=width, colour=colour)
    for line in (note, f"{more} more are not told here: name one with --record, or ask for --json" if more else ""):
        if line:
            yield from ("", *console.wrapped(line, width))
    if told:
        yield ""
        yield "Times are seconds since the run began."
    if missing:
        yield "Not heard:"
        for line in missing:
            first, *rest = console.wrapped(line, width - 4)
            yield from (f"  - {first}", *(f"    {part}" for part in rest))


def json_of(facts: JudgedRun, told: Sequence[Story], more: int, missing: Sequence[str], note: str) -> dict[str, Any]:
    """The stories for programs."""
    return {
        "schema": SCHEMA,
        "run": facts.run.run,
        "scenario": facts.run.scenario,
        "version": facts.run.version,
        "outcome": outcome(facts).text,
        "verdict": facts.verdict.verdict,
        "headline": headline(facts),
        "stories": [_story_json(facts, story) for story in told],
        "more": more,
        "missing": list(missing),
        "note": note,
    }


def _story_json(facts: JudgedRun, story: Story) -> dict[str, Any]:
    return {
        "title": story.title,
        "topic": story.topic,
        "partition": story.partition,
        "records": [str(one) for one in story.records],
        "others": [str(one) for one in story.others],
        "offsets": list(story.offsets),
        "findings": [{"anomaly": anomaly, "says": sentence} for anomaly, sentence in story.findings],
        "steps": [_step_json(facts, (story.topic, story.partition), step) for step in story.steps],
    }


def _step_json(facts: JudgedRun, where: TopicPartition, step: StoryStep) -> dict[str, Any]:
    """A step, with what the cluster stated at that time."""
    state = facts.state_at(*where, step.at_ns) if step.at_ns is not None else None
    controller = facts.controller_at(step.at_ns) if step.at_ns is not None else None
    return {
        "at_s": None if step.at_ns is None else round(facts.at(step.at_ns), 6),
        "monotonic_ns": step.at_ns,
        "kind": step.kind,
        "witness": step.witness,
        "source": step.source,
        "actor": step.actor,
        "text": step.text,
        "quotes": list(step.quotes),
        "leader": None if state is None else state.leader,
        "leader_epoch": None if state is None else state.leader_epoch,
        "isr": None if state is None else list(state.isr),
        "controller": None if controller is None else controller.value,
    }


# The command


def run(run_dir: RunDir, *, record: str | None = None, anomaly: str | None = None, as_json: bool = False) -> None:
    """Print the stories. Raises UsageError if there is no such run, record or anomaly."""
    facts = load(run_dir)
    witnesses = RecordSources(facts)
    more, note = 0, ""
    if record is not None:
        told = stories_of(facts, records_named(facts, witnesses, record), witnesses)
    else:
        anomaly = None if anomaly is None else anomaly_named(facts, anomaly)
        limit = sys.maxsize if as_json else MAX_STORIES
        told, more = stories(facts, anomaly=anomaly, limit=limit, witnesses=witnesses)
        note = _note(facts, anomaly, told)
        if anomaly is None and not findings_of(facts):
            told = stories_of(facts, _of_interest(facts)[:limit], witnesses)
    missing = [*missing_from_timeline(facts), *witnesses.missing]
    if as_json:
        print(json.dumps(json_of(facts, told, more, missing, note), indent=1))
    else:
        lines = text_lines(facts, told, more, missing, note, width=console.columns(), colour=console.in_colour())
        print("\n".join(lines))


def _of_interest(facts: JudgedRun) -> list[RecordId]:
    """The records of a script that were not acknowledged, or whose loss the scenario documents."""
    return [send.key for send in facts.sends if send.outcome != "acked" or send.expected_loss]


def _note(facts: JudgedRun, anomaly: str | None, told: Sequence[Story]) -> str:
    """What to say of findings that name no record, and when nothing was found."""
    findings = findings_of(facts, anomaly)
    if told:
        return ""
    if findings:
        said = "; ".join(finding.summary or finding.anomaly for finding in findings)
        return f"What was found names no record: {said}. The report has the evidence. To be told of a record: {FORMS}."
    what = f"There is no {anomaly} in this run" if anomaly else "No anomaly was found in this run"
    if facts.findings is None:
        what = "This run has not been analysed"
    shown = "told is of the records that were not acknowledged, or whose loss the scenario expects"
    if anomaly is None and _of_interest(facts):
        return f"{what}; {shown}. To be told of another, --record: {FORMS}."
    return f"{what}, so no record stands out. To be told of one, --record: {FORMS}{_examples(facts)}."
