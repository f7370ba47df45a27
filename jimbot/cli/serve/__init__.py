"""Commands that hand policies to other programs."""
