"""One training run from settings to verdict: open or continue the run, learn, evaluate on held-out seeds.

`jimbot train`, `jimbot resume` and `python -m jimbot.training.run` are all this function. `continuing` finds the run a
checkpoint belongs to, `learners` the class that trains, `session` is what that class asks while it learns, `outcome` is
what comes back.

`--resume PATH` and `--checkpoint PATH` take game, settings and run from a checkpoint. A checkpoint directory (or a file
inside one) is a point in a run: that run goes on from there. An exported file (.pt, .npz) holds the policy alone. If
the run it came from is still here with the checkpoint it was made of, that is what is meant; otherwise a run begins
from its parameters, with the settings it was trained with.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

from jimbot.errors import CheckpointError, JimbotError, SettingsError
from jimbot.foreign_text import Terminal, visible
from jimbot.logs import quote_last_resort, setup_logging
from jimbot.runs.catalogue import store_evaluation
from jimbot.runs.checkpoint import CHECKPOINTS, Manifest, find_checkpoint, load_checkpoint, run_names
from jimbot.runs.directory import RunDirectory
from jimbot.training.framework import RLTrainer, learner_class, open_trainer
from jimbot.training.init_policy import POLICY_FILES, read_policy
from jimbot.training.memory import restart_command
from jimbot.training.session.session import Outcome, run_name
from jimbot.training.settings.batch import MEASURED
from jimbot.training.settings.layers import complete, resolve
from jimbot.training.settings.layers import resolve_settings as resolve_settings  # users find it here
from jimbot.training.settings.names import BATCH, DERIVED, RLLIB_NAMES, flat_values, game_of, left_out
from jimbot.training.settings.record import DEFAULTS, TrainSettings, load_settings, merged, parse_assignments, read_yaml

OMITTED = "left out: the default"
RUNNERS = "ray: processes that play"
PARTS = {
    "model": {"custom_model_config": ("memgraph_embedding_dim", RLLIB_NAMES["custom_model_config"].why)},
    "env_config": {"difficulty_schedule": ("difficulty_schedule", "easy, medium, hard: beat ante 2, 4, 8")},
}
"""Entries of a name that become settings of their own, and why."""


class Mapped(NamedTuple):
    """One line of it."""

    given: str
    value: Any
    ours: str  # empty: nothing needs setting
    becomes: Any
    why: str
    today: str = ""  # what RLlib calls it by now


def explain(layer: Mapping[str, Any], settings: TrainSettings) -> list[Mapped]:
    """What each name in the file became in the resolved `settings`, then what it leaves out."""
    lines = [line for name, value in layer.items() for line in _lines(name, value, settings)]
    for name, value in left_out(layer).items():
        lines += [line._replace(why=OMITTED) for line in _lines(name, value, settings)]
    return lines


def _lines(name: str, value: Any, settings: TrainSettings) -> list[Mapped]:
    """What one name became; some become several settings."""
    if name == "batch_size" or name in DERIVED:
        ours, why = (DERIVED[name][0], "in our measure") if name in DERIVED else _batch(settings)
        return [Mapped(name, value, ours, settings[ours], why)]
    if name not in RLLIB_NAMES:
        own = flat_values(TrainSettings, {name: value})
        return [Mapped(name, given, ours, settings[ours], "") for ours, given in own.items()]
    ours, today, why = RLLIB_NAMES[name]
    lines = [Mapped(name, value, ours, settings[ours] if ours else None, why, today)]
    inside = value if isinstance(value, Mapping) else {}
    if name == "num_workers":
        lines.append(Mapped(name, value, "num_env_runners", settings["num_env_runners"], RUNNERS, today))
    for part, (ours, why) in PARTS.get(name, {}).items():
        if part in inside:
            lines.append(Mapped(part, inside[part], ours, settings[ours], why))
    return lines


def _batch(settings: TrainSettings) -> tuple[str, str]:
    """What `batch_size` is called here, and why."""
    ours = BATCH.get(settings.algorithm)
    return (ours, "the same thing") if ours else ("num_minibatches", "batch ÷ minibatch, made to divide")


def mapping_table(lines: list[Mapped]) -> Table:
    """The lines for a terminal, readable at 80 columns."""
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("in the file", "becomes", "why"):
        table.add_column(title, overflow="fold")
    for line in lines:
        table.add_row(_pair(line.given, line.value), _pair(line.ours, line.becomes), line.why)
    return table


def _pair(name: str, value: Any) -> str:
    """A setting and its value; of a mapping only the name, since its entries have lines of their own."""
    return (name if isinstance(value, Mapping) else f"{name}: {value}") if name else "nothing"


MANIFEST = "manifest.json"
NOT_KEPT = {"resume": None, "callbacks": None}
"""Of stored settings; a module is imported only because the caller names it now."""
FRESH_START = {"bc_model": None, "init_kl": 0.0, "value_warmup_updates": 0, "freeze_trunk_updates": 0}
"""How the run began that a policy came from does not matter to the run that begins from the policy."""


class Continued(NamedTuple):
    """A run that goes on: its settings, and the directory of runs it lies in."""

    settings: TrainSettings
    root: Path


def continued(reference: str | Path, given: Mapping[str, Any], root: Path = Path("runs")) -> Continued:
    """The run that `reference` belongs to; `given` may change what may change between two calls of a run."""
    path = Path(reference)
    if path.is_file() and (path.parent / MANIFEST).is_file():
        path = path.parent
    if path.is_file() and path.suffix in POLICY_FILES:
        return _of_file(path, given, root)
    checkpoint = load_checkpoint(find_checkpoint(path, root))
    home, name = _home(checkpoint.path, root)
    settings = _stored(checkpoint.manifest, {"run_name": name}, given)
    return Continued(settings.model_copy(update={"resume": str(checkpoint.path)}), home)


def _of_file(path: Path, given: Mapping[str, Any], root: Path) -> Continued:
    manifest = read_policy(path).manifest
    settings = _stored(manifest, {}, given)
    run = RunDirectory(root, run_name(settings))
    same = [one for one in run.checkpoints().paths() if load_checkpoint(one).manifest.step == manifest.step]
    if same:
        return Continued(settings.model_copy(update={"resume": str(same[-1])}), root)
    begun = {**FRESH_START, "init_from": str(path)}
    stored = run.read_config() if run.path.is_dir() else None
    if stored is not None and stored.get("init_from") != begun["init_from"]:
        raise CheckpointError(
            f"{path} is of run '{run.name}' at step {manifest.step:,}, which that run under {root} no longer has. "
            "Give the run that begins from it a name of its own (--experiment, --run-name)."
        )
    return Continued(settings.model_copy(update=begun), root)


def _stored(manifest: Manifest, name: Mapping[str, Any], given: Mapping[str, Any]) -> TrainSettings:
    """The settings a checkpoint was trained with, under what is given now."""
    if "dataset" in manifest.config:
        raise SettingsError("The checkpoint is a clone's; start from it with --init-from or --bc-model.")
    values = merged(given)
    if values.get("game", manifest.game) != manifest.game:
        raise SettingsError(
            f"The checkpoint is of game '{manifest.game}', but game '{values['game']}' is asked for. Name one game."
        )
    kept = {**DEFAULTS, **manifest.config, **NOT_KEPT, "minutes": None}
    return load_settings(kept, {"run_suffix": None, **name} if name else {}, values)


def _home(checkpoint: Path, root: Path) -> tuple[Path, str]:
    """(directory of runs, name of the run) that a checkpoint lies in; a run may keep its checkpoints elsewhere."""
    folder = checkpoint.parent
    if folder.name == CHECKPOINTS and (folder.parent / "config.yaml").is_file():
        return folder.parent.parent, folder.parent.name
    for name in [folder.name, *(path.name for path in root.glob("*"))]:
        if (root / name / CHECKPOINTS).resolve() == folder.resolve():
            return root, name
    raise CheckpointError(
        f"{checkpoint} lies in no run (no config.yaml beside its {CHECKPOINTS}/). Start a new run from its parameters: "
        "--init-from."
    )


STANDARD = Path("configs/default_ppo.yaml")
"""What `python -m jimbot.training.run` trains from when nobody says otherwise."""
CLUSTER = {"learner": "ray", "address": "auto"}
"""`--cluster`, in one word."""


def stored_settings(run: str, given: Mapping[str, Any], root: Path = Path("runs")) -> TrainSettings:
    """The settings a run was started with, for `jimbot resume`; `given` may change what may change."""
    directory = RunDirectory(root, run)
    config = directory.read_config() if directory.path.is_dir() else None
    if config is None:
        known = ", ".join(run_names(root)) or "none"
        raise CheckpointError(
            f"There is no run '{run}' under {root} (runs there: {known}). Check the name or --runs-dir."
        )
    if "dataset" in config:
        raise SettingsError(f"Run '{run}' is a clone; the same `jimbot clone` command continues it.")
    return load_settings({**DEFAULTS, **config, **NOT_KEPT}, {"run_name": run, "run_suffix": None}, given)


def run_training(
    settings: TrainSettings,
    root: Path = Path("runs"),
    fresh: bool = False,
    quiet: bool = False,
    restart: Callable[[float], None] | None = None,
) -> Outcome:
    """Trains (or goes on training) a run and evaluates what came out.

    `restart(seconds trained)` replaces this process by a clean one that continues the run, when memory asks for it;
    without one the call ends there, and the next one continues.
    """
    settings = complete(settings)
    if settings.population.size:
        from jimbot.training.population.run import run_population

        return run_population(settings, root, fresh, quiet)
    if settings.batch == MEASURED:
        learner_class(settings)  # what it cannot honour is said before anything is measured
        settings = _tuned(settings, None if fresh else RunDirectory(root, run_name(settings)).read_config())
    with closing(open_trainer(settings, root, fresh, quiet)) as trainer:
        session = trainer.session
        trainer.train()
        if session.memory.restart_wanted:
            session.memory.count_restart(trainer.step)
            if restart is not None:
                trainer.close()
                restart(session.seconds)
        return _outcome(trainer)


def _outcome(trainer: RLTrainer) -> Outcome:
    """What was learned, saved where `train` did not, and judged."""
    session, settings = trainer.session, trainer.settings
    games = settings.judging.eval_games
    if not trainer.can_save:
        if games:
            session.evaluated(trainer.step, *trainer.evaluate(games))
        return Outcome(session.run.name, trainer.step, None, session.log(trainer.step, {}), None)
    checkpoint = session.store.latest()
    if checkpoint is None or load_checkpoint(checkpoint).manifest.step < trainer.step:
        checkpoint = trainer.save_model()
    evaluation = session.evaluated_checkpoint(checkpoint) if games else None
    step = load_checkpoint(checkpoint).manifest.step
    if evaluation is not None:
        store_evaluation(session.run, evaluation.to_dict(), step)
    return Outcome(session.run.name, step, checkpoint, session.latest_metrics, evaluation)


def _tuned(settings: TrainSettings, stored: Mapping[str, Any] | None) -> TrainSettings:
    """Measured once per run; a run that goes on keeps what was chosen at its start."""
    from jimbot.training.jax_ppo.autotune import TUNED, tune

    if stored is not None:
        return settings.model_copy(update={name: stored[name] for name in TUNED})
    return tune(settings)


def standard_file(values: Mapping[str, Any]) -> dict[str, Any]:
    """`configs/default_ppo.yaml`, one's own before the one that comes with JimBot; nothing where another game is meant:
    that has its preset."""
    own = STANDARD if STANDARD.is_file() else Path(__file__).parent / STANDARD
    file = read_yaml(own)
    return file if merged(values).get("game") in (None, game_of(file.get("env"))) else {}


def main(arguments: list[str] | None = None) -> int:
    """`python -m jimbot.training.run`: a run from a settings file, without flags for every setting."""
    parser = argparse.ArgumentParser("python -m jimbot.training.run", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--config", type=Path, help=f"settings file, RLlib-style names are understood ({STANDARD})")
    parser.add_argument("--checkpoint", help="go on from this checkpoint, or begin from this exported file (.pt, .npz)")
    parser.add_argument("--experiment", help="name of the run")
    parser.add_argument("--track", action="store_true", help="record the run with W&B, under the experiment's name")
    parser.add_argument("--cluster", action="store_true", help="join the Ray cluster that runs on this machine")
    parser.add_argument("--log-level", help="debug, info, warning or error: what is logged beside the run's own lines")
    parser.add_argument("--set", dest="assignments", action="append", default=[], help="name=value; any setting")
    parser.add_argument(
        "--explain-config", action="store_true", help="show what each line of the file became, and stop"
    )
    parser.add_argument("--runs-dir", type=Path, default=Path("runs"), help="where runs live")
    given = parser.parse_args(arguments)
    quote_last_resort()
    values = parse_assignments(given.assignments)
    chosen: dict[str, Any] = CLUSTER if given.cluster else {}
    if given.experiment is not None:
        chosen |= {"run_name": given.experiment}
    if given.track:
        chosen |= {"project": given.experiment or "jimbot"}
    try:
        if given.log_level is not None:
            setup_logging(given.log_level)
        file, notes, root = read_yaml(given.config) if given.config else {}, [], given.runs_dir
        if given.checkpoint is not None:
            settings, root = continued(given.checkpoint, merged(file, values, chosen), root)
        else:
            file = file or standard_file(values)
            settings, _, notes = resolve(file, values, chosen, root=root)
        if given.explain_config:
            Terminal().print(mapping_table(explain(file, settings)))
        for note in notes:
            Terminal(stderr=True).print(note, style="dim")
        if given.explain_config:
            return 0
        outcome = run_training(settings, root, restart=restart_command)
    except JimbotError as problem:
        print(visible(problem), file=sys.stderr)
        return problem.exit_code
    if outcome.evaluation:
        Terminal().print(outcome.evaluation)
    print(f"Run {outcome.run} is at step {outcome.step:,}: {outcome.checkpoint or 'no policy to save'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
