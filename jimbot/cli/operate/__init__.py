"""Commands that look after the machine and what lies on it."""
