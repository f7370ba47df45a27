"""The list of games, and the names a game is written with.

`BatchGame` (`batch_game.py`) is what everything outside a game uses, `FunctionalGame` (`pure_game.py`) what a game
written in JAX implements, `GameEntry` (`entry.py`) what a game shows of itself: its spec, how to build it, and the
hooks (`hooks/`) by which commands and learners find what it offers. All of them can be imported from here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from jimbot import plugins
from jimbot.errors import MissingExtraError, UnknownNameError, UsageError
from jimbot.games.batch_game import BatchGame
from jimbot.games.entry import GameEntry, TwoSides
from jimbot.games.hooks.learners import Milestones, RareEvent
from jimbot.games.hooks.people import RecordingForm
from jimbot.games.hooks.programs import InfoMetric
from jimbot.games.pure_game import FunctionalGame, Transition
from jimbot.games.spec import ActionBlock, ActionSpec, Field, GameSpec, ObservationSpec

__all__ = [
    "ActionBlock",
    "ActionSpec",
    "BatchGame",
    "Field",
    "FunctionalGame",
    "GameEntry",
    "GameSpec",
    "InfoMetric",
    "Milestones",
    "ObservationSpec",
    "RareEvent",
    "RecordingForm",
    "Transition",
    "TwoSides",
    "available_games",
    "functional_game",
    "game_entry",
    "game_title",
    "games_with",
    "make",
    "named_game",
    "on_registration",
    "register_game",
]  # fmt: skip

GROUP = "jimbot.games"  # of entry points
OWN_MODULES = "jimbot."
MOST_AT_ONCE = 2**20
"""Games of one batch; a caller that asks for more has slipped, and gets an error before memory runs out."""

_GAMES: dict[str, str] = {
    "probe": "jimbot.games.probe",
    "hackmatrix": "jimbot.games.hackmatrix",
    "balatro": "jimbot.games.balatro.entry",
    "vgc": "jimbot.games.vgc.entry",
}
_TITLES: dict[str, str] = {"hackmatrix": "HackMatrix", "vgc": "VGC"}


_watchers: list[Callable[[str], None]] = []


def register_game(game_id: str, module: str, title: str = "") -> None:
    """Adds a game of your own: `module` is imported when first used and must expose `GAME`, a GameEntry; it may also be
    `module:name`. `title` is how the game writes its name; without it the id with a capital letter."""
    _GAMES[game_id] = module
    if title:
        _TITLES[game_id] = title
    for tell in _watchers:
        tell(game_id)


def on_registration(tell: Callable[[str], None]) -> None:
    """From now on calls `tell(game id)` for every game that is registered."""
    _watchers.append(tell)


def named_game(name: str) -> str:
    """The id of the game a person means: by its id, or by the module it is in (see `jimbot.plugins`)."""
    if name in available_games() or not plugins.is_module_name(name):
        return name
    return _register_entry(plugins.named_object(name, "GAME"), name)


def available_games() -> list[str]:
    return sorted(_with_plugins())


def _with_plugins() -> dict[str, str]:
    for game_id, where in plugins.entry_points(GROUP).items():
        if game_id not in _GAMES:
            register_game(game_id, where)
    for module in plugins.plugin_modules():
        if (entry := getattr(module, "GAME", None)) is not None:
            _register_entry(entry, module.__name__)
    return _GAMES


def _register_entry(entry: Any, where: str) -> str:
    if not isinstance(entry, GameEntry):
        raise UsageError(f"'{where}' shows a {type(entry).__name__} as its game; expected a GameEntry.")
    if entry.spec.id not in _GAMES:
        register_game(entry.spec.id, where)
    return entry.spec.id


def game_title(game_id: str) -> str:
    """How a game writes its name; known without importing it.

    >>> game_title("hackmatrix"), game_title("probe")
    ('HackMatrix', 'Probe')
    """
    return _TITLES.get(game_id, game_id.capitalize())


def game_entry(game_id: str) -> GameEntry:
    """The entry of a game by id; imports its engine."""
    if game_id not in _GAMES and game_id not in _with_plugins():
        raise UnknownNameError("game", game_id, _GAMES, "One of your own is found with --plugin MODULE.")
    module, _, name = _GAMES[game_id].partition(":")
    try:
        return getattr(importlib.import_module(module), name or "GAME")
    except ModuleNotFoundError as problem:
        if not module.startswith(OWN_MODULES) or (problem.name or "").startswith(OWN_MODULES):
            raise
        raise MissingExtraError(f"'{problem.name}', which game '{game_id}' needs,", "all") from problem


def games_with(hook: str) -> list[str]:
    """The games whose entries offer something, by the name of its field; imports their engines."""
    return [game_id for game_id in available_games() if getattr(game_entry(game_id), hook)]


def make(
    game_id: str, num_envs: int = 1, seed: int = 0, options: Mapping[str, Any] | None = None, checked: bool = False
) -> BatchGame:
    """A batch of games, ready for `reset`.

    >>> game = make("probe", num_envs=4)
    >>> game.reset()
    >>> game.legal_mask.any(axis=1).all()
    np.True_
    """
    entry = game_entry(game_id)
    if num_envs > MOST_AT_ONCE:
        raise UsageError(f"num_envs is {num_envs:,}; expected at most {MOST_AT_ONCE:,} games at once.")
    return entry.make(num_envs, seed=seed, options=entry.spec.parse_options(dict(options or {})), checked=checked)


def functional_game(game_id: str, options: Mapping[str, Any] | None = None) -> FunctionalGame | None:
    """The pure-function form of a game, or None if it has none."""
    entry = game_entry(game_id)
    return entry.functional(entry.spec.parse_options(dict(options or {}))) if entry.functional else None
