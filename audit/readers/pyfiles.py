"""What a Python source asks for by names: what it loads from files of YAML, JSON, TOML or INI
(`config["kafka"]["acks"]`), the arguments of its command (`args.acks`), and helpers that read the environment
(`config("ACKS", default="all")`).
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from audit.model import Setting
from audit.readers.keyed import TAKEN, Told, root_of, said, section_in
from audit.readers.modules import imports, module_of, named, tree_of
from audit.readers.names import relaxed
from audit.readers.objects import Function, Place, function_at, sources_of, stands_for
from audit.readers.text import Text
from audit.readers.walk import text_of

LOADS: Final = frozenset({"load", "loads", "safe_load", "full_load", "unsafe_load"})
PARSERS: Final = re.compile(r"\b(?:Raw|Safe)?ConfigParser\(")
GETS: Final = frozenset({"get", "getint", "getboolean", "getfloat"})
DEEPEST: Final = 4
HELPER: Final = re.compile(r"(?:\w+\.)*(?:env|config|environ)(?:\.(?:str|int|bool|get|get_value|float))?")
"""What helpers that read a variable are called: of environs, django-environ, decouple, Starlette."""
LIBRARIES: Final = re.compile(r"\b(?:environs?|decouple|starlette|envparse|dotenv)\b")


def variable_of_helper(value: ast.expr, module: ast.Module) -> tuple[str, ast.expr | None] | None:
    """The variable that a helper is asked for, and its default; None if it is no such call."""
    if not isinstance(value, ast.Call) or not value.args or not HELPER.fullmatch(ast.unparse(value.func)):
        return None
    first = value.args[0]
    if not isinstance(first, ast.Constant) or not re.fullmatch(r"[A-Z][A-Z0-9_]*", str(first.value)):
        return None
    if not any(
        LIBRARIES.search(ast.unparse(each)) for each in module.body if isinstance(each, ast.Import | ast.ImportFrom)
    ):
        return None
    default = next((each.value for each in value.keywords if each.arg == "default"), None)
    return str(first.value), default or (value.args[1] if len(value.args) > 1 else None)


def option_of(place: Place) -> ast.expr | None:
    """The default of an argument of the command: `args.acks` of argparse, a parameter that click or Typer fills."""
    value = place.value
    if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name):
        return _of_argparse(place, value.attr) if _parses(place, value.value.id) else None
    function = function_at(place.tree, value)
    return _of_click(function, value.id) if isinstance(value, ast.Name) and function is not None else None


def _parses(place: Place, name: str) -> bool:
    """Whether a name is bound to what a command was called with, or a function takes it under its usual name."""
    names = _parsed_names(place.source.content)
    return name in names or (bool(names) and name in ("args", "opts", "options"))


@lru_cache(maxsize=8)
def _parsed_names(content: str) -> frozenset[str]:
    """The names of a source that are bound to what a command was called with; "" if something only returns it."""
    bound = re.findall(r"(?m)^\s*(\w+)(?:\s*,\s*\w+)?\s*(?::[^=\n]+)?=\s*[\w.]*pars\w*\(", content)
    return frozenset([*bound, ""] if ".parse_args(" in content else bound)


def _of_argparse(place: Place, attribute: str) -> ast.expr | None:
    found: list[ast.expr | None] = []
    for each in ast.walk(place.tree):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "add_argument":
            words = {word.arg: word.value for word in each.keywords}
            names = [str(one.value).lstrip("-").replace("-", "_") for one in each.args if isinstance(one, ast.Constant)]
            dest = words.get("dest")
            if attribute in ([str(dest.value)] if isinstance(dest, ast.Constant) else names):
                found.append(words.get("default"))
    return found[0] if len(found) == 1 else None


def _of_click(function: Function, name: str) -> ast.expr | None:
    for each in function.decorator_list:
        if isinstance(each, ast.Call) and ast.unparse(each.func).endswith("option"):
            names = [str(one.value).lstrip("-").replace("-", "_") for one in each.args if isinstance(one, ast.Constant)]
            if name in names:
                return next((word.value for word in each.keywords if word.arg == "default"), None)
    return None


def of_loaded_file(place: Place) -> tuple[Told | None, ast.expr | None]:
    """What a file that the source loads says of an expression, and the default beside it."""
    for attributes in (False, True):
        path, default, root = _path_of(place, attributes=attributes)
        if path and root is not place.value and _is_loaded(place, root, 0, boxed=attributes):
            return said(place.source.path, path), default
    return None, None


NAMED: Final = re.compile(r"[\w.-]+\.(?:json|ya?ml|toml)\b")
"""Files that a source names."""


def section_of_loaded(place: Place, path: Sequence[str]) -> list[Setting] | None:
    """The settings of a section of the only file of the program's that has it, if an expression is what a file was read
    into; None if it is not.
    """
    if not _is_loaded(place, place.value, 0):
        return None
    found = section_in(place.source.path, path)
    named = NAMED.findall(place.source.content)
    told = found[1] if found is not None and (not named or os.path.basename(found[0]) in named) else None
    origin = place.source.origin(getattr(place.value, "lineno", None))
    settings = [
        Setting(key, value, origin, note=f"{'.'.join(path)} of a file")
        for name, value in (told or {}).items()
        if (key := relaxed(name)) is not None
    ]
    return settings or None


def _path_of(place: Place, *, attributes: bool) -> tuple[list[str], ast.expr | None, ast.expr]:
    """The names that an expression asks for, the default beside them, and of what; names of attributes too, or not."""
    path: list[str] = []
    default: ast.expr | None = None
    node = place.value
    for _ in range(20):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            path.insert(0, str(node.slice.value))
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in GETS:
            names = [str(each.value) if isinstance(each, ast.Constant) else "" for each in node.args]
            parser = _is_parser(place, node.func.value)
            taken = names[:2] if parser and len(names) > 1 else names[:1]
            if not taken or not all(taken):
                return [], None, node
            words = {each.arg: each.value for each in node.keywords}
            if not path:
                default = words.get("fallback") or (node.args[1] if not parser and len(node.args) > 1 else None)
            path[:0] = taken
            node = node.func.value
        elif attributes and isinstance(node, ast.Attribute):
            path.insert(0, node.attr)
            node = node.value
        else:
            break
    return path, default, node


def of_flask(place: Place) -> Place | None:
    """What `app.config["KAFKA_ACKS"]` of Flask stands for: the only value that settings of the program give it."""
    node = place.value
    named_by = node.slice if isinstance(node, ast.Subscript) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        named_by, node = node.args[0], node.func
    if not isinstance(node, ast.Subscript | ast.Attribute) or not ast.unparse(node.value).endswith("app.config"):
        return None
    name = str(named_by.value) if isinstance(named_by, ast.Constant) else ""
    found = [
        Place(text, tree, each.value)
        for text in sources_of(root_of(place.source.path))
        if name.isupper() and re.search(rf"(?m)^\s*{re.escape(name)}\s*(?::[^=\n]+)?=", text.content)
        and (tree := tree_of(text)) is not None
        for each in ast.walk(tree)
        if isinstance(each, ast.Assign) and [ast.unparse(one) for one in each.targets] == [name]
    ]  # fmt: skip
    return found[0] if len({ast.unparse(each.value) for each in found}) == 1 else None


def _is_parser(place: Place, node: ast.expr) -> bool:
    value = _bound(place, node)
    return value is not None and PARSERS.search(ast.unparse(value)) is not None


def _bound(place: Place, node: ast.expr) -> ast.expr | None:
    """What a name is bound to, once, in its function or its file."""
    if not isinstance(node, ast.Name):
        return None
    own = named(place.tree).get(node.id)
    return own


BOXES: Final = re.compile(r"\b(?:Dynaconf|LazySettings|OmegaConf\.load|Box|Munch|SimpleNamespace)\(")
"""What makes an object whose attributes are the settings of a file."""


def _is_loaded(place: Place, node: ast.expr, depth: int, *, boxed: bool = False) -> bool:
    """Whether an expression is what a file was read into: by itself, a name, a field, or what a function returns."""
    if depth > DEEPEST:
        return False
    text = ast.unparse(node)
    if boxed:
        bound = _bound(place, node)
        function = function_at(place.tree, node)
        hydra = (
            function is not None
            and isinstance(node, ast.Name)
            and f"{node.id}: DictConfig" in ast.unparse(function.args)
        )
        imported = isinstance(node, ast.Name) and node.id in imports(place.tree) and _is_boxed_elsewhere(place, node.id)
        return hydra or imported or (bound is not None and BOXES.match(ast.unparse(bound)) is not None)
    if isinstance(node, ast.Call):
        last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if last in LOADS or PARSERS.search(text):
            return True
        bodies = [each for each in ast.walk(place.tree) if isinstance(each, ast.FunctionDef) and each.name == last]
        if bodies:
            return any(_loads(each) for each in bodies)
        return (
            last in imports(place.tree)
            and re.search(r"(?i)(?:load|read|get)_?\w*(?:config|settings)", last) is not None
        )
    if isinstance(node, ast.Name):
        bound = _bound(place, node)
        if bound is not None:
            return _is_loaded(place, bound, depth + 1)
        further = stands_for(Place(place.source, place.tree, node))
        if further is not None:
            return _is_loaded(further, further.value, depth + 1)
        return node.id in imports(place.tree) and re.fullmatch(r"(?i)(?:config|cfg|conf|settings)", node.id) is not None
    if isinstance(node, ast.Attribute):
        further = stands_for(Place(place.source, place.tree, node))
        return further is not None and _is_loaded(further, further.value, depth + 1)
    if isinstance(node, ast.Subscript):
        return _is_loaded(place, node.value, depth + 1)
    return False


def _is_boxed_elsewhere(place: Place, name: str) -> bool:
    node, original = imports(place.tree)[name]
    home = module_of(place.source, node)
    tree = tree_of(home) if home is not None else None
    bound = named(tree).get(original) if tree is not None else None
    return bound is not None and BOXES.match(ast.unparse(bound)) is not None


def _loads(function: ast.AST) -> bool:
    called = (each.func for each in ast.walk(function) if isinstance(each, ast.Call))
    return any((each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "")) in LOADS for each in called)


INI: Final = ("*.ini", "*.cfg", "*.conf", "*.properties", "*.config")
SECTION: Final = re.compile(r"(?m)^\[([^\]\n]+)\][ \t]*$")
PAIR: Final = re.compile(r"(?m)^[ \t]*([\w.-]+)[ \t]*[=:][ \t]*(.*?)[ \t]*$")


def section_of_ini(source: Text, name: str) -> list[Setting] | None:
    """The settings of a section of the only INI file beside a source, or a directory above, that has it."""
    for folder in Path(source.path).absolute().parents[:2]:
        texts = [text for kind in INI for path in sorted(folder.glob(kind)) if (text := text_of(path)) is not None]
        found = [(text, part) for text in texts if (part := _section(text, name)) is not None]
        if found:
            TAKEN.update(text.path for text, _ in found)
            return found[0][1] if len(found) == 1 else None
    return None


def _section(text: Text, name: str) -> list[Setting] | None:
    """The settings of a section of an INI file, with its lines; None if it has no such section."""
    heads = list(SECTION.finditer(text.content))
    at = next((place for place, each in enumerate(heads) if each[1].lower() == name.lower()), None)
    if at is None:
        return None
    end = heads[at + 1].start() if at + 1 < len(heads) else len(text.content)
    pairs = PAIR.finditer(text.content, heads[at].end(), end)
    return [Setting(each[1], each[2], text.origin(text.line_at(each.start()))) for each in pairs]
