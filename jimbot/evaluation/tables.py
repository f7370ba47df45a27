"""Evaluations and comparisons as tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from rich.columns import Columns
from rich.console import Group
from rich.table import Table
from rich.text import Text

from jimbot.evaluation.intervals import Interval
from jimbot.evaluation.play import LENGTH, RETURN, WIN_RATE
from jimbot.foreign_text import marked

if TYPE_CHECKING:
    from rich.console import RenderableType

    from jimbot.evaluation.compare import Comparison, Difference
    from jimbot.evaluation.duels import CrossPlay, DuelEvaluation, MatchReport
    from jimbot.evaluation.summary import Evaluation

_BAR = 24  # characters
_MOST_SHOWN = 13  # a distribution of more values is left to the quantiles


def headline(evaluated: Evaluation) -> RenderableType:
    """What most people ask for: wins, how far it came, against what, and how to know it better."""
    return Group(_title(evaluated), _main_metrics(evaluated), *_verdict(evaluated))


def evaluation_tables(evaluated: Evaluation) -> RenderableType:
    """The headline, and everything else about a policy's games below it."""
    distributions = [
        _distribution(name, counts, evaluated.count)
        for name, counts in evaluated.distributions.items()
        if name != evaluated.spec.ladder and len(counts) <= _MOST_SHOWN
    ]
    parts: list[RenderableType] = [headline(evaluated), _all_metrics(evaluated)]
    if evaluated.ladder:
        parts.append(_ladder(evaluated))
    if distributions:
        parts.append(Columns(distributions, padding=(0, 4)))
    return Group(*parts, f"{evaluated.games_per_hour:,.0f} games per hour.")


def _title(evaluated: Evaluation) -> Text:
    how = "best action" if evaluated.deterministic else "drawn actions"
    options = "".join(f", {name} {value}" for name, value in evaluated.options.items())
    games = f"{evaluated.count:,} games, {evaluated.bank} seeds, {how}{options}"
    return marked("[bold]{}[/] on {}: {}", evaluated.policy, evaluated.games.game, games)


def _main_metrics(evaluated: Evaluation) -> Table:
    """One line each, so that nothing is cut on a narrow screen."""
    table = _lines()
    if evaluated.win_rate is not None:
        won = f"{round(evaluated.win_rate.mean * evaluated.count):,} of {evaluated.count:,} games"
        table.add_row("  wins", f"{evaluated.win_rate.mean:.1%}", _share_span(evaluated.win_rate), won)
    if evaluated.spec.ladder:
        reached = evaluated.stats[evaluated.spec.ladder]
        table.add_row(f"  {_words(evaluated.spec.ladder)}", f"{reached.mean:.1f}", _span(reached, 1), _reach(evaluated))
    table.add_row("  return", f"{evaluated.mean_return.mean:.2f}", _span(evaluated.mean_return, 2))
    return table


def _lines() -> Table:
    """What it is, the figure, its interval, a remark: aligned, without a frame."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column(justify="right", style="bold", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(style="dim")
    return table


def _reach(evaluated: Evaluation) -> str:
    """How far half of the games and the best one came."""
    values = evaluated.games.stat(evaluated.spec.ladder)
    values = values[~np.isnan(values)]
    return f"half of the games {np.median(values):.0f} or more, the best {values.max():.0f}" if len(values) else ""


def _verdict(evaluated: Evaluation) -> list[Text]:
    """What is compared, what is wrong, and what a surer figure would take."""
    sentences = [] if evaluated.claim is None else [marked("[bold]{}[/]", evaluated.claim)]
    if evaluated.illegal_actions:
        sentences.append(_wrong(evaluated.illegal_actions))
    names = {RETURN: "return", WIN_RATE: "win rate"}
    needed = [f"{count:,} games for the {names[name]}" for name, count in evaluated.half_interval_games.items()]
    if needed:
        sentences.append(marked("[dim]95 % intervals; half as wide they would take {}.[/]", " and ".join(needed)))
    return sentences


def _all_metrics(evaluated: Evaluation) -> Table:
    table = Table()
    for name in ("figure", "mean", "95 % interval", "median", "5 % … 95 % of games"):
        table.add_column(name, justify="left" if name == "figure" else "right")
    for name, interval in {RETURN: evaluated.mean_return, LENGTH: evaluated.mean_length, **evaluated.stats}.items():
        found = evaluated.quantiles.get(name)
        spread = ("", "") if found is None else (f"{found[50]:,.3g}", f"{found[5]:,.3g} … {found[95]:,.3g}")
        table.add_row(name, f"{interval.mean:,.3f}", _span(interval), *spread)
    if evaluated.win_rate is not None:
        table.add_row("win rate", f"{evaluated.win_rate.mean:.2%}", _share_span(evaluated.win_rate))
    for name, value in evaluated.maxima.items():
        table.add_row(name, f"{value:,.3f}")
    table.add_row(
        "illegal actions", Text(f"{evaluated.illegal_actions:,}", style="bold red" if evaluated.illegal_actions else "")
    )
    for name, mask in (("truncated", evaluated.games.truncated), ("unfinished", evaluated.games.unfinished)):
        if mask.any():
            table.add_row(name, f"{int(mask.sum()):,}")
    return table


def _ladder(evaluated: Evaluation) -> Table:
    table = Table(box=None)
    for name in (_words(evaluated.spec.ladder), "games", "95 % interval"):
        table.add_column(name, justify="right")
    table.add_column("")
    for rung, share in evaluated.ladder.items():
        table.add_row(f"≥ {rung}", f"{share.mean:.1%}", _share_span(share), _bar(share.mean))
    return table


def _distribution(name: str, counts: Mapping[int, int], games: int) -> Table:
    table = Table(box=None)
    for column in (_words(name), "games", "share"):
        table.add_column(column, justify="right")
    table.add_column("")
    most = max(counts.values())
    for value, count in counts.items():
        table.add_row(str(value), f"{count:,}", f"{count / games:.1%}", _bar(count / most))
    return table


def comparison_tables(comparison: Comparison) -> RenderableType:
    """All policies beside each other, every pair of them, and what follows in a sentence each."""
    first = comparison.evaluations[0]
    policies = Table(
        title=f"{first.games.game}: {first.count:,} games each, same {first.bank} seeds", title_justify="left"
    )
    for name in ("policy", "return", "95 % interval", "length", "win rate", "95 % interval", "illegal"):
        policies.add_column(name, justify="left" if name == "policy" else "right")
    for one in comparison.evaluations:
        mean, rate = one.mean_return, one.win_rate
        wins = ("", "") if rate is None else (f"{rate.mean:.2%}", _share_span(rate))
        policies.add_row(
            one.policy,
            f"{mean.mean:,.3f}",
            f"{mean.low:,.3f} … {mean.high:,.3f}",
            f"{one.mean_length.mean:,.1f}",
            *wins,
            str(one.illegal_actions),
        )
    tables = [_pairs(comparison.metric, comparison.differences)]
    if comparison.win_differences:
        tables.append(_pairs("win rate", comparison.win_differences))
    return Group(policies, *tables, *(f"• {pair.sentence}" for pair in comparison.all_differences))


def _pairs(metric: str, differences: tuple[Difference, ...]) -> Table:
    table = Table(title=f"Difference of {metric}, seed by seed", title_justify="left")
    for name in ("pair", "difference", "interval", "better / equal / worse"):
        table.add_column(name, justify="left" if name == "pair" else "right")
    for pair in differences:
        table.add_row(
            f"{pair.one} − {pair.other}",
            pair.written(pair.interval.mean),
            f"{pair.written(pair.interval.low)} … {pair.written(pair.interval.high)}",
            f"{pair.better} / {pair.equal} / {pair.worse}",
        )
    return table


def _words(name: str) -> str:
    return name.replace("_", " ")


def _bar(share: float) -> str:
    return "█" * max(int(share > 0), round(_BAR * share))


def _span(interval: Interval, digits: int = 3) -> str:
    return f"{interval.low:,.{digits}f} … {interval.high:,.{digits}f}" if interval.count > 1 else "unknown"


def _share_span(share: Interval) -> str:
    return f"{share.low:.2%} … {share.high:.2%}"


def duel_headline(evaluated: DuelEvaluation) -> RenderableType:
    """How often a policy wins, against whom."""
    table = _lines()
    for duel in evaluated.duels:
        rate, games = duel.win_rate, f"of {duel.games:,} games won"
        table.add_row(f"  against {duel.opponent}", f"{rate.mean:.1%}", _share_span(rate), games)
    claims = [
        marked("[bold]Against {}: {}[/]", duel.opponent, duel.claim)
        for duel in evaluated.duels
        if duel.claim is not None
    ]
    illegal = int(evaluated.matches.illegal.sum())
    return Group(_duel_title(evaluated, evaluated.policy), table, *claims, *([_wrong(illegal)] if illegal else []))


def duel_tables(evaluated: DuelEvaluation) -> RenderableType:
    """The headline, and everything else about a policy's games with each of its opponents."""
    table = Table()
    for name in ("opponent", "won", "lost", "tied", "cut off", "turns"):
        table.add_column(name, justify="left" if name == "opponent" else "right")
    for duel in evaluated.duels:
        lost, turns = duel.games - duel.won - duel.tied, f"{duel.mean_turns:.1f}"
        table.add_row(duel.opponent, f"{duel.won:,}", f"{lost:,}", f"{duel.tied:,}", f"{duel.cut_off:,}", turns)
    return Group(duel_headline(evaluated), table, _duel_sentence(evaluated))


def crossplay_tables(evaluated: CrossPlay) -> RenderableType:
    """Who beats whom, strongest first, and how strong each is."""
    names = [rating.name for rating in evaluated.ratings]
    places = [evaluated.names.index(name) for name in names]
    rated = Table(title="Ratings (400 points: ten to one)", title_justify="left")
    for name in ("player", "rating", "95 % interval", "games"):
        rated.add_column(name, justify="left" if name == "player" else "right")
    for rating in evaluated.ratings:
        rated.add_row(
            rating.name, f"{rating.points:+,.0f}", f"{rating.low:+,.0f} … {rating.high:+,.0f}", f"{rating.games:,.0f}"
        )
    crossed = Table(title="Won by the row against the column", title_justify="left")
    crossed.add_column("")
    for name in names:
        crossed.add_column(name, justify="right")
    for one in places:
        cells = ["·" if one == other else f"{evaluated.duels[one, other].win_rate.mean:.1%}" for other in places]
        crossed.add_row(evaluated.names[one], *cells)
    title = _duel_title(evaluated, f"{len(names)} players")
    return Group(title, crossed, rated, _duel_sentence(evaluated))


def _duel_title(evaluated: MatchReport, who: str) -> Text:
    how = "best action" if evaluated.deterministic else "drawn actions"
    options = "".join(f", {name} {value}" for name, value in evaluated.options.items())
    games = f"{evaluated.bank} seeds, each from both sides, {how}{options}"
    return marked("[bold]{}[/] on {}: {}", who, evaluated.matches.game, games)


def _duel_sentence(evaluated: MatchReport) -> Text:
    matches = evaluated.matches
    illegal = int(matches.illegal.sum())
    wrong = f"{illegal:,} illegal actions" if illegal == 0 else f"[bold red]{illegal:,} illegal actions[/]"
    again = f"; {matches.lost:,} games played again because a process died" if matches.lost else ""
    return Text.from_markup(
        f"{len(matches.scores):,} games in {matches.seconds:.0f} s, {matches.decisions_per_second:,.0f} decisions/s; "
        f"{wrong}; {int(matches.refused.sum()):,} choices refused by hidden trapping{again}."
    )


def _wrong(illegal: int) -> Text:
    return Text.from_markup(f"[bold red]{illegal:,} illegal actions[/], where there must be none.")
