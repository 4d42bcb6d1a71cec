"""The options of `kafka-chaos audit`. Light: every start of the program builds them."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Final

PROOFS: Final = Path("runs/audit-prove")
FORMATS: Final = ("console", "html", "json", "sarif", "junit")
KINDS: Final = ("loss", "duplicate", "reorder", "power-loss", "last-replica")
"""What --fail-on may name. Loss of power by itself: it is for flushes and replicas to prevent, not for a producer's
settings, so "loss" does not mean it.
"""
DESCRIPTION: Final = (
    "Says what can happen to acknowledged records of these producers, with the measured run that shows it. "
    "Reads files or directories: .properties, YAML, JSON and more, of clients, Spring, Quarkus, Kafka Connect, "
    "Flink, docker-compose, Kubernetes and Strimzi (all: docs/audit.md). Needs neither Docker nor Java nor a network."
)


def add_options(parser: ArgumentParser) -> None:
    """All options of the command."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, or directories of them; - is standard input")
    _given(parser)
    add_cluster_options(parser)
    _proof(parser)
    _answer(parser)


def _given(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("what the configuration does not say")
    group.add_argument(
        "--client",
        metavar="CLIENT",
        help="whose producers these are: java-2.8.2, librdkafka-2.3.0, scala-0.8.2.2, or java for any release; without "
        "a PATH, audits what such a client does with nothing configured",
    )
    group.add_argument(
        "--brokers-version", metavar="V", help="release of the brokers; 3.9.2-zk, -kraft or -pinned says how it is run"
    )
    group.add_argument(
        "--topic",
        action="append",
        default=[],
        metavar="T",
        help="NAME, or NAME:replication.factor=3,min.insync.replicas=2,unclean.leader.election.enable=false (again for "
        "more); producers that name no topic write to these",
    )
    group.add_argument(
        "--profile",
        action="append",
        default=[],
        metavar="P",
        help="active profile of Spring or Quarkus; again for more",
    )
    group.add_argument(
        "--env", action="append", default=[], metavar="K=V", help="what a placeholder ${K} stands for; again for more"
    )

    group.add_argument(
        "--log",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="an application's own log: what its clients print when they start (ProducerConfig values:, or "
        "librdkafka's with debug=conf) is what is in force; again for more",
    )
    group.add_argument(
        "--policy",
        default="durable",
        metavar="P",
        help="the scale of grades: durable (default), ordered, available, or a file like audit/policies/durable.json",
    )


def add_cluster_options(parser: ArgumentParser) -> None:
    """The options that name a live cluster."""
    group = parser.add_argument_group("a live cluster, read-only")
    group.add_argument(
        "--bootstrap",
        metavar="HOST:PORT",
        help="brokers of a cluster to read topics and brokers from, separated by commas; nothing is written to it",
    )
    group.add_argument(
        "--command-config",
        metavar="FILE",
        type=Path,
        help="how to connect: SASL and TLS settings of a Java client or of librdkafka, as properties",
    )
    group.add_argument(
        "--zookeeper",
        metavar="HOST:PORT",
        help="its ZooKeeper, for the settings of topics on brokers before 0.11, which do not tell them",
    )


def _proof(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("a proof, in containers (needs what `kafka-chaos setup` installs)")
    group.add_argument(
        "--prove",
        action="store_true",
        help="run just these configurations, with their clients, through the faults; nothing of yours is connected to",
    )
    group.add_argument(
        "--faults", type=_faults, default=(), metavar="F", help="only these faults, separated by commas (default: all)"
    )
    group.add_argument(
        "--runs-dir",
        type=Path,
        default=PROOFS,
        metavar="DIR",
        help=f"where its run directories go (default {PROOFS}); what is finished there is not run again",
    )
    group.add_argument("--jobs", type=_positive, default=1, metavar="N", help="runs at the same time (default 1)")


def _faults(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def _answer(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("the answer")
    group.add_argument("--format", choices=FORMATS, default="console", help="default: console")
    group.add_argument("--output", type=Path, metavar="FILE", help="write it there, not to standard output")
    group.add_argument("--quiet", action="store_true", help="a line for each producer and topic")
    group.add_argument(
        "--fail-on",
        type=_kinds,
        default=(),
        metavar="E",
        help=f"{', '.join(KINDS)}, separated by commas: end with 1 if a measured fault certainly does that",
    )
    group.add_argument(
        "--strict", action="store_true", help="--fail-on also if that depends on what is not told, such as a release"
    )
    group.add_argument(
        "--allow-empty", action="store_true", help="end with 0, and an empty answer, if there is no producer"
    )
    group.add_argument("--baseline", type=Path, metavar="FILE", help="findings that are accepted, and fail nothing")
    group.add_argument(
        "--history",
        type=Path,
        metavar="FILE",
        help="add a line for this repository, and tell what changed since its last; without a PATH: the trend of all "
        "repositories in the file",
    )
    group.add_argument("--write-baseline", type=Path, metavar="FILE", help="accept all that is found now")


def _kinds(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names or ("",):
        if name not in KINDS:
            raise ArgumentTypeError(f"{name!r} is not one of {', '.join(KINDS)}")
    return names
