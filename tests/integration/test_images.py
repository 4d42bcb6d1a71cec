"""What the image's entry point makes of its environment, and that its short cuts change nothing but the time."""

from __future__ import annotations

import contextlib
import secrets
import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest
from docker.errors import ImageNotFound

from evidence.errors import HarnessError
from harness.cluster import docker, versions
from harness.cluster.namespace import VARIABLE
from harness.setup import base
from tests.integration.engine import needs_image

pytestmark = pytest.mark.docker

FAKE_JAVA = """
mkdir /tmp/bin
printf '#!/bin/sh\\necho "$@" >/tmp/arguments\\n' >/tmp/bin/java
chmod +x /tmp/bin/java
PATH=/tmp/bin:$PATH bash /opt/kafka/entrypoint || echo "status=$?"
"""


def _inside(name: str, script: str, environment: Mapping[str, str] | None = None, user: str = "0") -> str:
    """What a script prints in a container of a version's image."""
    version = versions.get(name)
    client = docker.connect()
    needs_image(client, version)
    try:
        return docker.printed(
            client,
            version.image,
            ["-c", textwrap.dedent(script)],
            stderr=True,
            entrypoint="bash",
            environment=dict(environment or {}),
            user=user,
            tmpfs={"/data": f"uid={user},mode=755"},
        )
    finally:
        client.close()


def _properties(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))


BROKER = {"CHAOS_ROLE": "broker", "CHAOS_ID": "2", "CHAOS_ADDRESS": "192.0.2.12", "CHAOS_ZOOKEEPER": "192.0.2.10:2181"}


def test_settings_override_ours_and_each_is_written_once() -> None:
    environment = BROKER | {
        "KAFKA_SETTINGS": "num.io.threads=9;a.b=c=d\nlog.dirs=/data/other",
        "CHAOS_LOG_TRACE": "x.Y,z",
    }
    script = f"{FAKE_JAVA}\ncat /data/server.properties; grep TRACE /data/log4j.properties"
    output = _inside("0.10.2.2", script, environment)
    properties = _properties(output)
    assert properties["num.io.threads"] == "9"
    assert properties["log.dirs"] == "/data/other"
    assert properties["a.b"] == "c=d"
    assert properties["listeners"] == "PLAINTEXT://192.0.2.12:9092"
    assert output.count("num.io.threads=") == 1
    assert "log4j.logger.x.Y=TRACE\nlog4j.logger.z=TRACE" in output


def test_a_setting_for_one_broker_is_that_ones_alone() -> None:
    settings = {"KAFKA_SETTINGS": "2:a.b=mine;a.b=all;c.d=all;3:c.d=another's"}
    properties = _properties(_inside("0.10.2.2", f"{FAKE_JAVA}\ncat /data/server.properties", BROKER | settings))
    assert (properties["a.b"], properties["c.d"]) == ("mine", "all")


def test_0_8_has_no_listeners_and_logs_what_it_is_told_about_partitions() -> None:
    output = _inside("0.8.2.2", f"{FAKE_JAVA}\ncat /data/server.properties /tmp/arguments", BROKER)
    properties = _properties(output)
    assert properties["host.name"] == "192.0.2.12"
    assert "listeners" not in properties
    assert "-Dchaos.state.change=TRACE" in output


def test_an_unknown_role_is_refused() -> None:
    output = _inside("0.10.2.2", FAKE_JAVA, BROKER | {"CHAOS_ROLE": "boss"})
    assert "not 'boss'" in output
    assert "status=64" in output


KRAFT = {
    "CHAOS_ROLE": "kraft-broker",
    "CHAOS_ID": "3",
    "CHAOS_ADDRESS": "192.0.2.13",
    "CHAOS_VOTERS": "100@192.0.2.100:9093",
}


@pytest.mark.parametrize(
    ("version", "role", "beside"),
    [
        ("4.3.1", "kraft-broker", ["bootstrap.checkpoint"]),
        ("4.4.0", "kraft-broker", []),
        ("4.4.0", "kraft-controller", ["__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"]),
    ],
)
def test_copied_formatting_is_the_tools_own(version: str, role: str, beside: list[str]) -> None:
    """The same files with the same ids and the same length; only times, checksums and the random id differ. From 4.4 on
    controllers alone have what the quorum begins with (KAFKA-19648).
    """
    script = f"""
        {FAKE_JAVA}
        cd /data/kafka; find . -type f -printf 'copied/%P=%s\\n'; sed 's/^/copied./' meta.properties
        cd /; rm -r /data/kafka; . /opt/kafka/jvm
        format=(kafka.tools.StorageTool format -t Y2hhb3MtY2hhb3MtY2hhbw -c /data/server.properties)
        "${{jvm[@]}}" "${{format[@]}}" >/dev/null 2>&1
        cd /data/kafka; find . -type f -printf 'tool/%P=%s\\n'; sed 's/^/tool./' meta.properties
    """
    voter = 3 if role == "kraft-controller" else 100  # the tool refuses a controller that is no voter
    environment = KRAFT | {"CHAOS_ROLE": role, "CHAOS_VOTERS": f"{voter}@192.0.2.13:9093"}
    values = _properties(textwrap.dedent(_inside(version, script, environment)))
    copied, tool = (
        {name.removeprefix(whose): size for name, size in values.items() if name.startswith(whose)}
        for whose in ("copied/", "tool/")
    )
    assert copied.keys() == tool.keys() == {"meta.properties", *beside}
    assert [copied[name] for name in beside] == [tool[name] for name in beside]
    for key in ("node.id", "cluster.id", "version"):
        assert values[f"copied.{key}"] == values[f"tool.{key}"]
    assert values["copied.node.id"] == "3"
    assert len(values["copied.directory.id"]) == len(values["tool.directory.id"]) == 22


def test_a_formatted_directory_is_left_alone_and_any_user_may_start() -> None:
    script = f"""
        mkdir /data/kafka; echo node.id=3 >/data/kafka/meta.properties
        {FAKE_JAVA}
        cat /data/kafka/meta.properties; ls -A /data/kafka; id -u
    """
    assert _inside("4.3.1", script, KRAFT, user="1234").split() == ["node.id=3", "meta.properties", "1234"]


@pytest.mark.parametrize(("name", "role"), [("3.9.2-zk", "broker"), ("3.9.2-zk", "zookeeper"), ("4.3.1", "kraft")])
def test_the_archive_of_classes_is_usable(name: str, role: str) -> None:
    script = f'. /opt/kafka/jvm; "${{jvm[@]}}" -Xshare:on -XX:SharedArchiveFile=/opt/kafka/classes/{role}.jsa -version'
    assert "sharing" in _inside(name, f"{script} 2>&1")


def test_an_engine_imports_a_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, f"test-{secrets.token_hex(4)}")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "hostname").write_text("small")
    client = docker.connect()
    tag = f"{base.base_repository()}:tiny"
    try:
        base.import_directory(client, tmp_path, "tiny", "by a test", lambda line: None)
        image = client.images.get(tag)
        assert (image.attrs["Size"], image.labels) == (len("small"), base.labels("by a test"))
        base.label(client, tag, tag, "by another")
        assert client.images.get(tag).labels == base.labels("by another")
    finally:
        with contextlib.suppress(ImageNotFound):
            client.images.remove(tag)
        client.close()


def test_what_a_command_prints_is_whole_and_its_container_is_gone() -> None:
    version, mark = versions.get("0.10.2.2"), secrets.token_hex(4)
    client = docker.connect()
    needs_image(client, version)
    lines = 'for n in $(seq 20000); do echo "$n"; done; echo no >&2'
    try:
        output = docker.printed(client, version.image, ["-c", lines], entrypoint="bash", name=f"printed-whole-{mark}")
        assert output.split() == [str(number) for number in range(1, 20001)]
        with pytest.raises(HarnessError, match=r"ended with 7: gone wrong"):
            docker.printed(
                client,
                version.image,
                ["-c", "echo gone wrong; exit 7"],
                entrypoint="bash",
                name=f"printed-wrong-{mark}",
            )
        assert not client.containers.list(all=True, filters={"name": mark})
    finally:
        client.close()
