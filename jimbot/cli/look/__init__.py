"""Commands that show games to people, and the screen and keys they share."""
