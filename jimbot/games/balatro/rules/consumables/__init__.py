"""Tarots, Planets and Spectrals: when one may be used in `using`, what it does in the modules of its kind."""
