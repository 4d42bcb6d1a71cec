"""Brokers with one method changed: would the harness notice a broken Kafka? (`make mutants`; docs/mutants.md)"""
