"""The documented sequences, one file each. A file declares; harness/ carries out. See docs/writing-a-scenario.md."""
