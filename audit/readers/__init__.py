"""Readers of configuration as people have it: one module for each format, all of them giving `audit.model.Inputs`.

Beside formats of their own, modules have these subjects:

    walk         which files of the paths are read; `text` is one of them, or a part of one
    tree         YAML and JSON with lines; `properties` likewise; `placeholders` what ${…} stands for
    format       what a format is; `registry` finds those of all modules here
    files        reads a text as YAML, JSON or .properties and offers it to the formats
    plain        a client's own keys; Kafka Streams, brokers; prefixes of applications' own; Spark
    application  Spring Boot, Spring Cloud Stream, SmallRye, with `profiles`
    connect      workers and connectors
    variables    environment variables, from `compose` and `kubernetes` (which reads Strimzi's resources too)
    source       programs in languages of the JVM, Go, C#, JavaScript and Rust: a package of its own
    flink, python
    releases     which client, from what builds the program
    once         a producer that several files tell of
    check        unknown keys, refused values, what is not known
"""

from __future__ import annotations

from audit.readers.collect import Options
from audit.readers.files import read_paths

__all__ = ["Options", "read_paths"]
