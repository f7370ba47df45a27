"""JimBot: train, judge, watch and deploy agents for games with deep rules and huge masked action spaces."""

__version__ = "0.1.0"
