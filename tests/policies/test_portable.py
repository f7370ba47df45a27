"""ONNX policies: same maths as the reference, whatever names them, and refused where they do not belong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from jimbot.errors import CheckpointError, UsageError
from jimbot.games import game_entry
from jimbot.policies import masking
from jimbot.policies.networks import describe_network, layer_shapes
from jimbot.policies.onnx_form import onnx_from_params
from jimbot.policies.portable import OnnxPolicy, load_policy, with_metadata
from jimbot.runs import CheckpointStore, Manifest, load_checkpoint

FIXTURE = Path(__file__).parents[1] / "runs" / "fixtures" / "format-1" / "000000004096"
SPEC = game_entry("probe").spec
NETWORK = describe_network(SPEC, "mlp", hidden_dim=8, num_layers=1)


def parameters() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    found = {}
    for layer, (inputs, outputs) in layer_shapes(NETWORK).items():
        found[f"{layer}.weight"] = rng.normal(size=(inputs, outputs)).astype(np.float32)
        found[f"{layer}.bias"] = rng.normal(size=outputs).astype(np.float32)
    return found


def manifest(**changes: object) -> Manifest:
    made = Manifest.for_game(SPEC, learner="jax", algorithm="PPO", step=512, network=NETWORK)
    return made.model_copy(update=changes)


def model() -> bytes:
    return onnx_from_params(NETWORK, parameters(), SPEC.observation.size, SPEC.actions.size)


def saved(runs: Path, **changes: object) -> Path:
    store = CheckpointStore(runs / "mine" / "checkpoints")
    return store.save(manifest(**changes), model(), parameters(), {"count": np.array(1)})


def rows(count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    observation = rng.normal(size=(count, SPEC.observation.size)).astype(np.float32)
    legal = rng.random((count, SPEC.actions.size)) < 0.2
    legal[np.arange(count), rng.integers(0, SPEC.actions.size, count)] = True
    return observation, legal


def test_the_fixture_of_format_1_still_plays() -> None:
    policy = OnnxPolicy.from_checkpoint(FIXTURE)
    observation, legal = rows(64)
    checkpoint = load_checkpoint(FIXTURE)
    logits = observation @ checkpoint.params()["kernel"]
    expected = masking.log_probabilities(logits, legal)
    decision = policy.act(observation, legal)
    assert np.array_equal(decision.actions, masking.best(expected, legal))
    assert np.allclose(decision.probabilities, masking.probabilities(expected, legal), atol=1e-6)
    assert np.allclose(decision.values, observation.sum(axis=1), atol=1e-5)
    assert policy.name == "format-1/4096"


def test_sampling_follows_the_probabilities_and_never_leaves_the_mask() -> None:
    policy = OnnxPolicy.from_bytes(model())
    observation, legal = rows(1)
    observation, legal = np.repeat(observation, 20_000, axis=0), np.repeat(legal, 20_000, axis=0)
    decision = policy.act(observation, legal, deterministic=False, key=np.random.default_rng(2))
    share = np.bincount(decision.actions, minlength=SPEC.actions.size) / len(legal)
    assert np.abs(share - decision.probabilities[0]).max() < 0.02
    assert not share[~legal[0]].any()
    again = policy.act(observation, legal, deterministic=False, key=np.random.default_rng(2))
    assert np.array_equal(decision.actions, again.actions)


def test_every_way_to_name_a_policy_gives_the_same_one(tmp_path: Path) -> None:
    path = saved(tmp_path)
    exported = tmp_path / "exported.onnx"
    exported.write_bytes(with_metadata(model(), manifest()))
    observation, legal = rows(32)
    expected = OnnxPolicy.from_bytes(model()).act(observation, legal)
    for reference in (path, tmp_path / "mine", "mine", path / "params_512.npz", exported):
        for game in (None, "probe"):
            policy, found = load_policy(reference, game, runs_root=tmp_path)
            decision = policy.act(observation, legal)
            assert np.array_equal(decision.actions, expected.actions)
            assert np.allclose(decision.probabilities, expected.probabilities, atol=1e-6)
            assert found is not None
            assert (found.game, found.network) == ("probe", NETWORK)


def test_a_bare_onnx_file_plays_without_a_manifest(tmp_path: Path) -> None:
    (tmp_path / "bare.onnx").write_bytes(model())
    for game in (None, "probe"):
        policy, found = load_policy(tmp_path / "bare.onnx", game)
        assert found is None
        assert policy.act(*rows(3)).actions.shape == (3,)


def test_random_needs_no_game() -> None:
    policy, found = load_policy("random")
    assert (policy.name, found) == ("random", None)


@pytest.mark.parametrize(
    ("field", "value"),
    [("game_version", 77), ("observation_fingerprint", "feed"), ("action_fingerprint", "beef")],
)
def test_another_version_or_table_is_refused_however_it_comes(tmp_path: Path, field: str, value: object) -> None:
    path = saved(tmp_path, **{field: value})
    whole, partly = tmp_path / "whole.onnx", tmp_path / "partly.onnx"
    whole.write_bytes(with_metadata(model(), manifest(**{field: value})))
    props = onnx.load_model_from_string(model())
    helper.set_model_props(props, {field: str(value)})
    partly.write_bytes(props.SerializeToString())
    for reference in (path, "mine", path / "params_512.npz", whole, partly):
        with pytest.raises(CheckpointError, match=str(value)):
            load_policy(reference, "probe", runs_root=tmp_path)


def test_another_game_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, game="chess")
    with pytest.raises(CheckpointError, match="'chess' but 'probe' is needed"):
        load_policy(path, "probe")
    with pytest.raises(CheckpointError, match="'chess', which this JimBot does not have"):
        load_policy(path)


def test_files_that_are_no_policies_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("not a model")
    (tmp_path / "text.npz").write_text("not arrays")
    np.savez(tmp_path / "strange.npz", x=np.zeros(3))
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N"]) for name in ("a", "b")]
    graph = helper.make_graph([helper.make_node("Identity", ["a"], ["b"])], "other", values[:1], values[1:])
    other = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (tmp_path / "other.onnx").write_bytes(other.SerializeToString())
    for name, words in {
        "text.onnx": "damaged, or no policy of JimBot",
        "missing.onnx": "cannot be read",
        "other.onnx": "a JimBot policy has observation and legal_mask in",
        "text.npz": "damaged or not an npz",
        "missing.npz": "does not exist",
        "strange.npz": "__manifest__",
    }.items():
        with pytest.raises(CheckpointError, match=words) as caught:
            load_policy(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_parameters_that_do_not_fit_their_network_are_refused(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path)
    wrong = parameters()
    wrong["policy.weight"] = wrong["policy.weight"][:, :-1]
    path = store.save(manifest(), model(), wrong, {})
    with pytest.raises(CheckpointError):
        load_policy(path / "params_512.npz")


def test_rows_of_another_shape_are_refused() -> None:
    policy = OnnxPolicy.from_bytes(model(), "mine")
    observation, legal = rows(4)
    with pytest.raises(UsageError, match="belongs to another game"):
        policy.act(observation[:, :-1], legal)
    with pytest.raises(UsageError, match=r"legal_mask \(4, 47\)"):
        policy.act(observation, legal[:, :-1])


def test_answers_that_are_no_numbers_are_refused() -> None:
    loaded = onnx.load_model_from_string(model())
    for part in loaded.graph.initializer:
        if part.data_type == TensorProto.FLOAT:
            part.CopyFrom(numpy_helper.from_array(np.full_like(numpy_helper.to_array(part), np.nan), part.name))
    spoiled = loaded.SerializeToString()
    with pytest.raises(CheckpointError, match="not finite numbers"):
        OnnxPolicy.from_bytes(spoiled, "spoiled").act(*rows(2))


def test_answers_of_another_shape_are_refused() -> None:
    loaded = onnx.load_model_from_string(model())
    names = {output.name for output in loaded.graph.output}
    for node in loaded.graph.node:  # the value becomes one number for the whole batch
        for place, output in enumerate(node.output):
            if output == "value" and "value" in names:
                node.output[place] = "each_value"
    loaded.graph.node.append(helper.make_node("ReduceMean", ["each_value"], ["value"], keepdims=0))
    for output in loaded.graph.output:
        if output.name == "value":
            output.type.tensor_type.ClearField("shape")
    with pytest.raises(CheckpointError, match=r"Model|Policy"):
        OnnxPolicy.from_bytes(loaded.SerializeToString(), "squashed").act(*rows(2))
