"""The PySpark job: run directories in, findings out. It knows what an anomaly is, and nothing of what was expected."""
