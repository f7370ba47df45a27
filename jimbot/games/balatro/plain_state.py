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
from jimbot.games.balatro.live import dialects as d
from jimbot.games.balatro.live.rebuild import rebuild
from jimbot.games.balatro.live.shown import (
    BOOSTER,
    CARD,
    CONSUMABLE,
    JOKER,
    UNSEEN,
    VOUCHER,
    Area,
    Blind,
    Card,
    Shown,
)
from jimbot.games.balatro.options import Options
from jimbot.games.balatro.rules.content import (
    BLINDS,
    CHALLENGES,
    CONSUMABLES,
    DECKS,
    EDITIONS,
    ENHANCEMENTS,
    FRONTS,
    HANDS,
    JOKERS,
    PACKS,
    RANK_LETTERS,
    SEALS,
    STAKES,
    SUITS,
    TAGS,
    VOUCHERS,
    parse_card,
)
from jimbot.games.balatro.rules.state import FIRST_PACK_OFFER, MAX_HAND, PERISHABLE, PHASE_NAMES
from jimbot.games.balatro.verify.recorded_states import (
    BLIND_NAMES,
    JOKER_COUNTERS,
    JOKER_VALUES,
    LOYALTY_CARD,
    OTHER_NAMES,
    PAYOUT_PARTS,
    TO_DO_LIST,
)
from jimbot.games.balatro.view.names import find_deck, find_stake
from jimbot.games.balatro.view.whole_state import (
    BLIND_STATES,
    CARD_MARKS,
    FIGURES,
    GRABBED,
    JOKER_MARKS,
    NAMED,
    PLAYED,
    bank_of,
    whole_state,
)
from jimbot.games.batch_game import BatchGame
from jimbot.games.hooks import Sight

_STATES = dict(zip(PHASE_NAMES, (d.BLIND_SELECT, d.SELECTING_HAND, d.ROUND_EVAL, d.SHOP, d.PACK), strict=False))
_ALWAYS = ("phase", "ante", "round", "money", "on_deck", "boss", "tags", "held_tags", "hands_left", "discards_left",
           "score", "deck_left", "deck_total", "hand_size", "hand", "jokers", "consumables", "levels",
           "targets")  # fmt: skip
_IN_PHASE = {"selecting_hand": ("blind",), "round_eval": ("earnings",), "shop": ("shop",), "pack": ("pack",)}
_ON_TOP = ("deck", "stake", "challenge", "vouchers", "pile", "laid_away", "selected", "grabbed", "blinds", "tag_hands",
           *PLAYED, *NAMED, "figures")  # fmt: skip
_KEYS = (*_ALWAYS, "blind", "blind_disabled", "earnings", "shop", "pack", *_ON_TOP)
_STATUS = {"blind_select": "SELECT", "selecting_hand": "CURRENT", "round_eval": "DEFEATED"}


def write_state(game: BatchGame, row: int) -> dict[str, Any]:
    """The whole state of a row."""
    return whole_state(cast(BalatroGame, game).games[row])


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
        if key not in _KEYS:
            raise UnknownNameError("key of a state", str(key), _KEYS)
    phase = values.get("phase")
    if not isinstance(phase, str) or phase not in _STATES:
        raise UsageError(f"The 'phase' of the state is {phase!r}; a move is made in {', '.join(_STATES)}.")
    for key in (*_ALWAYS, *_IN_PHASE.get(phase, ())):
        if key not in values:
            raise UsageError(f"The state has no '{key}', which the phase {phase} needs.")


def _record(values: Mapping[str, Any], options: Options) -> Any:
    g, _ = rebuild(_shown(values, options), bool(options.endless))
    for index, joker in enumerate(values["jokers"]):
        _grow(g, index, joker)
    for area, first in (("shop", 0), ("pack", FIRST_PACK_OFFER)):
        for place, card in enumerate(values.get(area, {}).get("cards", ()), first):
            g.offer_counter[place] = HANDS.id(card["hand"]) if "hand" in card else int(card.get("counter", 0))
    bank = bank_of(int(g.ante))
    g.orbital_ante[bank] = g.ante
    g.orbital_hand[bank][:2] = [HANDS.id(hand) if hand else -1 for hand in values.get("tag_hands", (None, None))]
    return g


def _grow(g: Any, index: int, joker: Mapping[str, Any]) -> None:
    """What a joker has grown to and counts; the inverse of `recorded_states.joker_state`."""
    number = int(g.joker_id[index])
    for name in JOKERS.rows[number].get("start", {}):
        name = OTHER_NAMES.get(name, name)
        if name in JOKER_VALUES and name in joker:
            g.joker_value[index] = float(joker[name])
        elif name in JOKER_COUNTERS and name in joker:
            g.joker_counter[index] = int(joker[name])
    if "value" in joker:  # with all its digits
        g.joker_value[index] = float(joker["value"])
    if number == TO_DO_LIST:
        g.joker_counter[index] = HANDS.id(joker["hand"])
    elif number == LOYALTY_CARD:
        g.joker_counter[index] = int(g.hands_played) - int(joker["hands_since_bought"])


# --- the state as a live one would show it ---


def _shown(values: Mapping[str, Any], options: Options) -> Shown:
    hand = [_card(card) for card in values["hand"]]
    pile, laid_away = _cards_left(values, hand)
    shop = values.get("shop") or {}
    played = {key: _by_hand(values.get(key, {}), 0) for key in PLAYED}
    return Shown(
        dialect=d.ONE,
        state=_STATES[values["phase"]],
        ante=int(values["ante"]),
        round=int(values["round"]),
        money=int(values["money"]),
        won=False,
        deck=DECKS.id(find_deck(values["deck"])) if "deck" in values else options.deck_id,
        stake=STAKES.id(find_stake(values["stake"])) if "stake" in values else options.stake_level,
        challenge=_challenge(values["challenge"]) if "challenge" in values else options.challenge_id,
        seed="",
        vouchers=frozenset(VOUCHERS.id(key) for key in values.get("vouchers", ())),
        levels=_by_hand(values["levels"], 1),
        played=played["played"],
        played_this_round=played["played_this_round"],
        counters={"hands_left": values["hands_left"], "discards_left": values["discards_left"],
                  "chips": values["score"], "reroll_cost": shop.get("reroll", 0)},
        blinds=_blinds(values),
        areas=_areas(values, hand, shop),
        unseen=tuple(pile),
        undrawn=len(pile),
        deck_size=int(values["deck_total"]),
        tags=tuple(TAGS.id(tag) for tag in values["held_tags"]),
        fool=None,
        most_played=None,
        starting_deck_size=None,
        laid_away=tuple(laid_away),
        told=_told(values),
    )  # fmt: skip


def _challenge(key: str) -> int:
    return CHALLENGES.id(key) if key else 0


def _by_hand(numbers: Mapping[str, Any], usual: int) -> tuple[int, ...]:
    for name in numbers:
        HANDS.id(name)
    return tuple(int(numbers.get(name, usual)) for name in HANDS.keys)


def _areas(values: Mapping[str, Any], hand: Sequence[Card], shop: Mapping[str, Any]) -> dict[str, Area]:
    on_sale = shop.get("vouchers", [shop["voucher"]] if shop.get("voucher") else [])
    cards: dict[str, Sequence[Card]] = {
        "jokers": [_thing(joker, sell=int(joker["sell"])) for joker in values["jokers"]],
        "consumables": [_thing(card, sell=int(card["sell"])) for card in values["consumables"]],
        "hand": hand,
        "shop": [_thing(card, buy=int(card["cost"])) for card in shop.get("cards", ())],
        "vouchers": [Card(VOUCHER, VOUCHERS.id(key), buy=int(cost)) for key, cost in on_sale],
        "packs": [Card(BOOSTER, PACKS.id(key), buy=int(cost)) for key, cost in shop.get("packs", ())],
        "pack": [_thing(card) for card in values.get("pack", {}).get("cards", ())],
    }
    limits = {"jokers": -1, "consumables": -1, "hand": int(values["hand_size"])}
    return {name: Area(tuple(area), limits.get(name, len(area))) for name, area in cards.items()}


def _blinds(values: Mapping[str, Any]) -> tuple[Blind, ...]:
    now = BLIND_NAMES.index(values["on_deck"])
    status = _STATUS.get(values["phase"], "UPCOMING" if "shop" in values else "SELECT")
    statuses = ["DEFEATED"] * now + [status] + ["UPCOMING"] * (2 - now)
    numbers = (0, 1, BLINDS.id(values["boss"]))
    tags = (*(TAGS.id(tag) for tag in values["tags"]), -1)
    return tuple(Blind(d.STATUS.index(statuses[place]), numbers[place], 0.0, tags[place]) for place in range(3))


def _told(values: Mapping[str, Any]) -> dict[str, Any]:
    """What goes into the record as it is."""
    figures = values.get("figures", {})
    for name in figures:
        if name not in FIGURES:
            raise UnknownNameError("figure of a state", str(name), FIGURES)
    targets = values["targets"]
    out = dict(figures) | {
        "idol_rank": RANK_LETTERS[targets["idol"]["rank"]],
        "idol_suit": SUITS.index(targets["idol"]["suit"]),
        "mail_rank": RANK_LETTERS[targets["mail"]],
        "ancient_suit": SUITS.index(targets["ancient"]),
        "castle_suit": SUITS.index(targets["castle"]),
        "on_deck": BLIND_NAMES.index(values["on_deck"]),
        "selected": sum(1 << place for place in {_place(chosen) for chosen in values.get("selected", ())}),
    }
    out |= {name: table.id(values[name]) if values[name] else -1 for name, table in NAMED.items() if name in values}
    if "blinds" in values:
        out["blind_state"] = [BLIND_STATES.index(state) for state in values["blinds"]]
    if values.get("grabbed"):
        out["grabbed"], out["grabbed_index"] = GRABBED.index(values["grabbed"][0]), _place(values["grabbed"][1])
    if "blind" in values:
        out["blind"], out["requirement"] = BLINDS.id(values["blind"][0]), float(values["blind"][1])
        out["blind_disabled"] = bool(values.get("blind_disabled"))
    if "earnings" in values:
        out["payout_part"] = [int(values["earnings"][part]) for part in PAYOUT_PARTS]
        out.setdefault("payout", sum(out["payout_part"]))
    if "pack" in values:
        out["pack_id"], out["pack_picks"] = PACKS.id(values["pack"]["key"]), int(values["pack"]["left"])
    return out


def _place(value: Any) -> int:
    if not 0 <= int(value) < MAX_HAND:
        raise UsageError(f"A card in place {value!r} is chosen or grabbed; expected a place of 0 to {MAX_HAND - 1}.")
    return int(value)


# --- cards ---


def _cards_left(values: Mapping[str, Any], hand: Sequence[Card]) -> tuple[list[Card], list[Card]]:
    """(undrawn, laid away); where they are not told, ordinary cards that are not in the hand."""
    held = [(card.rank, card.suit) for card in hand]
    others = [Card(CARD, rank=rank, suit=suit) for rank, suit in map(parse_card, FRONTS) if (rank, suit) not in held]
    left, total = int(values["deck_left"]), int(values["deck_total"])
    pile = [_card(card) for card in values["pile"]] if "pile" in values else others[:left]
    if "laid_away" in values:
        return pile, [_card(card) for card in values["laid_away"]]
    return pile, others[len(pile) : max(len(pile), total - len(hand))]


def _thing(value: Mapping[str, Any], buy: int = 0, sell: int = 0) -> Card:
    """A card of any kind: a playing card has a code, the others have keys."""
    if "c" in value:
        return _card(value)._replace(buy=buy)
    kind, table = (JOKER, JOKERS) if value["key"] in JOKERS else (CONSUMABLE, CONSUMABLES)
    perishable = bool(value.get("perishable"))
    return Card(
        kind, table.id(value["key"]), edition=_edition(value), eternal=bool(value.get("eternal")),
        perishable=int(value.get("perish_tally", 5)) if perishable else 0, rental=bool(value.get("rental")),
        debuffed=bool(value.get("debuff")), sell=sell, buy=buy,
        marks=_marks(value, JOKER_MARKS) | PERISHABLE * perishable,
    )  # fmt: skip


def _card(value: Mapping[str, Any]) -> Card:
    """A playing card; one that lies face down need not tell its face, and is then any of the undrawn ones."""
    if value.get("face_down") and "c" not in value:
        return Card(UNSEEN, forced=bool(value.get("forced")))
    rank, suit = parse_card(value["c"])
    return Card(
        CARD, rank=rank, suit=suit, enhancement=ENHANCEMENTS.id(value["enh"]) if "enh" in value else 0,
        edition=_edition(value), seal=SEALS.id(value["seal"]) if "seal" in value else 0,
        debuffed=bool(value.get("debuff")), chips=int(value.get("perma", 0)), marks=_marks(value, CARD_MARKS),
    )  # fmt: skip


def _marks(value: Mapping[str, Any], names: Mapping[str, int]) -> int:
    return sum(flag for name, flag in names.items() if value.get(name))


def _edition(value: Mapping[str, Any]) -> int:
    return EDITIONS.id(f"e_{value['ed']}") if "ed" in value else 0
