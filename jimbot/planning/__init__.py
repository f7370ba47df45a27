"""PLANNING: looking ahead in the game itself, guided by a policy and its value.

`planner` is a player: it asks a policy, tries the moves that policy finds likely in copies of the game, and takes
another one only where that is clearly better. `rollouts` plays the simulations. `own_search` is for
games whose heuristic player searches by itself.
"""

from jimbot.planning.outcome import Plan, PlanReport
from jimbot.planning.own_search import OwnSearch, own_search
from jimbot.planning.planner import ITSELF, Planner, planning
from jimbot.planning.settings import PlanSettings, PlanTable

__all__ = [
    "ITSELF", "OwnSearch", "Plan", "PlanReport", "PlanSettings", "PlanTable", "Planner", "own_search", "planning",
]  # fmt: skip
