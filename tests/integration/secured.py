"""A cluster as careful people have it: listeners with TLS, SASL and client certificates beside one for the test itself,
an authorizer, and a log of every request.

The test itself, and the brokers among each other, come in by PLAINTEXT as ANONYMOUS, who may do everything. Whoever
comes by SASL or with a certificate may only do what ACLs allow.
"""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
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

from harness.cluster import docker, versions
from harness.cluster.networks import free_prefixes_here
from tests.integration.engine import call, needs_image

COMPOSE: Final = Path(__file__).resolve().parents[2] / "compose"
UP_S: Final = 120.0
PLAINTEXT, SASL_SSL, SASL_PLAINTEXT, SSL = 9092, 9094, 9095, 9096
PASSWORD: Final = "canary-4711-p,=w"
"""Of every user and of every key: it must not turn up anywhere."""
AUDITOR, PARTLY, NOBODY = "auditor", "partly", "nobody"
"""Who may describe everything, everything but the topic "plain", and topics but no settings."""
TEST: Final = "the-test"
METADATA: Final = 3
MAY: Final = ("DESCRIBE", "DESCRIBE_CONFIGS")
MAY_NOT: Final = {
    "TOPIC": ("READ", "WRITE", "CREATE", "DELETE", "ALTER", "ALTER_CONFIGS"),
    "BROKER": ("CREATE", "CLUSTER_ACTION", "ALTER", "ALTER_CONFIGS", "IDEMPOTENT_WRITE"),
}
"""By type of resource: of a cluster the library says BROKER."""


class Authority:
    """Makes keys, and certificates for them that a client or a broker takes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "canary authority")])
        self.certificate = self._signed(self._name, self._key, [], authority=True)
        (root / "ca.pem").write_bytes(self.certificate.public_bytes(Encoding.PEM))

    def issue(self, name: str, addresses: list[str]) -> None:
        """<name>.crt and <name>.key (encrypted PEM), <name>.pem with both, and <name>.p12 with the chain."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = self._signed(subject, key, addresses, authority=False)
        chain = certificate.public_bytes(Encoding.PEM) + self.certificate.public_bytes(Encoding.PEM)
        # The one encryption of PEM keys that Java's own reader has is PKCS#8's.
        plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        closed = BestAvailableEncryption(PASSWORD.encode())
        # As Java 8 reads a store.
        old = PrivateFormat.PKCS12.encryption_builder().key_cert_algorithm(pkcs12.PBES.PBESv1SHA1And3KeyTripleDESCBC)
        old_store = old.hmac_hash(hashes.SHA1()).build(PASSWORD.encode())
        (self.root / f"{name}.crt").write_bytes(chain)
        (self.root / f"{name}.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, closed))
        (self.root / f"{name}.pem").write_bytes(plain + chain)
        store = pkcs12.serialize_key_and_certificates(name.encode(), key, certificate, [self.certificate], old_store)
        (self.root / f"{name}.p12").write_bytes(store)

    def _signed(self, subject: x509.Name, key: Any, addresses: list[str], *, authority: bool) -> x509.Certificate:
        now = datetime.now(UTC)
        names: list[x509.GeneralName] = [x509.IPAddress(ipaddress.ip_address(each)) for each in addresses]
        built = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=30))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if names:
            built = built.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return built.sign(self._key, hashes.SHA256())


class Asked(NamedTuple):
    """One request, as a broker's log has it."""

    key: int
    version: int
    client: str
    line: str


@dataclass(slots=True)
class Secured:
    """One broker with these listeners."""

    version: str
    prefix: str
    keys: Path
    """With ca.pem, client.pem, client.p12, …"""
    container: Any
    coordinator: Any

    def at(self, port: int) -> str:
        return f"{self.prefix}.11:{port}"

    @property
    def zookeeper(self) -> str:
        return f"{self.prefix}.10:2181"

    def admin(self) -> Any:
        return AdminClient({"bootstrap.servers": self.at(PLAINTEXT), "log_level": 0, "client.id": TEST})

    @contextmanager
    def asked(self) -> Iterator[list[Asked]]:
        """What this machine asks meanwhile, but for the test itself, is in the list in the end. The log is behind at
        times: a request that is known marks where it begins and where it ends.
        """
        found: list[Asked] = []
        begin = self._marked("mark-begin")
        yield found
        end = self._marked("mark-end")
        found += [each for each in self._log()[begin:end] if not each.client.startswith(("mark-", TEST))]

    def _marked(self, name: str) -> int:
        """How long the log is when a request of this name is in it."""
        marking = AdminClient({"bootstrap.servers": self.at(PLAINTEXT), "log_level": 0, "client.id": name})
        marking.list_topics(timeout=UP_S)
        seen: list[int] = []

        def holds() -> bool:
            seen[:] = [n for n, each in enumerate(self._log(), 1) if each.client == name and each.key == METADATA]
            return bool(seen)

        self.wait(holds, f"the request of {name} in the log")
        return seen[-1]

    def _log(self) -> list[Asked]:
        """Every request that this machine made, in order."""
        log = self.container.logs().decode(errors="replace")
        found: list[Asked] = []
        for line in log.splitlines():
            if "Completed request:" not in line or f"-{self.prefix}.1:" not in line:
                continue
            key = re.search(r'"?(?:requestApiKey|api_key)"?[=:](\d+)', line)
            version = re.search(r'"?(?:requestApiVersion|api_version)"?[=:](\d+)', line)
            name = re.search(r'"?(?:clientId|client_id)"?[=:]"?([\w-]*)', line)
            assert key, line
            assert version, line
            assert name, line
            found.append(Asked(int(key[1]), int(version[1]), name[1], line))
        return found

    def wait(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + UP_S
        while not holds():
            self.container.reload()
            if self.container.status == "exited":
                lines = self.container.logs().decode(errors="replace").splitlines()
                at = next((n for n, line in enumerate(lines) if " ERROR " in line or " FATAL " in line), -20)
                said = [line for line in lines[at:] if not line.startswith("\tat ")][:20]
                raise AssertionError(f"{what}: the broker has ended: {said}")
            assert time.monotonic() < deadline, f"{what}: not within {UP_S} s\n{self.container.logs(tail=20).decode()}"
            time.sleep(0.2)


def users() -> str:
    """Users and passwords, as a login module of PLAIN takes them."""
    return " ".join(f'user_{name}="{PASSWORD}"' for name in (AUDITOR, PARTLY, NOBODY))


def settings(version: versions.Version, prefix: str) -> str:
    """The broker's settings. What stands behind "1:" is the broker's alone, not the controller's."""
    here = f"{prefix}.11"
    listeners = [f"PLAINTEXT://{here}:{PLAINTEXT}", f"SASL_PLAINTEXT://{here}:{SASL_PLAINTEXT}"]
    given = {
        "auto.create.topics.enable": "true",
        "default.replication.factor": "1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "min.insync.replicas": "1",
        "super.users": "User:ANONYMOUS",
        "1:broker.rack": "a",
    }
    if version.release < (1,):
        given |= {
            "authorizer.class.name": "kafka.security.auth.SimpleAclAuthorizer",
            "sasl.enabled.mechanisms": "PLAIN",
        }
    else:
        listeners += [f"SASL_SSL://{here}:{SASL_SSL}", f"SSL://{here}:{SSL}"]
        kraft = version.mode == "kraft"
        jaas = "org.apache.kafka.common.security"
        plain = f"{jaas}.plain.PlainLoginModule required {users()}"
        # The entry point splits settings at semicolons; Java reads this as one.
        semicolon = "\\u003b"
        authorizers = (
            "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "kafka.security.authorizer.AclAuthorizer",
        )
        given |= {
            "authorizer.class.name": authorizers[0 if kraft else 1],
            "1:sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            "1:ssl.keystore.type": "PKCS12",
            "1:ssl.keystore.location": "/data/keys/broker.p12",
            "1:ssl.keystore.password": PASSWORD,
            "1:ssl.key.password": PASSWORD,
            "1:ssl.truststore.type": "PEM",
            "1:ssl.truststore.location": "/data/keys/ca.pem",
            "1:listener.name.ssl.ssl.client.auth": "required",
            "1:log.flush.interval.messages": "10000",
        }
        for listener in ("sasl_ssl", "sasl_plaintext"):
            given[f"1:listener.name.{listener}.plain.sasl.jaas.config"] = f"{plain}{semicolon}"
            for mechanism in ("scram-sha-256", "scram-sha-512"):
                module = f"{jaas}.scram.ScramLoginModule required"
                given[f"1:listener.name.{listener}.{mechanism}.sasl.jaas.config"] = f"{module}{semicolon}"
        if kraft:
            names = "PLAINTEXT", "SASL_PLAINTEXT", "SASL_SSL", "SSL"
            protocols = ",".join(["CONTROLLER:PLAINTEXT", *(f"{name}:{name}" for name in names)])
            given["1:listener.security.protocol.map"] = protocols
    given |= {"1:listeners": ",".join(listeners), "1:advertised.listeners": ",".join(listeners)}
    return ";".join(f"{key}={value}" for key, value in given.items())


@contextmanager
def secured(name: str, root: Path) -> Iterator[Secured]:
    """Such a cluster, with the topics "orders" (its own min.insync.replicas) and "plain", and an auditor's rights."""
    version = versions.get(name)
    kraft = version.mode == "kraft"
    client = docker.connect()
    needs_image(client, version)
    project = f"kafka-chaos-test-{secrets.token_hex(4)}"
    prefix = next(free_prefixes_here(client))
    services = ["controller-100" if kraft else "zookeeper", "broker-1"]
    keys = root / "broker-1" / "keys"
    for service in services:
        (root / service).mkdir(parents=True, exist_ok=True)
    keys.mkdir(parents=True)
    authority = Authority(keys)
    authority.issue("broker", [f"{prefix}.11"])
    authority.issue("client", [])
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    for service in services:  # options of the JVM are every node's
        (root / service / "jaas.conf").write_text(f"KafkaServer {{ {module} required {users()}; }};\n")
    old = version.release < (1,)
    variables = {
        "KAFKA_VERSION": version.kafka,
        "CHAOS_SUBNET": prefix,
        "CHAOS_RUN": project,
        "CHAOS_OWNER": docker.owner(),
        "CHAOS_DATA": str(root),
        "CHAOS_UID": str(os.getuid()),
        "CHAOS_GID": str(os.getgid()),
        "CHAOS_LOG_TRACE": "kafka.request.logger",
        "CHAOS_JAVA_OPTIONS": "-Djava.security.auth.login.config=/data/jaas.conf -Dzookeeper.sasl.client=false"
        if old
        else "",
        "KAFKA_SETTINGS": settings(version, prefix),
    }
    compose = ["docker", "compose", "-p", project, "-f", str(COMPOSE / ("kraft.yml" if kraft else "zookeeper.yml"))]
    try:
        call([*compose, "up", "-d", *services], variables)
        broker, coordinator = (client.containers.get(f"{project}-{each}-1") for each in ("broker-1", services[0]))
        cluster = Secured(name, prefix, keys, broker, coordinator)
        _prepare(cluster, old=old)
        yield cluster
    finally:
        docker.remove(docker.find_ours(client, run=project))
        client.close()


def _prepare(cluster: Secured, *, old: bool) -> None:
    admin = cluster.admin()

    def done(ask: Callable[[], Any]) -> Callable[[], bool]:
        def tried() -> bool:
            try:
                for future in ask().values():
                    future.result(timeout=10)
            except Exception as error:
                return "TOPIC_ALREADY_EXISTS" in str(error)
            return True

        return tried

    for topic, own in (
        ("orders", {"min.insync.replicas": "2", "unclean.leader.election.enable": "true"}),
        ("plain", {}),
    ):
        made = NewTopic(topic, num_partitions=2, replication_factor=1, config=own)
        cluster.wait(done(partial(admin.create_topics, [made])), f"topic {topic}")
    if old:
        _old_acls(cluster)
        return
    rights = [
        AclBinding(kind, named, ResourcePatternType.LITERAL, user, "*", AclOperation[right], AclPermissionType[may])
        for kind, named in ((ResourceType.TOPIC, "*"), (ResourceType.BROKER, "kafka-cluster"))
        for user in (f"User:{AUDITOR}", "User:CN=client")
        for may, those in (("ALLOW", MAY), ("DENY", MAY_NOT[kind.name]))
        for right in those
    ] + [
        AclBinding(kind, named, ResourcePatternType.LITERAL, f"User:{user}", "*", AclOperation[right],
                   AclPermissionType.ALLOW)
        for user, kind, named, right in (
            (NOBODY, ResourceType.TOPIC, "*", "DESCRIBE"),
            *((PARTLY, ResourceType.TOPIC, "orders", right) for right in MAY),
            *((PARTLY, ResourceType.BROKER, "kafka-cluster", right) for right in MAY),
        )
    ]  # fmt: skip
    cluster.wait(done(lambda: admin.create_acls(rights)), "ACLs")
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        users = [
            UserScramCredentialUpsertion(AUDITOR, ScramCredentialInfo(mechanism, 4096), PASSWORD.encode()),
        ]
        cluster.wait(done(partial(admin.alter_user_scram_credentials, users)), "SCRAM users")


def _old_acls(cluster: Secured) -> None:
    """ACLs by the tool of the time, in ZooKeeper's container, which has the same image."""
    tool = '. /opt/kafka/jvm && exec "${jvm[@]}" -Xmx96m kafka.admin.AclCommand --authorizer-properties'
    where = f"{tool} zookeeper.connect=localhost:2181 --add"
    for arguments in (
        f"--allow-principal User:{AUDITOR} --operation Describe --topic '*'",
        f"--deny-principal User:{AUDITOR} --operation Read --operation Write --operation Delete --topic '*'",
        f"--deny-principal User:{AUDITOR} --operation Create --operation ClusterAction --cluster",
    ):
        done = cluster.coordinator.exec_run(["bash", "-c", f"{where} {arguments}"], user="0")
        assert done.exit_code == 0, done.output.decode()
