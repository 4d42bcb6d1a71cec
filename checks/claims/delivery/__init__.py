"""Claims about applications that consume, process and commit: which inputs a crash skips, and which it repeats."""
