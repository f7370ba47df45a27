"""The settings of `jimbot clone`."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from jimbot.training.settings.record import CHANGEABLE, RunSettings

ALGORITHM = "BC"


class CloneSettings(RunSettings):
    """Everything that defines a run of behavioural cloning. The game and its options come from the dataset."""

    changeable: ClassVar[frozenset[str]] = CHANGEABLE | {"data", "epochs", "patience"}

    learner: str = Field("jax", description="The learner whose networks and checkpoints are made.")
    algorithm: str = Field(ALGORITHM, description="Behavioural cloning.")
    data: Path | None = Field(None, description="The dataset.")
    dataset: str = Field("", description="Fingerprint of the dataset; a run goes on only with the one it began with.")

    epochs: int = Field(20, ge=1, description="Passes over the data, at most.")
    patience: int = Field(3, ge=1, description="Stop after so many epochs without a lower validation loss.")
    batch_size: int = Field(1024, ge=1, description="Decisions per gradient step.")
    validation: float = Field(0.1, gt=0, lt=1, description="Share of the games kept for validation.")
    lr: float = Field(1e-3, gt=0, description="Learning rate (Adam).")
    anneal_lr: bool = Field(True, description="Lower the learning rate linearly to 0 over the epochs.")
    vf_coef: float = Field(0.5, ge=0, description="Weight of the value loss, whose unit is the variance of returns.")
    max_grad_norm: float = Field(1.0, gt=0, description="Gradients are clipped to this global norm.")
    targets: Literal["action", "probabilities"] = Field(
        "action", description="What to imitate: the teacher's choice, or its recorded probabilities."
    )
