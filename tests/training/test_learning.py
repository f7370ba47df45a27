"""Learning works: `probe` is solved with its mask, and the control that ignores the mask cannot do it."""

from __future__ import annotations

import jax.numpy as jnp

from jimbot.games.probe import DOORS, Options, Probe
from jimbot.training.jax_ppo.program import fused_update, initial_state, network_for
from jimbot.training.session.log_rows import Measures
from tests.training.small import small_settings

UPDATES = 60


class UnmaskedProbe(Probe):
    """The control: the same game seen by a learner that is told every action is legal."""

    def legal_mask(self, state: object) -> jnp.ndarray:
        return jnp.ones(self.spec.actions.size, bool)


def final_return(game: Probe) -> dict[str, float]:
    settings = small_settings()
    network = network_for(settings, game.spec)
    state = initial_state(settings, network, game)
    update = fused_update(settings, network, game)
    measures = Measures(game.spec)
    for number in range(UPDATES):
        state, losses, measured = update(state, settings.ppo.lr)
        if number == UPDATES - 10:
            measures.take()
        measures.add(losses, measured, settings.batch_size)
    return measures.take()


def test_probe_is_solved_with_the_mask_and_no_action_is_ever_illegal() -> None:
    metrics = final_return(Probe())
    assert metrics["train/mean_episode_return"] > 0.97 * Options().horizon
    assert metrics["health/illegal_actions"] == 0


def test_probe_cannot_be_learned_without_the_mask() -> None:
    bound = Options().horizon / DOORS
    assert final_return(UnmaskedProbe())["train/mean_episode_return"] < 1.3 * bound


def test_shares_of_actions_sum_to_one_and_reward_terms_to_the_reward() -> None:
    metrics = final_return(Probe())
    shares = [value for name, value in metrics.items() if name.startswith("actions/")]
    assert abs(sum(shares) - 1) < 1e-6
    assert abs(metrics["reward/match"] - metrics["train/mean_reward"]) < 1e-6
