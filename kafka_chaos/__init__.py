"""What other people's tests import: the plugin of pytest, and a cluster that they command.

It needs pytest and the standard library alone, and imports nothing else of this project. All work is done by the
program, `kafka-chaos`, in processes of its own, which begin in `__main__`.
"""
