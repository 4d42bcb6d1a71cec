"""What a scenario is made of, and the registry of them all.

A scenario is a frozen value: the claim it shows and where that is documented, the cluster and topic it needs,
what must follow on which versions, and one function of steps. It declares; `harness.run.Run` carries out.
Judgement is not part of it either: `documented_for` only states what the sources say, and `judgement.policy`
holds the findings against it.

A case is a named variant of a scenario (settings, acks, a client's settings) with a documented outcome of its own. It
takes the scenario's steps, or names its own; no steps ask which case they are. A scenario that declares none has one
case, called "default".

A scenario lives in one file of `scenarios/`, is registered by the decorator `scenario`, and reads like the
paragraph it implements (docs/writing-a-scenario.md).
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evidence.errors import UsageError, unknown_name
from evidence.run import DEFAULT_CASE
from harness.bugs import Exhibit
from harness.case import Case, Documented, Steps
from harness.cluster import versions
from harness.cluster.ranges import EVERY_VERSION, VersionRange
from harness.plan import ClusterPlan, TopicPlan
from harness.workloads.libraries import needs_of
from harness.workloads.protocol import CAPABILITIES

if TYPE_CHECKING:
    from harness.cluster.versions import Version

PACKAGE: Final = "scenarios"
"""Where scenarios register themselves; known here by name only, so that this room does not rest on theirs."""
MISTAKES: Final = (AttributeError, ImportError, KeyError, NameError, TypeError, ValueError)
CASE_NAME: Final = re.compile("[a-z0-9][a-z0-9-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One documented claim and the sequence that shows it."""

    name: str
    claim: str
    source: str
    operator: str
    """What somebody who runs Kafka should take from it, in one or two sentences."""
    cluster: ClusterPlan
    topic: TopicPlan
    cases: Mapping[str, Case]
    steps: Steps | None = field(default=None, repr=False)
    """Of the cases that name none of their own."""
    applies: VersionRange = EVERY_VERSION
    needs: frozenset[str] = frozenset()
    """What its steps need of a client: words of harness/workloads/protocol.py."""
    exhibit: Exhibit | None = None
    """Of the museum: its bug, and the versions that show it."""
    also_called: tuple[str, ...] = ()
    """Other names that it is asked for by. Its runs have the first one."""
    file: str = ""

    def case(self, name: str = DEFAULT_CASE) -> Case:
        """The case called `name`; UsageError with the nearest names if there is none."""
        if name not in self.cases:
            raise unknown_name("case", name, self.cases, hint=f"of scenario {self.name}")
        return self.cases[name]

    def steps_of(self, case: str = DEFAULT_CASE) -> Steps:
        """The function that carries a case out; UsageError if nobody has named one."""
        steps = self.case(case).steps or self.steps
        if steps is None:
            raise UsageError(f"scenario {self.name}, case {case}: it names no function of steps")
        return steps

    @property
    def path(self) -> str:
        """The file that it is written in."""
        return str(sys.modules[self.file].__file__) if self.file else inspect.getfile(_function(self.steps_of()))

    @property
    def versions(self) -> tuple[Version, ...]:
        """The versions that `all` stands for: those of the matrix, or, of an exhibit, those that it is shown on."""
        return versions.ALL if self.exhibit is None else tuple(map(versions.get, self.exhibit.versions))

    def applies_to(self, version: Version, case: Case) -> bool:
        """Whether the sequence makes sense on this version, in this case. Only one that upgrades takes a pair."""
        upgrades = version.pair is None or bool(self.cluster_of(case).upgrades)
        return upgrades and self.applies.holds(version) and case.applies.holds(version)

    def as_run(self, version: Version) -> Version:
        """A version as runs of this scenario name it: a pair that it has by itself has the name of its first one."""
        if version.pair is None or not self.applies.holds(version.first):
            return version
        first, then = version.pair
        return first if self.cluster.upgrades.get(first.id) == then.id else version

    def cases_for(self, version: Version, names: Iterable[str] = ()) -> list[Case]:
        """The cases that apply to a version, or those of them that are named.

        Raises UsageError for a name that is no case, and if none applies.
        """
        wanted = [self.case(name) for name in names] or list(self.cases.values())
        fit = [case for case in wanted if self.applies_to(version, case)]
        for case in wanted if not fit else ():
            self.documented_for(version, case.name)
        return fit

    def needs_of(self, case: Case) -> frozenset[str]:
        """What a case needs of a client of the user's own."""
        return self.needs | case.needs | needs_of({"acks": case.acks} | dict(case.client_settings))

    def documented_for(self, version: Version, case: str = DEFAULT_CASE) -> Documented:
        """What is documented for a case on `version`.

        Raises UsageError if the scenario says nothing about it.
        """
        chosen = self.case(case)
        what = f"scenario {self.name}" + (f", case {case}," if case != DEFAULT_CASE else "")
        if not self.applies_to(version, chosen):
            if version.pair is not None and not self.cluster_of(chosen).upgrades:
                raise UsageError(f"{what} upgrades nothing, so it is run on one version, not on {version.id}")
            line = (chosen if self.applies.holds(version) else self).applies
            raise UsageError(f"{what} does not apply to {version.id}; it applies to: {line.label}")
        for outcome in chosen.documented:
            if outcome.on.holds(version):
                return outcome
        raise UsageError(f"{what} documents no outcome for {version.id}")

    def shows(self, version: Version, case: Case) -> bool:
        """Whether a case of an exhibit shows its bug on a version: what is documented for it there is stated for the
        versions that have the bug. Other cases show what it takes, or that it does no harm.
        """
        if self.exhibit is None or not self.applies_to(version, case):
            return False
        return self.documented_for(version, case.name).on is self.exhibit.bug.affected

    def alike(self, version: Version, case: str) -> list[str]:
        """The other cases of an exhibit that show on a version what this one shows there: where that is the bug, all of
        it and perhaps more; elsewhere just the same. None of a scenario that is no exhibit.
        """
        if self.exhibit is None:
            return []
        here, shown = self.documented_for(version, case), self.shows(version, self.case(case))
        found = []
        for other in self.cases.values():
            try:
                there = self.documented_for(version, other.name)
            except UsageError:
                continue
            mine, others = ({*one.required, *one.claims} for one in (here, there))
            if self.shows(version, other) == shown and (mine <= others if shown else mine == others):
                found.append(other.name)
        return [name for name in found if name != case]

    def cluster_of(self, case: Case) -> ClusterPlan:
        """The cluster of a case, with its settings."""
        cluster = case.cluster or self.cluster
        return replace(cluster, settings=dict(cluster.settings) | dict(case.settings))

    def topic_of(self, case: Case) -> TopicPlan:
        """The topic with the settings of a case, and its replicas where the case places them."""
        settings = dict(self.topic.settings) | dict(case.topic)
        return replace(self.topic, settings=settings, replicas=case.replicas or self.topic.replicas)


_REGISTRY: dict[str, Scenario] = {}


def scenario(
    *,
    name: str,
    claim: str,
    source: str,
    operator: str,
    documented: Iterable[Documented] = (),
    cases: Mapping[str, Case] | None = None,
    cluster: ClusterPlan | None = None,
    topic: TopicPlan | None = None,
    applies: VersionRange = EVERY_VERSION,
    needs: Iterable[str] = (),
    exhibit: Exhibit | None = None,
    also_called: Iterable[str] = (),
) -> Callable[[Steps], Scenario]:
    """Register the decorated function of steps as a scenario; the name then stands for the `Scenario`. If each of the
    cases names its own steps, the scenario is registered by the call alone, and there is nothing to decorate.

    What follows is stated either by `documented` or by each of the `cases`. Raises UsageError if it is stated twice or
    not at all, and for a case whose name cannot be part of a run's name.
    """
    stated = tuple(documented)
    if bool(stated) == bool(cases):
        raise UsageError(f"scenario {name}: give it `documented` or `cases`, one of the two")
    if unknown := sorted(set(needs) - set(CAPABILITIES)):
        raise UsageError(f"scenario {name}: needs {', '.join(unknown)}, which is not one of {', '.join(CAPABILITIES)}")
    for case in cases or ():
        if not CASE_NAME.fullmatch(case):
            raise UsageError(f"scenario {name}: case {case!r}: a name has small letters, digits and hyphens only")
    declared = dict(cases) if cases else {DEFAULT_CASE: Case(documented=stated)}
    file = str(sys._getframe(1).f_globals["__name__"])  # who declares it: the steps may be those of another scenario

    def register(steps: Steps | None) -> Scenario:
        made = Scenario(
            name=name,
            claim=" ".join(claim.split()),
            source=" ".join(source.split()),
            operator=" ".join(operator.split()),
            cluster=cluster or ClusterPlan(),
            topic=topic or TopicPlan(),
            cases={key: replace(case, name=key, documented=tuple(case.documented)) for key, case in declared.items()},
            steps=steps,
            applies=applies,
            needs=frozenset(needs),
            exhibit=exhibit,
            also_called=tuple(also_called),
            file=file,
        )
        other = _REGISTRY.get(name)
        if other is not None and other.file != made.file:
            raise UsageError(f"two scenarios are named {name}: {other.file} and {made.file}; rename one")
        _REGISTRY[name] = made
        return made

    if all(case.steps for case in declared.values()):
        register(None)
    return register


def _function(steps: Steps) -> Callable[..., None]:
    """The function itself, of one that has been given arguments too."""
    return steps.func if isinstance(steps, partial) else steps


@contextmanager
def mistakes_told(file: str) -> Iterator[None]:
    """Within this, an author's mistake in a scenario's file is a UsageError with the file and the line.

    A mistake is a word, a name or an argument that does not exist, and whatever is refused with a UsageError. An error
    that comes from deeper down is no such mistake, and passes.
    """
    try:
        yield
    except SyntaxError as error:
        raise UsageError(f"{file}, line {error.lineno}: {error.msg}") from None
    except (UsageError, *MISTAKES) as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == file]
        if isinstance(error, UsageError):
            raise UsageError(f"{file}, line {lines[-1]}: {error}" if lines else f"{file}: {error}") from None
        if frames[-1].filename != file:
            raise
        raise UsageError(f"{file}, line {lines[-1]}: {type(error).__name__}: {error}") from None


def all_scenarios() -> dict[str, Scenario]:
    """Every scenario of the package PACKAGE, by name."""
    (folder,) = importlib.import_module(PACKAGE).__path__
    _import_all(folder)
    return dict(sorted(_REGISTRY.items()))


@cache
def _import_all(folder: str) -> None:
    """Import every module of the folder of scenarios. They are looked for once in a process."""
    for path in sorted(Path(folder).rglob("*.py")):
        if not (path.parent / "__init__.py").exists():
            raise UsageError(f"{path.parent} has scenarios and no __init__.py: make an empty one")
        with mistakes_told(str(path)):
            importlib.import_module(".".join((PACKAGE, *path.relative_to(folder).with_suffix("").parts)))


def get_scenario(name: str) -> Scenario:
    """The scenario called `name`, or also called so; UsageError with the nearest names if there is none."""
    known = all_scenarios()
    called = {other: made for made in known.values() for other in made.also_called} | known
    if name not in called:
        raise unknown_name("scenario", name, called, hint="`kafka-chaos list` lists them")
    return called[name]
