"""Controllers and elections: who decides, who leads, and how long a partition has no leader.

One broker is the controller (with KRaft, one node of a quorum). It notices that a broker is gone when that broker's
session ends, elects new leaders from the ISR, and tells everybody. Clients see a pause: as long as a session if a
leader dies, a moment if it is stopped cleanly.

`offline-leader-election` is the common case, and `controlled-shutdown` compares it with a clean stop. In
`unclean-election` no in-sync replica is left. `controller-failover` and `zombie-controller` are about the controller
itself. `preferred-leader-election` brings leadership back after a failover.
"""

BEFORE = 120
"""Acknowledged records of the load before the first fault, about two seconds of it: they show the usual rate."""
