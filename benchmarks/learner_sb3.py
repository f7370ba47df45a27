"""What the jax learner is compared with: sb3-contrib's own MaskablePPO on the same games, network, batch and epochs."""

from __future__ import annotations

import time
from typing import Any

from sb3_contrib import MaskablePPO

from jimbot.envs.sb3_vec_env import BatchVecEnv
from jimbot.policies.networks import describe_network
from jimbot.training.environments import training_game
from jimbot.training.sb3.algorithms import sb3_names
from jimbot.training.sb3.policies import MaskedPolicy
from jimbot.training.settings.record import TrainSettings, network_choice


def bench_maskable_ppo(settings: TrainSettings, seconds: float) -> dict[str, Any]:
    """Steps per second of whole updates over our native VecEnv, torch using its own number of threads."""
    games = BatchVecEnv(training_game(settings))
    model = MaskablePPO(
        MaskedPolicy,
        games,
        learning_rate=settings.ppo.lr,
        batch_size=settings.minibatch_size,
        n_epochs=settings.ppo.update_epochs,
        **sb3_names(settings),
        policy_kwargs={"description": describe_network(games.game.spec, **network_choice(settings))},
        seed=0,
    )
    model.learn(settings.batch_size)  # whatever is prepared once has been prepared
    wall, cpu, updates = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - wall < seconds or updates == 0:
        model.learn(settings.batch_size, reset_num_timesteps=False)
        updates += 1
    steps = updates * settings.batch_size
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    games.close()
    return {
        "baseline": "sb3-contrib's MaskablePPO: same games, net, batch and epochs",
        "baseline_steps_per_second": steps / wall,
        "baseline_steps_per_cpu_second": steps / cpu,
    }
