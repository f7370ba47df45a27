"""Tools of a checkout: what a change must not alter, and training under kills for hours."""
