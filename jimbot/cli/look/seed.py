"""`jimbot seed`: what a Balatro seed holds, without playing it, and which seeds hold what you want."""

from __future__ import annotations

import os
import secrets
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from jimbot.cli.shared import terminal
from jimbot.cli.shared.command import adds
from jimbot.errors import UsageError

if TYPE_CHECKING:
    from jimbot.games.balatro.seeds.finding import Ante, Item, SeedPreview

NOT_FOUND, INTERRUPTED = 1, 130
NARROW = 76  # columns below which what a pack holds stands under its name
EXAMPLES = """jimbot seed 4WAX5M4D
jimbot seed 4WAX5M4D --antes 2 --deck ghost --stake gold --json
jimbot seed --find 'voucher:v_telescope@1 and joker:j_blueprint@<=2' --limit 10
jimbot seed --find 'joker:any+negative@1 and not boss:"The Needle"@<=3' --start 7LB2WVPK
jimbot seed --find 'voucher:v_telescope@1' > seeds.txt   (then: jimbot evaluate balatro --seeds-file seeds.txt)
Conditions: boss, voucher, tag, joker, tarot, planet, spectral, card or pack, a colon, a key or a name, for jokers an \
edition (+foil +holo +polychrome +negative), and antes (@3 @<=3 @>=5 @2-4); and, or, not and brackets combine them."""


def seed(
    seed: Annotated[str | None, typer.Argument(help="A seed: 1 to 8 characters out of 1-9 and A-Z.")] = None,
    antes: Annotated[int, "Antes to look at, 1 to 16."] = 8,
    deck: Annotated[str, "Deck, by key or name."] = "Red Deck",
    stake: Annotated[str, "Stake, by key, name or level 1 to 8."] = "White Stake",
    cards: Annotated[int | None, "Shop cards per ante: 12 shown, 4 searched (two shops without a reroll)."] = None,
    packs: Annotated[int | None, "Packs per ante: 4 in the first and 6 later shown, 4 searched."] = None,
    find: Annotated[str | None, "Search for seeds instead; see below.", "QUESTION"] = None,
    limit: Annotated[int, "Seeds to find."] = 10,
    start: Annotated[str | None, "Search from this seed on; otherwise from a random one."] = None,
    max_seeds: Annotated[int | None, "Give up after looking at this many seeds."] = None,
    as_json: Annotated[bool, "--json", "Print as JSON."] = False,
) -> None:
    """Show what a Balatro seed holds, or find seeds.

    Bosses, vouchers, tags, shop cards and opened packs of every ante as seed analysers show them: no shown card blocks
    another, no voucher is bought.
    """
    terminal.require_positive(limit=limit, max_seeds=max_seeds)
    if (seed is None) == (find is None):
        what = "Neither a seed nor --find is given" if seed is None else "Both a seed and --find are given"
        raise UsageError(f"{what}; expected one of them, such as: jimbot seed 4WAX5M4D")
    from jimbot.games.balatro.rules.chance.streams import SEED_COUNT, seed_number
    from jimbot.games.balatro.view.names import find_deck, find_stake

    chosen: dict[str, Any] = {"antes": antes, "deck": find_deck(deck), "stake": find_stake(stake)}
    if seed is not None:
        if start is not None or max_seeds is not None:
            raise UsageError("--start and --max-seeds belong to --find; leave them out to look at one seed.")
        _show_seed(seed, chosen, 12 if cards is None else cards, packs, as_json)
        return
    first = seed_number(start) if start is not None else secrets.randbelow(SEED_COUNT)
    chosen |= {"shop_cards": 4 if cards is None else cards, "packs": 4 if packs is None else packs}
    chosen |= {"limit": limit, "start": first, "max_seeds": max_seeds or SEED_COUNT, "threads": os.cpu_count() or 1}
    code = _search(str(find), chosen, as_json)
    if code:
        raise typer.Exit(code)


register = adds(seed, EXAMPLES)


# --- one seed ---


def _show_seed(seed: str, chosen: dict[str, Any], cards: int, packs: int | None, as_json: bool) -> None:
    from jimbot.games.balatro.seeds.finding import preview

    first, later = (4, 6) if packs is None else (packs, packs)
    with _status("Looking…", as_json):
        view = preview(seed, shop_cards=cards, first_packs=first, later_packs=later, **chosen)
    if as_json:
        terminal.print_json(view.as_dict())
    else:
        console = terminal.console()
        console.print(_page(view, console.width < NARROW))


def _page(view: SeedPreview, narrow: bool) -> RenderableType:
    from jimbot.games.balatro.rules.content import DECKS, JOKERS, STAKES
    from jimbot.games.balatro.view.things import RARITY_STYLES

    head = Text.assemble(
        (view.seed, "bold reverse"),
        f"  {DECKS.row(view.deck)['name']}, {STAKES.row(view.stake)['name']}",
        ("    the first Soul brings ", "dim"),
        (JOKERS.row(view.legendary)["name"], RARITY_STYLES[-1]),
    )
    return Group(head, *(_ante(ante, narrow) for ante in view.antes))


def _ante(ante: Ante, narrow: bool) -> RenderableType:
    from jimbot.games.balatro.rules.content import BLINDS, PACKS, TAGS, VOUCHERS
    from jimbot.games.balatro.view.things import BOSS_STYLE, TAG_STYLE, VOUCHER_STYLE, item_text, pack_text
    from jimbot.games.drawing import Flow

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    boss = BLINDS.row(ante.boss)
    grid.add_row("boss", Text.assemble((boss["name"], BOSS_STYLE), (f"  {boss['effect']}", "dim")))
    voucher = VOUCHERS.row(ante.voucher)
    grid.add_row("voucher", Text.assemble((voucher["name"], VOUCHER_STYLE), (f"  {voucher['effect']}", "dim")))
    small, big = (TAGS.row(tag)["name"] for tag in ante.tags)
    grid.add_row(
        "tags",
        Text.assemble((small, TAG_STYLE), (" skips the Small Blind, ", "dim"), (big, TAG_STYLE), (" the Big", "dim")),
    )
    if ante.shop:
        grid.add_row("shop", _queue(ante.shop))
    inside = Table.grid(padding=(0, 2))
    inside.add_column(min_width=0 if narrow else 28)  # the longest name, so that the packs of all antes line up
    inside.add_column()
    for pack in ante.packs:
        row = PACKS.row(pack.key)
        size = f"{row['picks']} of {row['cards']}"
        shown = Text.assemble(pack_text(pack.key), (f"  {size}", "dim"))
        cards = Flow(item_text(card) for card in pack.cards)
        if narrow:  # below each other: beside the name nothing would be left for them
            inside.add_row(Group(shown, Padding(cards, (0, 0, 0, 2))))
        else:
            inside.add_row(shown, cards)
    if ante.packs:
        grid.add_row("packs", inside)
    return Panel(grid, title=f"[bold]Ante {ante.ante}[/]", title_align="left", border_style="dim")


def _queue(items: tuple[Item, ...]) -> RenderableType:
    """Shop cards in the order they come, two per display."""
    from jimbot.games.balatro.view.things import item_text
    from jimbot.games.drawing import Flow

    pairs = [items[first : first + 2] for first in range(0, len(items), 2)]
    dot = Text.assemble((" · ", "dim"))
    return Flow((dot.join(map(item_text, pair)) for pair in pairs), "  │  ")


# --- searching ---


def _search(question: str, chosen: dict[str, Any], as_json: bool) -> int:
    """Prints seeds as they are found, each with where it holds what was asked for; Ctrl+C ends the search with what
    there is. The lines are a seeds file as they stand: what follows # is a remark."""
    from jimbot.games.balatro.rules.chance.streams import seed_text
    from jimbot.games.balatro.seeds.finding import search
    from jimbot.games.balatro.seeds.places import places
    from jimbot.training.session.interrupts import stop_requests

    found: dict[str, list[str]] = {}
    first = seed_text(chosen["start"])
    looking = {name: chosen[name] for name in ("antes", "deck", "stake", "shop_cards", "packs")}
    looked, interrupted, began = 0, False, time.monotonic()
    batches = search(question, **chosen)
    status = _status("Searching…", as_json)
    try:
        # Asked for between two batches: an exception in the middle of compiled code can get lost.
        with stop_requests(lambda: None) as request, status:
            for looked, seeds in batches:
                new = {text: [str(place) for place in places(question, text, **looking)] for text in seeds}
                found |= new
                if new and not as_json:
                    status.stop()
                    sys.stdout.write("".join(f"{text}  # {'; '.join(where)}\n" for text, where in new.items()))
                    sys.stdout.flush()
                    status.start()
                pace = looked / max(1e-9, time.monotonic() - began)
                status.update(f"{looked:,} seeds looked at, {pace:,.0f} a second, {len(found)} found (Ctrl+C ends)")
                if request.reason:
                    interrupted = True
                    break
    except KeyboardInterrupt:
        interrupted = True
    if as_json:
        about = {"question": question, "start": first, "looked_at": looked, "interrupted": interrupted}
        terminal.print_json({**about, "found": list(found), "places": found})
    else:
        ended = "Interrupted: " if interrupted else ""
        terminal.note(f"{ended}{len(found)} found, {looked:,} seeds looked at from {first} on.")
    if found:
        return 0
    return INTERRUPTED if interrupted else NOT_FOUND


def _status(words: str, quiet: bool) -> Any:
    from jimbot.foreign_text import Terminal

    return Terminal(stderr=True, quiet=quiet or not sys.stderr.isatty()).status(words)
