"""Which run a checkpoint belongs to: `--resume PATH` and `--checkpoint PATH` take game, settings and run from it.

A checkpoint directory (or a file inside one) is a point in a run: that run goes on from there. An exported file (.pt,
.npz) holds the policy alone. If the run it came from is still here with the checkpoint it was made of, that is what is
meant; otherwise a run begins from its parameters, with the settings it was trained with.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jimbot.errors import CheckpointError, SettingsError
from jimbot.runs.checkpoint import CHECKPOINTS, Manifest, find_checkpoint, load_checkpoint
from jimbot.runs.directory import RunDirectory
from jimbot.training.init_policy import POLICY_FILES, read_policy
from jimbot.training.session.session import run_name
from jimbot.training.settings.record import DEFAULTS, TrainSettings, load_settings, merged

MANIFEST = "manifest.json"
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
    kept = {**DEFAULTS, **manifest.config, "resume": None, "minutes": None}
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
