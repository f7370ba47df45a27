"""All 150 jokers, each written down in one place; see `registry.py` for how."""
