"""Reports of an audit: for a terminal, as a page, and for machines (JSON, SARIF, JUnit). All are pure functions.

What comes from files and clusters is shown with its control characters escaped, in every format.
"""
