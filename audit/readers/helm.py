"""Templates of a Helm chart, rendered as far as that is certain: with the chart's values, line by line.

An expression becomes its value of `values.yaml`. Where that has none, the expression stays in quotes as it is, and is
reported as unknown. The layers beside it, such as `values-prod.yaml`, are stages of their own (`stages`). A line of
control (`if`, `range`, `with`, `end`) is left out, so that every branch is read as if it counted. `toYaml` becomes its
value in one line, so that lines keep their numbers. What a helper makes (`include`) is a name, or nothing where it
makes a block.

That is no `helm template`: conditions, loops, subcharts and values of `--set` are not known here. `RENDERED` says so in
the answer, with the command that tells all of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from audit.readers.text import Text
from audit.readers.tree import Listing, Node, Scalar, Table, read_yaml

CHART: Final = "Chart.yaml"
RENDERED: Final = "a Helm template, read with the chart's own values, every branch as if it counted"
EXPRESSION: Final = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}", re.DOTALL)
CONTROL: Final = re.compile(r"(?:if|else|end|range|with|define|block|template|fail)\b|/\*|\$\w+(?:, *\$\w+)?\s*:?=")
BLOCK: Final = re.compile(r"^.*\|\s*n?indent\s+(\d+)$", re.DOTALL)
UNKNOWN: Final = "__HELM__"
"""Part of a text that is not known (`placeholders.OTHERS` takes it for what it is)."""
LAYER: Final = re.compile(r"(?:.*[-_.])?values(?:[-_.].*)?\.ya?ml", re.IGNORECASE)
LAYERS_IN: Final = (".", "values", "environments", "env", "envs", "config")
"""The directories of a chart in which layers of values lie."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart: its values, and the layers that may lie above them."""

    values: Table
    layers: tuple[tuple[str, Table], ...] = ()
    """The files of values that lie above its own in a stage, each with its path."""

    def value(self, path: Sequence[str]) -> Node | None:
        """The value at a path, if the chart has one."""
        return self.values.get(*path)

    def staged(self, path: str) -> Chart:
        """The chart with a layer above its values."""
        return Chart(_merged(self.values, next(layer for each, layer in self.layers if each == path)))


def _merged(values: Table, layer: Table) -> Table:
    """Values, with those of a layer above them."""
    above = {name: (line, node) for name, line, node in layer.items}
    items = []
    for name, line, node in values.items:
        at, other = above.pop(name, (line, node))
        both = isinstance(node, Table) and isinstance(other, Table)
        items.append((name, at, _merged(node, other) if both else other))  # type: ignore[arg-type]
    return Table((*items, *((name, line, node) for name, (line, node) in above.items())), values.line)


def chart_of(path: str, known: dict[Path, Chart | None]) -> Chart | None:
    """The chart that a file is a template of; None for every other file. `known` keeps those that were read."""
    if "templates" not in path:
        return None
    parts = Path(path).absolute().parts
    if "templates" not in parts[:-1]:
        return None
    root = Path(*parts[: len(parts) - 1 - parts[::-1].index("templates")])
    if root not in known:
        known[root] = read_chart(root) if (root / CHART).is_file() else None
    return known[root]


def has_templates(path: str) -> bool:
    """Whether a file is a layer of values of a chart whose templates are read with it."""
    if LAYER.fullmatch(path.rpartition("/")[2]) is None:
        return False
    folder = Path(path).absolute().parent
    beside = (folder, folder.parent) if folder.name in LAYERS_IN else (folder,)
    return any((each / CHART).is_file() and (each / "templates").is_dir() for each in beside)


def read_chart(root: Path) -> Chart:
    """A chart's values, and the layers of values in its directory."""
    layers: list[tuple[str, Table]] = []
    for name in LAYERS_IN:
        folder = root / name
        for file in sorted(folder.iterdir()) if folder.is_dir() else ():
            layer = LAYER.fullmatch(file.name) or (name != "." and file.suffix in (".yaml", ".yml"))
            if layer and file != root / "values.yaml" and file.is_file():
                layers.append((str(file), _table(file)))
    return Chart(_table(root / "values.yaml"), tuple(layers))


def _table(file: Path) -> Table:
    try:
        content = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return Table((), None)
    node = next(iter(read_yaml(Text(str(file), content)).nodes), None)
    return node if isinstance(node, Table) else Table((), None)


def rendered(source: Text, chart: Chart) -> Text:
    """A template with its expressions replaced; its lines keep their numbers."""
    done, at = [], 0
    content = LOOP.sub(lambda found: _unrolled(found, chart), source.content)
    for found in EXPRESSION.finditer(content):
        done += [content[at : found.start()], _replaced(found, content, chart)]
        at = found.end()
    return replace(source, content="".join([*done, content[at:]]))


LOOP: Final = re.compile(
    r"(?P<key>(?m:^)[ \t]*[\w-]+:[ \t]*\n)?"
    r"(?P<open>[ \t]*\{\{-?\s*range\s+\$(?P<name>\w+)\s*,\s*\$(?P<value>\w+)\s*:=\s*"
    r"\.Values(?P<path>(?:\.\w+)+)\s*-?\}\})(?P<body>(?:(?!\{\{-?\s*(?:range|if|with|end)\b).)*?)"
    r"(?P<close>[ \t]*\{\{-?\s*end\s*-?\}\})(?P<after>[ \t]*\n[ \t]*-)?",
    re.DOTALL,
)
"""A loop over a map of the values."""
AS_ITEM: Final = r"\s*-\s+name:\s*{name}\s+value:\s*{value}\s*"
AS_ENTRY: Final = r"\s*{name}:\s*{value}\s*"
CALLED: Final = r"[\"']?\{{\{{-?\s*(?:\w+\s+)?\${}\b[^{{}}]*\}}\}}[\"']?"
"""A variable of a loop, with what it is piped through."""


def _unrolled(found: re.Match[str], chart: Chart) -> str:
    """A loop that makes the variables of a container, or the entries of a map, with what it makes in one line; any
    other loop as it is.
    """
    path = found["path"].strip(".").split(".")
    table = chart.values.get(*path)
    if not isinstance(table, Table):
        return found[0]
    names = {"name": CALLED.format(found["name"]), "value": CALLED.format(found["value"])}
    body, indent = found["body"], re.search(r"\n([ \t]*)\S", found["body"])
    entries = {name: _agreed(chart, [*path, name]) for name, _, _ in table.items}
    if re.fullmatch(AS_ITEM.format(**names), body) and found["key"] and not found["after"]:
        made = " " + json.dumps([{"name": name, "value": value} for name, value in entries.items()])
    elif re.fullmatch(AS_ENTRY.format(**names), body):
        made = f"<<: {json.dumps(entries)}"
    else:
        return found[0]
    lines = "\n" * (found["open"].count("\n") + body.count("\n") + found["close"].count("\n"))
    return f"{found['key'] or ''}{indent[1] if indent else ''}{made}{lines}{found['after'] or ''}"


def _agreed(chart: Chart, path: Sequence[str]) -> str:
    """A value of a map that a template loops over, as its text; what is no text is an expression still."""
    value = chart.value(path)
    return value.text if isinstance(value, Scalar) else f"{{{{ .Values.{'.'.join(path)} }}}}"


def _replaced(found: re.Match[str], content: str, chart: Chart) -> str:
    lines = "\n" * found[0].count("\n")
    inside = found[1].strip()
    if CONTROL.match(inside):
        return lines
    line = content.rfind("\n", 0, found.start()) + 1
    begins = not content[line : found.start()].strip()
    block = BLOCK.match(inside)
    node = _evaluated(inside, chart)
    if block is not None:
        return _block(node, " " * (int(block[1]) - (found.start() - line)) if begins else " ", alone=begins) + lines
    if isinstance(node, Scalar):
        quoted = re.search(r"\|\s*(?:quote|squote)\b|^quote\b", inside) is not None
        return (json.dumps(node.text) if quoted else node.text) + lines
    if isinstance(node, Table | Listing):
        return json.dumps(_plain(node)) + lines
    if begins and content[found.end() : found.end() + 1] in ("\n", ""):
        return lines
    if begins or inside.startswith(("include", ".Release", ".Chart", ".Capabilities", ".Template")):
        return "helm" + lines
    return _unknown(found, content) + lines


def _block(node: Node | None, indent: str, *, alone: bool) -> str:
    """A value in one line, where a template has a block of YAML: a mapping that has a line alone is merged into what
    is around it. Nothing where the value is not known, or empty.
    """
    if not isinstance(node, Table | Listing) or not node.items:
        return ""
    merged = "<<: " if alone and isinstance(node, Table) else ""
    return indent + merged + json.dumps(_plain(node))


def _unknown(found: re.Match[str], content: str) -> str:
    """What is not known, as a text that YAML takes: in quotes if it is all of a value, else a mark."""
    text = re.sub(r"\s+", " ", found[0]).replace('"', "'")
    line = content[content.rfind("\n", 0, found.start()) + 1 : found.start()]
    if line.count('"') % 2:
        return text
    whole = line.endswith(" ") and content[found.end() : found.end() + 1] in ("\n", "")
    return f'"{text}"' if whole else UNKNOWN


def _evaluated(inside: str, chart: Chart) -> Node | None:
    """The value of an expression that names one; of `default`, what it is set to, else the default that is written."""
    named = re.search(r"\$?\.Values((?:\.\w+)+)", inside)
    default = re.search(r"default\s+(?:\"([^\"]*)\"|([\w.-]+))", inside)
    if (
        named is None
        or len(re.findall(r"\.Values\.", inside)) > 1
        or re.search(r"\b(?:printf|ternary|eq|and|or)\b", inside)
    ):
        return None
    path = named[1].strip(".").split(".")
    value = chart.value(path)
    if default is not None and (value is None or (isinstance(value, Scalar) and not value.text)):
        return Scalar(default[1] if default[1] is not None else default[2], None)
    return value


def _plain(node: Node | None) -> object:
    """A value as JSON has it."""
    if isinstance(node, Table):
        return {name: _plain(value) for name, _, value in node.items}
    if isinstance(node, Listing):
        return [_plain(each) for each in node.items]
    return node.text if node is not None else None


def conditions(source: Text) -> Iterator[int]:
    """The lines that have a condition or a loop, which is not evaluated."""
    for found in EXPRESSION.finditer(source.content):
        if re.match(r"(?:if|range|with)\b", found[1].strip()):
            yield source.line_at(found.start())
