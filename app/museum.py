"""`kafka-chaos museum`: which of the bugs that the museum shows can happen on a release, and what showed it.

A release need be none that can be started here: the lines of a bug say what it has. What runs showed comes from
results/, which an installed copy has too.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from evidence.errors import UsageError
from evidence.run import DEFAULT_CASE
from harness.bugs import Bug, Release, numbers
from harness.cluster import versions
from harness.cluster.versions import Mode, Version
from harness.scenario import Scenario, all_scenarios

Shown = Callable[[str, str, str], str]
"""What runs of an exhibit, by name, showed on a version in a case: "5 of 5"."""

MODES: Final[Mapping[str, Mode]] = {"zk": "zookeeper", "zookeeper": "zookeeper", "kraft": "kraft"}
KRAFT_SINCE, ZOOKEEPER_UNTIL = (3, 3), (4,)


def modes_of(release: Release) -> list[Mode]:
    """The modes that a release has."""
    zookeeper: list[Mode] = ["zookeeper"] if release < ZOOKEEPER_UNTIL else []
    return zookeeper + (["kraft"] if release >= KRAFT_SINCE else [])


def ways(name: str) -> list[Version]:
    """The ways to run a release: with ZooKeeper, with KRaft, or both if the name does not say ("3.9.2-kraft").

    Raises UsageError for what is no release, and for a way that it has not.
    """
    kafka, _, suffix = name.partition("-")
    modes = modes_of(numbers(kafka))
    if suffix:
        if MODES.get(suffix) not in modes:
            raise UsageError(f"{name!r}: write a release, such as 2.6.1, with -zk or -kraft behind it if it has both")
        modes = [MODES[suffix]]
    return [Version(id=name, kafka=kafka, mode=mode) for mode in modes]


def remedy(bug: Bug, version: Version) -> str:
    """The nearest later release without the bug; "" if there is none."""
    later = [fixed for fixed in bug.fixed if numbers(fixed) > version.release]
    return later[0] if later else ""


def free_of_all(version: Version, bugs: Sequence[Bug]) -> str:
    """The nearest release from this one on that has none of the bugs, among those that fixed one; "" if there is none.

    It is run in the same way: who has ZooKeeper is not told to leave it.
    """
    fixes = sorted({numbers(fixed) for bug in bugs for fixed in bug.fixed} | {version.release})
    for release in fixes:
        kafka = ".".join(map(str, release))
        then = Version(id=kafka, kafka=kafka, mode=version.mode)
        if release >= version.release and then.mode in modes_of(release) and not any(b.affects(then) for b in bugs):
            return kafka
    return ""


def bugs_of(version: Version, scenarios: Sequence[Scenario], shown: Shown) -> dict[str, Any]:
    """Which bugs a version has, each with what showed it, in which other cases (`also`), and what to do; and which it
    has not.
    """
    has, lacks = [], []
    for made in scenarios:
        if made.exhibit is None:
            continue
        bug = made.exhibit.bug
        if not bug.affects(version):
            lacks.append(bug.id)
            continue
        exhibit = made.exhibit
        how = f" ({exhibit.fixed_with})" if exhibit.fixed_with else ""
        runs: dict[str, Any] = {
            "affected": {one: shown(made.name, one, DEFAULT_CASE) for one in exhibit.affected},
            "fixed": {one + how: shown(made.name, one, exhibit.fixed_case) for one in exhibit.fixed},
        }
        also = {
            case.name: {
                one: shown(made.name, one, case.name) for one in exhibit.affected if made.shows(versions.get(one), case)
            }
            for case in made.cases.values()
            if case.name != DEFAULT_CASE
        }
        runs["also"] = {case: seen for case, seen in also.items() if seen}
        about = {"bug": bug.id, "title": bug.title, "whom": bug.whom, "releases": bug.releases}
        about |= {"be_on": remedy(bug, version), "until_then": made.operator, "scenario": made.name}
        has.append(about | runs)
    bugs = [made.exhibit.bug for made in scenarios if made.exhibit is not None]
    return {
        "version": version.kafka,
        "mode": version.mode,
        "free_of_all": free_of_all(version, bugs),
        "has": has,
        "has_not": sorted(lacks),
    }


def as_text(found: Mapping[str, Any]) -> str:
    """The same for people."""
    every = len(found["has"]) + len(found["has_not"])
    mode = {"zookeeper": "with ZooKeeper", "kraft": "with KRaft"}[found["mode"]]
    lines = [f"Kafka {found['version']} {mode}: {len(found['has'])} of the museum's {every} bugs can happen there"]
    for one in found["has"]:
        shown = [f"on {version} {count}" for version, count in one["affected"].items()]
        fixed = [f"on {version} {count}" for version, count in one["fixed"].items()]
        lines += [
            "",
            f"{one['bug']}: {one['title']}",
            f"  whom        {one['whom']}",
            f"  releases    {one['releases']}",
            f"  be on       {one['be_on'] or 'no release without it yet'}",
            f"  until then  {one['until_then']}",
            f"  shown       {one['scenario']}, as documented {', '.join(shown)}"
            + (f"; fixed, {', '.join(fixed)}" if fixed else ""),
            *(
                f"  also        --case {case}, {', '.join(f'on {version} {count}' for version, count in seen.items())}"
                for case, seen in one["also"].items()
            ),
        ]
    if found["has"] and found["free_of_all"]:
        lines += ["", f"free of all of them: {found['free_of_all']}"]
    if found["has_not"]:
        lines += ["", f"not there: {', '.join(found['has_not'])}"]
    return "\n".join(lines)


def run(options: argparse.Namespace, shown: Shown) -> int:
    """Carry the command out."""
    made = [one for one in all_scenarios().values() if one.exhibit is not None]
    if options.version is None:
        every = [{"scenario": one.name} | one.exhibit.as_json() for one in made if one.exhibit is not None]
        if options.json:
            print(json.dumps(every, indent=1))
        else:
            print("\n".join(f"{one['bug']}: {one['title']} ({one['releases']}); {one['scenario']}" for one in every))
        return 0
    found = [bugs_of(version, made, shown) for version in ways(options.version)]
    print(json.dumps(found, indent=1) if options.json else "\n\n".join(map(as_text, found)))
    return 0
