"""The list of learners: the class that trains, the algorithms it has, and so what learner `auto` means.

A learner is one line here, a call of `register_learner`, or a plug-in (`jimbot.plugins`): sb3 and ray are found like
those of other packages. Nothing is imported before it is used: listing algorithms needs neither jax nor torch.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from jimbot import plugins
from jimbot.errors import MissingExtraError, SettingsError, UnknownNameError, UsageError

GROUP = "jimbot.learners"  # of entry points
AUTO = "auto"
MASKABLE = "MaskablePPO"  # PPO as sb3-contrib calls it; here PPO is masked on every learner


class Learner(NamedTuple):
    """One entry of the list."""

    where: str | type
    """`module:class`, or the class itself."""
    extra: str = "all"
    """Of JimBot, which installs what it needs."""
    algorithms: tuple[str, ...] = ()
    """The usual one first. Without any the class says them (`algorithms`), or the learner is its only one."""
    rank: int = 9
    """Of two learners with one algorithm, `auto` means the lower."""


_LEARNERS: dict[str, Learner] = {
    "jax": Learner("jimbot.training.jax_ppo.trainer:JaxPPOTrainer", "all", ("PPO",), 0),
    "improve": Learner("jimbot.training.expert_iteration:ImproveTrainer", "all", ("ExIt",), 0),
}


def register_learner(
    name: str, where: str | type, class_name: str = "", extra: str = "all", algorithms: Iterable[str] = ()
) -> None:
    """Adds a learner: its class, or where to find it (`module:class`, or module and class) when it is first used.

    `algorithms` are what it is asked for by (`TrainerConfig(algorithm=…)`, `--algorithm`). Without them the class says
    its own (`algorithms = (…)`); a class that says none has one algorithm, called like the learner.
    """
    if isinstance(where, str) and class_name:
        where = f"{where}:{class_name}"
    _LEARNERS[name] = Learner(where, extra, tuple(algorithms))


def named_learner(name: str) -> str:
    """The learner a person means: by its name, or by the class it is (`my_package.module:MyTrainer`)."""
    if name in available_learners() or not plugins.is_module_name(name):
        return name
    found = plugins.named_object(name, "LEARNER")
    if not isinstance(found, type):
        raise UsageError(f"'{name}' is a {type(found).__name__}; expected a class that trains (RLTrainer).")
    return learner_called(found)


def learner_called(trainer: type) -> str:
    """The name of a class in the list; one that is not there gets its own, without the word Trainer."""
    place = f"{trainer.__module__}:{trainer.__qualname__}"
    for name, learner in _LEARNERS.items():
        if learner.where in (trainer, place):
            return name
    name = trainer.__name__.removesuffix("Trainer") or trainer.__name__
    register_learner(name, trainer)
    return name


def available_learners() -> list[str]:
    return sorted(_with_plugins())


def algorithms_of(name: str) -> tuple[str, ...]:
    """What a learner can run, its usual algorithm first."""
    learner = _entry(name)
    return learner.algorithms or tuple(getattr(load_learner(name), "algorithms", ())) or (name,)


def known_algorithms() -> list[str]:
    """Every algorithm by the name settings have for it."""
    return list(dict.fromkeys(algorithm for algorithm, _ in _offers()))


def spelled(name: str) -> tuple[str, str]:
    """(algorithm, learner) meant by a name in any case; the learner is `auto` unless the name says it."""
    if name.lower() == MASKABLE.lower():
        return "PPO", "sb3"
    return next((algorithm for algorithm, _ in _offers() if algorithm.lower() == name.lower()), name), AUTO


def check_known(algorithm: str) -> None:
    """Raises where no learner has the algorithm."""
    if learner_of(algorithm) is None:
        raise UnknownNameError("algorithm", algorithm, [*known_algorithms(), MASKABLE])


def learner_of(algorithm: str) -> str | None:
    """What `auto` means for an algorithm; None where nobody has it."""
    return next((name for offered, name in _offers() if offered == algorithm), None)


class _Asked(Protocol):
    """The part of settings that says who learns."""

    @property
    def learner(self) -> str: ...
    @property
    def algorithm(self) -> str: ...


def learner_name(settings: _Asked) -> str:
    """`auto` resolved by the algorithm."""
    if settings.learner != AUTO:
        _entry(settings.learner)
        return settings.learner
    check_known(settings.algorithm)
    return learner_of(settings.algorithm) or AUTO


def load_learner(name: str) -> Any:
    """The class of a learner; imports its library."""
    learner = _entry(name)
    if isinstance(learner.where, type):
        return learner.where
    module, _, attribute = learner.where.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as problem:
        if not module.startswith("jimbot."):
            raise
        raise MissingExtraError(f"'{problem.name}', which learner '{name}' needs,", learner.extra) from problem


def check_algorithm(settings: _Asked) -> None:
    """Raises where a learner does not have the algorithm."""
    name = learner_name(settings)
    known = algorithms_of(name)
    if settings.algorithm not in known:
        raise SettingsError(
            f"Learner '{name}' does not know algorithm '{settings.algorithm}'; it has {', '.join(known)}."
        )


def _offers() -> Iterator[tuple[str, str]]:
    """(algorithm, learner) of all; those that must be imported to be asked come last, and so only if need be."""
    learners = _with_plugins()
    for name in sorted(learners, key=lambda name: (not learners[name].algorithms, learners[name].rank)):
        for algorithm in algorithms_of(name):
            yield algorithm, name


def _entry(name: str) -> Learner:
    learners = _with_plugins()
    if name not in learners:
        raise UnknownNameError("learner", name, [*learners, AUTO], "One of your own is found with --plugin MODULE.")
    return learners[name]


def _with_plugins() -> dict[str, Learner]:
    for name, where in plugins.entry_points(GROUP).items():
        if name not in _LEARNERS:
            _LEARNERS[name] = _declared(name, where)
    for module in plugins.plugin_modules():
        if isinstance(found := getattr(module, "LEARNER", None), type):
            learner_called(found)
    return _LEARNERS


def _declared(name: str, where: str) -> Learner:
    """An entry point: the class, or a `Learner` record (in capitals) that says more without importing the class."""
    record = plugins.provided(GROUP, name) if where.rpartition(":")[2].isupper() else None
    return record if isinstance(record, Learner) else Learner(where)
