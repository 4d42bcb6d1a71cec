"""Clusters of real brokers: which versions, their jars and images, the engine they run in, and what they say."""
