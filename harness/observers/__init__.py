"""What the cluster and the engine say of themselves: znodes, the metadata log, Docker's events, disks, broker logs."""
