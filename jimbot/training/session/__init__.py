"""One call of training on one run: its directory, log rows, screen, health, and when to stop."""

from jimbot.training.session.session import Session, run_name

__all__ = ["Session", "run_name"]
