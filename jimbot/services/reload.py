"""Follows a training run: whenever it has a better policy, the service takes it, after a look at it."""

from __future__ import annotations

import logging
from pathlib import Path

from jimbot.background import Repeating
from jimbot.errors import JimbotError
from jimbot.games.contract import game_entry
from jimbot.policies.portable import load_policy
from jimbot.runs.checkpoint import find_checkpoint
from jimbot.services.decision.served import ServedPolicy
from jimbot.services.decision.service import DecisionService

_log = logging.getLogger("jimbot.services")


class RunWatch:
    """Looks at a run's best checkpoint every so often. A bad file keeps the old policy and is not tried again."""

    def __init__(
        self, service: DecisionService, run: str, runs_root: Path = Path("runs"), seconds: float = 5.0, name: str = ""
    ) -> None:
        self._service, self._run, self._root = service, run, runs_root
        self.name = name or Path(run).name
        self._seen: Path | None = None
        self._looks = Repeating(f"watch {run}", seconds, self.look)

    def start(self) -> None:
        """Serves what the run has now (there must be something), then follows it."""
        path = self._best()
        self._service.add(self._load(path))
        self._seen = path
        self._looks.start()

    def look(self) -> bool:
        """Takes the run's best policy if it is a new one; whether it did."""
        try:
            path = self._best()
            if path == self._seen:
                return False
            self._seen = path
            served = self._load(path)
            old = self._service.replace(served)
        except (
            Exception
        ) as problem:  # a checkpoint being removed, a damaged file, a model that fails: the old one stays
            reason = str(problem) if isinstance(problem, JimbotError) else f"{type(problem).__name__}: {problem}"
            _log.warning("The new policy of run '%s' is not taken; the old one goes on. %s", self._run, reason)
            return False
        _log.info("Run '%s': policy %s takes over from %s", self._run, served.version, old.version)
        return True

    def close(self) -> None:
        self._looks.close()

    def _best(self) -> Path:
        return find_checkpoint(self._run, self._root, "best")

    def _load(self, path: Path) -> ServedPolicy:
        policy, manifest = load_policy(path)
        assert manifest is not None
        return ServedPolicy.make(game_entry(manifest.game), policy, manifest, self.name)
