"""Opening and closing a booster pack, bought or given by a tag."""

from __future__ import annotations

from jimbot.games.balatro import hooks
from jimbot.games.balatro.challenges import INFLATION
from jimbot.games.balatro.compile import njit
from jimbot.games.balatro.content import PACK_DEALS_HAND
from jimbot.games.balatro.drawing import deal_pack_hand
from jimbot.games.balatro.packs import close_pack, open_pack
from jimbot.games.balatro.piles import return_hand
from jimbot.games.balatro.state import PACK


@njit
def start_pack(g, s, pack):
    """Opens a pack on top of the current phase; Arcana and Spectral packs deal a hand to use their cards on."""
    g.pack_phase = g.phase
    g.inflation += INFLATION[g.challenge]
    open_pack(g, pack)
    hooks.open_booster(g, s)
    if PACK_DEALS_HAND[pack]:
        deal_pack_hand(g)
    g.phase = PACK


@njit
def end_pack(g):
    """Puts the rest of the pack and the dealt hand away."""
    return_hand(g)
    close_pack(g)
    g.phase = g.pack_phase
