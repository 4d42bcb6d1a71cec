"""An application processes, and then commits: a crash in between repeats what it had processed (Kafka documentation,
Design: message delivery semantics).

The outputs are written, and the committed offset lies before their inputs. The next process reads these inputs again
and makes a second output of each. Nothing is skipped, wherever the crash comes.

The controls are crashes at the other places of the loop: before it processes, and after it has committed.
"""

from functools import partial

from harness.words import Basis, Case, CrashPoint, Documented, ranges, scenario
from scenarios.delivery import DELIVERY, NUMBERS, crash

PROGRAM = "process-then-commit"


def stop(done: str, following: str) -> CrashPoint:
    """In the second round: something was committed before."""
    return CrashPoint(done, following, round=2)


def documented(sentence: str) -> list[Documented]:
    """Nothing goes wrong."""
    return [Documented(claims=NUMBERS, sentence=sentence, source=DELIVERY, basis=Basis.DOCUMENTATION)]


scenario(
    name="at-least-once",
    claim="""An application that processes before it commits skips nothing. After a crash it repeats exactly the inputs
        that it had processed and not committed.""",
    source=DELIVERY,
    operator="""Make processing an input twice harmless (a key that the second output overwrites, a check in the store),
        or use transactions. A crash repeats at most the inputs that were processed since the last commit.""",
    applies=ranges.GROUPS_COORDINATED,
    cases={
        "between": Case(
            steps=partial(crash, program=PROGRAM, stop=stop("process", "commit")),
            documented=[
                Documented(
                    required=frozenset({"repeated-processing"}),
                    claims=NUMBERS,
                    source=DELIVERY,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "before-process": Case(
            steps=partial(crash, program=PROGRAM, stop=stop("poll", "process")),
            documented=documented("Killed before it processes, it skips nothing and repeats nothing."),
        ),
        "after-commit": Case(
            steps=partial(crash, program=PROGRAM, stop=stop("commit", "poll")),
            documented=documented("Killed after it has committed, it skips nothing and repeats nothing."),
        ),
    },
)
