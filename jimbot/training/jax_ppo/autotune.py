"""`--batch measured` (`--auto-tune`): how many games to play at once on this machine, found by short measured trials.

Minibatches, epochs and learning rate follow from the number of games by the rule of `settings.batch`, so every
candidate is a setting one would really train with. The fewest games within a tenth of the best speed win: more games
mean fewer updates from the same experience.
"""

from __future__ import annotations

import time
from typing import Any

import jax

from jimbot.errors import SettingsError
from jimbot.foreign_text import Terminal
from jimbot.games.contract import functional_game, make
from jimbot.training.environments import training_options
from jimbot.training.jax_ppo.program import HostUpdate, fused_update, initial_state, network_for
from jimbot.training.session.compile_cache import use_compile_cache
from jimbot.training.settings.batch import LARGE_BATCH_GAMES
from jimbot.training.settings.layers import resolve
from jimbot.training.settings.record import TrainSettings

TUNED = ("num_envs", "num_minibatches", "update_epochs", "lr")
CANDIDATES = {"cpu": (128, 256, 512, 1024), "gpu": (1024, 2048, 4096, 8192), "tpu": (1024, 2048, 4096, 8192)}
GOOD_ENOUGH = 0.9
TIMED_UPDATES = 2


def tune(settings: TrainSettings, candidates: tuple[int, ...] | None = None) -> TrainSettings:
    """The settings with the number of games (and what follows from it) that runs best here."""
    use_compile_cache()
    device = jax.devices()[0].platform
    candidates = candidates or CANDIDATES.get(device, CANDIDATES["gpu"])
    console = Terminal(stderr=True)
    console.print(f"Trying {', '.join(map(str, candidates))} games on {device}…", style="dim")
    speeds: dict[int, float] = {}
    tried: dict[int, TrainSettings] = {}
    _check_free(settings)
    measured = {"batch", "num_envs", "num_minibatches", "update_epochs", "minutes"}
    base = {name: value for name, value in settings.flat("python", only_set=True).items() if name not in measured}
    for games in candidates:
        trial = resolve(base, {"num_envs": games}).settings
        tried[games], speeds[games] = trial, _steps_per_second(trial)
        console.print(
            f"  {games:>5} games: {speeds[games]:,.0f} steps/s with {trial.ppo.num_minibatches} minibatches, "
            f"{trial.ppo.update_epochs} epochs, lr {trial.ppo.lr:.3g}",
            style="dim",
        )
    best = max(speeds.values())
    chosen = tried[min(games for games, speed in speeds.items() if speed >= GOOD_ENOUGH * best)]
    return settings.model_copy(update={name: chosen[name] for name in TUNED})


def _check_free(settings: TrainSettings) -> None:
    if settings.num_envs > LARGE_BATCH_GAMES:
        raise SettingsError("batch is measured, which chooses num_envs itself; leave one of the two out.")


def _steps_per_second(settings: TrainSettings) -> float:
    options = training_options(settings)
    game: Any = functional_game(settings.game, options) if settings.stepping != "host" else None
    if game is None:
        game = make(settings.game, settings.num_envs, settings.seed, options)
        game.reset()
        network = network_for(settings, game.spec)
        update: Any = HostUpdate(settings, network, game)
    else:
        network = network_for(settings, game.spec)
        update = fused_update(settings, network, game)
    state = initial_state(settings, network, game)
    state = jax.block_until_ready(update(state, settings.ppo.lr)).state
    began = time.perf_counter()
    for _ in range(TIMED_UPDATES):
        state = jax.block_until_ready(update(state, settings.ppo.lr)).state
    return TIMED_UPDATES * settings.batch_size / (time.perf_counter() - began)
