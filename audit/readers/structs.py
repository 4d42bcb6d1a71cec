"""What a field of a Go program's own settings stands for: `cfg.Kafka.Acks`, `viper.GetString("kafka.acks")`.

A struct's fields are filled from a file of the program's by their names or tags (`mapstructure`, `yaml`, `json`), or
from the environment by theirs (`env`, `envconfig`), with the defaults beside them. The file counts before a default.
A function of the program's that makes acks of a text (`switch`, or a map) is followed as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from audit.readers import calls
from audit.readers.asked import asked_of
from audit.readers.keyed import has_section, said

DEEPEST: Final = 5
LONGEST: Final = 200
STRUCT: Final = re.compile(r"(?m)^\s*(?:type\s+)?(\w+)\s+struct\s*\{")
FIELD: Final = re.compile(r"^\s*(?:(\w+(?:\s*,\s*\w+)*)\s+)?(\*?[\w.\[\]]+)\s*(?:`([^`]*)`)?\s*(?://.*)?$")
NESTED: Final = re.compile(r"^\s*(\w+)\s+\*?struct\s*\{")
OF_FILE: Final = re.compile(r"\b(?:mapstructure|yaml|json|koanf|toml|hcl|config)\s*:\s*\"([\w.-]+)")
OF_ENVIRONMENT: Final = re.compile(r"\b(?:env|envconfig):\"(\w+)(?:,\s*default=([^\",]*)|[^\"]*)?\"")
OF_DEFAULT: Final = re.compile(r"\b(?:default|envDefault|env-default):\"([^\"]*)\"")
PREFIX: Final = re.compile(r"\b(?:envPrefix|env-prefix):\"(\w+)\"")
ASKED: Final = re.compile(r"\w+\.(?:Get)?(?:String|Int|Int32|Int64|Bool|Int16)\(\s*\"([\w.-]+)\"\s*\)")
"""What is asked of viper or of koanf."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct: its type's last name, and what its tags say."""

    kind: str
    tags: str
    inside: Mapping[str, Field] = field(default_factory=dict)
    """The fields of a struct that has no name."""


Fields = Mapping[str, Field]
Structs = Mapping[str, Mapping[str, Fields]]
"""The structs of each package."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an expression stands for, as text or placeholder."""

    value: str
    known: bool = True
    """Whether the files that say it agree."""


def of_go(expression: str, scope: str, path: str, texts: Sequence[str]) -> Answer | None:
    """What an expression of Go's stands for; None if it is nothing of the program's settings, or not told.

    `scope` is the text of the function that it stands in, `texts` are the sources that its names may be from.
    """
    expression = expression.strip().rstrip(",")
    for _ in range(DEEPEST):
        if len(expression) > LONGEST:
            return None
        if (given := _of_flag(expression, (scope, *texts))) is not None:
            return given
        if ASKED.fullmatch(expression) or re.fullmatch(r"\w+(?:\.\w+)+", expression):
            return _asked(expression, scope, path, texts)
        if found := re.fullmatch(r"(\w+)\[\s*(?:strings\.ToLower\()?([\w.]+?)\)?\s*\]", expression):
            return _through(_cases_of_map(found[1], texts), of_go(found[2], scope, path, texts))
        called = re.fullmatch(r"(?:\w+\.)?(\w+)\(\s*([^()]*(?:\(\s*\"[\w.-]+\"\s*\))?)\s*\)", expression)
        if called is None:
            return None
        if cases := _cases(called[1], texts):
            return _through(cases, of_go(called[2], scope, path, texts))
        if called[1] not in CONVERSIONS:
            return None
        expression = called[2].strip()
    return None


FLAG: Final = (
    r"\b{0}(?:\s*,\s*\w+)?\s*:?=\s*(?:\w+(?:\(\))?\.)+(?:String|Int|Int32|Int64|Bool|Uint)"
    r"(?:P\(\s*\"[\w.-]+\"\s*,\s*\"\w?\"|\(\s*\"[\w.-]+\")\s*,\s*",
    r"Var(?:P\(\s*&{0}\s*,\s*\"[\w.-]+\"\s*,\s*\"\w?\"|\(\s*&{0}\s*,\s*\"[\w.-]+\")\s*,\s*",
)
"""Where a flag of a command's is declared, up to its default: `flag.String("acks", "1", …)`, `Flags().StringVarP(&acks,
"acks", "a", "1", …)`.
"""


def _of_flag(expression: str, texts: Sequence[str]) -> Answer | None:
    """The default of a flag that a command is called with: of `*acks`, or of a variable that one is put into."""
    named = re.fullmatch(r"(\*)?([A-Za-z_]\w*(?:\.\w+)?)", expression)
    if named is None:
        return None
    pattern = re.compile(
        FLAG[0 if named[1] else 1].format(re.escape(named[2])) + r"(?:\"([^\"]*)\"|(-?\d+|true|false))"
    )
    found = {
        each[1] if each[1] is not None else each[2] for text in dict.fromkeys(texts) for each in pattern.finditer(text)
    }
    return Answer(found.pop()) if len(found) == 1 else None


CONVERSIONS: Final = frozenset(
    {"RequiredAcks", "int", "int8", "int16", "int32", "int64", "string", "bool", "Itoa", "ToLower", "Sprint", "Acks"}
)


def _asked(expression: str, scope: str, path: str, texts: Sequence[str]) -> Answer | None:
    if asked := ASKED.fullmatch(expression):
        return _of_path(asked[1].split("."), path, texts)
    if expression.count(".") and not expression[0].isupper():
        return _of_struct(expression.split("."), scope, path, texts)
    return None


def _of_path(names: Sequence[str], path: str, texts: Sequence[str]) -> Answer | None:
    """What the program's files say of a path, or else its default."""
    told = said(path, names)
    return Answer(told.value, told.known) if told is not None else _default(names, texts)


def _default(names: Sequence[str], texts: Iterable[str]) -> Answer | None:
    """What `viper.SetDefault("kafka.acks", "all")` says."""
    key = re.escape(".".join(names))
    pattern = re.compile(rf"(?i)\.SetDefault\(\s*\"{key}\"\s*,\s*(?:\"([^\"]*)\"|(-?\d+|true|false))\s*\)")
    found = {each[1] or each[2] for text in texts for each in pattern.finditer(text)}
    return Answer(found.pop()) if len(found) == 1 else None


def _of_struct(names: Sequence[str], scope: str, path: str, texts: Sequence[str]) -> Answer | None:
    """A field below a variable whose struct is told."""
    structs = _structs(tuple(texts))
    kind, package = _kind(names[0], scope, texts)
    fields, home = _look_up(kind, structs, package)
    above, prefix = _above(kind, structs, home)
    at = list(above)
    last: Field | None = None
    holder = kind
    for name in names[1:]:
        if last is not None:
            holder = last.kind
            given = PREFIX.search(last.tags)
            prefix += given[1] if given else ""
            fields, home = (last.inside, home) if last.inside else _look_up(last.kind, structs, home)
        last = _find(fields, name, structs, home)
        if last is None:
            return None
        told = OF_FILE.search(last.tags)
        at.append(told[1] if told else name)
    if last is None:
        return None
    sources = [each.content for each in calls.sources_of(calls.root_of(path), "go")]
    return _of_files(at, last, path, texts) or _of_tags(last, prefix) or _of_literals(holder, names[-1], sources)


def _of_literals(kind: str, name: str, texts: Sequence[str]) -> Answer | None:
    """What the only struct of a kind that is written out has in a field: a literal, or what the environment says."""
    found: set[str | None] = set()
    for text in dict.fromkeys(texts) if kind else ():
        for each in re.finditer(rf"(?<!struct )(?<!type ){re.escape(kind)}\{{", text):
            body = text[each.end() : each.end() + LARGEST]
            given = re.search(rf"\b{re.escape(name)}:\s*([^\n]+?),?\s*(?:\n|\}}|//|$)", body[: _closing(body)])
            literal = re.fullmatch(r"\"([^\"]*)\"|(-?\d+|true|false)", given[1]) if given else None
            if literal is not None:
                found.add(literal[1] if literal[1] is not None else literal[2])
            elif given is not None:
                found.add(given[1] if CONSTANT.fullmatch(given[1]) else asked_of(given[1]))
    value = found.pop() if len(found) == 1 else None
    return Answer(value) if value is not None else None


CONSTANT: Final = re.compile(r"\w+\.(?:WaitForAll|WaitForLocal|NoResponse|Require(?:All|One|None))")
"""What sarama and kafka-go call acks."""
LARGEST: Final = 4_000
"""Characters of a struct that is written out."""


def _closing(text: str) -> int:
    """Where the brace closes that is open at the beginning of a text."""
    level = 1
    for each in re.finditer(r"[{}]", text):
        level += 1 if each[0] == "{" else -1
        if level == 0:
            return each.start()
    return len(text)


def _look_up(name: str, structs: Structs, home: str) -> tuple[Fields, str]:
    """The fields of a struct, and the package that has it: the one that is told, or else the only one."""
    if name in structs.get(home, {}):
        return structs[home][name], home
    others = [(own[name], package) for package, own in structs.items() if name in own]
    return others[0] if len(others) == 1 else ({}, home)


def _of_files(at: Sequence[str], last: Field, path: str, texts: Sequence[str]) -> Answer | None:
    """What files, or defaults that are set in them, say of a field. The first names may be those of what only holds
    the settings, as `app.cfg` does.
    """
    for names in (at[start:] for start in range(len(at))):
        if (found := _of_path(names, path, texts)) is not None:
            return found
    left_out = last.kind == "bool" and OF_ENVIRONMENT.search(last.tags) is None and OF_DEFAULT.search(last.tags) is None
    sections = (at[start:-1] for start in range(len(at) - 1))
    return Answer("false") if left_out and any(has_section(path, each) for each in sections) else None


def _of_tags(last: Field, prefix: str) -> Answer | None:
    """What the tags of a field say: a variable of the environment, a default."""
    variable, beside = OF_ENVIRONMENT.search(last.tags), OF_DEFAULT.search(last.tags)
    default = beside[1] if beside else variable[2] if variable else None
    if variable is None:
        return Answer(default) if default is not None else None
    name = prefix + variable[1]
    return Answer(f"${{{name}}}" if default is None else f"${{{name}:{default}}}")


def _find(fields: Fields, name: str, structs: Structs, home: str) -> Field | None:
    """A field of a struct, or of one that is embedded in it."""
    if name in fields:
        return fields[name]
    embedded = [_look_up(each.kind, structs, home)[0] for key, each in fields.items() if key == each.kind]
    return next((each[name] for each in embedded if name in each), None)


def _above(kind: str, structs: Structs, home: str) -> tuple[list[str], str]:
    """Where a struct is in the ones that have it, by the names of a file, and the prefix of its variables; as far as
    one alone has it.
    """
    at: list[str] = []
    prefix = ""
    for _ in range(DEEPEST):
        users = [
            (outer, name, one, package)
            for package, own in structs.items()
            if package == home or kind not in own
            for outer, fields in own.items()
            for name, one in _fields_of(fields, kind)
        ]
        if len(users) != 1 or users[0][0] == kind:
            break
        outer, name, one, home = users[0]
        told = OF_FILE.search(one.tags)
        if told or name != one.kind:  # one that is embedded has no name of its own in a file
            at = [*(told[1] if told else name).split("."), *at]
        given = PREFIX.search(one.tags)
        prefix = (given[1] if given else "") + prefix
        kind = outer
    return at, prefix


def _fields_of(fields: Mapping[str, Field], kind: str, above: str = "") -> Iterator[tuple[str, Field]]:
    for name, one in fields.items():
        path = f"{above}.{name}" if above else name
        if one.kind == kind:
            yield path, one
        elif one.inside:
            outer = OF_FILE.search(one.tags)
            for inner, found in _fields_of(one.inside, kind):
                tag = OF_FILE.search(found.tags)
                yield f"{outer[1] if outer else name}.{tag[1] if tag else inner}", Field(found.kind, "")


PACKAGE: Final = re.compile(r"(?m)^package\s+(\w+)")


def _package(text: str) -> str:
    found = PACKAGE.search(text)
    return found[1] if found else ""


def _kind(name: str, scope: str, texts: Sequence[str]) -> tuple[str, str]:
    """The struct of a variable, and its package; empty if nothing tells it."""
    root = re.escape(name)
    declared = re.compile(rf"(?<![\w.]){root}\s+\*?(?:(\w+)\.)?([A-Z]\w*|[a-z]\w*[Cc]onfig\w*|config|settings)\b(?!\()")
    made = re.compile(rf"(?<![\w.]){root}(?:\s*,\s*\w+)?\s*:?=\s*(?:&|\*)?(?:(\w+)\.)?(?:\w+\.)*(\w+)\s*([({{])")
    own = _package(texts[0]) if texts else ""
    for text in (scope, *texts):
        here = own if text is scope else _package(text)
        if text and (found := declared.search(text)):
            return found[2], found[1] or here
        if text and (called := made.search(text)):
            return (called[2], called[1] or here) if called[3] == "{" else _returned(called[2], texts)
    return "", ""


def _returned(function: str, texts: Sequence[str]) -> tuple[str, str]:
    """The struct that a function returns, and its package."""
    pattern = re.compile(
        rf"\bfunc\s+(?:\([^()]*\)\s*)?{re.escape(function)}\([^()]*\)\s*\(?\s*(?:\w+\s+)?\*?(?:(\w+)\.)?([A-Z]\w*|[a-z]\w*[Cc]onfig)\b"
    )
    found = ((told, text) for text in texts if (told := pattern.search(text)))
    return next(((told[2], told[1] or _package(text)) for told, text in found), ("", ""))


@lru_cache(maxsize=4)
def _structs(texts: tuple[str, ...]) -> Structs:
    """The structs of each package."""
    found: dict[str, dict[str, Fields]] = {}
    for text in dict.fromkeys(texts):
        own = found.setdefault(_package(text), {})
        for each in STRUCT.finditer(text):
            own[each[1]], _ = _body(text[each.end() :].splitlines(), 0)
    return found


def _body(lines: Sequence[str], depth: int) -> tuple[dict[str, Field], int]:
    """The fields of a struct from its first line on, and how many lines they take."""
    found: dict[str, Field] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.strip().startswith("}"):
            break
        if (nested := NESTED.match(line)) and depth < DEEPEST:
            inside, taken = _body(lines[at:], depth + 1)
            closing = lines[at + taken - 1] if taken else ""
            tags = re.search(r"`([^`]*)`", closing)
            found[nested[1]] = Field("", tags[1] if tags else "", inside)
            at += taken
        elif one := FIELD.match(line):
            kind = one[2].rpartition(".")[2].lstrip("*[]")
            for name in re.split(r"\s*,\s*", one[1]) if one[1] else [kind]:
                found[name] = Field(kind, one[3] or "")
    return found, at


CASE: Final = re.compile(
    r"\bcase\s+([^:\n]+):((?:(?!\b(?:case|default)\b).)*)|\bdefault\s*:((?:(?!\bcase\b).)*)", re.DOTALL
)
RETURN: Final = re.compile(r"\breturn\s+&?([\w.()]+)")
OTHERWISE: Final = "\0"
"""What stands for every other text."""


def _cases(function: str, texts: Sequence[str]) -> dict[str, str]:
    """What a function of the program's makes of texts, by `switch`; empty if it has none."""
    head = re.compile(rf"(?ms)^func\s+(?:\([^()]*\)\s*)?{re.escape(function)}\([^()]*\)[^{{\n]*\{{(.*?)^\}}")
    body = next((one[1] for text in texts if (one := head.search(text))), "")
    found: dict[str, str] = {}
    if len(body) > 4_000 or "switch" not in body:
        return found
    for each in CASE.finditer(body):
        given = RETURN.search(each[2] or each[3] or "")
        if given is None:
            return {}
        for text in re.findall(r"\"([^\"]*)\"|(-?\d+)", each[1]) if each[1] else [(OTHERWISE, "")]:
            found["".join(text)] = given[1]
    after = RETURN.findall(body[body.rindex("}") :]) if "}" in body else []
    if after and OTHERWISE not in found:
        found[OTHERWISE] = after[-1]
    return found


def _cases_of_map(name: str, texts: Sequence[str]) -> dict[str, str]:
    head = re.compile(rf"(?s)\b{re.escape(name)}\s*:?=\s*map\[string\][\w.]+\s*\{{([^{{}}]*)\}}")
    body = next((found[1] for text in texts if (found := head.search(text))), "")
    return dict(re.findall(r"\"([^\"]*)\"\s*:\s*([\w.()]+)", body))


def _through(cases: Mapping[str, str], answer: Answer | None) -> Answer | None:
    """What is made of an answer; of a placeholder, of its default: what is set may be another."""
    if answer is None:
        return None
    placeholder = re.fullmatch(r"\$\{(\w+)(?::([^{}]*))?\}", answer.value)
    text = answer.value if placeholder is None else placeholder[2]
    made = cases.get(text, cases.get(text.lower(), cases.get(OTHERWISE))) if text is not None else None
    if made is None:
        return None
    return Answer(made if placeholder is None else f"${{{placeholder[1]}:{made}}}", answer.known)
