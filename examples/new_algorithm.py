"""An algorithm of your own: REINFORCE with a learned baseline, registered as learner `reinforce`.

`create_model` and `update` are the algorithm (`train` and `evaluate` are there already). With `portable_network` its
policy is saved, watched and exported like any other; with `learning_state` and `restore` its runs continue exactly.
"""

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from jimbot.games.functional import from_named_leaves, named_leaves
from jimbot.policies import masking
from jimbot.policies.jax_networks import make_network
from jimbot.policies.networks import describe_network
from jimbot.training.framework import Learned, RLTrainer, create_trainer, register_learner
from jimbot.training.session.log_rows import GameTally

GAME = "game/"  # prefix of the games' own arrays in a checkpoint


class Reinforce(RLTrainer):
    """Play, add up what followed each action, make what paid more likely."""

    algorithms = ("REINFORCE",)

    def create_model(self) -> None:
        settings = self.settings
        width, depth = settings.network.hidden_dim, settings.network.num_layers
        self.network = make_network(describe_network(self.spec, "mlp", width, depth))
        self.optimiser = optax.adam(settings.ppo.lr)
        self.params = self.network.init(settings.seed)
        self.memory = self.optimiser.init(self.params)
        self.batch.reset()
        self.tally = GameTally(self.spec, self.batch.num_rows)

    def update(self, total: int) -> Learned:
        began = time.perf_counter()
        played = self._play()
        self.seconds = {"simulate": time.perf_counter() - began}
        self.params, self.memory, losses = self._learn(self.params, self.memory, *played)
        self.updates += 1
        self.steps_learned += self.settings.batch_size
        return Learned(losses, self.tally.take(), self.settings.batch_size)

    def _play(self) -> tuple[np.ndarray, ...]:
        """A rollout: observations, masks, actions and what followed each action, all (T, N, …)."""
        game, settings = self.batch, self.settings
        rng = np.random.default_rng([settings.seed, self.updates])  # so that no generator has to be saved
        steps = []
        for _ in range(settings.num_steps):
            observation, mask = game.observation.copy(), game.legal_mask.copy()
            actions = np.asarray(self._act(self.params, observation, mask, rng.random(game.num_rows, np.float32)))
            game.step(actions)
            self.tally.step(game, actions, mask[np.arange(game.num_rows), actions])
            steps.append((observation, mask, actions, game.reward.copy(), game.terminated | game.truncated))
        observations, masks, actions, rewards, ended = map(np.stack, zip(*steps, strict=True))
        following = np.zeros(game.num_rows, np.float32)
        for step in reversed(range(settings.num_steps)):  # what lies beyond the rollout is left out
            following = rewards[step] + settings.gamma * following * ~ended[step]
            rewards[step] = following
        return observations, masks, actions, rewards

    @partial(jax.jit, static_argnums=0)
    def _act(self, params: Any, observation: Any, mask: Any, uniform: Any) -> Any:
        logits, _ = self.network.apply(params, self.network.prepare(observation))
        return masking.sample(masking.log_probabilities(logits, mask), mask, 1 - uniform)

    @partial(jax.jit, static_argnums=0)
    def _learn(self, params: Any, memory: Any, observations: Any, masks: Any, actions: Any, returns: Any) -> Any:
        def loss(params: Any) -> Any:
            logits, values = self.network.apply(params, self.network.prepare(observations))
            chosen = masking.of_action(masking.log_probabilities(logits, masks), actions)
            policy = -jnp.mean(chosen * (returns - jax.lax.stop_gradient(values)))
            value = jnp.mean((returns - values) ** 2)
            return policy + value, {"train/pg_loss": policy, "train/value_loss": value}

        gradient, losses = jax.grad(loss, has_aux=True)(params)
        change, memory = self.optimiser.update(gradient, memory, params)
        return optax.apply_updates(params, change), memory, losses

    def portable_network(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        return self.network.description, {name: np.asarray(value) for name, value in self.params.items()}

    def learning_state(self) -> dict[str, np.ndarray]:
        return named_leaves((self.params, self.memory)) | {GAME + n: v for n, v in self.batch.snapshot().items()}

    def restore(self, params: Mapping[str, np.ndarray], state: Mapping[str, np.ndarray]) -> None:
        self.params, self.memory = from_named_leaves((self.params, self.memory), dict(state), "the checkpoint")
        self.batch.restore({n.removeprefix(GAME): v for n, v in state.items() if n.startswith(GAME)})


register_learner("reinforce", Reinforce)


def main(game: str = "probe", total_timesteps: int = 200_000, num_envs: int = 32, games: int = 100) -> float:
    settings = {"learner": "reinforce", "algorithm": "REINFORCE", "num_envs": num_envs, "num_steps": 32, "lr": 1e-2}
    trainer = create_trainer(
        game,
        {
            **settings,
            "hidden_dim": 64,
            "log_interval": 20,
            "total_timesteps": total_timesteps,
            "run_name": "example-new-algorithm",
        },
        resume=True,
    )
    try:
        trainer.train(callback=lambda step, metrics: print(f"{step:>9,} steps: {metrics['train/mean_reward']:.3f}"))
        mean, deviation = trainer.evaluate(n_episodes=games)
    finally:
        trainer.close()
    print(f"{game}: mean return {mean:.2f} (standard deviation {deviation:.2f}) over {games} held-out games")
    return mean


if __name__ == "__main__":
    main()
