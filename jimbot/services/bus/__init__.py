"""The event bus: one contract (`jimbot/clients/bus_contract.py`), kept on one machine (`embedded.py`) or over NATS
(`nats_bus.py`). Programs use it through `jimbot.clients.EventBusClient`."""

from jimbot.clients.bus_contract import Bus, BusSettings, Subscription

__all__ = ["Bus", "BusSettings", "Subscription"]
