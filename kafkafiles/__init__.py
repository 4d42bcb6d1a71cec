"""Kafka's own files as values: log segments, checkpoints, indexes, the KRaft metadata log.

A leaf: bytes in, values out. Nothing here knows of clusters, runs or Spark; the only I/O is in the `read_…` functions
that take a path. What is wrong with a log is a value (`Corrupt`) beside what could be read; a small file that is
wrong raises `ParseError`.
"""
