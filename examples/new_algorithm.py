"""An algorithm of your own: REINFORCE with a learned baseline, registered as learner `reinforce`.

`RLTrainer` asks for few methods. In return the run directory, log rows, checkpoints, exact resume, `jimbot evaluate`,
`jimbot watch` and all the rest work with it as with any other learner.
"""

import time
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from jimbot.games import BatchGame
from jimbot.games.functional import from_named_leaves, named_leaves
from jimbot.policies import masking
from jimbot.policies.jax_networks import make_network
from jimbot.policies.networks import describe_network
from jimbot.policies.onnx_form import onnx_from_params
from jimbot.policies.portable import with_metadata
from jimbot.runs.checkpoint import Manifest, check_matches, load_checkpoint
from jimbot.training.environments.given import training_game
from jimbot.training.framework import Callback, RLTrainer, create_trainer, register_learner
from jimbot.training.session.log_rows import GameTally, Measures
from jimbot.training.session.session import TrainResult

GAME = "game/"  # prefix of the games' own arrays in a checkpoint


class Reinforce(RLTrainer):
    """Play, add up what followed each action, make what paid more likely."""

    algorithms = ("REINFORCE",)

    def __init__(self, settings: Any, session: Any, game: BatchGame | None = None) -> None:
        super().__init__(settings, session, game)
        self.game = game or training_game(settings)
        width, depth = settings.network.hidden_dim, settings.network.num_layers
        self.network = make_network(describe_network(self.spec, "mlp", width, depth))
        self.optimiser = optax.adam(settings.ppo.lr)
        self.tally = GameTally(self.spec, self.game.num_rows)
        self.updates = 0

    @property
    def step(self) -> int:
        return self.updates * self.settings.batch_size

    def create_model(self) -> None:
        self.params = self.network.init(self.settings.seed)
        self.memory = self.optimiser.init(self.params)
        self.game.reset()

    def train(self, total_timesteps: int | None = None, callback: Callback | None = None) -> TrainResult:
        total = total_timesteps or self.settings.total_timesteps
        measures, session = Measures(self.spec), self.session
        with session.running(self.step, total):
            while not (reason := session.stop_reason(self.step, total)):
                began = time.perf_counter()
                played = self._play()
                simulated = time.perf_counter() - began
                self.params, self.memory, losses = self._learn(self.params, self.memory, *played)
                self.updates += 1
                session.check_finite(losses, self.updates, self.step)
                measures.add(losses, self.tally.take(), self.settings.batch_size)
                self.after_update(self.updates, measures, lambda _, spent=simulated: {"simulate": spent}, callback)
            path = self.save_model()
        return session.finished(self.step, reason, path)

    def _play(self) -> tuple[np.ndarray, ...]:
        """A rollout: observations, masks, actions and what followed each action, all (T, N, …)."""
        game, settings = self.game, self.settings
        luck = np.random.default_rng([settings.seed, self.updates])  # so that no generator has to be saved
        steps = []
        for _ in range(settings.num_steps):
            observation, mask = game.observation.copy(), game.legal_mask.copy()
            actions = np.asarray(self._act(self.params, observation, mask, luck.random(game.num_rows, np.float32)))
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

    def policy_onnx(self) -> bytes:
        sizes = self.spec.observation.size, self.spec.actions.size
        return with_metadata(onnx_from_params(self.network.description, self._weights(), *sizes), self._manifest())

    def save_model(self) -> Path:
        state = named_leaves((self.params, self.memory)) | {GAME + n: v for n, v in self.game.snapshot().items()}
        path = self.session.store.save(self._manifest(), self.policy_onnx(), self._weights(), state)
        self.session.saved(self.step, path)
        return path

    def load_model(self, path: str | Path) -> None:
        checkpoint = load_checkpoint(path)
        check_matches(checkpoint.manifest, self.spec, learner="reinforce")
        stored = checkpoint.state()
        self.params, self.memory = from_named_leaves((self.params, self.memory), stored, f"checkpoint {path}")
        self.game.restore({n.removeprefix(GAME): v for n, v in stored.items() if n.startswith(GAME)})
        self.updates = checkpoint.manifest.update

    def close(self) -> None:
        self.game.close()
        self.session.close()

    def _weights(self) -> dict[str, np.ndarray]:
        return {name: np.asarray(value) for name, value in self.params.items()}

    def _manifest(self) -> Manifest:
        return Manifest.for_game(
            self.spec,
            game_options=self.settings.game_options,
            learner="reinforce",
            algorithm="REINFORCE",
            network=dict(self.network.description),
            step=self.step,
            update=self.updates,
            config=self.settings.flat(),
            metrics=dict(self.session.latest_metrics),
        )


register_learner("reinforce", __name__, "Reinforce")


def main(game: str = "probe", total_timesteps: int = 200_000, num_envs: int = 32, games: int = 100) -> float:
    settings = {"learner": "reinforce", "algorithm": "REINFORCE", "num_envs": num_envs, "num_steps": 32, "lr": 1e-2}
    trainer = create_trainer(
        game, {**settings, "hidden_dim": 64, "log_interval": 20, "total_timesteps": total_timesteps}
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
