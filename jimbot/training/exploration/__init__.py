"""Exploration beyond the entropy bonus: `counting` pays for what was seldom met, `weighing` learns more from it."""
