"""What `kafka-chaos --help` shows: the commands in groups, and worked examples of each one.

Light: every start of the program reads it. A test parses each example as the program would, and finds every command
in one group.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

PROGRAM: Final = "kafka-chaos"
WIDTH: Final = 79


@dataclass(frozen=True, slots=True)
class CommandHelp:
    """A command in one line, and lines that can be typed as they stand, each with what it does."""

    summary: str
    examples: tuple[tuple[str, str], ...]


GROUPS: Final[Mapping[str, Mapping[str, CommandHelp]]] = {
    "Run": {
        "run": CommandHelp(
            "Run one scenario on one version.",
            (
                (
                    "run double-failover --version 0.10.2.2",
                    "Two leaders die in a row. An acknowledged record is lost, as documented.",
                ),
                (
                    "run leader-crash --case acks-all --version 4.3.1 --repeat 3",
                    "Run one case of a scenario three times, with the seeds 1, 2 and 3.",
                ),
                (
                    "run upgrade-rolling --version 2.4.1 --upgrade-to 2.8.1",
                    "Upgrade a cluster of 2.4.1 to 2.8.1 node by node, under load.",
                ),
            ),
        ),
        "suite": CommandHelp(
            "Run the default suite and write a report.",
            (
                ("suite", "Run all of it. The status is 0 only if everything went as documented."),
                ("suite --versions 4.3.1 --fail-on unexpected", "Run one version; only a wrong outcome ends with 1."),
            ),
        ),
        "matrix": CommandHelp(
            "Run scenarios × cases × versions, and only what is not finished.",
            (
                (
                    "matrix --scenarios leader-crash one-way --versions 2.8.2 4.3.1",
                    "Run all cases of two scenarios on two releases. Called again, it runs the rest.",
                ),
                (
                    "matrix --scenarios all --versions 4.3.1 --plan --minutes 60",
                    "Begin with what the ledger knows least of, and begin no run after an hour.",
                ),
            ),
        ),
        "bisect": CommandHelp(
            "Find the release that brought a symptom, or mended it.",
            (
                (
                    "bisect double-failover --fix --bad 0.10.2.2 --good 2.8.2",
                    "Run releases between the two, until the one that mended the loss is known.",
                ),
            ),
        ),
        "cluster": CommandHelp(
            "Start a cluster for your own tests, which command it.",
            (
                (
                    "cluster --version 4.3.1 --setting min.insync.replicas=2",
                    "Start three brokers. Commands are lines of JSON on standard input.",
                ),
            ),
        ),
        "replay": CommandHelp(
            "Run again what a run of the ledger ran, on the same commit.",
            (("replay RUN --here", "Run it on the code that is checked out. RUN is the name of a run."),),
        ),
    },
    "Look at a run": {
        "watch": CommandHelp(
            "Follow a run, live or afterwards, to its verdict.",
            (("watch runs/RUN", "Show the steps, the faults and the verdict. RUN is the name of a run."),),
        ),
        "explain": CommandHelp(
            "Tell the life of a record, as every witness saw it.",
            (
                ("explain runs/RUN", "Tell the life of every record that a finding names."),
                ("explain runs/RUN --record t-0:1/3", "Tell that of record 3 of producer 1, in partition t-0."),
                ("explain runs/RUN --record t-0@3", "Tell what was ever at offset 3."),
            ),
        ),
        "report": CommandHelp(
            "Write the reports of judged runs again.",
            (
                ("report runs/RUN", "Write report.html of one run again."),
                ("report runs/matrix --out matrix.html", "Write one report for all runs of a folder."),
            ),
        ),
        "check": CommandHelp(
            "Analyse and judge again, from the files of runs alone.",
            (
                ("check runs/RUN", "Judge one run again."),
                ("check --history history.jsonl", "Judge a history that another program recorded."),
            ),
        ),
    },
    "Results and bugs": {
        "list": CommandHelp(
            "List scenarios, versions, anomalies and claims.",
            (
                ("list double-failover", "Show a scenario in full, with what is documented for each version."),
                ("list all --on 2.8.2 --seen lost-write", "List the scenarios that must lose records on 2.8.2."),
            ),
        ),
        "findings": CommandHelp(
            "List what was found here that no document says.",
            (("findings", "Show each finding, with its control and its status."),),
        ),
        "museum": CommandHelp(
            "List the known bugs that can happen on a release.",
            (("museum --version 2.6.1", "Show each bug, and the run that showed it."),),
        ),
        "compare": CommandHelp(
            "Tell what changed between two samples of runs.",
            (
                ("compare runs/monday runs/tuesday", "Compare two folders of runs."),
                (
                    "compare --kafka-under-test ~/kafka --against 4.3.1",
                    "Run a build of your own and a release in turn, and compare them.",
                ),
            ),
        ),
        "trend": CommandHelp(
            "Follow each cell and each duration over nights or releases.",
            (("trend runs/nightly --out trend.html", "Add a night's runs to the table, and write the page."),),
        ),
        "ledger": CommandHelp(
            "Count all runs that were ever started.",
            (
                ("ledger needs", "List the documented cells that need more runs, and how many."),
                ("ledger allowances", "List what may be seen, and never was or always was."),
                ("ledger coverage", "Show how much of each version was ever run, and how long ago."),
                ("ledger merge runs/matrix", "Enter the runs of a folder."),
                ('ledger exclude RUN --why "its disk was full"', "Take a run out of every count."),
                ("ledger check", "Find lines that were committed and are gone or changed."),
            ),
        ),
        "evidence": CommandHelp(
            "Pack the small evidence of judged runs.",
            (("evidence runs/RUN", "Pack one run, at most 200 kB, and print its SHA-256."),),
        ),
        "prune": CommandHelp(
            "Remove old runs; their lines in the ledger stay.",
            (("prune runs/nightly --older-than 14d", "Remove runs that ended more than two weeks ago."),),
        ),
    },
    "Your settings, your lost records": {
        "audit": CommandHelp(
            "Grade producers' settings by measured runs.",
            (
                ("audit src/main/resources", "Read every file of a directory. It needs no Docker and no network."),
                (
                    "audit . --fail-on loss --format sarif --output audit.sarif",
                    "Fail a build if a measured fault certainly loses records.",
                ),
                ("audit --client java-3.9.0 --bootstrap localhost:9092", "Read topics and brokers, and write nothing."),
            ),
        ),
        "atlas": CommandHelp(
            "Show what can happen to acknowledged records, event by event.",
            (
                (
                    "atlas --version 2.8.2 --settings audit/examples/spring-2.8",
                    "Show all events on a release, and mark the column of these producers.",
                ),
            ),
        ),
        "incident": CommandHelp(
            "Look for causes of lost records in what you saved.",
            (
                (
                    "incident saved/broker-1 saved/broker-2 saved/broker-3",
                    "Read the logs, partitions and settings of three brokers.",
                ),
            ),
        ),
        "replicas": CommandHelp(
            "Compare copies of a partition, from any cluster.",
            (
                (
                    "replicas saved/broker-1/orders-0 saved/broker-2/orders-0",
                    "Show each offset at which the two replicas differ.",
                ),
            ),
        ),
    },
    "Set-up": {
        "doctor": CommandHelp(
            "Check this machine, and say how to mend what is wrong.",
            (("doctor", "Check Docker, Java, memory and the images."),),
        ),
        "setup": CommandHelp(
            "Install or build what is missing: Docker, Java, images.",
            (
                ("setup", "Set up for the default suite."),
                ("setup --versions 2.8.2 3.7.1-kraft", "Build the images of two versions."),
            ),
        ),
        "clean": CommandHelp(
            "Remove what killed runs left behind, and nothing else.",
            (("clean", "Remove containers, networks and live data of dead harnesses."),),
        ),
    },
    "Maintain kafka-chaos": {
        "releases": CommandHelp(
            "Look for new releases of Kafka, and write a page on each.",
            (
                ("releases --list", "Renew the list of releases, and run nothing."),
                ("releases 4.3.1 --against 4.2.0", "Write the page of what changed between two releases."),
            ),
        ),
        "statements": CommandHelp(
            "Compare what two commits state about Kafka.",
            (("statements", "Compare this working tree with the last tag."),),
        ),
        "guide": CommandHelp(
            "Write the generated pages of docs/.",
            (("guide runs/nightly", "Write them, and describe one run of each scenario in full."),),
        ),
    },
}
COMMANDS: Final[Mapping[str, CommandHelp]] = {
    name: one for commands in GROUPS.values() for name, one in commands.items()
}


def overview() -> str:
    """Every command in its group, a line each."""
    longest = max(map(len, COMMANDS))
    parts = [
        "\n".join([f"{title}:", *(f"  {name:<{longest}}  {one.summary}" for name, one in commands.items())])
        for title, commands in GROUPS.items()
    ]
    return "\n\n".join([*parts, f"`{PROGRAM} COMMAND --help` shows a command's options and examples."])


def description(text: str) -> str:
    """A text in lines that fit a terminal."""
    return textwrap.fill(text, WIDTH)


def epilog(command: str) -> str:
    """The examples of a command; of an action ("ledger merge") those of its command that are of this action."""
    examples = [one for one in COMMANDS[command.split()[0]].examples if f"{one[0]} ".startswith(f"{command} ")]
    return "\n".join(["examples:" if len(examples) > 1 else "example:", *_lines(examples)])


def _lines(examples: Iterable[tuple[str, str]]) -> Iterator[str]:
    for line, what in examples:
        yield f"  {PROGRAM} {line}"
        yield textwrap.fill(what, WIDTH, initial_indent="      ", subsequent_indent="      ")
