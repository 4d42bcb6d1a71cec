"""An application that another one has taken the inputs of ends its transaction all the same (KIP-447).

Each process has a transactional.id of its own. One stands still with a transaction open, for longer than
max.poll.interval.ms; the other one is given its partition and processes the same inputs. Then the first one goes on: it
puts its offsets into its transaction and commits. Its transactional.id is its own, so no fence of producers stops it.
If it tells the coordinator which member of which generation it is, its offsets are refused and it aborts. If it names
the group alone, as every producer did before 2.5, they are taken: the inputs are processed twice, and the group's
offset goes back.
"""

from functools import partial

from harness.words import Basis, Case, ClusterPlan, CrashPoint, Documented, ranges, scenario
from scenarios.delivery import overtake

KIP_447 = "KIP-447"
STOP = CrashPoint("process", "offsets", 2)
STEPS = partial(overtake, stop=STOP, transactional_ids=("one", "another"))
TWICE = frozenset({"repeated-processing"})

scenario(
    name="zombie-processor",
    claim="""An application whose inputs another one has taken over is refused when it adds its offsets to its
        transaction, and each input is processed once.""",
    source=KIP_447,
    operator="""Pass the consumer's groupMetadata() to sendOffsetsToTransaction, on brokers of 2.5 or later. Before that
        give each input partition a transactional.id of its own.""",
    applies=ranges.TRANSACTIONS,
    cluster=ClusterPlan(settings={"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}),
    cases={
        "member": Case(
            steps=partial(STEPS, program="transact"),
            documented=[
                Documented(
                    on=ranges.OFFSETS_OF_MEMBERS_IN_TRANSACTIONS,
                    claims=["late-commit-refused", "each-input-processed-once"],
                    source=KIP_447,
                    basis=Basis.KIP,
                ),
                Documented(
                    required=TWICE,
                    sentence="Brokers are told no member, take the offsets, and the inputs are processed twice.",
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
                    required=TWICE,
                    sentence="With the group's name alone the offsets are taken, and the inputs are processed twice.",
                    source=KIP_447,
                    basis=Basis.KIP,
                )
            ],
        ),
    },
)
