"""The action table against the engine: masks are exact both ways, and every legal move of the game can be made."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from jimbot.games.balatro.encoding import action_table
from jimbot.games.balatro.encoding.action_table import ACTIONS, FIRST, INDEX, KIND, TARGETS, actions_for
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.balatro.rules import decisions, state
from jimbot.games.balatro.rules.content import CONSUMABLE_MAX_TARGETS, CONSUMABLES
from jimbot.games.balatro.rules.scratch import new_scratch
from tests.games.balatro.roaming import EVERY_START, diverse, help_along, new_game, roam

BOOKKEEPING = ("steps", "selected", "grabbed", "grabbed_index", "reorderings")
Move = tuple[int, int, int]  # kind, index, targets as the engine takes them


def positions(targets: int) -> list[int]:
    return [place for place in range(64) if targets >> place & 1]


def bits(cards: Any) -> int:
    return sum(1 << card for card in cards)


def without_bookkeeping(games: np.ndarray) -> bytes:
    """Everything the rules know of these games (field by field: what lies between fields means nothing)."""
    names = [name for name in games.dtype.names or () if name not in BOOKKEEPING]
    return b"".join(games[name].tobytes() for name in names)


class Engine:
    """The rules without the table: asks and plays on a copy."""

    def __init__(self) -> None:
        self.games = state.new_games(1)
        self.scratch = new_scratch()

    def after(self, record: Any, move: Move) -> np.ndarray | None:
        """The record after a move, or None if the engine refuses it."""
        self.games[0] = record
        kind, index, targets = move
        legal = decisions.apply(self.games[0], self.scratch[0], kind, index, np.uint64(targets))
        return self.games.copy() if legal else None


def candidate_moves(g: Any, rng: np.random.Generator) -> list[Move]:
    """All moves worth asking about: complete for small hands, with a sample of targets for larger ones."""
    hand = int(g.hand_count)
    subsets = [bits(cards) for size in range(5) for cards in combinations(range(min(hand, 7)), size)]
    if hand > 7:
        subsets += [bits(rng.choice(hand, min(hand, size), replace=False)) for size in (1, 2, 3, 4, 5, 6) * 12]
    moves: list[Move] = [
        (kind, 0, 0)
        for kind in (decisions.SELECT, decisions.SKIP, decisions.REROLL_BOSS, decisions.CASH_OUT, decisions.REROLL)
    ]
    moves += [(kind, 0, 0) for kind in (decisions.SKIP_PACK, decisions.NEXT)]
    moves += [(kind, 0, cards) for kind in (decisions.PLAY, decisions.DISCARD) for cards in subsets]
    moves += [(kind, i, 0) for kind in (decisions.BUY, decisions.REDEEM, decisions.OPEN) for i in range(9)]
    moves += [(kind, i, 0) for kind in (decisions.SELL_JOKER, decisions.SELL_CONSUMABLE) for i in range(9)]
    moves += [(decisions.BUY_AND_USE, i, cards) for i in range(g.shop_count) for cards in subsets[:40]]
    moves += [(decisions.PICK, i, cards) for i in range(g.pack_count) for cards in subsets]
    moves += [(decisions.USE, i, cards) for i in range(g.consumable_count) for cards in subsets]
    moves += [(decisions.SORT, i, 0) for i in range(3)]
    for kind, count in (
        (decisions.MOVE_JOKER, g.joker_count),
        (decisions.MOVE_CONSUMABLE, g.consumable_count),
        (decisions.MOVE_HAND, hand),
    ):
        moves += [(kind, i, j) for i in range(min(6, count + 1)) for j in range(min(6, count + 1))]
    return moves


def random_records(options: dict[str, Any], count: int, steps: int, seed: int = 5) -> np.ndarray:
    """Records of games in progress, with nothing chosen, grabbed or reordered."""
    game = new_game(count, seed=seed, **options)
    for _ in roam(game, steps, seed=seed):
        pass
    for name in BOOKKEEPING:
        game.games[name] = 0
    return game.games.copy()


def fill(game: BalatroGame, record: Any) -> None:
    game.games[:] = record
    game.look()


# --- the table ---


def test_the_table_has_at_most_a_thousand_actions_with_unique_labels():
    assert ACTIONS.size <= 1000
    assert len(set(ACTIONS.labels)) == ACTIONS.size
    assert ACTIONS.label(ACTIONS.index("play 1 4 5")) == "play 1 4 5"


def test_subset_actions_are_all_choices_of_up_to_five_of_eight_cards():
    plays = [int(targets) for targets in TARGETS[KIND == decisions.PLAY]]
    assert len(plays) == len(set(plays)) == 218
    assert sorted({len(positions(targets)) for targets in plays}) == [1, 2, 3, 4, 5]


def test_every_action_says_which_shown_rows_it_is_about():
    game = new_game(1)
    for block in ACTIONS.blocks:
        if not block.field:
            assert block.rows == ()
            continue
        shown = game.spec.observation[block.field].shape[0]
        assert len(block.rows) == len(block.labels)
        assert all(row < shown for rows in block.rows for row in rows)
    play = next(block for block in ACTIONS.blocks if block.name == "play")
    assert play.rows[play.labels.index("play 1 4 5")] == (0, 3, 4)
    choose = next(block for block in ACTIONS.blocks if block.name == "choose")
    assert choose.rows[15] == (15,)
    assert choose.rows[16] == ()


# --- the mask allows only what the engine allows, and does just that ---


def engine_move(g: Any, action: int) -> Move | None:
    """What an action means to the engine, told by its label alone; None for choosing and grabbing."""
    name, *numbers = ACTIONS.label(action).split()
    chosen = int(g.selected)
    if name in ("play", "discard"):
        return decisions.ACTION_KINDS.index(name), 0, bits(int(number) - 1 for number in numbers)
    if name in ("play_chosen", "discard_chosen"):
        return decisions.ACTION_KINDS.index(name.removesuffix("_chosen")), 0, chosen
    if name == "sort":
        return decisions.SORT, ["rank", "suit"].index(numbers[1]), 0
    if name == "choose" or name.startswith("grab"):
        return None
    index = int(numbers[0]) - 1 if numbers else 0
    if name == "place":
        return (
            (decisions.MOVE_JOKER, decisions.MOVE_CONSUMABLE, decisions.MOVE_HAND)[int(g.grabbed) - 1],
            int(g.grabbed_index),
            index,
        )
    kind = decisions.ACTION_KINDS.index(name)
    item = -1
    if name == "use":
        item = int(g.consumable_id[index])
    elif name in ("buy_and_use", "pick"):
        place = index + (state.FIRST_PACK_OFFER if name == "pick" else 0)
        item = int(g.offer_id[place]) if g.offer_kind[place] == state.OFFER_CONSUMABLE else -1
    return kind, index, chosen if item >= 0 and CONSUMABLE_MAX_TARGETS[item] else 0


@pytest.mark.parametrize("options", [{}, {"deck": "painted", "stake": 8}, {"challenge": "xray"}], ids=str)
def test_every_action_the_mask_allows_is_the_engines_own_move(options):
    engine = Engine()
    game = new_game(24, seed=3, **options)
    compared = 0
    rng = np.random.default_rng(3)
    for _ in range(150):
        help_along(rng, game)
        taken = diverse(rng, game)
        expected = []
        for row, action in enumerate(taken):
            move = engine_move(game.games[row], int(action))
            after = engine.after(game.games[row], move) if move else None
            assert move is None or after is not None, f"The engine refuses {ACTIONS.label(int(action))}."
            expected.append(after)
        game.step(taken)
        for row, after in enumerate(expected):
            if after is None:
                continue
            if after[0].phase in (state.GAME_OVER, state.WON):
                assert game.terminated[row]
            elif not game.truncated[row]:
                assert without_bookkeeping(game.games[row : row + 1]) == without_bookkeeping(after)
                compared += 1
    assert compared > 1000


@pytest.mark.parametrize("options", [{}, {"deck": "ghost"}, {"challenge": "xray"}], ids=str)
def test_every_bit_of_the_mask_is_right(options):
    """In random states, also with cards chosen or grabbed: allowed exactly if the engine would accept the move."""
    engine = Engine()
    game = new_game(12, seed=9, **options)
    asked = 0
    for step, _ in enumerate(roam(game, 120, seed=9)):
        if step % 4:
            continue
        g = game.games[step % 12]
        mask = game.legal_mask[step % 12]
        for action in range(ACTIONS.size):
            move = engine_move(g, action)
            if move is None:
                continue
            assert mask[action] == (possible_now(g, int(KIND[action])) and engine.after(g, move) is not None), (
                f"{ACTIONS.label(action)} at step {step}"
            )
            asked += 1
    assert asked > 10_000


def possible_now(g: Any, kind: int) -> bool:
    """What the table adds to the rules: choices, grabbed cards and the limit on reorderings."""
    if kind == action_table.PLACE or g.grabbed:
        return kind == action_table.PLACE and g.grabbed != 0
    if kind in (action_table.PLAY_CHOSEN, action_table.DISCARD_CHOSEN):
        return g.selected != 0
    return kind != decisions.SORT or g.reorderings < action_table.MOST_REORDERINGS


# --- choosing ---


@pytest.mark.parametrize("options", [{}, {"deck": "ghost", "stake": 3}], ids=str)
def test_a_card_can_be_chosen_exactly_if_a_legal_move_follows(options):
    engine = Engine()
    records = random_records(options, 20, 60)
    game = new_game(1)
    looked = 0
    for record in records:
        hand = int(record["hand_count"])
        if record["phase"] not in (state.SELECTING_HAND, state.PACK) or not 0 < hand <= 8:
            continue
        goals = all_targets(engine, record)
        fill(game, record)
        for chosen in ([], [0], [1, 3], [0, 1, 2], [2, 3, 4, 5]):
            if chosen and (chosen[-1] >= hand or not any(_begins(goal, chosen) for goal in goals)):
                continue
            game.games["selected"] = bits(chosen)
            game.look()
            for card in range(64):
                grown = sorted({*chosen, card})
                possible = card not in chosen and grown[-1] == card and any(_begins(goal, grown) for goal in goals)
                assert game.legal_mask[0, FIRST[action_table.CHOOSE] + card] == possible, (chosen, card)
                looked += 1
    assert looked > 500


def all_targets(engine: Engine, record: Any) -> set[int]:
    """Every set of hand cards that some legal move acts on."""
    hand = range(int(record["hand_count"]))
    moves = [(decisions.PLAY, 0, bits(cards)) for size in range(1, 7) for cards in combinations(hand, size)]
    some = [bits(cards) for size in range(1, 5) for cards in combinations(hand, size)]
    moves += [(decisions.USE, i, cards) for i in range(record["consumable_count"]) for cards in some]
    moves += [(decisions.PICK, i, cards) for i in range(record["pack_count"]) for cards in some]
    return {move[2] for move in moves if engine.after(record, move) is not None}


def _begins(goal: int, chosen: list[int]) -> bool:
    """Whether a choice is the beginning of a goal, from left to right."""
    return positions(goal)[: len(chosen)] == chosen


def test_choices_go_upwards_and_every_other_move_lets_go_of_them():
    game = new_game(1, seed=1)
    play(game, "select", "choose 2", "choose 4")
    assert positions(int(game.games["selected"][0])) == [1, 3]
    assert not legal(game, "choose 1")
    assert not legal(game, "choose 3")
    assert not legal(game, "choose 4")
    assert legal(game, "choose 5")
    assert legal(game, "play_chosen")
    assert legal(game, "discard_chosen")
    play(game, "sort by suit")
    assert int(game.games["selected"][0]) == 0
    assert not legal(game, "play_chosen")


def test_the_sixth_card_cannot_be_chosen():
    game = new_game(1, seed=1)
    play(game, "select", "choose 1", "choose 2", "choose 3", "choose 4", "choose 5")
    assert not legal(game, "choose 6")
    assert legal(game, "play_chosen")


def test_a_forced_card_is_part_of_every_choice():
    game = new_game(1, seed=1)
    play(game, "select")
    game.games["card_flags"][0, game.games["hand"][0, 4]] |= state.CARD_FORCED
    game.look()
    assert legal(game, "play 5")
    assert legal(game, "play 1 5")
    assert not legal(game, "play 1")
    assert legal(game, "choose 5")
    assert legal(game, "choose 1")
    assert not legal(game, "choose 6")
    play(game, "choose 1", "choose 2", "choose 3", "choose 4")
    assert not legal(game, "play_chosen")
    assert legal(game, "choose 5")
    assert not legal(game, "choose 6")


def test_in_a_pack_only_cards_that_something_can_be_used_on_are_chosen():
    game = new_game(1, seed=1)
    g = game.games[0]
    play(game, "select")
    g.phase, g.pack_phase, g.pack_id, g.pack_count, g.pack_picks = state.PACK, state.SELECTING_HAND, 0, 1, 1
    g.offer_kind[state.FIRST_PACK_OFFER], g.offer_id[state.FIRST_PACK_OFFER] = (
        state.OFFER_CONSUMABLE,
        CONSUMABLES.id("c_death"),
    )
    game.look()
    assert legal(game, "choose 7")
    assert not legal(game, "choose 8")
    assert not legal(game, "pick 1")
    play(game, "choose 7", "choose 8")
    assert legal(game, "pick 1")
    g.offer_id[state.FIRST_PACK_OFFER], g.selected = CONSUMABLES.id("c_aura"), 0
    g.card_edition[g.hand[2]] = 1
    game.look()
    assert legal(game, "choose 1")
    assert not legal(game, "choose 3")
    g.offer_id[state.FIRST_PACK_OFFER] = CONSUMABLES.id("c_hermit")
    game.look()
    assert legal(game, "pick 1")
    assert not legal(game, "choose 1")


def legal(game: BalatroGame, label: str) -> bool:
    return bool(game.legal_mask[0, ACTIONS.index(label)])


def play(game: BalatroGame, *labels: str) -> None:
    for label in labels:
        game.step(np.array([ACTIONS.index(label)]))


# --- reordering ---


def test_a_grabbed_card_has_to_be_placed_somewhere_else():
    game = new_game(1, seed=1)
    play(game, "select")
    hand = game.games["hand"][0, :8].tolist()
    play(game, "grab_hand 2")
    assert np.flatnonzero(game.legal_mask[0]).tolist() == [
        FIRST[action_table.PLACE] + place for place in range(8) if place != 1
    ]
    play(game, "place 4")
    assert game.games["hand"][0, :8].tolist() == [hand[0], hand[2], hand[3], hand[1], *hand[4:]]


def test_after_eight_reorderings_the_game_must_advance():
    game = new_game(1, seed=1)
    play(game, "select")
    for _ in range(4):
        play(game, "sort by suit", "grab_hand 1", "place 2")
    assert not legal(game, "sort by rank")
    assert not legal(game, "grab_hand 1")
    play(game, "discard 1")
    assert legal(game, "sort by rank")
    assert legal(game, "grab_hand 1")


def test_no_sequence_of_actions_goes_on_without_advancing_the_game():
    """A player who avoids every move that advances the game runs out of others."""
    game = new_game(16, seed=4)
    rng = np.random.default_rng(4)
    idle = np.isin(
        KIND,
        (
            decisions.SORT,
            action_table.CHOOSE,
            action_table.PLACE,
            *range(action_table.GRAB_JOKER, action_table.GRAB_HAND + 1),
        ),
    )
    waited = np.zeros(16, int)
    for _ in range(300):
        lazy = game.legal_mask & idle
        mask = np.where(lazy.any(axis=1, keepdims=True), lazy, game.legal_mask)
        waited = np.where(lazy.any(axis=1), waited + 1, 0)
        game.step(np.where(mask, rng.random(mask.shape), -1.0).argmax(axis=1))
        assert waited.max() <= 8 * (2 + 5) + 5  # before each reordering at most five cards are chosen


# --- reachability ---


@pytest.mark.parametrize("options", [{}, {"deck": "ghost", "stake": 8}, {"challenge": "five_card"}], ids=str)
def test_every_legal_move_is_reachable_and_does_the_same(options):
    reach_every_move(random_records(options, 24, 80))


def test_every_legal_move_of_a_big_hand_is_reachable():
    game = new_game(6, seed=2)
    game.games["hand_size"] += 6
    game.look()
    game.step(np.full(6, ACTIONS.index("select")))
    assert (game.games["hand_count"] == 14).all()
    reach_every_move(game.games.copy())


@pytest.mark.long
@pytest.mark.parametrize("options", EVERY_START, ids=str)
def test_every_legal_move_is_reachable_from_every_start(options):
    reach_every_move(random_records(options, 24, 150, seed=11))


def reach_every_move(records: np.ndarray) -> None:
    """Makes every legal move of every record by table actions, all moves of one record side by side."""
    engine, rng = Engine(), np.random.default_rng(1)
    reached = 0
    for record in records:
        found = [(move, engine.after(record, move)) for move in candidate_moves(record, rng)]
        wanted = [(move, after) for move, after in found if after is not None]
        game = new_game(len(wanted))
        fill(game, record)
        plans = [actions_for(kind, index, targets) for (kind, index, targets), _ in wanted]
        for number in range(max(map(len, plans))):
            ready = np.array([number < len(plan) for plan in plans])
            game.step(np.array([plan[min(number, len(plan) - 1)] for plan in plans]), hold=~ready)
            for row in np.flatnonzero(ready & np.array([number == len(plan) - 1 for plan in plans])):
                move, after = wanted[row]
                if after[0].phase in (state.GAME_OVER, state.WON):
                    assert game.terminated[row], move
                else:
                    assert without_bookkeeping(game.games[row : row + 1]) == without_bookkeeping(after), move
                reached += 1
        game.close()
    assert reached > 100


def test_actions_for_names_the_shortest_sequence():
    assert [ACTIONS.label(a) for a in actions_for(decisions.PLAY, 0, bits([0, 3]))] == ["play 1 4"]
    assert [ACTIONS.label(a) for a in actions_for(decisions.PLAY, 0, bits([0, 9]))] == [
        "choose 1",
        "choose 10",
        "play_chosen",
    ]
    assert [ACTIONS.label(a) for a in actions_for(decisions.USE, 2, bits([4]))] == ["choose 5", "use 3"]
    assert [ACTIONS.label(a) for a in actions_for(decisions.MOVE_JOKER, 1, 0)] == ["grab_joker 2", "place 1"]
    assert INDEX[FIRST[action_table.PLACE] + 3] == 3
