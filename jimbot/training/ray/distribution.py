"""RLlib's view of the masked distribution: `torch_masking` under the names RLlib asks for.

What RLlib calls the distribution's inputs are our masked log-probabilities. They carry the mask in themselves (`NEVER`
where an action is illegal), so nothing is normalised twice and an illegal action has probability 0 exactly.
"""

from __future__ import annotations

from typing import Any

import torch
from ray.rllib.core.distribution.distribution import Distribution
from ray.rllib.core.distribution.torch.torch_distribution import TorchDeterministic

from jimbot.policies import torch_masking as masking
from jimbot.policies.masking import NEVER

Tensor = torch.Tensor
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
