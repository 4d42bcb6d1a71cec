"""What several commands make of their options, and of a verdict for --json."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from checks.names import validate_anomalies
from evidence.errors import UsageError
from evidence.rundir import RunDir
from harness.cluster import versions as known_versions
from harness.cluster.versions import Version
from harness.setup import central, jars, own
from harness.setup.waiting import Echo
from judgement.verdict import Verdict


def settings_of(pairs: Sequence[str]) -> dict[str, str]:
    """The settings that --setting gives, by name. Raises UsageError."""
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--setting {pair!r}: write it as name=value, such as --setting min.insync.replicas=2")
        settings[key.strip()] = value.strip()
    return settings


def names_of(text: Sequence[str]) -> list[str]:
    """Names that are divided by blanks or commas."""
    return [name for part in text for name in part.replace(",", " ").split()]


def versions_of(names: Sequence[str], echo: Echo, *, locked: bool = False) -> list[Version] | None:
    """The versions that --versions names; None for all. `echo` is told if Maven Central is asked for one.

    Raises UsageError for a name that is no version, and, if only `locked` ones are wanted, for a release without a
    committed lock.
    """
    ids = names_of(names)
    if ids == ["all"]:
        return None
    found = [central.find(name, echo) for name in ids]
    if locked:
        jars.refuse_unlocked(build.kafka for version in found for build in version.builds)
    return found


def pair_of(options: argparse.Namespace, echo: Echo) -> Version:
    """The version that the options name (`version_of`); with --upgrade-to or --upgrade-from, an upgrade of it, or to
    it. Raises UsageError, also for an upgrade that is not possible.
    """
    found = version_of(options, echo)
    if options.upgrade_to is not None and options.upgrade_from is not None:
        raise UsageError("--upgrade-to and --upgrade-from: give one of the two, beside --version or --kafka")
    if options.upgrade_to is not None:
        return known_versions.upgraded(found, central.find(options.upgrade_to, echo))
    if options.upgrade_from is not None:
        return known_versions.upgraded(central.find(options.upgrade_from, echo), found)
    return found


def version_of(options: argparse.Namespace, echo: Echo) -> Version:
    """The version that --version names, or that --kafka and --jar make. Raises UsageError."""
    _refuse_own_locked(options)
    if options.kafka is not None:
        return known_versions.of_build(own.take(options.kafka, options.jar, "", echo), options.version or "")
    if options.version is None:
        raise UsageError("name a release with --version, such as --version 4.3.1, or a build of your own with --kafka")
    found = central.find(options.version, echo)
    return _with_jars(found, options.jar, echo) if options.jar else found


def own_versions(options: argparse.Namespace, echo: Echo) -> list[Version] | None:
    """The versions that --kafka, or --jar, makes of a command that takes several: each way to run the build that
    --versions names, or all; None without these options. Raises UsageError.
    """
    _refuse_own_locked(options)
    names = names_of(options.versions or ())
    if options.kafka is not None:
        build = own.take(options.kafka, options.jar, "", echo)
        asked = names if names and names != ["all"] else known_versions.ways(build.kafka)
        return [known_versions.of_build(build, name) for name in asked]
    if options.jar:
        if not names or names == ["all"]:
            raise UsageError("--jar is added to releases that --versions names, or to the build that --kafka gives")
        return [_with_jars(central.find(name, echo), options.jar, echo) for name in names]
    return None


def _with_jars(version: Version, more: Sequence[Path], echo: Echo) -> Version:
    if version.build.own:
        raise UsageError(f"--jar: {version.id} is an own build already; give --kafka with it, and --jar")
    build = own.take(None, more, version.kafka, echo)
    return known_versions.of_build(build, version.id)


def _refuse_own_locked(options: argparse.Namespace) -> None:
    if options.locked and (options.kafka is not None or options.jar):
        raise UsageError("--locked takes only releases whose jars have a committed lock: no --kafka, no --jar")


def expected(text: str | None) -> tuple[str, ...] | None:
    """The anomalies that --expect names; "none" stands for an empty list."""
    if text is None:
        return None
    names = () if text.strip() == "none" else tuple(dict.fromkeys(names_of([text])))
    validate_anomalies(names)
    return names


def judged_json(run_dir: RunDir, verdict: Verdict) -> dict[str, Any]:
    """A run and its verdict, for --json."""
    return {"run_dir": str(run_dir.path)} | verdict.as_json()
