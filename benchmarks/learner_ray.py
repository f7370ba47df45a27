"""What our games cost RLlib: the same algorithm, network and settings over our games and over games that do nothing."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from ray.tune.registry import register_env

from jimbot.games.contract import game_entry
from jimbot.policies.networks import describe_network
from jimbot.training.ray.algorithms import algorithm_config
from jimbot.training.ray.cluster import Cluster
from jimbot.training.ray.games import MASK, OBSERVATION, runner_space
from jimbot.training.ray.trainer import losses_of
from jimbot.training.settings.layers import resolve_settings
from jimbot.training.settings.record import TrainSettings, network_choice

EPISODE = 50  # steps of an episode in which nothing happens
NOTHING = "jimbot-nothing"


class Nothing(VectorEnv):
    """The shapes of a game and none of its rules: always the same position, every action legal."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, game: str, num_envs: int) -> None:
        spec = game_entry(game).spec
        self.num_envs, self._step = num_envs, 0
        self.single_observation_space = runner_space(spec)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.single_action_space = Discrete(spec.actions.size)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._seen = {
            OBSERVATION: np.zeros((num_envs, spec.observation.size), np.float32),
            MASK: np.ones((num_envs, spec.actions.size), bool),
        }

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        self._step = 0
        return self._copy(), {}

    def step(self, actions: Any) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        self._step = (self._step + 1) % (EPISODE + 1)
        ended = np.full(self.num_envs, self._step == EPISODE)
        return self._copy(), np.zeros(self.num_envs, np.float32), ended, np.zeros(self.num_envs, bool), {}

    def _copy(self) -> dict[str, np.ndarray]:
        return {name: value.copy() for name, value in self._seen.items()}


def bench_ray(game: str, seconds: float, num_envs: int | None = None) -> dict[str, float]:
    """Steps per second of PPO over the game and over nothing, taken in turns, and the share that is left."""
    register_env(NOTHING, lambda config: Nothing(config["game"], config.get("num_envs", 1)))
    given: dict[str, Any] = {"game": game, "learner": "ray", "algorithm": "PPO"}
    if num_envs is not None:
        given["num_envs"] = num_envs
    settings = resolve_settings(None, given)
    spec = game_entry(game).spec
    description = describe_network(spec, **network_choice(settings))
    with TemporaryDirectory() as folder:
        cluster = Cluster(settings, Path(folder), lambda sentence: None)
        try:
            return _measured(settings, spec, description, cluster, seconds)
        finally:
            cluster.close()


def _measured(settings: TrainSettings, spec: Any, description: Any, cluster: Cluster, seconds: float) -> dict[str, Any]:
    algorithms = {}
    for name in ("game", "nothing"):
        config = algorithm_config(settings, spec, description, cluster.gpus)
        half: Any = 0.5
        config.env_runners(num_cpus_per_env_runner=half)  # both are there at once and run in turns
        if name == "nothing":
            config.environment(NOTHING)
        algorithms[name] = config.build_algo()
    try:
        rates: dict[str, list[float]] = {name: [] for name in algorithms}
        episodes = 0.0
        for algorithm in algorithms.values():
            algorithm.train()  # compiles, and fills every queue
        deadline = time.monotonic() + 2 * seconds
        while time.monotonic() < deadline or not rates["nothing"]:
            for name, algorithm in algorithms.items():
                began = time.perf_counter()
                result = algorithm.train()
                spent = time.perf_counter() - began
                assert losses_of(result), "a returning train() is no success"
                rates[name].append(float(result["env_runners"]["num_env_steps_sampled"]) / spent)
                if name == "game":
                    episodes += float(result["env_runners"]["jimbot"]["episodes"]) / spent
    finally:
        for algorithm in algorithms.values():
            algorithm.stop()
    game, nothing = (float(np.median(rates[name])) for name in ("game", "nothing"))
    return {
        "steps_per_second": game,
        "nothing_steps_per_second": nothing,
        "of_nothing_fraction": game / nothing,
        "games_per_hour": 3600 * episodes / len(rates["game"]),
        "num_envs": settings.num_envs,
        "num_env_runners": settings.ray.num_env_runners,
    }
