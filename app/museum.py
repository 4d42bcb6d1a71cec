"""`kafka-chaos museum`: which of the bugs that the museum shows can happen on a release, and what showed it.

A release need be none that can be started here: the lines of a bug say what it has. So an answer says of each bug how
it is known. It was run on this release, or it follows from the releases that got the fix, or no release has one as far
as their code was looked at. Of a release that is newer than what was looked at nothing is known. What runs showed comes
from results/, which an installed copy has too.

A line, such as 2.8, is answered for all of its releases at once, each bug with those that have it. What is no release
is refused with the nearest that are. Bugs of Java's client stand apart: they go by the client's release.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evidence.errors import UsageError
from evidence.run import DEFAULT_CASE
from harness import discoveries
from harness.bugs import Bug, Exhibit, numbers
from harness.cluster import apache, versions
from harness.cluster.builds import Build
from harness.cluster.versions import Mode, Version
from harness.harms import HARM_ORDER, LOSES, harm_of
from harness.scenario import Scenario, all_scenarios

Shown = Callable[[str, str, str], str]
"""What runs of an exhibit, by name, showed on a version in a case: "5 of 5"."""

MODES: Final[Mapping[str, Mode]] = {"zk": "zookeeper", "zookeeper": "zookeeper", "kraft": "kraft"}
NOT_RUN: Final = "not run"


@dataclass(frozen=True)
class AskedReleases:
    """A release, or all releases of a line, in one mode."""

    name: str
    """As it was asked for, without the mode: "2.8"."""
    mode: Mode
    versions: tuple[Version, ...]
    """Oldest first."""

    @property
    def releases(self) -> list[str]:
        return [version.kafka for version in self.versions]


def ways(name: str, known: Sequence[str]) -> list[AskedReleases]:
    """What is asked for: a release or a line of releases, with ZooKeeper, with KRaft, or both if the name does not say
    ("3.9.2-kraft"). `known` are the releases that there are.

    Raises UsageError for what is no release, and for a way that it has not.
    """
    kafka, _, suffix = name.partition("-")
    asked = numbers(kafka)
    releases = [one for one in known if one == kafka or numbers(one)[: len(asked)] == asked]
    if not releases:
        raise apache.UnknownRelease(kafka)
    modes = list(dict.fromkeys(mode for one in releases for mode in versions.modes(numbers(one))))
    if suffix:
        if MODES.get(suffix) not in modes:
            raise UsageError(f"{name!r}: write a release, such as 2.6.1, with -zk or -kraft behind it if it has both")
        modes = [MODES[suffix]]
    return [
        AskedReleases(
            kafka,
            mode,
            tuple(
                Version(id=one, build=Build(kafka=one), mode=mode)
                for one in releases
                if mode in versions.modes(numbers(one))
            ),
        )
        for mode in modes
    ]


def free_of_mended(version: Version, bugs: Sequence[Bug]) -> str:
    """The nearest release from this one on that has none of the bugs that a release mends, among those that fixed one;
    "" if there is none.

    It is run in the same way: who has ZooKeeper is not told to leave it.
    """
    mended = [bug for bug in bugs if bug.fixed]
    fixes = sorted({numbers(fixed) for bug in mended for fixed in bug.fixed} | {version.release})
    for release in fixes:
        kafka = ".".join(map(str, release))
        then = Version(id=kafka, build=Build(kafka=kafka), mode=version.mode)
        runs = release >= version.release and then.mode in versions.modes(release)
        if runs and not any(bug.affects(then) for bug in mended):
            return kafka
    return ""


def is_unknown(bug: Bug, version: Version) -> bool:
    """Whether nothing is known of a bug on a version: no release mends it, and this one is newer than those that were
    looked at.
    """
    return bug.affects(version) and bug.status is not None and version.release > numbers(bug.status.looked_at)


def known_by(made: Scenario, exhibit: Exhibit, has_it: Sequence[Version], shown: Shown) -> str:
    """How it is known that versions have a bug: by runs on them, by the releases that mend it, or by their code."""
    mode = has_it[0].mode
    ran = {
        one.kafka: seen
        for one in map(versions.get, exhibit.affected)
        if one.mode == mode and (seen := ran_on(made, one, shown))
    }
    here = [f"run on {one.kafka}: {ran[one.kafka]}" for one in has_it if one.kafka in ran]
    rest = [one.kafka for one in has_it if one.kafka not in ran]
    status = exhibit.bug.status
    unmended = status if status is not None and not exhibit.bug.fixed_after(has_it[-1].release) else None
    how = f"no release to {unmended.looked_at} mends it" if unmended else "by the releases that got the fix"
    return "; ".join([*here, *([f"not run on {', '.join(rest)}: {how}"] if rest else [])])


def ran_on(made: Scenario, version: Version, shown: Shown) -> str:
    """What runs on a version that has the bug showed; in the other cases that show it if it was not run in the first;
    "" if in none.
    """
    if (seen := shown(made.name, version.id, DEFAULT_CASE)) != NOT_RUN:
        return seen
    return _cases(_others(made, version.id, shown))


def _cases(others: Mapping[str, str]) -> str:
    """In words: "case frozen 1 of 1, case cut 1 of 1"."""
    return ", ".join(f"case {name} {count}" for name, count in others.items())


def why_not(bug: Bug, asked: AskedReleases) -> str:
    """Why no release that is asked for has a bug."""
    if bug.mode not in (None, asked.mode):
        return f"of {'KRaft' if bug.mode == 'kraft' else 'ZooKeeper'} alone"
    last = asked.versions[-1]
    if last.release < bug.since.release:
        return f"came with {bug.since.first}"
    return f"fixed in {', '.join(bug.fixed)}"


def bugs_of(asked: AskedReleases, scenarios: Sequence[Scenario], shown: Shown) -> dict[str, Any]:
    """Which bugs of brokers versions have, each with what showed it, in which other cases (`also`), and what to do;
    which they have not, and why; of which nothing is known; and the bugs of Java's client.
    """
    has, lacks, unknown, clients = [], {}, [], []
    newest = asked.versions[-1]
    for made in scenarios:
        if made.exhibit is None:
            continue
        bug = made.exhibit.bug
        affected = [version for version in asked.versions if bug.affects(version)]
        if bug.whose != "brokers":
            if bug.mode in (None, asked.mode):
                clients.append(_of_clients(made, made.exhibit, asked, shown))
            else:
                lacks[bug.id] = why_not(bug, asked)
        elif affected and all(is_unknown(bug, version) for version in affected):
            unknown.append(bug.id)
        elif affected:
            has.append(_of_brokers(made, made.exhibit, affected, shown))
        else:
            lacks[bug.id] = why_not(bug, asked)
    bugs = [made.exhibit.bug for made in scenarios if made.exhibit and made.exhibit.bug.whose == "brokers"]
    return {
        "version": asked.name,
        "releases": asked.releases,
        "mode": asked.mode,
        "of_brokers": len(bugs),
        "free_of_mended": free_of_mended(newest, bugs),
        "has": sorted(has, key=lambda one: HARM_ORDER.index(one["harm"])),
        "has_not": dict(sorted(lacks.items())),
        "unknown": unknown,
        "clients": clients,
    }


def _of_brokers(made: Scenario, exhibit: Exhibit, affected: Sequence[Version], shown: Shown) -> dict[str, Any]:
    """What is told of a bug that versions have."""
    bug = exhibit.bug
    also = {
        case.name: {
            one: shown(made.name, one, case.name) for one in exhibit.affected if made.shows(versions.get(one), case)
        }
        for case in made.cases.values()
        if case.name != DEFAULT_CASE
    }
    return {
        "bug": bug.id,
        "title": bug.title,
        "harm": harm_of(made),
        "whom": bug.whom,
        "releases": bug.releases,
        "came": bug.came,
        "in": [version.kafka for version in affected],
        "known_by": known_by(made, exhibit, affected, shown),
        "fixed_in": (fixed := list(bug.fixed_after(affected[-1].release))),
        "be_on": next(iter(fixed), ""),
        "back_in": bug.again.first if bug.again else "",
        "was_fixed_in": list(bug.fixed) if bug.again and not fixed else [],
        "status": bug.status.as_json() if bug.status and not fixed else None,
        "until_then": made.operator,
        "scenario": made.name,
        **_shown_on(made, exhibit, shown),
        "also": {case: seen for case, seen in also.items() if seen},
    }


def _of_clients(made: Scenario, exhibit: Exhibit, asked: AskedReleases, shown: Shown) -> dict[str, Any]:
    """What is told of a bug of Java's client; `in` are the releases that are asked for whose clients have it."""
    bug = exhibit.bug
    told: dict[str, Any] = {"bug": bug.id, "title": bug.title, "whom": bug.whom, "releases": bug.releases}
    told |= {"harm": harm_of(made), "in": [one.kafka for one in asked.versions if bug.is_in(one.release)]}
    told |= {"came": bug.came, "be_on": list(bug.fixed)}
    return told | {"until_then": made.operator, "scenario": made.name} | _shown_on(made, exhibit, shown)


def _shown_on(made: Scenario, exhibit: Exhibit, shown: Shown) -> dict[str, Any]:
    """What runs showed on the versions that have it, that got the fix, and that are older than the bug. Where one was
    not run in the case that shows it, `others` has the cases that were.
    """
    how = f" ({exhibit.fixed_with})" if exhibit.fixed_with else ""
    since = exhibit.bug.since.release
    older = [one for one in exhibit.fixed if versions.get(one).release < since]
    return {
        "affected": {one: shown(made.name, one, DEFAULT_CASE) for one in exhibit.affected},
        "fixed": {one + how: shown(made.name, one, exhibit.fixed_case) for one in exhibit.fixed if one not in older},
        "older": {one: shown(made.name, one, exhibit.fixed_case) for one in older},
        "others": {
            one: ran
            for one in [*exhibit.affected, *(exhibit.fixed if exhibit.fixed_case == DEFAULT_CASE else ())]
            if shown(made.name, one, DEFAULT_CASE) == NOT_RUN and (ran := _others(made, one, shown))
        },
    }


def _others(made: Scenario, version: str, shown: Shown) -> dict[str, str]:
    """The other cases that were run on a version and show there what the first one shows, with their runs."""
    alike = made.alike(versions.get(version), DEFAULT_CASE)
    return {name: count for name in alike if (count := shown(made.name, version, name)) != NOT_RUN}


def as_text(found: Mapping[str, Any]) -> str:
    """The same for people."""
    mode = {"zookeeper": "with ZooKeeper", "kraft": "with KRaft"}[found["mode"]]
    releases = found["releases"]
    of = "" if releases == [found["version"]] else f" ({', '.join(releases)})"
    lose = sum(one["harm"] == LOSES for one in found["has"])
    what = f"{len(found['has'])} of the museum's {found['of_brokers']} bugs of brokers can happen there"
    lines = [f"Kafka {found['version']} {mode}{of}: {what}, {lose} of them {'loses' if lose == 1 else 'lose'} records"]
    if found["has"] and found["free_of_mended"]:
        lines.append(f"The first release with every fix that there is: {found['free_of_mended']}")
    for one in found["has"]:
        lines += [
            "",
            f"{one['bug']}: {one['title']}",
            f"  harm        {one['harm']}",
            f"  whom        {one['whom']}",
            f"  releases    {one['releases']}",
            f"  source      {one['came']}",
            *([f"  of these    {', '.join(one['in'])}"] if one["in"] != releases else []),
            f"  known by    {one['known_by']}",
            f"  fixed in    {fixed_in(one['fixed_in'], one['back_in']) or _gone(one) or 'no release of brokers'}",
            *([f"  status      {one['status']['on']}: {one['status']['told']}"] if one["status"] else []),
            f"  {'until then' if one['fixed_in'] else 'what to do'}  {one['until_then']}",
            f"  shown       {_in_words(one)}",
            *(
                f"  also        --case {case}, {', '.join(f'on {version} {count}' for version, count in seen.items())}"
                for case, seen in one["also"].items()
            ),
        ]
    if found["unknown"]:
        lines += ["", f"not known, since it is newer than what was looked at: {', '.join(found['unknown'])}"]
    lines += _clients(found)
    if found["has_not"]:
        lines += ["", "not there:", *(f"  {bug}: {why}" for bug, why in found["has_not"].items())]
    return "\n".join(lines)


def _gone(one: Mapping[str, Any]) -> str:
    """Where a bug was fixed that has come back; "" of another one."""
    if not one["was_fixed_in"]:
        return ""
    fixed = ", ".join(one["was_fixed_in"])
    return f"no later release: {fixed} and later ones fixed it, and it is back in {one['back_in']}"


def fixed_in(releases: Sequence[str], back_in: str = "") -> str:
    """The releases with a fix in words, and the first one that has the bug again; "" where no release has a fix."""
    back = f", and back in {back_in}" if back_in else ""
    return f"{', '.join(releases)} or later{back}" if releases else ""


def _clients(found: Mapping[str, Any]) -> list[str]:
    """The bugs of Java clients: in full those of the releases that are asked for, in a line each the others."""
    own = [one for one in found["clients"] if one["in"]]
    others = [one for one in found["clients"] if not one["in"]]
    lines = ["", f"of Java clients of {found['version']}, whatever the brokers are:"] if own else []
    for one in own:
        fixed = f"fixed in clients {fixed_in(one['be_on'])}" if one["be_on"] else "no client mends it"
        lines += [f"  {one['bug']}: {one['title']}", f"    {one['harm']}; {one['releases']}"]
        lines += [f"    {fixed}; shown {_in_words(one)}"]
    if others:
        lines += ["", "of Java clients of other releases, if yours are not of this one:"]
        lines += [f"  {one['bug']}: {one['title']} ({one['releases']})" for one in others]
    return lines


def _in_words(one: Mapping[str, Any]) -> str:
    """The scenario that shows a bug, and how often it did: "museum-bite, as documented on 1.1.1 4 of 5"."""
    beside = {version: f" ({_cases(others)})" for version, others in one["others"].items()}
    told = {
        side: ", ".join(f"on {version} {count}{beside.get(version, '')}" for version, count in one[side].items())
        for side in ("affected", "fixed", "older")
    }
    rest = [f"; {words}, {told[side]}" for side, words in (("fixed", "fixed"), ("older", "before it")) if told[side]]
    return f"{one['scenario']}, as documented {told['affected']}{''.join(rest)}"


def run(options: argparse.Namespace, shown: Shown) -> int:
    """Carry the command out."""
    made = [one for one in all_scenarios().values() if one.exhibit is not None]
    if options.version is None:
        every = [{"scenario": one.name} | one.exhibit.as_json() for one in made if one.exhibit is not None]
        of_museum = {one.name for one in made}
        found_here = [one for one in discoveries.every(all_scenarios()) if one["seen"]["scenario"] not in of_museum]
        if options.json:
            print(json.dumps([*every, *({"scenario": one["seen"]["scenario"]} | one for one in found_here)], indent=1))
            return 0
        print("\n".join(f"{one['bug']}: {one['title']} ({one['releases']}); {one['scenario']}" for one in every))
        print("\nfound here, and no exhibits (`kafka-chaos findings` tells more):")
        for one in found_here:
            print(f"{one['id']}: {one['title']} ({one['releases']}); {one['seen']['scenario']}")
        return 0
    found = [bugs_of(asked, made, shown) for asked in ways(options.version, apache.releases())]
    print(json.dumps(found, indent=1) if options.json else "\n\n".join(map(as_text, found)))
    return 0
