"""What is worth waking somebody: one table of rules, watched while training and serving, and given to Prometheus."""

from jimbot.runs.alerts.rules import RULES, Alert, Kind, Rule
from jimbot.runs.alerts.watch import AlertThread, AlertWatch

__all__ = ["RULES", "Alert", "AlertThread", "AlertWatch", "Kind", "Rule"]
