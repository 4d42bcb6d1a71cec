"""Which mirror Debian is fetched from: the one that this machine's own apt uses for Debian, else Debian's own by http.

A source is chosen by the suites and components that it offers, not by its address. A mirror of Debian may be under any
path, and a file with a list of mirrors (`mirror+file:`, as in Debian's cloud images) is followed. That does not tell
Debian's archive from a vendor's with suites of the same names, so mirrors are tried in turn and signatures are checked
by the caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

APT: Final = Path("/etc/apt")
DEBIAN_KEYS: Final = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SUITES: Final = frozenset(
    ["oldstable", "stable", "testing", "unstable", "sid", "buster", "bullseye", "bookworm", "trixie", "forky", "duke"]
)
"""The names under which Debian's main archive has a whole distribution. One of security updates is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One apt source of binary packages."""

    uris: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]
    signed_by: str = ""
    """A file of keys, a fingerprint or a whole key, as the source has it; empty if it names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror:
    """A place to fetch Debian from."""

    uri: str
    signed_by: str = ""


DEBIAN: Final = Mirror(uri="http://deb.debian.org/debian", signed_by=str(DEBIAN_KEYS))


def parse(text: str) -> Iterator[Source]:
    """The enabled sources of binary packages in a file of apt's, in its one-line style or in deb822's.

    >>> [source.uris for source in parse("deb [arch=amd64] http://mirror.example/debian bookworm main")]
    [('http://mirror.example/debian',)]
    """
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in lines:
        if one := re.fullmatch(r"\s*deb\s+(?:\[([^]]*)\]\s*)?([^\s\[]+)\s+(\S+)\s*([^#]*)(?:#.*)?", line):
            options, uri, suite, components = one.groups()
            keys = re.search(r"(?:^|\s)signed-by\s*=\s*(\S+)", options or "", re.IGNORECASE)
            yield Source(
                uris=(uri,),
                suites=(suite,),
                components=tuple(components.split()),
                signed_by=keys[1] if keys else "",
            )
    for stanza in re.split(r"\n[ \t]*\n", "\n".join(lines)):
        # A field goes on in lines that begin with a space.
        pairs = re.findall(r"^([A-Za-z][\w-]*):((?:.*)(?:\n[ \t].*)*)", stanza, re.MULTILINE)
        fields = {name.lower(): value.strip() for name, value in pairs}
        enabled = fields.get("enabled", "yes").lower() not in ("no", "false", "without", "off", "disable", "0")
        if enabled and "deb" in fields.get("types", "").split():
            yield Source(
                uris=tuple(fields.get("uris", "").split()),
                suites=tuple(fields.get("suites", "").split()),
                components=tuple(fields.get("components", "").split()),
                signed_by=fields.get("signed-by", ""),
            )


def machine_sources(apt: Path = APT) -> Iterator[Source]:
    """The sources in this machine's apt configuration. A file that cannot be read is left out."""
    for path in [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]:
        if path.suffix in (".list", ".sources"):
            yield from parse(_text(path))


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _addresses(uri: str, read: Callable[[Path], str]) -> Iterator[str]:
    """The mirrors behind a URI: itself, or those of the list that it names. What needs no network has none."""
    scheme, _, rest = uri.partition(":")
    if scheme in ("http", "https"):
        yield uri
    elif scheme == "mirror+file":
        # A line is an address, and after a tab what apt should know about it.
        for line in read(Path("/" + rest.lstrip("/"))).splitlines():
            if address := line.partition("#")[0].split():
                yield from _addresses(address[0], lambda path: "")


def mirrors(sources: Iterable[Source] | None = None, read: Callable[[Path], str] = _text) -> list[Mirror]:
    """Where to fetch Debian from, in the order to try: this machine's mirrors, Debian's own at last.

    Of the machine's, those signed with Debian's keys come before those with a key of their own.
    """
    found = []
    for source in machine_sources() if sources is None else sources:
        if "main" in source.components and SUITES & set(source.suites):
            for uri in source.uris:
                found += [Mirror(uri=address, signed_by=source.signed_by) for address in _addresses(uri, read)]
    found.sort(key=lambda mirror: bool(mirror.signed_by) and "debian-archive" not in mirror.signed_by)
    seen: dict[str, Mirror] = {}
    for mirror in [*found, DEBIAN]:
        seen.setdefault(mirror.uri.rstrip("/"), mirror)
    return list(seen.values())


def stanza(mirror: Mirror, suite: str) -> str:
    """An apt source, in deb822's style, for a suite of Debian from this mirror, with the keys that its source names."""
    lines = ["Types: deb", f"URIs: {mirror.uri}", f"Suites: {suite}", "Components: main"]
    if mirror.signed_by:
        # A whole key takes several lines, which begin below the field's name.
        lines.append(f"Signed-By:{' ' if len(mirror.signed_by.splitlines()) == 1 else chr(10) + ' '}{mirror.signed_by}")
    return "\n".join(lines) + "\n"


def keyring(mirror: Mirror) -> Path:
    """The file of keys that signatures of this mirror are checked with: its own if it names one, else Debian's."""
    named = mirror.signed_by.split()
    own = Path(named[0]) if named else DEBIAN_KEYS
    return own if own.suffix == ".gpg" and own.is_file() else DEBIAN_KEYS
