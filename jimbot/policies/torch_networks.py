"""The networks of `forward` computed in torch, for the learners that need it.

Parameters have the names, shapes and orientation of the JAX form, so both learners write the same files and one can be
checked against the other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from jimbot.errors import MissingExtraError, SettingsError
from jimbot.policies import forward
from jimbot.policies.networks import GAINS, INITIAL, check_params, layer_shapes, param_shapes
from jimbot.policies.own_networks import OWN

try:
    import torch
    from torch import Tensor, nn
except ModuleNotFoundError as problem:
    raise MissingExtraError(f"'{problem.name}', which the torch learners need,", "sb3") from problem


class TorchNetwork(nn.Module):
    """(N, D) observations → ((N, A) logits, (N,) values). Parameters are kept by their shared names."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        super().__init__()
        if OWN in description:
            raise SettingsError(
                f"Network '{description['kind']}' is a pair of JAX functions, and this learner computes with torch. "
                "Use --learner jax, or a network of ours."
            )
        self.description = description
        dense = layer_shapes(description)
        for name, shape in param_shapes(description).items():
            layer, _, part = name.rpartition(".")
            attribute = name.replace(".", "__")  # torch allows no dots
            if name in INITIAL:
                self.register_buffer(attribute, torch.full(shape, INITIAL[name]))
                continue
            value = nn.Parameter(torch.zeros(shape))
            if layer in dense and part == "weight":
                nn.init.orthogonal_(value, GAINS.get(layer.partition("_")[0], math.sqrt(2)))
            elif not layer:  # a table of embeddings
                nn.init.normal_(value, std=0.1)
            self.register_parameter(attribute, value)

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        if observation.device.type == "cpu":
            return self._compute(observation)
        with observation.device:  # fixed tables are made where the observation is
            return self._compute(observation)

    def _compute(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        params = self.named()
        features = forward.prepare(TorchOps, self.description, params, observation)
        logits, value = forward.outputs(TorchOps, self.description, params, features)
        return logits, value[:, 0]

    def named(self) -> dict[str, Tensor]:
        """The parameters themselves, under the names every backend uses."""
        return {name: getattr(self, name.replace(".", "__")) for name in param_shapes(self.description)}

    def arrays(self) -> dict[str, np.ndarray]:
        """Copies of them."""
        return {name: value.detach().cpu().numpy().copy() for name, value in self.named().items()}

    def load_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """The inverse of `arrays`; parameters of another net are one clear sentence."""
        check_params(self.description, arrays)
        with torch.no_grad():
            for name, place in self.named().items():
                place.copy_(torch.as_tensor(np.array(arrays[name], np.float32)))


class TorchOps:
    """The arithmetic of `forward.Ops` in torch."""

    @staticmethod
    def constant(value: np.ndarray) -> Tensor:
        return torch.as_tensor(value)

    @staticmethod
    def columns(array: Tensor, start: int, stop: int) -> Tensor:
        return array[:, start:stop]

    @staticmethod
    def rows(array: Tensor, start: int, stop: int) -> Tensor:
        return array[start:stop]

    @staticmethod
    def split(array: Tensor, sizes: list[int]) -> list[Tensor]:
        return list(array.split(sizes, dim=1))

    @staticmethod
    def take(array: Tensor, indices: list[int]) -> Tensor:
        return array[..., torch.as_tensor(indices)]

    @staticmethod
    def reshape(array: Tensor, shape: tuple[int, ...]) -> Tensor:
        return array.reshape(shape)

    @staticmethod
    def swapped(array: Tensor) -> Tensor:
        return array.transpose(1, 2)

    @staticmethod
    def concat(arrays: list[Tensor], axis: int = -1) -> Tensor:
        return torch.cat(arrays, dim=axis)

    @staticmethod
    def relu(array: Tensor) -> Tensor:
        return torch.relu(array)

    @staticmethod
    def above_zero(array: Tensor) -> Tensor:
        return (array > 0).float()

    @staticmethod
    def maximum_over(array: Tensor, axis: int) -> Tensor:
        return array.amax(dim=axis, keepdim=True)

    @staticmethod
    def clip(array: Tensor, limit: Tensor) -> Tensor:
        return torch.maximum(torch.minimum(array, limit), -limit)

    @staticmethod
    def sum_over(array: Tensor, axis: int) -> Tensor:
        return array.sum(dim=axis)

    @staticmethod
    def to_index(array: Tensor) -> Tensor:
        return torch.round(array).long()

    @staticmethod
    def one_hot(index: Tensor, count: int) -> Tensor:
        return nn.functional.one_hot(index, count).float()

    @staticmethod
    def lookup(table: Any, index: Tensor) -> Tensor:
        if isinstance(table, nn.Parameter):
            return nn.functional.embedding(index, table)  # its gradient is far cheaper than that of plain indexing
        return torch.as_tensor(table)[index.long()]

    @staticmethod
    def fixed(array: Tensor) -> Tensor:
        return array.detach()

    @staticmethod
    def pick(array: Tensor, index: Tensor) -> Tensor:
        wide = index.long().reshape(*index.shape, *[1] * (array.ndim - 2)).expand(-1, -1, *array.shape[2:])
        return array.gather(1, wide)
