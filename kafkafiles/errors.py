"""What goes wrong while bytes are read.

Two ways, kept apart because callers treat them apart:

- `ParseError`: a small file that is either right or useless (a checkpoint, `meta.properties`). Raised.
- `Corrupt` (in `kafkafiles.batches`): a place in a log where the bytes are not what Kafka would have written. It
is
  a *finding*, so it is returned beside the records that could be read, never raised.

`Malformed` is how the decoders in this package say it to each other; it never leaves the package.
"""

from __future__ import annotations

from evidence.errors import UsageError


class ParseError(UsageError):
    """A file is not what its name says. The message names the file, the place and what was expected."""


class Malformed(Exception):
    """These bytes cannot be decoded; the message is the reason. Internal to `kafkafiles`."""


class TooLarge(Malformed):
    """Decoding would need more memory than the caller allows."""
