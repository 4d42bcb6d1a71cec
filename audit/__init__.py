"""The audit: what a producer's settings risk, each statement with a measured cell behind it.

    configuration files, a live cluster  →  Inputs  →  Resolved  →  cells of the matrix  →  grades, reports

`audit.readers` makes `Inputs` of files, `audit.live` of a cluster; `audit.resolve` adds what is not written; the cells
are measured by the harness and committed as data. Nothing here imports the harness, Docker, Java, Spark or a Kafka
client when it is imported: an audit of files works on a machine that has none of them.
"""
