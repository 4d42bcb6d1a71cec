"""What changed between two releases, as far as their jars tell: for the end of a bisection.

Jars have the commit that each was built from, the settings with their defaults, the versions of libraries, and the
compiled classes. They have no list of changes: release notes name the issues of a release, and lie with the downloads,
not on Maven Central; so they are told by address, and their text is not known here.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from harness.setup import jars
from harness.setup import settings as settings_of
from harness.setup.waiting import Echo
from pages.release import KINDS, changed_jars, changed_settings

PROPERTIES: Final = "kafka/kafka-version.properties"
NOTES: Final = "https://archive.apache.org/dist/kafka/{release}/RELEASE_NOTES.html"
NOT_HERE: Final = (
    "which issues were changed between them: jars do not say it, and the release notes, which do, are not on Maven "
    "Central: {notes}",
    "why a class differs: another compiler or a change of its own look the same",
)


def version_of(jar: Path) -> Mapping[str, str]:
    """What a jar says of the build it is of: `version` and `commitId`; nothing if it says nothing."""
    with suppress(KeyError, OSError, zipfile.BadZipFile), zipfile.ZipFile(jar) as archive:
        lines = archive.read(PROPERTIES).decode(errors="replace").splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)
    return {}


def classes_of(jar: Path) -> dict[str, int]:
    """The checksum of each class of a jar, those inside another one with it ("A$B" with "A")."""
    found: dict[str, int] = {}
    with zipfile.ZipFile(jar) as archive:
        for entry in archive.infolist():
            if entry.filename.endswith(".class"):
                name = entry.filename.removesuffix(".class").partition("$")[0].replace("/", ".")
                found[name] = found.get(name, 0) ^ entry.CRC
    return found


def changed_classes(before: Path, after: Path) -> dict[str, list[str]]:
    """Kafka's own classes that came, went or differ, by module ("kafka-storage"), of two folders of jars."""
    old, new = _by_module(before), _by_module(after)
    found = {}
    for module in sorted(old.keys() | new.keys()):
        one, other = ({} if jar is None else classes_of(jar) for jar in (old.get(module), new.get(module)))
        differ = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
        if differ:
            found[module] = differ
    return found


def _by_module(folder: Path) -> dict[str, Path]:
    return {
        path.name.rpartition("-")[0]: path for path in folder.glob("kafka*.jar") if not path.name.endswith("-test.jar")
    }


def told(before: str, after: str, echo: Echo) -> dict[str, Any]:
    """What the jars of two releases tell, and what they cannot. Raises UsageError if they cannot be had."""
    folders = [jars.resolve(kafka, echo) for kafka in (before, after)]
    commits = [
        next(
            (found["commitId"] for path in sorted(folder.glob("kafka-clients-*.jar")) if (found := version_of(path))),
            "",
        )
        for folder in folders
    ]
    settings = [settings_of.defaults(kafka, echo) for kafka in (before, after)]
    libraries = [
        {f"{jar.group}:{jar.artifact}": jar.version for jar in jars.read_lock(kafka)} for kafka in (before, after)
    ]
    notes = NOTES.format(release=after)
    return {
        "commits": commits,
        "settings": [
            f"{title}: {line}"
            for kind, title in KINDS.items()
            for line in changed_settings(settings[0].get(kind, {}), settings[1].get(kind, {}))
        ],
        "libraries": list(changed_jars(*libraries)),
        "classes": changed_classes(*folders),
        "release_notes": notes,
        "cannot": [line.format(notes=notes) for line in NOT_HERE],
    }
