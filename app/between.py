"""What changed between two releases, as far as their jars tell: for the end of a bisection.

Jars have the commit that each was built from, the settings with their defaults, the versions of libraries, and the
compiled classes. They have no list of changes. Release notes name the issues of a release, and lie with the downloads,
not on Maven Central. So the answer has their address, and their text is not known here.
"""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any, Final

from harness.cluster.builds import Build
from harness.setup import jars
from harness.setup import settings as settings_of
from harness.setup.contents import JarFile
from harness.setup.waiting import Echo
from pages.release import KINDS, changed_jars, changed_settings

NOTES: Final = "https://archive.apache.org/dist/kafka/{release}/RELEASE_NOTES.html"
NOT_HERE: Final = (
    "which issues were changed between them: jars do not say it, and the release notes, which do, are not on Maven "
    "Central: {notes}",
    "why a class differs: another compiler or a change of its own look the same",
)


def changed_modules(before: Path, after: Path) -> dict[str, list[str]]:
    """Kafka's own classes that came, went or differ, by module ("kafka-storage"), of two folders of jars."""
    old, new = _by_module(before), _by_module(after)
    found = {}
    for module in sorted(old.keys() | new.keys()):
        one, other = ({} if jar is None else JarFile(jar).classes() for jar in (old.get(module), new.get(module)))
        differ = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
        if differ:
            found[module] = differ
    return found


def _by_module(folder: Path) -> dict[str, Path]:
    return {
        path.name.rpartition("-")[0]: path for path in folder.glob("kafka*.jar") if not path.name.endswith("-test.jar")
    }


def differences(before: str, after: str, echo: Echo) -> dict[str, Any]:
    """What the jars of two releases tell, and what they cannot. Raises UsageError if they cannot be had."""
    folders = [jars.resolve(kafka, echo) for kafka in (before, after)]
    commits = [
        next(
            (
                properties["commitId"]
                for path in sorted(folder.glob("kafka-clients-*.jar"))
                if (properties := JarFile(path).properties)
            ),
            "",
        )
        for folder in folders
    ]
    settings = [settings_of.defaults(Build(kafka=kafka), echo) for kafka in (before, after)]
    libraries = [
        {f"{jar.group}:{jar.artifact}": jar.version for jar in jars.read_lock(kafka)} for kafka in (before, after)
    ]
    notes = NOTES.format(release=after)
    return {
        "commits": commits,
        "settings": [
            html.unescape(f"{title}: {line}")
            for kind, title in KINDS.items()
            for line in changed_settings(settings[0].get(kind, {}), settings[1].get(kind, {}))
        ],
        "libraries": list(changed_jars(*libraries)),
        "classes": changed_modules(*folders),
        "release_notes": notes,
        "cannot": [line.format(notes=notes) for line in NOT_HERE],
    }
