"""The release of a client that is no artifact of the JVM's: what go.mod, package.json, requirements and their like say.

A package is known by the name that its registry has for it. Its release is told by a lock file or an exact pin. A
range tells the numbers that it leaves no choice of: `~=2.0.2` is 2.0. A range that begins at the last release of a
package that is made no more tells that one (`LAST`). librdkafka has the number of confluent-kafka of Python, Go and
.NET, which bundle it. Packages for Node have numbers of their own: `audit/known/frameworks.json` says what they bundle.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final, Literal

from audit.defaults import RULES
from audit.model import Client, Origin
from audit.readers.text import Text
from evidence.releases import numbers

Framework = Literal[
    "spring-kafka", "quarkus", "micronaut-kafka", "micronaut", "spring-boot",
    "spark", "flink", "alpakka", "pekko", "vertx", "reactor-kafka",
]  # fmt: skip
"""What brings a kafka-clients, each with a table of that name."""
Library = Client | Framework | Literal["kafka-clients", "stream-binder"]


@cache
def brought() -> Mapping[str, Mapping[str, str]]:
    """Which client each release of a framework, or of a package, brings."""
    told: dict[str, dict[str, str]] = {}
    for file in ("clients.json", "frameworks.json"):
        text = resources.files("audit.known").joinpath(file).read_text(encoding="utf-8")
        told |= {name: value for name, value in json.loads(text).items() if isinstance(value, dict)}
    return told


def of_framework(name: str, release: str) -> str | None:
    """The client that a release of a framework brings: its own entry's, or the nearest older of the same line.

    >>> of_framework("spring-boot", "2.5.14"), of_framework("spring-kafka", "2.8.1"), of_framework("spring-boot", "0.1")
    ('2.7.2', '3.0.0', None)
    """
    entries = brought()[name]
    wanted = numbers(release)
    if release in entries:
        return entries[release]
    same = [each for each in entries if numbers(each)[:2] == wanted[:2] and numbers(each) <= wanted]
    return entries[max(same, key=numbers)] if same else None


@dataclass(frozen=True, slots=True)
class BuildRelease:
    """A release that a build file tells."""

    library: Library
    release: str
    origin: Origin
    source: str
    """Where, and what it is told of: "pom.xml:12: spring-kafka 2.8.1"."""
    partial: bool = False
    """Whether it is a range, of which all releases have these numbers."""


Reader = Callable[[Text, Mapping[str, str]], Iterator[BuildRelease]]


@dataclass(frozen=True, slots=True)
class Package:
    """A package that has, or bundles, a client."""

    name: str
    library: Library
    bundles: str = ""
    """The table of `audit/known/frameworks.json` with the librdkafka of each of its releases."""
    same: bool = False
    """Whether it bundles the librdkafka of its own number."""


def _bundling(name: str) -> Package:
    return Package(name, "librdkafka", same=True)


OF_GO: Final = (
    _bundling("github.com/confluentinc/confluent-kafka-go"),
    Package("github.com/IBM/sarama", "sarama"),
    Package("github.com/Shopify/sarama", "sarama"),
    Package("github.com/segmentio/kafka-go", "kafka-go"),
    Package("github.com/twmb/franz-go", "franz-go"),
)
OF_NODE: Final = (
    Package("kafkajs", "kafkajs"),
    Package("kafka-node", "kafka-node"),
    Package("@platformatic/kafka", "platformatic-kafka"),
    Package("node-rdkafka", "librdkafka", bundles="node-rdkafka"),
    Package("@confluentinc/kafka-javascript", "librdkafka", bundles="kafka-javascript"),
)
OF_PYTHON: Final = (
    _bundling("confluent-kafka"),
    Package("kafka-python", "kafka-python"),
    Package("aiokafka", "aiokafka"),
    Package("pykafka", "pykafka"),
    Package("pyspark", "spark"),
)
OF_DOTNET: Final = (_bundling("Confluent.Kafka"),)
OF_RUST: Final = (Package("kafka", "kafka-rust"),)
OF_RUBY: Final = (Package("ruby-kafka", "ruby-kafka"),)
OF_ELIXIR: Final = (Package("brod", "brod"),)
OF_CPP: Final = (Package("librdkafka", "librdkafka"),)
LAST: Final[Mapping[str, str]] = {"kafkajs": "2.2.4", "kafka-node": "5.0.0", "pykafka": "2.8.0", "ruby-kafka": "1.5.0"}
"""The last release of packages that are made no more: a range that begins there has no other."""

NUMBER: Final = r"v?(\d+(?:\.\d+)+(?:\.post\d+)?)(?![\w.*-])"
IN_TOML: Final = r"(?mi)^[ \t]*\"?{name}\"?[ \t]*=[ \t]*(?:\{{[^{{}}\n]*?\bversion[ \t]*=[ \t]*)?[\"']"
OF_PIP: Final = r"(?mi)^[^#\n]*?(?<![\w.-]){name}[ \t]*+(?:\[[\w, -]*\][ \t]*+)?"
EXACT: Final[Mapping[str, tuple[str, ...]]] = {
    "go.mod": (r"(?m)^[ \t]*(?:require[ \t]+)?{name}(?:/v\d+)?[ \t]+{number}",),
    "requirements": (OF_PIP + r"={{2,3}}[ \t]*{number}",),
    "toml": (IN_TOML + r"(?:==?[ \t]*)?{number}",),
    "conda": (r"(?mi)^[ \t]*-[ \t]*[\"']?(?:[\w-]+::)?(?:python-)?{name}[ \t]*={{1,3}}[ \t]*{number}",),
    "lock": (r"(?i)\bname = \"{name}\"\s+version = \"{number}",),
    "Pipfile.lock": (r"(?i)\"{name}\":\s*\{{[^{{}}]*?\"version\":\s*\"=={number}",),
    "package.json": (r"\"{name}\"\s*:\s*\"=?\s*{number}\"",),
    "package-lock.json": (r"\"(?:node_modules/)?{name}\":\s*\{{\s*\"version\":\s*\"{number}",),
    "yarn.lock": (r"(?m)^\"?{name}@[^\n]*:\n[ \t]+version:?[ \t]+\"?{number}",),
    "pnpm-lock.yaml": (
        r"(?m)^[ \t]+['\"]?/?{name}[@/]{number}['\"]?:",
        r"(?m)^[ \t]+['\"]?{name}['\"]?:\n[ \t]+specifier:[^\n]*\n[ \t]+version:[ \t]+{number}",
    ),
    "bun.lock": (r"\"{name}\":\s*\[\s*\"{name}@{number}",),
    "nuget": (
        r"(?i)<(?:Package(?:Reference|Version)|GlobalPackageReference)\s[^<>]{{0,300}}?\b(?:Include|Update)=\"{name}\"[^<>]{{0,300}}?"
        r"\bVersion(?:Override)?=\"\[?{number}",
        r"(?i)<(?:PackageReference|PackageVersion)\s[^<>]{{0,300}}?\bInclude=\"{name}\"[^<>]{{0,300}}>\s*<Version>\s*\[?{number}",
        r"(?i)<package\s[^<>]{{0,300}}?\bid=\"{name}\"[^<>]{{0,300}}?\bversion=\"{number}",
    ),
    "packages.lock.json": (r"(?i)\"{name}\":\s*\{{[^{{}}]*?\"resolved\":\s*\"{number}",),
    "Cargo.toml": (r"(?m)^{name}[ \t]*=[ \t]*(?:\{{[^{{}}\n]*?\bversion[ \t]*=[ \t]*)?\"={number}",),
    "Gemfile.lock": (r"(?m)^ {{4}}{name} \({number}\)",),
    "Gemfile": (r"(?m)^[ \t]*gem[ (]+['\"]{name}['\"],\s*['\"](?:=[ \t]*)?{number}['\"]",),
    "mix.lock": (r"\"{name}\":[ \t]*\{{:hex,[ \t]*:\w+,[ \t]*\"{number}",),
    "mix.exs": (r"\{{:{name},[ \t]*\"(?:==[ \t]*)?{number}\"",),
    "pnpm-workspace.yaml": (r"(?m)^[ \t]+['\"]?{name}['\"]?:[ \t]+['\"]?{number}",),
    "vcpkg.json": (r"\"name\"\s*:\s*\"{name}\"\s*,\s*\"version(?:-string|-semver)?\"\s*:\s*\"{number}",),
    "conan": (r"(?m)^[^#\n]*?\b{name}/{number}",),
    "CMakeLists.txt": (r"(?i)GIT_REPOSITORY\s+\"?\S*/{name}(?:\.git)?\"?\s+GIT_TAG\s+\"?{number}",),
}
"""How a kind of file says that a package has exactly a release."""
SHORT: Final = r"v?(\d+\.\d+)(?:\.\d+)*"
RANGES: Final[Mapping[str, tuple[str, ...]]] = {
    "requirements": (OF_PIP + r"(?:~=[ \t]*(?=\d+\.\d+\.)|==[ \t]*(?=\d+\.\d+\.\*)){short}",),
    "toml": (IN_TOML + r"(?:~=?(?=\d+\.\d+\.)|\^(?=0\.)){short}",),
    "package.json": (r"\"{name}\"\s*:\s*\"(?:~|\^(?=0\.)|(?=\d+\.\d+\.[x*])){short}",),
    "Cargo.toml": (r"(?m)^{name}[ \t]*=[ \t]*(?:\{{[^{{}}\n]*?\bversion[ \t]*=[ \t]*)?\"(?:~|\^?(?=0\.)){short}",),
    "Gemfile": (r"(?m)^[ \t]*gem[ (]+['\"]{name}['\"],\s*['\"]~>[ \t]*(?=\d+\.\d+\.){short}",),
    "mix.exs": (r"\{{:{name},[ \t]*\"~>[ \t]*(?=\d+\.\d+\.){short}",),
}
"""How it says that a package has a release of a line."""
BEGINS: Final[Mapping[str, str]] = {
    "requirements": r"(?mi)^[^#\n]*?(?<![\w.-]){name}[ \t]*+(?:>=|~=)[ \t]*{last}(?![\d.])",
    "toml": IN_TOML + r"(?:>=|\^|~=?){last}(?![\d.])",
    "package.json": r"\"{name}\"\s*:\s*\"(?:\^|~|>=)[ \t]*{last}\"",
    "Gemfile": r"(?m)^[ \t]*gem[ (]+['\"]{name}['\"],\s*['\"](?:~>|>=)[ \t]*{last}['\"]",
}
"""How it says that a package has a release that is as new as its last."""


@cache
def _compiled(template: str, name: str, last: str = "") -> re.Pattern[str]:
    spelled = re.escape(name)
    if "(?mi)" in template or "(?i)" in template:
        spelled = re.sub(r"(?:\\-|_)", "[-_.]", spelled)  # names of Python's and of NuGet's
    return re.compile(template.format(name=spelled, number=NUMBER, short=SHORT, last=re.escape(last)))


def reader_of(kind: str, packages: tuple[Package, ...]) -> Reader:
    """A reader of one kind of file: what it says of packages, the exact first."""

    def read(source: Text, inherited: Mapping[str, str]) -> Iterator[BuildRelease]:
        for package in packages:
            if re.search(re.sub(r"[-_.]", ".", package.name), source.content, re.IGNORECASE):
                yield from _told(source, kind, package)

    return read


def _told(source: Text, kind: str, package: Package) -> Iterator[BuildRelease]:
    """What a file says of one package."""
    for template in EXACT[kind]:
        for found in _compiled(template, package.name).finditer(source.content):
            yield from _release(source, found.start(1), package, found[1])
    last = LAST.get(package.name, "")
    if last and kind in BEGINS and (begins := _compiled(BEGINS[kind], package.name, last).search(source.content)):
        yield from _release(source, begins.end() - 1, package, last)
    for template in RANGES.get(kind, ()):
        for found in _compiled(template, package.name).finditer(source.content):
            if _is_one_line(package.library, found[1]):
                yield from _release(source, found.start(1), package, found[1], partial=True)


def _release(
    source: Text, offset: int, package: Package, number: str, *, partial: bool = False
) -> Iterator[BuildRelease]:
    """A release of a package, as that of the client that it is or bundles."""
    release = re.sub(r"\.post\d+$", "", number)
    bundled = of_framework(package.bundles, release) if package.bundles else release
    where = source.origin(source.line_at(offset))
    says = f"{where}: {package.name.rpartition('/')[2]} {number}"
    if package.bundles or package.same:
        says += f", which bundles librdkafka {bundled}"
    if bundled is not None:
        yield BuildRelease(package.library, bundled, where, says, partial)


def _is_one_line(library: Library, line: str) -> bool:
    """Whether all releases of a line do the same: of librdkafka's 1.5 they do not.

    >>> _is_one_line("librdkafka", "1.5"), _is_one_line("librdkafka", "2.3"), _is_one_line("spark", "3.5")
    (False, True, True)
    """
    rules = RULES.get(library)
    return rules is None or rules(f"{line}.0") == rules(f"{line}.9999")


PYTHON: Final = reader_of("requirements", OF_PYTHON)
TOML: Final = reader_of("toml", OF_PYTHON)
LOCK: Final = reader_of("lock", OF_PYTHON)
NUGET: Final = reader_of("nuget", OF_DOTNET)


def both(*readers: Reader) -> Reader:
    """A reader that reads what each of these does."""
    return lambda source, inherited: (told for read in readers for told in read(source, inherited))


def pinned(pattern: str, of: str) -> Reader:
    """A reader of lines that tell the release of a librdkafka, which a package of another number bundles."""
    compiled = re.compile(pattern, re.MULTILINE | re.DOTALL)

    def read(source: Text, inherited: Mapping[str, str]) -> Iterator[BuildRelease]:
        for found in compiled.finditer(source.content):
            where = source.origin(source.line_at(found.start()))
            yield BuildRelease("librdkafka", found[1], where, f"{where}: {of} {found[1]}")

    return read


OF_NODES_LOCK: Final = pinned(rf'"librdkafka":\s*"{NUMBER}"', "node-rdkafka with librdkafka")
READERS: Final[Mapping[str, Reader]] = {
    **dict.fromkeys(
        ("requirements*.txt", "requirements/*.txt", "constraints*.txt", "requirements*.lock", "setup.py", "setup.cfg"),
        PYTHON,
    ),
    "pyproject.toml": both(PYTHON, TOML),
    "Pipfile": TOML,
    **dict.fromkeys(("poetry.lock", "uv.lock", "pdm.lock"), LOCK),
    "Pipfile.lock": reader_of("Pipfile.lock", OF_PYTHON),
    **dict.fromkeys(
        ("environment*.yml", "environment*.yaml", "conda*.yml", "conda*.yaml"),
        both(PYTHON, reader_of("conda", OF_PYTHON)),
    ),
    "go.mod": reader_of("go.mod", OF_GO),
    "Cargo.lock": both(
        pinned(rf'name = "rdkafka-sys"\s+version = "[\d.]+\+{NUMBER}"', "rdkafka-sys with librdkafka"),
        reader_of("lock", OF_RUST),
    ),
    "Cargo.toml": reader_of("Cargo.toml", OF_RUST),
    "package-lock.json": both(OF_NODES_LOCK, reader_of("package-lock.json", OF_NODE)),
    "yarn.lock": reader_of("yarn.lock", OF_NODE),
    "pnpm-lock.yaml": reader_of("pnpm-lock.yaml", OF_NODE),
    "bun.lock": reader_of("bun.lock", OF_NODE),
    "package.json": reader_of("package.json", OF_NODE),
    "pnpm-workspace.yaml": reader_of("pnpm-workspace.yaml", OF_NODE),
    "node_modules/node-rdkafka/package.json": OF_NODES_LOCK,
    **dict.fromkeys(
        ("*.csproj", "*.fsproj", "*.vbproj", "Directory.Packages.props", "Directory.Build.props", "packages.config"),
        NUGET,
    ),
    "packages.lock.json": reader_of("packages.lock.json", OF_DOTNET),
    "Gemfile.lock": reader_of("Gemfile.lock", OF_RUBY),
    "Gemfile": reader_of("Gemfile", OF_RUBY),
    "mix.lock": reader_of("mix.lock", OF_ELIXIR),
    "mix.exs": reader_of("mix.exs", OF_ELIXIR),
    "vcpkg.json": reader_of("vcpkg.json", OF_CPP),
    **dict.fromkeys(("conanfile.txt", "conanfile.py"), reader_of("conan", OF_CPP)),
    "CMakeLists.txt": reader_of("CMakeLists.txt", OF_CPP),
}
"""What reads each file of a build that is not the JVM's."""
