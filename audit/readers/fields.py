"""What a field of a program's own settings stands for: `settings.acks` is `${app.acks:all}`, or what it is set to.

| language | the settings | the default |
|---|---|---|
| Java, Kotlin | a class with `@ConfigurationProperties("app")` or `@ConfigMapping` | an annotation, an initializer |
| Scala | a class that is made with `acks = config.getString("acks")` | none |
| C# | a class of options, bound to a section of appsettings.json | an initializer; else false |
| JavaScript | an object of a module that is imported, perhaps of a schema of the environment | in the schema |

A default counts only for settings that are read from outside: what a program's own code puts into an object is unknown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from audit.readers.asked import asked_of
from audit.readers.keyed import ASKED, CHOSEN, LAYERS, said_below
from audit.readers.node import asked_of_config
from audit.readers.scripts import closing, imported, of_environment, parameters_of, passed, scripts_of, workspace_of
from audit.readers.text import Text
from audit.readers.walk import text_of

PATH: Final = re.compile(r"(?:this\.)?(\w+)((?:\s*(?:\?|!!)?\.\s*\w+(?:\(\))?)+)")
"""A name, and the fields and accessors below it."""
LONGEST: Final = 200
DEEPEST: Final = 5


def path_of(expression: str) -> list[str]:
    """The names of a path, without conversions and the words of accessors; empty if it is another expression.

    >>> path_of("messaging.producer().getAcks()"), path_of("kafka.RequiredAcks(cfg.RequiredAcks)"), path_of("a + b.c")
    (['messaging', 'producer', 'acks'], ['cfg', 'RequiredAcks'], [])
    """
    text = expression.strip()
    for _ in range(DEEPEST):
        if len(text) > LONGEST:
            return []
        if found := PATH.fullmatch(text):
            names = [each.rstrip("()") for each in re.findall(r"\w+(?:\(\))?", found[2])]
            while len(names) > 1 and names[-1] in ("toString", "toInt", "toMillis", "value", "Value", "name"):
                names.pop()
            return [found[1], *(_property(each) for each in names)]
        inner = re.fullmatch(
            r"(?:(?:Int\.box|(?:Integer|String)\.valueOf|(?:\w+\.)?RequiredAcks|int\d*|string|Number|String|parseInt)"
            r"|\(\s*\w+\s*\))\s*\(?\s*([^()]+(?:\(\))?[^()]*?)\s*(?:,\s*10\s*)?\)?",
            text,
        )
        if inner is None:
            return []
        text = inner[1].strip()
    return []


def _property(accessor: str) -> str:
    """The name of what an accessor gives: `getAcks` is `acks`."""
    found = re.fullmatch(r"(?:get|is)([A-Z]\w*)", accessor)
    return found[1][0].lower() + found[1][1:] if found else accessor


# Java, Kotlin

BOUND: Final = re.compile(
    r"@(?:ConfigurationProperties|ConfigMapping|ConfigProperties)\(\s*(?:(?:prefix|value)\s*=\s*)?\"([\w.-]+)\""
)
"""That a class has the settings below a prefix."""


def of_jvm(source: Text, expression: str, find: Callable[[str], Text | None]) -> str | None:
    """A field of a class that has settings of an application's, as a placeholder; `find` gives a class's file."""
    names = path_of(expression)
    names = _from_root(source, names) if names else []
    if len(names) < 2:
        return None
    kind, below = names[0], names[1:]
    outer, _, nested = kind.partition(".")
    home = find(outer) or (source if re.search(rf"\b(?:class|record|interface)\s+{outer}\b", source.content) else None)
    bound_to = BOUND.search(home.content) if home is not None else None
    if home is None or bound_to is None:
        return None
    at = [bound_to[1]]
    if nested:
        field = re.search(rf"\b{re.escape(nested)}\s+(\w+)\b|\b(\w+)\s*:\s*{re.escape(nested)}\b", home.content)
        at += [field[1] or field[2]] if field else []
    body = _class_body(home.content, nested or outer)
    for each in below[:-1]:
        inner = re.search(rf"\b([A-Z]\w*)\s+{re.escape(each)}\b|\b{re.escape(each)}\s*:\s*([A-Z]\w*)", body)
        if inner is None:
            return None
        body = _class_body(home.content, inner[1] or inner[2])
        at.append(each)
    default = _default_of_jvm(body, below[-1])
    name = ".".join([at[0], *(_kebab(each) for each in (*at[1:], below[-1]))])
    return f"${{{name}}}" if default is None else f"${{{name}:{default}}}"


def _from_root(source: Text, names: list[str]) -> list[str]:
    """A path whose first name is a type: of a variable that is bound to another path, that path and what follows."""
    for _ in range(DEEPEST):
        root = re.escape(names[0])
        made = re.search(
            rf"\b{root}\s*(?::\s*[\w.<>]+)?\s*=\s*((?:this\.)?\w+(?:\.\w+(?:\(\))?)+)\s*[;\n]", source.content
        )
        bound_to = path_of(made[1]) if made else []
        if not bound_to or bound_to[0] == names[0]:
            break
        names = [*bound_to, *names[1:]]
    root = re.escape(names[0])
    typed = re.search(rf"\b([A-Z]\w*(?:\.[A-Z]\w*)*)(?:<[^<>]*>)?\s+{root}\b", source.content)
    typed = typed or re.search(rf"\b{root}\s*:\s*([A-Z]\w*(?:\.[A-Z]\w*)*)", source.content)
    return [typed[1], *names[1:]] if typed else []


def _class_body(content: str, name: str) -> str:
    """The text of a class or record from its name to the next one of its depth, which is near enough for its fields."""
    found = re.search(rf"\b(?:class|record|interface)\s+{re.escape(name)}\b", content)
    if found is None:
        return ""
    rest = content[found.end() :]
    after = re.search(r"\b(?:class|record|interface)\s+[A-Z]\w*\s*[({]", rest)
    return rest[: after.start()] if after else rest


def _default_of_jvm(body: str, name: str) -> str | None:
    escaped = re.escape(name)
    given = re.search(
        rf"@(?:DefaultValue|WithDefault)\(\s*\"([^\"]*)\"\s*\)\s*[\w<>\[\]. ]+\s{escaped}\b",
        body,
    )
    if given is None:
        literal = r"(?:\"([^\"]*)\"|(-?\d+|true|false))\s*[;,)\n]"
        made = re.search(rf"\b{escaped}\s*(?::\s*[\w?<>]+)?\s*=\s*{literal}", body)
        return None if made is None else made[1] if made[1] is not None else made[2]
    return given[1]


def _kebab(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def of_scala(expression: str, texts: Iterable[str]) -> str | None:
    """A field of a class that is made of what a configuration is asked for, by the name that is asked for."""
    names = path_of(expression)
    if not names:
        return None
    pattern = re.compile(rf"\b{re.escape(names[-1])}\s*=\s*\w+\s*\.\s*get\w+\(\s*\"([\w.-]+)\"\s*\)")
    asked = {each for text in texts for each in pattern.findall(text)}
    return f"${{{asked.pop()}}}" if len(asked) == 1 else None


# C#

HIGHEST: Final = 6
MOST: Final = 400
"""Files of a solution that are looked into."""
SOLUTION: Final = ("*.sln", "*.slnx", "Directory.*.props", ".git", "global.json")


OF_DOTNET: Final = re.compile(
    r"(?:(?:Enum\.Parse<\w+>|(?:bool|int|Convert)\.\w+)\(\s*)?\w*[cC]onfig\w*\s*"
    r"(?:\[\s*\"([\w:]+:\w+)\"\s*\]!?(?:\s*\?\?\s*\"([^\"]*)\")?"
    r"|\.GetValue(?:<[\w?.]+>)?\(\s*\"([\w:]+:\w+)\"\s*(?:,\s*(?:(Acks\.\w+|-?\d+|true|false)|\"([^\"]*)\")\s*)?\))"
    r"(?:\s*,\s*(?:true|ignoreCase:\s*true))?\s*\)?"
)
"""What a program of .NET's asks its configuration for by a key, and the default."""


def of_dotnet(source: Text, expression: str) -> tuple[str, str] | None:
    """A property of a class of options: what the only appsettings.json with its section says, or its initializer; and
    that file, if there is one.
    """
    if asked := OF_DOTNET.fullmatch(_of_sections(source, expression.strip())):
        said = {value: str(path) for path in _appsettings(source)
                if (value := _of_layers(path, (asked[1] or asked[3]).split(":")))}  # fmt: skip
        default = next((each for each in (asked[2], asked[4], asked[5]) if each is not None), None)
        if said or default is None:
            return next(iter(said.items())) if len(said) == 1 else None
        return default.removeprefix("Acks."), ""
    names = path_of(_of_local(source, re.sub(r"\.(?:Current)?Value\b(?=\.)", "", expression)))
    if len(names) != 2:
        return None
    typed = re.search(
        rf"\b([A-Z]\w*(?:Options|Settings|Config|Configuration))\??\s+{re.escape(names[0])}\b", source.content
    )
    typed = typed or re.search(r"\bIOptions(?:Monitor|Snapshot)?<(\w+)>", source.content)
    if typed is None:
        return None
    sources = {path: text for path in islice(_sources(source), MOST) if typed[1] in (text := _read(path))}
    home = next((text for text in sources.values() if re.search(rf"\b(?:class|record)\s+{typed[1]}\b", text)), None)
    section = _section(typed[1], home or "", sources.values())
    if home is None or not section:
        return None
    said = {
        value: str(path)
        for path in _appsettings(source)
        if (value := _of_layers(path, [*section.split(":"), names[1]])) is not None
    }
    if len(said) > 1:
        return None
    own = re.search(
        rf"\b(\w+)\??\s+{re.escape(names[1])}\s*\{{[^{{}}]*\}}(?:\s*=\s*(?:\"([^\"]*)\"|(-?\d+|true|false)|\w+\.(\w+)))?",
        home,
    )
    if said or own is None:
        return next(iter(said.items()), None)
    given = next((each for each in own.groups()[1:] if each is not None), None)
    value = given if given is not None else "false" if own[1] == "bool" else None
    return (value, "") if value is not None else None


def _of_sections(source: Text, expression: str) -> str:
    """An expression with the whole key where it asks a section: `section["Acks"]` of `GetSection("Kafka")`."""
    asked = re.search(r"\b(\w+)(?:\[\s*\"|\.GetValue(?:<[\w?.]+>)?\(\s*\")(\w+)\"", expression)
    bound = (
        re.search(
            rf"\b{asked[1]}\s*=\s*[^;]{{0,100}}?\bGet(?:Required)?Section\(\s*\"([\w:]+)\"\s*\)\s*;", source.content
        )
        if asked
        else None
    )
    if asked is None or bound is None:
        return expression
    whole = expression[: asked.start(2)] + f"{bound[1]}:{asked[2]}" + expression[asked.end(2) :]
    return whole.replace(f"{asked[1]}[", "configuration[").replace(f"{asked[1]}.GetValue", "configuration.GetValue")


def _of_local(source: Text, expression: str) -> str:
    """An expression with what its first name is bound to, if that is what options have: `var o = options.Value`."""
    root, dot, rest = expression.strip().partition(".")
    bound = (
        re.search(rf"\b(?:var|\w+)\s+{re.escape(root)}\s*=\s*(\w+)\.(?:Current)?Value\s*;", source.content)
        if dot
        else None
    )
    return f"{bound[1]}.{rest}" if bound else expression


def _root(source: Text) -> Path:
    folders = Path(source.path).absolute().parents[:HIGHEST]
    found = (
        each for names in (SOLUTION, ("*.csproj",)) for each in folders if any(any(each.glob(name)) for name in names)
    )
    return next(found, folders[0])


def _sources(source: Text) -> Iterator[Path]:
    yield from (path for path in _root(source).rglob("*.cs") if not {"bin", "obj"} & set(path.parts))


def _appsettings(source: Text) -> Iterator[Path]:
    found = _root(source).rglob("appsettings.json")
    yield from (path for path in islice(found, MOST) if not {"bin", "obj"} & set(path.parts))


def _of_layers(path: Path, names: list[str]) -> str | None:
    """What an appsettings.json says of a path of names, or the file of the environment that is put above it."""
    for each in islice(sorted(path.parent.glob("appsettings.*.json")), MOST):
        LAYERS[str(each)] = str(path)
    chosen = CHOSEN.get()
    above = _of_json(Path(chosen), names) if chosen and LAYERS.get(chosen) == str(path) else None
    value = above if above is not None else _of_json(path, names)
    if value is not None:
        ASKED.add(str(path))
    return value


def _read(path: Path) -> str:
    found = text_of(path)
    return found.content if found is not None else ""


def _section(kind: str, home: str, texts: Iterable[str]) -> str:
    """The section that a class of options is bound to; empty if the program does not say."""
    asks = re.compile(
        rf"(?:Configure<{kind}>\([^;]{{0,300}}?GetSection|AddOptions<{kind}>\(\)[^;]{{0,200}}?BindConfiguration)"
        r"\(\s*(?:\"([\w:]+)\"|nameof\((\w+)\)|[\w.]*?(\w+))\s*\)"
        rf"|GetSection\(\s*(?:\"([\w:]+)\"|nameof\((\w+)\)|[\w.]*?(\w+))\s*\)\s*\.Get<{kind}>"
    )
    for text in texts:
        if found := asks.search(text):
            literal = found[1] or found[2] or found[4] or found[5]
            named = re.search(rf"\bconst\s+string\s+{found[3] or found[6]}\s*=\s*\"([\w:]+)\"", home)
            return literal or (named[1] if named else "")
    return ""


def _of_json(path: Path, names: list[str]) -> str | None:
    """The value in a file of JSON below some names, whatever their case."""
    try:
        node: Any = json.loads(re.sub(r"(?m)^\s*//.*$", "", _read(path).lstrip("\ufeff")))
    except (ValueError, RecursionError):
        return None
    for name in names:
        found = [value for key, value in node.items() if key.lower() == name.lower()] if isinstance(node, dict) else []
        if not found:
            return None
        node = found[0]
    return json.dumps(node).strip('"') if isinstance(node, str | int | bool) else None


# Files of settings, by any library


def of_file(source: Text, expression: str) -> str | None:
    """What the files of a program say of a path of names, where a library binds them to a class: `conf.kafka.acks`."""
    names = path_of(
        expression.strip().lstrip("&").removesuffix(".as_str()").removesuffix(".clone()").removeprefix("self.")
    )
    told = said_below(source.path, names[1:]) if len(names) > 2 else None
    return told.value if told is not None and told.known else None


OF_CLAP: Final = re.compile(r"\benv\s*=\s*\"(\w+)\"|\bdefault_value(?:_t)?\s*=\s*(?:\"([^\"]*)\"|(-?\d+|true|false))")


def of_rust(source: Text, expression: str, texts: Iterable[str]) -> str | None:
    """A field of a struct of Rust's that a file of settings or arguments of a command are read into."""
    if (told := of_file(source, expression)) is not None:
        return told
    names = path_of(
        expression.strip().lstrip("&").removesuffix(".as_str()").removesuffix(".clone()").removeprefix("self.")
    )
    if len(names) < 2:
        return None
    field = re.compile(rf"((?:#\[[^\]]*\]\s*)+)(?:pub(?:\(\w+\))?\s+)?{re.escape(names[-1])}\s*:")
    found = {each[1] for text in texts for each in field.finditer(text)}
    if len(found) != 1:
        return None
    attributes = found.pop()
    parts = [each.groups() for each in OF_CLAP.finditer(attributes)]
    variable = next((each[0] for each in parts if each[0]), None)
    default = next((each[1] if each[1] is not None else each[2] for each in parts if not each[0]), None)
    function = re.search(r"\bserde\([^()]*default\s*=\s*\"(\w+)\"", attributes)
    for text in texts if function and default is None else ():
        body = re.search(rf"\bfn\s+{function[1]}\(\)[^{{]*\{{\s*(?:\"([^\"]*)\"|(-?\d+|true|false))", text)  # type: ignore[index]
        default = (body[1] if body[1] is not None else body[2]) if body else default
    if variable is None:
        return default
    return f"${{{variable}}}" if default is None else f"${{{variable}:{default}}}"


# JavaScript, TypeScript

NEST: Final = re.compile(
    r"[\w.]*[cC]onfig\w*\.get(?:OrThrow)?(?:<[^<>()]*>)?\(\s*['\"]([\w.]+)['\"]\s*"
    r"(?:,\s*(?:['\"]([^'\"]*)['\"]|(-?\d+|true|false))\s*)?(?:,\s*\{[^{}]*\}\s*)?\)!?"
)
"""What a service of settings is asked for, as NestJS' is: a variable, or a path of names, and the default."""
CONVERSION: Final = re.compile(r"(?:Number|parseInt|String|Boolean)\(\s*(.+?)\s*(?:,\s*10\s*)?\)|\+\s*(\w[\w.]*)")
LITERAL: Final = re.compile(r"['\"]([\w-]*)['\"]|(-?\d+|true|false)")


def of_script(
    source: Text, expression: str, function: str = "", called: str = "", owner: str = "", depth: int = 0
) -> tuple[str, str] | None:
    """What an expression of a script stands for, and the file of settings that says so: a field of an object that
    another module makes, what node-config or a service of settings is asked for, or a parameter that every call of its
    function gives the same. `function` is the text of what it stands in, `called` its name, `owner` its class.
    """
    text = re.sub(r"\s+as\s+\w+$", "", expression.strip())
    if depth > DEEPEST or len(text) > LONGEST:
        return None
    if inner := CONVERSION.fullmatch(text):
        return of_script(source, inner[1] or inner[2], function, called, owner, depth + 1) or _plain(text)
    if (told := asked_of_config(source, text)) is not None:
        return told
    if (asked := NEST.fullmatch(text)) is not None:
        return _of_service(source, asked[1], asked[2] if asked[2] is not None else asked[3])
    if (plain := _plain(text)) is not None:
        return plain
    if re.fullmatch(r"\w+", text):
        if (taken := of_environment(source.content).get(text)) is not None:
            return taken, ""
        given = passed(source, called, owner, text, function) if called else None
        values = {_of_argument(where, each, depth) for where, each in given or ()}
        return values.pop() if len(values) == 1 else None
    names = path_of(text)
    names = ["this", *names] if text.startswith("this.") and names[:1] != ["this"] and names else names
    if not names:
        return None
    if names[0] == "this" or (called and any(each == names[0] for each, _ in parameters_of(function))):
        return _of_object(source, names, function, called, owner, depth)
    module = imported(source, names[0])
    value = of_module(text, module, depth) if module is not None else _of_own(names, source, depth)
    if value is not None:
        return value, module.path if module is not None and module.file.endswith(".json") else ""
    loads = LOADS.search(module.content if module is not None else source.content)
    of_files = said_below(source.path, names[1:]) if loads is not None else None
    return (of_files.value, "") if of_files is not None and of_files.known else None


LOADS: Final = re.compile(
    r"\b(?:yaml|YAML|jsyaml|toml|TOML|ini|JSON)\.(?:load|safeLoad|parse)\(|\breadFileSync\(|\bnconf\b"
)
"""Where a script reads a file of settings."""


def _of_object(
    source: Text, names: Sequence[str], function: str, called: str, owner: str, depth: int
) -> tuple[str, str] | None:
    """A field of an object of a class, or of a parameter that every call gives."""
    at = 1 if names[0] == "this" else 0
    name, rest = names[at], list(names[at + 1 :])
    if at and (made := _property_of(source, name)) is not None:
        return of_script(source, ".".join([made, *rest]), depth=depth + 1)
    classes = re.findall(r"\bclass\s+(\w+)", source.content) if at else []
    if at and len(classes) == 1 and (constructor := re.search(r"\bconstructor\s*\(", source.content)):
        function, called, owner = source.content[constructor.start() :], "constructor", classes[0]
    values: set[tuple[str, str] | None] = set()
    for where, each in passed(source, called, owner, name, function) or ():
        if each.startswith("{") and rest:
            inside = of_module(".".join(["x", *rest]), Text(where.path, each[1:]), depth + 1)
            values.add((inside, "") if inside is not None else None)
        else:
            values.add(of_script(where, ".".join([each, *rest]), depth=depth + 1) if each else None)
    return values.pop() if len(values) == 1 else None


def _property_of(source: Text, name: str) -> str | None:
    """What a class of a script gives a property of its own, where that is done once."""
    pattern = rf"(?m)^[ \t]*(?:(?:private|public|protected|readonly|static)\s+)*{re.escape(name)}\s*(?::[^=;\n]+)?=\s*"
    found = [each.end() for each in re.finditer(pattern, source.content)]
    found += [each.end() for each in re.finditer(rf"\bthis\.{re.escape(name)}\s*=(?!=)\s*", source.content)]
    told = _value_from(source.content, found[0]) if len(found) == 1 else ""
    return told if told and told != name else None


def _of_own(names: Sequence[str], source: Text, depth: int) -> str | None:
    """A field of an object, or an enumeration, of the script itself: `const ACKS = { ALL: -1 }`."""
    if len(names) < 2:
        return None
    made = re.compile(
        rf"\b(?:(?:const|let|var)\s+{re.escape(names[0])}\b[^=;]{{0,100}}=\s*(?:Object\.freeze\(\s*)?|enum\s+{re.escape(names[0])}\s*)\{{"
    )
    found = made.search(source.content)
    if found is None:
        return None
    inside = source.content[found.end() : closing(source.content, found.end())]
    if found[0].startswith("enum"):
        inside = re.sub(r"\b(\w+)\s*=", r"\1:", inside)
    return of_module(".".join(["x", *names[1:]]), Text(source.path, inside), depth + 1)


def _value_from(content: str, start: int) -> str:
    """What stands from a place on to the comma, brace or line that ends it."""
    level = 0
    for at in range(start, min(len(content), start + LONGEST)):
        letter = content[at]
        if letter in "([{":
            level += 1
        elif letter in ")]}":
            level -= 1
        if level < 0 or (not level and letter in ",;\n"):
            return content[start:at].strip()
    return content[start : start + LONGEST].strip()


def _of_argument(source: Text, given: str, depth: int) -> tuple[str, str] | None:
    return of_script(source, given, depth=depth + 1) if given else None


COMPARED: Final = re.compile(
    r"\(?\s*(process\.env\b[^=!]*?)\s*\)?\s*(?:===?\s*['\"](true)['\"]|!==?\s*['\"]false['\"])"
)
"""Where a script makes what is true or false of a variable: `(process.env.X ?? 'true') === 'true'`."""


def _plain(text: str) -> tuple[str, str] | None:
    """A literal, or what the environment is asked for."""
    if literal := LITERAL.fullmatch(text):
        return (literal[1] if literal[1] is not None else literal[2]), ""
    if compared := COMPARED.fullmatch(text):  # a variable as what is true or false
        asked = asked_of(compared[1])
        if asked is not None and ":" not in asked:
            asked = f"{asked[:-1]}:{'false' if compared[2] == 'true' else 'true'}}}"
        return (asked, "") if asked is not None and re.search(r":(?:true|false)\}$", asked) else None
    asked = asked_of(text)
    return (asked, "") if asked is not None else None


def _of_service(source: Text, name: str, default: str | None) -> tuple[str, str] | None:
    """What a service of settings says: a variable of the environment, or a field of what is registered with it."""
    texts = scripts_of(workspace_of(Path(source.path)))
    if "." not in name and name.isupper():
        if default is None:
            schemas = {told for text in texts if (told := _of_schema(f"env.{name}", text.content)) and ":" in told}
            return (schemas.pop(), "") if len(schemas) == 1 else (f"${{{name}}}", "")
        return f"${{{name}:{default}}}", ""
    first, _, rest = name.partition(".")
    for text in texts:
        registered = re.search(rf"\bregisterAs\(\s*['\"]{re.escape(first)}['\"]", text.content)
        loaded = re.search(r"\bexport\s+default\s*(?:async\s*)?(?:\(\)|function\s*\w*\(\))", text.content)
        at = registered or (loaded if "config" in text.file else None)
        if at is not None and rest:
            part = Text(text.path, text.content[at.end() :])
            if (value := of_module(f"x.{rest if registered else name}", part)) is not None:
                return value, ""
    return None


def of_module(expression: str, module: Text, depth: int = 0) -> str | None:
    """A field of an object that another module of a script makes: a literal, or a variable with its default."""
    names = path_of(expression)
    content = module.content
    if len(names) < 2 or not content or depth > DEEPEST:
        return None
    start = 0
    for at, name in enumerate(names[1:-1], 1):
        inside = re.compile(rf"\b{re.escape(name)}['\"]?\s*:\s*\{{").search(content, start)
        if inside is None:
            return _of_part(names[at:], module, start, depth)
        start = inside.end()
    last = re.compile(rf"\b{re.escape(names[-1])}['\"]?\s*:\s*").search(content, start)
    if last is None:
        return None
    told = _value_from(content, last.end())
    if (plain := _plain(told)) is not None:
        return plain[0]
    if re.fullmatch(r"\w+", told) and (bound := re.search(rf"\bconst\s+{told}\b[^=;\n]{{0,80}}=\s*([^;\n]+)", content)):
        taken = of_environment(content).get(told)
        inner = _plain(bound[1].strip())
        return taken or (inner[0] if inner is not None else None)
    own = re.fullmatch(r"[A-Z][A-Z0-9_]*", names[-1]) is not None and "process.env" in content  # of the schema itself
    return of_environment(content).get(told) or _of_schema(f"env.{names[-1]}" if own else told, content)


def _of_part(names: list[str], module: Text, start: int, depth: int) -> str | None:
    """A field below what a module has of another one, or in a constant of its own: `{ kafka: kafkaConfig }`."""
    part = re.compile(rf"\b{re.escape(names[0])}\b(?:\s*:\s*(\w+))?\s*[,\n}}]").search(module.content, start)
    if part is None:
        return None
    name = part[1] or names[0]
    made = re.search(rf"\b(?:const|let|var)\s+{re.escape(name)}\b[^=;]{{0,100}}=\s*\{{", module.content)
    if made is not None:
        return of_module(".".join(["x", *names[1:]]), Text(module.path, module.content[made.end() :]), depth + 1)
    other = imported(module, name)
    return of_module(".".join([name, *names[1:]]), other, depth + 1) if other is not None else None


def _of_schema(told: str, module: str) -> str | None:
    """A variable of a schema of the environment, with its default: `ACKS: z.coerce.number().default(1)` of zod."""
    variable = re.fullmatch(r"\w*(?i:env|config|parsed|vars)\w*\.([A-Z][A-Z0-9_]*)", told)
    schema = re.search(rf"\b{variable[1]}\s*:\s*([^\n]+)", module) if variable else None
    if variable is None or schema is None:
        return None
    default = re.search(r"\bdefault(?:\(\s*|:\s*)(?:['\"]([^'\"]*)['\"]|(-?\d+|true|false))", schema[1])
    if default is None:
        return f"${{{variable[1]}}}"
    return f"${{{variable[1]}:{default[1] if default[1] is not None else default[2]}}}"
