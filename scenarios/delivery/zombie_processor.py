"""An application commits its transaction after another one has taken over its inputs (KIP-447).

Each process has a transactional.id of its own. One stands still with an open transaction for longer than
max.poll.interval.ms. The other one gets its partition and processes the same inputs. Then the first one continues: it
adds its offsets to its transaction and commits. The two have different transactional.ids, so producer fencing does not
stop it. If it sends its member id and generation, the coordinator refuses its offsets and it aborts. If it sends the
group's name alone, as every producer did before 2.5, the coordinator takes the offsets. Then the inputs are processed
twice, and the group's offset goes back.

In the last case there is a producer for each input partition, whose transactional.id names the partition, as KIP-98 has
it. The new owner of the partition has the same transactional.id: when it begins, the coordinator aborts the open
transaction and fences the first producer. No member id is needed for that, so it holds on every release.
"""

from functools import partial

from harness.words import Basis, Case, ClusterPlan, CrashPoint, Documented, ranges, scenario
from scenarios.delivery import overtake

KIP_447 = "KIP-447"
KIP_98 = "KIP-98"
STOP = CrashPoint("process", "offsets", 2)
STEPS = partial(overtake, stop=STOP, transactional_ids=("one", "another"))
LATE_COMMIT_TAKEN = frozenset({"repeated-processing", "stale-commit-accepted"})

scenario(
    name="zombie-processor",
    claim="""When another application has taken over the inputs, the coordinator refuses the first application's
        offsets, and each input is processed once.""",
    source=KIP_447,
    operator="""Pass the consumer's groupMetadata() to sendOffsetsToTransaction, on brokers of 2.5 or later. On older
        brokers give each input partition its own transactional.id.""",
    applies=ranges.TRANSACTIONS,
    cluster=ClusterPlan(settings={"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}),
    cases={
        "member": Case(
            steps=partial(STEPS, program="transact"),
            documented=[
                Documented(
                    on=ranges.OFFSETS_OF_MEMBERS_IN_TRANSACTIONS,
                    claims=[
                        "late-commit-refused",
                        "late-commit-of-removed-member-unknown",
                        "each-input-processed-once",
                    ],
                    source=KIP_447,
                    basis=Basis.KIP,
                ),
                Documented(
                    required=LATE_COMMIT_TAKEN,
                    sentence="The brokers get no member id and take the offsets of one that is out of the group. The "
                    "inputs are processed twice.",
                    source=KIP_447,
                    basis=Basis.KIP,
                ),
            ],
        ),
        "group-alone": Case(
            client="java",
            steps=partial(STEPS, program="transact-for-group"),
            documented=[
                Documented(
                    required=LATE_COMMIT_TAKEN,
                    sentence="With the group's name alone the coordinator takes the offsets, and the inputs are "
                    "processed twice.",
                    source=KIP_447,
                    basis=Basis.KIP,
                )
            ],
        ),
        "id-per-partition": Case(
            client="java",
            steps=partial(STEPS, program="transact-by-partition", transactional_ids=("inputs", "inputs")),
            documented=[
                Documented(
                    claims=["late-commit-refused", "each-input-processed-once"],
                    sentence="The new owner of the partition has fenced the producer. Its offsets are refused, though "
                    "they name the group alone.",
                    source=f"{KIP_98}; {KIP_447}",
                    basis=Basis.KIP,
                )
            ],
        ),
    },
)
