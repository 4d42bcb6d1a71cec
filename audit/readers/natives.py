r"""Producers of librdkafka's in C, C++, PHP and Ruby, and in Clojure, of which no grammar is installed: searched, not
parsed.

| language | how a setting is told | how a producer is |
|---|---|---|
| C | `rd_kafka_conf_set(conf, "acks", "1", …)` | `rd_kafka_new(RD_KAFKA_PRODUCER, conf, …)` |
| C++ | `conf->set("acks", "1", errstr)` | `RdKafka::Producer::create(conf, …)` |
| C++, cppkafka and modern-cpp-kafka | `{"acks", "1"}` | `Producer producer(config)`, `make_unique<Producer>(config)` |
| PHP | `$conf->set('acks', '1')` | `new RdKafka\Producer($conf)` |
| Ruby | `'acks': 1`, `"acks" => 1` | `WaterDrop::Producer.new`, `Rdkafka::Config`, a `Karafka::App` that sends |
| Clojure | `"acks" "1"` | `(KafkaProducer. config)`, `(jackdaw.client/producer config …)`: the Java client |

ruby-kafka, which is no librdkafka, is told by `producer(required_acks: 1, …)` of a client of its own.

Literal keys and values count. A value that is an expression, or that two places say differently, is told as unknown.
Where several maps are filled, the one counts that is handed to the producer. If it is not made in the file, or is
filled with keys that are expressions, what it does not set is unknown. Administrators of C and C++ are handles of this
kind too: a file tells a producer if it sends, asks for reports of delivery, or sets what decides over records. Comments
are blanked first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from audit.model import Client, Origin, Setting
from audit.readers import calls, laravel
from audit.readers.asked import asked_of
from audit.readers.collect import Collected, preset
from audit.readers.format import YAML, Document, Format
from audit.readers.names import producer_keys
from audit.readers.scripts import arguments_of
from audit.readers.text import Text
from audit.readers.tree import Table, flatten
from audit.readers.walk import LARGEST

UNKNOWN: Final = "(an expression)"
MOST: Final = 50
"""How many places of one file that make a producer are looked at."""


@dataclass(frozen=True, slots=True)
class _Language:
    files: tuple[str, ...]
    comments: re.Pattern[str]
    puts: re.Pattern[str]
    """(the map, the key, the value) of a setting."""
    makes: re.Pattern[str]
    """The map that a producer is made with, or nothing."""
    fresh: str = ""
    """How a map is made, after its name."""
    dynamic: str = ""
    """How a map is given a key that is an expression, with its name at %s."""
    sends: str = ""
    """What a file has that sends; empty if each producer does."""
    speaks: str = ""
    """What a file has that is of this kind, where another kind has files of the same name."""
    client: Client = "librdkafka"


SLASHES: Final = re.compile(r"(\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')|//[^\n]*|/\*.*?\*/", re.DOTALL)
PHP_COMMENTS: Final = re.compile(SLASHES.pattern + r"|(?<![\w$'\"])#(?!\[)[^\n]*", re.DOTALL)
SEMICOLONS: Final = re.compile(r"(\"(?:[^\"\\]|\\.)*\")|;[^\n]*")
HASHES: Final = re.compile(r"(\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')|#[^\n]*")
ARGUMENT: Final = r"((?:[^(),\"']|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|\([^()]*\)){1,200}?)"
LANGUAGES: Final = (
    _Language(
        ("*.c", "*.h"),
        SLASHES,
        re.compile(rf"\brd_kafka_(?:topic_)?conf_set\s*\(\s*&?([\w.>-]+)\s*,\s*\"([\w.]+)\"\s*,\s*{ARGUMENT}\s*,"),
        re.compile(r"\brd_kafka_new\s*\(\s*RD_KAFKA_PRODUCER\s*,\s*&?([\w.>-]+)"),
        r"\s*=\s*rd_kafka_conf_new\b",
        r"\brd_kafka_conf_set\s*\(\s*&?%s\s*,\s*[^\s\"]",
        r"\brd_kafka_produce|\brd_kafka_begin_transaction|\brd_kafka_conf_set_dr_(?:msg_)?cb",
    ),
    _Language(
        ("*.cpp", "*.cc", "*.cxx", "*.hpp"),
        SLASHES,
        re.compile(rf"()(?:\{{\s*|\b\w+\s*(?:->|\.)\s*(?:set|put)\s*\(\s*)\"([\w.]+)\"\s*,\s*\{{?{ARGUMENT}\s*[}})]"),
        re.compile(
            r"\b(?:cppkafka::|kafka::clients::|producer::)*(?:Kafka|Buffered)?Producer(?:<[\w:, ]+>)?"
            r"(?:>\s*|\s+\w+\s*)[({]\s*(\w+)\s*[,)}]"
        ),
        speaks=r"\bcppkafka\b|kafka::clients|<kafka/Kafka",
    ),
    _Language(
        ("*.cpp", "*.cc", "*.cxx", "*.hpp"),
        SLASHES,
        re.compile(rf"\b(\w+)\s*(?:->|\.)\s*set\s*\(\s*\"([\w.]+)\"\s*,\s*{ARGUMENT}\s*,"),
        re.compile(r"\bProducer::create\s*\(\s*(\w+)"),
        r"\s*(?:[=({]|\.reset\()\s*(?:\w+::)*Conf::create\b",
        r"\b%s\s*(?:->|\.)\s*set\s*\(\s*[^\s\"]",
        r"(?:->|\.)\s*produce\s*\(",
    ),
    _Language(
        ("*.php",),
        PHP_COMMENTS,
        re.compile(rf"\$(?:this->)?(\w+)\s*->\s*set\s*\(\s*['\"]([\w.]+)['\"]\s*,\s*{ARGUMENT}\s*\)"),
        re.compile(r"\bnew\s+\\?(?:RdKafka\\|SimpleKafkaClient\\)?Producer\s*\(\s*\$?(?:this->)?(\w*)"),
        r"\s*=\s*new\s+\\?(?:RdKafka\\|SimpleKafkaClient\\)?Conf(?:iguration)?\b",
        r"\$(?:this->)?%s\s*->\s*set\s*\(\s*[^\s'\"]",
    ),
    _Language(
        ("*.clj", "*.cljc"),
        SEMICOLONS,
        re.compile(r"()\"([\w.]+)\"\s+(\"[^\"\n]*\"|-?\d+|true|false|\([^()]*\)|[\w./*-]+)"),
        re.compile(r"\((?:[\w.-]+/)?(?:KafkaProducer\.|producer)\s+(\w[\w-]*)?"),
        speaks=r"jackdaw\.client|clients\.producer",
        client="java",
    ),
    _Language(
        ("*.rb",),
        HASHES,
        re.compile(rf"()(?:['\"]([\w.]+)['\"]\s*(?::|=>))\s*{ARGUMENT}\s*(?=[,\n}}])"),
        re.compile(
            r"\bWaterDrop::Producer\.new()|\bRdkafka::Config\.new\b(?=(?:.|\n){0,2000}\.producer\b)()"
            r"|<\s*Karafka::App\b()"
        ),
    ),
)
ALIAS: Final = re.compile(r"(?m)^\s*use\s+\\?RdKafka\\Producer\s+as\s+(\w+)\s*;")
"""In PHP: the name that a file has for the class."""
ASKS: Final = re.compile(r"->\s*(?:getMetadata|queryWatermarkOffsets|offsetsForTimes)\s*\(")
"""In PHP: what a handle is asked; one that only asks sends nothing."""
MARKS: Final = re.compile(
    r"rd_kafka_new|RdKafka|SimpleKafkaClient|WaterDrop|Rdkafka|Karafka::App|cppkafka|kafka::clients|<kafka/Kafka"
    r"|producer\b|KafkaProducer|Junges\\Kafka|longlang\\phpkafka"
)
TESTS: Final = re.compile(r"(?:^|/)(?:tests?|spec|examples?/tests?)/|(?:_spec|_test)\.\w+$|Test\.php$")


def _language(file: str, content: str = "") -> _Language | None:
    end = "*." + file.rpartition(".")[2]
    return next(
        (
            one
            for one in LANGUAGES
            if end in one.files and (not one.speaks or re.search(one.speaks, content) is not None)
        ),
        None,
    )


def _value(text: str) -> str | None:
    """What a literal is, or what is asked of the environment; None if it is another expression.

    >>> _value("'1'"), _value("-1"), _value("acks.c_str()"), _value("env('ACKS', 'all')")
    ('1', '-1', None, '${ACKS:all}')
    """
    text = text.strip()
    if found := re.fullmatch(r"\"((?:[^\"\\])*)\"|'([^'\\]*)'|(-?\d+|true|false)", text):
        literal = next(each for each in found.groups() if each is not None)
        return None if "#{" in literal or ("$" in literal and text.startswith('"')) else literal
    return asked_of(text)


def _settings(source: Text, pairs: Sequence[re.Match[str]]) -> list[Setting]:
    found: dict[str, Setting] = {}
    php = source.file.endswith(".php")
    for each in pairs:
        value = _value((php and laravel.value(source, each[3])) or each[3])
        value = _named(source, each[3]) if value is None else value
        origin = source.origin(source.line_at(each.start(2)))
        one = Setting(each[2], UNKNOWN if value is None else value, origin, known=value is not None)
        known = found.get(one.key)
        if known is not None and (known.value, known.known) != (one.value, one.known):
            one = Setting(one.key, UNKNOWN, origin, known=False, note="decided elsewhere in the program")
        found[one.key] = one
    return list(found.values())


NAME: Final = re.compile(r"\$?(?:this->|self::|static::|(?:\w+::)+)?\$?(\w+)(?:\.c_str\(\)|\.data\(\))?")
"""An expression that is a name: of a constant, a field, a variable or a parameter."""
OF_LITERAL: Final = r"(\"[^\"\\\n$]*\"|'[^'\\\n]*'|-?\d+|true|false)"
SAME: Final[Mapping[str, tuple[str, ...]]] = {
    "php": ("php",),
    **dict.fromkeys(("c", "h", "cpp", "cc", "cxx", "hpp"), ("c", "h", "cpp", "cc", "cxx", "hpp")),
}
"""The files in which a function of a file may be called, by the ends of their names."""


def _named(source: Text, expression: str) -> str | None:
    """What a name stands for in C, C++ and PHP: a constant or variable that is set once, to a literal, or a parameter
    whose default is one and that every call gives the same or nothing; None if that is not told.
    """
    end = source.file.lower().rpartition(".")[2]
    found = NAME.fullmatch(expression.strip())
    if found is None or end not in SAME:
        return None
    name, text = re.escape(found[1]), source.content
    defined = re.findall(rf"(?m)^[ \t]*#[ \t]*define[ \t]+{name}[ \t]+{OF_LITERAL}[ \t]*$", text)
    changes = list(re.finditer(rf"(?<![\w.])\$?{name}(?:\[\])?\s*=(?!=)\s*{OF_LITERAL}?", text))
    changes = [each for each in changes if not re.match(rf"\$?{name}\s*=\s*\$?{name}\b", text[each.start() :])]
    if defined or len(changes) != 1 or changes[0][1] is None:
        return defined[0].strip("\"'") if len(defined) == 1 and not changes else None
    after = text[changes[0].end() : changes[0].end() + 100].lstrip()
    if after.startswith(";"):
        taken = rf"[\w>]\s*[&*]?\s+[&*]?\$?{name}\s*[,)]|\bfunction\b[^()]*\([^()]*\${name}\s*[,)]"
        is_given = re.search(taken, text) is not None  # by another function: it may be that one's
        return None if is_given else str(changes[0][1]).strip("\"'")
    return _given(source, changes[0], end) if after.startswith((",", ")")) else None


HEAD: Final = re.compile(r"(\w+)\s*\(([^(){};]*)$")
"""The head of a function, up to a parameter."""


def _given(source: Text, default: re.Match[str], end: str) -> str | None:
    """What the calls of a function give a parameter that has a default; None if they differ, or give no literal."""
    head = HEAD.search(source.content[max(0, default.start() - LONGEST_HEAD) : default.start()])
    if head is None:
        return None
    owners = re.findall(r"\bclass\s+(\w+)", source.content[: default.start()])
    called = owners[-1] if head[1] == "__construct" and owners else head[1]
    place = head[2].count(",")
    told = set()
    root = calls.root_of(source.path)
    called_at = re.compile(rf"(?<![\w~]){re.escape(called)}\b(?:>\s*|\s+\w+\s*)?[({{]")
    for text in [one for each in SAME[end] for one in calls.sources_of(root, each)]:
        for each in islice(called_at.finditer(text.content), MOST):
            given, _ = arguments_of(text.content, each.end())
            if len(given) <= place or (text.path == source.path and _is_around(each, default)):
                continue
            literal = re.fullmatch(OF_LITERAL, given[place].strip())
            if literal is None and re.search(r"=|^\s*(?:const\s|string\s|std::)", given[place]):
                continue  # a declaration of it
            told.add(literal[1].strip("\"'") if literal else None)
    own = default[1].strip("\"'")
    return own if not told else told.pop() if len(told) == 1 else None


LONGEST_HEAD: Final = 600


def _is_around(call: re.Match[str], default: re.Match[str]) -> bool:
    """Whether what looks like a call is the head of the function itself."""
    return (
        call.end() <= default.start() <= call.end() + LONGEST_HEAD
        and ";" not in call.string[call.end() : default.start()]
    )


DECISIVE: Final = ("acks", "enable.idempotence", "retries")
ALIASES: Final = {"request.required.acks": "acks", "message.send.max.retries": "retries"}
BUNDLED: Final = re.compile(r"(?:^|/)(?:deps|third_?party|vendor|external|contrib)/librdkafka[^/]*/")
"""A copy of the library in another program's tree, with its examples."""


def _is_open(name: str, text: str, language: _Language) -> bool:
    """Whether a map has more than is seen: it is made elsewhere, or given keys that are expressions."""
    fresh = re.search(rf"\b{re.escape(name)}{language.fresh}", text) if language.fresh else True
    dynamic = re.search(language.dynamic % re.escape(name), text) if language.dynamic else None
    return not fresh or dynamic is not None


def read_natives(source: Text, reading: Collected) -> bool:
    """Add the producers that a source makes with librdkafka, one for each place that makes one."""
    language = _language(source.file.lower(), source.content)
    if language is None or TESTS.search(source.path) or BUNDLED.search(source.path):
        return True
    text = language.comments.sub(lambda found: found[1] or re.sub(r"[^\n]", " ", found[0]), source.content)
    if language.files == ("*.php",) and ASKS.search(text) and not re.search(r"->\s*producev?\s*\(", text):
        return True
    if language.files == ("*.rb",) and KARAFKA.search(text) and not _sends_with_karafka(source):
        return True
    if language.files == ("*.rb",) and _read_ruby_kafka(source, text, reading):
        return True
    if language.files == ("*.php",) and (_read_laravel(source, text, reading) or _read_longlang(source, text, reading)):
        return True
    text, wrapped = _unwrapped(text) if language.client == "librdkafka" else (text, [])
    text, shared = _of_laravels(source, text) if language.files == ("*.php",) else (text, [])
    text, mapped = _of_maps(text, language)
    pairs = [each for each in (*language.puts.finditer(text), *wrapped, *mapped) if each[2] in producer_keys()]
    if language.files == ("*.php",) and (alias := ALIAS.search(text)):
        text = re.sub(rf"\bnew\s+{alias[1]}\b", lambda found: "new Producer".ljust(len(found[0])), text)
    own_producer = language.files == ("*.rb",) and OWN_PRODUCER.search(text) is not None
    made = list(islice(language.makes.finditer(text), MOST))
    for maker in made:
        if own_producer and KARAFKA.match(maker[0]):
            continue
        name = next((each for each in maker.groups() if each), "")
        topics = _of_topics(text)
        own = [each for each in pairs if (each[1] or name) == name or each[1] in topics] or pairs
        settings = [*shared, *_settings(source, own)]
        origin = source.origin(source.line_at(maker.start()))
        decides = any(ALIASES.get(each.key, each.key) in DECISIVE for each in settings)
        if language.sends and not decides and re.search(language.sends, text) is None:
            continue
        if language.sends and (_in_test(text, maker.start()) or _only_asks(text, maker, language)):
            continue
        if (name and _is_open(name, text, language)) or not (settings or language.fresh):
            named = {ALIASES.get(each.key, each.key) for each in settings}
            settings += [Setting(key, UNKNOWN, origin, known=False) for key in DECISIVE if key not in named]
        name = _titled(source, text, maker, several=len(made) > 1)
        reading.producer(name, settings, origin, client=language.client, framework="source", style="spring")
    return True


BOUND_TO: Final = re.compile(r"[@$]*([A-Za-z_][\w.>-]*)\s*(?:\|\|)?=\s*[^=\n;]*$")
"""What the value of the rest of a line is bound to."""


CLASS: Final = re.compile(r"(?m)^[ \t]*(?:final[ \t]+)?class[ \t]+(\w+)")


def _titled(source: Text, text: str, maker: re.Match[str], *, several: bool) -> str:
    """What a producer is called: by its file; of several in a file by the variable too, or the class around it."""
    if not several:
        return source.file
    bound = BOUND_TO.search(text, text.rfind("\n", 0, maker.start()) + 1, maker.start())
    before = [each[1] for each in CLASS.finditer(text, 0, maker.start())]
    if before and len(set(CLASS.findall(text))) > 1:
        return f"{source.file}, {before[-1]}"
    name = re.split(r"[.>-]+", bound[1])[-1] if bound else ""
    return f"{source.file}, {name}" if name else source.file


OF_TOPICS: Final = re.compile(
    r"\$(?:this->)?(\w+)\s*=\s*new\s+\\?(?:RdKafka\\)?TopicConf\b|\b(\w+)\s*=\s*rd_kafka_topic_conf_new\b"
    r"|\b(\w+)\s*=\s*(?:\w+::)*Conf::create\(\s*(?:\w+::)*CONF_TOPIC\b"
)
"""Where a map of librdkafka's settings of topics is made, in PHP, C and C++: a producer's topic has them above it."""


def _of_topics(text: str) -> frozenset[str]:
    """The maps of settings of topics."""
    return frozenset(name for each in OF_TOPICS.finditer(text) for name in each.groups() if name)


def _of_laravels(source: Text, text: str) -> tuple[str, list[Setting]]:
    """A text without its loops over sections of Laravel's configuration, and what these set."""
    found: list[Setting] = []
    for loop in list(islice(laravel.LOOP.finditer(text), MOST)):
        if (told := laravel.section(source, loop[1], loop[2])) is not None:
            file, start, end = told
            pairs = [each for each in ENTRY_OF_PHP.finditer(file.content, start, end + 1) if each[2] in producer_keys()]
            found += _settings(file, pairs)
            text = text[: loop.start()] + re.sub(r"[^\n]", " ", loop[0]) + text[loop.end() :]
    return text, found


LOOPS: Final[Mapping[str, re.Pattern[str]]] = {
    "*.c": re.compile(
        r"\bfor\s*\((?:[^;{}]*?\b(?P<e>\w+)\s*=\s*&?(?P<start>\w+)(?:\[0\])?)?[^;{}]*;[^;{}]*;[^;{}()]*\)\s*\{?\s*"
        r"(?:if\s*\(\s*|[\w ]+=\s*)?rd_kafka_conf_set\s*\(\s*&?(?P<conf>[\w.>-]+)\s*,\s*"
        r"(?:(?P<map>\w+)\s*\[\s*\w+\s*\](?:\.\w+|\[0\])\s*,\s*(?P=map)\s*\[\s*\w+\s*\](?:\.\w+|\[1\])"
        r"|(?P=e)->\w+\s*,\s*(?P=e)->\w+)\s*,"
    ),
    "*.cpp": re.compile(
        r"\bfor\s*\(\s*(?:const\s+)?(?:auto|std::pair<[^()]{1,100}>)\s*(?:const\s*)?&{0,2}\s*"
        r"(?:\[\s*(?P<k>\w+)\s*,\s*(?P<v>\w+)\s*\]|(?P<e>\w+))\s*:\s*(?P<map>\w+)\s*\)\s*\{?\s*(?:if\s*\()?\s*"
        r"(?P<conf>\w+)\s*(?:->|\.)\s*set\s*\(\s*(?:(?P=k)|(?P=e)\.first)\s*,\s*(?:(?P=v)|(?P=e)\.second)\s*,"
    ),
    "*.php": re.compile(
        r"\bforeach\s*\(\s*(?:self::|static::|\$this->|\$)(?P<map>\w+)\s+as\s+(?P<k>\$\w+)\s*=>\s*(?P<v>\$\w+)\s*\)"
        r"\s*\{?\s*\$(?:this->)?(?P<conf>\w+)\s*->\s*set\(\s*(?P=k)\s*,\s*(?:\(string\)\s*)?(?P=v)\s*\)\s*;"
    ),
}
"""Loops of C, C++ and PHP that set all that a map or a table has."""
MAPS: Final[Mapping[str, str]] = {
    "*.c": r"\b{}\s*(?:\[[^\[\]]*\]\s*)+=\s*\{{((?:\s*\{{[^{{}}]*\}}\s*,?)+)\s*\}}\s*;",
    "*.cpp": r"[>\w]\s+{}\s*=?\s*\{{((?:\s*\{{[^{{}}]*\}}\s*,?)+)\s*\}}\s*;",
    "*.php": r"(?:\bconst\s+(?:\w+\s+)?|\$){}\s*=\s*(?:\[|array\()([^;]*?[\])])\s*;",
}
"""Where such a map is made of what is written out."""
CHANGED: Final = r"\b{}\s*(?:\[|->|\.\s*(?:insert|emplace|erase|merge|clear|swap)|\+?=\s*(?:array_|\$|\w+\())"
CHANGED_IN_C: Final = r"\b{}\s*\[[^\[\]]*\](?:\.\w+|\[[01]\])\s*=(?!=)"
"""Where something else changes such a map."""
ENTRY_OF_CPP: Final = re.compile(rf"()\{{\s*\"([\w.]+)\"\s*,\s*{ARGUMENT}\s*\}}")


def _of_maps(text: str, language: _Language) -> tuple[str, list[re.Match[str]]]:
    """A text without its loops over maps of the same file that nothing else changes, and the entries of these, if a
    producer is made with what the loop sets.
    """
    kind = language.files[0]
    names = {name for each in language.makes.finditer(text) for name in each.groups() if name} if kind in LOOPS else ()
    found: list[re.Match[str]] = []
    for loop in list(islice(LOOPS[kind].finditer(text), MOST)) if names else ():
        name = re.escape(loop["map"] or loop["start"])
        made = list(re.finditer(MAPS[kind].format(name), text))
        changed = re.search(CHANGED_IN_C.format(name) if kind == "*.c" else CHANGED.format(name), text)
        if loop["conf"] not in names or len(made) != 1 or changed is not None or "..." in made[0][1]:
            continue
        entries = ENTRY_OF_PHP if kind == "*.php" else ENTRY_OF_CPP
        found += entries.finditer(text, made[0].start(1), made[0].end(1))
        text = text[: loop.start()] + re.sub(r"[^\n]", " ", loop[0]) + text[loop.end() :]
    return text, found


WRAPPER: Final = re.compile(r"\b(\w+)\s*\(([^(){};]{1,300})\)\s*(?:const\s*|noexcept\s*)*\{")
"""In C and C++: where a function begins, its name and its parameters."""
SETS: Final = re.compile(
    r"\b(\w+)\s*(?:->|\.)\s*set\s*\(\s*(\w+)\s*,\s*\w|\brd_kafka_(?:topic_)?conf_set\s*\(\s*(\w+)\s*,\s*(\w+)\s*,\s*\w"
)
"""In C and C++: where a key that is a name is set, and the configuration and the name."""


def _unwrapped(text: str) -> tuple[str, list[re.Match[str]]]:
    """A text without what its own functions set that are given a key and a value; and what calls of them set."""
    found: list[re.Match[str]] = []
    for function in islice(WRAPPER.finditer(text), MOST):
        end = text.find("\n}", function.end())
        sets = SETS.search(text, function.end(), end if end >= 0 else len(text))
        key = (sets[2] or sets[4]) if sets else ""
        parameters = re.findall(r"(\w+)\s*(?:,|$)", function[2])
        if sets is None or key not in parameters:
            continue
        given = rf"(?:[*&]?\s*(\w+)(?:\.get\(\))?\s*,\s*)?\"([\w.]+)\"\s*,\s*{ARGUMENT}\s*[,)]"
        call = rf"(?<![\w.>]){function[1]}\s*\(\s*{given}"
        calls = list(re.finditer(call, text))
        if calls and len(calls) == len(re.findall(rf"(?<![\w.>]){function[1]}\s*\(", text)) - 1:  # every call of it
            found += calls
            text = text[: sets.start()] + " " * (sets.end() - sets.start()) + text[sets.end() :]
    return text, found


OF_METADATA: Final = re.compile(r"\brd_kafka_metadata\s*\(|(?:->|\.)\s*metadata\s*\(")
"""In C and C++: what a handle is asked."""
FUNCTION: Final = re.compile(r"(?m)^[A-Za-z_][^\n;{}=()]{0,200}?\b(\w+)\s*\([^;{}]{0,500}\)\s*\{")
"""In C and C++: where a function begins, and its name."""
LONGEST: Final = 20_000
"""Characters before a handle in which its function is looked for."""
OF_TEST: Final = re.compile(r"(?:unit_?)?tests?_\w+|\w+_unit_?tests?|(?:do_)?unittest\w*")


def _only_asks(text: str, maker: re.Match[str], language: _Language) -> bool:
    """Whether a handle is asked for metadata, and its function sends nothing with it, up to the next one or its end."""
    end = text.find("\n}", maker.end())
    after = language.makes.search(text, maker.end())
    ends = [each for each in (end, after.start() if after else -1) if each >= 0]
    body = text[maker.end() : min(ends, default=len(text))]
    return OF_METADATA.search(body) is not None and re.search(language.sends, body) is None


def _in_test(text: str, at: int) -> bool:
    """Whether a place is in a function of tests, which a library has beside what they are about."""
    before = list(FUNCTION.finditer(text[max(0, at - LONGEST) : at]))
    return bool(before) and OF_TEST.fullmatch(before[-1][1]) is not None


KARAFKA: Final = re.compile(r"<\s*Karafka::App\b")
OWN_PRODUCER: Final = re.compile(r"\bconfig\.producer\s*=\s*(?:::)?WaterDrop::Producer\.new\b")
"""An application of Karafka's that is given a producer, and so makes none of what its `kafka` is set to."""
SENDS_WITH_KARAFKA: Final = re.compile(r"\bKarafka\.producer\b|\bproduce_(?:many_)?(?:a?sync)\b|\bdispatch_to_dlq\b")
MADE_OF_WATERDROP: Final = re.compile(r"\bWaterDrop::Producer\.new\b")
BY_KARAFKA: Final = re.compile(r"\bKarafka\.producer\b|\bdispatch_to_dlq\b")
OF_CONSUMERS: Final = re.compile(r"(?m)^\s*class\s+\w+\s*<\s*[\w:]*Consumer\b")
BARE: Final = re.compile(r"(?<![\w.])(?:producer\.)?produce_(?:many_)?a?sync\b")
"""In Ruby: what a consumer of Karafka's sends, with the application's producer."""
SOURCES: Final = 500
"""How many sources of an application of Karafka's are looked into."""


def _sends_with_karafka(source: Text) -> bool:
    """Whether an application of Karafka's sends: its producer is made of what its `kafka` is set to. Where the program
    makes one of its own beside it, only what is sent by Karafka's name, or by a consumer of its, counts.
    """
    texts = [source.content]
    for path in islice(Path(source.path).absolute().parent.rglob("*.rb"), SOURCES):
        try:
            text = path.read_text(encoding="utf-8", errors="replace") if path.stat().st_size < LARGEST else ""
        except OSError:
            continue
        texts += [text] if not TESTS.search(str(path)) else []
    texts = [HASHES.sub(lambda found: found[1] or "", each) for each in texts]
    if not any(MADE_OF_WATERDROP.search(each) for each in texts):
        return any(SENDS_WITH_KARAFKA.search(each) for each in texts)
    return any(BY_KARAFKA.search(each) or (OF_CONSUMERS.search(each) and BARE.search(each)) for each in texts)


RUBY_KAFKA: Final = re.compile(r"(?<!\w)(\w*)\)?\.(?:async_)?producer\b[ \t]*(?:\(((?:[^()]|\([^()]*\)){0,400})\))?")
OF_RUBY_KAFKA: Final = {
    "required_acks": "acks",
    "max_retries": "retries",
    "idempotent": "enable.idempotence",
    "transactional_id": "transactional.id",
}


def _read_ruby_kafka(source: Text, text: str, reading: Collected) -> bool:
    """Add the producers that a file makes with clients of ruby-kafka; whether it has such clients."""
    makes = re.search(r"\bKafka\.new\b|\brequire\s*\(?['\"]kafka['\"]", text) is not None
    if re.search(r"WaterDrop|Rdkafka|\bKarafka\b", text):
        return False
    made = list(islice(RUBY_KAFKA.finditer(text), MOST))
    for maker in made:
        if not makes and "kafka" not in maker[1].lower():
            continue
        origin = source.origin(source.line_at(maker.start()))
        settings = _options_of_ruby(maker[2] or "", origin)
        spread = re.findall(r"\*\*\s*([\w.:]+)", maker[2] or "")
        hashes = [_hash_of_ruby(source, text, each) for each in spread]
        settings = [*(one for each in hashes for one in each or ()), *settings]
        if any(each is None for each in hashes):
            named = {each.key for each in settings}
            settings += [Setting(key, UNKNOWN, origin, known=False) for key in DECISIVE if key not in named]
        name = _titled(source, text, maker, several=len(made) > 1)
        reading.producer(name, settings, origin, client="ruby-kafka", framework="source", style="spring")
    return True


def _options_of_ruby(text: str, origin: Origin) -> list[Setting]:
    """What a producer of ruby-kafka's is set to by arguments, or by the entries of a hash."""
    settings = []
    for each in re.finditer(rf"\b(\w+)(?:\s*:|\s*=>)\s*{ARGUMENT}\s*(?=,|$)", text):
        value = _value(each[2].replace(":all", "'all'"))
        if key := OF_RUBY_KAFKA.get(each[1]):
            settings.append(Setting(key, UNKNOWN if value is None else value, origin, known=value is not None))
    return settings


def _hash_of_ruby(source: Text, text: str, name: str) -> list[Setting] | None:
    """The options of a hash that a file binds a constant to, or a variable, or that a method of it returns, and that
    nothing else changes; None if that cannot be followed.
    """
    last = re.escape(name.rpartition(":")[2].rpartition(".")[2])
    bound = (
        rf"(?<![\w.]){last}\s*=\s*\{{([^{{}}]*)\}}|\bdef\s+(?:self\.)?{last}\s*(?:\(\s*\))?\s+\{{([^{{}}]*)\}}\s+end\b"
    )
    found = list(re.finditer(bound, text))
    changed = re.search(rf"(?<![\w.]){last}(?:\[[^\]\n]*\]\s*=(?!=)|\.(?:merge!|update|store|delete)\b)", text)
    if len(found) != 1 or changed is not None or "**" in found[0][0]:
        return None
    return _options_of_ruby(found[0][1] or found[0][2] or "", source.origin(source.line_at(found[0].start())))


DELIVERY_BOY: Final = re.compile(r"delivery_boy\.ya?ml")


def _read_delivery_boy(document: Document, reading: Collected) -> bool:
    """Add the producer of DeliveryBoy's, which is ruby-kafka's, in production."""
    assert document.tree is not None
    stages = [(name, value) for name, _, value in document.tree.items if isinstance(value, Table)]
    stage, table = next((each for each in stages if each[0] == "production"), ("", document.tree))
    given = flatten(table, document.source)
    own = [
        Setting(key, each.value, each.origin, written=each.key)
        for each in given
        if (key := OF_RUBY_KAFKA.get(each.key))
    ]
    own += [Setting("bootstrap.servers", each.value, each.origin) for each in given if each.key == "brokers"]
    origin = own[0].origin if own else document.source.origin(table.line)
    reading.producer(
        f"DeliveryBoy {stage}".strip(), own, origin, client="ruby-kafka", framework="deliveryboy",
        presets=[preset("acks", "all", "DeliveryBoy's default", origin)], style="any",
    )  # fmt: skip
    return True


def _is_phobos(document: Document) -> bool:
    tree = document.tree
    return tree is not None and "seed_brokers" in tree.table("kafka").names() and "producer" in tree.names()


def _read_phobos(document: Document, reading: Collected) -> bool:
    """Add the producer of Phobos, which is ruby-kafka's."""
    assert document.tree is not None
    given = flatten(document.tree.table("producer"), document.source)
    own = [
        Setting(key, each.value, each.origin, written=f"producer.{each.key}")
        for each in given
        if (key := OF_RUBY_KAFKA.get(each.key))
    ]
    origin = own[0].origin if own else document.source.origin(document.tree.line)
    reading.producer("Phobos", own, origin, client="ruby-kafka", framework="phobos", style="any")
    return True


LARAVEL: Final = re.compile(r"\bKafka::(?:publish(?:On)?|asyncPublish)\(([^;]{0,1000}?)->\s*send\s*\(")
ENTRY_OF_PHP: Final = re.compile(rf"()['\"]([\w.]+)['\"]\s*(?:=>|,)\s*{ARGUMENT}\s*(?=[,\])])")


def _read_laravel(source: Text, text: str, reading: Collected) -> bool:
    """Add the producers that a file of Laravel's makes with its package for Kafka; whether it makes any."""
    makers = list(islice(LARAVEL.finditer(text), MOST)) if "Junges\\Kafka" in text else []
    for maker in makers:
        pairs = [each for each in ENTRY_OF_PHP.finditer(text, maker.start(), maker.end()) if each[2] in producer_keys()]
        origin = source.origin(source.line_at(maker.start()))
        reading.producer(
            source.file, _settings(source, pairs), origin, client="librdkafka", framework="laravel", style="spring"
        )
    return bool(makers)


LONGLANG: Final = re.compile(r"\buse\s+longlang\\phpkafka\\Producer\\Producer\s*;")
SETTERS_OF_LONGLANG: Final = re.compile(rf"\$(?:this->)?(\w+)\s*->\s*set(\w+)\s*\(\s*{ARGUMENT}\s*\)")
OF_LONGLANG: Final = {"Acks": "acks", "ProduceRetry": "retries"}


def _read_longlang(source: Text, text: str, reading: Collected) -> bool:
    """Add the producers that a file of PHP's makes with longlang's own client; whether it makes any."""
    if LONGLANG.search(text) is None:
        return False
    for maker in islice(re.finditer(r"\bnew\s+Producer\s*\(\s*\$(?:this->)?(\w+)", text), MOST):
        origin = source.origin(source.line_at(maker.start()))
        settings = []
        for each in SETTERS_OF_LONGLANG.finditer(text):
            if each[1] == maker[1] and each[2] in OF_LONGLANG:
                value = _value(each[3])
                given = UNKNOWN if value is None else value
                settings.append(Setting(OF_LONGLANG[each[2]], given, origin, known=value is not None))
        if not re.search(rf"\${maker[1]}\s*=\s*new\s+ProducerConfig\b", text):
            named = {"enable.idempotence", *(each.key for each in settings)}
            settings += [Setting(key, UNKNOWN, origin, known=False) for key in DECISIVE if key not in named]
        presets = [preset("acks", "0", "the default of longlang's ProducerConfig", origin)]
        presets.append(preset("enable.idempotence", "false", "longlang's client has no idempotence", origin))
        reading.producer(source.file, settings, origin, framework="source", presets=presets, style="spring")
    return True


FORMATS: Final = (
    Format(
        name="Phobos",
        reads="the producer of `phobos.yml`",
        files=YAML,
        rank=116,
        speaks=("seed_brokers",),
        claims=_is_phobos,
        read=_read_phobos,
    ),
    Format(
        name="DeliveryBoy",
        reads="the producer of `delivery_boy.yml`, in production",
        files=YAML,
        rank=115,
        named=DELIVERY_BOY,
        claims=lambda document: DELIVERY_BOY.fullmatch(document.file) is not None and document.tree is not None,
        read=_read_delivery_boy,
    ),
    Format(
        name="C, C++, PHP, Ruby, Clojure",
        reads="librdkafka's settings with literal keys: `rd_kafka_conf_set`, `conf->set`, cppkafka's "
        "lists, WaterDrop's and Karafka's hash; jackdaw; Laravel's package; what ruby-kafka's `producer` is called "
        "with",
        files=tuple(glob for one in LANGUAGES for glob in one.files),
        rank=27,
        whole=True,
        claims=lambda document: any(f"*.{document.file.rpartition('.')[2]}" in one.files for one in LANGUAGES),
        read=lambda document, reading: (
            read_natives(document.source, reading) if MARKS.search(document.source.content) else True
        ),
    ),
)
