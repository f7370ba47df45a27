"""PLANNING: looking ahead in the game itself, guided by a policy and its value.

`planner` is a player: it asks a policy, tries the moves that policy finds likely in copies of the game, and takes
another one only where that is clearly better. `halving` spends the tries, `rollouts` plays them.
"""

from jimbot.planning.planner import ITSELF, Plan, Planner, PlanReport, planning
from jimbot.planning.settings import PlanSettings, PlanTable

__all__ = ["ITSELF", "Plan", "PlanReport", "PlanSettings", "PlanTable", "Planner", "planning"]
