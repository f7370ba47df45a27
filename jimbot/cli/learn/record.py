"""`jimbot record`: play a teacher and keep what it does, for `jimbot clone`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from jimbot.cli.shared import common, terminal
from jimbot.cli.shared.command import adds
from jimbot.cli.shared.flags import SET_HELP, SettingsCommand, with_settings_flags
from jimbot.errors import CheckpointError, UsageError
from jimbot.foreign_text import marked
from jimbot.plugins import provided
from jimbot.training.imitation.settings import CloneSettings
from jimbot.training.settings.record import parse_assignments

if TYPE_CHECKING:
    from jimbot.policies.players import Player
    from jimbot.training.imitation.clone import CloneOutcome
    from jimbot.training.imitation.dataset import DatasetInfo

EXAMPLES = """jimbot record hackmatrix --policy heuristic --games 2000
jimbot record hackmatrix --policy heuristic --games 2000 --noise 0.05 --output noisy.npz
jimbot record hackmatrix --policy my-run --games 500 --probabilities
jimbot record vgc --replays FOLDER   (what people did in public replays)
jimbot record hackmatrix --from-bus embedded   (what others played: jimbot watch … --bus embedded)
Ctrl+C keeps the games that are complete. Then: jimbot clone FILE"""


@dataclass(frozen=True)
class Target:
    """The file of a dataset, and whether programs or people read what is said about it."""

    output: Annotated[Path | None, "File to write; default: GAME-POLICY.npz."] = None
    overwrite: Annotated[bool, "Replace a file that is there."] = False
    as_json: common.JsonOption = False

    def path(self, usual: str) -> Path:
        """Where to write; raises where that would not go well."""
        chosen = self.output or Path(usual)
        terminal.check_output(chosen, self.overwrite)
        return chosen


def print_dataset(path: Path, info: DatasetInfo, **more: Any) -> None:
    about = info.model_dump(exclude={"chunks"})
    terminal.print_json({"dataset": str(path), "bytes": path.stat().st_size, **more, **about})


def suggest_clone(path: Path) -> None:
    terminal.print_next([(f"jimbot clone {terminal.quoted(path)}", "a policy that does the same")])


def record(
    game: Annotated[str, "Game to play (see: jimbot doctor)."],
    policy: Annotated[str, "The teacher: a heuristic player, random, a run, checkpoint, .npz or .onnx."] = "heuristic",
    games: Annotated[int, "Games to record."] = 1000,
    seed: Annotated[str, "Fixes which games of the train bank are played."] = "0",
    stochastic: Annotated[bool, "Draw the teacher's actions."] = False,
    noise: Annotated[float, "Share of moves played at random; the teacher's own choice is what is kept."] = 0.0,
    probabilities: Annotated[bool, "Keep how likely the teacher found every action, too."] = False,
    no_masks: Annotated[bool, "Leave out what was legal; it is computed again (games that can: vgc)."] = False,
    replays: Annotated[
        Path | None, "Instead of playing: public replays of VGC, a .json or .log file or a folder of them."
    ] = None,
    from_bus: Annotated[
        str | None, "Instead of playing: games published on this bus (embedded, nats://HOST:PORT).", "ADDRESS"
    ] = None,
    bus_start: Annotated[int, "--from", "With --from-bus: the first sequence number."] = 0,
    option: common.OptionOption = None,
    num_envs: common.NumEnvsOption = 64,
    best: common.BestOption = False,
    runs_dir: common.RunsDirOption = common.RUNS,
    target: Target = Target(),
) -> None:
    """Play a teacher and write its decisions to a dataset.

    Only seeds of the train bank are played. The file appears when it is complete.
    """
    terminal.require_positive(games=games, num_envs=num_envs)
    options = terminal.pairs(option or [])
    if replays is not None:
        record_replays(game, replays, target, options, not no_masks)
        return
    if from_bus is not None:
        provided("jimbot.flags", "record_bus")(game, from_bus, target, options, bus_start)
        return
    from jimbot.training.imitation.record import record as play_and_write

    choice = _teacher(policy, game, options, runs_dir, best)
    path = target.path(f"{game}-{choice.name.replace('/', '-').replace(' ', '-')}.npz")
    common.keep_compiled(choice.entry)
    number = terminal.seed_of(choice.entry, seed)
    with common.showing_progress(f"Recording {choice.name}", quiet=target.as_json) as progress:
        info = play_and_write(
            choice.policy, choice.game, games, path, options=choice.options, seed=number or 0, num_envs=num_envs,
            deterministic=not stochastic, noise=noise, probabilities=probabilities, masks=not no_masks,
            progress=progress, note=terminal.note,
        )  # fmt: skip
    if target.as_json:
        print_dataset(path, info)
    else:
        _report(info, path)


register = adds(record, EXAMPLES)


def _teacher(policy: str, game: str, options: dict, runs_dir: Path, best: bool) -> Player:
    from jimbot.policies.heuristics import heuristic_names
    from jimbot.policies.players import find_player

    try:
        return find_player(policy, game, options, runs_dir, "best" if best else "latest")
    except CheckpointError as problem:
        if Path(policy).exists() or (runs_dir / policy).exists():
            raise
        known = ", ".join(heuristic_names(game))
        raise UsageError(
            f"Unknown policy '{policy}': no heuristic player of {game} (they are: {known}), run or checkpoint has "
            "this name. Check the spelling or --runs-dir."
        ) from problem


def _report(info: DatasetInfo, path: Path) -> None:
    console = terminal.console()
    if info.stopped:
        terminal.note(f"Fewer games than asked for: {info.stopped}.")
    console.print(
        f"{path}: {info.games:,} games of {info.game} by {info.policy}, {info.rows:,} decisions in "
        f"{path.stat().st_size / 1e6:.1f} MB (observations {info.observation_ratio:.0f} times smaller than in memory)."
    )
    stats = "".join(f", {name} {value:.2f}" for name, value in info.stats.items())
    console.print(f"Mean return {info.mean_return:.2f}, length {info.mean_length:.1f}{stats}.")
    console.print(f"{info.games / info.seconds:.1f} games/s, {info.rows / info.seconds:,.0f} decisions/s. Next:")
    suggest_clone(path)


def record_replays(game: str, replays: Path, target: Target, options: Mapping[str, Any], masks: bool) -> None:
    """Reads the replays and says what they hold."""
    from jimbot.games.contract import game_entry, games_with
    from jimbot.training.imitation.played import write_replays

    entry = game_entry(game)
    if entry.public_replays is None:
        known = " and ".join(games_with("public_replays"))
        raise UsageError(f"Game '{game}' has no public replays; --replays is for {known}.")
    path = target.path(f"{game}-replays.npz")
    chosen = entry.spec.parse_options(dict(options))
    with (
        entry.public_replays(replays, chosen) as found,
        common.showing_progress("Reading replays", quiet=target.as_json) as progress,
    ):
        made = write_replays(
            entry.spec, found.games, path, options=options, masks=masks,
            progress=lambda done: progress(done, found.count),
        )  # fmt: skip
    info = made.info
    if target.as_json:
        print_dataset(path, info, sure=made.sure, unexplained=made.unexplained, skipped=dict(made.skipped))
        return
    console = terminal.console()
    for reason, count in made.skipped.items():
        terminal.note(f"{count} left out: {reason}")
    console.print(
        f"{path}: {info.games:,} battles, {info.rows:,} decisions in {path.stat().st_size / 1e6:.1f} MB, "
        f"{made.sure / info.rows:.0%} known for sure, the others as sets of orders; {made.unexplained:,} that no "
        "legal order explains were left out. Next:"
    )
    suggest_clone(path)


FROM_DATA = ("game", "game_options", "data", "dataset", "learner", "algorithm")
# Of learning by playing.
UNUSED = (
    *("eval_games", "eval_interval", "stop_on_collapse", "normalize_obs", "resume", "rewind"),
    *("gradient_accumulation", "share"),
)
CLONE_EXAMPLES = """jimbot clone hackmatrix-heuristic.npz
jimbot clone hackmatrix-heuristic.npz --run wide --hidden-dim 256 --epochs 30 --set lr=5e-4
The same command continues a clone that was stopped; --fresh starts over. Then: jimbot train GAME --init-from RUN"""


def clone(
    data: Annotated[Path, "Dataset made by jimbot record."],
    assignments: Annotated[list[str] | None, "--set", SET_HELP] = None,
    run: Annotated[str | None, "Name of the run; default: from game and dataset."] = None,
    fresh: Annotated[bool, "Start over; the old run is kept aside."] = False,
    log_level: common.LogLevelOption = None,
    runs_dir: common.RunsDirOption = common.RUNS,
    as_json: common.JsonOption = False,
    **flags: Any,
) -> None:
    """Train a network to choose what a recorded teacher chose.

    The result is an ordinary checkpoint: evaluate, watch, compare and export take it, and `jimbot train --init-from`
    goes on from it.
    """
    from jimbot.training.imitation.clone import clone as learn
    from jimbot.training.imitation.clone import clone_settings

    given = parse_assignments(assignments or []) | {name: value for name, value in flags.items() if value is not None}
    if run is not None:
        given["run_name"] = run
    settings = clone_settings(data, given)
    report(learn(settings, root=runs_dir, fresh=fresh, quiet=as_json), settings.game, runs_dir, as_json)


register_clone = adds(
    with_settings_flags(clone, CloneSettings, (*FROM_DATA, *UNUSED, "run_name")),
    CLONE_EXAMPLES,
    cls=SettingsCommand,
)


def report(outcome: CloneOutcome, game: str, runs_dir: Path, as_json: bool) -> None:
    """How well the clone agrees with its teacher, and what to type next."""
    if as_json:
        terminal.print_json({**outcome._asdict(), "checkpoint": str(outcome.checkpoint)})
        return
    console, metrics = terminal.console(), outcome.metrics
    if "clone/validation_loss" in metrics:
        agreement, explained = metrics["clone/validation_accuracy"], metrics["clone/validation_explained_variance"]
        loss, lowest = metrics["clone/validation_loss"], metrics["clone/best_validation_loss"]
        console.print(
            f"Epoch {outcome.epochs}: agrees with its teacher on {agreement:.1%} of held-out decisions; validation "
            f"loss {loss:.4f}, lowest {lowest:.4f}; the value explains {explained:.0%} of the returns."
        )
    where = terminal.quoted(outcome.run if runs_dir == Path("runs") else runs_dir / outcome.run)
    console.print(marked("\nRun [bold]{}[/] ended: {}. What to type next:", outcome.run, outcome.reason))
    learn_on = f"jimbot train {game} --init-from {where} --init-kl 0.1 --value-warmup-updates 10"
    terminal.print_next([
        (f"jimbot evaluate {where} --games 1000", "evaluate it by playing"),
        (f"jimbot watch {where}", "see it play"),
        (learn_on, "learn on from it"),
    ])  # fmt: skip
