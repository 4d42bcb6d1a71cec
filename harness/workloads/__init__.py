"""Producers and consumers: processes of their own that record what they saw. The harness holds handles (handles)."""
