"""Balatro: a complete, seed-exact simulator, thousands of games per call (Numba over one NumPy record array)."""
