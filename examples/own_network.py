"""A network of your own in the default learner: attention over the fields of an observation, learned by PPO.

`attention` makes the two functions for any game; registered, its name is a `--network` like ours. Its runs are saved,
watched and exported as all are: the ONNX policy is traced from `apply` and checked against it.
"""

from typing import Any

import jax
import jax.numpy as jnp

from jimbot.games.spec import GameSpec
from jimbot.policies.own_networks import register_network
from jimbot.training.framework import create_trainer

WIDTH = 32


def attention(spec: GameSpec) -> tuple[Any, Any]:
    """Every field of the observation is a token; tokens look at each other once."""
    spans = [spec.observation.span(field.name) for field in spec.observation.fields]

    def init(seed: int) -> dict[str, Any]:
        keys = iter(jax.random.split(jax.random.key(seed), 2 * len(spans) + 8))

        def dense(inputs: int, outputs: int, gain: float = 1.0) -> jax.Array:
            return gain * jax.random.normal(next(keys), (inputs, outputs)) / inputs**0.5

        return {
            "fields": {f"field_{n}": dense(span.stop - span.start, WIDTH) for n, span in enumerate(spans)},
            "places": 0.1 * jax.random.normal(next(keys), (len(spans), WIDTH)),
            "look": {name: dense(WIDTH, WIDTH) for name in ("query", "key", "value")},
            "hidden": dense(WIDTH * len(spans), 64),
            "policy": dense(64, spec.actions.size, gain=0.01),
            "value": dense(64, 1),
        }

    def apply(params: Any, observation: jax.Array) -> tuple[jax.Array, jax.Array]:
        tokens = [observation[:, span] @ params["fields"][f"field_{n}"] for n, span in enumerate(spans)]
        seen = jnp.stack(tokens, axis=1) + params["places"]
        query, key, value = (seen @ params["look"][name] for name in ("query", "key", "value"))
        weights = jax.nn.softmax(query @ key.swapaxes(1, 2) / WIDTH**0.5)
        mixed = jax.nn.gelu(seen + weights @ value)
        hidden = jax.nn.relu(mixed.reshape(-1, WIDTH * len(spans)) @ params["hidden"])
        return hidden @ params["policy"], (hidden @ params["value"])[:, 0]

    return init, apply


register_network("attention", attention)


def main(game: str = "probe", total_timesteps: int = 60_000, num_envs: int = 32, games: int = 100) -> float:
    settings = {"network": "attention", "num_envs": num_envs, "num_steps": 32, "lr": 3e-3, "log_interval": 5}
    trainer = create_trainer(
        game, {**settings, "total_timesteps": total_timesteps, "run_name": "example-own-network"}, fresh=True
    )
    try:
        trainer.train()
        mean, deviation = trainer.evaluate(n_episodes=games)
    finally:
        trainer.close()
    print(f"{game}: mean return {mean:.2f} (standard deviation {deviation:.2f}) over {games} held-out games")
    return mean


if __name__ == "__main__":
    main()
