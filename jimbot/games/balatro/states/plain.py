"""A state by the game's own keys (`RecordedRun.state()`) as what its player sees and may do.

What recordings always write must be there. What a whole state tells on top may be missing, as in an older or
hand-written state; then it is assumed: the deck, stake and challenge of the options at their start, ordinary cards that
are not in the hand, no vouchers, nothing counted, nothing chosen, and limits as deck, vouchers and jokers set them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from jimbot.errors import UnknownNameError, UsageError
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.balatro.options import Options
from jimbot.games.balatro.rules import content as c
from jimbot.games.balatro.rules.state import FIRST_PACK_OFFER, PHASE_NAMES
from jimbot.games.balatro.states import dialects as d
from jimbot.games.balatro.states import document
from jimbot.games.balatro.states.rebuild import rebuild
from jimbot.games.balatro.states.shown import BOOSTER, CARD, VOUCHER, Area, Blind, Card, Shown
from jimbot.games.balatro.view.names import find_deck, find_stake
from jimbot.games.batch_game import BatchGame
from jimbot.games.hooks.programs import Sight

_STATES = dict(zip(PHASE_NAMES, (d.BLIND_SELECT, d.SELECTING_HAND, d.ROUND_EVAL, d.SHOP, d.PACK), strict=False))
_STATUS = {"blind_select": "SELECT", "selecting_hand": "CURRENT", "round_eval": "DEFEATED"}


def write_state(game: BatchGame, row: int) -> dict[str, Any]:
    """The whole state of a row."""
    return document.whole_state(cast(BalatroGame, game).games[row])


def read_plain(values: Mapping[str, Any], options: Any) -> Sight:
    """What the player of such a state sees; a UsageError where it is none."""
    _check_keys(values)
    game = BalatroGame(1, 0, options)
    try:
        game.games[0] = _record(values, options)
    except KeyError as problem:
        raise UsageError(f"Something in the state has no {problem}; give what RecordedRun.state() writes.") from problem
    except (TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as problem:
        raise UsageError(f"The state is not as RecordedRun.state() writes it: {problem}.") from problem
    faults = game.faults()
    if faults:
        raise UsageError(f"The state cannot be one of a game: it {faults[0].removeprefix('Game 0 ')}.")
    game.look()
    return Sight(game.observation[0], game.legal_mask[0], lambda action: game.describe_action(0, action), game)


def _check_keys(values: Mapping[str, Any]) -> None:
    for key in values:
        if key not in document.KEYS:
            raise UnknownNameError("key of a state", str(key), document.KEYS)
    phase = values.get("phase")
    if not isinstance(phase, str) or phase not in _STATES:
        raise UsageError(f"The 'phase' of the state is {phase!r}; a move is made in {', '.join(_STATES)}.")
    for key in document.needed_in(phase):
        if key not in values:
            raise UsageError(f"The state has no '{key}', which the phase {phase} needs.")


def _record(values: Mapping[str, Any], options: Options) -> Any:
    g, _ = rebuild(_shown(values, options), bool(options.endless))
    for index, joker in enumerate(values["jokers"]):
        document.grow_joker(g, index, joker)
    for area, first in (("shop", 0), ("pack", FIRST_PACK_OFFER)):
        for place, card in enumerate(values.get(area, {}).get("cards", ()), first):
            g.offer_counter[place] = c.HANDS.id(card["hand"]) if "hand" in card else int(card.get("counter", 0))
    bank = document.bank_of(int(g.ante))
    g.orbital_ante[bank] = g.ante
    g.orbital_hand[bank][:2] = [c.HANDS.id(hand) if hand else -1 for hand in values.get("tag_hands", (None, None))]
    return g


def _shown(values: Mapping[str, Any], options: Options) -> Shown:
    """The state as a live one would show it."""
    hand = [document.read_card(card) for card in values["hand"]]
    pile, laid_away = _cards_left(values, hand)
    shop = values.get("shop") or {}
    return Shown(
        dialect=d.ONE,
        state=_STATES[values["phase"]],
        ante=int(values["ante"]),
        round=int(values["round"]),
        money=int(values["money"]),
        won=False,
        deck=c.DECKS.id(find_deck(values["deck"])) if "deck" in values else options.deck_id,
        stake=c.STAKES.id(find_stake(values["stake"])) if "stake" in values else options.stake_level,
        challenge=_challenge(values["challenge"]) if "challenge" in values else options.challenge_id,
        seed="",
        vouchers=frozenset(c.VOUCHERS.id(key) for key in values.get("vouchers", ())),
        levels=_by_hand(values["levels"], 1),
        played=_by_hand(values.get("played", {}), 0),
        played_this_round=_by_hand(values.get("played_this_round", {}), 0),
        counters={"hands_left": values["hands_left"], "discards_left": values["discards_left"],
                  "chips": values["score"], "reroll_cost": shop.get("reroll", 0)},
        blinds=_blinds(values),
        areas=_areas(values, hand, shop),
        unseen=tuple(pile),
        undrawn=len(pile),
        deck_size=int(values["deck_total"]),
        tags=tuple(c.TAGS.id(tag) for tag in values["held_tags"]),
        laid_away=tuple(laid_away),
        known=document.read_fields(values),
    )  # fmt: skip


def _challenge(key: str) -> int:
    return c.CHALLENGES.id(key) if key else 0


def _by_hand(numbers: Mapping[str, Any], usual: int) -> tuple[int, ...]:
    for name in numbers:
        c.HANDS.id(name)
    return tuple(int(numbers.get(name, usual)) for name in c.HANDS.keys)


def _areas(values: Mapping[str, Any], hand: Sequence[Card], shop: Mapping[str, Any]) -> dict[str, Area]:
    on_sale = shop.get("vouchers", [shop["voucher"]] if shop.get("voucher") else [])
    thing = document.read_thing
    cards: dict[str, Sequence[Card]] = {
        "jokers": [thing(joker, sell=int(joker["sell"])) for joker in values["jokers"]],
        "consumables": [thing(card, sell=int(card["sell"])) for card in values["consumables"]],
        "hand": hand,
        "shop": [thing(card, buy=int(card["cost"])) for card in shop.get("cards", ())],
        "vouchers": [Card(VOUCHER, c.VOUCHERS.id(key), buy=int(cost)) for key, cost in on_sale],
        "packs": [Card(BOOSTER, c.PACKS.id(key), buy=int(cost)) for key, cost in shop.get("packs", ())],
        "pack": [thing(card) for card in values.get("pack", {}).get("cards", ())],
    }
    limits = {"jokers": -1, "consumables": -1, "hand": int(values["hand_size"])}
    return {name: Area(tuple(area), limits.get(name, len(area))) for name, area in cards.items()}


def _blinds(values: Mapping[str, Any]) -> tuple[Blind, ...]:
    now = document.BLIND_NAMES.index(values["on_deck"])
    status = _STATUS.get(values["phase"], "UPCOMING" if "shop" in values else "SELECT")
    statuses = ["DEFEATED"] * now + [status] + ["UPCOMING"] * (2 - now)
    numbers = (0, 1, c.BLINDS.id(values["boss"]))
    tags = (*(c.TAGS.id(tag) for tag in values["tags"]), -1)
    return tuple(Blind(d.STATUS.index(statuses[place]), numbers[place], 0.0, tags[place]) for place in range(3))


def _cards_left(values: Mapping[str, Any], hand: Sequence[Card]) -> tuple[list[Card], list[Card]]:
    """(undrawn, laid away); where they are absent, ordinary cards that are not in the hand."""
    held = [(card.rank, card.suit) for card in hand]
    fronts = map(c.parse_card, c.FRONTS)
    others = [Card(CARD, rank=rank, suit=suit) for rank, suit in fronts if (rank, suit) not in held]
    left, total = int(values["deck_left"]), int(values["deck_total"])
    pile = [document.read_card(card) for card in values["pile"]] if "pile" in values else others[:left]
    if "laid_away" in values:
        return pile, [document.read_card(card) for card in values["laid_away"]]
    return pile, others[len(pile) : max(len(pile), total - len(hand))]
