"""Trained policies without their training framework: ONNX in, decisions out.

`load_policy` is the one place that turns whatever a person names (a game, run, checkpoint, exported file, heuristic
player or address) into a policy, for every command and from Python, and checks that it belongs to the game.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from jimbot.errors import CheckpointError, UnreadableError, UsageError
from jimbot.games.contract import available_games, game_entry
from jimbot.games.spec import GameSpec
from jimbot.plugins import entry_points
from jimbot.policies import masking
from jimbot.policies.contract import Decision, Policy
from jimbot.policies.heuristics import RANDOM, RandomPolicy, heuristic_policy, uniform
from jimbot.reading.plain import file_bytes
from jimbot.runs.checkpoint import check_matches, find_checkpoint, load_checkpoint, manifest_in_npz, shipped_games
from jimbot.runs.manifest import Manifest, parse_manifest

INPUTS, OUTPUTS = ("observation", "legal_mask"), ("log_probabilities", "value")
MANIFEST_KEY = "manifest"
"""The metadata entry of an exported model that holds its whole manifest as JSON."""

ADDRESSES: dict[str, str] = {}
"""Policies that answer from elsewhere: scheme of the address ("grpc") → "module:function", which gets the address and
the game's id (or None) and gives a Policy. Imported when first used; `register_address` adds one, and so do entry
points of the group `jimbot.policy_addresses`."""

_TIED_TO_GAME = ("game", "game_version", "observation_fingerprint", "action_fingerprint")


class OnnxPolicy:
    """A policy run by ONNX Runtime.

    One thread per session by default: these networks are small, and evaluation and serving run beside other work.
    """

    def __init__(self, session: Any, name: str, seed: int = 0) -> None:
        self.name = name
        self.digest = ""
        """SHA-256 of the model's bytes; tells two policies of one name apart."""
        self.model = b""
        """These bytes, where they are known: a planner may compile the network into its own program."""
        self.checkpoint: Path | None = None
        """The checkpoint directory it was read from; None for single files."""
        self.metadata: dict[str, str] = dict(session.get_modelmeta().custom_metadata_map)
        self._session = session
        self._rng = np.random.default_rng(seed)
        self._seen: int | None = None  # of a row; None: all of it
        shapes = {value.name: value.shape for value in session.get_inputs()}
        outputs = {value.name for value in session.get_outputs()}
        tables = all(len(shape) == 2 and isinstance(shape[1], int) for shape in shapes.values())
        if set(shapes) != set(INPUTS) or not outputs.issuperset(OUTPUTS) or not tables:
            raise CheckpointError(
                f"Model '{name}' has inputs {shapes} and outputs {sorted(outputs)}; a JimBot policy has "
                f"{' and '.join(INPUTS)} in, {' and '.join(OUTPUTS)} out. Export one with `jimbot export`."
            )
        self.observation_size: int = shapes[INPUTS[0]][1]
        self.num_actions: int = shapes[INPUTS[1]][1]

    @classmethod
    def from_bytes(cls, model: bytes, name: str = "onnx", threads: int = 1) -> Self:
        """A policy from a serialised ONNX model; `threads` is for one decision call, 0 for all cores."""
        import onnxruntime

        from jimbot.reading.models import checked_model

        try:
            checked_model(model)
        except UnreadableError as problem:
            raise CheckpointError(f"The model '{name}' is damaged, or no policy of JimBot: {problem}.") from problem
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4  # what goes wrong is raised; the library need not print it as well
        try:
            session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as problem:  # the library has its own exception types, all of which mean: not a usable model
            reason = str(problem).splitlines()[0]
            raise CheckpointError(f"The model '{name}' is damaged or not ONNX: {reason}") from problem
        policy = cls(session, name)
        policy.act(np.zeros((1, policy.observation_size)), np.ones((1, policy.num_actions)))  # refused here, not later
        policy.model = model
        policy.digest = hashlib.sha256(model).hexdigest()
        return policy

    def seeing_first(self, size: int) -> Self:
        """The same in games that show more, behind the `size` numbers it knows."""
        seeing = copy(self)
        seeing.model, seeing._seen = b"", size  # its network alone would be shown everything
        return seeing

    @classmethod
    def from_checkpoint(cls, path: str | Path, threads: int = 1) -> Self:
        """The policy of a checkpoint directory, verified against its manifest."""
        checkpoint = load_checkpoint(path)
        return cls.from_bytes(checkpoint.policy_onnx(), _checkpoint_name(checkpoint.path), threads)

    def act(
        self,
        observation: np.ndarray,
        legal_mask: np.ndarray,
        deterministic: bool = True,
        key: np.random.Generator | None = None,
    ) -> Decision:
        observation = np.ascontiguousarray(observation[:, : self._seen], np.float32)
        legal = np.ascontiguousarray(legal_mask, bool)
        expected = (len(legal), self.observation_size), (len(legal), self.num_actions)
        if (observation.shape, legal.shape) != expected:
            raise UsageError(
                f"Policy '{self.name}' got observation {observation.shape} and legal_mask {legal.shape}; "
                f"expected {expected[0]} and {expected[1]}. It belongs to another game."
            )
        try:
            log_probability, values = self._session.run(OUTPUTS, {INPUTS[0]: observation, INPUTS[1]: legal})
        except Exception as problem:  # the library has its own exception types
            reason = str(problem).splitlines()[0]
            raise CheckpointError(f"Policy '{self.name}' cannot be computed: {reason}") from problem
        if np.shape(log_probability) != legal.shape or np.shape(values) != (len(legal),):
            raise CheckpointError(
                f"Policy '{self.name}' answers log_probabilities {np.shape(log_probability)} and value "
                f"{np.shape(values)}; expected {legal.shape} and {(len(legal),)}. It is no policy of JimBot."
            )
        # The highest of a row is NaN where any of it is.
        if not (np.isfinite(log_probability.max(axis=1)).all() and np.isfinite(values).all()):
            raise CheckpointError(
                f"Policy '{self.name}' answers with values that are not finite numbers; its parameters are broken. Use "
                "an earlier checkpoint."
            )
        if deterministic:
            actions = masking.best(log_probability, legal)
        else:
            actions = masking.sample(log_probability, legal, uniform(key or self._rng, len(legal)))
        return Decision(actions.astype(np.int64), masking.probabilities(log_probability, legal), values)


def load_policy(
    reference: str | Path,
    game_id: str | None = None,
    runs_root: str | Path = "runs",
    which: Literal["latest", "best"] = "latest",
    threads: int = 1,
) -> tuple[Policy, Manifest | None]:
    """The policy a person means, and its manifest if it has one.

    `reference` is a game (its ready-made policy), a checkpoint, run or run name, an exported file (.onnx, .npz, .pt),
    "random", the name of a heuristic of `game_id`, or an address (`scheme://…`). If `game_id` is given the policy
    must belong to it.
    """
    text, path = str(reference), Path(reference)
    if "://" in text:
        return _at_address(text, game_id), None
    if text == RANDOM:
        return RandomPolicy(), None
    spec = None
    if game_id is not None:
        entry = game_entry(game_id)
        spec = entry.spec
        if text in entry.heuristics:
            return heuristic_policy(text, game_id), None
    if path.suffix in _FILES and not path.is_dir():
        return _FILES[path.suffix](path, spec, threads)
    checkpoint = load_checkpoint(find_checkpoint(reference, runs_root, which))
    spec = spec_of(checkpoint.manifest, spec)
    check_matches(checkpoint.manifest, spec, where=checkpoint.path)
    name = f"{text} (shipped)" if text in shipped_games() else _checkpoint_name(checkpoint.path)
    policy = OnnxPolicy.from_bytes(checkpoint.policy_onnx(), name, threads)
    policy.checkpoint = checkpoint.path
    return fitting(policy, spec), checkpoint.manifest


def register_address(scheme: str, opener: str) -> None:
    """Addresses that begin with `scheme://` are policies from now on; see `ADDRESSES`."""
    ADDRESSES[scheme] = opener


def _at_address(address: str, game_id: str | None) -> Policy:
    scheme = address.partition("://")[0]
    openers = {**entry_points("jimbot.policy_addresses"), **ADDRESSES}
    if scheme not in openers:
        known = ", ".join(f"{name}://" for name in openers) or "none"
        raise UsageError(f"Policies cannot be reached at '{address}': known kinds of address are {known}.")
    module, _, function = openers[scheme].partition(":")
    return getattr(importlib.import_module(module), function)(address, game_id)


def with_metadata(model: bytes, manifest: Manifest) -> bytes:
    """The model with its manifest inside, so that the .onnx file alone says which game it plays."""
    import onnx

    loaded = onnx.load_model_from_string(model)
    entries = {entry.key: entry.value for entry in loaded.metadata_props}
    entries |= {name: str(getattr(manifest, name)) for name in _TIED_TO_GAME}
    onnx.helper.set_model_props(loaded, entries | {MANIFEST_KEY: manifest.portable_text()})
    return loaded.SerializeToString()


def _from_onnx_file(path: Path, spec: GameSpec | None, threads: int) -> tuple[Policy, Manifest | None]:
    try:
        from jimbot.reading.models import LARGEST_MODEL

        model = file_bytes(path, LARGEST_MODEL)
    except UnreadableError as problem:
        raise CheckpointError(f"{path} cannot be read: {problem}. Give an existing .onnx file.") from problem
    policy = OnnxPolicy.from_bytes(model, str(path), threads)
    manifest = None
    if MANIFEST_KEY in policy.metadata:
        manifest = parse_manifest(policy.metadata[MANIFEST_KEY], path)
        spec = spec_of(manifest, spec)
        check_matches(manifest, spec, where=path)
    elif spec is not None:
        _check_metadata(policy, spec, path)
    return (policy if spec is None else fitting(policy, spec)), manifest


def _from_params_file(path: Path, spec: GameSpec | None, threads: int) -> tuple[Policy, Manifest]:
    return _from_params(*manifest_in_npz(path), path, spec, threads)


def _from_tensor_file(path: Path, spec: GameSpec | None, threads: int) -> tuple[Policy, Manifest]:
    from jimbot.policies.torch_files import manifest_in_tensor_file

    return _from_params(*manifest_in_tensor_file(path), path, spec, threads)


def _from_params(
    manifest: Manifest, params: Mapping[str, np.ndarray], path: Path, spec: GameSpec | None, threads: int
) -> tuple[Policy, Manifest]:
    from jimbot.policies.onnx_form import onnx_from_params

    spec = spec_of(manifest, spec)
    check_matches(manifest, spec, where=path)
    model = onnx_from_params(manifest.network, params, spec.observation.size, spec.actions.size)
    return OnnxPolicy.from_bytes(model, str(path), threads), manifest


_FILES = {".onnx": _from_onnx_file, ".npz": _from_params_file, ".pt": _from_tensor_file}


def spec_of(manifest: Manifest, wanted: GameSpec | None = None) -> GameSpec:
    """The game a policy was trained on, under its options; that which is `wanted` where it is of another."""
    if wanted is not None and wanted.id != manifest.game:
        return wanted
    if manifest.game not in available_games():
        raise CheckpointError(
            f"The policy was trained on game '{manifest.game}', which this JimBot does not have; "
            f"it has {', '.join(available_games())}."
        )
    return game_entry(manifest.game).spec.under(manifest.game_options)


def _check_metadata(policy: OnnxPolicy, spec: GameSpec, path: Path) -> None:
    """What a model without a whole manifest says about its game; absent entries prove nothing and pass."""
    expected = Manifest.for_game(spec, learner="", algorithm="", step=0)
    for name in _TIED_TO_GAME:
        found = policy.metadata.get(name)
        if found is not None and found != str(getattr(expected, name)):
            raise CheckpointError(
                f"{path} has {name} '{found}' but game '{spec.id}' has '{getattr(expected, name)}'; "
                "use a model exported for it."
            )


def fitting(policy: OnnxPolicy, spec: GameSpec) -> OnnxPolicy:
    if (policy.observation_size, policy.num_actions) != (spec.observation.size, spec.actions.size):
        raise CheckpointError(
            f"Policy '{policy.name}' takes {policy.observation_size} inputs for {policy.num_actions} actions; "
            f"game '{spec.id}' has {spec.observation.size} and {spec.actions.size}."
        )
    return policy


def _checkpoint_name(path: Path) -> str:
    """run/step, short enough for a table.

    >>> _checkpoint_name(Path("runs/mine/checkpoints/000000032768"))
    'mine/32768'
    """
    run = path.parent.parent.name if path.parent.name == "checkpoints" else path.parent.name
    step = path.name.lstrip("0") or "0" if path.name.isdigit() else path.name
    return f"{run}/{step}" if run else step
