"""What a run leaves and what it means: run directory, histories, timeline. Written by the harness, read by all."""
