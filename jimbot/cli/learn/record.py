"""`jimbot record`: play a teacher and keep what it does, for `jimbot clone`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jimbot.cli.shared import terminal
from jimbot.cli.shared.options import (
    RUNS,
    BestOption,
    JsonOption,
    NumEnvsOption,
    OptionOption,
    RunsDirOption,
    showing_progress,
)
from jimbot.cli.shared.start import keep_compiled
from jimbot.errors import CheckpointError, UsageError

if TYPE_CHECKING:
    from jimbot.policies.players import Player
    from jimbot.training.imitation.dataset import DatasetInfo

EPILOG = """Examples:

jimbot record hackmatrix --policy heuristic --games 2000

jimbot record hackmatrix --policy heuristic --games 2000 --noise 0.05 --output noisy.npz

jimbot record hackmatrix --policy my-run --games 500 --probabilities

jimbot record vgc --replays FOLDER   (what people did in public replays)

jimbot record hackmatrix --from-bus embedded   (what others played: jimbot watch … --bus embedded)

Ctrl+C keeps the games that are complete. Then: jimbot clone FILE"""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(record)


def record(
    game: Annotated[str, typer.Argument(help="Game to play (see: jimbot doctor).")],
    policy: Annotated[
        str, typer.Option(help="The teacher: a scripted player, random, a run, checkpoint, .npz or .onnx.")
    ] = "heuristic",
    games: Annotated[int, typer.Option(help="Games to record.")] = 1000,
    output: Annotated[Path | None, typer.Option(help="File to write; default: GAME-POLICY.npz.")] = None,
    seed: Annotated[str, typer.Option(help="Fixes which games of the train bank are played.")] = "0",
    stochastic: Annotated[bool, typer.Option("--stochastic", help="Draw the teacher's actions.")] = False,
    noise: Annotated[
        float, typer.Option(help="Share of moves played at random; the teacher's own choice is what is kept.")
    ] = 0.0,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Keep how likely the teacher found every action, too.")
    ] = False,
    no_masks: Annotated[
        bool, typer.Option("--no-masks", help="Leave out what was legal; it is computed again (games that can: vgc).")
    ] = False,
    replays: Annotated[
        Path | None,
        typer.Option(help="Instead of playing: public replays of VGC, a .json or .log file or a folder of them."),
    ] = None,
    from_bus: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Instead of playing: games told on this bus (embedded, nats://HOST:PORT)."
        ),
    ] = None,
    bus_start: Annotated[int, typer.Option("--from", help="With --from-bus: the first sequence number.")] = 0,
    option: OptionOption = None,
    num_envs: NumEnvsOption = 64,
    best: BestOption = False,
    runs_dir: RunsDirOption = RUNS,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Play a teacher and write its decisions to a dataset.

    Only seeds of the train bank are played. The file appears when it is complete.
    """
    terminal.require_positive(games=games, num_envs=num_envs)
    if replays is not None:
        from jimbot.cli.learn.record_public_games import record_replays

        record_replays(game, replays, output, terminal.pairs(option or []), not no_masks, overwrite, as_json)
        return
    if from_bus is not None:
        from jimbot.cli.learn.record_bus import record_bus

        record_bus(game, from_bus, output, terminal.pairs(option or []), bus_start, overwrite, as_json)
        return
    from jimbot.runs.files import check_target
    from jimbot.training.imitation.record import record as play_and_write

    choice = _teacher(policy, game, terminal.pairs(option or []), runs_dir, best)
    path = output or Path(f"{game}-{choice.name.replace('/', '-').replace(' ', '-')}.npz")
    if path.exists() and not overwrite:
        raise UsageError(f"{path} exists already. Give another --output, or --overwrite to replace it.")
    check_target(path)
    keep_compiled(choice.entry)
    number = terminal.seed_of(choice.entry, seed)
    with showing_progress(f"Recording {choice.name}", quiet=as_json) as progress:
        info = play_and_write(
            choice.policy,
            choice.game,
            games,
            path,
            options=choice.options,
            seed=number or 0,
            num_envs=num_envs,
            deterministic=not stochastic,
            noise=noise,
            probabilities=probabilities,
            masks=not no_masks,
            progress=progress,
            note=terminal.note,
        )
    if as_json:
        terminal.print_json({"dataset": str(path), "bytes": path.stat().st_size, **info.model_dump(exclude={"chunks"})})
    else:
        _report(info, path)


def _teacher(policy: str, game: str, options: dict, runs_dir: Path, best: bool) -> Player:
    from jimbot.policies.players import find_player
    from jimbot.policies.scripted import scripted_names

    try:
        return find_player(policy, game, options, runs_dir, "best" if best else "latest")
    except CheckpointError as problem:
        if Path(policy).exists() or (runs_dir / policy).exists():
            raise
        known = ", ".join(scripted_names(game))
        raise UsageError(
            f"Unknown policy '{policy}': no scripted player of {game} (they are: {known}), run or checkpoint has "
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
    terminal.print_next([(f"jimbot clone {terminal.quoted(path)}", "a policy that does the same")])
