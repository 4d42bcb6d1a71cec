"""Claims about disks and files: what is on them, what is lost, damaged or checked, and how slow they may be."""
