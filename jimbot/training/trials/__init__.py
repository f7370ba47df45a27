"""Runs that take turns: what members of a `population` and trials of a `search` share; no command of its own."""
