"""Where programs are started beside Compose and Kubernetes: units of systemd, jobs of Nomad, and Dockerfiles.

| file | what is read |
|---|---|
| a unit of systemd's | `Environment=`, and the arguments of `ExecStart=` |
| a job of Nomad's | of each task: `env`, the arguments of its `config`, templates that are files of variables |
| a Dockerfile | `ENV` of the last stage, the arguments of `ENTRYPOINT` and `CMD` |

An image's variables are what its program has where nobody says otherwise. A service of Compose's that is built of the
Dockerfile says it (`audit.readers.compose`); without one they stand above the files of the directory that it is in.
"""

from __future__ import annotations

import dataclasses
import re
from itertools import islice
from pathlib import Path
from typing import Final

from audit.model import Setting
from audit.readers.agents import closing
from audit.readers.collect import Collected
from audit.readers.compose import last_stage, read_env
from audit.readers.format import Document, Format
from audit.readers.names import latest
from audit.readers.text import Text
from audit.readers.variables import options, read_variables

UNKNOWN: Final = "(an expression)"

# systemd

ASSIGNS: Final = re.compile(r"(?m)^[ \t]*Environment=(.*)$")
STARTS: Final = re.compile(r"(?m)^[ \t]*ExecStart=((?:.*\\\n)*.*)$")
VARIABLE: Final = re.compile(r"\"([A-Za-z_]\w*)=([^\"]*)\"|'([A-Za-z_]\w*)=([^']*)'|(?<!\S)([A-Za-z_]\w*)=(\S*)")


def _read_unit(document: Document, reading: Collected) -> bool:
    source = document.source
    given = []
    for line in ASSIGNS.finditer(source.content):
        origin = source.origin(source.line_at(line.start()))
        for each in VARIABLE.finditer(line[1]):
            name, value = next((each[at], each[at + 1]) for at in (1, 3, 5) if each[at])
            given.append(Setting(name, value, origin))
    for line in STARTS.finditer(source.content):
        given += options(line[1], source.origin(source.line_at(line.start())))
    read_variables(source, source.file.rpartition(".")[0], "", given, reading, "none")
    return True


# Nomad

JOB: Final = re.compile(r'(?m)^[ \t]*job[ \t]+"[^"\n]*"[ \t]*\{')
TASK: Final = re.compile(r'(?m)^[ \t]*task[ \t]+"([^"\n]*)"[ \t]*\{')
ENV: Final = re.compile(r"(?m)^[ \t]*env[ \t]*=?[ \t]*\{")
ENTRY: Final = re.compile(
    r"(?m)^[ \t]*\"?([A-Za-z_]\w*)\"?[ \t]*[=:][ \t]*(?:\"([^\"\n]*)\"|([^\n#]*?))[ \t]*,?[ \t]*(?:(?:#|//)[^\n]*)?$"
)
MOST: Final = 100
"""How many tasks of one job are looked at."""
LONGEST: Final = 20_000
"""Characters of a task that are looked at."""
LITERAL: Final = re.compile(r"-?\d+|true|false")
IMAGE: Final = re.compile(r"(?m)^[ \t]*image[ \t]*=[ \t]*\"([^\"\n]*)\"")
TEMPLATE: Final = re.compile(
    r"(?m)^[ \t]*template[ \t]*\{(?P<before>[^{}]{0,1000}?)data[ \t]*=[ \t]*<<-?(?P<mark>\w+)\n"
    r"(?P<data>(?:.*\n){0,500}?)[ \t]*(?P=mark)[ \t]*$(?P<after>[^{}]*)\}"
)


def _read_job(document: Document, reading: Collected) -> bool:
    source = document.source
    for task in islice(TASK.finditer(source.content), MOST):
        text = source.content[task.end() : task.end() + LONGEST]
        text = text[: closing(text, 0)]
        given: list[Setting] = []
        for block in ENV.finditer(text):
            start = task.end() + block.end()
            for each in ENTRY.finditer(text[block.end() : closing(text, block.end())]):
                value = each[2] if each[2] is not None else each[3]
                known = "${" not in value and (each[2] is not None or LITERAL.fullmatch(value) is not None)
                origin = source.origin(source.line_at(start + each.start()))
                given.append(Setting(each[1], value if known else UNKNOWN, origin, known=known))
        for block in TEMPLATE.finditer(text):
            if re.search(r"\benv[ \t]*=[ \t]*true\b", block["before"] + block["after"]):
                line = source.line_at(task.end() + block.start("data"))
                lines = read_env(Text(source.path, block["data"], line))
                given += [dataclasses.replace(each, known="{{" not in each.value) for each in lines]
        given += options(text, source.origin(source.line_at(task.start())))
        image = IMAGE.search(text)
        read_variables(source, task[1], image[1] if image else "", given, reading, "none")
    return True


# Dockerfiles

DOCKERFILE: Final = re.compile(r"(?i)(?:[\w.-]+\.)?dockerfile(?:\.[\w.-]+)?")
OF_APPLICATIONS: Final = ("SPRING_", "MP_MESSAGING_", "JAVA_", "JDK_", "spring.", "mp.")
"""Variables and arguments that an application's framework has, whatever its program does with them."""


def read_dockerfiles(reading: Collected) -> None:
    """Add what images set for the programs of their directories, unless a service of Compose's is built there."""
    contexts = {str(Path(build).resolve()) for build, _ in reading.environments}
    for source in reading.dockerfiles:
        folder = Path(source.path).absolute().parent
        base, given = last_stage(source, {})
        given = [each for each in given if each.key.startswith(OF_APPLICATIONS)]
        if not given or str(folder.resolve()) in contexts:
            continue
        reading.build = str(folder)
        reading.environments.append((reading.build, latest(given)))
        read_variables(source, folder.name, base, given, reading, "none", runs=False)
        reading.build = ""


def _keep(document: Document, reading: Collected) -> bool:
    """Keep a Dockerfile until it is known which services are built of it."""
    reading.dockerfiles.append(document.source)
    return True


FORMATS: Final = (
    Format(
        name="Dockerfiles",
        reads="`ENV` and arguments of an application's framework, for the program of the same directory",
        files=("Dockerfile", "Dockerfile.*", "*.Dockerfile"),
        rank=12,
        whole=True,
        claims=lambda document: DOCKERFILE.fullmatch(document.source.file) is not None,
        read=_keep,
    ),
    Format(
        name="units of systemd",
        reads="`Environment=`, and an application's arguments of `ExecStart=`",
        files=("*.service",),
        rank=14,
        whole=True,
        claims=lambda document: document.file.endswith(".service"),
        read=_read_unit,
    ),
    Format(
        name="Nomad",
        reads="`env` of each task, its arguments, and templates that are files of variables",
        files=("*.nomad", "*.hcl"),
        rank=16,
        whole=True,
        claims=lambda document: (
            document.file.endswith((".nomad", ".hcl")) and JOB.search(document.source.content) is not None
        ),
        read=_read_job,
    ),
)
