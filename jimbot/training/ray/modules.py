"""RLlib modules around the networks every learner shares: what RLlib learns is what `policy.onnx` is made of.

    config.rl_module(rl_module_spec=module_spec("balatro", network="items"))

makes one of them part of any RLlib configuration.

What RLlib calls the distribution's inputs are our masked log-probabilities. They carry the mask in themselves (`NEVER`
where an action is illegal), so nothing is normalised twice and an illegal action has probability 0 exactly.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from gymnasium.spaces import Discrete
from ray.rllib.algorithms.dqn.dqn_learner import QF_NEXT_PREDS, QF_PREDS, QF_TARGET_NEXT_PREDS
from ray.rllib.core.columns import Columns
from ray.rllib.core.distribution.distribution import Distribution
from ray.rllib.core.distribution.torch.torch_distribution import TorchDeterministic
from ray.rllib.core.rl_module.apis import (
    TARGET_NETWORK_ACTION_DIST_INPUTS,
    QNetAPI,
    TargetNetworkAPI,
    ValueFunctionAPI,
)
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from ray.rllib.utils.schedules.scheduler import Scheduler
from torch.utils.checkpoint import checkpoint

from jimbot.games.contract import game_entry
from jimbot.games.spec import GameSpec
from jimbot.policies import torch_masking as masking
from jimbot.policies.masking import NEVER
from jimbot.policies.networks import describe_network
from jimbot.policies.torch_networks import TorchNetwork
from jimbot.training.ray.games import MASK, OBSERVATION, runner_space

_ILLEGAL_BELOW = float(NEVER) / 2


class MaskedCategorical(Distribution):
    """One action among the legal ones."""

    def __init__(self, log_probability: Tensor) -> None:
        super().__init__()
        self.log_probability = log_probability
        self.legal = log_probability > _ILLEGAL_BELOW

    @classmethod
    def from_logits(cls, logits: Any, **kwargs: Any) -> MaskedCategorical:
        """`logits`: masked log-probabilities, as our modules give them."""
        return cls(logits)

    def logp(self, value: Any, **kwargs: Any) -> Tensor:
        return masking.of_action(self.log_probability, value)

    def entropy(self, **kwargs: Any) -> Tensor:
        return masking.entropy(self.log_probability, self.legal)

    def kl(self, other: Distribution, **kwargs: Any) -> Tensor:
        assert isinstance(other, MaskedCategorical)
        gap = torch.where(self.legal, self.log_probability - other.log_probability, 0.0)
        return (masking.probabilities(self.log_probability, self.legal) * gap).sum(dim=-1)

    def sample(self, *, sample_shape: Any = None, return_logp: bool = False, **kwargs: Any) -> Any:
        uniform = 1.0 - torch.rand(self.legal.shape[:-1], device=self.legal.device)  # in (0, 1]
        action = masking.sample(self.log_probability, self.legal, uniform)
        return (action, self.logp(action)) if return_logp else action

    def rsample(self, *, sample_shape: Any = None, **kwargs: Any) -> Any:
        return self.sample()  # a choice among actions has no gradient of its own

    def to_deterministic(self) -> TorchDeterministic:
        return TorchDeterministic(loc=masking.best(self.log_probability, self.legal))

    @staticmethod
    def required_input_dim(space: Any, **kwargs: Any) -> int:
        return int(space.n)


Tensor = torch.Tensor
TARGET = "target_network"


def seen(batch: Mapping[str, Any], column: str = Columns.OBS) -> tuple[Tensor, Tensor]:
    """(N, D) observation and (N, A) legal mask of a batch of RLlib's."""
    return batch[column][OBSERVATION], batch[column][MASK] != 0


class WithTarget(TorchRLModule, TargetNetworkAPI):
    """A network and a copy of it that follows slowly."""

    network: TorchNetwork

    def make_target_networks(self) -> None:
        self.target_network = target_of(self.network)

    def get_target_network_pairs(self) -> list[tuple[Any, Any]]:
        return [(self.network, self.target_network)]

    def get_non_inference_attributes(self) -> list[str]:
        return [TARGET]


class MaskedActorCritic(WithTarget, ValueFunctionAPI):
    """Policy and value, for PPO, APPO, IMPALA, BC and MARWIL.

    `model_config`: network (a description, see `policies.networks`), lean: send only the chosen action and its
    log-probability to the learner instead of those of all actions, which our own PPO does not ask for; and pieces: of
    so many a minibatch is made while learning, only one of which keeps its intermediate results in memory.
    """

    action_dist_cls = MaskedCategorical

    def setup(self) -> None:
        self.network = TorchNetwork(self.model_config["network"])
        self.lean = bool(self.model_config.get("lean"))
        self.pieces = int(self.model_config.get("pieces", 1))
        self.action_dist_cls = MaskedCategorical

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {Columns.ACTION_DIST_INPUTS: self._look(self.network, batch)[0]}

    def _forward_exploration(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        log_probability = self._look(self.network, batch)[0]
        distribution = MaskedCategorical(log_probability)
        action = distribution.sample()
        chosen = {Columns.ACTIONS: action, Columns.ACTION_LOGP: distribution.logp(action)}
        return chosen if self.lean else {**chosen, Columns.ACTION_DIST_INPUTS: log_probability}

    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        observation, legal = seen(batch)
        logits, value = in_pieces(self.network, observation, self.pieces)
        return {
            Columns.ACTION_DIST_INPUTS: masking.log_probabilities(logits, legal),
            Columns.EMBEDDINGS: value,
        }

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Tensor:
        """`embeddings` are the values themselves: the network makes both at once."""
        return self.network(seen(batch)[0])[1] if embeddings is None else embeddings

    def forward_target(self, batch: dict[str, Any]) -> dict[str, Any]:
        with torch.no_grad():
            return {TARGET_NETWORK_ACTION_DIST_INPUTS: self._look(self.target_network, batch)[0]}

    @staticmethod
    def _look(network: TorchNetwork, batch: dict[str, Any]) -> tuple[Tensor, Tensor]:
        """(N, A) masked log-probabilities and (N,) values."""
        observation, legal = seen(batch)
        logits, value = network(observation)
        return masking.log_probabilities(logits, legal), value


class MaskedQ(WithTarget, QNetAPI):
    """Values of actions for DQN, duelling or plain; exploration, the greedy choice and targets stay inside the mask.

    `model_config`: network (a description with action values), epsilon (a schedule of RLlib's).
    """

    def setup(self) -> None:
        self.network = TorchNetwork(self.model_config["network"])
        self.epsilon = Scheduler(fixed_value_or_schedule=self.model_config["epsilon"], framework="torch")
        self.action_dist_cls = MaskedCategorical

    def _forward_inference(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        _, legal = seen(batch)
        return {Columns.ACTIONS: masking.best(self._values(self.network, batch), legal)}

    def _forward_exploration(self, batch: dict[str, Any], t: int = 0, **kwargs: Any) -> dict[str, Any]:
        """`t`: steps of all runners together."""
        _, legal = seen(batch)
        best = masking.best(self._values(self.network, batch), legal)
        evenly = masking.log_probabilities(torch.zeros_like(legal, dtype=torch.float32), legal)
        anything = MaskedCategorical(evenly).sample()
        explore = torch.rand(len(best), device=best.device) < self.epsilon.update(t)
        return {Columns.ACTIONS: torch.where(explore, anything, best)}

    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        following = {Columns.OBS: batch[Columns.NEXT_OBS]}
        with torch.no_grad():
            chosen_by, judged_by = (
                torch.where(seen(following)[1], self._values(network, following), -torch.inf)
                for network in (self.network, self.target_network)
            )
        return {
            QF_PREDS: self._values(self.network, batch),
            QF_NEXT_PREDS: chosen_by,
            QF_TARGET_NEXT_PREDS: judged_by,
        }

    def compute_q_values(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {QF_PREDS: self._values(self.network, batch)}

    def forward_target(self, batch: dict[str, Any]) -> dict[str, Any]:
        with torch.no_grad():
            return {QF_PREDS: self._values(self.target_network, batch)}

    @staticmethod
    def _values(network: TorchNetwork, batch: dict[str, Any]) -> Tensor:
        """(N, A) values of actions; those of illegal ones mean nothing."""
        observation, legal = seen(batch)
        advantages, value = network(observation)
        return masking.duelling(advantages, value, legal) if network.description.get("duelling") else advantages


def in_pieces(network: TorchNetwork, observation: Tensor, pieces: int) -> tuple[Tensor, Tensor]:
    """What the network answers, remembering the answers only: the way there is computed again for the gradient."""
    if pieces == 1:
        return network(observation)
    parts = observation.split(-(-len(observation) // pieces))
    logits, values = zip(*(checkpoint(network, part, use_reentrant=False) for part in parts), strict=True)
    return torch.cat(logits), torch.cat(values)


def target_of(network: TorchNetwork) -> TorchNetwork:
    target = copy.deepcopy(network)
    target.requires_grad_(False)
    return target


def module_spec(game: str, network: str = "auto", **layers: Any) -> RLModuleSpec:
    """Policy and value for a game, by the network's name; `layers` as in `describe_network`."""
    spec = game_entry(game).spec
    return spec_of(describe_network(spec, network, **layers), spec, MaskedActorCritic)


def spec_of(description: Mapping[str, Any], spec: GameSpec, kind: type[TorchRLModule], **more: Any) -> RLModuleSpec:
    """`more`: further entries of the module's `model_config`."""
    return RLModuleSpec(
        module_class=kind,
        observation_space=runner_space(spec),
        action_space=Discrete(spec.actions.size),
        model_config={"network": dict(description), **more},
    )
