"""Random small runs with transactions: what each of their partitions tells, for the checks that cross partitions."""

from __future__ import annotations

from random import Random

from analysis.checks_of_partition import gathers
from analysis.result import Result
from checks.view import view_of
from tests.unit.checks.histories import Row, final_read, polled, sent, table

TRANSACTIONS = (1, 2, 3, 4, 5)
OUTCOMES = ("ok", "ok", "ok", "info", "fail")


def told(random: Random) -> list[Result]:
    """What each partition of a run tells: a result a partition."""
    return [_of_partition(random, number) for number in range(random.randint(1, 4))]


def _of_partition(random: Random, number: int) -> Result:
    writes = random.randint(0, 6)
    rows: list[Row] = [
        sent(
            100 * number + offset,
            offset,
            random.choice(OUTCOMES),
            process="w",
            transaction=random.choice(TRANSACTIONS),
            invoked_ns=random.randint(0, 100),
        )
        for offset in range(writes)
    ]
    for at in range(random.randint(0, 6)):
        offset = random.randint(0, 6)
        transaction = random.choice((None, None, *TRANSACTIONS))
        reader = "reader-1" if transaction is None else "w"
        rows.append(polled(offset, 100 * number + offset, process=reader, transaction=transaction, invoked_ns=at))
    result = Result()
    for kind in gathers():
        result.gather(kind.name, kind.function(view_of("t", number, table(*rows, final_read(writes)))))
    return result
