"""The face of the program: the command line and what it does that touches no cluster itself."""
