"""All that a scenario imports: what it declares, what it runs on, and what its outcome is stated for.

The words of the steps themselves are methods of `Run` (harness/run/). docs/writing-a-scenario.md has them all, those
that most scenarios need first.

What a scenario is carried out with (the engine's client, librdkafka, numpy, pyarrow) is loaded where a run uses it:
scenarios are listed, and the museum answers, where nothing of it is installed (tests/unit/test_imports.py).
"""

from __future__ import annotations

from evidence.basis import Basis
from evidence.borders import Border, Side
from harness.bugs import Bug, BugStatus, Exhibit, Status
from harness.case import ACKS, LOST, Case, Documented
from harness.cluster import ranges
from harness.cluster.ranges import EVERY_VERSION, VersionRange, one_of
from harness.cluster.versions import Version
from harness.plan import ClusterPlan, Disks, StorePlan, TopicPlan
from harness.run import OFFSETS, Partition, Run, Target
from harness.run.clients import OpenTransaction
from harness.run.share_groups import SHARE_STATE
from harness.run.subjects import FIRST, Placed, Subjects, every
from harness.scenario import Scenario, scenario
from harness.subjects import (
    DELIVERY_TIME_OUT_SINCE,
    MANY,
    NOTHING_STATED,
    REQUEST_MS,
    Outcome,
    Producer,
    Subject,
    TimeOuts,
    Topic,
)
from harness.workloads.handles.application import NOWHERE, Application, Counting, CrashPoint, StreamsApplication
from harness.workloads.handles.client import (
    BackgroundConsumer,
    LoadGenerator,
    Pending,
    ScriptedProducer,
    SendResult,
)
from harness.workloads.handles.connect import ConnectWorker
from harness.workloads.handles.spark import SparkQuery
from harness.workloads.settings import LIBRDKAFKA

__all__ = [
    "ACKS",
    "DELIVERY_TIME_OUT_SINCE",
    "EVERY_VERSION",
    "FIRST",
    "LIBRDKAFKA",
    "LOST",
    "MANY",
    "NOTHING_STATED",
    "NOWHERE",
    "OFFSETS",
    "REQUEST_MS",
    "SHARE_STATE",
    "Application",
    "BackgroundConsumer",
    "Basis",
    "Border",
    "Bug",
    "BugStatus",
    "Case",
    "ClusterPlan",
    "ConnectWorker",
    "Counting",
    "CrashPoint",
    "Disks",
    "Documented",
    "Exhibit",
    "LoadGenerator",
    "OpenTransaction",
    "Outcome",
    "Partition",
    "Pending",
    "Placed",
    "Producer",
    "Run",
    "Scenario",
    "ScriptedProducer",
    "SendResult",
    "Side",
    "SparkQuery",
    "Status",
    "StorePlan",
    "StreamsApplication",
    "Subject",
    "Subjects",
    "Target",
    "TimeOuts",
    "Topic",
    "TopicPlan",
    "Version",
    "VersionRange",
    "every",
    "one_of",
    "ranges",
    "scenario",
]
