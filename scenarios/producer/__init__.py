"""Section E of the catalogue: what each setting of acks costs."""
