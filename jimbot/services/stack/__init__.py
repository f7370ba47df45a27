"""Everything at once: the programs `jimbot up` starts, how each is asked for its health, and who keeps them running."""

from jimbot.services.stack.components import Component, StackSettings, components
from jimbot.services.stack.supervisor import State, Status, Supervisor

__all__ = ["Component", "StackSettings", "State", "Status", "Supervisor", "components"]
