"""The masked maths against float64 NumPy written out plainly, and NumPy against JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jimbot.policies import masking

CASES = [
    # actions, share of legal ones, size of logits
    pytest.param(28, 0.5, 1.0, id="small space"),
    pytest.param(10_000, 0.5, 1.0, id="ten thousand actions"),
    pytest.param(10_000, 0.001, 5.0, id="ten thousand actions, few legal"),
    pytest.param(500, 0.3, 1e4, id="large logits"),
    pytest.param(500, 0.3, 1e30, id="extreme logits"),
]


def example(actions: int, share: float, size: float, rows: int = 16) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(actions + int(share * 1000))
    logits = (rng.standard_normal((rows, actions)) * size).astype(np.float32)
    legal_mask = rng.random((rows, actions)) < share
    legal_mask[np.arange(rows), rng.integers(0, actions, rows)] = True
    return logits, legal_mask


def reference(logits: np.ndarray, legal_mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(log-probabilities with −inf where illegal, entropy), row by row in float64 over the legal entries alone."""
    log_probability = np.full(logits.shape, -np.inf)
    entropy = np.zeros(len(logits))
    for row, legal in enumerate(legal_mask):
        values = logits[row, legal].astype(np.float64)
        values = values - values.max()
        values = values - np.log(np.exp(values).sum())
        log_probability[row, legal] = values
        probability = np.exp(values)
        entropy[row] = -(probability * np.where(probability > 0, values, 0.0)).sum()
    return log_probability, entropy


@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
@pytest.mark.parametrize(("actions", "share", "size"), CASES)
def test_agrees_with_a_float64_reference(xp, actions: int, share: float, size: float) -> None:
    logits, legal_mask = example(actions, share, size)
    expected, expected_entropy = reference(logits, legal_mask)
    expected = np.maximum(expected, masking.NEVER)  # below that, probability is 0 in any float
    log_probability = masking.log_probabilities(xp.asarray(logits), xp.asarray(legal_mask))
    assert log_probability.dtype == np.float32
    found = np.asarray(log_probability)
    np.testing.assert_allclose(found[legal_mask], expected[legal_mask], rtol=2e-6, atol=5e-6)
    assert (found[~legal_mask] == masking.NEVER).all()
    probability = np.asarray(masking.probabilities(log_probability, xp.asarray(legal_mask)))
    assert (probability[~legal_mask] == 0).all()
    np.testing.assert_allclose(probability.sum(axis=1, dtype=np.float64), 1.0, atol=2e-5)
    found_entropy = np.asarray(masking.entropy(log_probability, xp.asarray(legal_mask)))
    np.testing.assert_allclose(found_entropy, expected_entropy, rtol=1e-5, atol=1e-5)
    assert (np.asarray(masking.best(log_probability, xp.asarray(legal_mask))) == expected.argmax(axis=1)).all()


@pytest.mark.parametrize(("actions", "share", "size"), CASES)
def test_numpy_and_jax_agree(actions: int, share: float, size: float) -> None:
    logits, legal_mask = example(actions, share, size)
    uniform = 1.0 - np.random.default_rng(0).random(len(logits), np.float32)

    def everything(logits, legal_mask, uniform):
        log_probability = masking.log_probabilities(logits, legal_mask)
        drawn = masking.sample(log_probability, legal_mask, uniform)
        entropy = masking.entropy(log_probability, legal_mask)
        return log_probability, entropy, masking.best(log_probability, legal_mask), drawn, masking.of_action(
            log_probability, drawn
        )  # fmt: skip

    plain = everything(logits, legal_mask, uniform)
    compiled = jax.jit(everything)(logits, legal_mask, uniform)
    for ours, theirs in zip(plain[:2], compiled[:2], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-5)
    assert (plain[2] == np.asarray(compiled[2])).all()
    # A draw at the very edge of two actions may fall either way, as float32 sums are ordered differently.
    assert (plain[3] == np.asarray(compiled[3])).mean() > 0.9
    assert plain[4].shape == (len(logits),)


@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
def test_a_single_legal_action_is_certain(xp) -> None:
    logits = xp.asarray(np.array([[3e4, -1e30, 7.0, -3e38]] * 4, np.float32))
    legal_mask = xp.asarray(np.eye(4, dtype=bool))
    log_probability = masking.log_probabilities(logits, legal_mask)
    assert np.asarray(masking.probabilities(log_probability, legal_mask)).tolist() == np.eye(4).tolist()
    assert np.asarray(masking.entropy(log_probability, legal_mask)).tolist() == [0.0] * 4
    assert np.asarray(masking.best(log_probability, legal_mask)).tolist() == [0, 1, 2, 3]
    for uniform in (np.float32(1e-45), np.float32(0.5), np.float32(1.0)):
        drawn = masking.sample(log_probability, legal_mask, xp.asarray(np.full(4, uniform)))
        assert np.asarray(drawn).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "logits",
    [[-2e30, -3e30, 5.0], [-3e38, 3e38, 0.0], [1e38, 1e38, np.inf], [0.0, 1.0, np.nan]],
    ids=["all legal below the marker", "wider than float32", "infinite where illegal", "not a number where illegal"],
)
def test_hostile_logits_leave_finite_values_and_gradients(logits: list[float]) -> None:
    legal_mask = jnp.asarray([True, True, False])

    def loss(values):
        log_probability = masking.log_probabilities(values, legal_mask)
        return masking.entropy(log_probability, legal_mask) + masking.probabilities(log_probability, legal_mask)[0]

    values = jnp.asarray(logits, jnp.float32)
    assert np.isfinite(loss(values))
    assert np.isfinite(jax.grad(loss)(values)).all()
    probability = masking.probabilities(masking.log_probabilities(values, legal_mask), legal_mask)
    assert float(probability.sum()) == pytest.approx(1.0)
    assert float(probability[2]) == 0.0


@pytest.mark.parametrize(("actions", "share", "size"), CASES)
def test_gradients_are_finite_and_never_reach_illegal_logits(actions: int, share: float, size: float) -> None:
    logits, legal_mask = example(actions, share, size)
    chosen = legal_mask.argmax(axis=1)

    def loss(values):
        log_probability = masking.log_probabilities(values, legal_mask)
        entropy = masking.entropy(log_probability, legal_mask)
        return (masking.of_action(log_probability, chosen) + 0.1 * entropy).sum()

    gradient = np.asarray(jax.jit(jax.grad(loss))(logits))
    assert np.isfinite(gradient).all()
    assert (gradient[~legal_mask] == 0).all()
    assert np.abs(gradient[legal_mask]).max() > 0


def test_gradient_of_log_probability_is_one_hot_minus_probability() -> None:
    logits, legal_mask = example(40, 0.5, 1.0)
    chosen = legal_mask.argmax(axis=1)

    def loss(values):
        return masking.of_action(masking.log_probabilities(values, legal_mask), chosen).sum()

    expected = np.eye(40)[chosen] - np.exp(reference(logits, legal_mask)[0])
    np.testing.assert_allclose(jax.grad(loss)(logits), expected, atol=1e-6)


def test_entropy_counts_legal_actions_only() -> None:
    logits = np.zeros((3, 1000), np.float32)
    legal_mask = np.zeros((3, 1000), bool)
    for row, count in enumerate((1, 10, 1000)):
        legal_mask[row, :count] = True
    entropy = masking.entropy(masking.log_probabilities(logits, legal_mask), legal_mask)
    np.testing.assert_allclose(entropy, np.log([1, 10, 1000]), atol=1e-5)


def test_best_takes_the_lowest_number_among_equals() -> None:
    legal_mask = np.array([[False, True, True]])
    log_probability = masking.log_probabilities(np.array([[9.0, 1.0, 1.0]], np.float32), legal_mask)
    assert masking.best(log_probability, legal_mask).tolist() == [1]


def test_works_on_a_single_row_and_on_many_axes() -> None:
    logits, legal_mask = example(12, 0.5, 1.0, rows=6)
    rows = masking.log_probabilities(logits, legal_mask)
    assert np.array_equal(masking.log_probabilities(logits[0], legal_mask[0]), rows[0])
    deep = masking.log_probabilities(logits.reshape(2, 3, 12), legal_mask.reshape(2, 3, 12))
    assert np.array_equal(deep.reshape(6, 12), rows)
    assert masking.sample(deep, legal_mask.reshape(2, 3, 12), np.full((2, 3), 0.5, np.float32)).shape == (2, 3)


@pytest.mark.parametrize(
    ("actions", "rows", "rounds"), [(48, 20_000, 50), (10_000, 500, 4)], ids=["48 actions", "10,000 actions"]
)
def test_a_million_draws_hold_no_illegal_action(actions: int, rows: int, rounds: int) -> None:
    """A million draws over 48 actions and 2,000 over 10⁴, compiled as a learner would, edges of (0, 1] included."""
    logits, legal_mask = example(actions, 0.05, 4.0, rows)

    @jax.jit
    def illegal_draws(key, log_probability, legal_mask):
        uniform = 1.0 - jax.random.uniform(key, (rows,))
        uniform = uniform.at[0].set(1.0).at[1].set(np.finfo(np.float32).tiny)
        drawn = masking.sample(log_probability, legal_mask, uniform)
        return (~masking.of_action(legal_mask, drawn)).sum()

    log_probability = masking.log_probabilities(jnp.asarray(logits), jnp.asarray(legal_mask))
    keys = jax.random.split(jax.random.key(1), rounds)
    assert sum(int(illegal_draws(key, log_probability, legal_mask)) for key in keys) == 0


def chi_square(counts: np.ndarray, probability: np.ndarray) -> float:
    expected = probability * counts.sum()
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
def test_draws_follow_the_distribution(xp) -> None:
    """Chi-square with k−1 degrees of freedom has mean k−1 and variance 2(k−1); five deviations is a wide gate."""
    draws = 200_000
    logits, legal_mask = example(30, 0.5, 1.0, rows=1)
    many = xp.broadcast_to(xp.asarray(legal_mask), (draws, 30))
    log_probability = masking.log_probabilities(xp.broadcast_to(xp.asarray(logits), (draws, 30)), many)
    uniform = 1.0 - np.random.default_rng(4).random(draws, np.float32)
    drawn = np.asarray(masking.sample(log_probability, many, xp.asarray(uniform)))
    counts = np.bincount(drawn, minlength=30)
    assert counts[~legal_mask[0]].sum() == 0
    counts = counts[legal_mask[0]]
    probability = np.exp(reference(logits, legal_mask)[0][0, legal_mask[0]])
    freedom = len(counts) - 1
    gate = freedom + 5 * np.sqrt(2 * freedom)
    assert chi_square(counts, probability) < gate
    slightly_off = probability * np.linspace(0.95, 1.05, len(counts))
    assert chi_square(counts, slightly_off / slightly_off.sum()) > gate, "the gate must tell 5 % errors"
