"""Reports of a run for people (console, HTML, Markdown) and machines (JUnit). They read run directories only."""
