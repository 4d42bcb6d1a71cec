"""Upgrades: from one release to the next while clients go on, what strikes the cluster meanwhile, and the way back.

`ROUTE` is what each version is upgraded to. The steps are those of Kafka's documentation (Upgrading): one node after
the other as the new release, the controller last with ZooKeeper, then what the cluster speaks: protocol and message
format, or the levels of features with KRaft. A new binary speaks as the old one did until then.

`upgrade-double-failover` is where leader epochs come from: an old loss that ends half way. `upgrade-rolling` is the
common case, with and without a death meanwhile. `upgrade-downgrade` goes back, as far as that can be.
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
