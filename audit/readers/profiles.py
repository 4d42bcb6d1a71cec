"""Profiles of an application's configuration, of Spring Boot's and Quarkus': which documents are in force, in which
order.

A later document overrides an earlier one, and a profile's own file everything without a profile, of several profiles
the last named; beside each other, application.properties overrides application.yml (Spring Boot's "External Application
Properties"). A document may be tied to profiles by an expression: `prod & !eu`, `prod | staging`, or before 2.4 a list.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from audit.model import Setting
from audit.readers.collect import Page
from audit.readers.names import latest

ON_PROFILE: Final = ("spring.config.activate.on-profile", "spring.config.activate.onProfile")
OLD: Final = "spring.profiles"
ACTIVE: Final = ("spring.profiles.active", "spring.profiles.include", "quarkus.profile")
DEFAULT: Final = "spring.profiles.default"
LONGEST: Final = 200
"""Words of the longest expression that is read."""
WORD: Final = re.compile(r"\s*([!&|(),]|[^\s!&|(),]+)")


def holds(expression: str, active: Collection[str]) -> bool:
    """Whether a profile expression holds; "default" is active if no other profile is. A list is an "or".

    >>> holds("prod & !eu", {"prod"}), holds("a | (b & c)", {"b"}), holds("!prod", set()), holds("default", [])
    (True, False, True, True)
    """
    words = WORD.findall(expression)
    if len(words) > LONGEST:
        return False
    present = set(active) or {"default"}
    at = 0

    def either() -> bool:
        nonlocal at
        value = both()
        while at < len(words) and words[at] in ("|", ","):
            at += 1
            value = both() or value
        return value

    def both() -> bool:
        nonlocal at
        value = one()
        while at < len(words) and words[at] == "&":
            at += 1
            value = one() and value
        return value

    def one() -> bool:
        nonlocal at
        negated = False
        while at < len(words) and words[at] == "!":
            negated, at = not negated, at + 1
        if at >= len(words):
            return negated
        word, at = words[at], at + 1
        if word == "(":
            value = either()
            at += at < len(words) and words[at] == ")"
        else:
            value = word in present
        return value != negated

    return either() if words else True


def condition(page: Page) -> str:
    """The expression that a document is tied to; empty if it always counts."""
    by_key = {setting.key: setting.value for setting in page.settings}
    return next((by_key[key] for key in (*ON_PROFILE, OLD) if key in by_key), "")


def mentioned(pages: Iterable[Page]) -> list[str]:
    """Every profile that has a file or a document of its own, in the order in which they come."""
    found: dict[str, None] = {}
    for page in pages:
        if page.profile:
            found[page.profile] = None
        for setting in page.settings:
            if quarkus := re.match(r'"?%([^.]+?)"?\.', setting.key):
                found |= dict.fromkeys(quarkus[1].split(","))
        for word in WORD.findall(condition(page)):
            if word not in "!&|()," and word != "default":
                found[word] = None
    return list(found)


def set_active(pages: Sequence[Page]) -> list[str]:
    """The profiles that the configuration itself makes active."""
    base = latest(setting for page in pages if not page.profile and not condition(page) for setting in page.settings)
    keys = ACTIVE if ACTIVE[0] in base else (DEFAULT, *ACTIVE)  # where no profile is made active
    names = [name.strip() for key in keys if key in base for name in base[key].value.split(",")]
    return [name for name in dict.fromkeys(names) if name and "$" not in name]


def with_groups(active: Sequence[str], pages: Sequence[Page]) -> list[str]:
    """Active profiles, and after each those of its group (spring.profiles.group.<name>)."""
    base = latest(setting for page in pages for setting in page.settings)
    found: dict[str, None] = {}

    def add(name: str) -> None:
        if name in found:
            return
        found[name] = None
        group = base.get(f"spring.profiles.group.{name}")
        for member in group.value.split(",") if group is not None and len(found) < LONGEST else ():
            add(member.strip())

    for name in active:
        add(name)
    return list(found)


def in_force(pages: Sequence[Page], active: Sequence[str]) -> list[Setting]:
    """The settings in force with these profiles; what overrides comes later. Quarkus' `%prod.` is taken off."""
    ordered = [page for page in pages if not page.profile]
    ordered += [page for name in active for page in pages if page.profile == name]
    found: list[Setting] = []
    own: list[Setting] = []
    for page in ordered:
        if (tied := condition(page)) and not holds(tied, active):
            continue
        for setting in page.settings:
            quarkus = re.match(r'"?%([^.]+?)"?\.(.+)', setting.key)
            if quarkus is None:
                found.append(setting)
            elif set(quarkus[1].split(",")) & set(active):
                own.append(_renamed(setting, quarkus[2]))
    return list(latest([*found, *own]).values())


def _renamed(setting: Setting, key: str) -> Setting:
    return Setting(key, setting.value, setting.origin, setting.written, setting.known, setting.note)
