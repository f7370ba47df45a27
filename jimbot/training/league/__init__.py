"""Whom a learner plays against, in games of several players."""

from jimbot.training.league.opponents import League, Member, Seats

__all__ = ["League", "Member", "Seats"]
