"""Alerts of a decision service: the rules of `jimbot.runs.alerts`, over what the service and its bus count."""

from __future__ import annotations

import logging
import time

from jimbot.clients.bus_contract import BusFigures
from jimbot.proto.events_pb2 import RunEvent
from jimbot.runs.alerts import Alert, AlertThread
from jimbot.runs.sinks.publishing import ALERT, Publisher
from jimbot.runs.sinks.webhook import WebhookSink
from jimbot.services.decision.figures import Figures

WHO = "serve"
"""The name alerts of a service come under, where those of a run have the run's."""

_log = logging.getLogger("jimbot.services")


class ServiceAlerts:
    """Looks at a service's figures every few seconds, until closed; notifies the log, the bus and a webhook."""

    def __init__(
        self, figures: Figures, bus: BusFigures | None, publisher: Publisher | None, webhook: WebhookSink | None
    ) -> None:
        self._figures, self._bus, self._publisher, self._webhook = figures, bus, publisher, webhook
        self._alerts = AlertThread(self.notify, self.read).start()

    def read(self) -> dict[str, float]:
        """The figures rules speak of, over all games."""
        found = {
            "serve/shed_total": float(self._figures.shed.total()),
            "serve/illegal_actions_total": float(self._figures.illegal.total()),
        }
        if self._bus is not None:
            found["bus/lag"] = max(dict(self._bus.lag).values(), default=0.0)
        return found

    def notify(self, alert: Alert) -> None:
        _log.warning("%s", alert.text)
        if self._webhook is not None:
            self._webhook.alert(0, time.time(), alert)
        if self._publisher is not None:
            event = RunEvent(run=WHO, kind=ALERT, message=alert.text, path=alert.rule.runbook)
            self._publisher.offer("run.event", event, WHO)

    def close(self) -> None:
        self._alerts.close()
        if self._webhook is not None:
            self._webhook.close()
