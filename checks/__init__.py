"""Every anomaly and every claim: what it is called, what it means, and the function that finds it."""
