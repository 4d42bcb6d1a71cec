"""The image of the store outside Kafka, built here from compose/postgresql/Dockerfile when a scenario asks for it.

No other scenario needs it, so `kafka-chaos setup` leaves it out. It is built anew when its Dockerfile changed.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from contextlib import closing
from typing import TYPE_CHECKING, Final

from docker.errors import ImageNotFound

from harness.cluster.docker import LABEL, connect
from harness.cluster.namespace import namespace
from harness.setup.base import ensure_base
from harness.setup.cache import exclusive
from harness.setup.images import COMPOSE, INPUTS_LABEL, check_space, one_build
from harness.setup.waiting import Echo, saying

if TYPE_CHECKING:
    from docker import DockerClient

DOCKERFILE: Final = COMPOSE / "postgresql" / "Dockerfile"
JAVA: Final = 17
"""Its base is that of brokers with this Java: Debian 12."""
WHAT: Final = "PostgreSQL"


def store_image() -> str:
    """The image's name."""
    return f"{namespace()}/postgresql:15"


def ensure_store_image(echo: Echo) -> str:
    """The id of the image, built now if it is missing or out of date.

    Raises UsageError or HarnessError, in one line, if it cannot be built here.
    """
    with closing(connect()) as client, exclusive("image-postgresql", echo):
        return _present(client) or _build(client, echo)


def _digest() -> str:
    return hashlib.sha256(DOCKERFILE.read_bytes()).hexdigest()[:16]


def _present(client: DockerClient) -> str | None:
    try:
        image = client.images.get(store_image())
    except ImageNotFound:
        return None
    return str(image.id) if image.labels.get(INPUTS_LABEL) == _digest() else None


def _build(client: DockerClient, echo: Echo) -> str:
    check_space(client)
    base = ensure_base(client, JAVA, echo)
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as tar:
        tar.add(DOCKERFILE, "Dockerfile")
    context.seek(0)
    echo(f"building the image of {WHAT}")
    with one_build(client, WHAT, installs=WHAT), saying(echo, f"building the image of {WHAT}"):
        image, _ = client.images.build(
            fileobj=context,
            custom_context=True,
            tag=store_image(),
            rm=True,
            forcerm=True,
            buildargs={"BASE_IMAGE": base},
            labels={LABEL: namespace(), INPUTS_LABEL: _digest()},
        )
    return str(image.id)
