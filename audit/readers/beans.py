"""Spring's beans in XML (Blueprint's too): producers of Kafka's, and factories of spring-kafka's.

`DefaultKafkaProducerFactory` and `KafkaProducer` are made with a map: inside the bean, or in one that it refers to
(`<util:map id=…>`, `<bean id=… class="java.util.HashMap">`). Keys are literal, or constants of ProducerConfig. Values
may have placeholders: they are looked up in the .properties that the file names, which then configure no producer of
their own (`location="classpath:kafka.properties"`). What is made without a map that can be seen is told as unknown.

XML is parsed by expat. A document that declares entities is refused: they multiply, and may name files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

from audit.model import Setting
from audit.readers.collect import Collected
from audit.readers.format import Document, Format
from audit.readers.names import java_constants, producer_keys
from audit.readers.properties import named_properties
from audit.readers.text import Text, Unreadable

MAKES: Final = re.compile(r"\bclass=\"[\w.]*\b(?:DefaultKafkaProducerFactory|clients\.producer\.KafkaProducer)\"")
FACTORY: Final = re.compile(r"(?:^|\.)(?:DefaultKafkaProducerFactory|clients\.producer\.KafkaProducer)$")
MAPS: Final = frozenset({"map", "props", "properties"})
ENTRIES: Final = frozenset({"entry", "prop"})
DECISIVE: Final = ("acks", "enable.idempotence", "retries")
UNKNOWN: Final = "(not in this file)"
MOST: Final = 20_000
"""How many elements one file may have."""
TESTS: Final = re.compile(r"(?:^|/)src/(?:test|it|integrationTest)/")


@dataclass(slots=True)
class _Element:
    """An element: its name without a prefix, its attributes, its line, and what is in it."""

    name: str
    given: Mapping[str, str]
    line: int
    inside: list[_Element] = field(default_factory=list)
    text: str = ""

    def every(self) -> Iterator[_Element]:
        """It, and every element in it, in the order of the file."""
        todo = [self]
        while todo:
            each = todo.pop()
            yield each
            todo += reversed(each.inside)


def _parsed(source: Text) -> _Element:
    """The elements of a file. Raises Unreadable if it is no XML, or more than that."""
    top = _Element("", {}, 1)
    opened = [top]
    count = 0
    parser = expat.ParserCreate()

    def start(name: str, given: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MOST:
            raise Unreadable("too many elements", parser.CurrentLineNumber)
        element = _Element(name.rpartition(":")[2], given, parser.CurrentLineNumber)
        opened[-1].inside.append(element)
        opened.append(element)

    def text(content: str) -> None:
        opened[-1].text += content

    def refuse(*_: object) -> None:
        raise Unreadable("it declares entities", parser.CurrentLineNumber)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: opened.pop()
    parser.CharacterDataHandler = text
    parser.EntityDeclHandler = refuse
    parser.buffer_text = True
    try:
        parser.Parse(source.content, True)
    except expat.ExpatError as error:
        raise Unreadable("not XML", error.lineno) from None
    return top


def _key(entry: _Element) -> str:
    """The producer's key that an entry of a map sets; empty if it sets another one."""
    inside = [one for each in entry.inside if each.name == "key" for one in each.every()]
    written = [entry.given.get("key", ""), *(one.given.get("static-field") or one.text.strip() for one in inside)]
    name = next((each for each in written if each), "")
    if found := re.search(r"ProducerConfig\)?\.(\w+)", name):
        return java_constants().get(found[1], "")
    return name if name in producer_keys() else ""


def _entry(source: Text, entry: _Element) -> Setting | None:
    """The setting that an entry of a map is."""
    key = _key(entry)
    told = next((each.text.strip() for each in (entry, *entry.inside) if each.name in ("prop", "value")), None)
    value = entry.given.get("value", told)
    known = value is not None and not value.startswith("#{")
    return Setting(key, str(value) if known else UNKNOWN, source.origin(entry.line), known=known) if key else None


def _maps(bean: _Element, named: Mapping[str, _Element]) -> list[_Element]:
    """The maps that a bean is made with: inside it, else in what it refers to."""
    todo, seen, found = [bean], set[str](), list[_Element]()
    while todo:
        each = todo.pop()
        inside = [one for one in each.every() if one.name in MAPS and any(e.name in ENTRIES for e in one.inside)]
        if inside:
            found += inside
            continue
        for one in each.every():
            names = [one.given.get("ref"), one.given.get("bean") if one.name == "ref" else None]
            for name in names:
                if name and name not in seen and name in named:
                    seen.add(name)
                    todo.append(named[name])
    return found


def _files(source: Text, top: _Element, reading: Collected) -> dict[str, str]:
    """What the .properties say that a file fills its placeholders from."""
    named = [each for each in top.every() if each.name in ("property-placeholder", "property", "value")]
    files = named_properties(source, [text for each in named for text in (*each.given.values(), each.text)])
    reading.fillings |= files.keys()
    return {key: value for told in files.values() for key, value in told.items()}


def _read(document: Document, reading: Collected) -> bool:
    """Add the producer of each factory."""
    source = document.source
    if MAKES.search(source.content) is None or TESTS.search(source.path):
        return True
    top = _parsed(source)
    named = {each.given["id"]: each for each in top.every() if "id" in each.given}
    said = _files(source, top, reading)
    outside = reading.look_up()
    for bean in top.every():
        if FACTORY.search(bean.given.get("class", "")) is None:
            continue
        maps = _maps(bean, named)
        settings = [one for each in maps for e in each.inside if (one := _entry(source, e)) is not None]
        origin = source.origin(bean.line)
        if not maps:
            settings = [Setting(key, UNKNOWN, origin, known=False) for key in DECISIVE]
        reading.producer(
            bean.given.get("id") or source.file,
            settings,
            origin,
            client="java",
            framework="source",
            style="spring",
            look_up=lambda name: outside(name) if outside(name) is not None else said.get(name),
            topics=_topics(bean, top),
        )
    return True


def _topics(bean: _Element, top: _Element) -> list[str]:
    """The topic that the templates of a factory send to where they are told none."""
    name = bean.given.get("id")
    templates = [
        each
        for each in top.every()
        if each.given.get("class", "").endswith("KafkaTemplate")
        and any(one is bean or name in (one.given.get("ref"), one.given.get("bean")) for one in each.every())
    ]
    told = [
        one.given.get("value", "")
        for each in templates
        for one in each.inside
        if one.name == "property" and one.given.get("name") == "defaultTopic"
    ]
    return [each for each in told if re.fullmatch(r"[\w.-]+", each)] if len(told) == len(templates) else []


FORMATS: Final = (
    Format(
        name="Spring's beans in XML",
        reads="`DefaultKafkaProducerFactory` and `KafkaProducer`, with the maps that they are made with",
        files=("*.xml",),
        rank=59,
        whole=True,
        claims=lambda document: document.file.endswith(".xml"),
        read=_read,
    ),
)
