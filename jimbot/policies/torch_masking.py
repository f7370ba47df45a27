"""The masked maths of `masking` for torch, line by line; a test holds the two together."""

from __future__ import annotations

from jimbot.errors import MissingExtraError, UsageError
from jimbot.policies.masking import NEVER

try:
    import torch
    from torch import Tensor
except ModuleNotFoundError as problem:
    raise MissingExtraError(f"'{problem.name}', which the torch learners need,", "sb3") from problem

_NEVER = float(NEVER)


def legal_tensor(legal_mask: object, like: Tensor) -> Tensor:
    """(N, A) bool on the device of `like`; a row without any legal action is an error, never a uniform choice."""
    legal = torch.as_tensor(legal_mask, device=like.device).reshape(like.shape) != 0
    empty = ~legal.any(dim=-1)
    if empty.any():
        row = int(empty.nonzero()[0, 0])
        raise UsageError(
            f"The mask of row {row} has 0 legal actions of {legal.shape[-1]}; a game must leave at least one. "
            "Check the environment's action_masks()."
        )
    return legal


def log_probabilities(logits: Tensor, legal_mask: Tensor) -> Tensor:
    """(…, A) log-probabilities over the legal actions."""
    highest = torch.where(legal_mask, logits, -torch.inf).amax(dim=-1, keepdim=True)
    shifted = torch.where(legal_mask, torch.clamp(logits - highest, min=_NEVER), _NEVER)
    total = torch.exp(shifted).sum(dim=-1, keepdim=True)
    return torch.where(legal_mask, shifted - torch.log(total), _NEVER)


def probabilities(log_probability: Tensor, legal_mask: Tensor) -> Tensor:
    """(…, A) probabilities; exactly 0 where illegal."""
    return torch.where(legal_mask, torch.exp(log_probability), 0.0)


def entropy(log_probability: Tensor, legal_mask: Tensor) -> Tensor:
    """(…,) entropy in nats of the legal actions."""
    legal = torch.where(legal_mask, log_probability, 0.0)
    return -(probabilities(log_probability, legal_mask) * legal).sum(dim=-1)


def of_action(values: Tensor, actions: Tensor) -> Tensor:
    """(…,) the entry of each row's action."""
    return values.gather(-1, actions.long().unsqueeze(-1)).squeeze(-1)


def best(log_probability: Tensor, legal_mask: Tensor) -> Tensor:
    """(…,) the most probable legal action; ties go to the lowest number."""
    return torch.where(legal_mask, log_probability, -torch.inf).argmax(dim=-1)


def sample(log_probability: Tensor, legal_mask: Tensor, uniform: Tensor) -> Tensor:
    """(…,) an action drawn by inverting the distribution function at `uniform` in (0, 1], checked to be legal."""
    running = probabilities(log_probability, legal_mask).cumsum(dim=-1)
    target = uniform.unsqueeze(-1) * running[..., -1:]
    drawn = (running < target).sum(dim=-1).clamp(max=legal_mask.shape[-1] - 1)
    return torch.where(of_action(legal_mask, drawn), drawn, best(log_probability, legal_mask))


def duelling(advantages: Tensor, value: Tensor, legal_mask: Tensor) -> Tensor:
    """(…, A) values of actions from (…, A) advantages over (…,) the value: their mean over legal actions is 0."""
    legal = torch.where(legal_mask, advantages, 0.0)
    mean = legal.sum(dim=-1, keepdim=True) / legal_mask.sum(dim=-1, keepdim=True)
    return value.unsqueeze(-1) + advantages - mean
