"""Section A of the catalogue: loss and divergence by truncation (KIP-101)."""
