"""Controllers and elections: who decides, who leads, and for how long nobody does."""
