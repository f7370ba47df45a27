"""The table of alerts as Prometheus reads it. `make rules` writes deploy/prometheus/rules.yaml with it."""

from __future__ import annotations

import yaml

from jimbot.runs.alerts.rules import RULES, Rule, duration

HEAD = "# Made by `make rules` from jimbot/runs/alerts/rules.py. Do not edit: change the table.\n"


def rules_file() -> str:
    """The whole file."""
    groups = [{"name": "jimbot", "rules": [_alert(rule) for rule in RULES]}]
    return HEAD + yaml.safe_dump({"groups": groups}, sort_keys=False, width=200)


def _alert(rule: Rule) -> dict[str, object]:
    value = "{{ $value | humanizePercentage }}" if rule.shown.endswith("%") else "{{ $value | humanize }}"
    return {
        "alert": rule.name,
        "expr": rule.expression,
        "for": duration(rule.seconds),
        "labels": {"severity": rule.severity},
        "annotations": {"summary": rule.says.replace("{value}", value), "runbook": rule.runbook},
    }


if __name__ == "__main__":
    print(rules_file(), end="")
