"""Policies: what looks at an observation and a mask and answers with actions."""

from jimbot.policies.contract import Decision, Policy

__all__ = ["Decision", "Policy"]
