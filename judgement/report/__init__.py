"""What a run says, to people (console, HTML, Markdown) and to machines (JUnit). Reads run directories, writes no
facts.
"""
