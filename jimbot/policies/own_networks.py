"""Networks of other people for the default learner: a pair of JAX functions made from a game's spec, under a name.

    def make(spec):                       # GameSpec: what there is to see and to do
        def init(seed): ...               # → parameters: arrays by name, dictionaries may be nested
        def apply(params, observation): ...  # (N, D) → (N, A) logits before masking, (N,) values
        return init, apply

They are found as games and learners are (`jimbot.plugins`): `register_network("mine", make)`, a module named by
`--plugin` that shows `NETWORK = make` (called as the function is) or registers some, `--network module:make`, or an
entry point of the group `jimbot.networks`. A checkpoint keeps the name and the shapes of the parameters, and the ONNX
policy beside them plays without the functions; only who learns on, or makes another ONNX file from bare parameters,
needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from jimbot import plugins
from jimbot.errors import CheckpointError, SettingsError, UnknownNameError
from jimbot.games.contract import available_games, game_entry
from jimbot.games.spec import GameSpec

GROUP = "jimbot.networks"
OWN = "own"  # key of a description that is not one of ours

Init = Callable[[int], Mapping[str, Any]]
Apply = Callable[[Mapping[str, Any], Any], tuple[Any, Any]]
Maker = Callable[[GameSpec], tuple[Init, Apply]]


class Functions(NamedTuple):
    """A network for one game; parameters are flat, by names with dots."""

    init: Callable[[int], dict[str, Any]]
    apply: Callable[[Mapping[str, Any], Any], tuple[Any, Any]]


_MAKERS: dict[str, Maker | str] = {}
_MADE: dict[tuple[str, str], Functions] = {}  # (name, fingerprint of what it sees and does) → functions


def register_network(name: str, make: Maker) -> None:
    """Makes a network known under a name, for `--network` and settings in this process."""
    if not callable(make):
        raise SettingsError(f"Network '{name}' is a {type(make).__name__}; expected a function of a GameSpec.")
    _MAKERS[name] = make
    for key in [key for key in _MADE if key[0] == name]:
        del _MADE[key]


def available_networks() -> list[str]:
    """The names of networks that are not ours."""
    for name, where in plugins.entry_points(GROUP).items():
        _MAKERS.setdefault(name, where)
    for module in plugins.plugin_modules():
        if callable(found := getattr(module, "NETWORK", None)):
            _MAKERS.setdefault(found.__name__, found)
    return sorted(_MAKERS)


def describe(spec: GameSpec, name: str, ours: tuple[str, ...]) -> dict[str, Any]:
    """What a checkpoint keeps of a plug-in's network: its name and the shapes of its parameters."""
    if name not in available_networks() and plugins.is_module_name(name):
        register_network(name, plugins.named_object(name, "NETWORK"))
    if name not in _MAKERS:
        hint = "One of your own is found with --plugin MODULE."
        raise UnknownNameError("network", name, (*ours, *available_networks(), "auto"), hint)
    key = name, _fingerprint(spec)
    if key not in _MADE:
        _MADE[key] = _functions(name, spec)
    shapes = {part: list(np.shape(value)) for part, value in _MADE[key].init(0).items()}
    return {"hidden": [], OWN: {"game": spec.id, "made_for": key[1], "params": shapes}}


def functions_of(network: Mapping[str, Any]) -> Functions:
    """The functions of a description; one sentence where nobody here knows them."""
    name, own = network["kind"], network[OWN]
    key = name, own["made_for"]
    if key in _MADE:
        return _MADE[key]
    if name in available_networks() and own["game"] in available_games():
        spec = game_entry(own["game"]).spec
        if _fingerprint(spec) == own["made_for"]:
            _MADE[key] = _functions(name, spec)
            return _MADE[key]
    raise CheckpointError(
        f"Network '{name}' is not one of JimBot's and not registered. Name its module with --plugin, or "
        "use the checkpoint itself, whose policy.onnx plays without them."
    )


def flops(network: Mapping[str, Any]) -> int:
    """Of one forward pass, as if every parameter with two axes were a dense layer."""
    return sum(2 * int(np.prod(shape)) for shape in network[OWN]["params"].values() if len(shape) > 1)


def _fingerprint(spec: GameSpec) -> str:
    return f"{spec.observation.fingerprint} {spec.actions.fingerprint}"


def _functions(name: str, spec: GameSpec) -> Functions:
    make: Any = _MAKERS[name]
    if isinstance(make, str):
        make = plugins.named_object(make, "NETWORK")
    try:
        init, apply = make(spec)
    except (TypeError, ValueError) as problem:
        raise SettingsError(
            f"Network '{name}' could not be made for '{spec.id}': {problem}. Expected a function of a GameSpec that "
            "returns (init, apply)."
        ) from problem
    functions = Functions(
        lambda seed: dict(_flat(init(seed))), lambda params, observation: apply(_nested(params), observation)
    )
    _check(functions, name, spec)
    return functions


def _check(functions: Functions, name: str, spec: GameSpec) -> None:
    """One sentence about what a first answer lacks."""
    params = functions.init(0)
    if not params or any(np.asarray(value).dtype != np.float32 for value in params.values()):
        raise SettingsError(f"Network '{name}': init must return float32 arrays by name, at least one.")
    seen = np.random.default_rng(0).standard_normal((3, spec.observation.size)).astype(np.float32)
    logits = []
    for rows in (1, 3):
        answer = functions.apply(params, seen[:rows])
        shapes = [tuple(np.shape(part)) for part in answer]
        if shapes != [(rows, spec.actions.size), (rows,)]:
            raise SettingsError(
                f"Network '{name}': apply answers {rows} observations with shapes {shapes}; expected "
                f"[({rows}, {spec.actions.size}), ({rows},)], logits and values."
            )
        logits.append(np.asarray(answer[0])[0])
    if not np.allclose(*logits, rtol=1e-3, atol=1e-4):
        raise SettingsError(
            f"Network '{name}' answers differently when other observations are beside one; rows must not know of each "
            "other."
        )


def _flat(params: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """
    >>> _flat({"head": {"weight": 1}, "scale": 2})
    [('head.weight', 1), ('scale', 2)]
    """
    found: list[tuple[str, Any]] = []
    for name, value in params.items():
        found += _flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else [(f"{prefix}{name}", value)]
    return found


def _nested(params: Mapping[str, Any]) -> dict[str, Any]:
    """
    >>> _nested({"head.weight": 1, "scale": 2})
    {'head': {'weight': 1}, 'scale': 2}
    """
    found: dict[str, Any] = {}
    for name, value in params.items():
        *groups, last = name.split(".")
        place = found
        for group in groups:
            place = place.setdefault(group, {})
        place[last] = value
    return found
