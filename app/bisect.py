"""Which release of Kafka a symptom came with, or went with: runs of one scenario, decided release by release.

A *symptom* is an anomaly, or several: those that runs on one end show and no run on the other end does, or those that
the user names. It can also be a time that is too long, or a line of the brokers' logs (app/symptoms.py). A run that
cannot tell these decides nothing. Nothing that is documented of the scenario is asked: every run is made with
`--expect none`, so what the museum knows of a bug decides nothing here. Only the time of a claim needs what is
documented, since no other run measures it.

**Releases.** Kafka's releases are a tree, not a row: 2.8.2 came after 3.1.0, from a branch that left the development
branch at 2.8.0. Between two releases is therefore what the newer one descends from and the older one does not. These
are the first release of each line between them, then those of the newer one's own line (`path`), as `git bisect` would
go. 2.8.2 and 3.0.1 are not between 2.8.1 and 3.1.0. With `each`, all releases whose numbers lie between are tested too,
and told; they decide nothing. The symptom may have come with the first release of that path, where the older end is no
first release of its line. Then the first one of that line is tested too, for a fix that went into the branch alone
looks the same.

**Each release** is decided by a sequential probability ratio test (Wald, Annals of Mathematical Statistics 16, 1945). A
release with the symptom shows it in `rate` of its runs or more, one without it in RARE at most. Each is decided wrongly
in ERROR at most. Only sound runs count (a fault without proof proves nothing of the release). A release on which
UNSOUND runs in a row are not sound, or that the scenario does not apply to, cannot be told, and its neighbours are
tested instead.

**Resuming.** Finished runs are taken from their folder, so the same command continues where it was ended. `bisect.json`
says which images were made for this, and those are removed as soon as their release is decided.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from docker.errors import APIError

from app import symptoms
from app.matrix import MatrixCell
from app.symptoms import Symptom
from evidence.errors import KafkaChaosError, UsageError
from evidence.releases import line_of, numbers
from evidence.rundir import RunDir, write_atomically
from harness.cluster import apache, versions
from harness.cluster.docker import connect
from harness.setup import images
from judgement.verdict import Verdict, read_verdict

if TYPE_CHECKING:
    from harness.cluster.versions import Version
    from harness.scenario import Scenario
    from harness.setup.waiting import Echo

ERROR: Final = 0.01
"""Of both kinds."""
RARE: Final = 0.01
"""In so many runs, at most, a release without the symptom shows it."""
UNSOUND: Final = 4
STATE: Final = "bisect.json"

Decision = Literal["with", "without", ""]


def weight(hits: int, misses: int, rate: float) -> float:
    """The logarithm of how much likelier such runs are with the symptom than without it."""
    return hits * math.log(rate / RARE) + misses * math.log((1 - rate) / (1 - RARE))


def decided(hits: int, misses: int, rate: float) -> Decision:
    """What the sequential test says of a release; "" if it needs more runs.

    >>> decided(2, 0, 0.95), decided(1, 0, 0.95), decided(0, 2, 0.95), decided(0, 13, 0.3), decided(0, 14, 0.3)
    ('with', '', 'without', '', 'without')
    >>> decided(2, 3, 0.3)
    'with'
    """
    found, border = weight(hits, misses, rate), math.log((1 - ERROR) / ERROR)
    return "with" if found >= border else "without" if found <= -border else ""


def path(older: Version, newer: Version, known: Sequence[str]) -> tuple[Version, ...]:
    """What the newer release descends from and the older one does not, oldest first, the newer one last.

    Raises UsageError if they are not run in the same way, or nothing runs so between them.
    """
    if older.mode != newer.mode or older.settings != newer.settings:
        raise UsageError(
            f"{older.id} and {newer.id} are not run in the same way: name two with ZooKeeper (3.9.2-zk) or two with "
            "KRaft (3.9.2-kraft)"
        )
    between = [one for one in known if older.release < numbers(one) <= newer.release]
    own = line_of(newer.release)
    firsts: dict[tuple[int, ...], str] = {}
    for one in between:
        firsts.setdefault(line_of(numbers(one)), one)
    firsts.pop(line_of(older.release), None)
    chosen = [one for one in between if line_of(numbers(one)) == own or firsts.get(line_of(numbers(one))) == one]
    return tuple(filter(None, (_same_way(one, newer) for one in chosen)))


def _same_way(kafka: str, like: Version) -> Version | None:
    """A release run as another version is; None if it cannot be."""
    suffix = like.id.removeprefix(like.kafka)
    for name in dict.fromkeys((kafka + suffix, *versions.ways(kafka))):
        try:
            found = versions.get(name)
        except UsageError:
            continue
        if found.mode == like.mode and found.settings == like.settings:
            return found
    return None


def others(older: Version, newer: Version, known: Sequence[str], on_path: Iterable[Version]) -> tuple[Version, ...]:
    """The releases between the two by their numbers that are not on the path."""
    taken = {older.kafka, *(version.kafka for version in on_path)}
    between = [one for one in known if older.release < numbers(one) < newer.release and one not in taken]
    return tuple(filter(None, (_same_way(one, newer) for one in between)))


def first_of_line(version: Version, known: Sequence[str]) -> Version | None:
    """The first release of a version's line, in the same way; None if it is that itself."""
    first = next(one for one in known if line_of(numbers(one)) == line_of(version.release))
    return None if first == version.kafka else _same_way(first, version)


@dataclass(slots=True)
class Tested:
    """What runs on a release told."""

    version: str
    runs: list[tuple[str, tuple[str, ...], bool]] = field(default_factory=list)
    """Of each: its directory, the anomalies that it has, and whether it is sound."""
    cannot: str = ""
    """Why the release cannot be told."""

    def hits(self, symptom: Iterable[str]) -> int:
        """In how many sound runs the symptom was seen."""
        names = set(symptom)
        return sum(sound and bool(names & set(seen)) for _, seen, sound in self.runs)

    @property
    def sound(self) -> int:
        """How many runs are sound."""
        return sum(sound for *_, sound in self.runs)

    @property
    def seen(self) -> set[str]:
        """All anomalies of sound runs."""
        return {name for _, seen, sound in self.runs if sound for name in seen}

    def decision(self, symptom: Iterable[str], rate: float) -> Decision:
        """What the runs decide."""
        hits = self.hits(symptom)
        return decided(hits, self.sound - hits, rate)

    def as_json(self, symptom: Iterable[str], rate: float) -> dict[str, Any]:
        """For bisect.json and `--json`."""
        names = tuple(symptom)
        return {
            "version": self.version,
            "decided": self.decision(names, rate) or None,
            "with_symptom": self.hits(names),
            "sound": self.sound,
            "runs": [run for run, *_ in self.runs],
            "cannot": self.cannot,
        }


Runner = Callable[[MatrixCell], RunDir | None]
"""Runs and judges a cell, or takes the finished run of it; None if it left nothing."""


@dataclass(slots=True, kw_only=True)
class Bisection:
    """Decides releases, and finds the border between those with the symptom and those without."""

    scenario: Scenario
    case: str
    older: Version
    newer: Version
    fix: bool
    """Whether the symptom is the older release's: the release is sought that it went with."""
    rate: float
    root: Path
    seed: int
    run: Runner
    echo: Echo
    named: tuple[str, ...] = ()
    """The symptom that the user names; empty: what the ends differ in."""
    beside: tuple[Symptom, ...] = ()
    """Times and lines that the user names; their words are in `named` too."""
    known: Sequence[str] = field(default_factory=apache.releases)
    tested: dict[str, Tested] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)
    """Images that were made for this."""
    symptom: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        state = self.root / STATE
        if state.exists():
            self.made |= set(json.loads(state.read_text()).get("images", ()))

    @property
    def bad(self) -> Version:
        """The end that has the symptom."""
        return self.older if self.fix else self.newer

    @property
    def good(self) -> Version:
        """The end that has it not."""
        return self.newer if self.fix else self.older

    def one_run(self, version: Version) -> bool:
        """Make one more run on a release; False if it cannot be told."""
        told = self.tested.setdefault(version.id, Tested(version.id))
        if told.cannot:
            return False
        made = self.scenario.case(self.case)
        if not self.scenario.applies_to(version, made):
            told.cannot = f"{self.scenario.name} does not apply to it"
            return False
        last = [sound for *_, sound in told.runs[-UNSOUND:]]
        if len(last) == UNSOUND and not any(last):
            told.cannot = f"{UNSOUND} runs in a row prove nothing"
            return False
        if not told.runs:
            try:
                self._image(version)
            except KafkaChaosError as error:
                told.cannot = str(error)
                return False
        cell = MatrixCell(
            scenario=self.scenario.name, case=self.case, version=version.id, seed=self.seed + len(told.runs)
        )
        run_dir = self.run(cell)
        verdict = Verdict(verdict="error") if run_dir is None else read_verdict(run_dir)
        beside = {} if run_dir is None else symptoms.shown(self.beside, run_dir)
        seen = (*verdict.seen, *(name for name, shows in beside.items() if shows))
        tells = verdict.sound and None not in beside.values()
        told.runs.append((str(run_dir.path) if run_dir else str(cell), seen, tells))
        return True

    def _image(self, version: Version) -> None:
        with closing(connect()) as client:
            if images.present(client, version.build) is not None:
                return
        self.made.add(version.build.image)
        self.save()
        images.ensure_image(version.build, self.echo)

    def drop_image(self, version: Version) -> None:
        """Remove the image of a release, if it was made for this."""
        name = version.build.image
        if name not in self.made:
            return
        with closing(connect()) as client:
            try:
                client.images.remove(name)
            except APIError as error:
                if error.status_code != 404:
                    self.echo(f"the image {name} stays: {error.explanation or error}")
                    return
        self.made.discard(name)
        self.save()

    def save(self, **more: Any) -> None:
        """Write bisect.json."""
        told = [one.as_json(self.symptom, self.rate) for one in self.tested.values()]
        state = {"images": sorted(self.made), "symptom": list(self.symptom), "tested": told} | more
        self.root.mkdir(parents=True, exist_ok=True)
        write_atomically(self.root / STATE, json.dumps(state, indent=1))

    def ends(self) -> None:
        """Find the symptom, and decide both ends by it.

        Raises UsageError if the ends do not differ, or one of them cannot be told.
        """
        bad, good = self.bad, self.good
        while True:
            told = [self.tested.get(one.id, Tested(one.id)) for one in (bad, good)]
            self.symptom = self.named or tuple(sorted(told[0].seen - told[1].seen))
            of_bad, of_good = (one.decision(self.symptom, self.rate) for one in told)
            if of_bad == "without" or of_good == "with":
                raise UsageError(self._alike(told))
            if of_bad and of_good:
                self.echo(f"the symptom: {', '.join(self.symptom)}, on {bad.id} and not on {good.id}")
                return
            for version, one in zip((bad, good), (of_bad, of_good), strict=True):
                if not one and not self.one_run(version):
                    raise UsageError(f"{version.id} cannot be told: {self.tested[version.id].cannot}")
            self.save()

    def _alike(self, told: Sequence[Tested]) -> str:
        def words(one: Tested) -> str:
            return f"{one.version} ({', '.join(sorted(one.seen)) or 'no anomaly'} in {one.sound} runs)"

        what = f" in {', '.join(self.named)}" if self.named else ""
        return (
            f"{self.scenario.name}: the bad and the good release do not differ{what}: {words(told[0])} and "
            f"{words(told[1])}; name other releases, or with --seen the anomaly that you mean"
        )

    def decide(self, version: Version) -> Decision:
        """Run a release until it is decided; "" if it cannot be told."""
        while True:
            told = self.tested.setdefault(version.id, Tested(version.id))
            if (found := told.decision(self.symptom, self.rate)) or not self.one_run(version):
                break
            self.save()
        self.drop_image(version)
        what = f"{told.hits(self.symptom)} of {told.sound} runs" if found else told.cannot
        self.echo(f"{version.id}: {found or 'cannot be told'} ({what})")
        self.save()
        return found

    def border(self) -> SymptomBorder:
        """The first release on the path that is as the newer end is, by halving."""
        after: Decision = "without" if self.fix else "with"
        candidates = list(path(self.older, self.newer, self.known))
        last, skipped = self.older, []
        while len(candidates) > 1:
            number = (len(candidates) - 1) // 2
            found = self.decide(candidates[number])
            if not found:
                skipped.append(candidates.pop(number))
            elif found == after:
                candidates = candidates[: number + 1]
            else:
                last, candidates = candidates[number], candidates[number + 1 :]
        first = candidates[0]
        unsure = [one for one in skipped if last.release < one.release < first.release]
        base = None
        another_line = last == self.older and line_of(first.release) != line_of(last.release)
        if another_line and (began := first_of_line(last, self.known)) is not None:
            base = (began, self.decide(began))
        return SymptomBorder(last=last, first=first, unsure=tuple(unsure), base=base, after=after)

    def tidy(self) -> None:
        """Remove the images that were made for this."""
        for version in (self.older, self.newer, *path(self.older, self.newer, self.known)):
            self.drop_image(version)


@dataclass(frozen=True, slots=True, kw_only=True)
class SymptomBorder:
    """Where the symptom came or went."""

    last: Version
    """The last release that is as the older end."""
    first: Version
    """The first one that is as the newer end."""
    unsure: tuple[Version, ...]
    """Those between them that could not be told."""
    base: tuple[Version, Decision] | None
    """The first release of the older end's line, where that had to be tested, and what it is."""
    after: Decision

    @property
    def only_the_branch(self) -> bool:
        """Whether the line began as the newer end is: what differs was changed on the older end's branch alone."""
        return self.base is not None and self.base[1] == self.after


def known_bugs(border: SymptomBorder, scenarios: Mapping[str, Scenario]) -> list[str]:
    """What the museum knows of bugs that came or went with the release: told at the end, asked for by nothing."""
    found = []
    for one in scenarios.values():
        if one.exhibit is None:
            continue
        bug = one.exhibit.bug
        if bug.affects(border.first) != bug.affects(border.last):
            word = "came" if bug.affects(border.first) else "is fixed"
            found.append(f"{bug.id} {word}: {bug.title} ({one.name})")
    return sorted(found)
