"""What clients did and saw: the schema of an operation, the crash-safe recording of it, and reading it back."""
