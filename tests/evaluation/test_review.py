"""Reviews: a planted blunder is found and a good move is not called one, nothing hidden is held against a move, logs of
other programs are read as far as they can be followed, and what was reviewed before is shown again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from jimbot.errors import TranscriptError, UsageError
from jimbot.evaluation.review import Review, Reviewer, review_game
from jimbot.evaluation.review.kept import by_group, reviewed
from jimbot.evaluation.review.reading import read_games
from jimbot.evaluation.review.verdicts import BLUNDER, MEASURING, SHARPNESS
from jimbot.games import make
from jimbot.games.balatro.encoding.action_table import actions_for
from jimbot.games.balatro.rules import decisions
from jimbot.games.balatro.rules.state import SELECTING_HAND
from jimbot.games.balatro.transcript import GameRecorder, Transcript
from jimbot.games.balatro.view.move_text import write_move
from jimbot.games.balatro.view.playback import Playback
from jimbot.games.hooks.people import LoggedGame
from jimbot.policies.players import Player, find_player
from jimbot.policies.win_chances import WinChances, win_chances
from tests.games.balatro.roaming import new_game
from tests.games.balatro.test_verify_live import Bot

SECONDS = 2.0


@pytest.fixture(scope="module")
def player() -> Player:
    return find_player("balatro")


@pytest.fixture(scope="module")
def chances(player: Player) -> WinChances:
    found = win_chances(player)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def blundered(player: Player) -> tuple[Playback, int]:
    """A game that the shipped policy plays until its best hand beats the blind with the last hand left: there one low
    card is played instead, and the game is lost. And which move that is."""
    game = new_game(1, seed_text="7LB2WVPK", helpers=True)
    recorder = GameRecorder(game)
    for _ in range(400):
        g = game.games[0]
        hand = g.phase == SELECTING_HAND and g.hands_played_round == 0 and g.ante == 2
        if hand and float(game.observation[0, game.spec.observation.offsets["best_play"] + 1]) < 1:
            break
        action = int(player.policy.act(game.observation, game.legal_mask).actions[0])
        recorder.note(action)
        game.step(np.array([action]))
    number = len(recorder.moves) + 1
    while game.games[0].phase == SELECTING_HAND:  # the lowest card alone, hand after hand
        action = actions_for(decisions.PLAY, 0, 1 << int(game.games[0].hand_count) - 1)[0]
        recorder.note(action)
        over = game.games[0].hands_left == 1
        game.step(np.array([action]))
        if over:
            break
    return Playback(Transcript("7LB2WVPK", moves=recorder.moves)), number


def last(review: Review | None) -> Review:
    assert review is not None
    return review


def test_a_thrown_game_is_found_out(blundered: tuple[Playback, int], player: Player):
    recorded, first = blundered
    review = None
    looks = [(review := found) and sum(one.cost is not None for one in found.verdicts) for found in review_game(
        recorded, player, 6.0, range(first, first + 4))]  # fmt: skip
    assert looks[0] == 0, "the curve comes first"
    assert looks == sorted(looks)
    thrown = last(review).verdicts[first - 1 : first + 3]
    worst = max(thrown, key=lambda one: one.loss)
    assert worst.mark == BLUNDER
    assert worst.cost is not None
    assert worst.cost.low > 0
    assert worst.line, "the better move is played out"
    assert last(review).won is False
    assert str(worst.number) in last(review).decided
    assert last(review).verdicts[-1].after.mean == 0, "after the last move the game is lost"
    before = [one for one in last(review).verdicts[: first - 1] if one.cost is not None]
    assert not before, "only the moves asked for were tried out"


def test_a_verdict_knows_nothing_of_what_is_hidden(
    blundered: tuple[Playback, int], player: Player, chances: WinChances
):
    recorded, first = blundered
    found = []
    for salt in (0, 1):
        reviewer = Reviewer(recorded, player, chances, range(first, first + 2))
        if salt:
            batch = reviewer.positions.batch
            for name, part in hidden_otherwise(reviewer).items():
                batch._snapshot[name] = part  # ty: ignore[missing-attribute]
        doubtful = [one for one in reviewer.review.verdicts if one.candidates]
        for _ in range(3):
            reviewer._try(doubtful)
        found.append([(one.played, one.better, one.best) for one in doubtful])
        reviewer.close()
    assert found[0] == found[1]
    assert len(found[0][0][0]) == 2 * MEASURING


def hidden_otherwise(reviewer: Reviewer) -> dict[str, np.ndarray]:
    """The same positions as the player sees them, with everything else dealt anew."""
    batch, count = reviewer.positions.batch, reviewer.positions.batch.num_envs
    game = make("balatro", count, options=vars(reviewer.positions.options))
    game.reset()
    game.restore(batch.snapshot(np.arange(count)))
    seen = game.observation.copy()
    game.redraw_hidden(np.arange(count), np.arange(count, dtype=np.uint64) + 99)
    assert (game.observation == seen).all()
    return game.snapshot()


def test_with_the_seed_known_one_deal_says_all(blundered: tuple[Playback, int], player: Player):
    recorded, first = blundered
    *_, review = review_game(recorded, player, 3.0, range(first, first + 1), know_the_seed=True)
    assert review.know_the_seed
    one = review.verdicts[first - 1]
    assert len(set(one.played)) == 1


def bot_log(tmp_path: Path, drop: int | None = None) -> Path:
    wire = Bot().play("REVIEW11", moves=12)
    lines = [json.dumps(one) for pair in wire for one in pair]
    if drop is not None:
        del lines[drop : drop + 10]
    path = tmp_path / "gpt-nano" / "game.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_log_of_another_program_is_its_game(tmp_path: Path):
    (found,) = read_games(bot_log(tmp_path))
    assert (found.player, found.note) == ("gpt-nano", "")
    *_, (run, _, _) = found.recorded.transcript.replay()  # ty: ignore[missing-attribute]
    assert run.g.rounds > 1


def test_what_a_log_leaves_out_is_said_and_not_guessed(tmp_path: Path):
    wire = Bot().play("REVIEW11", moves=12)
    plays = [
        place for place, (request, answer) in enumerate(wire) if request["method"] == "discard" and "result" in answer
    ]
    whole = read_games(bot_log(tmp_path))[0].recorded.count
    (cut,) = read_games(bot_log(tmp_path, drop=2 * plays[1]))
    assert cut.recorded.count < whole
    assert f"from move {cut.recorded.count + 1} on" in cut.note


@pytest.mark.parametrize(("text", "words"), [("{}", "no recorded game"), ("hello\n", "cannot be read"), ("[]", "")])
def test_other_files_are_one_sentence(tmp_path: Path, text: str, words: str):
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises((TranscriptError, UsageError)) as refused:
        read_games(path)
    assert "\n" not in str(refused.value)


def test_a_review_is_made_once(blundered: tuple[Playback, int], player: Player, tmp_path: Path):
    game, told = LoggedGame(blundered[0], "me"), []
    first = reviewed(game, player, 0.2, range(1, 3), runs_root=tmp_path, tell=told.append)
    again = reviewed(game, player, 0.2, range(1, 3), runs_root=tmp_path, tell=told.append)
    assert again == json.loads(json.dumps(first))
    many = len(told)
    reviewed(game, player, 0.2, range(1, 4), runs_root=tmp_path, tell=told.append)
    assert len(told) > many > 0


def test_an_interrupted_review_shows_what_is_there(blundered: tuple[Playback, int], player: Player, tmp_path: Path):
    def stop(review: Review) -> None:
        if review.simulations:
            raise KeyboardInterrupt

    found = reviewed(LoggedGame(blundered[0], "me"), player, 60.0, runs_root=tmp_path, tell=stop)
    assert found["simulations"] > 0
    assert not found["complete"]
    assert not (tmp_path / ".reviews").exists()


def test_players_are_compared_by_what_they_lose():
    def game(player: str, loss: float) -> dict:
        cost = {"mean": loss, "low": loss / 2, "high": 2 * loss}
        moves = [
            {"kind": "shop", "cost": cost},
            {"kind": "hand", "cost": None},
            {"kind": "hand", "cost": {**cost, "low": -0.1}},
        ]
        counts = {"blunder": int(loss > 0.12), "mistake": 0}
        return {
            "player": player,
            "won": False,
            "accuracy": {"all": 100 * np.exp(-loss / SHARPNESS)},
            "counts": counts,
            "moves": moves,
        }

    good, bad = by_group([game("a", 0.01), game("b", 0.2), game("b", 0.1)], "player")
    assert (good["player"], good["games"], bad["games"], bad["blunders"]) == ("a", 1, 2, 0.5)
    assert bad["lost"] == pytest.approx({"shop": 15.0, "hand": 0.0})


def test_a_move_of_several_actions_is_one_decision(player: Player, chances: WinChances):
    moves = ["select", write_move(decisions.SORT, 1, 0), "play 1 2 8"]
    reviewer = Reviewer(Playback(Transcript("4WAX5M4D", moves=moves)), player, chances)
    assert [one.number for one in reviewer.review.verdicts] == [1, 2, 3]
    assert reviewer.review.won is None
