"""The errors of this package.

    FilesError (a ValueError)   the message is one line: what, where, and what was expected
    ├── ParseError              a small file that is either right or useless: a checkpoint, `meta.properties`
    └── RequestError            what was asked for does not exist: a path, an option, a kind of file

Bytes of a log that Kafka would not have written are a finding (`kafkafiles.batches.Corrupt`): it is returned beside the
records that could be read, never raised. `Malformed` is raised by decoders alone, and leaves the package from
`kafkafiles.encoding` alone.
"""

from __future__ import annotations


class FilesError(ValueError):
    """Root of the errors of this package."""


class ParseError(FilesError):
    """A file is not what its name says. The message names the file, the place and what was expected."""


class RequestError(FilesError):
    """There is nothing of that name: a path, an option, a kind of file. The message says what there is."""


class Malformed(Exception):
    """These bytes cannot be decoded; the message is the reason."""


class TooLarge(Malformed):
    """Decoding would need more memory than the caller allows."""
