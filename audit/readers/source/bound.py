"""What the map or the configuration of a producer is bound to, and which functions of the file fill it."""

from __future__ import annotations

import re
from typing import Final

from audit.readers.source.nodes import MAPS, OF_SARAMA, Maker, SourceWalk, given_name


def makers_of_config(maker: Maker, found: SourceWalk) -> frozenset[str]:
    """The functions that the configuration of a producer of sarama's is what they return."""
    name = config_name(maker) if maker.kind in OF_SARAMA else ""
    if not re.fullmatch(r"\w+", name):
        return frozenset()
    body = found.scopes.get(maker.scope, "")
    return frozenset(re.findall(rf"(?<![\w.]){name}\b(?:\s*,\s*\w+)?\s*:?=\s*(?:\w+\.)?(\w+)\(", body))


MAKE_CONFIG: Final = (
    "sarama.NewConfig(",
    "sarama.Config{",
    "DefaultSaramaSyncPublisherConfig(",
    "kafkapubsub.MinimalConfig(",
    "goka.DefaultConfig(",
)
"""How a configuration of sarama's is made."""
WATERMILLS: Final = "DefaultSaramaSyncPublisherConfig("
"""What Watermill makes its configuration with where it is given none."""


def config_name(maker: Maker) -> str:
    """What the configuration of a maker is called: its last argument, or a field; empty if it is no name."""
    if maker.kind == "watermill":
        given = re.search(r"\bOverwriteSaramaConfig:\s*&?([\w.]+)(?![\w.(])", maker.text)
        return given[1] if given else ""
    if maker.kind == "goka":
        given = re.search(r"(?:ProducerBuilderWithConfig|ReplaceGlobalConfig)\(\s*([\w.]+)\s*\)", maker.text)
        return given[1] if given else "nil"
    if maker.kind == "gocloud":
        given = re.search(r"OpenTopic\(\s*[^,]+,\s*([\w.]+)\s*,", maker.text)
        return given[1] if given else ""
    told = re.search(r"(?:,|\()\s*&?\*?([\w.]+)\s*,?\s*\)$", maker.text)
    return told[1] if told else ""


def is_foreign(merge: re.Match[str], found: SourceWalk) -> bool:
    """Whether the map that is put into another one is not filled in the file."""
    return merge[2] not in (found.fillers if merge[3] else found.owners)


FRESH: Final = re.compile(
    r"(?:new\s+)?(?:\w+\.)*(?:(?:Properties|\w*Map)\s*(?:<[^()]*>|\[[^()]*\])?\s*(?:\(\s*\d*\s*\)|$|\{)"
    r"|(?:[Mm]utableMapOf|mapOf|hashMapOf|linkedMapOf|buildMap|Map|ImmutableMap|Collections)\b[\s.(\[])"
)
"""A map that is made on the spot."""
COPIED: Final = re.compile(
    r"new\s+(?:\w+\.)*(?:Properties|\w*Map)\s*(?:<[^()]*>)?\s*\(\s*(?!\d|Map\.of|ImmutableMap)\w"
)
"""A map that is made of another one."""


def bound_values(maker: Maker, found: SourceWalk) -> list[str]:
    """What the map of a producer is bound to: in its function, or else anywhere in the file."""
    name = given_name(maker)
    if not name or maker.kind not in MAPS:
        return []
    bound = re.compile(rf"(?<![\w.])(?:this\.)?{re.escape(name)}\s*(?::\s*[\w<>\[\], .?]+)?=(?!=)\s*([^;\n]+)")
    return bound.findall(found.scopes.get(maker.scope, "")) or bound.findall(found.source.content)


def filled_here(value: str, found: SourceWalk) -> set[str]:
    """The functions and maps of a file that an expression has its settings of."""
    own = {each for each in re.findall(r"(?<![\w.])(?:this\.)?(\w+)", value) if each in found.owners | found.fillers}
    built = {f"new {owner}" for owner, _ in OF_BUILDER.findall(value)} & found.classes
    return own | built | {each.partition(".")[2] for each in OF_CLASS.findall(value) if each in found.classes}


OF_CLASS: Final = re.compile(r"(?<![\w.])([A-Z]\w*\.\w+)(?=\()")
"""A function of another class's, which is called."""
OF_BUILDER: Final = re.compile(
    r"\bnew\s+(?!KafkaProducer\b|Properties\b|\w*Map\b)([A-Z]\w*)\((?:[^()]|\([^()]*\)){0,400}\)"
    r"((?:\s*\.\s*\w+\((?:[^()]|\([^()]*\)){0,400}\)){1,20})"
)
"""A map that a class of the program's builds: `new Settings().forProducer(servers).build()`."""
