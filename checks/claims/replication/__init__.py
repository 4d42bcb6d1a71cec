"""Claims about replicas of one partition: acknowledgements, the ISR, high watermarks, truncation."""
