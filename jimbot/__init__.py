"""JimBot: train, judge, watch and deploy agents for games with deep rules and huge masked action spaces."""

from jimbot.moved import keep_old_paths

__version__ = "0.1.0"

keep_old_paths()
