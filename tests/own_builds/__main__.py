"""`python -m tests.own_builds DIRECTORY`: makes the own builds of docs/own-builds.md below a directory."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from harness.setup import jars
from tests.own_builds import as_apache_ships, log4j_2, module_anew, packed, patched, released, say, saying

DOCKERFILE = 'FROM scratch\nCOPY opt /opt\nCMD ["none"]\n'


def make(root: Path) -> None:
    """A directory with one class replaced; an archive with a module compiled anew and log4j 2; what an image is made
    of (`docker build`); a package's directory with log4j 1; and an archive as Apache ships it.
    """
    as_apache_ships("4.3.1", root)

    libraries = released("4.3.1", root / "patched")
    patched(libraries, "4.3.1", 17)
    saying(libraries, "4.3.1-rc2", "feedbeef")

    libraries = released("4.3.1", root / "anew")
    module_anew(libraries, "kafka-storage", "4.3.1", 17)
    saying(libraries, "4.3.2-SNAPSHOT")
    log4j_2(libraries)
    packed(root / "anew", root / "kafka_2.13-4.3.2-SNAPSHOT.tgz")

    libraries = released("3.9.2", root / "image" / "opt" / "bitnami" / "kafka")
    saying(libraries, "3.9.2-vendor.7", "abcdef12")
    (root / "image" / "Dockerfile").write_text(DOCKERFILE)

    package = root / "package" / "usr" / "share" / "java" / "kafka"
    package.parent.mkdir(parents=True)
    shutil.copytree(jars.resolve("0.10.2.2", say), package)
    (package / "kafka.jar").symlink_to(next(package.glob("kafka_*.jar")).name)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
