"""Findings held against what is documented, and told: verdict and reports. Reads evidence only."""
