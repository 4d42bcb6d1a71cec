"""What happens to a record of a share group (KIP-932), in the words of histories: it is delivered to a member, and the
member says what is to become of it.
"""

from __future__ import annotations

from typing import Final

DELIVERED: Final = "delivered"
ACCEPT: Final = "accept"
"""It is processed."""
RELEASE: Final = "release"
"""It is to be delivered again."""
REJECT: Final = "reject"
"""It is never to be delivered again."""
UNANSWERED: Final = "_UNANSWERED"
"""The error of an acknowledgement of which a member's client told nothing: its commit ended without an error, and
without a result for the record."""
