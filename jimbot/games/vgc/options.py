"""What can be chosen about a VGC battle from outside, checked when it is chosen (without needing the simulator)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from jimbot.errors import UnknownNameError
from jimbot.games.spec import check_discount
from jimbot.games.vgc.rewards import PRESETS
from jimbot.games.vgc.teams import BY_SEED, SPLITS
from jimbot.machine import usable_cores

DEFAULT_FORMAT = "gen9vgc2023regc"
FORMAT_ALIASES = {"gen9vgc2023regulationc": DEFAULT_FORMAT}
"""Names older simulators gave to a format."""
SELF = "self"
HEURISTICS = ("random", "max_power", "max_damage", "heuristic")
OPPONENTS = (SELF, *HEURISTICS)
BATTLES_WORTH_A_WORKER = 8
MOST_WORKERS = 64


@dataclass(frozen=True)
class Options:
    """Game options."""

    opponent: str = "heuristic"
    """The second side: random, max_power, max_damage or heuristic; self makes both sides rows."""
    format: str = DEFAULT_FORMAT
    """A doubles format in which four of six are brought."""
    open_team_sheets: bool = True
    """Show the opponent's sheet from the start; else only what was revealed."""
    teams: str = BY_SEED
    """by-seed (as the seed's bank), train, validation, held-out, or a file."""
    own_team: str = ""
    """A file with the team the first side always plays."""
    reward: str = "shaped"
    """shaped (knock-outs, HP and status as a potential) or win."""
    discount: float = field(default=0.99, repr=False)
    """The learner's, for shaping; training sets it to gamma."""
    workers: int = 0
    """Simulator processes; 0: one per core, at most 4."""
    turn_limit: int = 200
    """Turns until truncation."""
    deadline: float = 30.0
    """Seconds until a silent simulator is replaced."""
    fast_handlers: bool = True
    """The same battles, faster."""

    def __post_init__(self) -> None:
        if self.opponent not in OPPONENTS:
            raise UnknownNameError("opponent", str(self.opponent), OPPONENTS)
        if self.reward not in PRESETS:
            raise UnknownNameError("reward preset", str(self.reward), PRESETS)
        for name in ("open_team_sheets", "fast_handlers"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} is {getattr(self, name)!r}; expected true or false.")
        check_discount(self.discount)
        if isinstance(self.workers, bool) or not isinstance(self.workers, int) or not 0 <= self.workers <= MOST_WORKERS:
            raise ValueError(f"workers is {self.workers!r}; expected 0 (automatic) to {MOST_WORKERS}.")
        if (
            isinstance(self.turn_limit, bool)
            or not isinstance(self.turn_limit, int)
            or not 1 <= self.turn_limit <= 1000
        ):
            raise ValueError(f"turn_limit is {self.turn_limit!r}; expected 1 to 1000 turns.")
        if not self.deadline > 0:
            raise ValueError(f"deadline is {self.deadline!r}; expected seconds, above 0.")
        for name, known in (("teams", (BY_SEED, *SPLITS)), ("own_team", ("",))):
            value = str(getattr(self, name))
            if value not in known and not Path(value).is_file():
                choice = f"one of {', '.join(known)} or " if known != ("",) else ""
                raise ValueError(f"{name} is '{value}'; expected {choice}a file of teams in export or packed text.")

    @property
    def format_id(self) -> str:
        """The simulator's name of the format."""
        name = str(self.format).lower()
        return FORMAT_ALIASES.get(name, name)

    @property
    def players(self) -> int:
        """Rows per battle."""
        return 2 if self.opponent == SELF else 1

    def worker_count(self, battles: int) -> int:
        """Processes for so many battles."""
        wanted = self.workers or min(4, usable_cores())
        return max(1, min(wanted, -(-battles // BATTLES_WORTH_A_WORKER)))
