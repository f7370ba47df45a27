"""The dashboard that compose.yaml's Grafana shows, written from a table: python deploy/grafana/dashboard.py"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent / "dashboards" / "jimbot.json"
SOURCE = {"type": "prometheus", "uid": "prometheus"}
P95 = "histogram_quantile(0.95, sum by (le) (rate(jimbot_serve_{}_bucket[5m])))"

# row: panels of (title, unit, {legend: expression})
ROWS: dict[str, list[tuple[str, str, dict[str, str]]]] = {
    "Training": [
        ("Mean return", "none", {"{{run}}": "jimbot_train_mean_episode_return"}),
        ("Entropy", "none", {"{{run}}": "jimbot_train_entropy"}),
        ("Steps per second", "none", {"{{run}}": "jimbot_speed_steps_per_second"}),
        ("Steps", "short", {"{{run}}": "jimbot_run_step"}),
    ],
    "Health of runs": [
        ("Memory of its limit", "percentunit", {"{{run}}": "jimbot_health_memory_share"}),
        ("Disk", "percentunit", {"{{run}}": "jimbot_health_disk_share"}),
        ("Seconds since the last row", "s", {"{{run}}": "time() - jimbot_run_row_time"}),
        ("Illegal actions", "none", {"{{run}}": "jimbot_health_illegal_actions"}),
    ],
    "Decisions": [
        (
            "Requests per second",
            "reqps",
            {"{{game}} {{code}}": "sum by (game, code) (rate(jimbot_serve_requests_total[1m]))"},
        ),
        (
            "Time to answer, p95",
            "s",
            {name: P95.format(name) for name in ("total_seconds", "queue_seconds", "inference_seconds")},
        ),
        (
            "Refused, expired, fallbacks",
            "none",
            {
                "refused": "sum(increase(jimbot_serve_shed_total[5m]))",
                "expired": "sum(increase(jimbot_serve_expired_total[5m]))",
                "fallbacks": "sum(increase(jimbot_serve_fallbacks_total[5m]))",
            },
        ),
        ("Waiting", "none", {"{{policy}}": "jimbot_serve_queue_depth"}),
    ],
    "Bus": [
        ("Published per second", "none", {"{{topic}}": "sum by (topic) (rate(jimbot_bus_published_total[1m]))"}),
        ("Behind", "none", {"{{reader}}": "jimbot_bus_lag"}),
        (
            "Dropped and dead",
            "none",
            {"dropped": "sum(jimbot_bus_dropped_total)", "dead": "sum(jimbot_bus_dead_total)"},
        ),
        ("Alerts firing", "none", {"{{alertname}}": 'ALERTS{alertstate="firing"}'}),
    ],
}
WIDTH, HEIGHT, IN_A_ROW = 6, 8, 4


def dashboard() -> dict[str, Any]:
    panels: list[dict[str, Any]] = []
    for row, (title, inside) in enumerate(ROWS.items()):
        top = row * (HEIGHT + 1)
        panels.append(_panel(len(panels), title, "row", 0, top, IN_A_ROW * WIDTH, 1))
        for column, (name, unit, lines) in enumerate(inside):
            panel = _panel(len(panels), name, "timeseries", column * WIDTH, top + 1, WIDTH, HEIGHT)
            panel["datasource"] = SOURCE
            panel["fieldConfig"] = {"defaults": {"unit": unit, "min": 0 if unit != "none" else None}, "overrides": []}
            panel["targets"] = [
                {"refId": chr(65 + number), "expr": expression, "legendFormat": legend, "datasource": SOURCE}
                for number, (legend, expression) in enumerate(lines.items())
            ]
            panels.append(panel)
    return {
        "uid": "jimbot",
        "title": "JimBot",
        "tags": ["jimbot"],
        "schemaVersion": 39,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "panels": panels,
    }


def _panel(number: int, title: str, kind: str, x: int, y: int, width: int, height: int) -> dict[str, Any]:
    return {"id": number + 1, "title": title, "type": kind, "gridPos": {"x": x, "y": y, "w": width, "h": height}}


def text() -> str:
    return json.dumps(dashboard(), indent=1) + "\n"


if __name__ == "__main__":
    TARGET.write_text(text())
