"""Claims about who is cut from whom, and what clients feel of it: pauses, answers that are lost."""
