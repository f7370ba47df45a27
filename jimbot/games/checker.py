"""The contract test, shipped with the package: `check_game("hackmatrix")` for ours, or for a game of your own.

Plays random legal games and verifies everything the rest of JimBot relies on. Assertions are full sentences that
name the likely cause.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jimbot.errors import IllegalActionError, SnapshotError
from jimbot.games.contract import BatchGame, game_entry, make
from jimbot.games.hook_checks import check_hooks
from jimbot.games.seeds import TRAIN, bank_of
from jimbot.games.spec import DISCOUNT, GameSpec

SHAPING_DISCOUNT = 0.98  # low enough to matter, high enough for the end of a game to count


class ContractError(AssertionError):
    """A game breaks the contract."""


def check_game(game_id: str, steps: int = 200, num_envs: int = 8, options: Mapping[str, Any] | None = None) -> None:
    """Checks spec, stepping, determinism, seeds, snapshots, holding, hidden information, legality, shaping, hooks."""
    entry = game_entry(game_id)
    check_spec(entry.spec)

    def build(seed: int = 7, checked: bool = True) -> BatchGame:
        return make(game_id, num_envs, seed=seed, options=options, checked=checked)

    trace = _play(build(), steps)
    again = _play(build(), steps)
    for name in trace:
        _require(
            np.array_equal(trace[name], again[name], equal_nan=True),
            f"'{name}' differs between two runs with the same seed and actions: randomness outside the game state.",
        )
    _require(trace["ended"].any(), f"No game ended in {steps} steps of {num_envs} games; check with more steps.")
    _check_seeds(build(seed=7), build(seed=8), steps=min(steps, 20))
    _check_snapshot(build(), steps=min(steps, 50))
    _check_partial_snapshot(build())
    _check_hold(build())
    _check_hidden(build(), steps=min(steps, 50))
    _check_illegal(build())
    _check_illegal_counted(build(checked=False))
    if entry.spec.shaping:
        discounted = {**(options or {}), DISCOUNT: SHAPING_DISCOUNT}
        _check_shaping(make(game_id, num_envs, seed=7, options=discounted), entry.spec.shaping, steps)
    check_hooks(entry, lambda games: make(game_id, games, seed=7, options=options), num_envs, _require)


def check_spec(spec: GameSpec) -> None:
    """Names unique, labels unique and invertible, offsets gapless."""
    labels = spec.actions.labels
    _require(len(set(labels)) == len(labels), f"Game '{spec.id}' has two actions with the same label.")
    _require(all(spec.actions.index(label) == i for i, label in enumerate(labels)), "Action labels do not map back.")
    names = [field.name for field in spec.observation.fields]
    _require(len(set(names)) == len(names), f"Game '{spec.id}' has two observation fields with the same name.")
    _require(len(set(spec.reward_terms)) == len(spec.reward_terms), "Two reward terms have the same name.")
    _require(all(field.meaning for field in spec.observation.fields), "An observation field has no meaning.")
    spec.options()


def random_legal(rng: np.random.Generator, legal_mask: np.ndarray) -> np.ndarray:
    """One uniformly random legal action per row."""
    return np.where(legal_mask, rng.random(legal_mask.shape), -1.0).argmax(axis=1)


def _require(condition: Any, sentence: str) -> None:
    if not condition:
        raise ContractError(sentence)


def _play(game: BatchGame, steps: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    game.reset()
    _check_arrays(game, first=True)
    _check_words(game)
    seen: dict[str, list[np.ndarray]] = {name: [] for name in ("observation", "legal_mask", "reward", "ended", "seeds")}
    for _ in range(steps):
        seeds_before = game.seeds.copy()
        game.step(random_legal(rng, game.legal_mask))
        _check_arrays(game)
        ended = game.terminated | game.truncated
        changed = game.seeds != seeds_before
        _require((changed == ended).all(), "A row's seed must change exactly when its game ends and restarts.")
        for seed in game.seeds[changed]:
            _require(bank_of(int(seed)) == TRAIN, f"Restart seed {int(seed)} is not of the train bank.")
        _require(
            np.isfinite(game.final_observation[ended]).all() and np.isfinite(game.final_stats[ended]).all(),
            "final_observation or final_stats of an ended game holds a value that is not finite.",
        )
        for name, value in zip(seen, (game.observation, game.legal_mask, game.reward, ended, game.seeds), strict=True):
            seen[name].append(value.copy())
    game.close()
    return {name: np.stack(values) for name, values in seen.items()}


def _check_arrays(game: BatchGame, first: bool = False) -> None:
    spec, rows = game.spec, game.num_rows
    for name, shape, kind in (
        ("observation", (rows, spec.observation.size), np.float32),
        ("final_observation", (rows, spec.observation.size), np.float32),
        ("legal_mask", (rows, spec.actions.size), np.bool_),
        ("reward", (rows,), np.float32),
        ("reward_terms", (rows, len(spec.reward_terms)), np.float32),
        ("final_stats", (rows, len(spec.episode_stats)), np.float32),
        ("acting", (rows,), np.bool_),
        ("seeds", (rows,), np.uint64),
        ("terminated", (rows,), np.bool_),
        ("truncated", (rows,), np.bool_),
    ):
        value = getattr(game, name)
        _require(value.shape == shape, f"'{name}' has shape {value.shape}; expected {shape} from the spec.")
        _require(value.dtype == kind, f"'{name}' is {value.dtype}; expected {np.dtype(kind)}.")
    _require(np.isfinite(game.observation).all(), "An observation holds a value that is not finite.")
    _require(game.legal_mask.any(axis=1).all(), "A row has no legal action; every row must always have one.")
    _require(not (game.terminated & game.truncated).any(), "A game was both terminated and truncated.")
    idle = ~game.acting
    _require(not game.legal_mask[idle, 1:].any(), "A row that is not acting may have only action 0 legal.")
    for field in spec.observation.fields:
        if field.ids:
            ids = game.observation[:, spec.observation.span(field.name)]
            whole = (ids == np.round(ids)).all() and (ids >= 0).all() and (ids < field.ids).all()
            _require(whole, f"Id field '{field.name}' holds something else than integers 0..{field.ids - 1}.")
    if first:
        _require(not game.reward.any() and not game.reward_terms.any(), "A reset leaves a reward behind.")
        _require(not (game.terminated | game.truncated).any(), "A reset leaves a game ended.")
    else:
        gap = np.abs(game.reward_terms.sum(axis=1) - game.reward).max()
        _require(gap <= 1e-3 * max(1.0, float(np.abs(game.reward).max())), "reward is not the sum of reward_terms.")


def _check_words(game: BatchGame) -> None:
    _require(str(game.describe(0)).strip(), "describe(0) says nothing.")
    action = int(game.legal_mask[0].argmax())
    _require(str(game.describe_action(0, action)).strip(), f"describe_action(0, {action}) says nothing.")


def _check_seeds(game: BatchGame, other: BatchGame, steps: int) -> None:
    """A given seed is one game: whatever the batch's own seed and, with one player, whatever the row."""
    given = np.random.default_rng(21).integers(0, 2**64, game.num_envs, dtype=np.uint64)
    turned = game.spec.players == 1
    game.reset(given)
    other.reset(given[::-1] if turned else given)
    order = np.arange(game.num_rows)[::-1] if turned else np.arange(game.num_rows)
    _require(set(game.seeds.tolist()) == set(given.tolist()), "After reset(seeds) `seeds` does not show those seeds.")
    rng = np.random.default_rng(22)
    live = np.ones(game.num_rows, bool)  # restarts draw from the batch's own stream, so only first games compare
    for _ in range(steps):
        same = (game.observation == other.observation[order]).all(1) & (game.legal_mask == other.legal_mask[order]).all(
            1
        )
        _require(same[live].all(), "The same seed and actions gave another game in another row or batch.")
        actions = random_legal(rng, game.legal_mask)
        game.step(actions, hold=~live)
        other.step(actions[order], hold=~live[order])
        live &= ~(game.terminated | game.truncated)
    game.reset()
    before = game.seeds.copy()
    game.reset()
    _require(not np.isin(game.seeds, before).any(), "A reset without seeds deals a game that was just played.")
    for seed in game.seeds:
        _require(bank_of(int(seed)) == TRAIN, f"reset() drew seed {int(seed)}, which is not of the train bank.")
    game.close()
    other.close()


def _check_snapshot(game: BatchGame, steps: int) -> None:
    game.reset()
    rng = np.random.default_rng(5)
    for _ in range(5):
        game.step(random_legal(rng, game.legal_mask))
    saved = {name: value.copy() for name, value in game.snapshot().items()}
    plan_rng = np.random.default_rng(9)
    first, actions = [], []
    for _ in range(steps):
        actions.append(random_legal(plan_rng, game.legal_mask))
        game.step(actions[-1])
        first.append((game.observation.copy(), game.reward.copy()))
    game.restore(saved)
    for step, action in enumerate(actions):
        game.step(action)
        _require(
            np.array_equal(game.observation, first[step][0]) and np.array_equal(game.reward, first[step][1]),
            f"After restore the game differs at step {step}: the snapshot does not hold the whole state.",
        )
    try:
        game.restore({})
    except SnapshotError:
        game.close()
        return
    raise ContractError("An empty snapshot was accepted; restore must raise SnapshotError for what is not its own.")


def _check_partial_snapshot(game: BatchGame) -> None:
    """Rows of a snapshot go back alone (planning); with several players the rows of a game belong together."""
    if game.spec.players > 1 or game.num_rows < 3:
        return
    game.reset()
    rng = np.random.default_rng(6)
    rows = np.array([2, 0])
    saved = {name: value.copy() for name, value in game.snapshot(rows).items()}
    expected, seeds = game.observation[rows].copy(), game.seeds[rows].copy()
    for _ in range(3):
        game.step(random_legal(rng, game.legal_mask))
    others = np.setdiff1d(np.arange(game.num_rows), rows)
    untouched = game.observation[others].copy()
    game.restore(saved, rows)
    back = np.array_equal(game.observation[rows], expected) and np.array_equal(game.seeds[rows], seeds)
    _require(back, "Restoring some rows did not bring them back.")
    _require(np.array_equal(game.observation[others], untouched), "Restoring some rows changed others.")
    game.close()


def _check_hold(game: BatchGame) -> None:
    game.reset()
    hold = np.zeros(game.num_rows, bool)
    hold[::2] = True
    before, mask_before, seeds_before = game.observation.copy(), game.legal_mask.copy(), game.seeds.copy()
    game.step(random_legal(np.random.default_rng(1), game.legal_mask), hold=hold)
    _require(
        np.array_equal(game.observation[hold], before[hold])
        and np.array_equal(game.legal_mask[hold], mask_before[hold])
        and np.array_equal(game.seeds[hold], seeds_before[hold]),
        "A held row changed.",
    )
    _require(not game.reward[hold].any(), "A held row got a reward.")
    _require(not (game.terminated | game.truncated)[hold].any(), "A held row ended.")
    game.close()


def _check_hidden(game: BatchGame, steps: int) -> None:
    """Re-deals hidden state; the player must not be able to tell."""
    game.reset()
    rng = np.random.default_rng(11)
    rows = np.arange(game.num_rows)
    for _ in range(steps):
        game.step(random_legal(rng, game.legal_mask))
        before = game.observation.copy()
        saved = game.snapshot()
        game.redraw_hidden(rows, rng.integers(0, 2**63, game.num_rows).astype(np.uint64))
        _require(
            np.array_equal(game.observation, before), "The observation changed when hidden information was re-dealt."
        )
        game.restore(saved)
    game.close()


def _with_an_illegal_action(game: BatchGame) -> np.ndarray | None:
    """Actions of which exactly one is illegal, as soon as random play reaches a row that has one."""
    game.reset()
    rng = np.random.default_rng(2)
    for _ in range(50):
        actions = random_legal(rng, game.legal_mask)
        row = int(np.argmin(np.where(game.acting, game.legal_mask.sum(axis=1), game.spec.actions.size)))
        if not game.legal_mask[row].all():
            actions[row] = int(np.argmin(game.legal_mask[row]))
            return actions
        game.step(actions)
    return None


def _check_illegal(game: BatchGame) -> None:
    actions = _with_an_illegal_action(game)
    if actions is not None:
        before = game.observation.copy()
        try:
            game.step(actions)
        except IllegalActionError:
            _require(np.array_equal(game.observation, before), "A refused illegal action changed the game.")
        else:
            raise ContractError("An illegal action was accepted in checked mode.")
    game.close()


def _check_illegal_counted(game: BatchGame) -> None:
    actions = _with_an_illegal_action(game)
    _require(game.illegal_actions == 0, "illegal_actions counts although only legal actions were played.")
    if actions is not None:
        game.step(actions)
        _require(game.illegal_actions == 1, f"One illegal action in fast mode counted as {game.illegal_actions}.")
    game.close()


def _check_shaping(game: BatchGame, shaping: tuple[str, ...], steps: int) -> None:
    """Shaped terms, discounted and added up over a whole game, come to the same for every player."""
    places = [game.spec.reward_terms.index(term) for term in shaping]
    one, another = (_shaping_of_first_games(game, seed, steps)[:, places] for seed in (31, 32))
    compared = np.isfinite(one[:, 0]) & np.isfinite(another[:, 0])
    _require(compared.any(), f"No game ended by its rules in {steps} steps; check with more steps.")
    for place, term in enumerate(shaping):
        gap = np.abs(one[compared, place] - another[compared, place]).max()
        _require(
            gap < 1e-4,
            f"Reward term '{term}' is declared as shaping, but its discounted sum over a game depends on the play (by "
            f"{gap:.4g}): pay discount times the new potential minus the old one, and 0 for the potential of the end.",
        )
    game.close()


def _shaping_of_first_games(game: BatchGame, seed: int, steps: int) -> np.ndarray:
    """(N, K) discounted sums of reward terms of games played at random; NaN where the rules did not end it in time."""
    rng = np.random.default_rng(seed)
    game.reset(np.random.default_rng(30).integers(0, 2**64, game.num_envs, dtype=np.uint64))
    sums, worth = np.zeros(game.reward_terms.shape), 1.0
    live, finished = np.ones(game.num_rows, bool), np.zeros(game.num_rows, bool)
    for _ in range(steps):
        game.step(random_legal(rng, game.legal_mask))
        sums[live] += worth * game.reward_terms[live]
        worth *= SHAPING_DISCOUNT
        finished |= live & game.terminated
        live &= ~(game.terminated | game.truncated)
    sums[~finished] = np.nan
    return sums
