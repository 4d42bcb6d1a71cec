"""`kafka-chaos clean`: removes what killed runs left behind."""

from __future__ import annotations

import argparse

from app.output import say
from harness.cluster import docker
from harness.removal import clean


def run(options: argparse.Namespace) -> int:
    """Remove what is left behind, and tell it."""

    def left_alone(why: str) -> None:
        say(f"left alone: {why}")

    clean(docker.connect(), options.runs_dir, owned_too=options.all, tell=print, left_alone=left_alone)
    return 0
