"""What RLlib should report about our games, and the curriculum: for learner ray, and for any RLlib config.

    from jimbot.training.ray.callbacks import BalatroCallbacks
    config.environment("jimbot", env_config={"game": "balatro"}).callbacks(BalatroCallbacks)

Under `env_runners/jimbot` a result then holds, per iteration and under the names all learners use: `decisions`,
`illegal` (actions outside the mask: must be 0), `episodes`, `mean_episode_return` and `mean_episode_length` in the
game's own rewards, `reward/<term>` per decision, `actions/<block>_frac`, and `stats/<name>`, the game's own
statistics as means over the episodes that ended (`highest_…`: the maximum). The sums they are made of are in
`env_runners/jimbot_sums`: those of several runners can be added up, means cannot.
`functools.partial(BalatroCallbacks, best_checkpoint="best", curriculum=Curriculum())` also keeps RLlib's checkpoint
of the best mean return, and makes games harder as they go well (env_config needs `"curriculum": True`). With any
other environment of ours (`jimbot.envs.make_env`) the ends of episodes are read from `info`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.games.spec import GameSpec
from jimbot.training.curriculum import Curriculum
from jimbot.training.library_callbacks import Callbacks
from jimbot.training.ray import ray  # asks for the extra in one sentence  # noqa: F401
from jimbot.training.ray.games import RunnerGames, register_games
from jimbot.training.session.log_rows import Measured

from ray.rllib.callbacks.callbacks import RLlibCallback  # isort: skip

JIMBOT, JIMBOT_SUMS = "jimbot", "jimbot_sums"
"""Where our metrics are, under `env_runners` of a result: means and shares, and the sums they are made of."""
SUMS = ("decisions", "illegal", "episodes", "episode_return", "episode_length")
NAMED = ("reward_terms", "blocks", "stats", "best_stats")

register_games()


class BalatroCallbacks(RLlibCallback):
    """See the module's docstring. Despite its name it serves every game of ours."""

    def __init__(self, best_checkpoint: str | Path | None = None, curriculum: Curriculum | None = None) -> None:
        super().__init__()
        self.best_checkpoint = best_checkpoint
        self.curriculum = curriculum
        self.best_return = -np.inf
        self.restarts = 0

    def on_sample_end(self, *, env_runner: Any = None, metrics_logger: Any = None, samples: Any, **kwargs: Any) -> None:
        games = env_runner.env.unwrapped
        if isinstance(games, RunnerGames):
            for key, value, reduce in _metrics(games):
                metrics_logger.log_value((JIMBOT_SUMS, *key), value, reduce=reduce)

    def on_episode_end(self, *, episode: Any, metrics_logger: Any = None, env: Any = None, **kwargs: Any) -> None:
        """For environments that step one game at a time: what they say about the end."""
        if isinstance(env, RunnerGames):
            return
        info = episode.get_infos(-1)
        metrics_logger.log_value((JIMBOT_SUMS, "episodes"), 1, reduce="sum")
        metrics_logger.log_value((JIMBOT_SUMS, "episode_return"), float(episode.get_return()), reduce="sum")
        metrics_logger.log_value((JIMBOT_SUMS, "episode_length"), len(episode), reduce="sum")
        for name, value in info.get("stats", {}).items():
            metrics_logger.log_value((JIMBOT_SUMS, "stats", name), float(value), reduce="sum")
            metrics_logger.log_value((JIMBOT_SUMS, "best_stats", name), float(value), reduce="max")

    def on_train_result(self, *, algorithm: Any, result: dict[str, Any], **kwargs: Any) -> None:
        sums = result.get("env_runners", {}).get(JIMBOT_SUMS)
        if not sums:
            return
        result["env_runners"][JIMBOT] = means = means_of(sums)
        if self.curriculum is not None:
            self._teach(algorithm, sums)
        mean = means.get("mean_episode_return", -np.inf)
        if self.best_checkpoint is not None and mean > self.best_return:
            self.best_return = mean
            algorithm.save_to_path(Path(self.best_checkpoint).absolute())

    def on_env_runners_recreated(
        self, *, algorithm: Any, env_runner_group: Any, env_runner_indices: list[int], **kwargs: Any
    ) -> None:
        """A runner that was lost and started anew plays other games than it did, at the level of the others."""
        self.restarts += len(env_runner_indices)
        seed = [int(algorithm.config.env_config.get("seed", 0)), 1, self.restarts]
        goal = self.curriculum.goal if self.curriculum is not None else None

        def prepare(env_runner: Any) -> None:
            games = env_runner.env.unwrapped
            if isinstance(games, RunnerGames):
                games.reseed([*seed, env_runner.worker_index])
                set_level(env_runner, goal)

        env_runner_group.foreach_env_runner(prepare, remote_worker_ids=env_runner_indices, local_env_runner=False)

    def _teach(self, algorithm: Any, sums: Mapping[str, Any]) -> None:
        curriculum = self.curriculum
        assert curriculum is not None
        before = curriculum.goal
        curriculum.played(int(sums.get("decisions", 0)))
        curriculum.hear(int(sums.get("successes", 0)), int(sums.get("failures", 0)))
        if curriculum.goal != before:
            self.tell_level(algorithm)

    def tell_level(self, algorithm: Any) -> None:
        """Hands the curriculum's level to all runners."""
        assert self.curriculum is not None
        goal = self.curriculum.goal
        algorithm.env_runner_group.foreach_env_runner(
            lambda env_runner: set_level(env_runner, goal), local_env_runner=False
        )


OLD_NAMES = frozenset({
    "on_sub_environment_created", "on_postprocess_trajectory", "on_create_policy", "on_learn_on_batch",
    "on_workers_recreated", "on_evaluate_offline_start", "on_evaluate_offline_end", "on_offline_eval_runners_recreated",
})  # fmt: skip
"""Methods of RLlib's callbacks that its new API, or a run of ours, never comes to."""
RLLIB_CALLS = tuple(name for name in dir(RLlibCallback) if name.startswith("on_") and name not in OLD_NAMES)


class GivenCallbacks(RLlibCallback):
    """The callbacks of the settings beside ours, made anew in each process. What fails is kept until it is asked for: a
    runner that raises would only be started again."""

    def __init__(self, given: Sequence[Any]) -> None:
        super().__init__()
        self.own = Callbacks(given)
        for name in self.own.methods:
            setattr(self, name, partial(self.own.tell, name))


def runner_failures(env_runner: Any) -> list[str]:
    """What failed in callbacks in a process that plays."""
    given = [one.own for one in getattr(env_runner, "_callbacks", []) if isinstance(one, GivenCallbacks)]
    return [str(own.failure) for own in given if own.failure is not None]


def set_level(env_runner: Any, goal: int | None) -> None:
    games = env_runner.env.unwrapped
    if goal is not None and isinstance(games, RunnerGames) and games.level is not None:
        games.level.goal = goal


def _metrics(games: RunnerGames) -> list[tuple[tuple[str, ...], float, str]]:
    """(key, value, how runners are put together) of everything measured since the last time."""
    measured, spec = games.take(), games.game.spec
    found: list[tuple[tuple[str, ...], float, str]] = []
    found += [((name,), float(getattr(measured, name)), "sum") for name in SUMS]
    for name in NAMED:
        reduce = "max" if name == "best_stats" else "sum"
        values = zip(names_of(spec, name), getattr(measured, name), strict=True)
        # No episode has ended yet: nothing to take the best of.
        found += [((name, key), float(value), reduce) for key, value in values if np.isfinite(value)]
    if games.level is not None:
        found += [((name,), float(value), "sum") for name, value in zip(OUTCOMES, games.level.take(), strict=True)]
    return found


OUTCOMES = ("successes", "failures")


def names_of(spec: GameSpec, part: str) -> list[str]:
    if part == "reward_terms":
        return list(spec.reward_terms)
    return [block.name for block in spec.actions.blocks] if part == "blocks" else list(spec.episode_stats)


def means_of(sums: Mapping[str, Any]) -> dict[str, Any]:
    """What is documented of an iteration; means over episodes are left out when none ended."""
    decisions, episodes = float(sums.get("decisions", 0.0)), float(sums.get("episodes", 0.0))
    found: dict[str, Any] = {name: float(sums.get(name, 0.0)) for name in ("decisions", "illegal", "episodes")}
    if decisions:
        found["reward"] = {name: float(sum_) / decisions for name, sum_ in sums.get("reward_terms", {}).items()}
        found["actions"] = {f"{name}_frac": float(sum_) / decisions for name, sum_ in sums.get("blocks", {}).items()}
    if episodes:
        found["mean_episode_return"] = float(sums["episode_return"]) / episodes
        found["mean_episode_length"] = float(sums["episode_length"]) / episodes
        best = sums.get("best_stats", {})
        found["stats"] = {
            name: float(best[name]) if name.startswith("highest_") else float(sum_) / episodes
            for name, sum_ in sums.get("stats", {}).items()
        }
    return found


def measured_of(spec: GameSpec, sums: Mapping[str, Any]) -> Measured:
    """What `BalatroCallbacks` reported, as the sums every learner makes its metrics of."""
    arrays = {
        name: np.array([
            float(sums.get(name, {}).get(key, -np.inf if name == "best_stats" else 0.0))
            for key in names_of(spec, name)
        ])
        for name in NAMED
    }  # fmt: skip
    plain = {name: float(sums.get(name, 0.0)) for name in SUMS}
    return Measured(reward=arrays["reward_terms"].sum(), **arrays, **plain)
