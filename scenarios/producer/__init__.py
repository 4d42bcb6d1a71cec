"""What producers are told, and what is in the log."""
