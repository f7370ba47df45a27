"""Games, learners, networks and extensions of other people: where they are found, and how their modules are imported.

Four ways, the same for the command line and from Python:

- an installed package declares them as entry points of the groups `jimbot.games`, `jimbot.learners`,
  `jimbot.networks` and `jimbot.extensions` (parts of the jax learner),
- `--plugin MODULE` (or the variable JIMBOT_PLUGINS, which processes that JimBot starts inherit) imports a module,
- the module is the name: `jimbot train my_package.my_game`, `--learner my_package.my_learner:MyTrainer`,
- a script calls `register_game`, `register_learner`, `register_network` or `register_extension`.

JimBot's own doors (services, the graph, the adviser, the learners sb3 and ray) come in the same way: pyproject.toml
names them, `provided` finds them, and no module of the core does.

A module that is named shows its game as `GAME`, its learner as `LEARNER`, its network as `NETWORK` and its extension as
`EXTENSION`, or registers them when it is imported.
Modules are imported only because a person named them: a name inside a checkpoint, a recording or a stored
configuration never is one.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import sys
from functools import cache
from types import ModuleType
from typing import Any

from jimbot.errors import UsageError

VARIABLE = "JIMBOT_PLUGINS"
_loaded: dict[str, ModuleType | None] = {}  # None: being imported


def use_plugins(*modules: str) -> None:
    """Imports modules that bring games or learners, here and in processes started from here."""
    before = os.environ.get(VARIABLE, "")
    os.environ[VARIABLE] = ",".join(dict.fromkeys([*_names(), *modules]))
    try:
        plugin_modules()
    except BaseException:  # what cannot be imported is nobody's plug-in
        os.environ[VARIABLE] = before
        raise


def plugin_modules() -> list[ModuleType]:
    """The modules named as plug-ins, imported."""
    for name in _names():
        if name not in _loaded:
            _loaded[name] = None  # a plug-in may ask for the list of games while it is imported
            try:
                _loaded[name] = import_named(name)
            finally:
                if _loaded[name] is None:
                    del _loaded[name]
    return [module for module in _loaded.values() if module is not None]


def import_named(name: str) -> ModuleType:
    """A module by the name a person gave it; the current folder counts, as it does for `python -m`."""
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as problem:
        if problem.name and (name == problem.name or name.startswith(f"{problem.name}.")):
            raise UsageError(
                f"There is no module '{name}'; expected one that is installed or lies in this folder ({here})."
            ) from problem
        raise UsageError(f"Module '{name}' needs '{problem.name}', which is not installed.") from problem


def named_object(reference: str, attribute: str) -> Any:
    """What `package.module` shows as `attribute`, or `package.module:name` as `name`."""
    module, _, name = reference.partition(":")
    found = getattr(import_named(module), name or attribute, None)
    if found is None:
        raise UsageError(f"Module '{module}' has no '{name or attribute}'; check the name, or add it there.")
    return found


def is_module_name(text: str) -> bool:
    """Whether a name can only be that of a module or of something in one.

    >>> is_module_name("my_package.my_game"), is_module_name("my_game:GAME"), is_module_name("balatro")
    (True, True, False)
    """
    return ("." in text or ":" in text) and all(part.isidentifier() for part in text.replace(":", ".").split("."))


@cache
def entry_points(group: str) -> dict[str, str]:
    """What installed packages offer: name → `module:attribute`; nothing is imported."""
    return {point.name: point.value for point in importlib.metadata.entry_points(group=group)}


def provided(group: str, name: str) -> Any:
    """What is registered under a name; one sentence where nothing is."""
    where = entry_points(group).get(name)
    if where is None:
        raise UsageError(f"Nothing installed provides '{name}' of {group}. Install JimBot anew: pip install -e .")
    return named_object(where, name)


def _names() -> list[str]:
    return [name for name in os.environ.get(VARIABLE, "").split(",") if name]
