"""The command line, one module per command, in rooms named like the panels of `jimbot --help`.

Commands are thin: they read flags, call a room of the library, print the answer.
"""
