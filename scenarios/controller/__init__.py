"""Controllers and elections: who decides, who leads, and for how long nobody does.

One broker is the controller (with KRaft, one node of a quorum). It notices that a broker is gone when that broker's
session ends, elects new leaders from the ISR, and tells everybody. What clients see of it is a pause: of the length of
a session if a leader dies, of a moment if it is stopped cleanly.

`offline-leader-election` is the common case, and `controlled-shutdown` compares it with a clean stop.
`unclean-election` is the case in which nobody in sync is left. `controller-failover` and `zombie-controller` are about
the controller itself. `preferred-leader-election` brings leadership back after a failover.
"""

BEFORE = 120
"""Records that the load has had acknowledged before the first fault, about two seconds: what is usual is seen then."""
