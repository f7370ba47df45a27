"""Tags: the two of an ante and those held in `held`, what they do at blind selection in `firing`."""

from jimbot.moved import old_names

__getattr__ = old_names(__name__)
