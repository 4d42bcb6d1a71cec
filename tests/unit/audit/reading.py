"""Reading of files that a test writes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from audit.model import Client, Inputs, ProducerConfig
from audit.readers import Options, read_paths


def read(
    folder: Path,
    files: Mapping[str, str | bytes],
    *,
    profiles: tuple[str, ...] = (),
    env: Mapping[str, str] | None = None,
    client: Client | None = None,
    release: str | None = None,
) -> Inputs:
    """What the readers make of a directory with these files."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_paths([folder], Options(profiles=profiles, env=env or {}, client=client, release=release))


def values(producer: ProducerConfig) -> dict[str, str]:
    """A producer's settings, as text."""
    return {key: setting.value for key, setting in producer.settings.items()}


def lines(producer: ProducerConfig) -> dict[str, str]:
    """Where a producer's settings are: file and line."""
    return {key: f"{os.path.basename(s.origin.path)}:{s.origin.line}" for key, s in producer.settings.items()}


def only(inputs: Inputs) -> ProducerConfig:
    """The one producer that was found."""
    (producer,) = inputs.producers
    return producer


def told(inputs: Inputs, kind: str = "") -> list[str]:
    """What is said, each with its file's name and its line, of a kind of problem; releases that are not told apart."""
    return [
        f"{os.path.basename(each.origin.path)}:{each.origin.line} {each.message}: {each.do}"
        for each in inputs.problems
        if each.kind == kind or (not kind and each.kind != "release")
    ]
