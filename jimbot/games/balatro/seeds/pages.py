"""Seeds for programs that know games by their hooks only: previews and searches with plain options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jimbot.errors import UnknownNameError
from jimbot.games.balatro.rules.chance.streams import SEED_COUNT, seed_number
from jimbot.games.balatro.seeds.finding import SeedPreview, preview, search
from jimbot.games.balatro.seeds.places import places
from jimbot.games.balatro.view.names import find_deck, find_stake
from jimbot.machine import usable_cores

CHOSEN = {"antes": 8, "deck": "Red Deck", "stake": "White Stake", "shop_cards": 4, "packs": 4}
SEARCHED = {**CHOSEN, "start": "", "max_seeds": SEED_COUNT}


def preview_seed(seed: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """What a seed holds; options: antes, deck, stake, shop_cards and packs (per ante)."""
    return seed_preview(seed, options).as_dict()


def seed_preview(seed: str, options: Mapping[str, Any]) -> SeedPreview:
    """The same as a record."""
    chosen = _chosen(options, CHOSEN)
    packs = chosen.pop("packs")
    return preview(seed, first_packs=packs, later_packs=packs, **chosen)


def search_seeds(question: str, limit: int, options: Mapping[str, Any]) -> Iterator[tuple[int, list[str]]]:
    """Seeds that answer a question; options as for a preview, and start (a seed) and max_seeds."""
    chosen = _chosen(options, SEARCHED)
    first = chosen.pop("start")
    start = seed_number(str(first)) if first else 0
    return search(question, limit, start=start, threads=usable_cores(), **chosen)


def seed_places(question: str, seed: str, options: Mapping[str, Any]) -> list[str]:
    """Where a seed has what a question asks for; options as for a search."""
    chosen = _chosen(options, SEARCHED)
    del chosen["start"], chosen["max_seeds"]
    return [str(place) for place in places(question, seed, **chosen)]


def _chosen(options: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    for name in options:
        if name not in known:
            raise UnknownNameError("option of a seed", name, known)
    chosen = {**known, **options}
    return {**chosen, "deck": find_deck(str(chosen["deck"])), "stake": find_stake(chosen["stake"])}
