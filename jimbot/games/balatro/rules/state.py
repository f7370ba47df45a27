"""One game as one NumPy record of fixed size: everything that is not a rule.

A batch is a plain array of this dtype. Compiled functions take one record `g` by reference and read `g.money` or
`g.joker_id[2]`; the very same lines work on an uncompiled `np.record`. A snapshot is a copy of the record.

Sizes are caps. What happens at a cap is stated beside it; every cap lies beyond what a run that wins at ante 8 meets.
Lists are dense: entries 0..count-1 are valid, the rest is stale. Flags inside arrays are uint8 because Numba has no
nested boolean arrays.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.rules.chance.streams import BANKS, STREAM_FIELDS
from jimbot.games.balatro.rules.content import BLINDS, CONSUMABLES, HANDS, JOKERS, VOUCHERS

MAX_CARDS = 240  # playing cards owned; at the cap a new card is not created (its random draws still happen)
MAX_HAND = 64  # cards in hand; at the cap no more are drawn or put there
MAX_JOKERS = 32  # jokers held, Negative ones included; at the cap there is no free slot
MAX_CONSUMABLES = 32  # consumables held, Negative ones included; at the cap there is no free slot
MAX_TAGS = 32  # tags held; at the cap a gained tag is lost
MAX_SHOP_CARDS = 4  # 2, and 1 more per Overstock voucher
MAX_PACK_CARDS = 5  # a jumbo or mega pack
MAX_SHOP_VOUCHERS = 8  # 1, and 1 more per Voucher Tag; at the cap a Voucher Tag is not used
MAX_BOOSTERS = 2
MAX_OFFERS = MAX_SHOP_CARDS + MAX_PACK_CARDS
FIRST_PACK_OFFER = MAX_SHOP_CARDS

# Where a playing card is (`card_place`)
NOWHERE, IN_DECK, IN_HAND, IN_DISCARD, ON_TABLE = 0, 1, 2, 3, 4
# `card_flags`
CARD_DEBUFFED, CARD_FACE_DOWN, CARD_PLAYED_THIS_ANTE, CARD_FORCED, CARD_DEBUFFED_FOR_GOOD = 1, 2, 4, 8, 16
# `joker_flags` and `offer_flags` (stickers are shared)
ETERNAL, PERISHABLE, RENTAL, DEBUFFED, FACE_DOWN, PINNED, DOOMED, FREE = 1, 2, 4, 8, 16, 32, 64, 128
# `offer_kind`
OFFER_NONE, OFFER_JOKER, OFFER_CONSUMABLE, OFFER_CARD = 0, 1, 2, 3
# `blind_state` of Small, Big, Boss
UPCOMING, SELECTABLE, CURRENT, SKIPPED, DEFEATED = 0, 1, 2, 3, 4
# `phase`: which decisions are open
BLIND_SELECT, SELECTING_HAND, ROUND_EVAL, SHOP, PACK, GAME_OVER, WON = range(7)
PHASE_NAMES = ("blind_select", "selecting_hand", "round_eval", "shop", "pack", "game_over", "won")
# `grabbed`
NOTHING, GRABBED_JOKER, GRABBED_CONSUMABLE, GRABBED_HAND_CARD = range(4)
# `shop_weight`
WEIGHT_JOKER, WEIGHT_TAROT, WEIGHT_PLANET, WEIGHT_PLAYING_CARD, WEIGHT_SPECTRAL = range(5)

_FIELDS = [
    *STREAM_FIELDS,
    # --- the run ---------------------------------------------------------------------------------------------------
    ("deck", np.uint8),  # DECKS id
    ("stake", np.uint8),  # STAKES level 1..8
    ("challenge", np.uint8),  # CHALLENGES id, 0 for none: start values, custom rules and bans come from its tables
    ("endless", np.bool_),  # play on after the win ante
    ("phase", np.uint8),
    ("pack_phase", np.uint8),  # the phase to return to when the open pack closes
    ("won", np.bool_),  # the win ante's boss has been beaten
    ("ante", np.int32),  # 0 and below are possible through Hieroglyph and Petroglyph
    ("win_ante", np.int32),
    ("rounds", np.int32),  # blinds selected so far ("round" would hide behind a method of np.record)
    ("money", np.int64),
    ("next_serial", np.int32),  # creation serial of the next card of any kind; draws order card lists by it
    ("steps", np.int32),  # decisions taken, for truncation
    # --- what the run has counted ----------------------------------------------------------------------------------
    ("skips", np.int32),  # Throwback, Speed Tag
    ("hands_played", np.int32),  # in the run: Handy Tag, Loyalty Card
    ("best_hand", np.float64),  # the most points a single hand has scored
    ("unused_discards", np.int32),  # in finished rounds: Garbage Tag
    ("tarots_used", np.int32),  # Fortune Teller
    ("planets_used", np.uint16),  # bit set over the 12 Planets: Satellite
    ("last_tarot_planet", np.int8),  # CONSUMABLES id or -1: The Fool
    ("ectoplasm_uses", np.int16),  # each use costs one more hand size than the last
    ("michel_extinct", np.bool_),  # gates Gros Michel and Cavendish
    ("first_booster_given", np.bool_),  # the first booster of a run is a Buffoon pack without a draw
    # --- limits and rates (deck, stake, challenge, vouchers; jokers apply their own as they come and go) --------------
    ("hands_per_round", np.int16),
    ("discards_per_round", np.int16),
    ("hand_size", np.int16),
    ("joker_slots", np.int16),  # Negative jokers raise it while held
    ("consumable_slots", np.int16),  # Negative consumables raise it while held
    ("starting_deck_size", np.int16),  # Erosion
    ("reroll_base", np.int16),  # 5, less 2 per reroll voucher
    ("discount_percent", np.int16),  # Clearance Sale, Liquidation
    ("interest_cap", np.int16),  # in dollars held: 25, 50, 100
    ("interest_per_five", np.int16),  # 1, and 1 more per To the Moon
    ("inflation", np.int16),  # Inflation challenge
    ("edition_rate", np.float64),  # Hone 2, Glow Up 4
    ("shop_weight", np.float64, (5,)),  # of card types in the shop, in the order of the walk
    ("voucher_owned", np.uint8, (len(VOUCHERS),)),
    ("used", np.uint8, (len(JOKERS) + len(CONSUMABLES),)),  # keys that exist now (held, on sale, in the pack): blanks
    # --- poker hands -----------------------------------------------------------------------------------------------
    ("hand_level", np.int32, (len(HANDS),)),
    ("hand_played", np.int32, (len(HANDS),)),  # in the run
    ("hand_played_round", np.int32, (len(HANDS),)),
    ("last_hand", np.int8),  # last poker hand played (Blue Seal), -1 before the first
    ("most_played_hand", np.int8),  # stored after each boss for The Ox; High Card before the first
    # --- playing cards, by slot; slots are reused ------------------------------------------------------------------
    ("card_count", np.int16),  # cards owned: the full deck
    ("cards", np.uint8, (MAX_CARDS,)),  # their slots in creation order
    ("enhancement_count", np.int16, (9,)),  # owned cards by enhancement: joker gates, Stone and Steel Joker, License
    ("card_place", np.uint8, (MAX_CARDS,)),
    ("card_rank", np.uint8, (MAX_CARDS,)),  # 2..14; kept under Stone Cards, which do not show it
    ("card_suit", np.uint8, (MAX_CARDS,)),
    ("card_first_suit", np.uint8, (MAX_CARDS,)),  # the suit it was created with: the hand sort's second tie
    ("card_enhancement", np.uint8, (MAX_CARDS,)),
    ("card_edition", np.uint8, (MAX_CARDS,)),
    ("card_seal", np.uint8, (MAX_CARDS,)),
    ("card_flags", np.uint8, (MAX_CARDS,)),
    ("card_extra_chips", np.int32, (MAX_CARDS,)),  # permanent chips (Hiker)
    ("card_serial", np.int32, (MAX_CARDS,)),
    ("pile", np.uint8, (MAX_CARDS,)),  # undrawn cards by slot, bottom first: the last one is drawn next
    ("pile_count", np.int16),
    ("hand", np.uint8, (MAX_HAND,)),  # slots in display order
    ("hand_count", np.int16),
    ("selected", np.uint64),  # bit set over hand positions: the choice being built
    ("sort_by_suit", np.bool_),  # display order reapplied after draws
    ("grabbed", np.uint8),  # what the player is moving: NOTHING, or a kind of card (see actions.py)
    ("grabbed_index", np.int16),  # which one of its kind
    ("reorderings", np.uint8),  # moves and sorts since the last decision that advanced the game
    # --- jokers, left to right -------------------------------------------------------------------------------------
    ("joker_count", np.int16),
    ("joker_id", np.uint8, (MAX_JOKERS,)),
    ("joker_edition", np.uint8, (MAX_JOKERS,)),
    ("joker_flags", np.uint8, (MAX_JOKERS,)),
    ("joker_perish", np.int8, (MAX_JOKERS,)),  # rounds left of a Perishable; debuffed for good at 0
    ("joker_extra_value", np.int32, (MAX_JOKERS,)),  # added to the sell value (Egg, Gift Card)
    ("joker_serial", np.int32, (MAX_JOKERS,)),
    ("joker_value", np.float64, (MAX_JOKERS,)),  # what it has grown to: chips, Mult, X Mult, dollars, hand size, uses
    ("joker_counter", np.int32, (MAX_JOKERS,)),  # To Do List hand, Yorick cards left, Invisible rounds, Loyalty start
    # --- consumables, left to right --------------------------------------------------------------------------------
    ("consumable_count", np.int16),
    ("consumable_id", np.uint8, (MAX_CONSUMABLES,)),
    ("consumable_edition", np.uint8, (MAX_CONSUMABLES,)),  # 0 or Negative
    ("consumable_extra_value", np.int32, (MAX_CONSUMABLES,)),  # Gift Card
    ("consumable_serial", np.int32, (MAX_CONSUMABLES,)),
    # --- tags, in order of gain ------------------------------------------------------------------------------------
    ("tag_count", np.int16),
    ("tag_id", np.uint8, (MAX_TAGS,)),
    ("tag_hand", np.int8, (MAX_TAGS,)),  # the poker hand of an Orbital Tag
    # --- the ante's blinds -----------------------------------------------------------------------------------------
    ("boss", np.uint8),  # BLINDS id
    ("boss_uses", np.uint8, (len(BLINDS),)),  # a boss returns only when all eligible ones were used as often
    ("boss_rerolled", np.bool_),  # Director's Cut allows one per ante
    ("skip_tag", np.uint8, (2,)),  # of Small and Big
    ("orbital_ante", np.int32, (BANKS,)),  # antes whose choices were shown, in banks like the streams
    ("orbital_hand", np.int8, (BANKS, 3)),  # what an Orbital Tag of Small, Big, Boss raises: fixed when first shown
    ("blind_state", np.uint8, (3,)),
    ("on_deck", np.uint8),  # 0 Small, 1 Big, 2 Boss: the blind to come or being played
    # --- the round -------------------------------------------------------------------------------------------------
    ("blind", np.uint8),  # BLINDS id of the blind being played
    ("blind_disabled", np.bool_),  # Chicot, Luchador, Verdant Leaf after a sale
    ("requirement", np.float64),
    ("score", np.float64),  # round total
    ("hands_left", np.int16),
    ("discards_left", np.int16),
    ("hands_played_round", np.int16),  # DNA, Sixth Sense: 0 during the first hand
    ("discards_used", np.int16),  # Burnt Joker, Trading Card, Delayed Gratification
    ("round_hand_size", np.int16),  # Juggle Tags, The Manacle: added to hand_size for this round
    ("blind_took_hands", np.int16),  # The Needle, to give back when disabled
    ("blind_took_discards", np.int16),  # The Water, likewise
    ("blind_triggered", np.bool_),  # Matador
    ("blind_primed", np.bool_),  # The Fish, Crimson Heart
    ("eye_used", np.uint16),  # bit set over poker hands
    ("mouth_hand", np.int8),  # -1 before the first hand
    ("saved_by_bones", np.bool_),  # Mr. Bones: the blind pays no reward
    ("payout", np.int32),  # shown at round_eval, paid by cash-out
    ("payout_part", np.int32, (5,)),  # of it: blind, hands and discards left, jokers, tags, interest
    ("idol_rank", np.uint8),
    ("idol_suit", np.uint8),
    ("mail_rank", np.uint8),
    ("ancient_suit", np.uint8),
    ("castle_suit", np.uint8),
    # --- the shop and the open pack; offers 0..3 lie in the shop, 4..8 in the pack -----------------------------------
    ("shop_slots", np.int16),  # 2, and 1 more per Overstock
    ("shop_count", np.int16),
    ("pack_count", np.int16),
    ("offer_kind", np.uint8, (MAX_OFFERS,)),
    ("offer_id", np.uint8, (MAX_OFFERS,)),  # JOKERS or CONSUMABLES id; rank of a playing card
    ("offer_suit", np.uint8, (MAX_OFFERS,)),
    ("offer_enhancement", np.uint8, (MAX_OFFERS,)),
    ("offer_seal", np.uint8, (MAX_OFFERS,)),
    ("offer_edition", np.uint8, (MAX_OFFERS,)),
    ("offer_flags", np.uint8, (MAX_OFFERS,)),  # stickers, FREE (tag or coupon)
    ("offer_counter", np.int32, (MAX_OFFERS,)),  # becomes joker_counter: To Do List hand, Loyalty start
    ("offer_serial", np.int32, (MAX_OFFERS,)),
    ("pack_id", np.int8),  # PACKS id of the open pack, -1 for none
    ("pack_picks", np.int16),  # picks left
    ("voucher_count", np.int16),
    ("shop_voucher", np.uint8, (MAX_SHOP_VOUCHERS,)),
    ("ante_voucher", np.int8),  # the ante's voucher, kept between its shops; -1 once bought
    ("booster_count", np.int16),
    ("booster_id", np.uint8, (MAX_BOOSTERS,)),
    ("booster_free", np.uint8, (MAX_BOOSTERS,)),  # Coupon Tag
    ("reroll_increase", np.int16),  # dollars added by paid rerolls since the round began
    ("reroll_rebate", np.int16),  # a reroll voucher redeemed in a D6 shop: off the next reroll only
    ("free_rerolls", np.int16),  # Chaos the Clown
    ("d6_shop", np.bool_),  # D6 Tag: base reroll cost 0 in this shop
]

GAME_DTYPE = np.dtype((np.record, np.dtype(_FIELDS, align=True)))
BYTES_PER_GAME = GAME_DTYPE.itemsize
FIRST_CONSUMABLE_KEY = len(JOKERS)  # consumable i is entry FIRST_CONSUMABLE_KEY + i of `used`


def new_games(count: int) -> np.ndarray:
    """`count` blank records; `run_start.start_run` makes a game of each."""
    return np.zeros(count, GAME_DTYPE)
