"""Which settings of a source a producer has: those in its arguments, in its map, and in the functions that fill it.

Settings that another producer of the function takes are left out. KafkaJS gives acks with the records: those that are
sent with the producer's own name count.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from audit.readers.source.bound import bound_values, filled_here, makers_of_config
from audit.readers.source.nodes import OF_SARAMA, PLATFORMATIC, SPREAD, Maker, Pair, SourceWalk, assigned_to, calling
from audit.readers.source.settings import OF_KAFKAFLOW


def selected_pairs(maker: Maker, found: SourceWalk) -> list[Pair]:
    """The settings that a producer is made with."""
    inside = [each for each in found.pairs if maker.start <= each.start < maker.end and each.other is None]
    if maker.kind in ("cap", "aspire", "wolverine"):
        return inside
    if maker.kind == "kafkaflow":
        named = [each for each in found.pairs if each.owner in maker.names and each not in inside]
        return [each for each in (*named, *inside) if each.key != "acks" or each.owner == OF_KAFKAFLOW]
    if maker.kind == "watermill" and "OverwriteSaramaConfig" not in maker.text:
        return []
    copied = {name for value in (*bound_values(maker, found), maker.text) for name in filled_here(value, found)}
    maker = replace(maker, names=maker.names | copied | makers_of_config(maker, found))
    names = maker.names
    if maker.kind in OF_SARAMA:
        names = calling(names - {maker.scope.partition("@")[0]}, found.scopes)
    called = {scope for scope in found.scopes if scope.partition("@")[0] in names and scope != maker.scope}
    within = set(inside)
    own = [each for each in found.pairs if each.scope == maker.scope and each not in within and each.scope]
    mine = [each for each in own if each.owner in maker.names]
    mine = [] if maker.kind == "franz-go" else mine  # its options are not put into a map
    own = (
        mine
        if maker.kind in ("watermill", "gocloud", "goka")
        else mine or _without_anothers([each for each in own if each.value.text != SPREAD], maker, found)
    )
    shared = [
        each
        for each in found.pairs
        if (each.scope != maker.scope or not maker.scope) and each.owner in maker.names and each.owner
    ]
    local = {each for each in maker.names if _is_local(each, found.scopes.get(maker.scope, ""))}
    shared = [each for each in shared if each not in within and not _is_anothers_local(each, local, found)]
    if maker.kind == "masstransit":
        rider = OF_RIDER.findall(found.source.content)
        return [*(each for each in found.pairs if each.owner in rider and each not in inside), *inside]
    if maker.kind == "spark":
        asked = set(OPTIONS_OF_SPARK.findall(maker.text))
        named = [each for each in found.pairs if each.owner in asked or each.scope.partition("@")[0] in asked]
        return [*(each for each in named if each not in inside), *inside]
    if maker.kind == "beam":
        given = re.search(r"withProducerConfigUpdates\(\s*(\w+)\s*\)", maker.text)
        return [each for each in found.pairs if given and each.owner == given[1]] + inside
    known = set(shared)
    shared += [each for each in found.pairs if each.scope in called and each not in known]
    if maker.kind in ("kafkajs", PLATFORMATIC):
        shared += _at_sends(maker, found)
    if maker.kind in ("sarama", "franz-go") and not own:
        shared = [each for each in found.pairs if each not in within]
    within.update(own)
    # What another function puts is there before the producer's own changes it, wherever it stands in the file.
    return sorted([*shared, *own, *inside], key=lambda one: (one in within, one.start))


OF_RIDER: Final = re.compile(r"\.UsingKafka\(\s*\(\s*\w+\s*,\s*(\w+)\s*\)\s*=>")
"""What a rider of MassTransit's calls its configuration: it is every producer's."""
OPTIONS_OF_SPARK: Final = re.compile(r"\.options\(\s*(?:this\.)?([a-zA-Z_]\w*)\b")
"""What a sink of Spark's is given its options by: a map, or a function that returns one."""


@lru_cache(maxsize=8_192)
def _is_local(name: str, body: str) -> bool:
    """Whether a function declares a variable of its own."""
    declared = rf"(?:[\w>\]]\s+|^\s*){re.escape(name)}\s*(?::[^=\n]{{0,200}})?:?=(?!=)"
    found = re.search(declared, body, re.MULTILINE)
    return found is not None and not found[0].lstrip().startswith((f"{name} =", f"{name}="))


def _is_anothers_local(pair: Pair, local: Collection[str], found: SourceWalk) -> bool:
    """Whether a setting is put into a variable of another function, of which the maker's own has one of that name."""
    return pair.owner in local and bool(pair.scope) and _is_local(pair.owner, found.scopes.get(pair.scope, ""))


def beside_maker(pair: Pair, maker: Maker) -> Pair:
    """A setting, sure if it stands in the branch that the producer is made in: `if (!producer) { … }`."""
    inside = pair.branch is not None and pair.branch[0] <= maker.start < pair.branch[1] and pair.other is None
    return replace(pair, sure=True) if inside and not pair.sure else pair


def _at_sends(maker: Maker, found: SourceWalk) -> list[Pair]:
    """What KafkaJS' sends ask for: acks is given with the records, not with the producer. Of several producers of a
    file each has what is sent with its own name.
    """
    own, others = assigned_to(maker, found), found.assigned
    asked = [each for each in found.pairs if each.key == "acks" and each.value.text != SPREAD]
    if own and len(others) > 1:
        by = {each: _sender(each, found) for each in asked}
        asked = [each for each in asked if by[each] == own or by[each] not in others]
    return asked if len({each.value for each in asked}) == 1 else [replace(each, sure=False) for each in asked]


def _sender(pair: Pair, found: SourceWalk) -> str:
    """What a script sends with, where a setting is given with the records; empty if nothing is seen to."""
    at = bisect_right(found.sends, pair.start, key=lambda one: one[0])
    return found.sends[at - 1][1] if at else ""


def _without_anothers(pairs: Sequence[Pair], maker: Maker, found: SourceWalk) -> list[Pair]:
    """Settings without those in a map that another producer of the same function takes, or in its arguments."""
    if not pairs:
        return []
    others = [each for each in found.makers if each.start != maker.start]
    names = frozenset[str]().union(*(each.names for each in others))
    spans = _joined(sorted((each.start, each.end) for each in others if not each.start <= maker.start < each.end))

    def in_arguments(pair: Pair) -> bool:
        at = bisect_right(spans, pair.start, key=lambda span: span[0])
        return pair.other is None and at > 0 and pair.start < spans[at - 1][1]

    return [each for each in pairs if each.owner not in names and not in_arguments(each)]


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, those that overlap as one.

    >>> _joined([(0, 4), (1, 2), (3, 6), (8, 9)])
    [(0, 6), (8, 9)]
    """
    found: list[tuple[int, int]] = []
    for begin, end in spans:
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found
