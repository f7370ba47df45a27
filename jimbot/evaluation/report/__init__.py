"""One HTML page about a policy: how it learned, how far it gets, what it does, and games of it in words."""

from jimbot.evaluation.report.analyze import Analysis, analyze

__all__ = ["Analysis", "analyze"]
