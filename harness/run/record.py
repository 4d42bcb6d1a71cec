"""The record of a run (evidence/run.py) during the run: frozen values; each change makes another one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec import structs

from evidence.run import TopicRecord

if TYPE_CHECKING:
    from evidence.run import ProcessRecord, RunRecord, SubjectRecord
    from harness.plan import TopicPlan


def topic_record(plan: TopicPlan) -> TopicRecord:
    """A topic as run.json has it."""
    partitions = {number: tuple(brokers) for number, brokers in enumerate(plan.replicas)}
    return TopicRecord(name=plan.name, partitions=partitions, settings=dict(plan.settings))


@dataclass(slots=True)
class GrowingRecord:
    """What is known of a run by now. The runner writes it down; the run's nouns add what they start."""

    run: RunRecord

    def change(self, **changes: Any) -> None:
        """Take other values for some of its fields. Raises TypeError for a field that there is none of."""
        self.run = structs.replace(self.run, **changes)

    def state_topics(self, plans: Iterable[TopicPlan]) -> None:
        """The topics that the run has now."""
        self.change(topics=tuple(map(topic_record, plans)))

    def add_process(self, process: ProcessRecord) -> None:
        """A client that is about to be started."""
        self.change(processes=(*self.run.processes, process))

    def add_subject(self, subject: SubjectRecord) -> None:
        """A subject whose producer is about to be started."""
        self.change(subjects=(*self.run.subjects, subject))

    def change_subject(self, process: str, **changes: Any) -> None:
        """Take other values for some fields of the subject of a process."""
        self.change(
            subjects=tuple(
                structs.replace(one, **changes) if one.process == process else one for one in self.run.subjects
            )
        )

    def subject(self, process: str) -> SubjectRecord:
        """The subject of a process. Raises StopIteration if no subject has this process."""
        return next(one for one in self.run.subjects if one.process == process)
