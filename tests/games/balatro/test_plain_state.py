"""States by keys: what `RecordedRun.state()` writes, read back as what its player sees and may do."""

from __future__ import annotations

import copy
import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from google.protobuf.struct_pb2 import Struct

from jimbot.errors import UsageError
from jimbot.games.balatro.game import SPEC, BalatroGame
from jimbot.games.balatro.options import Options
from jimbot.games.balatro.rules.state import CARD_FACE_DOWN, SELECTING_HAND
from jimbot.games.balatro.states.document import read_state
from jimbot.games.balatro.states.plain import read_plain, write_state
from jimbot.games.balatro.transcript import RecordedRun
from jimbot.games.contract import game_entry
from jimbot.games.hooks.programs import Sight
from jimbot.proto.events_pb2 import GameState
from jimbot.services.decision.states import BY_KEYS, StateReader, state_forms
from tests.games.balatro.breaking import break_state
from tests.games.balatro.roaming import EVERY_START, new_game, roam

FEW_STARTS: list[dict[str, Any]] = [
    {},
    {"deck": "plasma", "stake": 8},
    {"deck": "abandoned", "stake": 6, "helpers": True},
    {"challenge": "inflation", "helpers": True},
]


def differences(game: BalatroGame, row: int) -> list[str]:
    """The fields, and the blocks of actions, in which a state written and read shows something else."""
    sight = read_plain(json.loads(json.dumps(write_state(game, row))), game.options)
    places = np.flatnonzero(sight.observation != game.observation[row])
    actions = np.flatnonzero(sight.legal_mask != game.legal_mask[row])
    fields = [field.name for field in SPEC.observation.fields if len(np.intersect1d(places, _places(field.name)))]
    return [*fields, *(SPEC.actions.blocks[SPEC.actions.block_of[action]].name for action in actions)]


def _places(field: str) -> np.ndarray:
    span = SPEC.observation.span(field)
    return np.arange(span.start, span.stop)


def found_over(starts: list[dict[str, Any]], rows: int, steps: int, every: int) -> tuple[int, Counter[str]]:
    """(states looked at, what differed and how often)."""
    looked, found = 0, Counter[str]()
    for number, options in enumerate(starts):
        game = new_game(rows, seed=number, **options)
        for step, _ in enumerate(roam(game, steps, seed=number)):
            if step % every == 0:
                looked += rows
                for row in range(rows):
                    found.update(differences(game, row))
        game.close()
    return looked, found


def test_a_state_read_back_shows_what_the_game_shows() -> None:
    looked, found = found_over(FEW_STARTS, rows=4, steps=260, every=20)
    assert looked > 200
    assert found == {}


@pytest.mark.long
def test_a_state_of_any_start_read_back_shows_what_the_game_shows() -> None:
    looked, found = found_over([{**start, "helpers": True} for start in EVERY_START], rows=8, steps=250, every=9)
    assert looked > 9_000
    assert found == {}


def a_round(seed: str = "4WAX5M4D") -> RecordedRun:
    run = RecordedRun(seed)
    run.do("select")
    run.do("discard 1 2 3")
    return run


def sight_of(run: RecordedRun) -> Sight:
    """What the game itself shows."""
    game = BalatroGame(1)
    game.games[0] = run.g
    game.look()
    return Sight(game.observation[0], game.legal_mask[0])


def assert_same(one: Sight, other: Sight) -> None:
    assert np.array_equal(one.observation, other.observation)
    assert np.array_equal(one.legal_mask, other.legal_mask)


def test_the_service_takes_a_state_by_keys() -> None:
    entry, run = game_entry("balatro"), a_round()
    assert BY_KEYS in state_forms(entry)
    values = Struct()
    values.update(run.state())
    sight = StateReader(entry, {}).read(GameState(by_keys=values))
    assert_same(sight, sight_of(run))
    assert sight.words is not None
    assert sight.words(SPEC.actions.labels.index("play 1")) == game_words(run, "play 1")


def game_words(run: RecordedRun, label: str) -> str:
    game = BalatroGame(1)
    game.games[0] = run.g
    return game.describe_action(0, SPEC.actions.labels.index(label))


def test_what_only_a_whole_state_tells_has_defaults() -> None:
    run = RecordedRun("4WAX5M4D")
    assert_same(read_plain(read_state(run.g), Options()), sight_of(run))
    blue = RecordedRun("4WAX5M4D", deck="b_blue", stake=5)
    assert_same(read_plain(read_state(blue.g), Options(deck="blue", stake=5)), sight_of(blue))
    later = a_round()
    sight = read_plain(read_state(later.g), Options())
    hand = _places("hand_card")
    assert np.array_equal(sight.observation[hand], sight_of(later).observation[hand])
    assert np.array_equal(sight.legal_mask, sight_of(later).legal_mask)


def test_what_nobody_can_know_changes_nothing() -> None:
    run = a_round()
    run.g.card_flags[run.g.hand[2]] |= CARD_FACE_DOWN
    told = run.state()
    blank = copy.deepcopy(told)
    blank["hand"][2] = {"face_down": 1}
    blank["pile"] = [*reversed(blank["pile"]), {"c": told["hand"][2]["c"]}]
    for values in (told, blank):
        assert_same(read_plain(values, Options()), sight_of(run))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"boss": None}, "has no 'boss', which the phase selecting_hand needs"),
        ({"blind": None}, "has no 'blind'"),
        ({"phase": "game_over"}, "a move is made in blind_select"),
        ({"bosss": "bl_hook"}, "Unknown key of a state 'bosss'"),
        ({"figures": {"stepz": 1}}, "Unknown figure of a state 'stepz'"),
        ({"jokers": [{"key": "j_joker"}]}, "has no 'sell'"),
        ({"jokers": [{"key": "j_jokr", "sell": 1}]}, "j_jokr"),
        ({"selected": [64]}, "place 64"),
        ({"grabbed": ["hand", -1]}, "place -1"),
        ({"grabbed": ["joker", 3]}, "grabbed a card that is not there"),
        ({"figures": {"hand_size": 10**6}}, "not as RecordedRun.state"),
    ],
)
def test_what_is_no_state_is_refused_in_a_sentence(change: dict[str, Any], words: str) -> None:
    values = {name: value for name, value in (a_round().state() | change).items() if value is not None}
    with pytest.raises(UsageError, match=words):
        read_plain(values, Options())


def test_a_broken_state_is_read_or_refused_in_a_sentence() -> None:
    game, luck = new_game(6, seed=3, stake=8), np.random.default_rng(5)
    refused = 0
    for step, _ in enumerate(roam(game, 400, seed=3)):
        if step % 20 == 0:
            for row in range(6):
                values = write_state(game, row)
                break_state(values, luck)
                try:
                    read_plain(values, Options())
                except UsageError:
                    refused += 1
    assert refused > 20


def test_whole_states_keep_what_recordings_write() -> None:
    run = a_round()
    assert run.g.phase == SELECTING_HAND
    recorded, whole = read_state(run.g), run.state()
    for name, value in recorded.items():
        if name == "hand":
            assert [{**card, **shown} for card, shown in zip(whole[name], value, strict=True)] == whole[name]
        else:
            assert whole[name] == value
