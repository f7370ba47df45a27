"""Commands that teach: train and continue, search settings, record a teacher and clone it."""
