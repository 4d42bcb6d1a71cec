"""The clients of a run, each a process of its own that records what it did."""
