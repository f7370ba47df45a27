"""How a run that starts from another policy takes it over, and is kept from unlearning it; the same on every learner.

All of it counts updates from the start of the run, so exact resume needs nothing beside the update number and the
reference parameters in the state.

- `value_warmup_updates`: at first only the value head learns. A clone's value is a guess about its teacher; advantages
  made from it would push a good policy in wrong directions.
- `freeze_trunk_updates`: at first only the heads learn.
- `init_kl`: a KL anchor to the policy the run began with, weaker with every update.
- Statistics of observations (`normalize_obs`) are counted but not used as long as any of these lasts: another scale
  of the inputs would be another policy.

Clones of other projects (`--bc-model FILE.pt`) are plain state dicts of torch. Nothing in such a file says what network
it is, so its layers are told apart by names: heads that judge actions (`action_head`, `actor`, `policy`, …), heads that
judge positions (`win_head`, `value`, `critic`, …: never taken over), other heads and tables of embeddings (never,
either) and everything else, which is the trunk: each layer goes to the next place of its shape. torch keeps a layer's
weights as (outputs, inputs); ours are (inputs, outputs).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jimbot.errors import CheckpointError, UnreadableError
from jimbot.games.contract import available_games, game_entry, make
from jimbot.games.spec import GameSpec
from jimbot.plugins import provided
from jimbot.policies.networks import check_params, param_shapes, part_of
from jimbot.policies.onnx_form import onnx_from_params
from jimbot.policies.portable import OnnxPolicy
from jimbot.runs.checkpoint import (
    MANIFEST_ENTRY,
    Manifest,
    check_matches,
    find_checkpoint,
    load_checkpoint,
    manifest_in_npz,
)
from jimbot.training.settings.record import TrainSettings

ACTION_HEADS = ("action", "actor", "policy", "logit")
VALUE_HEADS = ("value", "win", "critic")
OTHER_HEADS = ("preview", "head", "aux")
TABLES = ("embed",)
NOT_TAKEN = {"value": "the value head starts fresh", "other": "a head of its own kind"}
WEIGHT, BIAS = ".weight", ".bias"
FEWEST_LAYERS, MOST_LAYERS = 2, 4


class Layer(NamedTuple):
    """One dense layer of such a file."""

    name: str
    weight: np.ndarray  # (inputs, outputs)
    bias: np.ndarray | None

    @property
    def part(self) -> str:
        said = self.name.lower()
        for part, words in (("value", VALUE_HEADS), ("other", ("preview",)), ("policy", ACTION_HEADS)):
            if any(word in said for word in words):
                return part
        return "other" if any(word in said for word in OTHER_HEADS) else "trunk"


class Mapped(NamedTuple):
    """What of a file fits a network."""

    params: dict[str, np.ndarray]
    """By our names; an array smaller than its parameter fills the leading part."""
    taken: list[str]
    left: list[str]
    """Sentences' worth of both: "theirs → ours", "theirs (why not)"."""


def network_for_clone(tensors: Mapping[str, np.ndarray], actions: int) -> dict[str, Any]:
    """The settings of the network that a file's policy fits: dense layers as wide as what its head takes in, as many as
    have that width. Nothing where no head fits a game of so many actions."""
    layers = list(_layers(tensors))
    if (head := _head(layers, actions)) is None:
        return {}
    width = head.weight.shape[0]
    square = sum(layer.weight.shape == (width, width) for layer in layers if layer.part in ("trunk", "policy"))
    return {"network": "mlp", "hidden_dim": width, "num_layers": min(MOST_LAYERS, max(FEWEST_LAYERS, 1 + square))}


def map_clone(tensors: Mapping[str, np.ndarray], network: Mapping[str, Any]) -> Mapped:
    """The layers of a state dict, put where they fit."""
    shapes = param_shapes(network)
    layers = list(_layers(tensors))
    head = _head(layers, shapes.get("policy" + WEIGHT, (0, 0))[1])
    places = [name.removesuffix(WEIGHT) for name in shapes if name.startswith("trunk_") and name.endswith(WEIGHT)]
    params: dict[str, np.ndarray] = {}
    taken, left = [], []
    for layer in layers:
        if layer.part in NOT_TAKEN:
            left.append(f"{layer.name} ({NOT_TAKEN[layer.part]})")
            continue
        wanted = ["policy"] if layer is head or (head is None and layer.part == "policy") else places
        ours = next((name for name in wanted if _fits(layer, shapes.get(name + WEIGHT), layer is head)), None)
        if ours is None:
            here = ", ".join(f"{name} is {shapes.get(name + WEIGHT)}" for name in wanted[:1]) or "is no such layer"
            left.append(f"{layer.name} {layer.weight.shape} (here {here})")
            continue
        if ours in places:
            places = places[places.index(ours) + 1 :]
        params[ours + WEIGHT] = layer.weight
        if layer.bias is not None:
            params[ours + BIAS] = layer.bias
        taken.append(f"{layer.name} → {ours}")
    others = [name for name in tensors if name.rpartition(".")[0] not in {layer.name for layer in layers}]
    return Mapped(params, taken, left + [f"{name} (no dense layer)" for name in others])


def _head(layers: Sequence[Layer], actions: int) -> Layer | None:
    """The layer that judges actions: the last one of the most actions the game has room for."""
    heads = [layer for layer in layers if layer.part == "policy" and layer.weight.shape[1] <= actions]
    return max(reversed(heads), key=lambda layer: layer.weight.shape[1]) if heads else None


def _fits(layer: Layer, wanted: tuple[int, ...] | None, is_head: bool) -> bool:
    """The same layer; of a policy's head, the same inputs and no more actions."""
    inputs, outputs = layer.weight.shape
    return wanted is not None and inputs == wanted[0] and (outputs == wanted[1] or (is_head and outputs < wanted[1]))


def _layers(tensors: Mapping[str, np.ndarray]) -> Iterator[Layer]:
    for name, value in tensors.items():
        if name.endswith(WEIGHT) and value.ndim == 2 and not any(word in name.lower() for word in TABLES):
            bias = tensors.get(name.removesuffix(WEIGHT) + BIAS)
            yield Layer(name.removesuffix(WEIGHT), np.asarray(value, np.float32).T, bias)


FIRST_PARAMS = "jimbot.first_params"
"""Group of entry points: who gives the parameters that a network begins with, by what it looks things up in."""


def looked_up(network: Mapping[str, Any], game: str) -> dict[str, np.ndarray]:
    """The parameters of a fresh network that another room knows: rows of the knowledge graph, where it has such."""
    return provided(FIRST_PARAMS, "graph")(network, game) if network.get("graph") else {}


class Start(NamedTuple):
    """What a run begins with."""

    params: dict[str, np.ndarray]
    step: int  # environment steps behind it


POLICY_FILES = (".npz", ".pt")
"""Exported files that hold parameters."""


class StoredPolicy(NamedTuple):
    """The parameters of a policy, and what they say about themselves."""

    manifest: Manifest
    params: dict[str, np.ndarray]


def read_policy(path: str | Path) -> StoredPolicy:
    """Of a checkpoint directory, or of an exported file."""
    path = Path(path)
    if path.suffix == ".npz" and path.is_file():
        return StoredPolicy(*manifest_in_npz(path))
    if path.suffix == ".pt" and path.is_file():
        from jimbot.policies.torch_files import manifest_in_tensor_file

        return StoredPolicy(*manifest_in_tensor_file(path))
    checkpoint = load_checkpoint(path)
    return StoredPolicy(checkpoint.manifest, checkpoint.params())


def find_start(reference: str, runs_root: str | Path) -> Path:
    """What a run is to begin from: an exported file, or a checkpoint by any of its names."""
    path = Path(reference)
    return path if path.suffix in POLICY_FILES and path.is_file() else find_checkpoint(reference, runs_root)


def start_of(path: str | Path, spec: GameSpec, network: Mapping[str, Any]) -> Start:
    """The parameters of a checkpoint, put into wider layers where the run has them, and into layers for what the run is
    shown beyond what the checkpoint saw, or no longer shown; one of another game or network is one clear sentence."""
    from jimbot.policies.widening import can_narrow, can_widen, narrowed, widened

    manifest, found = read_policy(path)
    if _saw_more(manifest, spec) and can_narrow(manifest.network, network):
        check_params(manifest.network, found)
        found = narrowed(found, network, partial(_usual_sight, manifest, found))
    else:
        check_matches(manifest, spec, where=path, sees_less=True)
        if can_widen(manifest.network, network):
            check_params(manifest.network, found)
            found = widened(found, network)
        else:
            check_network(manifest, network, path)
    check_params(network, found)
    return Start({name: found[name] for name in param_shapes(network)}, manifest.step)


def _saw_more(manifest: Manifest, spec: GameSpec) -> bool:
    """Whether a policy of this game saw all that `spec` shows, and more behind it."""
    same = manifest.observation_fingerprint == spec.observation.fingerprint
    if same or manifest.game != spec.id or spec.id not in available_games():  # a game that was given has no options
        return False
    theirs = game_entry(spec.id).spec.under(manifest.game_options)
    known = all(found == needed for _, found, needed in manifest.compared(theirs))
    return known and theirs.observation.opens_with(spec.observation.fingerprint)


SIGHT_GAMES, SIGHT_STEPS = 64, 256


def _usual_sight(manifest: Manifest, params: Mapping[str, np.ndarray]) -> np.ndarray:
    """(D,) the mean observation of a policy's own games, drawn actions; the same for the same policy."""
    rng, seen = np.random.default_rng(0), []
    game = make(manifest.game, SIGHT_GAMES, seed=0, options=manifest.game_options)
    spec = game.spec
    policy = OnnxPolicy.from_bytes(onnx_from_params(manifest.network, params, spec.observation.size, spec.actions.size))
    try:
        game.reset()
        for _ in range(SIGHT_STEPS):
            seen.append(game.observation.mean(axis=0))
            game.step(policy.act(game.observation, game.legal_mask, deterministic=False, key=rng).actions)
    finally:
        game.close()
    return np.mean(seen, axis=0)


class Fitting(NamedTuple):
    """What of a clone fits a run's network."""

    params: dict[str, np.ndarray]
    whole: bool  # everything but the value head
    sentence: str


def fitting_params(path: str | Path, spec: GameSpec, network: Mapping[str, Any]) -> Fitting:
    """The parameters of a clone that exist with the same shape here, without its value head.

    A clone's value is a guess about its teacher, so the critic starts fresh. A clone none of whose policy fits is one
    clear sentence. Clones of other projects are mapped by names and shapes.
    """
    if (tensors := foreign_tensors(path)) is not None:
        return _fitting_of_others(path, tensors, network)
    manifest, found = read_policy(path)
    check_matches(manifest, spec, where=path)
    shapes = param_shapes(network)
    wanted = {name: shape for name, shape in shapes.items() if part_of(name) != "value"}
    fits = {name for name, shape in wanted.items() if name in found and found[name].shape == shape}
    # A bias means nothing without the weights it was learned with.
    alone = {name for name in fits if (of := name.replace(".bias", ".weight")) in wanted and of not in fits}
    params = {name: found[name] for name in wanted if name in fits - alone}
    loaded = Counter(part_of(name) for name in params)
    total = Counter(part_of(name) for name in wanted)
    if not loaded["policy"]:
        theirs = manifest.network
        raise CheckpointError(
            f"Nothing of the policy of clone {path} (network {theirs.get('kind')} {theirs.get('hidden')}) fits this "
            f"run's network {network['kind']} {network['hidden']}. Give the same --network."
        )
    parts = ", ".join(f"{loaded[part]} of {total[part]} parameters of the {part}" for part in ("policy", "trunk"))
    missing = [name for name in wanted if name not in params]
    rest = "Fresh: the value head" + (f", {', '.join(missing)}" if missing else "")
    return Fitting(params, not missing, f"Loaded from {path}: {parts}. {rest}.")


def foreign_tensors(path: str | Path) -> dict[str, np.ndarray] | None:
    """The tensors of a `.pt` file that does not say what it is: another project's. None for everything of ours."""
    path = Path(path)
    if path.suffix != ".pt" or not path.is_file():
        return None
    try:
        from jimbot.reading.tensors import read_tensors

        tensors = read_tensors(path)
    except UnreadableError as problem:
        raise CheckpointError(f"{path} is not a file of plain tensors: {problem}.") from problem
    return None if MANIFEST_ENTRY in tensors else tensors


def _fitting_of_others(path: str | Path, tensors: Mapping[str, np.ndarray], network: Mapping[str, Any]) -> Fitting:
    mapped = map_clone(tensors, network)
    left = f" Left alone: {', '.join(mapped.left)}." if mapped.left else ""
    if "policy.weight" not in mapped.params:
        raise CheckpointError(
            f"Nothing of the policy of clone {path} fits this run's network {network['kind']} {network['hidden']}."
            f"{left} Give --network mlp with the --hidden-dim that its action head takes in."
        )
    return Fitting(mapped.params, False, f"Loaded from {path}: {', '.join(mapped.taken)}. Fresh: all else.{left}")


def filled(fresh: np.ndarray, taken: np.ndarray | None) -> np.ndarray:
    """`fresh` with `taken` in its leading part: a head that knows fewer actions fills the first ones."""
    if taken is None:
        return fresh
    whole = np.array(fresh)
    whole[tuple(slice(size) for size in taken.shape)] = taken
    return whole


def check_network(manifest: Manifest, network: Mapping[str, Any], path: str | Path) -> None:
    """Raises unless a checkpoint is of this very network, saying what differs."""
    theirs = manifest.network
    if theirs == dict(network):
        return
    if bool(theirs.get("action_values")) != bool(network.get("action_values")):
        kinds = {False: "a policy's (PPO, A2C)", True: "values of actions (DQN)"}
        raise CheckpointError(
            f"The outputs of checkpoint {path} are {kinds[bool(theirs.get('action_values'))]}; this run learns "
            f"{kinds[bool(network.get('action_values'))]}, and one cannot be read as the other. "
            "Give a checkpoint of the same kind of algorithm."
        )
    if bool(theirs.get("normalize")) != bool(network.get("normalize")):
        raise CheckpointError(
            f"Checkpoint {path} was trained {'with' if theirs.get('normalize') else 'without'} normalised "
            f"observations, this run {'normalises' if network.get('normalize') else 'does not normalise'} them. Give "
            f"normalize_obs as it was (--{'' if theirs.get('normalize') else 'no-'}normalize-obs)."
        )
    raise CheckpointError(
        f"Checkpoint {path} is of network {theirs.get('kind')} {theirs.get('hidden')}; this run uses "
        f"{network['kind']} {network['hidden']}. Give the same --network, --hidden-dim and --num-layers (or layers)."
    )


def anchor_weight(settings: TrainSettings, update: Any, xp: Any = np) -> Any:
    """Weight of the KL anchor to the first policy in an update, by its number."""
    return settings.start.init_kl * xp.maximum(0.0, 1.0 - update / settings.start.init_kl_updates)


def frozen_updates(settings: TrainSettings, parameter: str) -> int:
    """First updates in which a parameter stays as it is."""
    warmup, freeze = settings.start.value_warmup_updates, settings.start.freeze_trunk_updates
    return {"value": 0, "policy": warmup, "trunk": max(warmup, freeze)}[part_of(parameter)]


def fixed_statistics_updates(settings: TrainSettings) -> int:
    """First updates in which the network keeps the statistics of observations it began with."""
    anchored = settings.start.init_kl_updates if settings.start.init_kl else 0
    return max(anchored, settings.start.value_warmup_updates, settings.start.freeze_trunk_updates)
