"""`--learner improve`: expert iteration (ExIt), the RLTrainer behind `jimbot improve`.

An iteration plays `num_steps` steps of all games with a plan that draws its moves (Gumbel), then takes the policy
towards what the plan found and the value towards what came of it. Games, network, optimiser and the number of the
iteration are all there is to know: everything random derives from (seed, iteration), so a run that was killed goes on
from its checkpoint exactly as it would have.

Steps count moves of the real games, as PPO's do; the simulations make each of them dearer. So both show in one plot
by steps, and by hours.

The policy learns the whole improved distribution of every position that was planned (cross-entropy), the value of
every position to what came of it: the λ-return of the game as it was played on, its error in units of the returns'
variance, as a clone's.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.errors import SettingsError
from jimbot.games.contract import BatchGame, game_entry
from jimbot.games.functional import from_named_leaves, named_leaves
from jimbot.planning import ITSELF, OwnSearch, Plan, Planner, PlanTable, own_search
from jimbot.policies import masking
from jimbot.policies.contract import Policy
from jimbot.policies.jax_networks import Params, make_network
from jimbot.policies.players import Player, find_player
from jimbot.policies.portable import OnnxPolicy
from jimbot.policies.reward_transform import transform_reward
from jimbot.runs.arrays import put_under, under
from jimbot.training.framework import Learned, RLTrainer
from jimbot.training.imitation.batches import LEAST_VARIANCE, Batch
from jimbot.training.init_policy import start_of
from jimbot.training.jax_ppo.ppo import make_optimiser
from jimbot.training.jax_ppo.program import KEPT_PROGRAMS, network_for, network_text
from jimbot.training.session.compile_cache import use_compile_cache
from jimbot.training.session.log_rows import GameTally
from jimbot.training.session.session import Session
from jimbot.training.settings.record import TrainSettings


class Lesson(NamedTuple):
    """T steps of N games, played with a plan."""

    observation: np.ndarray  # (T, N, D) float32
    legal_mask: np.ndarray  # (T, N, A) bool
    improved: np.ndarray  # (T, N, A) float32, zero where illegal
    action: np.ndarray  # (T, N) int32, played
    planned: np.ndarray  # (T, N) bool
    reward: np.ndarray  # (T, N) float32, as it is learned
    value: np.ndarray  # (T + 1, N) float32, before every step and after the last
    final_value: np.ndarray  # (T, N) float32, of the last position of a game that was cut off
    terminated: np.ndarray  # (T, N) bool
    truncated: np.ndarray  # (T, N) bool

    @classmethod
    def empty(cls, steps: int, rows: int, width: int, actions: int) -> Lesson:
        return cls(
            np.zeros((steps, rows, width), np.float32),
            np.zeros((steps, rows, actions), bool),
            np.zeros((steps, rows, actions), np.float32),
            np.zeros((steps, rows), np.int32),
            np.zeros((steps, rows), bool),
            np.zeros((steps, rows), np.float32),
            np.zeros((steps + 1, rows), np.float32),
            np.zeros((steps, rows), np.float32),
            np.zeros((steps, rows), bool),
            np.zeros((steps, rows), bool),
        )

    def returns(self, gamma: float, lam: float) -> np.ndarray:
        """(T, N) float32, the λ-return of every step. A game that was cut off counts with the value of its last
        position, one that ended with nothing."""
        found = np.zeros_like(self.reward)
        following = self.value[-1]
        for turn in range(len(found) - 1, -1, -1):
            ended = self.terminated[turn] | self.truncated[turn]
            after = np.where(ended, self.final_value[turn], (1 - lam) * self.value[turn + 1] + lam * following)
            following = found[turn] = self.reward[turn] + gamma * np.where(self.terminated[turn], 0.0, after)
        return found

    def batches(self, gamma: float, lam: float, size: int, rng: np.random.Generator) -> Iterator[Batch]:
        """One pass over all positions in random order; what was not planned teaches its value only."""
        count = self.reward.size
        parts = ("observation", "legal_mask", "improved", "action", "planned")
        flat = {name: getattr(self, name).reshape(count, *getattr(self, name).shape[2:]) for name in parts}
        target = self.returns(gamma, lam).reshape(count)
        order = rng.permutation(count)
        for first in range(0, count - size + 1, size):
            rows = order[first : first + size]
            yield Batch(
                observation=flat["observation"][rows],
                legal_mask=flat["legal_mask"][rows],
                action=flat["action"][rows],
                target=target[rows],
                value_weight=np.ones(size, np.float32),
                weight=flat["planned"][rows].astype(np.float32),
                probabilities=flat["improved"][rows],
            )


@lru_cache(maxsize=KEPT_PROGRAMS)
def descending(described: str, vf_coef: float, max_grad_norm: float) -> Callable[..., Any]:
    """(parameters, optimiser, minibatch, variance of returns, learning rate) → both a step further, and the losses."""
    network, optimiser = make_network(json.loads(described)), make_optimiser(max_grad_norm)

    def loss(params: Params, batch: Batch, variance: Any) -> tuple[Any, dict[str, Any]]:
        logits, value = network.apply(params, network.prepare(batch.observation))
        log_probability = masking.log_probabilities(logits, batch.legal_mask)
        taught = jnp.where(batch.legal_mask, batch.probabilities * log_probability, 0.0)
        planned = jnp.sum(batch.weight)
        policy_loss = -jnp.sum(batch.weight * jnp.sum(taught, axis=-1)) / jnp.maximum(1.0, planned)
        agree = masking.best(log_probability, batch.legal_mask) == jnp.argmax(batch.probabilities, axis=-1)
        value_loss = jnp.mean((value - batch.target) ** 2) / variance
        total = policy_loss + vf_coef * value_loss
        return total, {
            "train/loss": total,
            "train/policy_loss": policy_loss,
            "train/value_loss": value_loss,
            "train/entropy": jnp.mean(masking.entropy(log_probability, batch.legal_mask)),
            "train/plan_agreement": jnp.sum(batch.weight * agree) / jnp.maximum(1.0, planned),
        }

    def descend(params: Params, state: Any, batch: Batch, variance: Any, lr: Any) -> tuple[Params, Any, Any]:
        gradients, measured = jax.grad(loss, has_aux=True)(params, batch, variance)
        direction, state = optimiser.update(gradients, state)
        return jax.tree.map(lambda value, step: value - lr * step, params, direction), state, measured

    return jax.jit(descend)


def learn(
    program: Callable[..., Any], params: Params, optimiser: Any, passes: Iterator[Batch], variance: float, lr: float
) -> tuple[Params, Any, dict[str, float]]:
    """Takes a step per minibatch; the losses are means over all of them."""
    found: list[dict[str, float]] = []
    for batch in passes:
        params, optimiser, measured = program(params, optimiser, batch, max(LEAST_VARIANCE, variance), lr)
        found.append({name: float(value) for name, value in measured.items()})
    return params, optimiser, {name: float(np.mean([row[name] for row in found])) for name in found[0]}


ALGORITHM = "ExIt"
_GAME, _OPTIMISER, _TALLY = "game/", "optimiser/", "tally/"  # parts of a checkpoint's state


class ImproveTrainer(RLTrainer):
    """Plays with a plan, learns its choices, and again."""

    algorithms, first_phase = (ALGORITHM,), "compile"

    @classmethod
    def check(cls, settings: TrainSettings) -> None:
        if game_entry(settings.game).two_sides is not None:
            raise SettingsError(f"Game '{settings.game}' has two players; improve is for games of one.")
        if settings.reward_transform == "normalize" or settings.normalize_obs:
            raise SettingsError("Expert iteration has no normalisation (of rewards or observations); leave it out.")
        PlanTable(
            game_entry(settings.game), asked={**settings.planning.settings, "rollouts": settings.planning.simulations}
        )

    def __init__(self, settings: TrainSettings, session: Session, game: BatchGame | None = None) -> None:
        super().__init__(settings, session, game)
        use_compile_cache()
        self.network = network_for(settings, self.spec)
        self.params: Params = {}
        self.optimiser: Any = None
        self._optimising = make_optimiser(settings.ppo.max_grad_norm)
        self._descend = descending(network_text(self.network), settings.ppo.vf_coef, settings.ppo.max_grad_norm)
        self.seconds = {"play": 0.0, "learn": 0.0}
        self._changed = self._planned = 0
        self._player = self._who_plays_on(session.run.root)

    @property
    def step(self) -> int:
        return self.updates * self.settings.batch_size

    def create_model(self) -> None:
        self.params = {name: jnp.asarray(value) for name, value in self.network.init(self.settings.seed).items()}
        self.optimiser = jax.jit(self._optimising.init)(self.params)
        self.batch.reset()
        self.tally = GameTally(self.spec, self.batch.num_rows)

    def described_network(self) -> Mapping[str, Any]:
        return self.network.description

    def portable_network(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        return self.network.description, {name: np.asarray(value) for name, value in self.params.items()}

    def start_from(self, path: str | Path) -> None:
        self.put_params(start_of(path, self.spec, self.network.description).params)

    def put_params(self, params: Mapping[str, np.ndarray]) -> None:
        self.params = {**self.params, **{name: jnp.array(value, jnp.float32) for name, value in params.items()}}

    def learning_state(self) -> dict[str, np.ndarray]:
        return {
            "updates": np.array(self.updates),
            **put_under(_GAME, self.batch.snapshot()),
            **put_under(_OPTIMISER, named_leaves(self.optimiser)),
            _TALLY + "return": self.tally.episode_return.copy(),
            _TALLY + "length": self.tally.episode_length.copy(),
        }

    def restore(self, params: Mapping[str, np.ndarray], state: Mapping[str, np.ndarray]) -> None:
        self.put_params(params)
        self.updates = int(state["updates"])
        self.batch.restore(under(_GAME, state))
        self.optimiser = from_named_leaves(self.optimiser, under(_OPTIMISER, state), "checkpoint")
        self.tally.episode_return[:] = state[_TALLY + "return"]
        self.tally.episode_length[:] = state[_TALLY + "length"]

    def update(self, total: int) -> Learned:
        losses = self._learn(self._play(), total)
        self.updates += 1
        return Learned(losses, self.tally.take(), self.settings.batch_size)

    def more_metrics(self) -> dict[str, float]:
        planned, changed = max(1, self._planned), self._changed
        self._planned = self._changed = 0
        return {"plan/changed_share": changed / planned} | {
            f"health/{name}": value for name, value in self.batch.health().items()
        }

    # --- one iteration ---

    def _play(self) -> Lesson:
        """Steps of all games with a plan of the policy as it is now."""
        began = time.monotonic()
        game, settings = self.batch, self.settings
        policy = OnnxPolicy.from_bytes(self.policy_onnx(), name=self.session.run.name)
        rng = np.random.default_rng([settings.seed, self.updates, 0])
        planner = self._planner(policy, rng)
        lesson = Lesson.empty(settings.num_steps, game.num_rows, self.spec.observation.size, self.spec.actions.size)
        everyone = np.ones(game.num_rows, bool)
        try:
            for turn in range(settings.num_steps):
                own = policy.act(game.observation, game.legal_mask)
                plan = planner.plan(game, everyone, own)
                actions = self._played(plan, policy, game, rng)
                self._note(lesson, turn, game, plan, actions, own.values)
                legal = game.legal_mask[np.arange(game.num_rows), actions]
                game.step(actions)
                self.tally.step(game, actions, legal)
                self._note_outcome(lesson, turn, game, policy)
        finally:
            planner.close()
        lesson.value[-1] = policy.act(game.observation, game.legal_mask).values
        self._planned += planner.report.planned
        self._changed += planner.report.changed
        self.seconds["play"] += time.monotonic() - began
        return lesson

    def _learn(self, lesson: Lesson, total: int) -> dict[str, float]:
        began = time.monotonic()
        ppo, gamma = self.settings.ppo, self.settings.gamma
        variance = float(lesson.returns(gamma, ppo.gae_lambda).var())
        rng = np.random.default_rng([self.settings.seed, self.updates, 1])

        def passes() -> Iterator[Batch]:
            for _ in range(ppo.update_epochs):
                yield from lesson.batches(gamma, ppo.gae_lambda, self.settings.minibatch_size, rng)

        lr = ppo.lr * (max(0.0, 1.0 - self.step / total) if ppo.anneal_lr else 1.0)
        self.params, self.optimiser, losses = learn(self._descend, self.params, self.optimiser, passes(), variance, lr)
        self.seconds["learn"] += time.monotonic() - began
        return {**losses, "train/explained_variance": 1 - losses["train/value_loss"],
                "plan/planned_share": float(lesson.planned.mean())}  # fmt: skip

    def _planner(self, policy: Policy, rng: np.random.Generator) -> Planner | OwnSearch:
        planning = self.settings.planning
        if planning.player is None and not planning.settings:
            alone = Player(policy.name, policy, self.settings.game, dict(self.settings.game_options))
            if (searching := own_search(alone, planning.simulations, rng)) is not None:
                return searching
        table = PlanTable(game_entry(self.settings.game), asked={**planning.settings, "rollouts": planning.simulations})
        manifest = self.manifest()
        exploring = None if self._player is not None else rng
        return Planner(policy, manifest, table, self.updates, player=self._player, exploring=exploring)

    def _who_plays_on(self, root: Path) -> Policy | None:
        named = self.settings.planning.player
        return None if named in (None, ITSELF) else find_player(named, self.settings.game, runs_root=root).policy

    def _played(self, plan: Plan, policy: Policy, game: BatchGame, rng: np.random.Generator) -> np.ndarray:
        """(N,) int64: what the plan says; where there is none a draw of the policy, or the other player's move."""
        if self._player is not None:
            return plan.decision.actions
        drawn = policy.act(game.observation, game.legal_mask, deterministic=False, key=rng).actions
        return np.where(plan.planned, plan.decision.actions, drawn)

    def _note(
        self, lesson: Lesson, turn: int, game: BatchGame, plan: Plan, actions: np.ndarray, values: np.ndarray
    ) -> None:
        lesson.observation[turn], lesson.legal_mask[turn] = game.observation, game.legal_mask
        lesson.improved[turn], lesson.planned[turn] = plan.improved, plan.planned
        lesson.action[turn], lesson.value[turn] = actions, values

    def _note_outcome(self, lesson: Lesson, turn: int, game: BatchGame, policy: Policy) -> None:
        lesson.reward[turn] = transform_reward(self.settings.reward_transform, game.reward)
        lesson.terminated[turn], lesson.truncated[turn] = game.terminated, game.truncated
        if len(cut := np.flatnonzero(game.truncated & ~game.terminated)):
            everything = np.ones((len(cut), self.spec.actions.size), bool)
            lesson.final_value[turn, cut] = policy.act(game.final_observation[cut], everything).values
