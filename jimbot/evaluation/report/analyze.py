"""`analyze`: plays a policy's games, watches them closely and writes one page about them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import jimbot
from jimbot.errors import UsageError
from jimbot.evaluation.evaluator import Bank, evaluate
from jimbot.evaluation.play import LENGTH, RETURN, Progress
from jimbot.evaluation.report import svg
from jimbot.evaluation.report.chronicle import Chronicle, Entry, Way, choose_examples, stories_section, tell
from jimbot.evaluation.report.page import folded, legend, many, page, panel, section, table, tile
from jimbot.evaluation.summary import Evaluation
from jimbot.games.contract import game_entry
from jimbot.games.hooks.learners import Variety
from jimbot.games.seeds import HELD_OUT
from jimbot.games.spec import GameSpec
from jimbot.plugins import entry_points, provided
from jimbot.policies.players import Named, find_player
from jimbot.runs.checkpoint import CHECKPOINTS, find_checkpoint
from jimbot.runs.directory import RunDirectory
from jimbot.runs.files import check_target, make_directory, write_atomically
from jimbot.runs.sinks.jsonl import read_rows


class Analysis(NamedTuple):
    """A report that was written."""

    path: Path
    evaluation: Evaluation


WAYS = "jimbot.ways_to_play"
"""Group of entry points: functions that tell ways to play a game apart (a `Variety` by the game's id, or None)."""


def ways_to_play(game: str) -> Variety | None:
    """By name, of the first who knows any: the knowledge graph has strategies. The report says which games take."""
    found = (provided(WAYS, name)(game) for name in entry_points(WAYS))
    return next((ways for ways in found if ways is not None), None)


def analyze(
    policy: Named,
    game_id: str | None = None,
    games: int | None = None,
    *,
    output: str | Path | None = None,
    examples: int = 3,
    bank: Bank = HELD_OUT,
    seeds_file: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
    deterministic: bool = True,
    against: float | None = None,
    num_envs: int = 256,
    progress: Progress | None = None,
    runs_root: str | Path = "runs",
    which: Any = "latest",
) -> Analysis:
    """Writes the report of a policy; arguments as in `evaluate`.

    It goes to `output`, else to `report.html` of the run the policy belongs to, else to `report-<name>.html` here.
    `examples` games are described in words.
    """
    if examples < 0:
        raise UsageError(f"examples is {examples}; expected 0 or more games to tell in words.")
    run = _run_of(policy, Path(runs_root), which)
    player = find_player(policy, game_id, None, runs_root, which).under(options)
    entry = game_entry(player.game)
    path = _destination(output, run, player.policy.name)
    make_directory(path.parent)
    check_target(path)  # before an hour of games is played for it
    chronicle = Chronicle(entry, ways_to_play(entry.spec.id))
    evaluation = evaluate(
        player.policy,
        player.game,
        games,
        bank=bank,
        seeds_file=seeds_file,
        options=player.options,
        against=against,
        progress=progress,
        deterministic=deterministic,
        num_envs=num_envs,
        witness=chronicle,
    )
    rows = read_rows(run.metrics_path) if run is not None else []
    chosen = choose_examples(evaluation, examples).items()
    stories = [tell(player.policy, chronicle, evaluation, number, title) for number, title in chosen]
    body = [
        header(evaluation, f" · run {run.name}" if run is not None else ""),
        reach_section(evaluation),
        training_section(rows, entry.spec),
        topics_section(evaluation, chronicle),
        doing_section(evaluation, chronicle),
        stories_section(stories),
        metrics_section(evaluation),
        _footer(evaluation),
    ]
    write_atomically(path, page(f"{evaluation.policy} on {evaluation.games.game}", body).encode())
    return Analysis(path, evaluation)


def _run_of(policy: Named, runs_root: Path, which: Any) -> RunDirectory | None:
    """The run a policy belongs to, if it is one of a run's checkpoints."""
    if not isinstance(policy, str | Path):
        return None
    from jimbot.errors import CheckpointError

    try:
        checkpoint = find_checkpoint(policy, runs_root=runs_root, which=which)
    except CheckpointError:  # a heuristic player, a file of its own, or nothing at all: `find_player` tells
        return None
    folder = checkpoint.parent
    if folder.name != CHECKPOINTS:
        return None
    return RunDirectory(folder.parent.parent, folder.parent.name)


def _destination(output: str | Path | None, run: RunDirectory | None, name: str) -> Path:
    if output is not None:
        return Path(output)
    if run is not None:
        return run.report_path
    plain = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)
    return Path(f"report-{plain.strip('-')}.html")


def _footer(evaluation: Evaluation) -> str:
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return (
        f"<footer>Written {now} by JimBot {jimbot.__version__}, game {escape(evaluation.games.game)} version "
        f"{evaluation.spec.version}; {evaluation.games_per_hour:,.0f} games per hour.</footer>"
    )


_ROWS = 15  # of a topic; the others are folded up
_MOST_LABELS = 20
WON = "won"
LOCKED_IN = 0.8  # share of the moments in which the same thing is there


def header(evaluation: Evaluation, subtitle: str) -> str:
    """Name, games and the metrics a reader asks for first."""
    how = "the best action every time" if evaluation.deterministic else "actions drawn by chance"
    options = ", ".join(f"{name} {value}" for name, value in evaluation.options.items())
    game = f"{evaluation.games.game} ({options})" if options else evaluation.games.game
    words = f"{game} · {evaluation.count:,} games on {evaluation.bank} seeds, {how}"
    tiles = []
    if evaluation.win_rate is not None:
        rate = evaluation.win_rate
        tiles.append(
            tile(svg.percent(rate.mean), f"of games won ({svg.percent(rate.low)} to {svg.percent(rate.high)})")
        )
    ladder = evaluation.spec.ladder
    if ladder:
        mean = evaluation.stats[ladder]
        tiles.append(tile(f"{mean.mean:.2f}", f"{_plain(ladder)} on average ({mean.low:.2f} to {mean.high:.2f})"))
        tiles.append(tile(f"{max(evaluation.ladder, default=0)}", f"{_plain(ladder)} in the best game"))
    mean = evaluation.mean_return
    tiles.append(tile(svg.short(mean.mean), f"mean return ({svg.short(mean.low)} to {svg.short(mean.high)})"))
    tiles.append(tile(svg.short(evaluation.mean_length.mean), "actions a game"))
    tiles.append(tile(f"{evaluation.illegal_actions}", "illegal actions"))
    claim = f"<p>{escape(str(evaluation.claim))}</p>" if evaluation.claim else ""
    return (
        f"<h1>{escape(evaluation.policy)}</h1><p class='lead'>{escape(words)}{escape(subtitle)}</p>{claim}"
        f'<div class="tiles">{"".join(tiles).replace("tile", "tile first", 1)}</div>'
    )


def reach_section(evaluation: Evaluation) -> str:
    """How far games come."""
    charts = [
        svg.columns({str(value): count for value, count in counts.items()}, _plain(name))
        for name, counts in evaluation.distributions.items()
        if len(counts) > 1 and name != evaluation.spec.ladder
    ]
    curve = ""
    if evaluation.ladder:
        curve = panel(svg.survival_chart(evaluation.ladder, f"at least so many: {_plain(evaluation.spec.ladder)}"))
    return section(
        "How far it comes",
        "The share of games that came at least so far; the band holds the true share with 95 % confidence.",
        curve,
        many(charts),
    )


def doing_section(evaluation: Evaluation, chronicle: Chronicle) -> str:
    """Kinds of actions and, where labels mean something by themselves, the actions taken most."""
    shares = {name: share for name, share in chronicle.block_shares().items() if share > 0}
    order = sorted(shares, key=lambda name: -shares[name])
    most = max(shares.values())
    rows = [[escape(_plain(name)), svg.bar(shares[name] / most), svg.percent(shares[name])] for name in order]
    counts = chronicle.action_counts()
    best = [action for action in counts.argsort(kind="stable")[::-1][:_MOST_LABELS].tolist() if counts[action]]
    labels = [
        [
            escape(evaluation.spec.actions.label(action)),
            svg.bar(counts[action] / counts[best[0]]),
            f"{counts[action] / evaluation.count:,.2f}",
        ]
        for action in best
    ]
    return section(
        "What it does",
        f"All {counts.sum():,} actions by kind.",
        panel(table(["kind", "", "share of actions"], rows, (2,))),
        folded("The actions taken most", table(["action", "", "a game"], labels, (2,))),
    )


def topics_section(evaluation: Evaluation, chronicle: Chronicle) -> str:
    """What the game's own diary counted."""
    reached = evaluation.games.stat(evaluation.spec.ladder) if evaluation.spec.ladder else None
    parts = []
    for topic, title in chronicle.topics.items():
        entries = chronicle.table(topic, reached)
        if entries:
            parts.append(f"<h3>{escape(title)}</h3>{_topic(entries, evaluation)}")
    parts += [_variety(chronicle)] if chronicle.variety.spread() else []
    won = evaluation.games.stat(WON) if WON in evaluation.spec.episode_stats else None
    parts += [_ways(chronicle, ways)] if (ways := chronicle.ways_played(won)) else []
    unit = _plain(evaluation.spec.ladder)
    note = (
        f"“Afterwards” compares games with others that had come just as far: how many more {unit} they went on to "
        "reach after the first time this happened. Green and red are sure with 95 % each; among many rows one in "
        "twenty is chance, and what goes together need not be its cause."
    )
    return section("What happens in its games", note, *parts)


def _topic(entries: Sequence[Entry], evaluation: Evaluation) -> str:
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
            f"{entry.count / evaluation.count:.3g}",
            svg.percent(entry.games / evaluation.count),
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


def metrics_section(evaluation: Evaluation) -> str:
    """All metrics with their intervals and quantiles."""
    rows = []
    for name, interval in {RETURN: evaluation.mean_return, LENGTH: evaluation.mean_length, **evaluation.stats}.items():
        found = evaluation.quantiles.get(name, {})
        rows.append(
            [escape(_plain(name)), f"{interval.mean:,.3f}", f"{interval.low:,.3f} … {interval.high:,.3f}"]
            + [svg.short(value) for value in found.values()]
        )
    needed = [f"{count:,} games for the {_plain(name)}" for name, count in evaluation.half_interval_games.items()]
    lead = f"Intervals half as wide would take {' and '.join(needed)}." if needed else "Means over all games."
    percents = [f"{percent} %" for percent in next(iter(evaluation.quantiles.values()), {})]
    heads = ["figure", "mean", "95 % interval", *percents]
    return section("All metrics", lead, panel(table(heads, rows, range(1, len(heads)))))


def _plain(name: str) -> str:
    return name.replace("_", " ")


MOST_POINTS = 400
"""A curve of more rows is thinned out: nobody sees more, and the page stays small."""
_FIRST = ("train/mean_episode_return", "train/mean_episode_length")
_SHARES = {"train/clip_frac", "stats/won"}
_MOST_BLOCKS = svg.COLOURS - 1  # the last colour is for all others


def training_section(rows: Sequence[Mapping[str, Any]], spec: GameSpec) -> str:
    """Curves of returns, statistics, losses, speed, reward terms and what kinds of actions were taken."""
    if not rows:
        return ""
    rows = _thinned(rows)
    names = dict.fromkeys(name for row in rows for name in row if name not in ("step", "time"))
    stats = [f"stats/{name}" for name in spec.episode_stats]
    first = [name for name in (*_FIRST, f"stats/{spec.ladder}", "stats/won") if name in names]
    later = [name for name in stats if name in names and name not in first]
    inner = [name for name in names if name.startswith(("train/", "eval/", "speed/")) and name not in first]
    terms = [name for name in names if name.startswith("reward/")]
    steps = int(rows[-1]["step"])
    if len(rows) < svg.FEWEST_FOR_A_LINE:
        how = f"{len(rows)} measurements, too few for curves: each is a dot. Train longer, and curves appear here."
    else:
        how = "Faint: as measured; strong: the running mean; the figure is where it ends."
    return section(
        "How it learned",
        f"{steps:,} environment steps. {how}",
        many(_charts(rows, [*first, *later])),
        _blocks(rows, spec),
        _more("Losses and speed", rows, inner),
        _more("Reward per step, by term", rows, terms),
    )


def _thinned(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    if len(rows) <= MOST_POINTS:
        return list(rows)
    return [rows[round(i * (len(rows) - 1) / (MOST_POINTS - 1))] for i in range(MOST_POINTS)]


def _charts(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    charts = []
    for name in names:
        points = [(float(row["step"]), float(row[name])) for row in rows if row.get(name) is not None]
        if points and any(y != 0 for _, y in points):
            title = name.partition("/")[2].replace("_", " ")
            charts.append(svg.line_chart(points, title, form=svg.percent if name in _SHARES else svg.short))
    return charts


def _more(title: str, rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    charts = _charts(rows, names)
    return f"<h3>{title}</h3>{many(charts)}" if charts else ""


def _blocks(rows: Sequence[Mapping[str, Any]], spec: GameSpec) -> str:
    """The biggest blocks of actions by name, the rest together."""
    keys = {block.name: f"actions/{block.name}_frac" for block in spec.actions.blocks}
    known = [row for row in rows if all(row.get(key) is not None for key in keys.values())]
    if len(known) < svg.FEWEST_FOR_A_LINE or len(keys) < 2:
        return ""
    shares = {name: [float(row[key]) for row in known] for name, key in keys.items()}
    order = sorted(shares, key=lambda name: -sum(shares[name]))
    shown = {name: shares[name] for name in order[:_MOST_BLOCKS]}
    if rest := order[_MOST_BLOCKS:]:
        shown["all others"] = [sum(parts) for parts in zip(*(shares[name] for name in rest), strict=True)]
    chart = svg.stacked([float(row["step"]) for row in known], shown)
    names = [name.replace("_", " ") for name in shown]
    return f"<h3>What kinds of actions it took</h3>{panel(chart + legend(names, svg.COLOURS))}"
