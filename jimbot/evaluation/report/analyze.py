"""`analyze`: plays a policy's games, watches them closely and writes one page about them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import jimbot
from jimbot.errors import UsageError
from jimbot.evaluation.judge import evaluate
from jimbot.evaluation.play import Progress
from jimbot.evaluation.report.chronicle import Chronicle
from jimbot.evaluation.report.curves import training_section
from jimbot.evaluation.report.page import page
from jimbot.evaluation.report.sections import doing_section, figures_section, header, reach_section, topics_section
from jimbot.evaluation.report.stories import choose_examples, stories_section, tell
from jimbot.evaluation.seeds import Bank
from jimbot.evaluation.summary import Evaluation
from jimbot.games.contract import game_entry
from jimbot.games.hooks import Variety
from jimbot.games.seeds import HELD_OUT
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
    `examples` games are told in words.
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
    judged = evaluate(
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
    chosen = choose_examples(judged, examples).items()
    stories = [tell(player.policy, chronicle, judged, number, title) for number, title in chosen]
    body = [
        header(judged, f" · run {run.name}" if run is not None else ""),
        reach_section(judged),
        training_section(rows, entry.spec),
        topics_section(judged, chronicle),
        doing_section(judged, chronicle),
        stories_section(stories),
        figures_section(judged),
        _footer(judged),
    ]
    write_atomically(path, page(f"{judged.policy} on {judged.games.game}", body).encode())
    return Analysis(path, judged)


def _run_of(policy: Named, runs_root: Path, which: Any) -> RunDirectory | None:
    """The run a policy belongs to, if it is one of a run's checkpoints."""
    if not isinstance(policy, str | Path):
        return None
    from jimbot.errors import CheckpointError

    try:
        checkpoint = find_checkpoint(policy, runs_root=runs_root, which=which)
    except CheckpointError:  # a scripted player, a file of its own, or nothing at all: `find_player` tells
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


def _footer(judged: Evaluation) -> str:
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return (
        f"<footer>Written {now} by JimBot {jimbot.__version__}, game {escape(judged.games.game)} version "
        f"{judged.spec.version}; {judged.games_per_hour:,.0f} games per hour.</footer>"
    )
