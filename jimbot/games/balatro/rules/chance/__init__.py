"""Everything random: the game's number generator, its streams, the pools drawn from, and what is created by drawing."""
