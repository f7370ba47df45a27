"""What the games say: headline figures, how far they come, what the policy does, where games end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from jimbot.evaluation.figures import LENGTH, RETURN
from jimbot.evaluation.report import svg
from jimbot.evaluation.report.chronicle import Chronicle, Entry, Way
from jimbot.evaluation.report.page import folded, many, panel, section, table, tile
from jimbot.evaluation.summary import Evaluation

_ROWS = 15  # of a topic; the others are folded up
_MOST_LABELS = 20
WON = "won"
LOCKED_IN = 0.8  # share of the moments in which the same thing is there


def header(judged: Evaluation, subtitle: str) -> str:
    """Name, games and the figures somebody asks for first."""
    how = "the best action every time" if judged.deterministic else "actions drawn by chance"
    options = ", ".join(f"{name} {value}" for name, value in judged.options.items())
    game = f"{judged.games.game} ({options})" if options else judged.games.game
    words = f"{game} · {judged.count:,} games on {judged.bank} seeds, {how}"
    tiles = []
    if judged.win_rate is not None:
        rate = judged.win_rate
        tiles.append(
            tile(svg.percent(rate.mean), f"of games won ({svg.percent(rate.low)} to {svg.percent(rate.high)})")
        )
    ladder = judged.spec.ladder
    if ladder:
        mean = judged.stats[ladder]
        tiles.append(tile(f"{mean.mean:.2f}", f"{_plain(ladder)} on average ({mean.low:.2f} to {mean.high:.2f})"))
        tiles.append(tile(f"{max(judged.ladder, default=0)}", f"{_plain(ladder)} in the best game"))
    mean = judged.mean_return
    tiles.append(tile(svg.short(mean.mean), f"mean return ({svg.short(mean.low)} to {svg.short(mean.high)})"))
    tiles.append(tile(svg.short(judged.mean_length.mean), "actions a game"))
    tiles.append(tile(f"{judged.illegal_actions}", "illegal actions"))
    claim = f"<p>{escape(str(judged.claim))}</p>" if judged.claim else ""
    return (
        f"<h1>{escape(judged.policy)}</h1><p class='lead'>{escape(words)}{escape(subtitle)}</p>{claim}"
        f'<div class="tiles">{"".join(tiles).replace("tile", "tile first", 1)}</div>'
    )


def reach_section(judged: Evaluation) -> str:
    """How far games come."""
    charts = [
        svg.columns({str(value): count for value, count in counts.items()}, _plain(name))
        for name, counts in judged.distributions.items()
        if len(counts) > 1 and name != judged.spec.ladder
    ]
    curve = ""
    if judged.ladder:
        curve = panel(svg.survival_chart(judged.ladder, f"at least so many: {_plain(judged.spec.ladder)}"))
    return section(
        "How far it comes",
        "The share of games that came at least so far; the band holds the true share with 95 % confidence.",
        curve,
        many(charts),
    )


def doing_section(judged: Evaluation, chronicle: Chronicle) -> str:
    """Kinds of actions and, where labels mean something by themselves, the actions taken most."""
    shares = {name: share for name, share in chronicle.block_shares().items() if share > 0}
    order = sorted(shares, key=lambda name: -shares[name])
    most = max(shares.values())
    rows = [[escape(_plain(name)), svg.bar(shares[name] / most), svg.percent(shares[name])] for name in order]
    counts = chronicle.action_counts()
    best = [action for action in counts.argsort(kind="stable")[::-1][:_MOST_LABELS].tolist() if counts[action]]
    labels = [
        [
            escape(judged.spec.actions.label(action)),
            svg.bar(counts[action] / counts[best[0]]),
            f"{counts[action] / judged.count:,.2f}",
        ]
        for action in best
    ]
    return section(
        "What it does",
        f"All {counts.sum():,} actions by kind.",
        panel(table(["kind", "", "share of actions"], rows, (2,))),
        folded("The actions taken most", table(["action", "", "a game"], labels, (2,))),
    )


def topics_section(judged: Evaluation, chronicle: Chronicle) -> str:
    """What the game's own diary counted."""
    reached = judged.games.stat(judged.spec.ladder) if judged.spec.ladder else None
    parts = []
    for topic, title in chronicle.topics.items():
        entries = chronicle.table(topic, reached)
        if entries:
            parts.append(f"<h3>{escape(title)}</h3>{_topic(entries, judged)}")
    parts += [_variety(chronicle)] if chronicle.variety.spread() else []
    won = judged.games.stat(WON) if WON in judged.spec.episode_stats else None
    parts += [_ways(chronicle, ways)] if (ways := chronicle.ways_played(won)) else []
    unit = _plain(judged.spec.ladder)
    note = (
        f"“Afterwards” compares games with others that had come just as far: how many more {unit} they went on to "
        "reach after the first time this happened. Green and red are sure with 95 % each; among many rows one in "
        "twenty is luck, and what goes together need not be its cause."
    )
    return section("What happens in its games", note, *parts)


def _topic(entries: Sequence[Entry], judged: Evaluation) -> str:
    most = max(entry.count for entry in entries)
    effects = [entry.afterwards for entry in entries if entry.afterwards is not None]
    rated = any(entry.success is not None for entry in entries)
    widest = max((max(abs(effect.low), abs(effect.high)) for effect in effects), default=1.0)
    widest = min(widest, 3 * max((abs(effect.mean) for effect in effects), default=1.0) + 0.1)
    heads = ["", "", "times", "a game", "games"]
    heads += ["went well", ""] if rated else ["afterwards", ""] if effects else []

    def row(entry: Entry) -> list[str]:
        cells = [
            escape(entry.name),
            svg.bar(entry.count / most, 120),
            f"{entry.count:,}",
            f"{entry.count / judged.count:.3g}",
            svg.percent(entry.games / judged.count),
        ]
        if rated and entry.success is not None:
            cells += [svg.percent(entry.success.mean), svg.interval_mark(entry.success, 0.0, 1.0, None)]
        elif effects:
            effect = entry.afterwards
            cells += ["", ""] if effect is None else [f"{effect.mean:+.2f}", svg.interval_mark(effect, -widest, widest)]
        return cells + [""] * (len(heads) - len(cells))

    shown = panel(table(heads, [row(entry) for entry in entries[:_ROWS]], (2, 3, 4, 5)))
    rest = entries[_ROWS:]
    return shown + (folded(f"{len(rest)} more", table(heads, list(map(row, rest)), (2, 3, 4, 5))) if rest else "")


def _variety(chronicle: Chronicle) -> str:
    """How many ways to play there are in its games, and whether it knows more than one."""
    titles = {one.name: one.title for one in chronicle.variety.varieties}
    rows, warnings = [], []
    for name, spread in chronicle.variety.spread().items():
        rows.append([escape(titles[name]), f"{math.exp(spread.entropy):.1f}", f"{spread.entropy:.2f}",
                     escape(spread.top_name), svg.percent(spread.top)])  # fmt: skip
        if spread.top > LOCKED_IN:
            warnings.append(f"<p><b>Play locks in:</b> {escape(spread.top_name)} is there in "
                            f"{svg.percent(spread.top)} of all moments ({escape(titles[name])}).</p>")  # fmt: skip
    heads = ["", "in use, as if alike", "entropy (nats)", "most common", "share of moments"]
    return f"<h3>Variety</h3>{panel(table(heads, rows, (1, 2, 4)))}{''.join(warnings)}"


def _ways(chronicle: Chronicle, ways: Sequence[Way]) -> str:
    """Which ways to play its games take in the end, by name, and how often each wins."""
    title = chronicle.ways.title if chronicle.ways is not None else ""
    heads = ["", "", "games", "share", "won", ""]

    def row(way: Way) -> list[str]:
        cells = [escape(way.name), svg.bar(way.games / ways[0].games, 120), f"{way.games:,}", svg.percent(way.share)]
        won = ["", ""] if way.won is None else [svg.percent(way.won.mean), svg.interval_mark(way.won, 0.0, 1.0, None)]
        return cells + won

    note = f"<p>{escape(title)}; what a game was nearest to at its end.</p>"
    return f"<h3>Strategies</h3>{note}{panel(table(heads, [row(way) for way in ways[:_ROWS]], (2, 3, 4)))}"


def figures_section(judged: Evaluation) -> str:
    """All figures with their intervals and quantiles."""
    rows = []
    for name, interval in {RETURN: judged.mean_return, LENGTH: judged.mean_length, **judged.stats}.items():
        found = judged.quantiles.get(name, {})
        rows.append(
            [escape(_plain(name)), f"{interval.mean:,.3f}", f"{interval.low:,.3f} … {interval.high:,.3f}"]
            + [svg.short(value) for value in found.values()]
        )
    needed = [f"{count:,} games for the {_plain(name)}" for name, count in judged.half_interval_games.items()]
    lead = f"Intervals half as wide would take {' and '.join(needed)}." if needed else "Means over all games."
    percents = [f"{percent} %" for percent in next(iter(judged.quantiles.values()), {})]
    heads = ["figure", "mean", "95 % interval", *percents]
    return section("All figures", lead, panel(table(heads, rows, range(1, len(heads)))))


def _plain(name: str) -> str:
    return name.replace("_", " ")
