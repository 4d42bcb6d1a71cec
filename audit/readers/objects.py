"""What expressions of a Python source stand for that need its classes and its calls: `self.settings.kafka.acks`, a
parameter that every call of its function gives the same.

The class of an object is told by an annotation, by what it is made with, or by what a function returns. A field of
pydantic's settings is a variable of the environment. A field of another class is what the only call of the class
gives it, or its default if none gives one. Where calls differ, or none is seen, nothing is concluded.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from audit.readers.keyed import root_of
from audit.readers.modules import imports, module_named, module_of, named, tree_of, variable_of
from audit.readers.text import Text
from audit.readers.walk import sources_below, text_of

FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
Function = ast.FunctionDef | ast.AsyncFunctionDef
DEEPEST: Final = 8
PARSED: Final = 64
"""Files whose names are kept by line, since many expressions are asked for in each."""
MOST: Final = 400
"""Python files of a module that are searched for calls."""
TESTS: Final = re.compile(r"(?:test_.+|.+_test|conftest)\.py")
SETTINGS: Final = re.compile(r"\b\w*BaseSettings\b")


@dataclass(frozen=True, slots=True)
class Place:
    """An expression, and the file that it stands in."""

    source: Text
    tree: ast.Module
    value: ast.expr


@dataclass(frozen=True, slots=True)
class Kind:
    """A class, and the file that it stands in."""

    source: Text
    tree: ast.Module
    owner: ast.ClassDef
    variables: str | None = None
    """What the variables begin with that a class has its fields of, if it is a part of pydantic's settings."""


CALLED: Final[ContextVar[Place | None]] = ContextVar("CALLED", default=None)
"""The call of a function for which its producer is told, where several calls give it something else."""
HEIR: Final[ContextVar[Kind | None]] = ContextVar("HEIR", default=None)
"""The class that `self` is an object of, where it inherits from the one that a node stands in."""


def heirs_of(source: Text, owner: ast.ClassDef) -> list[Kind]:
    """The classes of a module that inherit from one of a source."""
    found: list[Kind] = []
    for text in sources_of(root_of(source.path)):
        tree = tree_of(text) if owner.name in text.content else None
        for each in tree.body if tree is not None else ():
            if (
                tree is not None
                and isinstance(each, ast.ClassDef)
                and any(_last(one) == owner.name for one in each.bases)
            ):
                kind = Kind(text, tree, each)
                found += [kind] if _inherits(kind, source, owner) else []
    return found


def _inherits(kind: Kind, source: Text, owner: ast.ClassDef) -> bool:
    """Whether a class inherits from one of a source."""
    return any(
        (each.source.path, each.owner.name) == (source.path, owner.name) and each is not kind for each in _bases(kind)
    )


def stands_for(place: Place) -> Place | None:
    """What an expression stands for by the classes and calls of its program, one step further; None if not told."""
    value = place.value
    if isinstance(value, ast.Name):
        function = function_at(place.tree, value)
        if function is not None and value.id in _parameters(function):
            return given(place, function, value.id)
        return _local(place, value.id)
    if isinstance(value, ast.Attribute):
        kind = kind_of(replace(place, value=value.value))
        return _attribute(kind, value.attr) if kind is not None else None
    return None


def is_never_given(place: Place) -> bool:
    """Whether a name is what a function is given beside its parameters, or a parameter with an empty default, and no
    call of it gives any: `**overrides`.
    """
    value = place.value
    if isinstance(value, ast.BoolOp) and isinstance(value.op, ast.Or):
        value = value.values[0]
    function = function_at(place.tree, value)
    if not isinstance(value, ast.Name) or function is None:
        return False
    calls = calls_to(place, function)
    rest = function.args.kwarg
    if rest is not None and rest.arg == value.id:
        own = set(_parameters(function))
        return bool(calls) and all(word.arg in own for each in calls for word in _call(each).keywords)
    default = _default(function, value.id)
    empty = default is not None and ast.unparse(default) in ("None", "{}", "dict()")
    return empty and bool(calls) and all(_argument(each, function, value.id) is None for each in calls)


# Where a node stands


@lru_cache(maxsize=PARSED)
def _owners(tree: ast.Module) -> tuple[dict[int, Function], dict[int, ast.ClassDef]]:
    """By line, the innermost function, and the innermost class, of a file."""
    functions: dict[int, Function] = {}
    classes: dict[int, ast.ClassDef] = {}
    for each in ast.walk(tree):  # what is inside comes after what it is in
        if isinstance(each, ast.ClassDef):
            classes |= dict.fromkeys(range(each.lineno, (each.end_lineno or each.lineno) + 1), each)
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            functions |= dict.fromkeys(range(each.lineno, (each.end_lineno or each.lineno) + 1), each)
    return functions, classes


def function_at(tree: ast.Module, node: ast.AST) -> Function | None:
    """The innermost function that a node stands in."""
    return _owners(tree)[0].get(getattr(node, "lineno", 0))


def class_at(tree: ast.Module, node: ast.AST) -> ast.ClassDef | None:
    """The innermost class that a node stands in."""
    return _owners(tree)[1].get(getattr(node, "lineno", 0))


def _local(place: Place, name: str) -> Place | None:
    """What a function of a node's binds a name to, once."""
    function = function_at(place.tree, place.value)
    bound = [
        each.value
        for each in (ast.walk(function) if function is not None else ())
        if isinstance(each, ast.Assign | ast.AnnAssign) and each.value is not None and _targets(each) == [name]
    ]
    stored = [
        each
        for each in (ast.walk(function) if function is not None else ())
        if isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Store)
    ]
    return replace(place, value=bound[0]) if len(bound) == 1 == len(stored) else None


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [ast.unparse(each) for each in targets]


# What functions are given


def _parameters(function: Function) -> list[str]:
    return [each.arg for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]


def _default(function: Function, name: str) -> ast.expr | None:
    ordered = [*function.args.posonlyargs, *function.args.args]
    defaults = dict(zip([each.arg for each in ordered][::-1], function.args.defaults[::-1], strict=False))
    named_only = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    defaults |= {each.arg: value for each, value in named_only if value is not None}
    return defaults.get(name)


def given(place: Place, function: Function, name: str) -> Place | None:
    """What every call of a function gives a parameter; None if no call is seen, or they do not agree."""
    calls = calls_to(place, function)
    chosen = CALLED.get()
    if chosen is not None and any(each.value is chosen.value for each in calls):
        calls = (chosen,)
    found: list[Place] = []
    for each in calls:
        if any(isinstance(one, ast.Starred) for one in _call(each).args) or None in _words(_call(each)):
            return None
        passed = _argument(each, function, name)
        default = _default(function, name)
        if passed is None and default is None:
            return None
        found.append(
            replace(each, value=passed) if passed is not None else replace(place, value=default or place.value)
        )
    return _agreed(found)


def _agreed(found: Sequence[Place]) -> Place | None:
    """The one of several that all are alike."""
    first = next(iter(found), None)
    alike = all(
        isinstance(each.value, ast.Constant) and ast.dump(each.value) == ast.dump(found[0].value) for each in found
    )
    return first if len(found) == 1 or alike else None


def _words(call: ast.Call) -> list[str | None]:
    return [each.arg for each in call.keywords]


def _call(place: Place) -> ast.Call:
    assert isinstance(place.value, ast.Call)
    return place.value


def _argument(place: Place, function: Function, name: str) -> ast.expr | None:
    """What a call gives a parameter, if it does."""
    call = _call(place)
    by_word = next((each.value for each in call.keywords if each.arg == name), None)
    ordered = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    ordered = ordered[1:] if ordered[:1] in (["self"], ["cls"]) else ordered
    at = ordered.index(name) if name in ordered else len(call.args)
    return by_word or (call.args[at] if at < len(call.args) else None)


def calls_to(place: Place, function: Function) -> tuple[Place, ...]:
    """The calls of a function in its module; of an `__init__` those of its class, and of those that inherit from it."""
    root = root_of(place.source.path)
    owner = class_at(place.tree, function) if function.name == "__init__" else None
    if owner is None:
        return calls_of(root, function.name)
    heir = HEIR.get()
    if heir is not None and _inherits(heir, place.source, owner):
        return _calls_of_heir(heir, root)
    heirs = heirs_of(place.source, owner)
    return (*calls_of(root, owner.name), *(call for each in heirs for call in _calls_of_heir(each, root)))


def _calls_of_heir(heir: Kind, root: Path) -> tuple[Place, ...]:
    """How a class makes the one that it inherits from: in its own `__init__`, or else as it is made itself."""
    if method_of(heir, "__init__") is None:
        return calls_of(root, heir.owner.name)
    return tuple(
        Place(heir.source, heir.tree, each)
        for each in ast.walk(heir.owner)
        if isinstance(each, ast.Call) and ast.unparse(each.func) == "super().__init__"
    )


def calls_of(root: Path, name: str) -> tuple[Place, ...]:
    """The calls of what has a name, in the Python files of a module that are no tests."""
    return tuple(_calls(root).get(name, ()))


@lru_cache(maxsize=2)
def _calls(root: Path) -> dict[str, list[Place]]:
    """Every call in the Python files of a module, by what is called."""
    found: dict[str, list[Place]] = {}
    for text in sources_of(root):
        tree = tree_of(text)
        for each in ast.walk(tree) if tree is not None else ():
            if isinstance(each, ast.Call) and tree is not None:
                found.setdefault(_last(each.func), []).append(Place(text, tree, each))
    return found


@lru_cache(maxsize=2)
def sources_of(root: Path) -> tuple[Text, ...]:
    """The Python files of a module that are no tests."""
    found = (text_of(path) for path in sources_below(root, ".py", MOST, TESTS.fullmatch, skips=lambda *_: False))
    return tuple(each for each in found if each is not None)


def forget() -> None:
    """Read files anew when they are asked for next."""
    _calls.cache_clear()
    _made_by_factory.cache_clear()
    sources_of.cache_clear()


def _last(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


# Classes


def kind_of(place: Place, depth: int = 0) -> Kind | None:
    """The class of what an expression stands for, as far as that is written; of a class itself, that class."""
    value = place.value
    if depth > DEEPEST:
        return None
    if isinstance(value, ast.Await):
        return kind_of(replace(place, value=value.value), depth + 1)
    if isinstance(value, ast.BoolOp):
        return kind_of(replace(place, value=value.values[-1]), depth + 1)
    if isinstance(value, ast.Name):
        return _kind_of_name(place, value, depth)
    if isinstance(value, ast.Call):
        return _kind_of_call(place, value, depth)
    if isinstance(value, ast.Attribute):
        module = module_named(place.source, place.tree, value.value.id) if isinstance(value.value, ast.Name) else None
        tree = tree_of(module) if module is not None else None
        if module is not None and tree is not None:
            return kind_of(Place(module, tree, ast.Name(value.attr)), depth + 1)
        owner = kind_of(replace(place, value=value.value), depth + 1)
        return _kind_of_field(owner, value.attr, depth) if owner is not None else None
    return None


def _kind_of_name(place: Place, value: ast.Name, depth: int) -> Kind | None:
    if value.id in ("self", "cls"):
        owner, heir = class_at(place.tree, value), HEIR.get()
        if owner is not None and heir is not None and _inherits(heir, place.source, owner):
            return heir
        return Kind(place.source, place.tree, owner) if owner is not None else None
    function = function_at(place.tree, value)
    if function is not None:
        taken = (each for each in ast.walk(function.args) if isinstance(each, ast.arg))
        told = next((each.annotation for each in taken if each.arg == value.id), None)
        if told is not None:
            return _annotated(place, told, depth)
        if value.id in _parameters(function):
            passed = given(place, function, value.id)
            return kind_of(passed, depth + 1) if passed is not None else None
        if (local := _local(place, value.id)) is not None:
            return kind_of(local, depth + 1)
    if (own := _class(place, value.id)) is not None:
        return own
    if (bound := named(place.tree).get(value.id)) is not None:
        return kind_of(replace(place, value=bound), depth + 1)
    node, original = imports(place.tree).get(value.id, (None, ""))
    home = module_of(place.source, node) if node is not None else None
    tree = tree_of(home) if home is not None else None
    return kind_of(Place(home, tree, ast.Name(original)), depth + 1) if home is not None and tree is not None else None


def _class(place: Place, name: str) -> Kind | None:
    owner = _names_of(place.tree)[0].get(name)
    return Kind(place.source, place.tree, owner) if owner is not None else None


@lru_cache(maxsize=PARSED)
def _names_of(tree: ast.Module) -> tuple[dict[str, ast.ClassDef], dict[str, list[Function]]]:
    """The classes and the functions of a file, by their names."""
    functions: dict[str, list[Function]] = {}
    for each in tree.body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            functions.setdefault(each.name, []).append(each)
    return {each.name: each for each in reversed(tree.body) if isinstance(each, ast.ClassDef)}, functions


def _annotated(place: Place, annotation: ast.expr, depth: int) -> Kind | None:
    """The class that an annotation names: `X`, `"X"`, `X | None`, `Optional[X]`, `Annotated[X, …]`."""
    for _ in range(DEEPEST):
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = ast.parse(annotation.value, mode="eval").body
            except SyntaxError:
                return None
        elif isinstance(annotation, ast.BinOp):
            annotation = annotation.left
        elif isinstance(annotation, ast.Subscript):
            inner = annotation.slice
            annotation = inner.elts[0] if isinstance(inner, ast.Tuple) else inner
    if not isinstance(annotation, ast.Name | ast.Attribute):
        return None
    # Without a place, a name is one of the module's and no parameter.
    bare = ast.Name(annotation.id) if isinstance(annotation, ast.Name) else annotation
    return kind_of(replace(place, value=bare), depth + 1)


def _kind_of_call(place: Place, value: ast.Call, depth: int) -> Kind | None:
    """The class of what a call makes or returns."""
    function = value.func
    if isinstance(function, ast.Attribute):
        owner = kind_of(replace(place, value=function.value), depth + 1)
        method = method_of(owner, function.attr) if owner is not None else None
        if owner is not None and method is not None:
            return _kind_of_result(Place(owner.source, owner.tree, value), method, depth, owner)
    found = _function(place, _last(function))
    if found is not None:
        return _kind_of_result(Place(found[0], found[1], value), found[2], depth, None)
    return kind_of(replace(place, value=function), depth + 1)


def _kind_of_result(place: Place, function: Function, depth: int, owner: Kind | None) -> Kind | None:
    told = function.returns
    if owner is not None and told is not None and ast.unparse(told).strip("'\"") in ("Self", owner.owner.name):
        return owner
    if told is not None and (kind := _annotated(place, told, depth)) is not None:
        return kind
    returned = result_of(function)
    if returned is None:
        return None
    if owner is not None and isinstance(returned, ast.Call) and _last(returned.func) == "cls":
        return owner
    return kind_of(replace(place, value=returned), depth + 1)


def result_of(function: Function) -> ast.expr | None:
    """The only thing that a function returns."""
    found = [each.value for each in ast.walk(function) if isinstance(each, ast.Return) and each.value is not None]
    return found[0] if len(found) == 1 else None


def _function(place: Place, name: str) -> tuple[Text, ast.Module, Function] | None:
    """A function of a file, or of one that it imports it from."""
    own = _names_of(place.tree)[1].get(name, [])
    if own:
        return (place.source, place.tree, own[0]) if len(own) == 1 else None
    node, original = imports(place.tree).get(name, (None, ""))
    home = module_of(place.source, node) if node is not None else None
    tree = tree_of(home) if home is not None else None
    if home is None or tree is None:
        return None
    there = _names_of(tree)[1].get(original, [])
    return (home, tree, there[0]) if len(there) == 1 else None


def method_of(kind: Kind, name: str) -> Function | None:
    """The method of a class that has a name, if it is the only one."""
    found = [each for each in kind.owner.body if isinstance(each, FUNCTIONS) and each.name == name]
    return found[0] if len(found) == 1 else None


# Fields


def _kind_of_field(kind: Kind, name: str, depth: int) -> Kind | None:
    """The class of a field of an object."""
    own, statement = _statement(kind, name)
    inside: Kind | None = None
    if isinstance(statement, ast.AnnAssign):
        inside = _annotated(Place(own.source, own.tree, statement.target), statement.annotation, depth)
    elif isinstance(statement, ast.Assign):
        inside = kind_of(Place(own.source, own.tree, statement.value), depth + 1)
    elif (assigned := _assigned(kind, name)) is not None:
        return kind_of(assigned, depth + 1)
    elif (method := method_of(kind, name)) is not None:
        return _kind_of_result(Place(kind.source, kind.tree, ast.Name(name)), method, depth, kind)
    if inside is None or not (_is_settings(kind) or kind.variables is not None) or _is_settings(inside):
        return inside
    above = _prefix(kind) if kind.variables is None else kind.variables
    delimiter = re.search(r"env_nested_delimiter\s*=\s*['\"](\W?_*)['\"]", ast.unparse(kind.owner))
    return replace(inside, variables=f"{above}{name.upper()}{delimiter[1] if delimiter else '__'}")


def _prefix(kind: Kind) -> str:
    prefix = re.search(r"env_prefix\s*=\s*['\"](\w*)['\"]", ast.unparse(kind.owner))
    return prefix[1] if prefix else ""


def _is_settings(kind: Kind) -> bool:
    """Whether a class is one of pydantic's settings, or inherits from a class that is."""
    return any(SETTINGS.search(ast.unparse(base)) for each in _bases(kind) for base in each.owner.bases)


def _bases(kind: Kind) -> list[Kind]:
    """A class and those of the program that it inherits from."""
    found = [kind]
    for each in found:
        for base in each.owner.bases if len(found) < DEEPEST else ():
            inherited = kind_of(Place(each.source, each.tree, ast.Name(_last(base))), DEEPEST - 1)
            found += [inherited] if inherited is not None and inherited not in found else []
    return found


def _statement(kind: Kind, name: str) -> tuple[Kind, ast.stmt | None]:
    """The statement of a class, or of one that it inherits from, that binds a field."""
    for each in _bases(kind):
        bound = [
            one for one in each.owner.body if isinstance(one, ast.Assign | ast.AnnAssign) and _targets(one) == [name]
        ]
        if bound:
            return each, bound[0] if len(bound) == 1 else None
    return kind, None


def _assigned(kind: Kind, name: str) -> Place | None:
    """What the methods of a class bind a field to, once."""
    found = [
        each.value
        for each in ast.walk(kind.owner)
        if isinstance(each, ast.Assign | ast.AnnAssign)
        and each.value is not None
        and _targets(each) == [f"self.{name}"]
    ]
    return Place(kind.source, kind.tree, found[0]) if len(found) == 1 else None


def _attribute(kind: Kind, name: str) -> Place | None:
    """What a field of an object stands for."""
    own, statement = _statement(kind, name)
    if statement is None:
        if (assigned := _assigned(kind, name)) is not None:
            return assigned
        method = method_of(kind, name)
        returned = result_of(method) if method is not None and method.decorator_list else None
        return Place(kind.source, kind.tree, returned) if returned is not None else None
    value = getattr(statement, "value", None)
    if kind.variables is not None or _is_settings(kind):
        made = variable_of(kind.owner, name, value, kind.variables)
        return Place(own.source, own.tree, made) if made is not None else None
    if _assigned(kind, name) is not None:
        return None
    value = _unwrapped(value)
    if _is_filled(own):
        return _constructed(kind, own, name, value)
    return Place(own.source, own.tree, value) if value is not None else None


def _unwrapped(value: ast.expr | None) -> ast.expr | None:
    """The default of a field of a dataclass, or of a model."""
    if not isinstance(value, ast.Call) or _last(value.func) not in ("field", "Field", "ib", "attrib"):
        return value
    words = {each.arg: each.value for each in value.keywords}
    factory = words.get("default_factory") or words.get("factory")
    if isinstance(factory, ast.Lambda):
        return factory.body
    return words.get("default") or (value.args[0] if value.args else None)


def _is_filled(kind: Kind) -> bool:
    """Whether what is made of a class is given its fields: a dataclass, a model of pydantic's, a named tuple."""
    decorated = any(
        re.search(r"dataclass|\battrs?\b|define|frozen", ast.unparse(each)) for each in kind.owner.decorator_list
    )
    return decorated or any(re.search(r"BaseModel|NamedTuple|Struct\b", ast.unparse(each)) for each in kind.owner.bases)


def _constructed(kind: Kind, own: Kind, name: str, default: ast.expr | None) -> Place | None:
    """What is given to a field where objects of a class are made; None if none is, or they differ."""
    made = [*calls_of(root_of(kind.source.path), kind.owner.name)]
    made += [
        Place(kind.source, kind.tree, each)
        for each in ast.walk(kind.owner)
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "cls"
    ]
    bare = _made_by_factory(root_of(kind.source.path), kind.owner.name)
    names = [each.target.id for each in own.owner.body
             if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)]  # fmt: skip
    found: list[Place] = [Place(own.source, own.tree, default)] if bare and default is not None else []
    for each in made:
        call = _call(each)
        spread = [one.value for one in call.keywords if one.arg is None]
        if any(isinstance(one, ast.Starred) for one in call.args) or any(_may_have(each, one, name) for one in spread):
            return None
        word = next((one.value for one in call.keywords if one.arg == name), None)
        at = names.index(name) if name in names else len(call.args)
        passed = word or (call.args[at] if at < len(call.args) else None)
        if passed is None and default is None:
            return None
        found.append(replace(each, value=passed) if passed is not None else Place(own.source, own.tree, default))  # type: ignore[arg-type]
    return _agreed(found) if found else None


def _may_have(place: Place, spread: ast.expr, name: str) -> bool:
    """Whether a dictionary that a call spreads may have a name: it is not one that its function fills with others."""
    function = function_at(place.tree, place.value)
    if not isinstance(spread, ast.Name) or function is None:
        return True
    used = [each for each in ast.walk(function) if isinstance(each, ast.Name) and each.id == spread.id]
    stored = [each for each in ast.walk(function) if isinstance(each, ast.Subscript)
              and isinstance(each.value, ast.Name) and each.value.id == spread.id]  # fmt: skip
    keys = [each.slice.value for each in stored if isinstance(each.slice, ast.Constant)]
    bound = _local(replace(place, value=spread), spread.id)
    fresh = bound is not None and ast.unparse(bound.value) in ("{}", "dict()")
    return not fresh or len(keys) != len(stored) or len(used) != len(stored) + 2 or name in keys


def fields_of(kind: Kind) -> list[str]:
    """The fields that a class declares, and those that it inherits from."""
    named = [each.target.id for one in _bases(kind) for each in one.owner.body
             if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)]  # fmt: skip
    return list(dict.fromkeys(named))


@lru_cache(maxsize=64)
def _made_by_factory(root: Path, name: str) -> bool:
    """Whether a class is what makes the default of a field."""
    factory = re.compile(rf"\b(?:default_)?factory\s*=\s*(?:\w+\.)?{re.escape(name)}\b")
    return any(factory.search(text.content) for text in sources_of(root))
