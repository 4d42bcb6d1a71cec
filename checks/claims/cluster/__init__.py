"""Claims about the cluster as a whole: registrations, elections, placement, metadata, clocks."""
