"""Weights & Biases, optional, with or without an account.

Without an API key the run is recorded offline inside the run directory and can be uploaded later (`wandb sync`). The
W&B run id is kept in `wandb.json` in the run directory, so a resumed run continues the same W&B run. The key itself
is W&B's affair (environment or netrc) and is never read into, or written by, JimBot.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import netrc
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from jimbot.errors import MissingExtraError
from jimbot.runs.files import read_json, write_atomically
from jimbot.runs.sinks.contract import Sink

DEFAULT_SERVER = "https://api.wandb.ai"
UPLOADED = ("manifest.json", "policy.onnx", "params_*.npz")
"""What of a checkpoint is uploaded: enough to play with it and to start from it. `state/` can be large and serves only
exact resume, so it stays in the run directory."""

_log = logging.getLogger("jimbot.runs")


class WandbSink(Sink):
    """Rows go to one W&B run whose step is the environment step."""

    name = "W&B"

    def __init__(
        self,
        folder: Path,
        project: str = "jimbot",
        entity: str | None = None,
        run_name: str | None = None,
        config: Mapping[str, Any] | None = None,
        upload_checkpoints: bool = True,
        rewind: bool = False,
    ) -> None:
        """`folder` is the run directory. `rewind`: on resume, W&B's own history is cut back to the checkpoint too."""
        if importlib.util.find_spec("wandb") is None:
            raise MissingExtraError("wandb", "wandb")
        self.folder = folder.resolve()
        self.project, self.entity, self.run_name = project, entity, run_name or folder.name
        self.config = dict(config or {})
        self.upload_checkpoints = upload_checkpoints
        self.rewind = rewind
        self.mode = choose_mode()
        self._rewind_to: int | None = None
        self._run: Any = None
        if self.mode == "offline":
            _log.warning(
                "W&B records offline (no API key or WANDB_MODE=offline); upload later with: wandb sync %s",
                self.folder / "wandb" / "offline-run-*",
            )

    def record(self, step: int, time: float, metrics: Mapping[str, float]) -> None:
        self._open().log(dict(metrics), step=step)

    def checkpoint(self, step: int, path: Path, is_best: bool) -> None:
        if not self.upload_checkpoints:
            return
        import wandb

        run = self._open()
        name = re.sub(r"[^A-Za-z0-9_.-]", "-", f"{self.run_name}-checkpoint")
        artifact = wandb.Artifact(name, type="checkpoint", metadata={"step": step})
        for pattern in UPLOADED:
            for file in sorted(path.glob(pattern)):
                artifact.add_file(str(file))  # copied at once: the checkpoint may be pruned before the upload
        run.log_artifact(artifact, aliases=["latest", f"step-{step}", *(["best"] if is_best else [])])

    def trim(self, step: int) -> None:
        if self.rewind:
            self._rewind_to = step

    def close(self) -> None:
        if self._run is not None:
            self._run.finish()
            self._run = None

    def _open(self) -> Any:
        if self._run is None:
            import wandb

            os.environ.setdefault("WANDB_DATA_DIR", str(self.folder / "wandb"))  # copies of artifacts; else in $HOME
            known = self._known_id()
            run_id = known or secrets.token_hex(4)
            if known is None:
                record = {"id": run_id, "project": self.project, "entity": self.entity, "name": self.run_name}
                write_atomically(self.folder / "wandb.json", json.dumps(record).encode())
            continuing: dict[str, Any] = {"id": run_id}
            if self.mode == "online" and known is not None:
                continuing = {"id": run_id, "resume": "allow"}
                if self._rewind_to is not None:
                    continuing = rewind_arguments(run_id, self._rewind_to)
            self._run = wandb.init(
                project=self.project,
                entity=self.entity,
                name=self.run_name,
                config=self.config,
                dir=str(self.folder),
                mode=self.mode,
                settings=wandb.Settings(console="off", silent=True),
                **continuing,
            )
        return self._run

    def _known_id(self) -> str | None:
        record = read_json(self.folder / "wandb.json")
        found = record.get("id") if isinstance(record, dict) else None
        return found if isinstance(found, str) and found else None


def rewind_arguments(run_id: str, step: int) -> dict[str, Any]:
    """What `wandb.init` needs to cut a run's history back to `step` and continue it under the same id.

    Written from W&B's documentation; NOT checked against a server. W&B offers rewinding to some accounts only, and
    whether it accepts a step between two logged rows is not documented. If it refuses, W&B is disabled for this run
    with a warning (like any failing sink) and training continues.
    """
    return {"resume_from": f"{run_id}?_step={step}"}


def choose_mode() -> Literal["online", "offline", "disabled", "shared"]:
    """`WANDB_MODE` if set; else online when W&B could log in by itself, offline when it could not."""
    asked = os.environ.get("WANDB_MODE")
    match asked:
        case "online" | "offline" | "disabled" | "shared":
            return asked
    if os.environ.get("WANDB_API_KEY") or os.environ.get("WANDB_IDENTITY_TOKEN_FILE"):
        return "online"
    return "online" if _has_login() else "offline"


def _has_login() -> bool:
    host = urlsplit(os.environ.get("WANDB_BASE_URL", DEFAULT_SERVER)).hostname or ""
    try:
        return netrc.netrc(os.environ.get("NETRC")).authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False
