"""The cluster of a run: which versions, the engine they run in, their nodes, and what they say."""
