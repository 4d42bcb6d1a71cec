"""The two requests that the client library lacks: what a broker offers (ApiVersions, with the cluster's features,
KIP-35 and KIP-584), and the eligible leaders of partitions (DescribeTopicPartitions, KIP-966). Both only read.

ApiVersions is answered before a client has to authenticate. So a broker's release is known even where a user has no
rights, and a broker that cannot be reached is distinguished from one that refuses a password. DescribeTopicPartitions
takes an authenticated connection: SASL's PLAIN (RFC 4616) and SCRAM (RFC 5802) are spoken here, in the frames of
KIP-152. For other mechanisms there is `Unspoken`, and the caller goes without.

Requests are put together by hand, as `clients/src/main/resources/common/message` of Kafka has them, in the encodings of
`kafkafiles.encoding`: from a version of its own on, a request is flexible (KIP-482).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import socket
import ssl
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from audit.access import Access
from kafkafiles.api_versions import (
    API_VERSIONS,
    NONE,
    UNSUPPORTED_VERSION,
    Offer,
    question,
    read_offer,
    with_tags,
)
from kafkafiles.encoding import NO_TAGS, Reader, length, old_string, string
from kafkafiles.errors import Malformed

T = TypeVar("T")

LIST_GROUPS, SASL_HANDSHAKE, SASL_AUTHENTICATE, DESCRIBE_TOPIC_PARTITIONS = 16, 17, 36, 75

CLIENT: Final = "kafka-chaos-audit"
"""client.id, which the owners of a cluster find in its request log."""
CLIENT_VERSION: Final = "1"
NEWEST_API_VERSIONS: Final = 4
MOST_BYTES: Final = 100 * 1024 * 1024
"""No answer is larger: Kafka's own limit of requests. Whoever says otherwise speaks another protocol."""
MOST_ITERATIONS: Final = 1_000_000
PARTITIONS_AT_A_TIME: Final = 2000
SCRAM: Final[Mapping[str, str]] = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


class WireError(Exception):
    """Nothing came of a conversation with a broker; the message says why, for people, without anything secret."""


class Unspoken(WireError):
    """The way to authenticate is not one that is spoken here."""


class Rejected(WireError):
    """The broker does not accept who this says he is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Eligible:
    """The leaders that a partition may have, beyond its ISR (KIP-966)."""

    isr: tuple[int, ...]
    elr: tuple[int, ...]


class Connection:
    """One connection to a broker, over TLS if `access` says so, which ends `timeout_s` from now whatever happens.

    Raises WireError if there is none.
    """

    def __init__(self, host: str, port: int, access: Access, timeout_s: float) -> None:
        self._until = time.monotonic() + timeout_s
        self._timeout_s = timeout_s
        self._number = 0
        self._speaks_tls = access.tls
        self._socket = self._guarded(lambda: self._connect(host, port, access))

    def _connect(self, host: str, port: int, access: Access) -> socket.socket:
        plain = socket.create_connection((host, port), timeout=self._left_s())
        if not access.tls:
            return plain
        try:
            plain.settimeout(self._left_s())
            return access.tls_context().wrap_socket(plain, server_hostname=host)
        except BaseException:
            plain.close()
            raise

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._socket.close()

    def ask(self, request: int, version: int, body: bytes, read: Callable[[Reader], T], *, flexible: bool = False) -> T:
        """What `read` makes of the answer's body, which is behind the number of the request. Raises WireError."""
        self._number += 1
        header = struct.pack(">hhih", request, version, self._number, len(CLIENT)) + CLIENT.encode()
        message = header + (NO_TAGS if flexible else b"") + body
        reader = Reader(self._guarded(lambda: self._exchange(message)))
        if reader.int32() != self._number:
            raise WireError("it answers something else than it was asked: no Kafka broker")
        try:
            return read(reader)
        except Malformed:
            raise WireError("its answer cannot be read: no Kafka broker, or a request of another version") from None

    def _exchange(self, message: bytes) -> bytes:
        self._socket.settimeout(self._left_s())
        self._socket.sendall(struct.pack(">i", len(message)) + message)
        head = self._read(4)
        (size,) = struct.unpack(">i", head)
        if not 4 <= size <= MOST_BYTES:
            raise WireError(_foreign(head))
        return self._read(size)

    def _read(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            self._socket.settimeout(self._left_s())
            part = self._socket.recv(min(size, 1 << 16))
            if not part:
                raise _Ended
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _left_s(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _guarded(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except ssl.SSLError as error:
            raise WireError(_no_tls(error)) from None
        except TimeoutError:
            raise SilentError(f"no answer within {self._timeout_s:.3g} s") from None
        except socket.gaierror as error:
            raise WireError(f"the name is not known here ({error.strerror})") from None
        except _Ended:
            raise EndedError(self._speaks_tls) from None
        except (ConnectionError, BrokenPipeError) as error:
            if isinstance(error, ConnectionRefusedError):
                raise WireError("connection refused") from None
            raise EndedError(self._speaks_tls) from None
        except OSError as error:
            raise WireError((error.strerror or str(error)).lower()) from None


class _Ended(Exception):
    """The other side closed the connection in the middle of an answer, or before it."""


class SilentError(WireError):
    """Nothing came within the limit."""


class EndedError(WireError):
    """The broker ended the connection instead of answering: it is older than what it was asked, or it was spoken to
    in another way than it expects.
    """

    def __init__(self, over_tls: bool) -> None:
        hint = "speak TLS at all" if over_tls else "want TLS (security.protocol)"
        super().__init__(f"it ended the connection without an answer; does this listener {hint}?")


def _foreign(head: bytes) -> str:
    """What the other side may be, from the first bytes of what is no answer of Kafka's."""
    if head.startswith(b"\x15\x03"):
        return "it speaks TLS: set security.protocol to SSL or SASL_SSL (--command-config)"
    return "it speaks HTTP" if head == b"HTTP" else "it does not speak Kafka's protocol"


UNKNOWN_AUTHORITY: Final = range(18, 22)
"""OpenSSL's X509_V_ERR_… of certificates whose issuer is not trusted."""


def _no_tls(error: ssl.SSLError) -> str:
    """Why there is no TLS connection, and what may help."""
    if isinstance(error, ssl.SSLCertVerificationError):
        unknown = error.verify_code in UNKNOWN_AUTHORITY
        hint = "; name its authority by ssl.ca.location or ssl.truststore.location" if unknown else ""
        return f"its certificate is not accepted: {error.verify_message.rstrip('.')}{hint}"
    reason = (error.reason or str(error)).replace("_", " ").lower()
    if "certificate" in reason or "handshake failure" in reason:
        hint = "; is a client certificate wanted (ssl.keystore.location, or ssl.certificate.location and its key)?"
    elif isinstance(error, ssl.SSLEOFError) or error.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
        hint = "; does this listener speak TLS at all?"
    else:
        hint = ""
    return f"no TLS connection: {reason}{hint}"


def offer(host: str, port: int, access: Access, timeout_s: float) -> Offer:
    """What a broker offers. Raises WireError; EndedError is also what brokers of 0.8 do. Those of 0.9 never answer, but
    they answer ListGroups, which is asked for when half of the time is over.

    The newest ApiVersions is tried first. A broker that does not know it answers with version 0, since 2.4 with the
    newest one that it knows (KIP-511), and takes no second question on a SASL connection: so each has its own.
    """
    until = time.monotonic() + timeout_s

    def ask(request: int, version: int, most_s: float, read: Callable[[Reader], T]) -> T:
        body = question(version, CLIENT, CLIENT_VERSION) if request == API_VERSIONS else b""
        with Connection(host, port, access, max(min(until - time.monotonic(), most_s), 0.001)) as connection:
            return connection.ask(request, version, body, read, flexible=bool(body))

    version = NEWEST_API_VERSIONS
    while True:
        read = partial(read_offer, version=version)
        try:
            code, found = ask(API_VERSIONS, version, timeout_s / 2, read)
        except (EndedError, SilentError) as error:
            try:
                ask(LIST_GROUPS, 0, timeout_s, lambda _: None)
            except WireError:
                silent = isinstance(error, SilentError)
                raise SilentError(f"no answer within {timeout_s:.3g} s") if silent else error from None
            try:  # a broker that is only slow has had time to become faster
                code, found = ask(API_VERSIONS, version, timeout_s / 10, read)
            except (EndedError, SilentError):
                return Offer(apis={LIST_GROUPS: 0})
        if code == UNSUPPORTED_VERSION and version > 0:
            version = min(found.apis.get(API_VERSIONS, 0), version - 1)
        elif code != NONE:
            raise WireError(f"it answers ApiVersions with error {code}")
        else:
            return found


def authenticate(connection: Connection, access: Access) -> None:
    """Say who this is, if the listener asks for it. Raises Rejected, Unspoken or another WireError."""
    if not access.sasl:
        return
    mechanism = access.mechanism
    if mechanism != "PLAIN" and mechanism not in SCRAM:
        raise Unspoken(f"{mechanism} is not spoken here")
    code, taken = connection.ask(SASL_HANDSHAKE, 1, old_string(mechanism), _mechanisms)
    if code != NONE:
        raise Rejected(f"it does not take {mechanism}; it takes {', '.join(taken) or 'nothing'}")
    if mechanism == "PLAIN":
        _say(connection, f"\0{access.user}\0{access.password}".encode())
        return
    scram = Scram(SCRAM[mechanism], access.user, access.password, secrets.token_urlsafe(24))
    proof = scram.final(_say(connection, scram.first()))
    scram.check(_say(connection, proof))


def _mechanisms(answer: Reader) -> tuple[int, list[str]]:
    return answer.int16(), [answer.old_string() or "" for _ in range(answer.int32())]


def _say(connection: Connection, token: bytes) -> bytes:
    def read(answer: Reader) -> tuple[int, str, bytes]:
        code, message = answer.int16(), answer.old_string() or ""
        return code, message, (answer.old_blob() or b"") if code == NONE else b""

    code, message, reply = connection.ask(SASL_AUTHENTICATE, 0, struct.pack(">i", len(token)) + token, read)
    if code != NONE:
        raise Rejected(message or f"error {code}")
    return reply


class Scram:
    """The client's side of one SCRAM conversation (RFC 5802), without channel binding.

    >>> scram = Scram("sha256", "user", "pencil", "rOprNGfwEbeRWgbNEkqO")
    >>> scram.first()
    b'n,,n=user,r=rOprNGfwEbeRWgbNEkqO'
    """

    def __init__(self, algorithm: str, user: str, password: str, nonce: str) -> None:
        self._algorithm, self._password, self._nonce = algorithm, password, nonce
        self._bare = f"n={user.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
        self._signature = b""

    def first(self) -> bytes:
        return f"n,,{self._bare}".encode()

    def final(self, challenge: bytes) -> bytes:
        """The proof for the server's challenge. Raises WireError if that is none of this conversation."""
        told = self._told(challenge)
        try:
            nonce, salt, iterations = told["r"], base64.b64decode(told["s"], validate=True), int(told["i"])
        except (KeyError, ValueError):
            raise WireError("its SCRAM challenge cannot be read") from None
        if not nonce.startswith(self._nonce) or not 1 <= iterations <= MOST_ITERATIONS:
            raise WireError("its SCRAM challenge is not one for this conversation")
        without_proof = f"c=biws,r={nonce}"
        message = f"{self._bare},{challenge.decode()},{without_proof}".encode()
        salted = hashlib.pbkdf2_hmac(self._algorithm, self._password.encode(), salt, iterations)
        key = self._hmac(salted, b"Client Key")
        signature = self._hmac(hashlib.new(self._algorithm, key).digest(), message)
        self._signature = self._hmac(self._hmac(salted, b"Server Key"), message)
        proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def check(self, answer: bytes) -> None:
        """Raises WireError unless the server has shown that it knows the password too."""
        told = self._told(answer)
        if told.get("v") != base64.b64encode(self._signature).decode():
            raise WireError("it does not prove that it knows the password: it may not be the broker that it says")

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self._algorithm)

    @staticmethod
    def _told(message: bytes) -> dict[str, str]:
        fields = (part.partition("=") for part in message.decode(errors="replace").split(","))
        return {name: value for name, equals, value in fields if equals}


def eligible_leaders(
    host: str, port: int, access: Access, topics: Sequence[str], timeout_s: float
) -> dict[tuple[str, int], Eligible]:
    """The eligible leaders of these topics' partitions, as far as they may be described. Raises WireError.

    No topic is made by asking for it (`DescribeTopicPartitionsRequestHandler`).
    """
    found: dict[tuple[str, int], Eligible] = {}
    with Connection(host, port, access, timeout_s) as connection:
        authenticate(connection, access)
        cursor: tuple[str, int] | None = None
        while True:
            body = _topics_after(sorted(topics), cursor)
            partitions, following = connection.ask(DESCRIBE_TOPIC_PARTITIONS, 0, body, _described, flexible=True)
            found |= partitions
            if following is None or (cursor is not None and following <= cursor):
                return found
            cursor = following


def _topics_after(topics: Sequence[str], cursor: tuple[str, int] | None) -> bytes:
    wanted = [name for name in topics if cursor is None or name >= cursor[0]]
    names = length(len(wanted)) + b"".join(string(name) + NO_TAGS for name in wanted)
    start = b"\xff" if cursor is None else b"\x01" + string(cursor[0]) + struct.pack(">i", cursor[1]) + NO_TAGS
    return names + struct.pack(">i", PARTITIONS_AT_A_TIME) + start + NO_TAGS


def _described(answer: Reader) -> tuple[dict[tuple[str, int], Eligible], tuple[str, int] | None]:
    answer.tagged()
    answer.take(4)  # for how long the request was throttled
    found: dict[tuple[str, int], Eligible] = {}
    for topic, partitions in answer.array(with_tags(_topic)) or ():
        found |= {(topic, number): eligible for number, eligible in partitions}
    following = None
    if answer.int8() >= 0:
        following = answer.string() or "", answer.int32()
        answer.tagged()
    return found, following


def _topic(answer: Reader) -> tuple[str, tuple[tuple[int, Eligible], ...]]:
    """A topic's name and its partitions; none if it may not be described."""
    code, name = answer.int16(), answer.string() or ""
    answer.take(16 + 1)  # its id, and whether it is Kafka's own
    partitions = answer.array(with_tags(_partition)) or ()
    answer.take(4)
    return name, partitions if code == NONE else ()


def _partition(answer: Reader) -> tuple[int, Eligible]:
    answer.take(2)
    number = answer.int32()
    answer.take(4 + 4)  # the leader and its epoch
    _, isr, elr, _, _ = (answer.array(Reader.int32) or () for _ in range(5))
    return number, Eligible(isr=isr, elr=elr)
