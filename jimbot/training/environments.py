"""What a caller of `create_trainer` means by `env`: a game id, a batch of games, or a Gymnasium environment."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from jimbot.errors import UsageError
from jimbot.games.contract import BatchGame, available_games, game_entry, make, named_game
from jimbot.games.spec import DISCOUNT
from jimbot.training.presets import preset
from jimbot.training.settings.record import OPPONENT, SELF, TrainSettings


class Meant(NamedTuple):
    """How to train on it."""

    settings: dict[str, Any]
    game: BatchGame | None = None  # None: the learner builds the games itself, as many as the settings say
    notice: str = ""


def understand(env: Any) -> Meant:
    """The settings that follow from `env`, and the games to train on if they are given."""
    if isinstance(env, str):
        return Meant({"game": named_game(env)})
    if isinstance(env, BatchGame):
        return Meant({"game": env.spec.id, "num_envs": env.num_envs, "game_options": options_of(env)}, env)
    if not hasattr(env, "reset") or not hasattr(env, "unwrapped"):
        raise UsageError(
            f"create_trainer got a {type(env).__name__}; expected a game id ({', '.join(available_games())}), "
            "a BatchGame, or a Gymnasium environment."
        )
    from jimbot.envs.gymnasium_env import GameEnv
    from jimbot.envs.gymnasium_game import GymnasiumGame, is_bare

    if is_bare(env) and isinstance(env.unwrapped, GameEnv):
        own = env.unwrapped
        if own.opponent is not None:
            raise UsageError("The environment has an opponent of its own; give the game id instead of the environment.")
        return Meant({"game": own.game_spec.id, "game_options": options_of(own.game)})
    game = GymnasiumGame(env)
    notice = (
        f"{game.called} is stepped as it is, one game at a time: far slower than a "
        "game of our own, and on resume its running game starts over."
    )
    options = options_of(env.unwrapped.game) if isinstance(env.unwrapped, GameEnv) else {}
    return Meant({"game": game.spec.id, "num_envs": 1, "game_options": options}, game, notice)


def own_rules(game: BatchGame | None) -> bool:
    """Whether given games may differ from those that JimBot makes under the same name: wrapped environments, and
    batches of the user. What learned in them is evaluated in them."""
    from jimbot.envs.gymnasium_game import GymnasiumGame

    return isinstance(game, GymnasiumGame) or not (game is None or type(game).__module__.startswith("jimbot."))


def called(game: BatchGame | None) -> str:
    """The name of games with rules of their own, for checkpoints; nothing for ours."""
    if game is None or not own_rules(game):
        return ""
    return getattr(game, "called", f"{type(game).__name__} for '{game.spec.id}'")


def options_of(game: BatchGame) -> dict[str, Any]:
    """The options a batch was made with: those that differ from the game's defaults, and those its preset sets."""
    options = getattr(game, "options", None) or getattr(getattr(game, "game", None), "options", None)
    if options is None or game.spec.id not in available_games():
        return {}
    default = game.spec.options()
    values = {entry.name: getattr(options, entry.name) for entry in dataclasses.fields(options)}
    preset_has = preset(game.spec.id, "").get("game_options", {})
    return {name: value for name, value in values.items() if name in preset_has or value != getattr(default, name)}


def training_options(settings: TrainSettings) -> dict[str, Any]:
    """The options games are trained on with: those of the settings, and what follows from the others.

    Shaped rewards leave the best play alone only if they are discounted as the learner discounts, so a game that shapes
    (`GameSpec.shaping`) is told gamma here, where every learner, turn of a population and trial of a search passes.
    """
    options = dict(settings.game_options)
    if game_entry(settings.game).spec.shaping:
        options.setdefault(DISCOUNT, settings.gamma)
    return options | ({OPPONENT: SELF} if settings.plays_league else {})


def training_game(settings: TrainSettings) -> BatchGame:
    """The batch of games that the settings ask for, inside its curriculum if there is one."""
    game = make(settings.game, settings.num_envs, settings.seed, training_options(settings))
    if not has_curriculum(settings):
        return game
    from jimbot.training.curriculum import CurriculumGame, curriculum_of

    milestones = game_entry(settings.game).milestones
    return CurriculumGame(game, curriculum_of(milestones, settings.curriculum.difficulty_schedule))


def has_curriculum(settings: TrainSettings) -> bool:
    return settings.curriculum.use or bool(settings.curriculum.difficulty_schedule)
