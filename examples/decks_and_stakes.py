"""How a policy does with every deck at White Stake, and with the Red Deck at every stake: a table for a model card.

python examples/decks_and_stakes.py --policy balatro --games 200
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from jimbot.evaluation import Evaluation, Interval, evaluate
from jimbot.games.balatro.options import DECK_NAMES, STAKE_NAMES
from jimbot.policies.players import find_player

HEAD = ("| deck | stake | games | wins | blinds cleared |", "|---|---|---|---|---|")


def rows(decks: Sequence[str], stakes: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Every deck at White Stake, then the other stakes with the Red Deck."""
    yield from ((deck, "white") for deck in decks)
    yield from (("red", stake) for stake in stakes if stake != "white")


def _percent(share: Interval | None) -> str:
    assert share is not None, "Balatro can be won"
    return f"{100 * share.mean:.1f} % ({100 * share.low:.1f} to {100 * share.high:.1f})"


def line(deck: str, stake: str, found: Evaluation) -> str:
    """One row of the table."""
    blinds = found.stats["blinds_cleared"]
    cleared = f"{blinds.mean:.1f} ({blinds.low:.1f} to {blinds.high:.1f})"
    return f"| {deck} | {stake} | {blinds.count} | {_percent(found.win_rate)} | {cleared} |"


def main(
    policy: str = "balatro",
    games: int = 200,
    seeds: str = "held-out",
    decks: Sequence[str] = tuple(DECK_NAMES),
    stakes: Sequence[str] = tuple(STAKE_NAMES),
) -> list[str]:
    """Plays, and prints every row as soon as it is known; returns the table's lines."""
    table = list(HEAD)
    print(*table, sep="\n")
    for deck, stake in rows(decks, stakes):
        options = find_player(
            policy, "balatro", {"deck": deck, "stake": stake}
        ).options  # with those it was trained with
        table.append(line(deck, stake, evaluate(policy, "balatro", games, bank=seeds, options=options)))
        print(table[-1], flush=True)
    return table


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", default="balatro", help="shipped, a run, a file, a heuristic player")
    parser.add_argument("--games", type=int, default=200, help="per row")
    parser.add_argument("--seeds", default="held-out", help="bank of seeds")
    main(**vars(parser.parse_args()))
