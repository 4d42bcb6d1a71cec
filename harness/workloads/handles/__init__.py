"""The handles that the harness holds on the client processes of a run."""
