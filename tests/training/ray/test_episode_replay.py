"""RLlib's side of the replay: episodes in pieces, windows of one step out, priorities and state; no cluster needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray.rllib")

from ray.rllib.env.single_agent_episode import SingleAgentEpisode

from jimbot.games.probe import SPEC
from jimbot.training.ray.episode_replay import MASK, OBSERVATION, CompressedEpisodeReplay

SIZE, ACTIONS = SPEC.observation.size, SPEC.actions.size


def seen(number: int, step: int) -> dict[str, np.ndarray]:
    observation = np.random.default_rng(step).random(SIZE).astype(np.float32)
    observation[:2] = number, step
    mask = np.zeros(ACTIONS, bool)
    mask[step % ACTIONS] = True
    return {OBSERVATION: observation, MASK: mask}


def pieces(number: int, length: int, piece: int, end: str) -> list[SingleAgentEpisode]:
    """An episode of `length` steps, handed over every `piece` steps as RLlib's runners do it."""
    found = []
    for start in range(0, length, piece):
        stop = min(length, start + piece)
        last = stop == length
        found.append(
            SingleAgentEpisode(
                id_=f"episode {number}",
                observations=[seen(number, step) for step in range(start, stop + 1)],
                actions=[step % ACTIONS for step in range(start, stop)],
                rewards=[float(step) for step in range(start, stop)],
                terminated=last and end == "terminated",
                truncated=last and end == "truncated",
                t_started=start,
                len_lookback_buffer=0,
            )
        )
    return found


def filled(**settings: Any) -> CompressedEpisodeReplay:
    replay = CompressedEpisodeReplay(**{"capacity": 5000, "spec": SPEC, "max_bytes": 10**6, **settings})
    for number, (length, piece, end) in enumerate([(20, 7, "terminated"), (13, 13, "truncated"), (30, 4, "")]):
        for part in pieces(number, length, piece, end):
            replay.add([part.to_numpy() if number == 1 else part])
    return replay


def test_the_bias_of_priorities_is_corrected_more_and_more() -> None:
    """With `beta_steps` what `sample` is given is where it begins; the steps stored so far say how far it has come."""
    weights = {}
    for beta_steps in (None, 10**9, 1):
        replay = filled(beta_steps=beta_steps)
        replay.sample(num_items=63, beta=0.4)
        replay.update_priorities(np.linspace(0.1, 5.0, 63))
        drawn = replay.sample(num_items=200, beta=0.4)
        weights[beta_steps] = min(float(e.get_extra_model_outputs("weights", 0)) for e in drawn)
    assert weights[None] == pytest.approx(weights[10**9], rel=1e-3)
    assert weights[1] < weights[None] - 0.1


def test_windows_cross_pieces_and_end_with_their_episode() -> None:
    replay = filled()
    found = set()
    for episode in replay.sample(num_items=2000, n_step=3, gamma=0.5, beta=0.4):
        first, last = episode.get_observations(0), episode.get_observations(1)
        number, step = first[OBSERVATION][:2].astype(int)
        found.add((int(number), int(step)))
        length = {0: 20, 1: 12, 2: 29}[int(number)]  # a truncated step's end and the newest step's are not known
        steps = min(3, length - int(step))
        assert episode.get_extra_model_outputs("n_step", 0) == steps
        assert episode.get_rewards(0) == pytest.approx(sum(0.5**k * (step + k) for k in range(steps)))
        assert episode.is_terminated == (number == 0 and step + 3 >= 20)
        assert first[MASK].argmax() == step % ACTIONS == episode.get_actions(0)
        if not episode.is_terminated:
            np.testing.assert_array_equal(last[OBSERVATION], seen(number, step + steps)[OBSERVATION])
            np.testing.assert_array_equal(last[MASK], seen(number, step + steps)[MASK])
    assert found == {(n, s) for n, many in ((0, 20), (1, 12), (2, 29)) for s in range(many)}


def test_priorities_go_to_what_was_sampled_last() -> None:
    replay = filled(alpha=1.0)
    batch = replay.sample(num_items=500, n_step=1)
    wanted = np.array([5.0 if episode.get_observations(0)[OBSERVATION][1] == 2 else 1e-6 for episode in batch])
    replay.update_priorities(wanted)
    again = replay.sample(num_items=300, n_step=1)
    assert np.mean([episode.get_observations(0)[OBSERVATION][1] == 2 for episode in again]) > 0.95


def test_a_restored_buffer_samples_the_same_and_knows_running_episodes() -> None:
    replay, other = filled(), filled()
    other.set_state(replay.get_state())
    for one in (replay, other):
        one.add(pieces(2, 34, 30, "terminated")[1:])
    ours, theirs = (one.sample(num_items=50, n_step=2, beta=0.5) for one in (replay, other))
    for one, another in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one.get_observations(0)[OBSERVATION], another.get_observations(0)[OBSERVATION])
    assert replay.get_num_timesteps() == replay.get_added_timesteps() == 67
    assert replay.get_num_episodes() == 0


def test_the_limit_in_bytes_holds() -> None:
    replay = filled(max_bytes=30_000)
    for number in range(3, 60):
        replay.add(pieces(number, 40, 40, "terminated"))
        assert replay.store.nbytes <= 30_000
    assert min(episode.get_observations(0)[OBSERVATION][0] for episode in replay.sample(num_items=200)) > 10
