"""Files inside values: a chart's values, or those of a Flux or Argo CD release, that have a whole file as a text.

`filebeatConfig: {filebeat.yml: |}` of Elastic's charts, `logstashPipeline: {logstash.conf: |}` and an application's
`config: {application.yml: |}` become files of a ConfigMap. Each such text whose key is the name of a file is read as
that file, with the lines of the file that it is in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from audit.readers.collect import Collected
from audit.readers.format import YAML, Document, Format
from audit.readers.text import Text
from audit.readers.tree import MOST, Listing, Node, Scalar, Table, inner

VALUES: Final = "values.yaml"
ARGO: Final = "argoproj.io/"


def _files(tree: Table, reading: Collected) -> Iterator[tuple[str, Scalar]]:
    """The texts of several lines that a tree has below names of files, each with the path of its keys."""
    todo: list[tuple[str, Node]] = [("", tree)]
    steps = 0
    while todo and steps < MOST:
        steps += 1
        path, each = todo.pop()
        if isinstance(each, Listing):
            todo += [(path, one) for one in reversed(each.items)]
        elif isinstance(each, Table):
            for name, _, value in reversed(each.items):
                if not isinstance(value, Scalar):
                    todo.append((f"{path}{name}/", value))
                elif value.block and "\n" in value.text.strip() and reading.is_file(name):
                    yield f"{path}{name}", value


def _read(document: Document, reading: Collected) -> bool:
    assert document.tree is not None
    before = reading.count()
    for path, text in _files(document.tree, reading):
        reading.nested(inner(text, document.source, path))
    return reading.count() > before


def read_released(source: Text, document: Table, reading: Collected) -> bool:
    """Read the values of a release that a resource is: of Flux, Argo CD or k3s; whether it is one."""
    kind, spec = document.text("kind"), document.table("spec")
    if kind == "HelmRelease":
        reading.offer(source, spec.table("values"))
    elif kind == "HelmChart":
        _text_of_values(source, spec.get("valuesContent"), reading)
    elif kind == "Application" and document.text("apiVersion").startswith(ARGO):
        for each in (spec.table("source"), *spec.tables("sources")):
            reading.offer(source, each.table("helm", "valuesObject"))
            _text_of_values(source, each.get("helm", "values"), reading)
    else:
        return False
    return True


def _text_of_values(source: Text, node: Node | None, reading: Collected) -> None:
    if isinstance(node, Scalar):
        reading.nested(inner(node, source, VALUES))


FORMATS: Final = (
    Format(
        name="files inside values",
        reads="a text of several lines below a file's name (`filebeat.yml: |`), as in values of charts",
        files=YAML,
        rank=150,
        claims=lambda document: document.tree is not None,
        read=_read,
    ),
)
