"""A chaos-testing harness for Apache Kafka: real clusters, documented faults, recorded histories, a verdict."""
