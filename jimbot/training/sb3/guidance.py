"""What guides the first updates of a run that starts from another policy (`training.start`), for SB3's algorithms."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from jimbot.policies import torch_masking as masking
from jimbot.policies.torch_networks import TorchNetwork
from jimbot.training.init_policy import frozen_updates, pull_weight
from jimbot.training.settings.record import TrainSettings
from jimbot.training.torch_losses import Samples


class Guide(NamedTuple):
    """What guides one update; by default nothing."""

    pull: float = 0.0  # weight of the pull to the reference in this update
    reference: TorchNetwork | None = None  # the policy pulled to; None: no pull in this run
    frozen: tuple[str, ...] = ()  # parameters that stay as they are

    def of(self, batch: Samples) -> Samples:
        """The batch with what the policy pulled to would do; not asked once the pull has decayed to 0."""
        if self.reference is None:
            return batch
        if self.pull == 0:
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
    pull = float(pull_weight(settings, update)) if reference is not None else 0.0
    return Guide(pull, reference, tuple(name.replace("__", ".") for name in frozen))
