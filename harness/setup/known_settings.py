"""Writes audit/known/: every key of Kafka's producers, topics and brokers, with its default, release by release.

The code itself is asked, once, and the answers are committed, so that an audit needs no Java. Asked are

- `ConfigDef`, in the jars that each release is locked with
- kafka-clients of some further releases, those beside which a default changed (`BETWEEN`)
- the configuration classes of 0.8.2, which has no `ConfigDef` for brokers and none for the Scala producer
- CONFIGURATION.md at the tag of each release of librdkafka, which its build writes from the code

    python -m harness.setup.known_settings LIBRDKAFKA SPRING-KAFKA SPRING-BOOT     clones of these, with their tags
    python -m harness.setup.known_settings add 4.4.0                               a newer release of Kafka alone

clients.json, which kafka-clients each release of Spring for Apache Kafka and of Spring Boot brings, is read from their
builds at each tag.

A release is asked in a process of its own, since a process has one Java virtual machine and one class path.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from evidence import borders
from evidence.errors import HarnessError, UsageError
from evidence.releases import numbers
from harness.setup import jars
from harness.setup.java import java_home, properties

MODULE: Final = "harness.setup.known_settings"
KNOWN: Final = Path(__file__).resolve().parents[2] / "audit" / "known"
BETWEEN: Final[Mapping[str, str]] = {
    "2.0.1": "2.2.2",  # the last with retries=0 (KIP-91)
    "2.1.1": "2.2.2",
    "2.5.1": "2.8.2",
    "3.0.0": "3.9.2",  # acks=all (KIP-679)
    "3.0.2": "3.9.2",  # idempotence in force by default (KAFKA-13598)
    "3.1.0": "3.9.2",
    "3.1.2": "3.9.2",
    "3.2.3": "3.9.2",
    "3.4.1": "3.9.2",
}
"""Releases of kafka-clients without a lock of ours, and the locked release whose other jars it is asked with."""
CONFIG_DEFS: Final[Mapping[str, Sequence[str]]] = {
    "java-producer": ["org.apache.kafka.clients.producer.ProducerConfig"],
    "topic": ["kafka.log.LogConfig$", "org.apache.kafka.storage.internals.log.LogConfig"],
    "broker": ["org.apache.kafka.server.config.AbstractKafkaConfig", "kafka.server.KafkaConfig$"],
}
SCALA_PRODUCER: Final = "kafka.producer.ProducerConfig"
NAMED_BY: Final[Mapping[str, Sequence[str]]] = {
    "scala-producer": [
        "kafka/producer/ProducerConfig",
        "kafka/producer/SyncProducerConfigShared",
        "kafka/producer/async/AsyncProducerConfig",
    ],
    "topic": ["kafka/log/LogConfig$"],
    "broker": ["kafka/server/KafkaConfig"],
}
"""Classes whose constants are the keys, where there is no ConfigDef."""

OLDEST_LIBRDKAFKA: Final = numbers("0.9")
"""Its first release with a page of its keys in the form that is read here."""
SPRING_BOOT_VERSIONS: Final = (
    "platform/spring-boot-dependencies/build.gradle",
    "spring-boot-project/spring-boot-dependencies/build.gradle",
    "spring-boot-project/spring-boot-dependencies/pom.xml",
    "spring-boot-dependencies/pom.xml",
)
"""Where Spring Boot keeps its managed versions: 4.0, 2.3, 2.0, before."""

SETTING: Final = re.compile(r"[a-z][a-z0-9]*(?:\.[a-z0-9]+)+")
"""What a setting's name looks like, among the constants of a class."""

Key = dict[str, str | None]
"""`default` (None if there is none), and `type` and `valid` where the code tells them."""
Keys = dict[str, Key]


def spans(by_release: Mapping[str, Keys]) -> dict[str, list[dict[str, str | None]]]:
    """Each key's history: from which release to which it had which default; both ends were asked.

    >>> spans({"1.0": {"a": {"default": "1"}}, "2.0": {"a": {"default": "1"}}, "10.0": {"a": {"default": "all"}}})
    {'a': [{'from': '1.0', 'to': '2.0', 'default': '1'}, {'from': '10.0', 'to': '10.0', 'default': 'all'}]}
    """
    found: dict[str, list[dict[str, str | None]]] = {}
    before: set[str] = set()
    for release in sorted(by_release, key=numbers):
        keys = by_release[release]
        for name, key in keys.items():
            history = found.setdefault(name, [])
            if name in before and {**key, "from": history[-1]["from"], "to": history[-1]["to"]} == history[-1]:
                history[-1]["to"] = release
            else:
                history.append({"from": release, "to": release, **key})
        before = set(keys)
    return dict(sorted(found.items()))


def extended(
    history: Mapping[str, list[dict[str, str | None]]], newest: str, release: str, keys: Keys
) -> dict[str, list[dict[str, str | None]]]:
    """Each key's history with one more release, which is newer than all asked before; `newest` is the last of these.

    >>> a, b = {"from": "1.0", "to": "2.0", "default": "1"}, {"from": "1.0", "to": "1.0", "default": "x"}
    >>> after = extended({"a": [a], "b": [b]}, "2.0", "3.0", {"a": {"default": "1"}, "b": {"default": "x"}})
    >>> [span["to"] for span in after["a"]], [span["from"] for span in after["b"]]
    (['3.0'], ['1.0', '3.0'])
    """
    found = {name: [dict(span) for span in spans] for name, spans in history.items()}
    for name, key in keys.items():
        told = found.setdefault(name, [])
        same = told and told[-1] == {"from": told[-1]["from"], "to": newest, **key}
        if same:
            told[-1]["to"] = release
        else:
            told.append({"from": release, "to": release, **key})
    return dict(sorted(found.items()))


def add(release: str) -> None:
    """Ask one more release of Kafka, and write what it knows to audit/known/*.json. Raises UsageError if it is not
    newer than all that were asked.
    """
    classes = sorted(jars.resolve(release, lambda _: None).glob("*.jar"))
    for name, keys in asked(classes, list(CONFIG_DEFS)).items():
        told = json.loads((KNOWN / f"{name}.json").read_text())
        newest = list(told["releases"])[-1]
        if numbers(release) <= numbers(newest):
            raise UsageError(f"{release} is not newer than {newest}, the newest asked: write all anew, from clones")
        history = extended(told.pop("keys"), newest, release, keys)
        told["releases"][release] = f"compose/locks/{release}.lock"
        _write(name, told, history)
        print(f"{release}: {name} {len(keys)}")


def _write(name: str, told: Mapping[str, Any], history: Mapping[str, Any]) -> None:
    """Write the file of a kind of key: what is told of it, and a line for each key."""
    head = json.dumps(told, indent=1)
    lines = [f"  {json.dumps(key)}: {json.dumps(spans)}" for key, spans in history.items()]
    text = head.removesuffix("\n}") + ',\n "keys": {\n' + ",\n".join(lines) + "\n }\n}\n"
    (KNOWN / f"{name}.json").write_text(text)


def librdkafka_keys(page: str) -> Keys:
    """The producer's keys in a CONFIGURATION.md: those whose column C/P says P or `*`, topic keys too.

    An alias has the default of the key that it stands for.

    >>> librdkafka_keys("acks | P | -1 .. 1000 | -1 | high | Alias for `request.required.acks`: … *Type: integer*")
    {'acks': {'default': '-1', 'valid': '-1 .. 1000', 'type': 'integer', 'alias': 'request.required.acks'}}
    """
    keys: Keys = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        # The column of importance came with 1.0; a description may have a bar of its own.
        if len(cells) < 5 or cells[1] not in ("P", "*"):
            continue
        name, _, valid, default, *rest = cells
        text = " ".join(rest)
        key: Key = {"default": default or None, "valid": valid or None}
        if kind := re.search(r"\*Type: ([^*]+)\*", text):
            key["type"] = kind[1].strip()
        if alias := re.search(r"^(?:(?:low|medium|high) )?Alias for `([^`]+)`", text):
            key["alias"] = alias[1]
        keys[name] = {what: value for what, value in key.items() if value is not None or what == "default"}
    for name, key in keys.items():
        if not key["default"] and (target := keys.get(key.get("alias") or name)) is not None:
            key["default"] = target["default"]
    return keys


def librdkafka(checkout: Path) -> dict[str, Keys]:
    """The keys of every final release from 0.9 on, by release."""
    pages = {release: _at(checkout, tag, "CONFIGURATION.md") for release, tag in _releases(checkout)}
    found = {release: librdkafka_keys(page) for release, page in pages.items() if numbers(release) >= OLDEST_LIBRDKAFKA}
    return {release: keys for release, keys in found.items() if keys}


def spring_clients(spring_kafka: Path, spring_boot: Path) -> dict[str, dict[str, str]]:
    """Which kafka-clients each final release of spring-kafka and of spring-boot brings.

    Spring Boot manages Kafka's own version from 2.2 on; before, it is that of the spring-kafka which it names.
    """
    kafka = {
        release: version[1]
        for release, tag in _releases(spring_kafka)
        if (version := re.search(r"kafkaVersion = (?:.*\?: )?'([\d.]+)'", _at(spring_kafka, tag, "build.gradle")))
    }
    boot = {}
    for release, tag in _releases(spring_boot):
        text = "".join(_at(spring_boot, tag, path) for path in SPRING_BOOT_VERSIONS)
        own = re.search(r'library\("Kafka", "([\d.]+)"|<kafka\.version>([\d.]+)<', text)
        named = re.search(r"<spring-kafka\.version>([\d.]+?)(?:\.RELEASE)?<", text)
        if client := (own[1] or own[2]) if own else kafka.get(named[1]) if named else None:
            boot[release] = client
    return {"spring-kafka": kafka, "spring-boot": boot}


def _releases(checkout: Path) -> Iterator[tuple[str, str]]:
    """The final releases of a clone, and the tag of each."""
    tags = subprocess.run(["git", "-C", checkout, "tag"], capture_output=True, text=True, check=True).stdout.split()
    for tag in tags:
        if final := re.fullmatch(r"v?(\d+\.\d+\.\d+)(\.RELEASE)?", tag):
            yield final[1], tag


def _at(checkout: Path, tag: str, path: str) -> str:
    """A file at a tag; empty if it is not there."""
    command = ["git", "-C", str(checkout), "show", f"{tag}:{path}"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def ask(class_path: Sequence[Path], what: Iterable[str]) -> dict[str, Keys]:
    """In this process: what the classes on a class path know. `what` is of CONFIG_DEFS and "scala-producer"."""
    import jpype

    library = next(Path(java_home()).glob("lib/**/libjvm.so"))
    jpype.startJVM(
        str(library), "-Xmx256m", "-XX:+UseSerialGC", classpath=list(map(str, class_path)), convertStrings=True
    )
    found: dict[str, Keys] = {}
    for name in what:
        definition = next(filter(None, map(_definition, CONFIG_DEFS.get(name, []))), None)
        if definition is not None:
            found[name] = dict(_defined(definition))
        elif name == "broker":
            given = {"zookeeper.connect": "z:2181", "broker.id": "1"}
            found[name] = _read(class_path, name, "kafka.server.KafkaConfig", given)
        elif name == "topic":
            found[name] = {key: {"default": None} for key in _constants(class_path, name)}
        else:
            found[name] = _read(class_path, name, SCALA_PRODUCER, {"metadata.broker.list": "b:9092"})
    return found


def _definition(name: str) -> Any:
    """The ConfigDef in a static field of a class, or in a field of a Scala object; None if there is none."""
    import jpype

    try:
        holder = jpype.JClass(name).class_
        kind = jpype.JClass("org.apache.kafka.common.config.ConfigDef").class_
    except TypeError:
        return None
    fields = {str(field.getName()): field for field in holder.getDeclaredFields()}
    owner = fields["MODULE$"].get(None) if "MODULE$" in fields else None
    of_the_kind = {name: field for name, field in fields.items() if kind.isAssignableFrom(field.getType())}
    field = of_the_kind.get("CONFIG") or next(iter(of_the_kind.values()), None)
    if field is None:
        return None
    field.setAccessible(True)
    return field.get(owner)


def _defined(definition: Any) -> Iterator[tuple[str, Key]]:
    """The keys of a ConfigDef that users may set."""
    import jpype

    base = jpype.JClass("org.apache.kafka.common.config.ConfigDef").class_
    fields = {str(field.getName()): field for field in base.getDeclaredFields()}
    for name in ("configKeys", "NO_DEFAULT_VALUE"):
        fields[name].setAccessible(True)
    keys = fields["configKeys"].get(definition)
    required = fields["NO_DEFAULT_VALUE"].get(None)
    text = jpype.JClass("java.util.Objects").toString
    for name in sorted(str(name) for name in keys.keySet()):
        key = keys.get(name)
        members = {str(field.getName()): field for field in key.getClass().getDeclaredFields()}

        def member(which: str, key: Any = key, members: Mapping[str, Any] = members) -> Any:
            members[which].setAccessible(True)
            return members[which].get(key)

        default, valid = member("defaultValue"), member("validator")
        told: Key = {"default": None if default is None or default == required else _plain(str(text(default)))}
        told["type"] = str(text(member("type"))).lower()
        # A validator without words of its own is told as a class and an address.
        if valid is not None and "@" not in (words := str(text(valid))) and "Lambda" not in words:
            told["valid"] = words
        yield name, told


def _plain(value: str) -> str:
    """A default as one would write it: a list without its brackets, a class by its name."""
    value = value.removeprefix("class ")
    return value[1:-1].replace(", ", ",") if value.startswith("[") and value.endswith("]") else value


def _constants(class_path: Sequence[Path], what: str) -> list[str]:
    """The keys that are constants of classes: for releases without a ConfigDef."""
    import zipfile

    archive = next(jar for jar in class_path if jar.name.startswith("kafka_"))
    names = set()
    with zipfile.ZipFile(archive) as jar:
        for entry in jar.namelist():
            if any(entry == f"{each}.class" or entry.startswith(f"{each.rstrip('$')}$") for each in NAMED_BY[what]):
                words = re.findall(rb"\x01\x00[\x04-\x60]([a-z][a-z0-9.]+)", jar.read(entry))
                names |= {word.decode() for word in words if SETTING.fullmatch(word.decode())}
    return sorted(names)


def _read(class_path: Sequence[Path], what: str, name: str, given: Mapping[str, str]) -> Keys:
    """Keys among a class's constants, each with what an object of it, made of almost nothing, answers for it."""
    import jpype

    config = jpype.JClass(name)(properties(given))
    readers = (method for method in config.getClass().getMethods() if not method.getParameterCount())
    methods = {str(method.getName()).lower(): method for method in readers}
    keys: Keys = {}
    for key in _constants(class_path, what):
        if (method := methods.get(key.replace(".", ""))) is not None and key not in given:
            value = str(jpype.JClass("java.util.Objects").toString(method.invoke(config)))
            keys[key] = {"default": value or None, "type": str(method.getReturnType().getSimpleName()).lower()}
        else:
            keys[key] = {"default": None}
    return keys


def asked(class_path: Sequence[Path], what: Sequence[str]) -> dict[str, Keys]:
    """`ask`, in a process of its own."""
    command = [sys.executable, "-m", MODULE, "ask", ",".join(what), *map(str, class_path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if result.returncode:
        raise HarnessError(f"{class_path[0].parent.name} could not be asked: {result.stderr[-500:]}")
    answer: dict[str, Keys] = json.loads(result.stdout.splitlines()[-1])
    return answer


def _clients(release: str, scratch: Path) -> tuple[list[Path], str]:
    """kafka-clients of a release that has no lock, with the other jars of one that has; and its digest."""
    jar = jars.Jar(group="org.apache.kafka", artifact="kafka-clients", version=release)
    jars._fetch({release: [jar]}, scratch)
    path = scratch / release / jar.file
    others = sorted(jars.resolve(BETWEEN[release], lambda _: None).glob("*.jar"))
    return [path, *(other for other in others if not other.name.startswith("kafka"))], jars.digest(path)


def main(arguments: Sequence[str]) -> int:
    """Write audit/known/*.json, or add a release to them; `ask WHAT JAR…` is what this starts itself with."""
    if arguments[:1] == ["ask"]:
        print(json.dumps(ask([Path(jar) for jar in arguments[2:]], arguments[1].split(","))))
        return 0
    if len(arguments) == 2 and arguments[0] == "add":
        add(arguments[1])
        return 0
    if len(arguments) != 3:
        raise UsageError(f"usage: python -m {MODULE} LIBRDKAFKA SPRING-KAFKA SPRING-BOOT: clones of these, with tags")
    found: dict[str, dict[str, Keys]] = {name: {} for name in (*CONFIG_DEFS, "scala-producer")}
    sources: dict[str, dict[str, str]] = {name: {} for name in found}

    def keep(release: str, source: str, class_path: Sequence[Path], what: Sequence[str]) -> None:
        for name, keys in asked(class_path, what).items():
            found[name][release], sources[name][release] = keys, source
        print(f"{release}: {', '.join(f'{name} {len(found[name][release])}' for name in what)}")

    for release in sorted((path.stem for path in jars.LOCKS.glob("*.lock")), key=numbers):
        classes = sorted(jars.resolve(release, lambda _: None).glob("*.jar"))
        what = (
            [*CONFIG_DEFS, "scala-producer"] if numbers(release) < borders.SCALA_REMOVED.release else list(CONFIG_DEFS)
        )
        keep(release, f"compose/locks/{release}.lock", classes, what)
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-") as scratch:
        for release in BETWEEN:
            classes, digest = _clients(release, Path(scratch))
            keep(release, f"org.apache.kafka:kafka-clients:{release}, sha256 {digest}", classes, ["java-producer"])
    found["librdkafka"] = librdkafka(Path(arguments[0]))
    sources["librdkafka"] = dict.fromkeys(found["librdkafka"], "CONFIGURATION.md at the release's tag")
    for name, by_release in found.items():
        told = {
            "about": f"Keys of {name}, each with its default from one asked release to another; null: it has none",
            "written_by": f"python -m {MODULE}",
            "releases": {release: sources[name][release] for release in sorted(by_release, key=numbers)},
        }
        _write(name, told, spans(by_release))
    brought = {
        name: dict(sorted(clients.items(), key=lambda pair: numbers(pair[0])))
        for name, clients in spring_clients(Path(arguments[1]), Path(arguments[2])).items()
    }
    about = "The release of kafka-clients that a release brings, from its build at its tag"
    told = {"about": about, "written_by": f"python -m {MODULE}", **brought}
    (KNOWN / "clients.json").write_text(json.dumps(told, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (UsageError, HarnessError) as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_status)
