"""SB3's algorithms with masks in all of them: when acting, learning and predicting.

PPO is sb3-contrib's MaskablePPO with the loss all learners share. A2C collects the same way and takes one step of the
plain policy gradient with RMSprop, as SB3's own does. DQN is SB3's with a replay that knows masks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN

from jimbot.policies import torch_masking as masking
from jimbot.policies.torch_networks import TorchNetwork
from jimbot.training.init_policy import anchor_weight, frozen_updates
from jimbot.training.replay.lockstep import Steps
from jimbot.training.running_statistics import LIMIT
from jimbot.training.sb3.policies import MaskedQPolicy
from jimbot.training.sb3.replay import CompressedReplay, Replay
from jimbot.training.settings.record import TrainSettings
from jimbot.training.torch_losses import Samples, Weights, a2c_loss, dqn_loss, normalised, ppo_loss


class Guide(NamedTuple):
    """What guides one update; by default nothing."""

    anchor: float = 0.0  # weight of the KL anchor in this update
    reference: TorchNetwork | None = None  # the policy of the KL anchor; None: there is none in this run
    frozen: tuple[str, ...] = ()  # parameters that stay as they are

    def of(self, batch: Samples) -> Samples:
        """The batch with what the policy of the KL anchor would do; not asked once its weight has decayed to 0."""
        if self.reference is None:
            return batch
        if self.anchor == 0:
            return batch._replace(reference=torch.zeros_like(batch.legal_mask, dtype=torch.float32))
        with torch.no_grad():
            logits = self.reference(batch.observation)[0]
            return batch._replace(reference=masking.log_probabilities(logits, batch.legal_mask))

    def step(self, optimiser: Any, network: TorchNetwork) -> None:
        """One step of the optimiser. It measures the gradients of frozen parameters, too, so that their step size is
        a settled one once they may move; until then they stay bit for bit."""
        places = network.named()
        kept = {name: places[name].detach().clone() for name in self.frozen}
        optimiser.step()
        with torch.no_grad():
            for name, value in kept.items():
                places[name].copy_(value)


def guide_of(settings: TrainSettings, network: TorchNetwork, reference: TorchNetwork | None, update: int) -> Guide:
    """The guidance of an update by its number."""
    frozen = (name for name, _ in network.named_parameters() if update < frozen_updates(settings, name))
    anchor = float(anchor_weight(settings, update)) if reference is not None else 0.0
    return Guide(anchor, reference, tuple(name.replace("__", ".") for name in frozen))


def sb3_names(settings: TrainSettings) -> dict[str, Any]:
    """What SB3's PPO is told of our settings under its own names."""
    ppo = settings.ppo
    return {
        "n_steps": settings.num_steps,
        "gamma": settings.gamma,
        "gae_lambda": ppo.gae_lambda,
        "clip_range": ppo.clip_eps,
        "ent_coef": ppo.ent_coef,
        "vf_coef": ppo.vf_coef / 2,  # SB3 weighs the whole squared error
        "max_grad_norm": ppo.max_grad_norm,
    }


class MaskedPPO(MaskablePPO):
    """MaskablePPO; after `train`, `losses` holds the means over its gradient steps under our names."""

    loss = staticmethod(ppo_loss)
    normalises = True
    gradient_accumulation = 1
    losses: dict[str, float]
    guide = Guide()  # of the next update

    def train(self) -> None:
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        clip: Any = self.clip_range
        # SB3's vf_coef weighs the whole squared error, ours half of it.
        weights = Weights(clip(self._current_progress_remaining), 2 * self.vf_coef, self.ent_coef, self.guide.anchor)
        network: Any = self.policy.network
        steps: list[dict[str, float]] = []
        for _ in range(self.n_epochs):
            first = len(steps)
            for data in self.rollout_buffer.get(self.batch_size):
                self.policy.optimizer.zero_grad()
                parts = self._gradients(network, weights, self.guide.of(_samples(data)))
                torch.nn.utils.clip_grad_norm_(network.parameters(), self.max_grad_norm)
                self.guide.step(self.policy.optimizer, network)
                steps.append(parts)
            if self._moved_too_far(steps[first:]):
                break
        self._n_updates += self.n_epochs
        self.losses = {name: float(np.mean([step[name] for step in steps])) for name in steps[0]}
        values, targets = self.rollout_buffer.values.flatten(), self.rollout_buffer.returns.flatten()
        self.losses["train/explained_variance"] = float(1 - np.var(targets - values) / max(np.var(targets), 1e-12))

    def _moved_too_far(self, steps: list[dict[str, float]]) -> bool:
        """Whether the policy moved further in a pass, on average, than `target_kl` allows."""
        if not self.target_kl:
            return False
        return float(np.mean([step.get("train/approx_kl", 0.0) for step in steps])) > 1.5 * self.target_kl

    def _gradients(self, network: Any, weights: Weights, batch: Samples) -> dict[str, float]:
        """Adds up the gradients of a minibatch, piece by piece, and returns its losses."""
        if self.normalises:
            batch = batch._replace(advantage=normalised(batch.advantage))
        found: dict[str, float] = {}
        for piece, share in pieces(batch, self.gradient_accumulation):
            loss, parts = self.loss(network, weights, piece, normalise=False)
            (share * loss).backward()
            for name, value in parts.items():
                found[name] = found.get(name, 0.0) + share * float(value.detach())
        return found


class MaskedA2C(MaskedPPO):
    """One whole-batch step of the policy gradient per rollout; give it RMSprop, one epoch and the whole batch."""

    loss = staticmethod(a2c_loss)
    normalises = False


def _samples(data: Any) -> Samples:
    return Samples(
        data.observations,
        data.action_masks != 0,
        data.actions.long().flatten(),
        data.old_log_prob,
        data.advantages,
        data.returns,
    )


def pieces(batch: Any, count: int) -> Iterator[tuple[Any, float]]:
    """A minibatch in up to `count` pieces, each with its share of the whole."""
    size = len(batch.action)
    for part in np.array_split(np.arange(size), min(count, size)):
        rows = slice(int(part[0]), int(part[-1]) + 1)
        piece = type(batch)(*(None if values is None else values[rows] for values in batch))
        yield piece, len(part) / size


def _random_legal(legal_mask: np.ndarray) -> np.ndarray:
    """(N,) uniform over the legal actions, from the generator SB3 seeds."""
    return np.where(legal_mask, np.random.random(legal_mask.shape), -1.0).argmax(axis=1)


class MaskedDQN(DQN):
    """DQN whose exploration, greedy choice and targets stay inside the mask. `double_q`: see `dqn_loss`."""

    double_q = False
    gradient_accumulation = 1

    policy: MaskedQPolicy  # ty: ignore[incompatible-attribute-override]
    replay_buffer: Replay | CompressedReplay  # ty: ignore[incompatible-attribute-override]
    losses: dict[str, float]
    guide = Guide()  # of the next update

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        env: Any = self.env
        self._masks = env.action_masks()
        epsilon = 1.0 if self.num_timesteps < learning_starts else self.exploration_rate
        explore = np.random.random(n_envs) < epsilon
        actions = _random_legal(self._masks)
        if not explore.all():
            actions = np.where(explore, actions, self.policy.greedy(np.asarray(self._last_obs), self._masks))
        return actions, actions

    def _store_transition(
        self, replay_buffer: Any, buffer_action: Any, new_obs: Any, reward: Any, dones: Any, infos: Any
    ) -> None:
        game: Any = self.env.game  # ty: ignore[missing-attribute]
        ended = (game.terminated | game.truncated)[:, None]
        after = np.where(ended, game.final_observation, new_obs)
        seen: Any = self._last_obs
        replay_buffer.add(Steps(seen, self._masks, buffer_action, reward, game.terminated, game.truncated), after)
        self._last_obs = new_obs

    def _seen(self, reward: torch.Tensor) -> torch.Tensor:
        """Remembered rewards as they are to be learned now: a scale that was right when they came is not any more."""
        factor = self.env.reward_scale  # ty: ignore[missing-attribute]
        return reward if factor is None else (reward * factor).clamp(-LIMIT, LIMIT)

    def train(self, gradient_steps: int, batch_size: int = 32) -> None:
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        steps: list[dict[str, float]] = []
        for _ in range(gradient_steps):
            batch = self.replay_buffer.sample(batch_size)
            batch = batch._replace(reward=self._seen(batch.reward))
            self.policy.optimizer.zero_grad()
            found: dict[str, float] = {}
            errors = []
            for piece, share in pieces(batch, self.gradient_accumulation):
                loss, parts, error = dqn_loss(self.policy.q_net, self.policy.q_net_target, piece, self.double_q)
                (share * loss).backward()
                errors.append(error.cpu().numpy())
                for name, value in parts.items():
                    found[name] = found.get(name, 0.0) + share * float(value.detach())
            torch.nn.utils.clip_grad_norm_(self.policy.q_net.parameters(), self.max_grad_norm)
            self.guide.step(self.policy.optimizer, self.policy.q_net)
            self.replay_buffer.update_priorities(batch.index, np.concatenate(errors))
            steps.append(found)
        self._n_updates += gradient_steps
        self.losses = {name: float(np.mean([step[name] for step in steps])) for name in steps[0]}
        self.losses |= {"train/exploration_rate": self.exploration_rate, **self.replay_buffer.metrics()}

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
        action_masks: Any = None,
    ) -> tuple[np.ndarray, Any]:
        """Greedy inside the mask, or with the present share of random legal actions."""
        rows = np.atleast_2d(np.asarray(observation, np.float32))
        actions = self.policy.greedy(rows, action_masks)
        if not deterministic:
            mask = masking.legal_tensor(action_masks, torch.zeros(len(rows), int(self.action_space.n)))  # ty: ignore[missing-attribute]
            explore = np.random.random(len(rows)) < self.exploration_rate
            actions = np.where(explore, _random_legal(mask.numpy()), actions)
        return (actions if np.ndim(observation) > 1 else actions[0]), state
