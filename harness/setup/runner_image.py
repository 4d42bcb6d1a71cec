"""The image of the program itself (compose/runner/Dockerfile), built from a checkout: `make runner`.

`docker build` in the checkout makes it as well, where a registry has the bare Debian beneath. Here that Debian comes as
the one under the images of Kafka does. The build gets what this machine has set up to reach its registries: the index
of pip, and certificates of authorities of its own.

It imports nothing that is not there when `make demo` begins.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from docker.utils.build import create_archive, exclude_paths

from evidence.errors import KafkaChaosError, UsageError
from harness.cluster.docker import connect
from harness.cluster.namespace import namespace
from harness.setup.base import ensure_debian
from harness.setup.cache import exclusive
from harness.setup.images import check_space, one_build
from harness.setup.waiting import Echo, saying

ROOT: Final = Path(__file__).resolve().parents[2]
DOCKERFILE: Final = "compose/runner/Dockerfile"
CERTIFICATES: Final = "compose/runner/certificates"
DEBIAN: Final = "trixie"
"""Debian 13: the first release whose Compose is version 2."""
OWN_AUTHORITIES: Final = Path("/usr/local/share/ca-certificates")
"""Where Debian looks for certificates of authorities that a machine trusts beside the public ones."""
INDEX: Final[Mapping[str, str]] = {
    "index-url": "PIP_INDEX_URL",
    "extra-index-url": "PIP_EXTRA_INDEX_URL",
    "trusted-host": "PIP_TRUSTED_HOST",
}
"""Settings of pip, and the variables of the Dockerfile."""


def runner_image() -> str:
    """The image's name."""
    return f"{namespace()}/runner"


def index_arguments(configuration: str) -> dict[str, str]:
    r"""The arguments of the build that have it ask the index that pip asks here, from what `pip config list` prints.

    >>> index_arguments("global.index-url='http://a/simple'\nglobal.timeout='9'\n:env:.index-url='http://b/simple'")
    {'PIP_INDEX_URL': 'http://b/simple'}
    """
    found: dict[str, str] = {}
    for place in ("global", "install", ":env:"):
        for name, value in re.findall(rf"^{re.escape(place)}\.([\w-]+)='(.*)'$", configuration, re.MULTILINE):
            if name in INDEX:
                found[INDEX[name]] = value.replace("\\n", " ").strip()
    return found


def own_certificates(place: Path = OWN_AUTHORITIES) -> list[tuple[str, str]]:
    """The certificates of this machine's own authorities: their names in the build's context, and their text."""
    return [
        (f"{CERTIFICATES}/{'-'.join(path.relative_to(place).parts)}", path.read_text())
        for path in sorted(place.glob("**/*.crt"))
    ]


def context_files(root: Path = ROOT) -> list[str]:
    """The files of a checkout that `docker build` would send, by its .dockerignore. Raises UsageError where there is
    none: this is no checkout.
    """
    try:
        lines = (root / ".dockerignore").read_text().splitlines()
    except OSError:
        raise UsageError(f"{root} is no checkout of kafka-chaos, and the runner's image is built from one") from None
    return sorted(exclude_paths(str(root), [line for line in lines if line and not line.startswith("#")]))


def _pip_configuration() -> str:
    command: Sequence[str] = [sys.executable, "-m", "pip", "config", "list"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def build_runner(echo: Echo) -> str:
    """Build the image; returns its name. Raises UsageError or HarnessError, in one line, if it cannot be built."""
    sent = context_files()
    with closing(connect()) as client, exclusive("image-runner", echo):
        check_space(client)
        base = ensure_debian(client, DEBIAN, echo)
        echo(f"building the image {runner_image()} (1.7 GB, about 5 minutes)")
        with (
            tempfile.TemporaryFile() as context,
            one_build(client, "the runner", installs="Python and Java"),
            saying(echo, f"building the image {runner_image()}"),
        ):
            create_archive(str(ROOT), sent, context, extra_files=own_certificates())
            client.images.build(
                fileobj=context,
                custom_context=True,
                dockerfile=DOCKERFILE,
                tag=runner_image(),
                rm=True,
                forcerm=True,
                buildargs={"BASE_IMAGE": base, **index_arguments(_pip_configuration())},
            )
    return runner_image()


def main() -> int:
    """`make runner`: tells on stderr what is done, and names the image on stdout."""
    try:
        name = build_runner(lambda line: print(f"kafka-chaos: {line}", file=sys.stderr, flush=True))
    except KafkaChaosError as error:
        print(f"kafka-chaos: {error}", file=sys.stderr)
        return error.exit_status
    print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
