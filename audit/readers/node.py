"""What a script of Node asks node-config for: `config.get('kafka.producer')` of `config/default.json` and its layers.

The directory `config` of the nearest directory above counts. A layer for one environment (`production.json`) may say
otherwise: `default` is in force by itself, and the layer that `keyed.CHOSEN` is is put above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from audit.model import Setting
from audit.readers.keyed import CHOSEN, LAYERS, TAKEN
from audit.readers.names import latest
from audit.readers.text import Text, Unreadable
from audit.readers.tree import Table, flatten, read_json, read_yaml
from audit.readers.walk import text_of

ASKED: Final = re.compile(r"\bconfig\.get\(\s*['\"]([\w.]+)['\"]\s*\)")
IMPORTED: Final = re.compile(r"\bfrom\s+['\"]config['\"]|\brequire\(\s*['\"]config['\"]\s*\)")
KINDS: Final = (".json", ".json5", ".yaml", ".yml")
OTHERS: Final = "custom-environment-variables"
HIGHEST: Final = 6
"""How many directories are looked into."""


def configured(source: Text, text: str) -> list[Setting] | None:
    """The settings that a part of a script asks node-config for; None if it asks for none, or nothing has them."""
    asked = ASKED.search(text)
    if asked is None or IMPORTED.search(source.content) is None:
        return None
    layers = list(_layers(source))
    told = [found for each in layers if (found := _at(each, asked[1]))]
    TAKEN.update(each.path for each in layers if _at(each, asked[1]))
    if not told:
        return None
    return list(latest(one for each in told for one in each).values())


OF_CONFIG: Final = r"\bconfig\.get(?:<[^<>()]*>)?\(\s*['\"]([\w.]+)['\"]\s*\)"
ASKS: Final = re.compile(rf"(?:{OF_CONFIG}|(\w+))((?:\??\.\w+)*)")
OF_NAMES: Final = re.compile(rf"\b(?:const|let|var)\s*\{{([^{{}}]*)\}}\s*=\s*{OF_CONFIG}")


def asked_of_config(source: Text, expression: str) -> tuple[str, str] | None:
    """What node-config's files say of an expression, and which of them: `settings.acks` of
    `const settings = config.get('kafka')`; None if it is nothing of theirs, or they do not agree.
    """
    found = ASKS.fullmatch(expression.strip()) if IMPORTED.search(source.content) else None
    if found is None:
        return None
    root = found[1] or _bound_to(source, found[2])
    path = ".".join(each for each in (root or "", *re.split(r"\??\.", found[3])) if each)
    layers = list(_layers(source)) if root is not None and path else []
    TAKEN.update(layer.path for layer in layers if "." in path and _at(layer, path.rpartition(".")[0]))
    said = [(one, layer.path) for layer in layers if (one := _value_at(layer, path)) is not None]
    return said[-1] if root is not None and said else None


def _bound_to(source: Text, name: str) -> str | None:
    """The path of node-config's that a name of a script stands for; None if it is none of its."""
    if name == "config":
        return ""
    bound = re.search(
        rf"\b(?:const|let|var)\s+{re.escape(name)}\b[^=;\n]{{0,100}}=\s*{OF_CONFIG}\s*(?:;|\n|$)", source.content
    )
    if bound is not None:
        return bound[1]
    for names, path in OF_NAMES.findall(source.content):
        for each in names.split(","):
            taken, _, own = (one.strip() for one in each.partition(":"))
            if (own or taken) == name:
                return f"{path}.{taken}"
    return None


def _value_at(layer: Text, path: str) -> str | None:
    above, _, last = path.rpartition(".")
    told = [each for each in _at(layer, above) if each.key == last] if above else []
    return told[-1].value if told else None


def _layers(source: Text) -> Iterator[Text]:
    """The file of the nearest directory of node-config's, and the layer that is chosen."""
    folders = [each / "config" for each in Path(source.path).absolute().parents[:HIGHEST]]
    folder = next((each for each in folders if any((each / f"default{end}").is_file() for end in KINDS)), None)
    paths = sorted(folder.iterdir(), key=lambda each: (each.stem != "default", each)) if folder is not None else []
    paths = [each for each in paths if each.suffix in KINDS and each.stem != OTHERS]
    for path in paths:
        if path.stem != "default":
            LAYERS[str(path)] = str(paths[0])
        chosen = path.stem == "default" or str(path) == CHOSEN.get()
        if chosen and (layer := text_of(path)) is not None:
            yield layer


def _at(layer: Text, path: str) -> list[Setting]:
    documents = read_yaml(layer) if layer.file.endswith(("yaml", "yml")) else read_json(layer)
    tree = documents.nodes[0] if documents.nodes else None
    try:
        return flatten(tree.table(*path.split(".")), layer) if isinstance(tree, Table) else []
    except Unreadable:
        return []
