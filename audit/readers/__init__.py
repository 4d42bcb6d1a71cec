"""Readers of configuration as people have it: one module for each format, all of them giving `audit.model.Inputs`."""
