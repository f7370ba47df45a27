"""A scripted player of HackMatrix: a goal for the walk, a few rules for programs, and a search of three turns.

Per game it chooses where to go (the exit, a data-siphon pickup, a cell worth siphoning from), then tries every
sequence of three moves or shots (the first turn may also be a siphon or WAIT) against a model of the enemies
(`lookahead`) and takes the first action of the best one. Other programs are free actions, so rules alone decide when
to use them. It sees the observation and the mask only. Everything runs on arrays over all games at once.

`jimbot evaluate heuristic --game hackmatrix --games 500 --num-envs 64` (held-out seeds, deterministic): final stage
1/2/3/4/5/6/7/8 in 0/7/42/101/178/120/44/8 games, mean stage 5.05 (95 % interval 4.95 to 5.16), 1 game won, mean
return 18.1. The weights were chosen by hand on validation seeds. It goes for stages: it hardly scores points.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.lookahead import Search, Weights
from jimbot.games.hackmatrix.sight import Sight, cross_sum
from jimbot.games.scripted import Answer

PROGRAM_WORTH = {
    "RESET": 12.0, "ATK+": 13.0, "CRASH": 5.0, "STEP": 5.0, "ROW": 5.0, "COL": 5.0, "ANTI-V": 4.0, "D_BOM": 4.0,
    "CALM": 4.0, "PUSH": 3.0, "DELAY": 3.0, "HACK": 3.0, "DEBUG": 2.0, "EXCH": 2.0,
}  # fmt: skip
"""What owning a program is worth, in HP-like units of the search (see Weights)."""
SPAWN_COST = 2.2  # of one enemy called by a siphon
POINT_WORTH = 0.2
QUESTION_WORTH, QUESTION_SPAWN = 1.0, 4.5  # rough means of what it may hold
RESOURCE_WORTH, RESET_ENERGY_WORTH = 0.12, 0.4  # of a credit or energy, and of energy more where RESET is owned
SIPHON_AT_LEAST = 1.5  # no walk for less
UNWANTED = -9.0  # a siphon where one cannot stand
STEP_COST = 0.45  # of a turn of detour, for an empty board; enemies make it dearer
ENEMY_STEP_COST = 0.12
ROWS_AT_ONCE = 256  # bounds the memory of the search
SOFTNESS = 1.0  # scale of value differences when probabilities are asked for


class Heuristic:
    """Plays from observations; see the module."""

    name = "heuristic"

    def __init__(self, depth: int = 3, weights: Weights = Weights()) -> None:
        self._depth = depth
        self._weights = weights

    def act(
        self,
        observation: np.ndarray,
        legal_mask: np.ndarray,
        deterministic: bool = True,
        key: np.random.Generator | None = None,
    ) -> Answer:
        """((N,) actions, (N, 28) probabilities, (N,) zeros) for (N, 1545) observations and (N, 28) masks."""
        observation = np.asarray(observation, np.float32)
        legal = np.asarray(legal_mask, bool)
        preference = np.full(legal.shape, -np.inf)
        for start in range(0, len(legal), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            preference[part] = self._prefer(Sight(observation[part]), legal[part])
        # Whatever the plan says, an action outside the mask never comes out, and some action always does.
        preference = np.where(legal, np.maximum(preference, -1e6), -np.inf)
        probabilities = np.exp((preference - preference.max(axis=1, keepdims=True)) / SOFTNESS)
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        actions = preference.argmax(axis=1)
        if not deterministic:
            luck = (key or np.random.default_rng(0)).random((len(legal), 1))
            actions = np.minimum((probabilities.cumsum(axis=1) <= luck).sum(axis=1), legal.shape[1] - 1)
            actions = np.where(np.take_along_axis(legal, actions[:, None], 1)[:, 0], actions, preference.argmax(axis=1))
        return actions, probabilities.astype(np.float32), np.zeros(len(legal), np.float32)

    def _prefer(self, sight: Sight, legal: np.ndarray) -> np.ndarray:
        """(N, 28): how good every action looks; programs only where a rule wants them."""
        worth = siphon_worth(sight)
        goal, goal_is_exit = choose_goal(sight, worth, self._weights.pickup)
        search = Search(sight, goal, goal_is_exit, self._weights)
        siphon_gain = np.take_along_axis(worth, sight.player[:, None], 1)[:, 0]
        values, hp = search.root_values(legal, siphon_gain, self._depth)
        preference = np.full(legal.shape, -np.inf)
        preference[:, : values.shape[1]] = values
        best = values.argmax(axis=1)
        loss = sight.hp - np.take_along_axis(hp, best[:, None], 1)[:, 0]
        return apply_program_rules(preference, sight, legal, loss)


def siphon_worth(sight: Sight) -> np.ndarray:
    """(N, 36): what a siphon at each cell would bring, less the enemies it calls; UNWANTED where one cannot stand."""
    wanted = np.array([PROGRAM_WORTH.get(name, 0.0) for name in spec.PROGRAM_NAMES])
    new = wanted * ~sight.owned
    energy_worth = RESOURCE_WORTH + RESET_ENERGY_WORTH * sight.owns(spec.RESET)[:, None]
    content = (
        (sight.block_program * new[:, None, :]).sum(-1)
        + POINT_WORTH * sight.points
        + sight.question * QUESTION_WORTH
        - SPAWN_COST * (sight.spawn + sight.question * QUESTION_SPAWN)
    )
    resources = RESOURCE_WORTH * sight.cell_credits + energy_worth * sight.cell_energy
    cell = np.where(sight.blocks, np.where(sight.siphoned, 0.0, content), resources)
    return np.where(sight.blocks, UNWANTED, cross_sum(cell))


def choose_goal(sight: Sight, worth: np.ndarray, pickup_worth: float) -> tuple[np.ndarray, np.ndarray]:
    """(N,) the cell to walk to and whether it is the exit: the best worth after the cost of the detour."""
    here = np.take_along_axis(sight.distance, sight.player[:, None, None], 1)[:, 0]  # (N, 36) from the player
    to_exit = np.take_along_axis(sight.distance, sight.exit[:, None, None], 1)[:, 0]
    detour = here + to_exit - np.take_along_axis(here, sight.exit[:, None], 1)
    cost = (STEP_COST + ENEMY_STEP_COST * sight.opponents)[:, None]
    value = np.where(sight.pickups, pickup_worth, -np.inf)
    can_siphon = (sight.siphons > 0)[:, None]
    value = np.maximum(value, np.where(can_siphon & (worth > SIPHON_AT_LEAST), worth, -np.inf)) - cost * detour
    best = value.argmax(axis=1)
    go = np.take_along_axis(value, best[:, None], 1)[:, 0] > 0
    go &= sight.exit != best
    return np.where(go, best, sight.exit), ~go


def apply_program_rules(preference: np.ndarray, sight: Sight, legal: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Puts programs that pay now above everything else, the most urgent on top."""
    enemies, row, col = sight.enemies, sight.same_row, sight.same_col
    around = sight.around
    in_danger = loss > 0
    rules = {
        spec.RESET: (sight.hp == 1) | ((sight.hp == 2) & (sight.energy >= 8)),
        spec.ATK_PLUS: sight.attack < 3,
        spec.CRASH: (enemies & around).sum(1) >= 2,
        spec.ROW: (enemies & row).sum(1) >= 2,
        spec.COL: (enemies & col).sum(1) >= 2,
        spec.ANTI_V: (sight.kind(spec.VIRUS)).sum(1) >= 2,
        spec.D_BOM: sight.kind(spec.DAEMON).any(1) & (sight.opponents >= 2),
        spec.HACK: (enemies & sight.siphoned).sum(1) >= 2,
        spec.DEBUG: (enemies & sight.blocks).sum(1) >= 1,
        spec.DELAY: sight.transmissions.sum(1) >= 3,
        spec.STEP: in_danger,
        spec.PUSH: in_danger,
        spec.CALM: (sight.stage >= 3) & (sight.energy >= 8),
        spec.EXCH: sight.owns(spec.RESET) & (sight.energy < 4) & (sight.hp < spec.MAX_HP),
        spec.SCORE: sight.energy >= 16,
    }
    preference = preference.copy()
    for rank, (program, wanted) in enumerate(rules.items()):
        preference[:, program] = np.where(wanted & legal[:, program], 1e4 - 100 * rank, -np.inf)
    return preference
