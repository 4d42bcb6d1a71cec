r"""How to speak to a cluster: what a `--command-config` file says of TLS and SASL, and nothing else of it.

The file is a Java client's (`sasl.jaas.config`, `ssl.truststore.location`) or librdkafka's (`sasl.username`,
`ssl.ca.location`); both end up as librdkafka's settings, and as what Python's own TLS needs. Key stores are read by
what is in them, not by what `ssl.keystore.type` says: PEM, PKCS#12, and the certificates of a JKS. The private key of a
JKS is not: the message says how to convert it.

Secrets are held by `Access` alone. It does not show them (`repr`), and `Access.scrub` takes them out of any text of
librdkafka's, Python's or a broker's before that goes anywhere. Settings that do not say how to connect are not passed
on: librdkafka would print its configuration with `debug`, and load code with `plugin.library.paths`.
"""

from __future__ import annotations

import os
import re
import ssl
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import javaproperties

from audit.model import HIDDEN, is_secret
from evidence.errors import UsageError

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
DEFAULT_MECHANISM: Final = "GSSAPI"
"""Of both clients."""
PASSED_ON: Final = ("sasl.", "broker.address.family", "client.dns.lookup", "https.")
"""What librdkafka is told as it stands in the file; keys under `ssl.` are translated."""
JAVA_ONLY: Final = frozenset(
    {
        "sasl.client.callback.handler.class",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
        "sasl.login.connect.timeout.ms",
        "sasl.login.read.timeout.ms",
        "sasl.login.retry.backoff.max.ms",
        "sasl.login.retry.backoff.ms",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "sasl.jaas.config",
    }
)
JKS: Final = b"\xfe\xed\xfe\xed"
JKS_CERTIFICATE: Final = 2
PEM: Final = b"-----BEGIN "
CERTIFICATE: Final = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
SHORTEST_SECRET: Final = 3
"""Shorter ones are not looked for in texts: half of all words would be hidden, and nobody calls that a password."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How to speak to a cluster. Nothing of it that is secret shows in its `repr`."""

    protocol: str = "PLAINTEXT"
    mechanism: str = ""
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    trusted: bytes | None = field(default=None, repr=False)
    """Certificates to trust (PEM); None for those that the machine trusts."""
    certificate: bytes | None = field(default=None, repr=False)
    """The client's own, with its chain (PEM)."""
    key: bytes | None = field(default=None, repr=False)
    """The client's private key (PEM), which `key_password` opens."""
    key_password: str = field(default="", repr=False)
    checks_name: bool = True
    """Whether the name in the broker's certificate has to be the one that was connected to."""
    checks_certificate: bool = True
    more: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Further settings for librdkafka."""
    hidden: tuple[str, ...] = field(default=(), repr=False)
    """Every secret, as it could turn up in a text."""

    @property
    def tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def sasl(self) -> bool:
        return self.protocol.startswith("SASL")

    def librdkafka(self) -> dict[str, str]:
        """The settings of a librdkafka client."""
        settings = {"security.protocol": self.protocol, **self.more}
        if self.sasl:
            settings["sasl.mechanism"] = self.mechanism
            if self.user:
                settings |= {"sasl.username": self.user, "sasl.password": self.password}
        if self.tls:
            settings["ssl.endpoint.identification.algorithm"] = "https" if self.checks_name else "none"
            settings["enable.ssl.certificate.verification"] = str(self.checks_certificate).lower()
            pems = {"ssl.ca.pem": self.trusted, "ssl.certificate.pem": self.certificate, "ssl.key.pem": self.key}
            settings |= {name: pem.decode() for name, pem in pems.items() if pem is not None}
            if self.key is not None and self.key_password:
                settings["ssl.key.password"] = self.key_password
        return settings

    def tls_context(self) -> ssl.SSLContext:
        """What Python's TLS needs. Raises UsageError if the certificates or the key cannot be read."""
        try:
            context = ssl.create_default_context(cadata=self.trusted.decode() if self.trusted is not None else None)
            # From 3.13 on Python refuses certificates without an Authority Key Identifier (RFC 5280). Kafka's clients
            # and librdkafka take them, and many a company's own authority makes such.
            context.verify_flags &= ~ssl.VERIFY_X509_STRICT
            context.check_hostname = self.checks_name and self.checks_certificate
            if not self.checks_certificate:
                context.verify_mode = ssl.CERT_NONE
            if self.certificate is not None:
                _load_own(context, self.certificate + b"\n" + (self.key or b""), self.key_password)
        except (ssl.SSLError, ValueError, OSError):
            raise UsageError(
                "the client's certificate, its key (is ssl.key.password right?) or the certificates to trust are not "
                "valid"
            ) from None
        return context

    def scrub(self, text: str) -> str:
        r"""The text without any secret, on one line.

        >>> Access(hidden=("s3cret",)).scrub("login with s3cret\nrefused")
        'login with (hidden) refused'
        """
        for secret in sorted(self.hidden, key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return " ".join(text.split())


def _load_own(context: ssl.SSLContext, pem: bytes, password: str) -> None:
    """Python loads a client's key from a file only: here from one that is in memory and has no name."""
    memory = os.memfd_create("kafka-chaos-audit")
    try:
        os.write(memory, pem)
        # A password that is asked for and not there would be asked for on the terminal.
        context.load_cert_chain(f"/proc/self/fd/{memory}", password=lambda: password)
    finally:
        os.close(memory)


def read_access(path: Path | None) -> Access:
    """What a file of client settings says about connecting; without one, PLAINTEXT.

    Raises UsageError, with the file's name and no text of it, if it cannot be read or cannot be meant.
    """
    if path is None:
        return Access()
    try:
        settings = javaproperties.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (ValueError, UnicodeDecodeError):
        raise UsageError(f"{path}: this is no file of properties (key=value, UTF-8)") from None
    try:
        return access(settings, path.parent)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def access(settings: Mapping[str, str], where: Path) -> Access:
    """The same from the settings themselves; relative paths begin at the working directory, as everywhere, or else at
    `where`. Raises UsageError.
    """
    settings = {key.strip(): value.strip() for key, value in settings.items()}
    protocol = settings.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise UsageError(f"security.protocol must be one of {', '.join(PROTOCOLS)}")
    hidden = {value for key, value in settings.items() if value and is_secret(key, value)}
    found = Access(protocol=protocol, more=_more(settings))
    if found.sasl:
        mechanism = (settings.get("sasl.mechanism") or settings.get("sasl.mechanisms") or DEFAULT_MECHANISM).upper()
        user, password = _who(settings, mechanism)
        hidden |= {password}
        found = _with(found, mechanism=mechanism, user=user, password=password)
    if found.tls:
        certificate, key = _own(settings, where)
        found = _with(
            found,
            trusted=_trusted(settings, where),
            certificate=certificate,
            key=key,
            key_password=settings.get("ssl.key.password", "") if key is not None and b"ENCRYPTED" in key else "",
            checks_name=settings.get("ssl.endpoint.identification.algorithm", "https").lower() == "https",
            checks_certificate=settings.get("enable.ssl.certificate.verification", "true").lower() != "false",
        )
    return _with(found, hidden=tuple(sorted(secret for secret in hidden if len(secret) >= SHORTEST_SECRET)))


def _with(found: Access, **values: object) -> Access:
    return replace(found, **values)  # type: ignore[arg-type]


def _more(settings: Mapping[str, str]) -> dict[str, str]:
    known = ("sasl.mechanism", "sasl.mechanisms", "sasl.username", "sasl.password", *JAVA_ONLY)
    return {key: value for key, value in settings.items() if key.startswith(PASSED_ON) and key not in known}


JAAS_OPTION: Final = re.compile(r"""([\w.-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""")


def _who(settings: Mapping[str, str], mechanism: str) -> tuple[str, str]:
    """User and password, by librdkafka's names or out of a line of JAAS."""
    if "sasl.username" in settings:
        return settings["sasl.username"], settings.get("sasl.password", "")
    jaas = settings.get("sasl.jaas.config", "")
    if mechanism != "PLAIN" and not mechanism.startswith("SCRAM-"):
        if mechanism == "OAUTHBEARER" and jaas and "sasl.oauthbearer.method" not in settings:
            raise UsageError(
                "OAUTHBEARER is spoken by librdkafka: give sasl.oauthbearer.method=oidc with client id, secret and "
                "token endpoint (its CONFIGURATION.md), not Java's sasl.jaas.config"
            )
        if mechanism not in ("GSSAPI", "OAUTHBEARER"):
            raise UsageError("sasl.mechanism must be PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or GSSAPI")
        return "", ""
    options = {name: a or b or c for name, a, b, c in JAAS_OPTION.findall(jaas)}
    user, password = options.get("username", ""), options.get("password", "")
    if not user or not password:
        where = "sasl.jaas.config has no username and password" if jaas else "there is no user"
        raise UsageError(f"{mechanism}: {where}: give sasl.jaas.config, or sasl.username and sasl.password")
    return _unescaped(user), _unescaped(password)


def _unescaped(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value)


def _trusted(settings: Mapping[str, str], where: Path) -> bytes | None:
    """The certificates to trust, as PEM."""
    for key in ("ssl.ca.pem", "ssl.truststore.certificates"):
        if settings.get(key):
            return _unfolded(settings[key])
    for key in ("ssl.ca.location", "ssl.truststore.location"):
        if not settings.get(key) or settings[key] == "probe":
            continue
        place = _place(settings[key], where)
        if key == "ssl.ca.location" and place.is_dir():
            return b"\n".join(_contents(key, each) for each in sorted(place.iterdir()) if each.is_file())
        found = b"\n".join(_certificates(key, _contents(key, place), settings.get("ssl.truststore.password", "")))
        if not found:
            raise UsageError(f"{key}: no certificates in {place}")
        return found
    return None


def _own(settings: Mapping[str, str], where: Path) -> tuple[bytes | None, bytes | None]:
    """The client's own certificate and key, as PEM."""
    certificate = settings.get("ssl.certificate.pem") or settings.get("ssl.keystore.certificate.chain")
    key = settings.get("ssl.key.pem") or settings.get("ssl.keystore.key")
    if certificate and key:
        return _unfolded(certificate), _unfolded(key)
    if settings.get("ssl.certificate.location") and settings.get("ssl.key.location"):
        one, other = ("ssl.certificate.location", "ssl.key.location")
        return (
            _contents(one, _place(settings[one], where)),
            _contents(other, _place(settings[other], where)),
        )
    name = "ssl.keystore.location"
    if not settings.get(name):
        return None, None
    content = _contents(name, _place(settings[name], where))
    if PEM in content:
        return b"\n".join(CERTIFICATE.findall(content)), CERTIFICATE.sub(b"", content).strip()
    if content.startswith(JKS):
        raise UsageError(
            f"{name} is a JKS, whose keys only Java reads: convert it with `keytool -importkeystore -srckeystore OLD "
            "-destkeystore NEW.p12 -deststoretype PKCS12` and give that"
        )
    return _of_pkcs12(name, content, settings.get("ssl.keystore.password", ""), settings.get("ssl.key.password", ""))


def _place(path: str, where: Path) -> Path:
    return next((each for each in (Path(path), where / path) if each.exists()), Path(path))


def _contents(key: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{key}: {path}: {error.strerror}") from None


def _unfolded(pem: str) -> bytes:
    r"""A PEM that was written on one line, as Java allows, on several.

    >>> _unfolded("-----BEGIN CERTIFICATE----- AAAA BBBB -----END CERTIFICATE-----").count(b"\n")
    4
    """

    def lines(found: re.Match[str]) -> str:
        return "\n".join([found[1], *found[2].split(), found[3], ""])

    return re.sub(r"(-----BEGIN [A-Z ]+-----)(.*?)(-----END [A-Z ]+-----)\s*", lines, pem, flags=re.DOTALL).encode()


def _certificates(key: str, content: bytes, password: str) -> list[bytes]:
    """The certificates of a trust store, whatever kind it is, as PEM."""
    if PEM in content:
        return CERTIFICATE.findall(content)
    if content.startswith(JKS):
        try:
            return [ssl.DER_cert_to_PEM_cert(each).encode() for each in _of_jks(content)]
        except (struct.error, IndexError, UnicodeDecodeError):
            raise UsageError(f"{key}: the JKS is damaged") from None
    from cryptography.hazmat.primitives.serialization import Encoding, pkcs12

    try:
        store = pkcs12.load_pkcs12(content, password.encode() or None)
    except ValueError:
        raise UsageError(f"{key}: neither PEM nor JKS, and no PKCS#12 that ssl.truststore.password opens") from None
    return [each.certificate.public_bytes(Encoding.PEM) for each in store.additional_certs]


def _of_jks(content: bytes) -> Iterator[bytes]:
    """The certificates (DER) that a JKS trusts: its layout is `sun.security.provider.JavaKeyStore`'s. Its checksum,
    which takes the password, is not looked at: Java does not either, if it has none.
    """
    at = 4

    def take(layout: str) -> int:
        nonlocal at
        (value,) = struct.unpack_from(layout, content, at)
        at += struct.calcsize(layout)
        return int(value)

    def skip(size: int) -> bytes:
        nonlocal at
        if at + size > len(content):
            raise IndexError
        at += size
        return content[at - size : at]

    version, entries = take(">I"), take(">I")
    for _ in range(entries):
        tag = take(">I")
        skip(take(">H"))  # its alias
        skip(8)  # when it was made
        if tag != JKS_CERTIFICATE:
            skip(take(">I"))
        for _ in range(1 if tag == JKS_CERTIFICATE else take(">I")):
            if version == 2:
                skip(take(">H"))  # "X.509"
            certificate = skip(take(">I"))
            if tag == JKS_CERTIFICATE:
                yield certificate


def _of_pkcs12(key: str, content: bytes, password: str, key_password: str) -> tuple[bytes, bytes]:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12

    store = None
    for each in (password, key_password):
        try:
            store = pkcs12.load_pkcs12(content, each.encode() or None)
            break
        except ValueError:
            continue
    if store is None:
        raise UsageError(f"{key}: neither PEM nor a PKCS#12 that ssl.keystore.password opens")
    if store.key is None or store.cert is None:
        raise UsageError(f"{key}: no private key with its certificate in it")
    chain = [store.cert, *store.additional_certs]
    private = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return b"".join(each.certificate.public_bytes(Encoding.PEM) for each in chain), private
