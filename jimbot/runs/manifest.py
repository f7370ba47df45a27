"""What a checkpoint says about itself, and how each released format is read.

The manifest ties parameters to the exact game, observation and action tables they were trained on, and carries the
size and digest of every other file, so damage is found before anything is used.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

import jimbot
from jimbot.errors import CheckpointError, UnreadableError
from jimbot.reading.plain import json_value

if TYPE_CHECKING:
    from jimbot.games.spec import GameSpec

FORMAT_VERSION = 1
"""Raised when a reader of the version before could not read the new files; its reader then stays in `_READERS`."""

OBSERVED = "observation table"
_PLATFORM_PACKAGES = ("numpy", "jax", "onnxruntime")


def platform_info() -> dict[str, str]:
    """Versions and machine, without importing any of the packages named."""
    found = {"jimbot": jimbot.__version__, "python": platform.python_version()}
    for package in _PLATFORM_PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found | {"machine": platform.machine(), "system": platform.system()}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class FileRecord(BaseModel):
    """Size and digest of one file of a checkpoint."""

    model_config = ConfigDict(frozen=True)

    sha256: str
    size: int = Field(ge=0)


class MadeForGame(BaseModel):
    """What every file made for one game says: which one exactly. Unknown keys are ignored, so later minor additions do
    not break old readers."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    format_version: int
    game: str
    game_version: int
    game_options: dict[str, Any] = {}
    observation_fingerprint: str
    action_fingerprint: str
    platform: dict[str, str] = Field(default_factory=platform_info)
    created: str = Field(default_factory=_now)

    @classmethod
    def for_game(cls, spec: GameSpec, **rest: Any) -> Self:
        """The record of `spec`; `rest` are the fields the game does not decide."""
        return cls(
            game=spec.id,
            game_version=spec.version,
            observation_fingerprint=spec.observation.fingerprint,
            action_fingerprint=spec.actions.fingerprint,
            **rest,
        )

    def compared(self, spec: GameSpec) -> list[tuple[str, Any, Any]]:
        """(what, found, needed) of all that must agree with a game."""
        return [
            ("game", self.game, spec.id),
            ("version of the game", self.game_version, spec.version),
            (OBSERVED, self.observation_fingerprint, spec.observation.fingerprint),
            ("action table", self.action_fingerprint, spec.actions.fingerprint),
        ]


class Manifest(MadeForGame):
    """The content of manifest.json."""

    format_version: int = FORMAT_VERSION
    learner: str
    algorithm: str
    network: dict[str, Any] = {}
    """The architecture, as `jimbot.policies.networks` describes it."""
    environment: str = ""
    """What it learned in where that was not the game itself: an environment or batch given from Python."""
    step: int = Field(ge=0)
    """Environment steps learned from so far."""
    update: int = Field(default=0, ge=0)
    config: dict[str, Any] = {}
    metrics: dict[str, Any] = {}
    serial: int = 0
    """Counts the saves of a run; tells the newest checkpoint even when a run was taken up again from an older one."""
    files: dict[str, FileRecord] = {}

    @field_validator("files")
    @classmethod
    def _inside(cls, files: dict[str, FileRecord]) -> dict[str, FileRecord]:
        for name in files:
            parts = PurePosixPath(name)
            if parts.is_absolute() or ".." in parts.parts:
                raise ValueError(f"file name '{name}' points outside the checkpoint")
        return files

    def portable_text(self) -> str:
        """As JSON without the file list: what params_<step>.npz and exported ONNX files carry inside."""
        return self.model_dump_json(exclude={"files"})


def parse_manifest(text: str | bytes, where: str | Path) -> Manifest:
    """A manifest from its JSON text, whatever released format it has; `where` is for the error sentence."""
    try:
        raw = json_value(text)
    except UnreadableError as problem:
        raise CheckpointError(f"{where} is damaged: its manifest is not JSON ({problem}).") from problem
    version = raw.get("format_version") if isinstance(raw, dict) else None
    if not isinstance(version, int) or isinstance(version, bool):
        raise CheckpointError(f"{where} is not a JimBot checkpoint: its manifest has no format_version.")
    if version not in _READERS:
        raise CheckpointError(
            f"{where} has checkpoint format {version}; JimBot {jimbot.__version__} reads formats "
            f"{', '.join(map(str, _READERS))}. Use a newer JimBot."
        )
    try:
        return _READERS[version](raw)
    except ValidationError as problem:
        first = problem.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise CheckpointError(f"{where} is damaged: manifest field '{field}': {first['msg']}.") from problem


def check_matches(
    manifest: Manifest, spec: GameSpec, learner: str | None = None, where: str | Path = "", sees_less: bool = False
) -> None:
    """Refuses parameters of another game, game version, observation or action table, or learner; with `sees_less` those
    pass that know the first fields of the observation only."""
    pairs = manifest.compared(spec)
    if sees_less and spec.observation.opens_with(manifest.observation_fingerprint):
        pairs = [pair for pair in pairs if pair[0] != OBSERVED]
    if learner is not None:
        pairs.append(("learner", manifest.learner, learner))
    for what, found, expected in pairs:
        if found != expected:
            raise CheckpointError(
                f"The {what} of checkpoint {where or manifest.step} is '{found}' but '{expected}' is needed here"
                f"{'' if what == 'game' else f' (game {spec.id})'}; use a checkpoint made for it."
            )


def _read_v1(raw: dict[str, Any]) -> Manifest:
    return Manifest.model_validate(raw)


_READERS: dict[int, Callable[[dict[str, Any]], Manifest]] = {1: _read_v1}
"""One reader per released format; none is ever removed (each has a fixture under tests/runs/fixtures)."""
