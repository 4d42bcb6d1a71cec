"""Producers in source: Java, Kotlin, Scala, Go, C#, JavaScript, TypeScript and Rust, parsed by tree-sitter, never run.

A *maker* is where a producer is made (`new KafkaProducer`, `sarama.NewSyncProducer`, `kafka.producer({…})`). It is
set to the settings that are put into a map in the same function, in a function that is called in its arguments, or
in a value named there. Values that are written out count, constants of the same file, `@Value("${…}")` and the
environment's variables; every other value is told as unknown, and so is one that is set only under a condition.

Where a program makes the producer that a framework's file configures (Spring's `DefaultKafkaProducerFactory`, or
`Properties.load`), the source decides: `settle` puts what it sets above what the file says, with its line. So it does
with what a customizer of Boot's or of Spring Cloud Stream's puts into the factory that these make. A map of the
program's own (without `buildProducerProperties`) replaces what the file says. A producer whose settings are not in its
own file is told as unknown if its module has no other: a file that is loaded there is then the configuration.

Tests (`src/test`, `_test.go`, `*.spec.ts`) are passed over: they configure nothing that runs.

Modules have these subjects, each importing only from those above it:

    nodes        trees of tree-sitter's, and what a walk over one gathers
    program      other files of a program
    expressions  what an expression is
    settings     the settings that a node makes
    kinds        what a call makes; `makers` are the places where producers are made
    following    what a value stands for outside of its function
    bound        what the map of a producer is bound to; `selected` are the settings that it has
    outside      what may be set elsewhere, and is unknown; `elsewhere` is what is seen to be set there
    callers      one producer for each caller
    topics       the topics that are sent to
    customized   what is put into a framework's producers
    producers    a producer, of a maker and its settings
    reading      a source from its beginning to its end
    settling     whose the producers are, once all is read
"""

from __future__ import annotations

from audit.readers.source.reading import FORMATS
from audit.readers.source.settling import settle
from audit.readers.source.topics import topics_of_module

__all__ = ["FORMATS", "settle", "topics_of_module"]
