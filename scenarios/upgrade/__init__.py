"""From one release to the next while clients go on: what each upgrade goes through, and what strikes it meanwhile.

`ROUTE` is what each version is upgraded to. With ZooKeeper the steps are those of Kafka's documentation (Upgrading):
every broker as the new release, the one that is the controller last, then the protocol, then the message format.
"""

from typing import Final

from harness.words import Run, Target, VersionRange

ROUTE: Final = {
    "0.10.2.2": "0.11.0.3",
    "0.11.0.3": "1.1.1",
    "1.1.1": "2.8.2",
    "2.8.2": "3.9.2-zk",
    "3.9.2-kraft": "4.0.2",
    "4.0.2": "4.3.1",
    "4.3.1": "4.4.0",
}
HAS_FORMAT: Final = VersionRange(
    "log.message.format.version is looked at (0.10 to 2.8)", lambda version: (0, 10) <= version.release < (3,)
)
"""KIP-724: from protocol 3.0 on every record is of format 2."""


def restart(run: Run, target: Target) -> None:
    """What an upgrade does to a broker, but for the upgrade: it is stopped cleanly and started again."""
    run.stop(target)
    run.start(target)
