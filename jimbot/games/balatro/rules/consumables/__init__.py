"""Tarots, Planets and Spectrals: when one may be used in `using`, what it does in the modules of its kind."""

from jimbot.moved import old_names

__getattr__ = old_names(__name__)
