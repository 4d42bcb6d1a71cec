"""An application commits, and then processes: a crash in between loses what it had committed (Kafka documentation,
Design: message delivery semantics).

The committed offset lies behind these inputs, and they have no output. The next process begins after them. No error is
raised anywhere, then or later. Inputs that were processed before are not read again, so nothing is processed twice.

The control is a crash at the other place between the two steps: all processed inputs are committed, and nothing is
skipped.
"""

from functools import partial

from harness.words import Basis, Case, CrashPoint, Documented, ranges, scenario
from scenarios.delivery import DELIVERY, NUMBERS, SKIPPED, crash

PROGRAM = "commit-then-process"


def stop(done: str, following: str) -> CrashPoint:
    """In the second round: something was processed before."""
    return CrashPoint(done, following, round=2)


scenario(
    name="at-most-once",
    claim="""After a crash, an application that commits before it processes skips exactly the inputs that it had
        committed and not processed. None is processed twice.""",
    source=DELIVERY,
    operator="""Commit before processing only if you may lose inputs silently: no error names the skipped inputs. At
        most one poll's inputs are skipped, so a smaller max.poll.records loses less.""",
    applies=ranges.GROUPS_COORDINATED,
    cases={
        "between": Case(
            steps=partial(crash, program=PROGRAM, stop=stop("commit", "process")),
            documented=[Documented(required=SKIPPED, claims=NUMBERS, source=DELIVERY, basis=Basis.DOCUMENTATION)],
        ),
        "before-commit": Case(
            steps=partial(crash, program=PROGRAM, stop=stop("poll", "commit")),
            documented=[
                Documented(
                    claims=NUMBERS,
                    sentence="Killed before it commits, it skips nothing and repeats nothing.",
                    source=DELIVERY,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "after-process": Case(
            steps=partial(crash, program=PROGRAM, stop=stop("process", "poll")),
            documented=[
                Documented(
                    claims=NUMBERS,
                    sentence="Killed after it has processed, it skips nothing and repeats nothing.",
                    source=DELIVERY,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
    },
)
