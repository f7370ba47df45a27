"""What HackMatrix is from the outside: names, sizes, the two rule profiles and the GameSpec.

Everything that differs between the profiles is a number in `Settings`; the rules have one code path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from jimbot.games.spec import ActionBlock, ActionSpec, BoardView, Field, GameSpec, ObservationSpec

SIDE = 6
CELLS = SIDE * SIDE
STAGES = 8
MAX_HP = 3

ENEMY_NAMES = ("virus", "daemon", "glitch", "cryptog")
VIRUS, DAEMON, GLITCH, CRYPTOG = range(4)
ENEMY_HP = (2, 3, 2, 2)

MOVE_NAMES = ("up", "down", "left", "right")
UP, DOWN, LEFT, RIGHT, SIPHON = range(5)
FIRST_PROGRAM = 5  # action number of program 0


class Program(NamedTuple):
    """One row of the program table."""

    name: str
    credits: int
    energy: int
    spawn: int  # transmissions released when its block is siphoned


PROGRAMS = (
    Program("PUSH", 0, 2, 4),
    Program("PULL", 0, 2, 4),
    Program("CRASH", 3, 2, 6),
    Program("WARP", 2, 2, 5),
    Program("POLY", 1, 1, 3),
    Program("WAIT", 0, 1, 1),
    Program("DEBUG", 3, 0, 4),
    Program("ROW", 3, 1, 2),
    Program("COL", 3, 1, 2),
    Program("UNDO", 1, 0, 3),
    Program("STEP", 0, 3, 4),
    Program("SIPH+", 5, 0, 7),
    Program("EXCH", 4, 0, 3),
    Program("SHOW", 2, 0, 2),
    Program("RESET", 0, 4, 2),
    Program("CALM", 2, 4, 6),
    Program("D_BOM", 3, 0, 4),
    Program("DELAY", 1, 2, 4),
    Program("ANTI-V", 3, 0, 4),
    Program("SCORE", 0, 5, 5),
    Program("REDUC", 2, 1, 3),
    Program("ATK+", 4, 4, 8),
    Program("HACK", 2, 2, 4),
)
PROGRAM_NAMES = tuple(program.name for program in PROGRAMS)
(PUSH, PULL, CRASH, WARP, POLY, WAIT, DEBUG, ROW, COL, UNDO, STEP, SIPH_PLUS, EXCH, SHOW, RESET, CALM, D_BOM, DELAY,
 ANTI_V, SCORE, REDUC, ATK_PLUS, HACK) = range(FIRST_PROGRAM, FIRST_PROGRAM + len(PROGRAMS))  # fmt: skip
ATK_USES_PER_STAGE = 2

REWARD_TERMS = (
    "step_penalty", "stage_completion", "score_gain", "kills", "data_siphon", "distance_shaping", "victory",
    "death_penalty", "resource_gain", "resource_holding", "damage_penalty", "hp_recovery", "siphon_quality",
    "siphon_death_penalty", "program_waste",
)  # fmt: skip
EPISODE_STATS = ("stage", "score", "won", "highest_stage")


@dataclass(frozen=True)
class Settings:
    """The numbers in which the rule profiles differ."""

    step_penalty: float
    """Added to the reward on every step."""
    distance_is_signed: bool
    """Whether a step away from the exit costs what a step towards it pays, or nothing."""
    siphon_quality_sign: float
    """−1 makes a suboptimal siphon cost, +1 makes it pay (as in the original game)."""
    last_stage_reward: float
    """What completing stage 8 pays."""
    history_length: int
    """Snapshots kept for UNDO."""
    history_crosses_stages: bool
    """Whether UNDO can bring back the stage before."""
    step_limit: int
    """Steps after which a game is cut off (truncated); 0 for none."""
    illegal_action_ends: bool
    """Whether an action outside the mask terminates the episode."""


PROFILES = {
    "training": Settings(-0.01, False, -1.0, 100.0, 4, False, 2000, False),
    "reference": Settings(0.0, True, 1.0, 64.0, 8, True, 0, True),
}


REWARDS = ("metrics", "stages", "wins")


@dataclass(frozen=True)
class Options:
    """Game options."""

    beside_positions: ClassVar[tuple[str, ...]] = ("reward", "helpers", "starts")
    """What is paid and shown, and where games begin: a position is the same under all of them."""

    profile: str = "training"
    """`training` (default) or `reference`, the original game with its oddities."""
    reward: str = "metrics"
    """`metrics` (default), the 15 terms; `stages`: a point a stage, more for a win; `wins`: what is held, too."""
    helpers: bool = False
    """Let the observation end with what a good player works out: clocks, what can be used, who can hit where."""
    starts: float = 0.0
    """Share of training games that begin in a later stage with programs; judging seeds always begin at the start."""

    def __post_init__(self) -> None:
        for name, known in (("profile", PROFILES), ("reward", REWARDS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is {getattr(self, name)!r}; expected one of {', '.join(map(repr, known))}.")
        if not isinstance(self.helpers, bool):
            raise ValueError(f"helpers is {self.helpers!r}; expected true or false.")
        if isinstance(self.starts, bool) or not isinstance(self.starts, int | float) or not 0 <= self.starts <= 1:
            raise ValueError(f"starts is {self.starts!r}; expected a share from 0 to 1.")

    @property
    def settings(self) -> Settings:
        return PROFILES[self.profile]


PLAYER_FEATURES = 10
CELL_FEATURES = 42

HELPERS = 6 + len(PROGRAMS) + 5 * (len(MOVE_NAMES) + 1) + 4 * (len(MOVE_NAMES) + 1)
_OBSERVATION = ObservationSpec(
    (
        Field(
            "player",
            (PLAYER_FEATURES,),
            "row, column, HP, credits, energy, stage, data siphons, attack damage, SHOW active, CALM active",
        ),
        Field("programs", (len(PROGRAMS),), "1 for each owned program"),
        Field(
            "grid",
            (SIDE, SIDE, CELL_FEATURES),
            "per cell: enemy (type, HP, stunned, from siphon), block (kind, points, siphoned, program, spawn "
            "count), transmission turns, credits, energy, pickup, exit, siphon centre",
            board=BoardView(
                row=("player", 0),
                col=("player", 1),
                one_hot=((12, 35),),  # the program of a program block
                opaque=(0, 1, 2, 3, 7, 8, 9, 36),  # enemies, blocks, transmissions
                walls=(7, 8, 9),
                goals=(39, 40),  # pickups, the exit
            ),
        ),
    )
)
_HELPED = ObservationSpec(
    (
        *_OBSERVATION.fields,
        Field(
            "helpers",
            (HELPERS,),
            "turns to the next scheduled enemy, its interval, STEP pending, siphon spawns pending, UNDO depth, ATK+ "
            "uses; 23 programs usable now; for up, down, left, right and staying: walks, kills, hurts, who can hit "
            "then, who in the turn after; here and one step away: credits, energy, enemies, new programs of a siphon",
        ),
    )
)


def observation_with(options: Options) -> ObservationSpec:
    return _HELPED if options.helpers else _OBSERVATION


SPEC = GameSpec(
    id="hackmatrix",
    version=1,
    players=1,
    observation=_OBSERVATION,
    observed_with=observation_with,
    actions=ActionSpec(
        (
            ActionBlock("move", MOVE_NAMES),
            ActionBlock("siphon", ("siphon",)),
            ActionBlock("program", PROGRAM_NAMES),
        )
    ),
    reward_terms=REWARD_TERMS,
    episode_stats=EPISODE_STATS,
    options=Options,
    ladder="stage",
)
