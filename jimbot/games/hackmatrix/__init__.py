"""HackMatrix: a turn-based roguelike on a 6×6 board, the whole game in pure JAX.

`make_state` builds any situation from plain values and `to_dict` reads one out; `GAME` is the registry's entry.
"""

from jimbot.games.contract import GameEntry
from jimbot.games.functional import FunctionalBatchGame
from jimbot.games.hackmatrix import hooks
from jimbot.games.hackmatrix.build import make_state, to_dict
from jimbot.games.hackmatrix.diary import HackMatrixDiary
from jimbot.games.hackmatrix.draws import Draws, draw_step
from jimbot.games.hackmatrix.heuristic import Heuristic
from jimbot.games.hackmatrix.scene import scene
from jimbot.games.hackmatrix.spec import SPEC, Options
from jimbot.games.hackmatrix.state import State
from jimbot.games.hackmatrix.step import HackMatrix

__all__ = ["GAME", "Draws", "HackMatrix", "Options", "State", "draw_step", "make", "make_state", "to_dict"]


def make(num_envs: int, seed: int = 0, options: Options = Options(), checked: bool = False) -> FunctionalBatchGame:
    """N games behind the BatchGame contract."""
    return FunctionalBatchGame(HackMatrix(options), num_envs, seed, checked)


GAME = GameEntry(
    spec=SPEC,
    make=make,
    functional=HackMatrix,
    heuristics={Heuristic.name: Heuristic},
    scene=scene,
    diary=HackMatrixDiary,
    ending=hooks.ending,
    canvas=(40, 26),
    about=hooks.ABOUT,
    milestones=hooks.MILESTONES,
    plans=hooks.PLANS,
    info_metrics=hooks.INFO_METRICS,
    states=hooks.STATES,
)
