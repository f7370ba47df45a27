"""Relief of memory: the program of the batch before does not stay beside the new one."""

from __future__ import annotations

from pathlib import Path

import pytest

from jimbot.training.framework import create_trainer
from jimbot.training.jax_ppo import program
from jimbot.training.jax_ppo.trainer import JaxPPOTrainer
from tests.training.small import SMALL


@pytest.mark.parametrize(("stepping", "kept"), [("host", program._learning), ("fused", program._fused)])
def test_smaller_pieces_leave_one_program_behind(tmp_path: Path, stepping: str, kept) -> None:
    trainer = create_trainer("probe", {**SMALL, "stepping": stepping}, root=tmp_path)
    assert isinstance(trainer, JaxPPOTrainer)
    trainer.create_model()
    total = trainer.settings.total_timesteps
    for pieces in (2, 4, 8):
        trainer.update(total)
        assert trainer.accumulate(pieces)
        trainer.update(total)
        assert kept.cache_info().currsize == 1
    trainer.close()
