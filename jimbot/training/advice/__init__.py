"""Advice while learning: asked in the background, kept as weighted demonstrations.

`background` asks an adviser about positions of the running games and never waits for it; `demonstrations` keeps what
was answered and writes it as a dataset that `jimbot clone` reads.
"""
