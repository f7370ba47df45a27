"""Callbacks in the form RLlib gave them (`callbacks` in the settings), under every learner.

A class, an object or "module:Class" (or a list of them) with methods of RLlib's names. Every learner calls those in
`CALLED`, with named values as RLlib does; `algorithm` is the trainer, on learner ray RLlib's algorithm. RLlib calls all
others, in the processes that play. A callback that fails ends the run in order: what was learned is saved first.

What comes from the library or from JimBot is not called: it is there anyhow (metrics, checkpoints, evaluation).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jimbot import plugins
from jimbot.errors import TrainingError
from jimbot.training.settings.groups import callback_name

CALLED = ("on_algorithm_init", "on_train_result", "on_evaluate_start", "on_evaluate_end", "on_checkpoint_loaded")
NOT_OURS = ("ray", "jimbot", "builtins")


def imported(given: Iterable[Any]) -> list[Any]:
    """What is given by name, as the thing itself."""
    return [plugins.named_object(one, "CALLBACKS") if isinstance(one, str) else one for one in given]


def own_methods(callback: Any) -> list[str]:
    """The methods a user wrote for it, by RLlib's way of naming them.

    >>> Mine = type("Mine", (), {"on_train_result": print, "close": print, "__module__": "mine"})
    >>> own_methods(Mine())
    ['on_train_result']
    """
    classes = [kind for kind in type(callback).__mro__ if kind.__module__.partition(".")[0] not in NOT_OURS]
    return sorted({name for kind in classes for name in vars(kind) if name.startswith("on_")})


class Callbacks:
    """Calls the methods of some callbacks; what fails is kept, and nothing is called after it."""

    def __init__(self, given: Iterable[Any]) -> None:
        self.made = [_made(one) for one in imported(given)]
        self.failure: TrainingError | None = None

    @property
    def methods(self) -> list[str]:
        """What any of them wants to be called with."""
        return sorted({name for one in self.made for name in own_methods(one)})

    def tell(self, name: str, **values: Any) -> None:
        """Calls the method of that name wherever it is."""
        for one in self.made:
            if self.failure is None and name in own_methods(one):
                self._call(one, name, values)

    def _call(self, one: Any, name: str, values: dict[str, Any]) -> None:
        try:
            getattr(one, name)(**values)
        except Exception as problem:
            self.failure = TrainingError(
                f"{name} of the callback {callback_name(one)} failed: {type(problem).__name__}: {problem}. Correct it "
                "and start again; the run goes on from its last checkpoint."
            )
            self.failure.__cause__ = problem

    def check(self) -> None:
        """Raises what failed."""
        if self.failure is not None:
            raise self.failure

    def uncalled(self, called: Sequence[str], learner: str) -> str:
        """One sentence about methods that this learner never calls; empty where there are none."""
        left = [f"{type(one).__name__}.{name}" for one in self.made for name in own_methods(one) if name not in called]
        if not left:
            return ""
        elsewhere = "" if learner == "ray" else "; learner ray calls all of RLlib's new API"
        return f"Learner '{learner}' never calls {', '.join(left)}. It calls {', '.join(called)}{elsewhere}."


def _made(given: Any) -> Any:
    """An object with the methods: a class (or whatever makes one) is called without arguments, as RLlib does."""
    makes = isinstance(given, type) or (callable(given) and not own_methods(given))
    return given() if makes else given
