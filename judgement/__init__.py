"""Findings, compared with what is documented, and described: verdict and reports. Reads evidence only."""
