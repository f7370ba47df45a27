"""Learning from recorded games: `record` writes what a teacher does, `clone` trains a network to do the same."""
