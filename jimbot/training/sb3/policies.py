"""Masked policies for SB3's algorithms, around the networks every learner shares.

SB3 builds its own layers; these policies put `TorchNetwork` in their place, so that an SB3 run writes the very
checkpoints, ONNX files and parameter names of the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.policies import BasePolicy

from jimbot.errors import UsageError
from jimbot.policies import torch_masking as masking
from jimbot.policies.torch_networks import TorchNetwork

Tensor = torch.Tensor


def legal(action_masks: Any, logits: Tensor) -> Tensor:
    """(N, A) bool; a policy asked without a mask is an error: it would play illegal moves."""
    if action_masks is None:
        raise UsageError(
            "The policy was asked without action_masks; pass those of the environment: env.action_masks()."
        )
    return masking.legal_tensor(action_masks, logits)


class MaskedPolicy(MaskableActorCriticPolicy):
    """Actor and critic for PPO and A2C."""

    def __init__(self, *arguments: Any, description: Mapping[str, Any], **rest: Any) -> None:
        self.description = description
        super().__init__(*arguments, **rest)

    def _build(self, lr_schedule: Any) -> None:
        self.network = TorchNetwork(self.description)
        optimizer_class: Any = self.optimizer_class
        self.optimizer = optimizer_class(self.network.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)

    def forward(
        self, obs: Tensor, deterministic: bool = False, action_masks: Any = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        logits, value = self.network(obs)
        mask = legal(action_masks, logits)
        log_probability = masking.log_probabilities(logits, mask)
        action = self._choose(log_probability, mask, deterministic)
        return action, value.unsqueeze(1), masking.of_action(log_probability, action)

    def evaluate_actions(self, obs: Tensor, actions: Tensor, action_masks: Any = None) -> tuple[Tensor, Tensor, Tensor]:
        logits, value = self.network(obs)
        mask = legal(action_masks, logits)
        log_probability = masking.log_probabilities(logits, mask)
        chosen = masking.of_action(log_probability, actions)
        return value.unsqueeze(1), chosen, masking.entropy(log_probability, mask)

    def predict_values(self, obs: Any) -> Tensor:
        return self.network(obs)[1].unsqueeze(1)

    def get_distribution(self, obs: Any, action_masks: Any = None) -> Any:
        logits = self.network(obs)[0]
        distribution = self.action_dist.proba_distribution(action_logits=logits)
        distribution.apply_masking(legal(action_masks, logits).cpu().numpy())
        return distribution

    def _predict(self, observation: Any, deterministic: bool = False, action_masks: Any = None) -> Tensor:
        return self.forward(observation, deterministic, action_masks)[0]

    @staticmethod
    def _choose(log_probability: Tensor, mask: Tensor, deterministic: bool) -> Tensor:
        if deterministic:
            return masking.best(log_probability, mask)
        uniform = 1.0 - torch.rand(len(mask), device=mask.device)  # in (0, 1]
        return masking.sample(log_probability, mask, uniform)


class MaskedQPolicy(BasePolicy):
    """Action values for DQN: the network that learns and the one its targets come from."""

    def __init__(
        self, observation_space: Any, action_space: Any, lr_schedule: Any, description: Mapping[str, Any], **rest: Any
    ) -> None:
        super().__init__(observation_space, action_space, **rest)
        self.q_net = TorchNetwork(description)
        self.q_net_target = TorchNetwork(description)
        self.q_net_target.load_state_dict(self.q_net.state_dict())
        self.optimizer = torch.optim.Adam(self.q_net.parameters(), lr=lr_schedule(1))

    @property
    def network(self) -> TorchNetwork:
        return self.q_net

    def greedy(self, observation: np.ndarray, action_masks: Any) -> np.ndarray:
        """(N,) the best legal actions."""
        with torch.no_grad():
            values = self.q_net(torch.as_tensor(observation, device=self.device))[0]
            return masking.best(values, legal(action_masks, values)).cpu().numpy()

    def _predict(self, observation: Any, deterministic: bool = False) -> Tensor:
        raise UsageError("Action values mean nothing without a mask; use predict(observation, action_masks=…).")
