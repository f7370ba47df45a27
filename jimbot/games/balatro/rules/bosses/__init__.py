"""Boss blinds: each in one `define` of `definitions`; asked through `dispatch`; the blind being played is `blind`."""

from jimbot.moved import old_names

__getattr__ = old_names(__name__)
