"""Games written down: moves as text, the log in words, recordings that play again bit for bit."""

import json
from pathlib import Path

import numpy as np
import pytest

from jimbot.errors import IllegalActionError, TranscriptError, UsageError
from jimbot.games.balatro.options import VERSION
from jimbot.games.balatro.rules import decisions
from jimbot.games.balatro.states.document import read_state
from jimbot.games.balatro.transcript import GameRecorder, RecordedRun, Transcript, header
from jimbot.games.balatro.view.move_text import Move, read_move, write_move
from tests.games.balatro.strolling import stroll

STARTS = [
    {},
    {"deck": "Ghost Deck", "stake": "gold"},
    {"deck": "b_erratic", "stake": 5},
    {"challenge": "c_omelette_1"},
    {"deck": "b_plasma", "endless": True},
]


# --- moves as text ---


@pytest.mark.parametrize(
    ("move", "text"),
    [
        (Move(decisions.SELECT), "select"),
        (Move(decisions.PLAY, 0, 0b10101), "play 1 3 5"),
        (Move(decisions.DISCARD, 0, 1 << 63), "discard 64"),
        (Move(decisions.BUY, 1), "buy 2"),
        (Move(decisions.BUY_AND_USE, 0, 0b100), "buy_and_use 1 on 3"),
        (Move(decisions.USE, 0, 0b110), "use 1 on 2 3"),
        (Move(decisions.PICK, 4), "pick 5"),
        (Move(decisions.MOVE_JOKER, 0, 2), "move_joker 1 to 3"),
        (Move(decisions.MOVE_HAND, 7, 0), "move_hand 8 to 1"),
        (Move(decisions.SORT, 1), "sort suit"),
    ],
)
def test_a_move_and_its_text_find_each_other(move, text):
    assert write_move(*move) == text
    assert read_move(text) == move
    assert read_move(f"  {text.upper()} ") == move


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("dance", "Unknown move 'dance'"),
        ("", "Unknown move ''"),
        ("play", "'play' is no move; expected one like play 1 2"),
        ("play 0", "'play 0' is no move"),
        ("play 65", "'play 65' is no move"),
        ("select 1", "'select 1' is no move; expected one like select"),
        ("buy", "'buy' is no move; expected one like buy 1"),
        ("use 1 to 2", "'use 1 to 2' is no move; expected one like use 1 on 1 2"),
        ("move_joker 1", "'move_joker 1' is no move; expected one like move_joker 1 to 4"),
        ("sort colour", "'sort colour' is no move; expected 'sort rank' or 'sort suit'"),
    ],
)
def test_a_text_that_is_no_move_is_one_sentence(text, sentence):
    with pytest.raises(UsageError, match=sentence):
        read_move(text)


# --- recordings ---


@pytest.mark.parametrize("start", STARTS, ids=str)
@pytest.mark.parametrize("number", range(4))
def test_a_recorded_game_plays_again_bit_for_bit(start, number):
    game = stroll(RecordedRun("4WAX5M4D", **start), number)
    recording = Transcript.from_json(game.transcript().to_json())
    again = recording.play()
    assert again.g.tobytes() == game.g.tobytes()
    assert again.steps == game.steps
    assert again.transcript() == recording


def test_a_recording_names_version_seed_deck_stake_challenge_options_and_moves():
    game = RecordedRun("testseed", challenge="Omelette")
    game.do("select")
    document = json.loads(game.transcript().to_json())
    assert document["format"] == "jimbot-balatro-transcript"
    assert (document["format_version"], document["game"], document["game_version"]) == (1, "balatro", VERSION)
    assert (document["seed"], document["stake"], document["challenge"]) == ("TESTSEED", "stake_white", "c_omelette_1")
    assert document["options"] == {"endless": False}
    assert document["moves"] == ["select"]
    assert document["end"]["phase"] == "selecting_hand"


def recorded(**changes) -> str:
    game = RecordedRun("TESTSEED")
    for move in ("select", "play 1 2", "discard 3"):
        game.do(move)
    return json.dumps(json.loads(game.transcript().to_json()) | changes)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (recorded()[:-40], r"is damaged: line 1, column \d+: .*; expected JSON"),
        ("[]", "is no transcript of a Balatro game; expected the format 'jimbot-balatro-transcript'"),
        (recorded(format_version=2), "has format_version 2; this JimBot replays 1"),
        (recorded(game_version=99), f"has game_version 99; this JimBot replays {VERSION}"),
        (recorded(moves="select"), "is damaged: expected 'moves' as a list of texts"),
        (recorded(moves=[1]), "is damaged: expected 'moves' as a list of texts"),
        (recorded(seed=None), "is damaged: 'seed' is None; expected a text"),
        (recorded(options=[]), "is damaged: expected 'moves'"),
    ],
)
def test_a_recording_that_cannot_be_used_is_one_sentence(text, sentence):
    with pytest.raises(TranscriptError, match=f"'game.json' {sentence}"):
        Transcript.from_json(text, "'game.json'")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"moves": ["select", "cash_out"]},
            "Move 2 of the transcript cannot be played: 'cash_out' .* is not legal",
        ),
        ({"moves": ["select", "play 1 2", "dance"]}, "Move 3 of the transcript cannot be played: Unknown move 'dance'"),
        ({"moves": ["select", "play 1 2", "discard 4"]}, "does not end as recorded after 3 moves"),
        ({"seed": "TESTSEEE"}, "does not end as recorded"),
    ],
)
def test_a_recording_that_does_not_hold_is_one_sentence(changes, sentence):
    transcript = Transcript.from_json(recorded(**changes))
    with pytest.raises(TranscriptError, match=sentence):
        transcript.play()


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path):
    (tmp_path / "game.json").write_bytes(b"\xff\xfe")
    for name in ("game.json", "nothing.json"):
        with pytest.raises(TranscriptError, match=f"{name}' cannot be read"):
            Transcript.load(tmp_path / name)


def test_an_illegal_move_is_refused_and_leaves_the_game_alone():
    game = RecordedRun("TESTSEED")
    before = game.g.tobytes()
    with pytest.raises(IllegalActionError, match=r"'buy 3' \(buy number 3, which is not there\) is not legal now"):
        game.do("buy 3")
    assert game.g.tobytes() == before
    assert game.steps == []


# --- the log ---


def test_the_log_says_what_every_move_did():
    game = RecordedRun("4WAX5M4D")
    lines = [str(game.do(move)) for move in ("skip", "select", "play 1 2")]
    assert "skip the Small Blind for the Coupon Tag: Coupon Tag gained" in lines[0]
    assert "select the Big Blind" in lines[1]
    assert "points, " in lines[2]
    game.g.score = game.g.requirement
    assert "the blind is beaten and pays $" in str(game.do("play 1"))
    assert "+$" in str(game.do("cash_out"))
    bought = str(game.do("buy 1"))  # the coupon made it free
    assert "for $0" in bought
    assert "gained" in bought
    assert header(game.transcript()) == "Balatro, seed 4WAX5M4D, Red Deck, White Stake, 6 moves"


def test_the_log_never_names_a_card_that_lies_face_down():
    game = RecordedRun("TESTSEED")
    game.do("select")
    for place in range(8):
        game.g.card_flags[game.g.hand[place]] |= 2
    assert game.do("discard 1 2").words == "discard face down face down"


# --- games played with flat actions ---


def test_a_game_played_with_flat_actions_can_be_written_down():
    from jimbot.games.balatro.game import BalatroGame

    batch = BalatroGame(1, checked=True)
    batch.reset(np.array([12345], np.uint64))
    recorder = GameRecorder(batch)
    luck = np.random.default_rng(0)
    ended = False
    for _ in range(150):
        action = int(luck.choice(np.flatnonzero(batch.legal_mask[0])))
        recorder.note(action)
        batch.step(np.array([action]))
        ended = bool(batch.terminated[0])
        if ended:
            break
    transcript = recorder.transcript()
    assert len(transcript.moves) > 5
    if ended:
        assert transcript.end["phase"] in ("game_over", "won")
    else:
        assert read_state(transcript.play().g) == read_state(batch.games[0])
    batch.reset()
    batch.step(np.array([int(np.flatnonzero(batch.legal_mask[0])[0])]))
    with pytest.raises(UsageError, match="actions into its game; record it from the start"):
        GameRecorder(batch)
