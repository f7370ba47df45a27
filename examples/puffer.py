"""A game of ours under PufferLib 3: its Gymnasium wrapper and vector environments, with the mask in the observation.

The wrapper makes one row of bytes of observation and mask; `obs_dtype` names the parts again. The package could not be
built on the machine this was written on: it ran there with the Python files of 3.0.0, and never with its trainer.
`workers` are forked, which games on JAX (HackMatrix, probe) do not survive: give 0 for them.
"""

from typing import Any

import numpy as np
import pufferlib.emulation  # ty: ignore[import-not-found]
import pufferlib.vector  # ty: ignore[import-not-found]

from jimbot.envs import GameEnv
from jimbot.training.env_wrapper import ActionMaskWrapper


def make_env(game: str, buf: Any = None, seed: int = 0) -> pufferlib.emulation.GymnasiumPufferEnv:
    env = ActionMaskWrapper(GameEnv(game, checked=True))  # an illegal action raises
    return pufferlib.emulation.GymnasiumPufferEnv(env=env, buf=buf, seed=seed)


def main(game: str = "balatro", steps: int = 500, num_envs: int = 8, workers: int = 2) -> int:
    """Plays at random inside the mask; how many games ended."""
    forked = {"backend": pufferlib.vector.Multiprocessing, "num_workers": workers}
    how = forked if workers else {"backend": pufferlib.vector.Serial}
    envs = pufferlib.vector.make(make_env, [game], num_envs=num_envs, **how)
    parts, rng, ended = envs.driver_env.obs_dtype, np.random.default_rng(1), 0
    observations, _ = envs.reset(seed=1)
    for _ in range(steps):
        legal = observations.view(parts)["action_mask"].reshape(num_envs, -1)
        actions = np.where(legal, rng.random(legal.shape), -1).argmax(axis=1)  # a policy of yours goes here
        observations, _, terminated, truncated, _ = envs.step(actions)
        ended += int((terminated | truncated).sum())
    envs.close()
    return ended


if __name__ == "__main__":
    print(f"{main()} games ended, every move inside the mask")
