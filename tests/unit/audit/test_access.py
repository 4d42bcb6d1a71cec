"""How a file of client settings becomes a connection, and that no secret leaves it."""

from __future__ import annotations

import shutil
import ssl
import struct
import subprocess
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from audit.access import Access, _certificates, access, read_access
from evidence.errors import UsageError

CANARY = "canary-4711"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SASL = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
KEY = ec.generate_private_key(ec.SECP256R1())
NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "me")])
NOW = datetime.now(UTC)
CERTIFICATE = (
    x509.CertificateBuilder()
    .subject_name(NAME)
    .issuer_name(NAME)
    .public_key(KEY.public_key())
    .serial_number(7)
    .not_valid_before(NOW - timedelta(days=1))
    .not_valid_after(NOW + timedelta(days=1))
    .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    .sign(KEY, hashes.SHA256())
)
CERT_PEM = CERTIFICATE.public_bytes(Encoding.PEM)
CERT_DER = CERTIFICATE.public_bytes(Encoding.DER)
KEY_PEM = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
CLOSED_PEM = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(CANARY.encode()))
P12 = pkcs12.serialize_key_and_certificates(
    b"me", KEY, CERTIFICATE, [CERTIFICATE], BestAvailableEncryption(CANARY.encode())
)


def jks(*certificates: bytes, tag: int = 2) -> bytes:
    """A JKS as `JavaKeyStore.engineStore` writes it, with a checksum that nobody looks at."""
    entries = b""
    for number, der in enumerate(certificates):
        alias = f"ca{number}".encode()
        entries += struct.pack(">IH", tag, len(alias)) + alias + struct.pack(">Q", 0)
        if tag == 1:
            entries += struct.pack(">I", 3) + b"key" + struct.pack(">I", 1)
        entries += struct.pack(">H", 5) + b"X.509" + struct.pack(">I", len(der)) + der
    return b"\xfe\xed\xfe\xed" + struct.pack(">II", 2, len(certificates)) + entries + b"\0" * 20


def test_without_a_file_nothing_is_assumed() -> None:
    found = read_access(None)
    assert (found.protocol, found.tls, found.sasl) == ("PLAINTEXT", False, False)
    assert found.librdkafka() == {"security.protocol": "PLAINTEXT"}


@pytest.mark.parametrize(
    "line",
    [
        f'{PLAIN} required username="alice" password="{CANARY}";',
        f"{PLAIN} required username='alice' password='{CANARY}' ;",
        f"{PLAIN} required\n  password={CANARY}\n  username=alice;",
    ],
)
def test_user_and_password_of_jaas(line: str) -> None:
    found = access({**SASL, "sasl.jaas.config": line}, Path())
    assert (found.user, found.password) == ("alice", CANARY)
    settings = found.librdkafka()
    assert (settings["sasl.username"], settings["sasl.password"]) == ("alice", CANARY)
    assert "sasl.jaas.config" not in settings


def test_what_jaas_escapes_is_not_in_the_password() -> None:
    found = access({**SASL, "sasl.jaas.config": rf'{PLAIN} required username="a" password="x\"y\\z=1;2";'}, Path())
    assert found.password == 'x"y\\z=1;2'


@given(st.text(st.characters(blacklist_characters='"\\', blacklist_categories=["Cs", "Cc"]), min_size=1))
def test_any_password_survives_jaas(password: str) -> None:
    line = f'{PLAIN} required username="u" password="{password}";'
    assert access({**SASL, "sasl.jaas.config": line}, Path()).password == password


def test_user_and_password_of_librdkafka() -> None:
    found = access({**SASL, "sasl.username": "alice", "sasl.password": CANARY}, Path())
    assert (found.user, found.password) == ("alice", CANARY)
    assert CANARY in found.hidden


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"security.protocol": "SASL"}, "security.protocol must be one of"),
        (SASL, "there is no user"),
        ({**SASL, "sasl.jaas.config": f"{PLAIN} required;"}, "no username and password"),
        ({**SASL, "sasl.mechanism": "AWS_MSK_IAM"}, "sasl.mechanism must be"),
        ({**SASL, "sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": f"x secret={CANARY};"}, "oidc"),
        ({"security.protocol": "SSL", "ssl.ca.location": "gone.pem"}, "gone.pem: No such file"),
        ({"security.protocol": "SSL", "ssl.keystore.location": "gone.jks"}, "gone.jks: No such file"),
    ],
)
def test_what_cannot_be_meant_is_one_line_without_secrets(settings: dict[str, str], says: str, tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()) + f"ssl.key.password={CANARY}\n")
    with pytest.raises(UsageError, match=says) as raised:
        read_access(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert CANARY not in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "says"), [(b"\xff\xfe\x00", "no file of properties"), (b"a=\\uzzzz", "no file of properties")]
)
def test_what_is_no_file_of_settings(content: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=says):
        read_access(path)
    with pytest.raises(UsageError, match="No such file"):
        read_access(tmp_path / "gone")


def test_only_what_is_about_connecting_is_passed_on() -> None:
    found = access(
        {
            **SASL,
            "sasl.username": "alice",
            "sasl.password": CANARY,
            "debug": "all",
            "log_level": "7",
            "plugin.library.paths": "evil.so",
            "bootstrap.servers": "elsewhere:9092",
            "sasl.kerberos.service.name": "kafka",
            "sasl.login.class": "x.Y",
        },
        Path(),
    )
    assert set(found.librdkafka()) == {
        "security.protocol",
        "sasl.mechanism",
        "sasl.username",
        "sasl.password",
        "sasl.kerberos.service.name",
    }


def test_kerberos_is_librdkafkas_own() -> None:
    found = access({"security.protocol": "sasl_plaintext", "sasl.kerberos.keytab": "/k"}, Path())
    assert found.librdkafka() == {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.keytab": "/k",
    }


def trust(store: bytes, tmp_path: Path, password: str = CANARY) -> bytes | None:
    (tmp_path / "store").write_bytes(store)
    settings = {
        "security.protocol": "SSL",
        "ssl.truststore.location": str(tmp_path / "store"),
        "ssl.truststore.password": password,
    }
    return access(settings, tmp_path).trusted


@pytest.mark.parametrize("store", [CERT_PEM, jks(CERT_DER), P12], ids=["PEM", "JKS", "PKCS#12"])
def test_trust_stores_are_known_by_what_is_in_them(store: bytes, tmp_path: Path) -> None:
    found = trust(store, tmp_path)
    assert found is not None
    assert ssl.PEM_cert_to_DER_cert(found.decode()) == CERT_DER


def test_a_jks_may_hold_keys_beside_certificates(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no certificates"):
        trust(jks(CERT_DER, tag=1), tmp_path)


@pytest.mark.parametrize("cut", [3, 8, 30, 200])
def test_a_damaged_store_is_said_to_be(cut: int, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"damaged|neither PEM nor JKS"):
        trust(jks(CERT_DER)[:cut], tmp_path)
    with pytest.raises(UsageError, match="neither PEM nor JKS"):
        trust(P12[:cut], tmp_path)
    with pytest.raises(UsageError, match=r"that ssl\.truststore\.password opens"):
        trust(P12, tmp_path, password="wrong")


@given(st.binary(max_size=300))
def test_any_bytes_behind_the_mark_of_a_jks_are_read_or_refused(tail: bytes) -> None:
    with suppress(UsageError):
        _certificates("ssl.truststore.location", b"\xfe\xed\xfe\xed" + tail, "")


@pytest.mark.skipif(shutil.which("keytool") is None, reason="no keytool here")
@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_what_keytool_writes_is_read(kind: str, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(CERT_PEM)
    command = ["keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", str(tmp_path / "ca.pem")]
    command += ["-keystore", str(tmp_path / "made"), "-storetype", kind, "-storepass", CANARY]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    found = trust((tmp_path / "made").read_bytes(), tmp_path)
    assert found is not None
    assert ssl.PEM_cert_to_DER_cert(found.decode()) == CERT_DER


def own(tmp_path: Path, settings: dict[str, str], store: bytes = b"") -> Access:
    (tmp_path / "store").write_bytes(store)
    return access({"security.protocol": "SSL", **settings}, tmp_path)


STORE = {"ssl.keystore.location": "store", "ssl.keystore.password": CANARY}


@pytest.mark.parametrize(
    ("settings", "store"),
    [
        (STORE, P12),
        (STORE, KEY_PEM + CERT_PEM),
        ({**STORE, "ssl.key.password": CANARY}, CERT_PEM + CLOSED_PEM),
        ({"ssl.certificate.pem": CERT_PEM.decode(), "ssl.key.pem": KEY_PEM.decode()}, b""),
        (
            {
                "ssl.keystore.certificate.chain": " ".join(CERT_PEM.decode().split("\n")),
                "ssl.keystore.key": " ".join(CLOSED_PEM.decode().split("\n")),
                "ssl.key.password": CANARY,
            },
            b"",
        ),
    ],
    ids=["PKCS#12", "PEM", "encrypted PEM", "librdkafka's own", "PEM on one line"],
)
def test_a_clients_own_key(settings: dict[str, str], store: bytes, tmp_path: Path) -> None:
    found = own(tmp_path, settings, store)
    found.tls_context()
    passed = found.librdkafka()
    assert ssl.PEM_cert_to_DER_cert(passed["ssl.certificate.pem"].split("-----END")[0] + "-----END CERTIFICATE-----\n")
    assert "PRIVATE KEY" in passed["ssl.key.pem"]
    assert ("ssl.key.password" in passed) == ("ENCRYPTED" in passed["ssl.key.pem"])


@pytest.mark.parametrize(
    ("settings", "store", "says"),
    [
        (STORE, jks(CERT_DER), "convert it with `keytool"),
        ({**STORE, "ssl.keystore.password": "wrong"}, P12, "that ssl.keystore.password opens"),
        (STORE, b"rubbish", "neither PEM nor a PKCS#12"),
    ],
    ids=["JKS", "a wrong password", "rubbish"],  # a store is made anew in each process, and may not name a test
)
def test_a_key_that_cannot_be_used(settings: dict[str, str], store: bytes, says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=says) as raised:
        own(tmp_path, settings, store)
    assert CANARY not in str(raised.value)


def test_a_wrong_password_of_a_pem_is_told_and_nobody_is_asked_for_it(tmp_path: Path) -> None:
    found = own(tmp_path, {**STORE, "ssl.key.password": "wrong"}, CERT_PEM + CLOSED_PEM)
    with pytest.raises(UsageError, match=r"is ssl\.key\.password right"):
        found.tls_context()
    with pytest.raises(UsageError, match=r"is ssl\.key\.password right"):
        own(tmp_path, STORE, CERT_PEM + CLOSED_PEM).tls_context()


def test_names_and_certificates_are_checked_unless_told_otherwise() -> None:
    sure = access({"security.protocol": "SSL"}, Path())
    assert sure.tls_context().check_hostname
    assert sure.tls_context().verify_mode == ssl.CERT_REQUIRED
    free = access({"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": ""}, Path())
    assert not free.tls_context().check_hostname
    assert free.tls_context().verify_mode == ssl.CERT_REQUIRED
    assert free.librdkafka()["ssl.endpoint.identification.algorithm"] == "none"
    never = access({"security.protocol": "SSL", "enable.ssl.certificate.verification": "false"}, Path())
    assert never.tls_context().verify_mode == ssl.CERT_NONE


def test_no_secret_shows(tmp_path: Path) -> None:
    line = f'{PLAIN} required username="alice" password="{CANARY}";'
    settings = {**SASL, "security.protocol": "SASL_SSL", "sasl.jaas.config": line, **STORE}
    found = own(tmp_path, settings, P12)
    assert CANARY not in repr(found)
    assert "PRIVATE" not in repr(found)
    assert CANARY not in found.scrub(f"refused {CANARY} of\n{line}")
    assert found.scrub("plain words") == "plain words"


def test_a_relative_path_is_one_of_the_working_directory_or_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(CERT_PEM)
    path = tmp_path / "client.properties"
    path.write_text("security.protocol=SSL\nssl.ca.location=ca.pem\n")
    assert read_access(path).trusted == CERT_PEM.strip()
