"""A state by keys: one table of fields, what a state shows, and the record put together from it."""
