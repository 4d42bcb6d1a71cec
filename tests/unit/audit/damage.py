"""What a file of any format must come through: damage of every kind, and a secret in it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final

from audit.model import Inputs
from audit.readers import Options, read_paths

CANARY: Final = "canary-7781"
"""A secret, to be put where a file of the format has its passwords."""
TIMES: Final = 20
"""How often a file is damaged."""
SPLINTERS: Final = [
    b"{{ .x }}", b"${", b"}", b"&a [*a]", b"<<: *x", b"\0", b"\xff", b"\\u12", b"'", b'"', b"[", b"{", b": ", b"- ",
    b"\t", b"%prod.", b"\n---\n", b"!!python/object:x y", b"\xef\xbb\xbf", b"acks=", b"\\\n", b"#---\n", b"${a:${a}}",
    b"*", b"? ", b"spring.config.activate.on-profile: a & (b\n", b"kind: List\n", b"\r", b"|2\n", b"\xe2\x80\xa8",
]  # fmt: skip


def damaged(content: bytes, choose: random.Random) -> bytes:
    """A text with a few things cut out, put in, turned over and doubled."""
    broken = bytearray(content)
    for _ in range(choose.randint(1, 6)):
        at, to = sorted((choose.randint(0, len(broken)), choose.randint(0, len(broken))))
        match choose.randint(0, 4):
            case 0:
                del broken[at : at + choose.randint(1, 20)]
            case 1:
                broken[at:at] = choose.choice(SPLINTERS)
            case 2 if broken:
                broken[at % len(broken)] = choose.randint(0, 255)
            case 3:
                broken[at:at] = broken[at:to][:300]
            case _:
                del broken[max(at, 10) :]
    return bytes(broken)


def holds_up(folder: Path, name: str, content: str) -> None:
    """A file is read, with a producer in it. The secret CANARY of it is kept nowhere. However it is damaged, its reader
    raises nothing, and each problem is one line.
    """
    assert CANARY in content
    path = folder / name
    path.write_text(content, encoding="utf-8")
    whole = read_paths([path], Options())
    assert whole.producers
    assert CANARY not in repr(whole)
    for seed in range(TIMES):
        path.write_bytes(damaged(content.encode(), random.Random(seed)))
        inputs = read_paths([path], Options(env={"ACKS": "all"}))
        assert isinstance(inputs, Inputs)
        assert all("\n" not in str(each) for each in inputs.problems)
