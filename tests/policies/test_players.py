"""One way to name a policy, the same for every command and from Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jimbot
from jimbot.cli.main import run
from jimbot.errors import CheckpointError, UsageError
from jimbot.policies.heuristics import RandomPolicy
from jimbot.policies.players import find_player
from jimbot.policies.portable import ADDRESSES, load_policy, register_address
from jimbot.runs import find_checkpoint
from jimbot.runs.checkpoint import PRETRAINED, shipped_games
from tests.cli.making import save_perfect


def rows() -> tuple[np.ndarray, np.ndarray]:
    game = jimbot.make("probe", 16, seed=3)
    game.reset()
    return game.observation.copy(), game.legal_mask.copy()


@pytest.mark.parametrize("game", shipped_games())
def test_a_games_name_is_its_ready_made_policy_wherever_one_is_wanted(game: str) -> None:
    assert find_checkpoint(game) == PRETRAINED / game
    player = find_player(game)
    assert (player.name, player.game) == (f"{game} (shipped)", game)
    assert player.options == player.manifest.game_options


def test_python_judges_a_shipped_policy_by_the_games_name() -> None:
    judged = jimbot.evaluate("hackmatrix", games=2, num_envs=2)
    assert judged.games.policy == "hackmatrix (shipped)"


def test_a_game_without_a_ready_made_policy_says_how_to_get_one() -> None:
    with pytest.raises(CheckpointError, match=r"no ready-made policy for 'probe'.*jimbot train probe"):
        find_player("probe")


def test_two_games_are_one_too_many() -> None:
    with pytest.raises(UsageError, match="'hackmatrix' and game 'probe' are two games"):
        find_player("hackmatrix", "probe")


def test_options_given_go_before_those_it_was_trained_with(tmp_path: Path) -> None:
    saved = str(save_perfect(tmp_path / "runs" / "mine", game_options={"horizon": 4}))
    assert find_player(saved).options == {"horizon": 4}
    assert find_player(saved, options={"horizon": 6}).options == {"horizon": 6}


def test_every_exported_file_plays_as_the_checkpoint_does(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    runs = tmp_path / "runs"
    save_perfect(runs / "mine")
    expected = load_policy("mine", runs_root=runs)[0].act(*rows())
    for kind in (".onnx", ".npz", ".pt"):
        file = tmp_path / f"policy{kind}"
        assert run(["export", "mine", "--output", str(file), "--runs-dir", str(runs)]) == 0
        player = find_player(str(file))
        assert player.game == "probe"
        np.testing.assert_array_equal(player.policy.act(*rows()).actions, expected.actions)


def test_a_pt_file_that_does_not_say_what_it_is_gets_a_sentence(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.save({"weight": torch.zeros(3)}, tmp_path / "foreign.pt")
    with pytest.raises(CheckpointError, match="does not say which game and network"):
        load_policy(tmp_path / "foreign.pt")
    (tmp_path / "broken.pt").write_bytes(b"not a file of tensors")
    with pytest.raises(CheckpointError, match="not a file of plain tensors"):
        load_policy(tmp_path / "broken.pt")


def test_a_file_is_not_called_missing(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(CheckpointError, match=r"notes\.txt is a file of another kind; expected a checkpoint"):
        find_checkpoint(tmp_path / "notes.txt")


def opened(address: str, game_id: str | None) -> RandomPolicy:
    policy = RandomPolicy(seed=len(address))
    policy.name = f"{address} for {game_id}"
    return policy


def test_an_address_is_opened_by_whoever_answers_for_its_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="cannot be reached at 'toy://here'"):
        load_policy("toy://here")
    monkeypatch.setattr("jimbot.policies.portable.ADDRESSES", dict(ADDRESSES))
    register_address("toy", f"{__name__}:opened")
    assert find_player("toy://here", "probe").policy.name == "toy://here for probe"
