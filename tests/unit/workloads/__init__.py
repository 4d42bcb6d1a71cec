"""A package, so that the fork server of its tests ends with them (conftest.py)."""
