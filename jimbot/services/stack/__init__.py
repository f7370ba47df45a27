"""Everything at once: the programs `jimbot up` starts, how each is asked for its health, and who keeps them running."""

from jimbot.services.stack.components import Component, StackSettings, components
from jimbot.services.stack.keeper import Keeper, State, Status

__all__ = ["Component", "Keeper", "StackSettings", "State", "Status", "components"]
