"""The command line, one module per command. Commands are thin: they read flags, call a room, print the answer."""
