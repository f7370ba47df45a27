"""Starting a run: defaults, stake, deck, challenge, then the first draws in the game's order."""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import challenges as ch
from jimbot.games.balatro.rules import content, state
from jimbot.games.balatro.rules.antes import NO_SUIT, draw_boss, draw_targets
from jimbot.games.balatro.rules.chance.streams import pick, start_streams, stream_id
from jimbot.games.balatro.rules.inventory import START_COUNTER, add_joker, give_consumable
from jimbot.games.balatro.rules.playing_cards.cards import new_serial, put_card, shuffle_pile
from jimbot.games.balatro.rules.shop.vouchers import draw_ante_voucher, own_voucher
from jimbot.games.balatro.rules.tags import draw_skip_tags

_START = content.RATES["starting"]
_WEIGHTS = content.RATES["shop_weights"]
_MONEY, _HANDS, _DISCARDS, _HAND_SIZE = (_START[key] for key in ("dollars", "hands", "discards", "hand_size"))
_JOKER_SLOTS, _CONSUMABLE_SLOTS = _START["joker_slots"], _START["consumable_slots"]
_REROLL, _WIN_ANTE, _SHOP_SLOTS = _START["reroll_cost"], _START["win_ante"], _START["shop_slots"]
_INTEREST, _INTEREST_CAP = content.RATES["interest"]["dollars"], content.RATES["interest"]["up_to"]
_WEIGHT_OF_JOKER, _WEIGHT_OF_TAROT, _WEIGHT_OF_PLANET, _WEIGHT_OF_PLAYING_CARD = (
    _WEIGHTS[kind] for kind in ("Joker", "Tarot", "Planet", "PlayingCard")
)


def _deck_column(name: str) -> np.ndarray:
    return content.DECKS.column(lambda row: row["config"].get(name, 0), np.int64)


def _deck_lists(one: str, many: str, number: object, width: int) -> np.ndarray:
    """(deck, width) ids from a deck's single entry or list, -1 behind the end."""
    out = np.full((len(content.DECKS), width), -1, np.int64)
    for row in content.DECKS:
        entries = row["config"].get(many, [row["config"][one]] if one in row["config"] else [])
        for place, entry in enumerate(entries):
            out[content.DECKS.id(row["key"]), place] = number(entry)  # ty: ignore[call-non-callable]
    return out


_DECK_HANDS, _DECK_DISCARDS, _DECK_MONEY = (_deck_column(name) for name in ("hands", "discards", "dollars"))
_DECK_HAND_SIZE = _deck_column("hand_size")
_DECK_JOKER_SLOTS, _DECK_CONSUMABLE_SLOTS = _deck_column("joker_slot"), _deck_column("consumable_slot")
_DECK_SPECTRAL_WEIGHT = _deck_column("spectral_rate")
_DECK_VOUCHER = _deck_lists("voucher", "vouchers", content.VOUCHERS.id, 3)
_DECK_CONSUMABLE = _deck_lists("consumable", "consumables", content.CONSUMABLES.id, 2)

_ABANDONED, _CHECKERED, _ERRATIC = (content.DECKS.id(key) for key in ("b_abandoned", "b_checkered", "b_erratic"))
_ERRATIC_STREAM = stream_id("erratic")
_SHUFFLE_STREAM = stream_id("shuffle")
_HIGH_CARD = content.HANDS.id("High Card")
_HAND_COUNT = len(content.HANDS)
NO_ANTE = -(2**31)  # in `orbital_ante`


@njit
def _clear(g):
    """Back to an empty record of an ordinary run; streams are started separately."""
    g.phase = state.BLIND_SELECT
    g.pack_phase = state.BLIND_SELECT
    g.won = False
    g.ante = 1
    g.win_ante = _WIN_ANTE
    g.rounds = 0
    g.next_serial = 0
    g.steps = 0
    g.skips = 0
    g.hands_played = 0
    g.best_hand = 0.0
    g.unused_discards = 0
    g.tarots_used = 0
    g.planets_used = 0
    g.last_tarot_planet = -1
    g.ectoplasm_uses = 0
    g.michel_extinct = False
    g.first_booster_given = False
    for index in range(g.used.shape[0]):
        g.used[index] = 0
    for index in range(g.voucher_owned.shape[0]):
        g.voucher_owned[index] = 0
    for index in range(g.boss_uses.shape[0]):
        g.boss_uses[index] = 0
    for hand in range(_HAND_COUNT):
        g.hand_level[hand] = 1
        g.hand_played[hand] = 0
        g.hand_played_round[hand] = 0
    g.last_hand = -1
    g.most_played_hand = _HIGH_CARD


@njit
def _clear_lists(g):
    for slot in range(state.MAX_CARDS):
        g.card_place[slot] = state.NOWHERE
    for enhancement in range(g.enhancement_count.shape[0]):
        g.enhancement_count[enhancement] = 0
    g.card_count = 0
    g.pile_count = 0
    g.hand_count = 0
    g.selected = 0
    g.sort_by_suit = False
    g.grabbed = state.NOTHING
    g.grabbed_index = 0
    g.reorderings = 0
    g.joker_count = 0
    g.consumable_count = 0
    g.tag_count = 0
    g.shop_count = 0
    g.pack_count = 0
    g.pack_id = -1
    g.pack_picks = 0
    g.voucher_count = 0
    g.ante_voucher = -1
    g.booster_count = 0
    for place in range(g.offer_kind.shape[0]):
        g.offer_kind[place] = 0


@njit
def _clear_round(g):
    g.boss_rerolled = False
    for bank in range(g.orbital_ante.shape[0]):
        g.orbital_ante[bank] = NO_ANTE
    for index in range(3):
        g.blind_state[index] = state.UPCOMING
    g.blind_state[0] = state.SELECTABLE
    g.on_deck = 0
    g.blind = 0
    g.blind_disabled = False
    g.requirement = 0.0
    g.score = 0.0
    g.hands_left = 0
    g.discards_left = 0
    g.hands_played_round = 0
    g.discards_used = 0
    g.round_hand_size = 0
    g.blind_took_hands = 0
    g.blind_took_discards = 0
    g.blind_triggered = False
    g.blind_primed = False
    g.eye_used = 0
    g.mouth_hand = -1
    g.saved_by_bones = False
    g.payout = 0
    for part in range(g.payout_part.shape[0]):
        g.payout_part[part] = 0
    g.reroll_increase = 0
    g.reroll_rebate = 0
    g.free_rerolls = 0
    g.d6_shop = False
    g.idol_rank = 14
    g.idol_suit = 0
    g.mail_rank = 14
    g.castle_suit = 0
    g.ancient_suit = NO_SUIT


@njit
def _or_keep(value, usual):
    return usual if value == ch.KEEP else value


@njit
def _set_limits(g):
    """Start values: defaults, then stake, then deck; a challenge replaces the ones it names."""
    c = g.challenge
    g.money = _or_keep(ch.START_MONEY[c], _MONEY + _DECK_MONEY[g.deck])
    g.hands_per_round = _or_keep(ch.START_HANDS[c], _HANDS + _DECK_HANDS[g.deck])
    discards = _DISCARDS + content.STAKE_DISCARDS[g.stake] + _DECK_DISCARDS[g.deck]
    g.discards_per_round = _or_keep(ch.START_DISCARDS[c], discards)
    g.hand_size = _or_keep(ch.START_HAND_SIZE[c], _HAND_SIZE + _DECK_HAND_SIZE[g.deck])
    g.joker_slots = _or_keep(ch.START_JOKER_SLOTS[c], _JOKER_SLOTS + _DECK_JOKER_SLOTS[g.deck])
    g.consumable_slots = _CONSUMABLE_SLOTS + _DECK_CONSUMABLE_SLOTS[g.deck]
    g.reroll_base = _REROLL
    g.discount_percent = 0
    g.interest_cap = _INTEREST_CAP
    g.interest_per_five = _INTEREST
    g.inflation = 0
    g.edition_rate = 1.0
    g.shop_slots = _SHOP_SLOTS
    g.shop_weight[state.WEIGHT_JOKER] = _WEIGHT_OF_JOKER
    g.shop_weight[state.WEIGHT_TAROT] = _WEIGHT_OF_TAROT
    g.shop_weight[state.WEIGHT_PLANET] = _WEIGHT_OF_PLANET
    g.shop_weight[state.WEIGHT_PLAYING_CARD] = _WEIGHT_OF_PLAYING_CARD
    g.shop_weight[state.WEIGHT_SPECTRAL] = _DECK_SPECTRAL_WEIGHT[g.deck]


@njit
def _add_front(g, front, enhancement, seal):
    slot = np.int64(g.card_count)  # nothing was removed yet, so all slots below are taken and this one is free
    put_card(
        g,
        slot,
        content.FRONT_RANK[front],
        content.FRONT_SUIT[front],
        enhancement,
        0,
        seal,
        new_serial(g),
        state.IN_DECK,
    )


@njit
def build_deck(g):
    """Creates the playing cards in the order of their codes, which fixes their creation serials."""
    c = g.challenge
    if ch.DECK_SIZE[c] > 0:
        for place in range(ch.DECK_SIZE[c]):
            _add_front(g, ch.DECK_FRONT[c, place], ch.DECK_ENHANCEMENT[c, place], ch.DECK_SEAL[c, place])
    elif g.deck == _ERRATIC:
        # 52 draws with replacement, sorted afterwards; the tally lives in the pile, which is still empty.
        for front in range(52):
            g.pile[front] = 0
        for _ in range(52):
            g.pile[pick(g, _ERRATIC_STREAM, 52)] += 1
        for front in range(52):
            for _ in range(g.pile[front]):
                _add_front(g, front, 0, 0)
    else:
        for front in range(52):
            face = content.FRONT_RANK[front] >= 11 and content.FRONT_RANK[front] <= 13
            if not (face and g.deck == _ABANDONED):
                _add_front(g, front, 0, 0)
    if g.deck == _CHECKERED and c == 0:
        for slot in range(g.card_count):  # Clubs to Spades, Diamonds to Hearts
            g.card_suit[slot] = g.card_suit[slot] % 2
    g.starting_deck_size = g.card_count


@njit
def _own_starting_vouchers(g):
    for index in range(_DECK_VOUCHER.shape[1]):
        if _DECK_VOUCHER[g.deck, index] >= 0:
            own_voucher(g, _DECK_VOUCHER[g.deck, index])
    for index in range(ch.START_VOUCHER.shape[1]):
        if ch.START_VOUCHER[g.challenge, index] >= 0:
            own_voucher(g, ch.START_VOUCHER[g.challenge, index])


@njit
def _give_starting_cards(g):
    c = g.challenge
    for index in range(ch.START_JOKER.shape[1]):
        joker = ch.START_JOKER[c, index]
        if joker >= 0:
            edition, flags = ch.START_JOKER_EDITION[c, index], ch.START_JOKER_FLAGS[c, index]
            add_joker(g, joker, edition, flags, START_COUNTER[joker], new_serial(g))
    for index in range(2):
        if _DECK_CONSUMABLE[g.deck, index] >= 0:
            give_consumable(g, _DECK_CONSUMABLE[g.deck, index])
        if ch.START_CONSUMABLE[c, index] >= 0:
            give_consumable(g, ch.START_CONSUMABLE[c, index])


@njit
def clear_run(g):
    """Empties a record for the seed, deck, stake and challenge written in it; draws nothing.

    A challenge is played with a plain deck: the Checkered one, whose only effect is a start that challenges replace.
    """
    if g.challenge > 0:
        g.deck = _CHECKERED
    _clear(g)
    _clear_lists(g)
    _clear_round(g)
    _set_limits(g)
    start_streams(g)
    # Owned before the first draw: a deck's vouchers are never on sale and unlock their second tier.
    _own_starting_vouchers(g)


@njit
def start_run(g):
    """A run at its first blind selection; the caller has written seed, deck, stake, challenge and endless."""
    clear_run(g)
    draw_boss(g)
    draw_ante_voucher(g)
    draw_skip_tags(g)
    build_deck(g)
    shuffle_pile(g, _SHUFFLE_STREAM)
    draw_targets(g)
    _give_starting_cards(g)
    g.hands_left = 0
    g.discards_left = 0
