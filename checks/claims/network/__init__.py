"""Claims about cut links, and their effect on clients: pauses, lost answers."""
