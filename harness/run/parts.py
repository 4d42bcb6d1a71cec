"""What a run is made of: its nouns take what they need from here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from evidence.rundir import RunDir
    from evidence.timeline import Timeline
    from harness.cluster.admin import Admin
    from harness.cluster.cluster import Cluster
    from harness.cluster.state import ClusterObserver
    from harness.cluster.versions import Version
    from harness.observers.docker_events import DockerEvents
    from harness.plan import TopicPlan
    from harness.run.record import GrowingRecord
    from harness.subjects import UserSubject
    from harness.workloads.libraries import Library


class OfCase(Protocol):
    """What a run is told of the case that is run. Its name is not among it: steps do not ask which case they are."""

    @property
    def acks(self) -> str:
        """Which acknowledgement the sends wait for that the claim is about."""
        ...

    @property
    def client_settings(self) -> Mapping[str, str]:
        """Settings of the producers, by the client's own names."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a run is made of: the running cluster, its witnesses, and the directory that takes everything down."""

    version: Version
    topics: list[TopicPlan]
    """The scenario's topic, then those that its steps make."""
    case: OfCase
    run_dir: RunDir
    timeline: Timeline
    cluster: Cluster
    events: DockerEvents
    observer: ClusterObserver
    open_admin: Callable[[], Admin]
    """Called once, at the first need, when the observer has started."""
    library: Library
    """Which producers send."""
    recorders: Mapping[str, Any]
    """What the processes that drive them are told of it."""
    record: GrowingRecord
    """Of run.json; processes, moments, topics and what is drawn grow."""
    given: tuple[UserSubject, ...] = ()
    """Subjects of the user's own, in place of the scenario's."""
