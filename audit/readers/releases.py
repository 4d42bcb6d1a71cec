"""The release of a client, from what builds the program: found in the configuration's directory or above it.

Java: kafka-clients itself, or what brings it (spring-kafka, Spring Boot: `audit/known/clients.json`, from their
builds), in pom.xml, build.gradle(.kts), gradle.properties, libs.versions.toml and build.sbt; the Scala producer is in
kafka_2.x. Files of other builds are `audit.readers.packages`'. Of `>=2.3` nobody knows what is installed, but that it
is no older: where no exact release is told, the oldest that is allowed counts as such (`LEAST`). Where any is allowed,
pip's newest and a distribution's own have a least one too. The nearest directory wins, and in it what says it most
directly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, cast, get_args

from audit.defaults import NEVER_MEASURED
from audit.model import Client, InputProblem
from audit.readers.ansible import filled, role_of
from audit.readers.packages import READERS as OF_OTHERS
from audit.readers.packages import BuildRelease, Framework, Library, Reader, brought, of_framework
from audit.readers.text import Text, decode
from audit.readers.variables import platform, release_of
from audit.readers.walk import text_of
from evidence.releases import numbers

ORDER: Final[tuple[Framework | Literal["kafka-clients"], ...]] = ("kafka-clients", *get_args(Framework))
"""What says most directly which kafka-clients there is, first."""
APACHE: Final = frozenset({"kafka-clients", "kafka-streams", "connect-runtime", "connect-api", "connect-json"})
"""Artifacts of org.apache.kafka that are of one release with kafka-clients."""
LARGEST: Final = 4_000_000
EXACT: Final = re.compile(r"v?(\d+(?:\.\d+)+)(?:[.-][\w.+-]*)?")
BUILD_FILES: Final = ("pom.xml", "build.gradle", "build.gradle.kts", "build.sbt", "go.mod", "package.json", "setup.py",
                      "pyproject.toml", "requirements.txt", "Cargo.toml")  # fmt: skip
"""Files that make a directory a module."""
HIGHEST: Final = 12
"""How many directories are looked into above the configuration's own."""


def binder_of(path: str, folders: dict[Path, list[BuildRelease]]) -> str | None:
    """The release of Spring Cloud Stream's Kafka binder that the build file nearest to a path tells."""
    folder = Path(path).absolute().parent
    for _ in range(HIGHEST):
        for each in folders.get(folder, ()):
            if each.library == "stream-binder":
                return each.release
        folder = folder.parent
    return None


def module_of(path: str, known: dict[Path, bool]) -> str:
    """The nearest directory at a path or above it that has a build file; empty if there is none."""
    folder = Path(path).absolute().parent
    for _ in range(HIGHEST):
        if folder not in known:
            known[folder] = any((folder / name).is_file() for name in BUILD_FILES) or any(folder.glob("*.csproj"))
        if known[folder]:
            return str(folder)
        if folder == folder.parent or (folder / ".git").exists():
            break
        folder = folder.parent
    laid_out = LAYOUT.match(str(Path(path).absolute()))
    return laid_out[1] if laid_out else ""


def served(path: str, known: dict[Path, bool]) -> str:
    """The module that a file of a configuration server's is for, which has its name: `config-repo/offers.yml` is of
    `offers/`, and so is `config-repo/offers-prod.yml`; empty if it is no such file.
    """
    file = Path(path).absolute()
    if file.suffix not in (".yml", ".yaml", ".properties") or file.stem.startswith(("application", "bootstrap")):
        return ""
    names = [file.stem, *([file.stem.rpartition("-")[0]] if "-" in file.stem else [])]
    for above in file.parents[:SERVED]:
        for name in names:
            if (above / name).is_dir() and module_of(str(above / name / "x"), known) == str(above / name):
                return str(above / name)
        if (above / ".git").exists():
            break
    return ""


SERVED: Final = 5
"""How many directories above a configuration server's file its module may be below."""
LAYOUT: Final = re.compile(r"(.+)/src/main/(?:java|kotlin|scala|resources)/")
"""How Maven and Gradle have the sources and the files of a module, which tells it where its build file is missing."""


def _above(path: str, top: Path, most: int) -> Iterator[Path]:
    """The directory of a file and those above it, as far as the highest that is looked into or its repository's."""
    for folder in Path(path).absolute().parents[:most]:
        yield folder
        if folder == top or (folder / ".git").exists():
            return


def beside(path: str, top: Path, client: Client, folders: dict[Path, list[BuildRelease]]) -> tuple[str, str] | None:
    """The release of a client that the build files at a path or above it tell, and where; None if they do not.

    `top` is the highest directory looked into; `folders` keeps what was found in each.
    """
    for folder in _above(path, top, HIGHEST):
        if folder not in folders:
            folders[folder] = list(told_in(folder))
        if (found := choose(folders[folder], client)) is not None:
            return found
    return None


def of_projects(
    path: str, top: Path, client: Client, folders: dict[Path, list[BuildRelease]]
) -> tuple[str, str] | None:
    """The release of a client that the projects of a .NET solution tell that lie beside a file's own: the one that
    refers to the client need not be the one that has the settings. None if none does, or they differ.
    """
    for folder in _above(path, top, SERVED):
        found: dict[str, tuple[str, str]] = {}
        for each in sorted({project.parent for project in folder.glob("*/*.csproj")})[:PROJECTS]:
            if each not in folders:
                folders[each] = list(told_in(each))
            if (told := choose(folders[each], client)) is not None:
                found.setdefault(told[0], told)
        if found:
            return next(iter(found.values())) if len(found) == 1 else None
    return None


PROJECTS: Final = 64
"""How many projects of one solution are looked into."""
FROM: Final = re.compile(
    r"(?mi)^[ \t]*FROM[ \t]+(?:--\S+[ \t]+)*(\S*(?:connect|strimzi/kafka|(?:apache|bitnami|bitnamilegacy)/kafka:)\S*)"
)
"""An image that has Connect's worker; Kafka's own ones have all of Kafka's programs."""
UNPACKED: Final = re.compile(r"(?:^|[/_-])kafka_2\.1[0-3]-(\d+\.\d+\.\d+)(?:\.tgz|[/\s\"']|$)")
"""In roles of Ansible's: an archive of Kafka's that is unpacked, or the directory that it makes."""
OF_ROLES: Final = ("defaults", "vars", "tasks")


def of_role(path: str) -> tuple[str, str] | None:
    """The release of Kafka's programs that the role of a template of Ansible's unpacks; None if none, or several."""
    if (role := role_of(path)) is None:
        return None
    found = {}
    for file in [each for name in OF_ROLES for each in sorted((role / name).glob("*.y*ml"))]:
        source = text_of(file)
        text = filled(source.content, role) if source is not None else ""
        for each in UNPACKED.finditer(text):
            found[each[1]] = f"{_shown(file)}: {each[0].strip('/')}"
    return next(iter(found.items())) if len(found) == 1 else None


def of_worker_image(path: str, top: Path) -> tuple[str, str] | None:
    """The release of a worker of Connect's, by the image that a Dockerfile at a path or above it is made from."""
    for folder in _above(path, top, HIGHEST):
        found = {}
        for file in sorted({*folder.glob("Dockerfile*"), *folder.glob("*.Dockerfile")}):
            source = text_of(file)
            for image in FROM.finditer(source.content) if source is not None else ():
                if release := release_of(image[1]):
                    line = source.line_at(image.start()) if source is not None else 1
                    found[release] = f"{_shown(file)}:{line}: {image[1]}"
        if found:
            return next(iter(found.items())) if len(found) == 1 else None
    return None


def choose(told: Iterable[BuildRelease], client: Client) -> tuple[str, str] | None:
    """The release of a client among what a directory tells, and where it is told."""
    by_library: dict[Library, BuildRelease] = {}
    for each in sorted(told, key=lambda each: each.partial):
        by_library.setdefault(each.library, each)
    if client != "java":
        own = by_library.get(client)
        return (own.release, own.source) if own is not None else None
    for library in ORDER:
        if (found := by_library.get(library)) is None:
            continue
        if library == "kafka-clients":
            return found.release, found.source
        if (release := of_framework(library, found.release)) is not None:
            return release, f"{found.source}, which brings kafka-clients {release}"
    broker = by_library.get("scala")
    return (broker.release, broker.source) if broker is not None else None


def contradictions(told: Iterable[BuildRelease]) -> Iterator[InputProblem]:
    """Where the build files of a directory tell one library twice, and differently."""
    first: dict[Library, BuildRelease] = {}
    for each in told:
        other = first.setdefault(each.library, each)
        if other.release != each.release and not each.partial and not _is_alike(other, each):
            message = f"{each.library} {each.release} here, and {other.release} in {other.origin}"
            yield InputProblem(
                each.origin, "release", message, f"{other.release} is taken: say it otherwise with --client"
            )


def _is_alike(one: BuildRelease, other: BuildRelease) -> bool:
    """Whether two releases of a client that was never measured do the same."""
    rules = NEVER_MEASURED.get(one.library)
    return rules is not None and rules(one.release) == rules(other.release)


def tells_client(told: Iterable[BuildRelease]) -> Client | None:
    """Whose client the build files of a directory speak of, if of one kind only."""
    kinds = {each.library if each.library in OWN else "java" for each in told}
    return cast(Client, kinds.pop()) if len(kinds) == 1 else None


OWN: Final = frozenset({"librdkafka", *NEVER_MEASURED})
"""Clients that are not the Java client, nor brought with it."""


def told_in(folder: Path) -> Iterator[BuildRelease]:
    """What the build files of a directory tell."""
    inherited: dict[str, str] | None = None
    for name, read in READERS.items():
        for path in sorted(folder.glob(name)) if "*" in name else [folder / name]:
            try:
                if path.is_file() and path.stat().st_size <= LARGEST:
                    if inherited is None:
                        inherited = _inherited(folder)
                    yield from read(Text(_shown(path), decode(path.read_bytes())), inherited)
            except (OSError, ValueError, RecursionError):
                continue


INHERITED: Final = ("pom.xml", "gradle.properties", "build.gradle", "build.gradle.kts")


def _inherited(folder: Path) -> dict[str, str]:
    """The versions that build files here and above give names to; the nearest counts."""
    found: dict[str, str] = {}
    for _ in range(HIGHEST):
        here = False
        for name in INHERITED:
            path = folder / name
            if path.is_file() and path.stat().st_size <= LARGEST:
                here = True
                text = decode(path.read_bytes())
                found = {**(_properties(text) if name == "pom.xml" else _variables(text)), **found}
        found = {**_of_build_sources(folder), **found}
        if folder == folder.parent or (folder / ".git").exists() or (not here and not _built(folder.parent)):
            break
        folder = folder.parent
    return found


OF_BUILD: Final = ("buildSrc/src/main/*/*.kt", "buildSrc/src/main/*/*.java", "buildSrc/src/main/*/*.groovy")
"""Sources of a build of Gradle's, in which versions and coordinates have names."""
OBJECT: Final = re.compile(r"\b(?:object|class|interface)\s+(\w+)[^{}]{0,200}\{([^{}]*)\}")


def _of_build_sources(folder: Path) -> dict[str, str]:
    """The versions that a build's own sources give names to, with and without that of their object."""
    found: dict[str, str] = {}
    for path in (path for name in OF_BUILD for path in sorted(folder.glob(name))):
        if path.stat().st_size <= LARGEST:
            text = decode(path.read_bytes())
            found |= _variables(text)
            for owner, body in OBJECT.findall(text):
                found |= {f"{owner}.{name}": value for name, value in _variables(body).items()}
    return found


def _built(folder: Path) -> bool:
    return any((folder / name).is_file() for name in INHERITED)


def _properties(text: str) -> dict[str, str]:
    return {
        name: value.strip() for name, value in re.findall(r"<([\w.-]+)>([^<>]*)</\1>", text) if "version" not in (name,)
    }


def _variables(text: str) -> dict[str, str]:
    return dict(re.findall(r"""(?m)(?<![\w.])([A-Za-z_][\w.]*+)["'\]]*+[ \t]*+=[ \t]*+["']?([\w.+-]+)["']?""", text))


def _shown(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return path.name


def _library(group: str, artifact: str) -> Library | None:
    """Which of the libraries that matter an artifact is, by its group too: anybody may call his own spring-kafka."""
    match group:
        case "org.apache.kafka" | "io.confluent.kafka":
            if artifact in APACHE or artifact.startswith("kafka-streams-scala"):
                return "kafka-clients"
            return "scala" if re.fullmatch(r"kafka_2\.[\d.x]+", artifact) else None
        case "org.springframework.kafka":
            return "spring-kafka" if artifact == "spring-kafka" else None
        case "org.springframework.boot":
            return "spring-boot" if artifact.startswith(("spring-boot", "org.springframework.boot")) else None
        case "org.springframework.cloud":
            return "stream-binder" if artifact.startswith("spring-cloud-stream-binder-kafka") else None
        case "io.micronaut.kafka":
            return "micronaut-kafka" if artifact == "micronaut-kafka" else None
        case "io.micronaut.platform" | "io.micronaut":
            return "micronaut" if artifact in OF_MICRONAUT else None
    if group.startswith("io.quarkus") and artifact.endswith("bom"):
        return "quarkus"
    return next((library for library, name in CONNECTORS.items() if re.match(name, f"{group}:{artifact}")), None)


OF_MICRONAUT: Final = frozenset({"micronaut-platform", "micronaut-parent", "micronaut-bom"})
"""What brings a micronaut-kafka of its own line."""
CONNECTORS: Final[Mapping[Framework, str]] = {
    "spark": r"org\.apache\.spark:spark-(?:sql|streaming)-kafka-",
    "flink": r"org\.apache\.flink:flink-(?:sql-)?connector-kafka(?:_|$)",
    "alpakka": r"com\.typesafe\.akka:akka-stream-kafka(?:_|$)",
    "pekko": r"org\.apache\.pekko:pekko-connectors-kafka(?:_|$)",
    "vertx": r"io\.vertx:vertx-(?:kafka-client|stack-depchain|dependencies)$",
    "reactor-kafka": r"io\.projectreactor\.kafka:reactor-kafka$",
}
"""The artifacts of what brings a kafka-clients of its own."""


def _told(source: Text, offset: int, group: str, artifact: str, release: str) -> Iterator[BuildRelease]:
    """What an artifact of some release is, if it is one of those that matter."""
    library = _library(group, artifact)
    exact = EXACT.fullmatch(release.strip())
    if library is None or not exact:
        return
    number = exact[1]
    if library in ("kafka-clients", "scala") and re.search(r"-(ccs|ce)\b", release):
        number = platform(number) or number
    where = source.origin(source.line_at(offset))
    yield BuildRelease(library, number, where, f"{where}: {artifact} {release.strip()}")


def _blanked(pattern: str, text: str) -> str:
    """A text in which comments are blanks, so that all else is where it was."""
    return re.sub(pattern, lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def read_pom(source: Text, inherited: Mapping[str, str]) -> Iterator[BuildRelease]:
    """Maven: dependencies, managed ones and the parent, with the properties of this file and those above it. Of
    profiles only those count that are active by default.
    """
    text = _blanked(r"(?s)<!--.*?(?:-->|\Z)", source.content)
    text = re.sub(
        r"(?s)<profile>.*?</profile>", lambda found: found[0] if _default(found[0]) else _blank(found[0]), text
    )
    properties = {**inherited, **_properties(text)}

    def filled(version: str) -> str:
        for _ in range(4):
            version = re.sub(r"\$\{([\w.-]+)\}", lambda found: properties.get(found[1], ""), version)
        return version

    for block in re.finditer(r"<(parent|dependency)>((?:(?!<(?:parent|dependency)>).)*?)</\1>", text, re.DOTALL):
        group = re.search(r"<groupId>\s*([^<\s]+)\s*</groupId>", block[2])
        artifact = re.search(r"<artifactId>\s*([^<\s]+)\s*</artifactId>", block[2])
        version = re.search(r"<version>\s*([^<\s]+)\s*</version>", block[2])
        if artifact and version and group:
            at = block.start(2) + version.start()
            yield from _told(source, at, filled(group[1]), filled(artifact[1]), filled(str(version[1])))
    if managed := re.search(r"<kafka\.version>\s*([^<\s]+)\s*<", text):
        yield from _told(source, managed.start(), "org.apache.kafka", "kafka-clients", filled(managed[1]))


def _default(profile: str) -> bool:
    return re.search(r"<activeByDefault>\s*true", profile) is not None


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def read_gradle(source: Text, inherited: Mapping[str, str]) -> Iterator[BuildRelease]:
    """Gradle and sbt: coordinates, plugins, and variables that are set in the same file, or in one above it."""
    text = _blanked(r"(?m)^[ \t]*//.*$|/\*(?s:.*?)(?:\*/|\Z)", source.content)
    names = {**inherited, **_variables(text)}

    def filled(version: str) -> str:
        return re.sub(r"\$\{?([A-Za-z_][\w.]*)\}?", lambda found: names.get(found[1], ""), version)

    for found in re.finditer(r"""["']([\w.${}-]+):([\w.${}-]+):([\w.${}+-]+)["']""", text):
        yield from _told(source, found.start(), filled(found[1]), filled(found[2]), filled(str(found[3])))
    for found in re.finditer(
        r"""group\s*[:=]\s*["']([\w.-]+)["']\s*,\s*name\s*[:=]\s*["']([\w.-]+)["']\s*,\s*"""
        r"""version\s*[:=]\s*["']?([\w.${}+-]+)""",
        text,
    ):
        yield from _told(source, found.start(), found[1], found[2], filled(found[3]))
    boot = "org.springframework.boot"
    for found in re.finditer(r"""["']org\.springframework\.boot["']\s*\)?\s*version\s*\(?["']([\w.${}-]+)["']""", text):
        yield from _told(source, found.start(), boot, boot, filled(found[1]))
    for found in re.finditer(r""""([\w.-]+)"\s*%%?\s*"([\w.-]+)"\s*%\s*"?([\w.-]+)"?""", text):
        artifact = "kafka_2.x" if (found[1], found[2]) == ("org.apache.kafka", "kafka") else found[2]
        yield from _told(source, found.start(), found[1], artifact, str(names.get(found[3], found[3])))
    for found in re.finditer(r"""kafka\.version["'\]]*\s*=\s*["']?(\d[\w.-]*)""", text):
        yield from _told(source, found.start(), "org.apache.kafka", "kafka-clients", found[1])
    for found in re.finditer(IN_MICRONAUT, text):
        yield from _told(
            source, found.start(), "io.micronaut.platform", "micronaut-platform", filled(found[1] or found[2])
        )
    for found in re.finditer(r"""(?m)^quarkusPlatformVersion\s*=\s*(\d[\w.-]*)""", text):
        yield from _told(source, found.start(), "io.quarkus", "quarkus-bom", found[1])


IN_MICRONAUT: Final = re.compile(
    r"""(?m)^[ \t]*micronaut[ \t]*\{(?:[^{}]|\{[^{}]*\}){0,800}?"""
    r"""\bversion[ \t]*(?:=[ \t]*|\([ \t]*|[ \t]+)["']?([\w.${}-]+)"""
    r"""|^micronautVersion[ \t]*=[ \t]*([\d.]+)"""
)
"""How Gradle's plugin of Micronaut is told the platform's release."""


def read_catalog(source: Text, inherited: Mapping[str, str]) -> Iterator[BuildRelease]:
    """Gradle's version catalogue."""
    names = dict(re.findall(r'(?m)^\s*([\w.-]+)\s*=\s*"([^"]+)"', source.content))
    pattern = r'(?:module|id)\s*=\s*"(?:([\w.-]+):)?([\w.-]+)"\s*,\s*version(?:\.ref)?\s*=\s*"([^"]+)"'
    for found in re.finditer(pattern, source.content):
        version = str(names.get(found[3], found[3]))
        yield from _told(source, found.start(), found[1] or found[2], found[2], version)


BARE: Final = r"(\d+(?:\.\d+)*)"
AT_LEAST: Final = rf"""(?:\[[\w, -]*\])?["']?\s*(?:=\s*["'])?(?:[~>=]=|\^|>|=\s*["'])\s*{BARE}"""
"""After a package of Python's: `>=2.3`, `~=2.3`, `==2.3`, `= "^2.3"`."""
LEAST: Final[Mapping[str, tuple[tuple[Library, str, Mapping[str, str]], ...]]] = {
    **dict.fromkeys(
        ("requirements*.txt", "constraints*.txt", "pyproject.toml", "setup.py", "setup.cfg", "Pipfile"),
        (
            ("librdkafka", rf"confluent[-_]kafka{AT_LEAST}", {}),
            ("kafka-python", rf"(?<![\w-])kafka[-_]python{AT_LEAST}", {}),
        ),
    ),
    "CMakeLists.txt": (
        ("librdkafka", rf"\brdkafka(?:\+\+)?[ \t]*>=[ \t]*{BARE}", {}),
        ("librdkafka", rf"(?i)\bfind_package\(\s*rdkafka\s+{BARE}", {}),
    ),
    "meson.build": (("librdkafka", rf"'rdkafka(?:\+\+)?'\s*,[^()]*?\bversion\s*:\s*'>=?\s*{BARE}", {}),),
    "Cargo.toml": (
        ("librdkafka", rf"(?m)^rdkafka\s*=\s*(?:\{{[^{{}}\n]*?version\s*=\s*)?\"[\^~=]?{BARE}", {"0.26": "1.6.0"}),
        ("librdkafka", rf"\[dependencies\.rdkafka\][^\[]*?\bversion\s*=\s*\"[\^~=]?{BARE}", {"0.26": "1.6.0"}),
    ),
    "package.json": (
        ("librdkafka", r"\"node-rdkafka\"\s*:\s*\"[\^~]?(\d+(?:\.\d+)*)", brought()["node-rdkafka"]),
        (
            "librdkafka",
            r"\"@confluentinc/kafka-javascript\"\s*:\s*\"[\^~]?v?(\d+(?:\.\d+)*)",
            brought()["kafka-javascript"],
        ),
    ),
}
"""Lines that tell the oldest release that is allowed, by the names of files. A package with numbers of its own has the
librdkafka that one of its releases brought."""


def least(path: str, top: Path, client: Client) -> str:
    """The oldest release of a client that the build files at a path or above it allow; empty if they do not tell."""
    for folder in _above(path, top, HIGHEST):
        for name, lines in LEAST.items():
            for file in sorted(folder.glob(name)):
                told = _least_in(file, [each for each in lines if each[0] == client])
                if told:
                    return told
        if client == "librdkafka" and (told := _newest_of(folder)):
            return told
    return ""


UNPINNED: Final = re.compile(
    r"(?mi)^[ \t]*confluent[-_]kafka[ \t]*(?:\[[\w, -]*\])?[ \t]*(?:#.*)?$"
    r"|\bpip3?[ \t]+install\b[^\n&|;]*[ \t][\"']?confluent[-_]kafka(?:\[[\w,]*\])?[\"']?(?=[ \t\n]|$)"
    r"|^[ \t]*\"confluent[-_]kafka(?:\[[\w,]*\])?\",?[ \t]*$|^confluent[-_]kafka[ \t]*=[ \t]*\"\*\""
)
"""Where a program of Python's asks for any release: pip takes the newest, and every Python that it still runs on gets
1.0 at least, of 2019.
"""
OF_PIP: Final = ("requirements*.txt", "Pipfile", "pyproject.toml", "Dockerfile*", "*.Dockerfile", "environment.y*ml")
SUITES: Final[Mapping[str, str]] = {"buster": "0.11.6", "bullseye": "1.6.0", "bookworm": "2.0.2", "trixie": "2.8.0"}
"""The librdkafka of each release of Debian's."""
SUITE: Final = re.compile(rf"(?mi)^[ \t]*FROM[ \t]+\S*?\b({'|'.join(SUITES)})\b|^[ \t]*FROM[ \t]+php:8\.[1-9]\S*")
"""An image of Debian's, by name; those of PHP 8.1 and later are bullseye, Alpine 3.14 or newer where none is named."""
PACKAGED: Final = re.compile(r"\b(?:apt(?:-get)?|apk)\b[^\n]*(?:\\\n[^\n]*)*\blibrdkafka")
"""Where an image is given its distribution's librdkafka."""


def _newest_of(folder: Path) -> str:
    """The librdkafka that a directory's files have at least where they ask for any: pip's newest, a distribution's."""
    for name in OF_PIP:
        for file in sorted(folder.glob(name)):
            source = text_of(file)
            if source is None:
                continue
            if UNPINNED.search(source.content):
                return "1.0.0"
            if "ockerfile" in file.name and PACKAGED.search(source.content):
                suites = [SUITES[each.lower() or "bullseye"] for each in SUITE.findall(source.content)]
                if suites:
                    return min(suites, key=numbers)
    return ""


def _least_in(file: Path, lines: Iterable[tuple[Library, str, Mapping[str, str]]]) -> str:
    """What one file tells of the oldest release; empty if nothing."""
    try:
        text = decode(file.read_bytes()) if file.is_file() and file.stat().st_size <= LARGEST else ""
    except OSError:
        return ""
    for _, pattern, brings in lines:
        if found := re.search(pattern, text):
            older = [each for each in brings if numbers(each) <= numbers(found[1])]
            return found[1] if not brings else brings[max(older, key=numbers)] if older else ""
    return ""


READERS: Final[Mapping[str, Reader]] = {
    "pom.xml": read_pom,
    "build.gradle": read_gradle,
    "build.gradle.kts": read_gradle,
    "gradle.properties": read_gradle,
    "gradle/libs.versions.toml": read_catalog,
    "build.sbt": read_gradle,
    "project/*.scala": read_gradle,
    **dict.fromkeys(OF_BUILD, read_gradle),
    **OF_OTHERS,
}
