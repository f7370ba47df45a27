"""A game, its things and its moves in words, as far as the player knows them.

Face-down cards and jokers stay unnamed. Logs, transcripts, `watch` and `play` all take their words from here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jimbot.games.balatro.encoding import action_table
from jimbot.games.balatro.rules import content, decisions
from jimbot.games.balatro.rules import state as r
from jimbot.games.balatro.states.document import joker_state
from jimbot.games.balatro.view.derived import read_derived
from jimbot.games.balatro.view.move_text import positions

SUIT_SIGNS = "♠♥♣♦"
HIDDEN = "face down"
STICKERS = ((r.ETERNAL, "Eternal"), (r.PERISHABLE, "Perishable"), (r.RENTAL, "Rental"))
_INVISIBLE_ROUNDS = content.JOKERS.row("j_invisible")["config"]["extra"]
_LOYALTY_HANDS = content.JOKERS.row("j_loyalty_card")["config"]["extra"]["every"] + 1


# --- things ---


def number(value: float) -> str:
    """A number as people read it: thousands apart, no empty decimals, big ones by powers of ten.

    >>> number(11000.0), number(1.25), number(3.2e15)
    ('11,000', '1.25', '3.200e15')
    """
    if abs(value) >= 1e12:
        return f"{value:.3e}".replace("e+", "e")
    return f"{value:,.2f}".rstrip("0").rstrip(".") if value != int(value) else f"{int(value):,}"


def dollars(amount: int) -> str:
    """Money as the game writes it.

    >>> dollars(7), dollars(-3)
    ('$7', '-$3')
    """
    return f"-${-amount}" if amount < 0 else f"${amount}"


def with_extras(name: str, *extras: str) -> str:
    known = [extra for extra in extras if extra]
    return f"{name} ({', '.join(known)})" if known else name


def playing_card(rank: int, suit: int, enhancement: int, edition: int, seal: int, *extras: str) -> str:
    """A playing card; a Stone Card shows neither rank nor suit."""
    face = (
        "Stone" if enhancement == content.STONE else content.LETTER_OF_RANK[rank].replace("T", "10") + SUIT_SIGNS[suit]
    )
    return with_extras(
        face,
        content.ENHANCEMENTS.name(enhancement).removesuffix(" Card") if enhancement not in (0, content.STONE) else "",
        content.EDITIONS.name(edition) if edition else "",
        f"{content.SEALS.key(seal)} Seal" if seal else "",
        *extras,
    )


def owned_card(g: Any, slot: int) -> str:
    """A playing card by slot, seen from the front."""
    rank, suit, enhancement, edition, seal = (
        int(g[f"card_{name}"][slot]) for name in ("rank", "suit", "enhancement", "edition", "seal")
    )
    extra = int(g.card_extra_chips[slot])
    return playing_card(rank, suit, enhancement, edition, seal, f"+{extra} chips" if extra else "")


def hand_card(g: Any, place: int) -> str:
    """A hand card by position, as the player sees it."""
    slot = int(g.hand[place])
    flags = int(g.card_flags[slot])
    forced = "forced" if flags & r.CARD_FORCED else ""
    if flags & r.CARD_FACE_DOWN:
        return with_extras(HIDDEN, forced)
    name = owned_card(g, slot)
    marks = [mark for mark in ("debuffed" if flags & r.CARD_DEBUFFED else "", forced) if mark]
    return f"{name} [{', '.join(marks)}]" if marks else name


def joker_value(g: Any, index: int) -> str:
    """What a joker has grown to or waits for; nothing for one that never changes."""
    state, words = joker_state(g, index), []
    forms = {
        "mult": lambda value: f"+{number(value)} Mult",
        "x_mult": lambda value: f"X{number(value)} Mult",
        "chips": lambda value: f"+{number(value)} chips",
        "dollars": lambda value: f"${number(value)} a round",
        "h_size": lambda value: f"+{number(value)} hand size",
        "uses": lambda value: f"{number(value)} hands left",
        "yorick_discards": lambda value: f"{value} discards to go",
        "invis_rounds": lambda value: f"{value} of {_INVISIBLE_ROUNDS} rounds",
        "hand": str,
        "hands_since_bought": lambda value: f"every {_LOYALTY_HANDS}th hand, {_loyalty_wait(value)}",
    }
    for name, value in state.items():
        words.append(forms[name](value))
    return ", ".join(words)


def _loyalty_wait(hands: int) -> str:
    wait = (_LOYALTY_HANDS - 1 - hands) % _LOYALTY_HANDS
    return "the next one" if wait == 0 else f"{wait} before it"


def joker(g: Any, index: int) -> str:
    """A held joker by place, with its present value, edition and stickers."""
    flags, edition = int(g.joker_flags[index]), int(g.joker_edition[index])
    if flags & r.FACE_DOWN:
        return HIDDEN
    stickers = [word for flag, word in STICKERS if flags & flag]
    if flags & r.PERISHABLE and not flags & r.DEBUFFED:
        stickers[stickers.index("Perishable")] = f"Perishable {int(g.joker_perish[index])}"
    return with_extras(
        content.JOKERS.name(int(g.joker_id[index])),
        joker_value(g, index),
        content.EDITIONS.name(edition) if edition else "",
        *stickers,
        "debuffed" if flags & r.DEBUFFED else "",
    )


def consumable(g: Any, index: int) -> str:
    """A held consumable by place."""
    edition = int(g.consumable_edition[index])
    return with_extras(
        content.CONSUMABLES.name(int(g.consumable_id[index])), content.EDITIONS.name(edition) if edition else ""
    )


def offer(g: Any, place: int) -> str:
    """A card in the shop or, from FIRST_PACK_OFFER on, in the open pack."""
    kind, identifier, edition = int(g.offer_kind[place]), int(g.offer_id[place]), int(g.offer_edition[place])
    if kind == r.OFFER_CARD:
        enhancement, seal = int(g.offer_enhancement[place]), int(g.offer_seal[place])
        return playing_card(identifier, int(g.offer_suit[place]), enhancement, edition, seal)
    stickers = [word for flag, word in STICKERS if g.offer_flags[place] & flag]
    name = (content.JOKERS if kind == r.OFFER_JOKER else content.CONSUMABLES).name(identifier)
    return with_extras(name, content.EDITIONS.name(edition) if edition else "", *stickers)


def pack_card(g: Any, number: int) -> str:
    """A card of the open pack."""
    return offer(g, r.FIRST_PACK_OFFER + number)


def blind_name(g: Any, place: int) -> str:
    """The ante's Small, Big or Boss Blind."""
    return ("Small Blind", "Big Blind", content.BLINDS.name(int(g.boss)))[place]


def the_blind(g: Any) -> str:
    """The blind that is up, with its article."""
    return f"the {blind_name(g, int(g.on_deck)).removeprefix('The ')}"


def tag(g: Any, index: int) -> str:
    """A held tag."""
    hand = int(g.tag_hand[index])
    name = content.TAGS.name(int(g.tag_id[index]))
    return (
        with_extras(name, content.HANDS.key(hand))
        if content.TAGS.key(int(g.tag_id[index])) == "tag_orbital" and hand >= 0
        else name
    )


# --- situations ---


def _listed(title: str, items: list[str]) -> list[str]:
    return [f"{title}: {', '.join(items)}."] if items else []


def _situation(g: Any, derived: Any) -> list[str]:
    """Sentences about what is to be decided."""
    if g.phase == r.BLIND_SELECT:
        place = int(g.on_deck)
        skip = f"; skipping it brings the {content.TAGS.name(int(g.skip_tag[place]))}" if place < 2 else ""
        boss = content.BLINDS.rows[int(g.boss)]
        return [
            f"Next is {the_blind(g)}, {number(derived.requirements[place])} points for "
            f"{dollars(int(derived.rewards[place]))}{skip}.",
            f"Boss of the ante: {boss['name']}. {boss['effect']}",
        ]
    if g.phase in (r.SELECTING_HAND, r.GAME_OVER):
        blind = content.BLINDS.rows[int(g.blind)]
        effect = f" {blind['effect']}" if blind["type"] == "boss" and not g.blind_disabled else ""
        return [
            f"{blind['name']}: {number(g.score)} of {number(g.requirement)} points, {int(g.hands_left)} hands and "
            f"{int(g.discards_left)} discards left, {int(g.pile_count)} of {int(g.card_count)} cards undrawn.{effect}"
        ]
    if g.phase == r.ROUND_EVAL:
        return [f"The round is won and pays {dollars(int(g.payout))}."]
    if g.phase == r.PACK:
        return [
            f"{content.PACKS.name(int(g.pack_id))}, {int(g.pack_picks)} to pick.",
            *_listed("Pack", [pack_card(g, place) for place in range(g.pack_count)]),
        ]
    if g.phase != r.SHOP:
        return []
    prices = derived.offers
    return [
        *_listed("Shop", [f"{offer(g, i)} {dollars(int(prices[i]))}" for i in range(g.shop_count)]),
        *_listed("Vouchers", [voucher_on_sale(g, derived, i) for i in range(g.voucher_count)]),
        *_listed("Boosters", [booster_on_sale(g, derived, i) for i in range(g.booster_count)]),
        f"A reroll costs {dollars(int(derived.reroll))}.",
    ]


def voucher_on_sale(g: Any, derived: Any, index: int) -> str:
    return f"{content.VOUCHERS.name(int(g.shop_voucher[index]))} {dollars(int(derived.vouchers[index]))}"


def booster_on_sale(g: Any, derived: Any, index: int) -> str:
    return f"{content.PACKS.name(int(g.booster_id[index]))} {dollars(int(derived.boosters[index]))}"


_PHASES = ("choose a blind", "play or discard", "cash out", "in the shop", "in a pack", "the run is lost", "won")


def describe(g: Any) -> str:
    """The situation of a game, a line for each kind of thing."""
    derived = read_derived(g)
    lines = [f"Ante {int(g.ante)}, round {int(g.rounds)}, {dollars(int(g.money))}: {_PHASES[g.phase]}."]
    lines += _situation(g, derived)
    lines += _listed("Hand", [hand_card(g, place) for place in range(g.hand_count)])
    lines += _listed("Jokers", [joker(g, index) for index in range(g.joker_count)])
    lines += _listed("Consumables", [consumable(g, index) for index in range(g.consumable_count)])
    lines += _listed("Tags", [tag(g, index) for index in range(g.tag_count)])
    lines += _listed("Vouchers owned", [content.VOUCHERS.name(i) for i, owned in enumerate(g.voucher_owned) if owned])
    raised = [f"{content.HANDS.key(i)} {int(level)}" for i, level in enumerate(g.hand_level) if level != 1]
    return "\n".join(lines + _listed("Levels", raised) + _choice(g))


# --- moves ---


def _cards(g: Any, targets: int) -> str:
    names = [hand_card(g, place) for place in positions(targets) if place < g.hand_count]
    return " ".join(names) if names else "nothing"


def _on(g: Any, targets: int) -> str:
    return f" on {_cards(g, targets)}" if targets else ""


def _skip(g: Any) -> str:
    return f"{the_blind(g)} for the {content.TAGS.name(int(g.skip_tag[g.on_deck]))}" if g.on_deck < 2 else the_blind(g)


Words = Callable[[Any, Any, int], str]  # (game, derived, place) → the thing there

# Moves with one thing: the verb, how many there are, and its words.
_ONE: dict[str, tuple[str, str, Words]] = {
    "buy": ("buy", "shop_count", lambda g, f, i: f"{offer(g, i)} for {dollars(int(f.offers[i]))}"),
    "buy_and_use": ("buy and use", "shop_count", lambda g, f, i: f"{offer(g, i)} for {dollars(int(f.offers[i]))}"),
    "redeem": ("redeem", "voucher_count", lambda g, f, i: voucher_on_sale(g, f, i)),
    "open": ("open", "booster_count", lambda g, f, i: booster_on_sale(g, f, i)),
    "pick": ("pick", "pack_count", lambda g, f, i: pack_card(g, i)),
    "use": ("use", "consumable_count", lambda g, f, i: consumable(g, i)),
    "sell_joker": ("sell", "joker_count", lambda g, f, i: f"{joker(g, i)} for {dollars(int(f.jokers[i]))}"),
    "sell_consumable": (
        "sell", "consumable_count", lambda g, f, i: f"{consumable(g, i)} for {dollars(int(f.consumables[i]))}",
    ),
    "move_joker": ("move", "joker_count", lambda g, f, i: joker(g, i)),
    "move_consumable": ("move", "consumable_count", lambda g, f, i: consumable(g, i)),
    "move_hand": ("move", "hand_count", lambda g, f, i: hand_card(g, i)),
}  # fmt: skip
# Moves with nothing to name.
_ALONE: dict[str, Callable[[Any, Any, int], str]] = {
    "select": lambda g, f, i: f"select {the_blind(g)}",
    "skip": lambda g, f, i: f"skip {_skip(g)}",
    "reroll": lambda g, f, i: f"reroll for {dollars(int(f.reroll))}",
    "reroll_boss": lambda g, f, i: "reroll the boss for $10",
    "cash_out": lambda g, f, i: f"cash out {dollars(int(g.payout))}",
    "skip_pack": lambda g, f, i: "skip the pack",
    "next": lambda g, f, i: "leave the shop",
    "sort": lambda g, f, i: f"sort the hand by {'suit' if i else 'rank'}",
}


def describe_move(g: Any, kind: int, index: int, targets: int) -> str:
    """An engine move in words, in the situation before it; a move that is not legal is described, too."""
    name, place, targets = decisions.ACTION_KINDS[kind], int(index), int(targets)
    if name in ("play", "discard"):
        return f"{name} {_cards(g, targets)}"
    derived = read_derived(g)
    if name in _ALONE:
        return _ALONE[name](g, derived, place)
    verb, count, thing = _ONE[name]
    what = thing(g, derived, place) if 0 <= place < g[count] else f"number {place + 1}, which is not there"
    if verb == "move":
        return f"move {what} to place {targets + 1}"
    return f"{verb} {what}{_on(g, targets)}"


# --- the table of actions ---


def grabbed(g: Any) -> str:
    """The card the player is moving."""
    index = int(g.grabbed_index)
    if g.grabbed == r.GRABBED_JOKER:
        return joker(g, index)
    return consumable(g, index) if g.grabbed == r.GRABBED_CONSUMABLE else hand_card(g, index)


def _choice(g: Any) -> list[str]:
    if g.grabbed != r.NOTHING:
        return [f"Moving {grabbed(g)}."]
    return _listed("Chosen", [hand_card(g, place) for place in positions(g.selected) if place < g.hand_count])


_GRABS: dict[int, tuple[str, Callable[[Any, int], str]]] = {
    action_table.GRAB_JOKER: ("joker_count", joker),
    action_table.GRAB_CONSUMABLE: ("consumable_count", consumable),
    action_table.GRAB_HAND: ("hand_count", hand_card),
}


def describe_action(g: Any, action: int) -> str:
    """An action of the flat table in words; one that is about nothing there is by its label."""
    kind, place = int(action_table.KIND[action]), int(action_table.INDEX[action])
    if kind == action_table.CHOOSE:
        return f"choose {hand_card(g, place)}" if place < g.hand_count else action_table.ACTIONS.label(action)
    if kind in _GRABS:
        count, words = _GRABS[kind]
        return f"take up {words(g, place)}" if place < g[count] else action_table.ACTIONS.label(action)
    if kind == action_table.PLACE:
        return (
            f"put {grabbed(g)} at place {place + 1}" if g.grabbed != r.NOTHING else action_table.ACTIONS.label(action)
        )
    move, index, targets = (int(part) for part in action_table.engine_move(g, action))
    name = decisions.ACTION_KINDS[move]
    if name in _ONE and not 0 <= index < g[_ONE[name][1]]:
        return action_table.ACTIONS.label(action)
    return describe_move(g, move, index, targets)


def ending(g: Any, cut: bool = False) -> str:
    """How a run ended, from its record after the last move."""
    beaten = f"{int(g.rounds) - int(g.phase == r.GAME_OVER)} blinds beaten"
    if g.won:
        after = f" and went on to ante {int(g.ante)}" if g.phase == r.GAME_OVER else ""
        return f"Won: beat ante {int(g.win_ante)}{after}; {beaten}, best hand {number(float(g.best_hand))} points"
    if g.phase == r.GAME_OVER:
        blind = blind_name(g, int(g.on_deck))
        score = f"{number(float(g.score))} of {number(float(g.requirement))} points"
        return (
            f"Lost to {blind if blind.startswith('The ') else f'the {blind}'} in ante {int(g.ante)}, {score}; {beaten}"
        )
    return f"{'Cut off by the step limit' if cut else 'Left'} in ante {int(g.ante)}; {beaten}"
