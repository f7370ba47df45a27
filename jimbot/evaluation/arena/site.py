"""The arena as pages that can lie anywhere: the table, a card for every player, every game to be replayed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from jimbot.evaluation.arena.league import Arena, Result, unpack
from jimbot.evaluation.arena.standings import Standing, standings
from jimbot.evaluation.report.page import page
from jimbot.games.contract import game_title
from jimbot.games.recording import Recording
from jimbot.games.seeds import seed_name
from jimbot.runs.files import make_directory, write_atomically

GAMES = "games"


def write_site(arena: Arena, folder: Path) -> int:
    """Writes `index.html`, `PLAYER.html` and `games/`; returns how many games are linked."""
    rows = standings(arena)
    make_directory(folder / GAMES)
    write_atomically(folder / "index.html", _index(arena, rows).encode())
    count = 0
    for name in arena.players:
        games = list(arena.results(name))
        for one in games:
            write_atomically(folder / GAMES / _file(one), recording_of(arena, one).to_json().encode())
        mine = [row for row in rows if row.player == name]
        write_atomically(folder / f"{name}.html", _card(arena, name, mine, games).encode())
        count += len(games)
    documents = [row.to_dict() for row in rows]
    write_atomically(folder / "standings.json", json.dumps({"game": arena.game, "rows": documents}, indent=1).encode())
    return count


def recording_of(arena: Arena, result: Result) -> Recording:
    """A game as a file that `jimbot replay` and `jimbot review` read."""
    labels = arena.entry.spec.actions
    options = arena.cells[result.cell]
    needed = {name: value for name, value in _options(arena, result).items() if name not in options}
    return Recording(
        arena.game, arena.entry.spec.version, result.seed, {**options, **needed},
        [labels.label(action) for action in unpack(result.moves).tolist()], result.total_return,
    )  # fmt: skip


def _options(arena: Arena, result: Result) -> Mapping[str, Any]:
    """Of the player: with those that it sees more by, the same actions mean the same."""
    return arena.players[result.player].player(arena.game, arena.cells[result.cell]).options


def _file(result: Result) -> str:
    return f"{result.player}-{result.cell}-{result.seed}.json"


def _index(arena: Arena, rows: Sequence[Standing]) -> str:
    body = [f"<h1>Arena: {escape(game_title(arena.game))}</h1>"]
    drawn = ", ".join(escape(one.drawn[:10]) for one in arena.rounds)
    body.append(
        f'<p class="lead">{sum(row.games for row in rows):,} games on seeds that were drawn after the players were '
        f"fixed ({drawn}); every game is a list of moves that anybody can replay. Rules {arena.engine}.</p>"
    )
    for cell, options in arena.cells.items():
        told = ", ".join(f"{name} {value}" for name, value in options.items()) or "as it comes"
        mine = [row for row in rows if row.cell == cell]
        body.append(f"<h2>{escape(cell)}</h2><p class=note>{escape(told)}</p>{_table(arena, mine)}")
    if any(row.known for row in rows):
        body.append("<p class=note>* entered after some of its seeds were drawn.</p>")
    return page(f"Arena: {game_title(arena.game)}", body)


def _table(arena: Arena, rows: Sequence[Standing], linked: bool = True) -> str:
    scores = list(dict.fromkeys(name for row in rows for name in row.scores))
    ladder = arena.entry.spec.ladder.replace("_", " ") or "return"
    head = "".join(f"<th class=n>{escape(name)}</th>" for name in ("games", "wins", ladder, *scores, "ms a decision"))
    lines = []
    for row in rows:
        name = f'<a href="{escape(row.player)}.html">{escape(row.player)}</a>' if linked else escape(row.cell)
        wins = "" if row.wins is None else f"{row.wins.mean:.1%} ({row.wins.low:.1%} to {row.wins.high:.1%})"
        told = [f"{row.games}{'*' if row.known else ''}", wins, f"{row.ladder.mean:.1f}"]
        told += [f"{row.scores[one]:.1f}" if one in row.scores else "" for one in scores]
        told.append(f"{row.milliseconds:.1f}")
        lines.append(f"<tr><td>{name}</td>{''.join(f'<td class=n>{one}</td>' for one in told)}</tr>")
    first = "player" if linked else "cell"
    return f"<div class=wide><table><tr><th>{first}</th>{head}</tr>{''.join(lines)}</table></div>"


def _card(arena: Arena, name: str, rows: Sequence[Standing], games: Sequence[Result]) -> str:
    one = arena.players[name]
    plan = f", {one.plan} simulations a decision" if one.plan else ""
    body = [
        f'<p><a href="index.html">Arena</a></p><h1>{escape(name)}</h1>',
        f'<p class="lead">{escape(one.reference)}{plan}, entered {escape(one.added)} as '
        f"<code>{escape(one.hash)}</code></p>",
        _table(arena, rows, linked=False),
        "<h2>Games</h2><p class=note>A file of moves each: <code>jimbot replay FILE</code> plays it again, "
        "<code>jimbot review FILE</code> says where it was decided.</p>",
        "<div class=wide><table><tr><th>seed</th><th>cell</th><th>result</th><th>proof</th></tr>",
    ]
    ladder = arena.entry.spec.ladder
    for game in games:
        won = "won" if game.stats.get("won") else "lost"
        reached = f", {game.stats[ladder]:.0f} {escape(ladder.replace('_', ' '))}" if ladder in game.stats else ""
        seed = escape(seed_name(arena.entry, game.seed, arena.cells[game.cell]))
        body.append(
            f'<tr><td><a href="{GAMES}/{escape(_file(game))}">{seed}</a></td><td>{escape(game.cell)}</td>'
            f"<td>{won}{reached}</td><td><code>{game.digest}</code></td></tr>"
        )
    return page(f"{name} in the arena", [*body, "</table></div>"])
