"""Opening and closing a booster pack, bought or given by a tag."""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.challenges import INFLATION
from jimbot.games.balatro.rules.content import PACK_DEALS_HAND
from jimbot.games.balatro.rules.dealing import deal_pack_hand
from jimbot.games.balatro.rules.jokers import moments
from jimbot.games.balatro.rules.pack_contents import close_pack, open_pack
from jimbot.games.balatro.rules.piles import return_hand
from jimbot.games.balatro.rules.state import PACK


@njit
def start_pack(g, s, pack):
    """Opens a pack on top of the current phase; Arcana and Spectral packs deal a hand to use their cards on."""
    g.pack_phase = g.phase
    g.inflation += INFLATION[g.challenge]
    open_pack(g, pack)
    moments.open_booster(g, s)
    if PACK_DEALS_HAND[pack]:
        deal_pack_hand(g)
    g.phase = PACK


@njit
def end_pack(g):
    """Puts the rest of the pack and the dealt hand away."""
    return_hand(g)
    close_pack(g)
    g.phase = g.pack_phase
