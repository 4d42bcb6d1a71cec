"""What a program puts into the producers of a framework: customizers of Spring Boot's and of Spring Cloud Stream's,
and templates that set more than their factory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from audit.model import Setting
from audit.readers.collect import Collected
from audit.readers.source.bound import is_foreign
from audit.readers.source.nodes import DECISIVE, MERGES, SPRING, UNKNOWN, Made, Maker, SourceWalk
from audit.readers.source.outside import made_unknown

CUSTOMIZERS: Final[Mapping[str, str]] = {
    "ProducerConfigCustomizer": "spring-cloud-stream",
    "ClientFactoryCustomizer": "spring-cloud-stream",
    "DefaultKafkaProducerFactoryCustomizer": "spring",
}
"""Beans that change what a framework makes its producers with."""


def add_customized(found: SourceWalk, reading: Collected) -> None:
    """Add what customizers of a file put into the producers of a framework."""
    for name, framework in CUSTOMIZERS.items():
        if not re.search(rf"\b{name}\b", found.source.content):
            continue
        inherits = re.search(rf"\b(?:implements|extends|:)\s[^{{]{{0,400}}\b{name}\b", found.source.content) is not None
        for scope, text in found.scopes.items():
            function, _, start = scope.partition("@")
            own = re.search(rf"\b{name}\b", text) or (inherits and function in ("configure", "customize"))
            if own and start.isdecimal():  # not one of another class's
                _customizes(framework, scope, range(int(start), int(start) + len(text.encode())), found, reading)


def _customizes(framework: str, scope: str, within: range, found: SourceWalk, reading: Collected) -> None:
    """Add what one method puts into a framework's producers, if it puts anything."""
    source, text = found.source, found.scopes[scope]
    pairs = [each for each in found.pairs if each.start in within]
    line = source.content.encode()[: within.start].count(b"\n") + 1
    settings = [
        Setting(each.key, each.value.text, source.origin(each.line), known=each.value.known and each.sure)
        for each in pairs
    ]
    if not pairs and not re.search(r"\.updateConfigs\(|\bputAll\(", text):
        return
    if any(is_foreign(each, found) for each in MERGES.finditer(text)) or not pairs:
        settings = [made_unknown(each, "a customizer puts it") for each in settings]
        named = {each.key for each in settings}
        settings += [Setting(key, UNKNOWN, source.origin(line), known=False) for key in DECISIVE if key not in named]
    before = len(reading.producers)
    reading.producer(source.file, settings, source.origin(line), client="java", framework=framework, style="none")
    producer = reading.producers.pop(before)
    reading.made.append(Made(producer, "customizer", fresh=False, loads=False, followed=True))


TEMPLATE: Final = re.compile(r"\bnew\s+KafkaTemplate\b|(?<![\w<.])KafkaTemplate(?:<[^<>()]*>)?\(")


def add_overrides(maker: Maker, found: SourceWalk, reading: Collected) -> None:
    """Add what a template of Spring's sets above its factory, as a customizer of what Boot makes. Where the file makes
    several templates it is not known of which.
    """
    source = found.source
    pairs = [each for each in found.pairs if maker.start <= each.start < maker.end or each.owner in maker.names]
    if not pairs or any(each.kind in SPRING for each in found.makers):
        return
    alone = len(TEMPLATE.findall(source.content)) == 1
    settings = [
        Setting(each.key, each.value.text, source.origin(each.line), known=each.value.known and each.sure and alone)
        for each in pairs
    ]
    before = len(reading.producers)
    reading.producer(source.file, settings, source.origin(maker.line), client="java", framework="spring", style="none")
    producer = reading.producers.pop(before)
    reading.made.append(Made(producer, "customizer", fresh=False, loads=False, followed=True))
