"""The two requests that are put together here, against brokers that listen on this machine and say odd things."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import wire
from audit.access import Access
from audit.wire import Eligible, EndedError, Rejected, Scram, Unspoken, WireError
from kafkafiles.api_versions import UNSUPPORTED_VERSION, Offer
from kafkafiles.encoding import Reader, length, old_string, string
from kafkafiles.errors import Malformed

PLAINTEXT = Access()
LIMIT_S = 5.0


@contextmanager
def broker(*answers: bytes, raw: bool = False) -> Iterator[tuple[tuple[str, int], list[bytes]]]:
    """Answers one request after another, over however many connections: with what is behind the number of the request,
    or `raw`, as it is, and then closes the connection; so it does for an empty answer, and for what is no request.
    """
    heard: list[bytes] = []
    left = list(answers)

    def serve(connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            while len(head := stream.read(4)) == 4:
                (size,) = struct.unpack(">i", head)
                if size > 1 << 20:
                    return
                request = stream.read(size)
                heard.append(request)
                answer = left.pop(0) if left else b""
                if not answer:
                    return
                whole = answer if raw else struct.pack(">i", len(answer) + 4) + request[4:8] + answer
                connection.sendall(whole)
                if raw:
                    return

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        ended = threading.Event()

        def accept() -> None:
            while not ended.is_set():
                try:
                    serve(server.accept()[0])
                except (TimeoutError, ConnectionError):
                    continue

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield server.getsockname(), heard
        finally:
            ended.set()
            thread.join()


def offer_v0(*apis: tuple[int, int], code: int = 0) -> bytes:
    return struct.pack(">hi", code, len(apis)) + b"".join(struct.pack(">hhh", key, 0, newest) for key, newest in apis)


def offer_v4(apis: Sequence[tuple[int, int]], supported: dict[str, tuple[int, int]], features: dict[str, int]) -> bytes:
    def listed(entries: Sequence[bytes]) -> bytes:
        return length(len(entries)) + b"".join(entry + b"\0" for entry in entries)

    def tag(number: int, content: bytes) -> bytes:
        return bytes([number]) + length(len(content) - 1) + content

    tags = [
        tag(0, listed([string(name) + struct.pack(">hh", *levels) for name, levels in supported.items()])),
        tag(1, struct.pack(">q", 7)),
        tag(2, listed([string(name) + struct.pack(">hh", level, level) for name, level in features.items()])),
    ]
    keys = listed([struct.pack(">hhh", key, 0, newest) for key, newest in apis])
    return struct.pack(">h", 0) + keys + struct.pack(">i", 0) + length(len(tags) - 1) + b"".join(tags)


MODERN = offer_v4(
    [(0, 13), (18, 4)], {"metadata.version": (7, 30), "kraft.version": (0, 1)}, {"metadata.version": 29, "x.y": 1}
)


def test_a_modern_broker_tells_requests_and_features() -> None:
    with broker(MODERN) as (at, heard):
        found = wire.offer(*at, PLAINTEXT, LIMIT_S)
    assert found == Offer(
        apis={0: 13, 18: 4},
        supported={"metadata.version": 30, "kraft.version": 1},
        features={"metadata.version": 29, "x.y": 1},
    )
    name = b"kafka-chaos-audit"
    header = struct.pack(">hhih", 18, 4, 1, len(name)) + name + b"\0"
    assert heard == [header + bytes([len(name) + 1]) + name + b"\x021" + b"\0"]


@pytest.mark.parametrize(
    ("refusal", "versions"),
    [(offer_v0((18, 3), code=UNSUPPORTED_VERSION), [4, 3]), (offer_v0(code=UNSUPPORTED_VERSION), [4, 0])],
    ids=["2.4 and later say what they know", "before, they say nothing"],
)
def test_an_older_broker_is_asked_as_it_wants(refusal: bytes, versions: list[int]) -> None:
    answer = MODERN if versions[-1] == 3 else offer_v0((0, 2), (3, 2))
    with broker(refusal, answer) as (at, heard):
        found = wire.offer(*at, PLAINTEXT, LIMIT_S)
    assert found.apis == ({0: 13, 18: 4} if versions[-1] == 3 else {0: 2, 3: 2})
    assert [struct.unpack(">hh", request[:4]) for request in heard] == [(18, version) for version in versions]


def test_a_broker_that_refuses_for_ever_is_not_asked_for_ever() -> None:
    with (
        broker(*[offer_v0((18, 9), code=UNSUPPORTED_VERSION)] * 9) as (at, heard),
        pytest.raises(WireError, match="error 35"),
    ):
        wire.offer(*at, PLAINTEXT, LIMIT_S)
    assert [struct.unpack(">h", request[2:4])[0] for request in heard] == [4, 3, 2, 1, 0]


def test_a_broker_of_0_8_ends_the_connection_whatever_it_is_asked() -> None:
    with broker(b"", b"") as (at, heard), pytest.raises(EndedError, match="want TLS"):
        wire.offer(*at, PLAINTEXT, LIMIT_S)
    assert [struct.unpack(">hh", request[:4]) for request in heard] == [(18, 4), (16, 0)]


def test_a_broker_of_0_9_lists_groups() -> None:
    with broker(b"", struct.pack(">hi", 0, 0), b"") as (at, heard):
        found = wire.offer(*at, PLAINTEXT, LIMIT_S)
    assert (found, found.answered) == (Offer(apis={16: 0}), False)
    assert [struct.unpack(">hh", request[:4]) for request in heard] == [(18, 4), (16, 0), (18, 4)]


def test_a_slow_broker_is_not_taken_for_one_of_0_9() -> None:
    with broker(b"", struct.pack(">hi", 0, 0), MODERN) as (at, _):
        assert wire.offer(*at, PLAINTEXT, LIMIT_S).apis == {0: 13, 18: 4}


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"\x15\x03\x03\x00\x02\x02\x50", "it speaks TLS: set security.protocol"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "it speaks HTTP"),
        (b"\xff\xff\xff\xff", "does not speak Kafka's protocol"),
        (b"\x00\x00\x00\x06\x00\x00\x00\x09\x00\x00", "something else than it was asked"),
        (b"\x00\x00\x00\x05\x00\x00\x00\x01\x00", "cannot be read"),
        (b"\x00\x00\x00\x10\x00\x00\x00\x01\x00\x00", "ended the connection"),
    ],
    ids=["TLS", "HTTP", "a size that is none", "another's answer", "half a code", "cut off"],
)
def test_what_is_no_broker_is_said_to_be_none(answer: bytes, says: str) -> None:
    with broker(answer, b"", raw=True) as (at, _), pytest.raises(WireError, match=says):
        wire.offer(*at, PLAINTEXT, LIMIT_S)


def test_who_says_nothing_is_waited_for_so_long_and_no_longer() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(WireError, match=r"no answer within 0\.2 s"),
    ):
        wire.offer("127.0.0.1", server.getsockname()[1], PLAINTEXT, 0.2)


def test_nobody_there() -> None:
    with socket.socket() as nobody:  # it is bound, so that nobody else gets the port, and does not listen
        nobody.bind(("127.0.0.1", 0))
        at: tuple[str, int] = nobody.getsockname()
        with pytest.raises(WireError, match="connection refused"):
            wire.offer(*at, PLAINTEXT, LIMIT_S)
    with pytest.raises(WireError, match="not known here"):
        wire.offer("no-such-host.invalid", 9092, PLAINTEXT, LIMIT_S)


def test_no_tls_there() -> None:
    with broker(b"") as (at, _), pytest.raises(WireError, match="speak TLS at all"):
        wire.offer(*at, Access(protocol="SSL"), LIMIT_S)


@given(st.binary(max_size=200))
def test_any_answer_is_read_or_refused(answer: bytes) -> None:
    with suppress(Malformed):
        wire._described(Reader(answer))


def described(
    *topics: tuple[int, str, Sequence[tuple[int, Sequence[int], Sequence[int]]]], after: tuple[str, int] | None = None
) -> bytes:
    """An answer to DescribeTopicPartitions: (error, name, (partition, isr, elr)…) and where it goes on."""

    def numbers(values: Sequence[int]) -> bytes:
        return length(len(values)) + b"".join(struct.pack(">i", value) for value in values)

    body = b"\0" + struct.pack(">i", 0) + length(len(topics))
    for code, name, partitions in topics:
        body += struct.pack(">h", code) + string(name) + b"\x07" * 16 + b"\0" + length(len(partitions))
        for number, isr, elr in partitions:
            body += struct.pack(">hiii", 0, number, 1, 5) + numbers((1, 2, 3)) + numbers(isr) + numbers(elr)
            body += b"\0" + numbers(()) + b"\0"  # no last known ELR: null
        body += struct.pack(">i", 0) + b"\0"
    cursor = b"\xff" if after is None else b"\x01" + string(after[0]) + struct.pack(">i", after[1]) + b"\0"
    return body + cursor + b"\0"


def test_eligible_leaders_page_by_page() -> None:
    first = described((0, "a", [(0, (1,), (2, 3))]), after=("a", 1))
    second = described((0, "a", [(1, (1, 2, 3), ())]), (29, "b", []))
    with broker(first, second) as (at, heard):
        found = wire.eligible_leaders(*at, PLAINTEXT, ["b", "a"], LIMIT_S)
    assert found == {("a", 0): Eligible(isr=(1,), elr=(2, 3)), ("a", 1): Eligible(isr=(1, 2, 3), elr=())}
    header = struct.pack(">hhih", 75, 0, 1, 17) + b"kafka-chaos-audit" + b"\0"
    assert heard[0] == header + b"\x03\x02a\0\x02b\0" + struct.pack(">i", 2000) + b"\xff" + b"\0"
    assert heard[1].endswith(b"\x01\x02a" + struct.pack(">i", 1) + b"\0" + b"\0")


def test_a_broker_that_turns_in_circles_is_left() -> None:
    page = described((0, "a", [(0, (1,), ())]), after=("a", 0))
    with broker(page, page, page) as (at, heard):
        assert list(wire.eligible_leaders(*at, PLAINTEXT, ["a"], LIMIT_S)) == [("a", 0)]
    assert len(heard) == 2


SASL = Access(protocol="SASL_PLAINTEXT", mechanism="PLAIN", user="alice", password="canary-4711")
GRANTED = struct.pack(">h", 0) + struct.pack(">i", 1) + old_string("PLAIN")
WELCOME = struct.pack(">hhi", 0, -1, 0)
REFUSED = (
    struct.pack(">h", 58) + old_string("Authentication failed: Invalid username or password") + struct.pack(">i", 0)
)


def test_plain_is_spoken_before_the_question() -> None:
    with broker(GRANTED, WELCOME, described()) as (at, heard):
        assert wire.eligible_leaders(*at, SASL, ["a"], LIMIT_S) == {}
    assert [struct.unpack(">hh", request[:4]) for request in heard] == [(17, 1), (36, 0), (75, 0)]
    assert heard[0].endswith(old_string("PLAIN"))
    assert heard[1].endswith(struct.pack(">i", 18) + b"\0alice\0canary-4711")


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ([GRANTED, REFUSED], "Invalid username or password"),
        ([struct.pack(">hi", 33, 1) + old_string("SCRAM-SHA-512")], "it does not take PLAIN; it takes SCRAM-SHA-512"),
    ],
)
def test_who_is_not_let_in_is_told_why(answers: list[bytes], says: str) -> None:
    with broker(*answers) as (at, _), pytest.raises(Rejected, match=says) as raised:
        wire.eligible_leaders(*at, SASL, ["a"], LIMIT_S)
    assert "canary" not in str(raised.value)


def test_other_mechanisms_are_not_spoken() -> None:
    kerberos = Access(protocol="SASL_PLAINTEXT", mechanism="GSSAPI")
    with broker(b"") as (at, heard), pytest.raises(Unspoken, match="GSSAPI"):
        wire.eligible_leaders(*at, kerberos, ["a"], LIMIT_S)
    assert heard == []


def test_scram_as_the_rfc_has_it() -> None:
    """RFC 7677, section 3."""
    scram = Scram("sha256", "user", "pencil", "rOprNGfwEbeRWgbNEkqO")
    challenge = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    assert scram.final(challenge) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    scram.check(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    with pytest.raises(WireError, match="does not prove"):
        scram.check(b"v=AAAATRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    with pytest.raises(WireError, match="does not prove"):
        scram.check(b"e=other-error")


@pytest.mark.parametrize(
    "challenge",
    [b"", b"r=mine,s=AAAA", b"r=mine1,s=!,i=1", b"r=another,s=AAAA,i=1", b"r=mine1,s=AAAA,i=999999999", b"\xff\xfe"],
)
def test_a_challenge_that_is_none(challenge: bytes) -> None:
    with pytest.raises(WireError, match="challenge"):
        Scram("sha512", "u", "p", "mine").final(challenge)


def test_names_are_escaped_in_scram() -> None:
    assert Scram("sha256", "a=b,c", "p", "n").first() == b"n,,n=a=3Db=2Cc,r=n"


def test_a_scram_conversation_on_the_wire() -> None:
    scram = Access(protocol="SASL_PLAINTEXT", mechanism="SCRAM-SHA-256", user="alice", password="canary-4711")
    challenge = b"r=not-the-clients,s=AAAA,i=4096"
    granted = struct.pack(">hi", 0, 0)
    answer = struct.pack(">hhi", 0, -1, len(challenge)) + challenge
    with broker(granted, answer) as (at, heard), pytest.raises(WireError, match="not one for this conversation"):
        wire.eligible_leaders(*at, scram, ["a"], LIMIT_S)
    assert b"n,,n=alice,r=" in heard[1]
