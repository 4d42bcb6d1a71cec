"""Every check of one topic-partition, each given what it reads: the rows that screening kept, or all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from analysis.result import Result, Where
from checks.anomaly import HISTORY, Check, Gathered, Reads, RowsNeeded, gathered_by
from checks.catalogue import checks_of
from checks.view import Evidence, PartitionView

Given = Mapping[Reads, Any]


def check_partition(
    result: Result, where: Where, given: Given, whole: Callable[[], PartitionView], *, clean: bool = False
) -> None:
    """Run every check of a partition on what is `given`, and gather what checks over all partitions read. `whole` makes
    the view of all rows, where that of `given` has a part. In a partition that is trivially clean (`clean`) only
    those are run that may find something in such a one.
    """
    for check in checks_of("partition"):
        if not (clean and check.screened.clean):
            result.run(check, where, lambda check=check: _find(check, given, whole))  # type: ignore[misc]
    for kind in gathers():
        if not (clean and kind.screened.clean):
            result.gather(kind.name, kind.function(*_arguments((HISTORY,), kind.screened, given, whole)))


def gathers() -> Iterable[Gathered]:
    """What is gathered of each partition for checks over all of them."""
    return dict.fromkeys(map(gathered_by, checks_of("across partitions")))


def some_need_clean_ones() -> bool:
    """Whether there is a check, or something gathered, for which partitions that are trivially clean count."""
    needs: list[RowsNeeded] = [check.screened for check in checks_of("partition")]
    return not all(one.clean for one in (*needs, *(kind.screened for kind in gathers())))


def _find(check: Check, given: Given, whole: Callable[[], PartitionView]) -> Sequence[Evidence]:
    return check.function(*_arguments(check.reads, check.screened, given, whole))


def _arguments(
    reads: Iterable[Reads], screened: RowsNeeded, given: Given, whole: Callable[[], PartitionView]
) -> list[Any]:
    kept = [given[kind] for kind in reads]
    if HISTORY not in reads or screened.enough(*kept):
        return kept
    return [whole() if kind is HISTORY else given[kind] for kind in reads]
