"""What names of a Python source stand for in other files of its program: modules, constants, fields of settings.

A module is one of the program's own: beside the file, or in the package that the file is in. Of Django's `settings`,
the project's only settings.py counts. A constant counts if its name is bound once in its file. A field of a class that
inherits from pydantic's BaseSettings is a variable of the environment with a default.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Final

from audit.readers.keyed import root_of
from audit.readers.text import Text
from audit.readers.walk import text_of

HIGHEST: Final = 4
"""How many directories are looked into for the settings of a Django project."""
PARSED: Final = 64
"""Modules that are kept, since many files import the same one."""


@lru_cache(maxsize=8)
def _own_names(tree: ast.AST) -> Counter[str]:
    """How often a file binds each name: in statements, and as parameters of functions."""
    nodes = list(ast.walk(tree))
    names = Counter(each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
    names.update(each.arg for each in nodes if isinstance(each, ast.arg))
    return names


@lru_cache(maxsize=8)
def _imported_names(tree: ast.AST) -> frozenset[str]:
    """The names that a file has by its imports."""
    found = (each for each in ast.walk(tree) if isinstance(each, ast.Import | ast.ImportFrom))
    return frozenset(one.asname or one.name for each in found for one in each.names)


@lru_cache(maxsize=8)
def named(tree: ast.Module) -> dict[str, ast.expr]:
    """What the names of a file are bound to, where that is done once in it, and no function takes one of the name."""
    names = _own_names(tree)
    found: dict[str, ast.expr] = {}
    for each in ast.walk(tree):
        target = each.targets[0] if isinstance(each, ast.Assign) else getattr(each, "target", None)
        value = each.value if isinstance(each, ast.Assign | ast.AnnAssign) else None
        if isinstance(target, ast.Name) and value is not None and names[target.id] == 1:
            found[target.id] = value
    return found


@lru_cache(maxsize=8)
def imports(module: ast.AST) -> dict[str, tuple[ast.ImportFrom, str]]:
    """The names that a module imports from others, each with the statement and the name that it has there."""
    found = [each for each in ast.walk(module) if isinstance(each, ast.ImportFrom)]
    return {one.asname or one.name: (each, one.name) for each in found for one in each.names}


def module_named(source: Text, module: ast.AST, name: str) -> Text | None:
    """The file of a module that a file imports under a name; None if it is no file of the program's."""
    node, original = imports(module).get(name, (None, ""))
    if node is not None and (node.module, original) == ("django.conf", "settings"):
        return _settings_of_django(source)
    if node is not None:
        parts = ".".join(each for each in (node.module, original) if each)
        return module_of(source, ast.ImportFrom(parts, [], node.level))
    whole = _whole_imports(module).get(name)
    return module_of(source, ast.ImportFrom(whole, [], 0)) if whole is not None else None


@lru_cache(maxsize=8)
def _whole_imports(module: ast.AST) -> dict[str, str]:
    """The modules that a file imports whole, by the names that it has for them."""
    found = (each for each in ast.walk(module) if isinstance(each, ast.Import))
    return {one.asname or one.name: one.name for each in found for one in each.names}


def _settings_of_django(source: Text) -> Text | None:
    """The settings of the Django project that a file is in: the only settings.py in, or directly below, the nearest
    directory that has one; of a package `settings` the module that its others begin with.
    """
    for folder in Path(source.path).absolute().parents[:HIGHEST]:
        found = [path for path in (folder / "settings.py", *folder.glob("*/settings.py")) if path.is_file()]
        if found:
            return text_of(found[0]) if len(found) == 1 else None
        packages = [path for path in (folder / "settings", *sorted(folder.glob("*/settings"))) if path.is_dir()]
        if packages:
            return _base_of(packages[0]) if len(packages) == 1 else None
    return None


BASES: Final = ("base.py", "common.py", "defaults.py", "__init__.py")
"""Modules of a package of settings that the others begin with, the likeliest first."""
OF_DEVELOPERS: Final = re.compile(r"(?:test|dev|local|ci|debug)\w*\.py")
NAMES_KAFKA: Final = re.compile(r"(?mi)^\w*kafka\w*\s*[=\[.]")


def _base_of(package: Path) -> Text | None:
    """The module of a package of settings that the others begin with, if none that runs says anything of Kafka."""
    base = next((package / name for name in BASES if NAMES_KAFKA.search(_read(package / name))), None)
    if base is None:
        return None
    others = [path for path in sorted(package.glob("*.py"))[:PARSED] if path != base]
    if any(NAMES_KAFKA.search(_read(path)) for path in others if not OF_DEVELOPERS.fullmatch(path.name)):
        return None
    return text_of(base)


def _read(path: Path) -> str:
    found = text_of(path)
    return found.content if found is not None else ""


def module_of(source: Text, node: ast.ImportFrom) -> Text | None:
    """The module of a file's own package, or beside it, that it imports from; None if it cannot be read."""
    parts = (node.module or "").split(".") if node.module else []
    here = Path(source.path).parent
    if node.level:
        roots = [(here, *here.parents)[: node.level][-1]]
    else:
        roots = [here, *(above for above in here.parents if parts and _has(above, parts[0], here))]
        roots += _above(here) if parts else []
    for root in roots:
        at = root.joinpath(*parts)
        for path in (at.with_name(at.name + ".py"), at / "__init__.py"):
            if (found := text_of(path)) is not None:
                return found
    return None


def _above(here: Path) -> list[Path]:
    """The directories above a file's own, up to the root of its module, where a program is started."""
    root = root_of(str(here / "x.py"))
    return [each for each in here.parents[:HIGHEST] if each == root or root in each.parents]


def _has(above: Path, name: str, here: Path) -> bool:
    """Whether a directory is in a package of a name that is directly below another one."""
    below = here.relative_to(above).parts
    return len(below) > 0 and below[0] == name


@lru_cache(maxsize=PARSED)
def tree_of(source: Text) -> ast.Module | None:
    """The tree of another file; None if it is not Python."""
    try:
        return ast.parse(source.content)
    except (SyntaxError, RecursionError, ValueError, MemoryError):
        return None


def bound(source: Text, module: ast.Module, value: ast.expr) -> tuple[Text, ast.expr]:
    """What a name or a field of another module's stands for, and the file that says so; the value itself if it cannot
    be followed.
    """
    if isinstance(value, ast.Name):
        own = named(module).get(value.id)
        if own is not None or value.id in _own_names(module):
            return source, own or value
        return _imported(source, module, value)
    if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name):
        if _own_names(module)[value.value.id] > (value.value.id not in _imported_names(module)):
            return source, value
        return _field(source, module, value, value.value.id)
    return source, value


def _imported(source: Text, module: ast.Module, value: ast.Name) -> tuple[Text, ast.expr]:
    """The constant that a name is in the module that it is imported from."""
    node, original = imports(module).get(value.id, (None, ""))
    other = module_of(source, node) if node is not None else None
    tree = tree_of(other) if other is not None else None
    told = named(tree).get(original) if tree is not None else None
    return (other, told) if other is not None and told is not None else (source, value)


def _field(source: Text, module: ast.Module, value: ast.Attribute, owner: str) -> tuple[Text, ast.expr]:
    """A field: of a module (`config.ACKS`), of a class, or of the settings that a name is bound to."""
    if (other := module_named(source, module, owner)) is not None and (tree := tree_of(other)) is not None:
        told = named(tree).get(value.attr)
        return (other, told) if told is not None else (source, value)
    node, original = imports(module).get(owner, (None, owner))
    home = module_of(source, node) if node is not None else source
    tree = module if node is None else tree_of(home) if home is not None else None
    told = _of_class(tree, original, value.attr) if tree is not None else None
    return (home, told) if home is not None and told is not None else (source, value)


def _of_class(tree: ast.Module, name: str, attribute: str) -> ast.expr | None:
    """The value of an attribute of a class, or of the only instance that a name is bound to."""
    bound_to = named(tree).get(name)
    made = isinstance(bound_to, ast.Call) and isinstance(bound_to.func, ast.Name) and not bound_to.args
    wanted = bound_to.func.id if made and not bound_to.keywords else name  # type: ignore[union-attr]
    owner = next((each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == wanted), None)
    if owner is None:
        return None
    found = [each for each in owner.body if _binds_attribute(each, attribute)]
    value = getattr(found[0], "value", None) if len(found) == 1 else None
    if not any(ast.unparse(base).endswith("BaseSettings") for base in owner.bases):
        return value if not made or isinstance(value, ast.Constant) else None
    return variable_of(owner, attribute, value)


def _binds_attribute(node: ast.stmt, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return any(isinstance(each, ast.Name) and each.id == name for each in targets)


def variable_of(
    owner: ast.ClassDef, attribute: str, value: ast.expr | None, above: str | None = None
) -> ast.expr | None:
    """A field of pydantic's settings as the variable that it is read from: `os.getenv("PREFIX_FIELD", default)`.

    `above` is what the variables of a part of the settings begin with.
    """
    variable = ""
    if isinstance(value, ast.Call) and ast.unparse(value.func).endswith("Field"):
        words = {word.arg: word.value for word in value.keywords}
        told = next((words[each] for each in ("validation_alias", "alias", "env") if each in words), None)
        if told is not None and not (isinstance(told, ast.Constant) and isinstance(told.value, str)):
            return None
        if "default_factory" in words:
            return None
        variable = str(told.value).upper() if isinstance(told, ast.Constant) else ""
        value = value.args[0] if value.args else words.get("default")
    prefix = re.search(r"env_prefix\s*=\s*['\"](\w*)['\"]", ast.unparse(owner))
    begins = above if above is not None else prefix[1] if prefix else ""
    given: list[ast.expr] = [ast.Constant(variable or (begins + attribute).upper())]
    given += [value] if isinstance(value, ast.Constant) and value.value is not Ellipsis else []
    made = ast.Call(ast.Attribute(ast.Name("os"), "getenv"), given, [])
    return ast.fix_missing_locations(ast.copy_location(made, value or owner))
