"""`--adviser` while learning: an extension of the jax learner that asks about the games of a run, never waiting for it.

After an update the learner shows the positions its games stand at. A few that the policy is not sure of are put in
words (that is all a step waits for) and asked about in threads; whatever is answered becomes a demonstration some
updates later, and every update is followed by a small step towards some of them. Budget and share hold as everywhere; a
run keeps its own budget over restarts, because it is charged under its name.

That step has an optimiser of its own, so PPO's measures of its gradients stay its own. It is not kept in checkpoints:
when answers arrive depends on another service, so such a run is never repeated to the bit anyway.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.adviser.adviser import Adviser, open_adviser
from jimbot.adviser.question import question_in
from jimbot.adviser.reply import Advice
from jimbot.adviser.settings import AdviserSettings
from jimbot.errors import DatasetError
from jimbot.games.batch_game import BatchGame
from jimbot.games.contract import game_entry
from jimbot.games.spec import GameSpec
from jimbot.policies import masking
from jimbot.policies.contract import Decision, Policy
from jimbot.policies.jax_networks import JaxNetwork, Params, make_network
from jimbot.policies.portable import OnnxPolicy
from jimbot.runs.manifest import Manifest
from jimbot.training.environments import training_options
from jimbot.training.imitation.dataset import TRUNCATED, Dataset, DatasetInfo, writing_dataset
from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.ppo import make_optimiser
from jimbot.training.jax_ppo.program import KEPT_PROGRAMS, network_text
from jimbot.training.jax_ppo.records import Array

if TYPE_CHECKING:
    from jimbot.training.jax_ppo.trainer import JaxPPOTrainer

MOST = 4096  # the oldest go first


class Demonstration(NamedTuple):
    """One answer."""

    observation: np.ndarray  # (D,) float32
    legal_mask: np.ndarray  # (A,) bool
    action: int
    weight: float


class Demonstrations:
    """Answers so far; filled by threads, read by the learner."""

    def __init__(self, spec: GameSpec, most: int = MOST) -> None:
        self.spec, self._most = spec, most
        self._known: list[Demonstration] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._known)

    def add(self, one: Demonstration) -> None:
        with self._lock:
            self._known.append(one)
            del self._known[: -self._most]

    def drawn(self, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(count, D), (count, A), (count,), (count,): some of them, with their weights; any number of times each."""
        with self._lock:
            known = [self._known[number] for number in rng.integers(0, len(self._known), count)]
        return (
            np.stack([one.observation for one in known]),
            np.stack([one.legal_mask for one in known]),
            np.array([one.action for one in known], np.int32),
            np.array([one.weight for one in known], np.float32),
        )

    def save(self, path: Path, adviser: str, options: dict[str, Any]) -> None:
        """Writes all of them as a dataset, whole or not at all; nothing where there is nothing."""
        with self._lock:
            known = list(self._known)
        if not known:
            return
        count = len(known)
        info = DatasetInfo.for_game(
            self.spec, game_options=options, players=1, policy=adviser, seed=0, weights=True, games=count, rows=count,
            trajectories=count, truncated=count, stats=dict.fromkeys(self.spec.episode_stats, 0.0),
        )  # fmt: skip
        with writing_dataset(path) as writer:
            writer.add_chunk(
                {
                    "observation": np.stack([one.observation for one in known]),
                    "legal_mask": np.stack([one.legal_mask for one in known]),
                    "action": np.array([one.action for one in known], np.int32),
                    "trajectory": np.arange(count, dtype=np.int32),
                    "weight": np.array([one.weight for one in known], np.float32),
                }
            )
            writer.finish(
                info,
                np.zeros(count, np.float32),
                {
                    "seed": np.zeros(count, np.uint64),
                    "return": np.zeros(count, np.float64),
                    "length": np.ones(count, np.int64),
                    "ended": np.full(count, TRUNCATED, np.uint8),
                    "stats": np.zeros((count, len(self.spec.episode_stats)), np.float32),
                },
            )

    def load(self, path: Path) -> None:
        """Takes over what an earlier call of the run was advised, if anything."""
        if not path.exists():
            return
        with Dataset.open(path, self.spec) as dataset:
            for number in range(len(dataset.info.chunks)):
                chunk = dataset.chunk(number)
                if chunk.weight is None:
                    raise DatasetError(f"{path} holds no weights; it is no file of advice. Move it away.")
                for row in range(len(chunk.action)):
                    self.add(
                        Demonstration(
                            chunk.observation[row], chunk.legal_mask[row], int(chunk.action[row]),
                            float(chunk.weight[row]),
                        )
                    )  # fmt: skip


FILE = "advice.npz"  # of a run
ROWS = 64  # demonstrations per step
LAST_WAIT = 1.0  # seconds
LOOKED_AT = 64  # rows per update that may become a question

Probabilities = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""(observation (n, D), legal mask (n, A)) → probabilities (n, A) and values (n,) of the policy as it is now."""


class LatestPolicy:
    """The policy being learned, as it was when it was last shown: what a planner plays on with."""

    name = "latest"

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def act(
        self, observation: np.ndarray, legal_mask: np.ndarray, deterministic: bool = True,
        key: np.random.Generator | None = None,
    ) -> Decision:  # fmt: skip
        return self.policy.act(observation, legal_mask, deterministic, key)


class BackgroundAdvice:
    """The adviser of one run."""

    def __init__(self, adviser: Adviser, game: BatchGame, folder: Path) -> None:
        self.adviser, self.entry = adviser, game_entry(game.spec.id)
        self.demonstrations = Demonstrations(game.spec)
        self.path = folder / FILE
        self.demonstrations.load(self.path)
        self._open: list[Future[Advice | None]] = []

    @classmethod
    def of(
        cls, settings: dict[str, Any], policy: Policy, manifest: Manifest | None, game: BatchGame, folder: Path
    ) -> BackgroundAdvice:
        """The adviser a run's settings mean; `folder` is the run's, whose name is charged."""
        chosen = AdviserSettings().with_values(settings)
        return cls(open_adviser(chosen, policy, manifest, f"train {folder.name}"), game, folder)

    def look(self, game: BatchGame, probabilities: Probabilities, decided: int, update: int) -> None:
        """After an update of `decided` decisions: asks about some of the positions the games stand at now."""
        when = self.adviser.when
        when.note(decided)
        self._open = [future for future in self._open if not future.done()]
        free = self.adviser.settings.at_once - len(self._open)
        rows = np.flatnonzero(game.acting & (game.legal_mask.sum(axis=1) > 1))
        if free <= 0 or not len(rows):
            return
        # Another part of the rows each time, always as many: one shape to compile.
        rows = np.resize(np.roll(rows, -update * LOOKED_AT), LOOKED_AT)
        observation, legal = game.observation[rows].copy(), game.legal_mask[rows].copy()
        chances, values = probabilities(observation, legal)
        unsure = np.flatnonzero(when.unsure(self.entry, observation, legal, chances))
        order = unsure[np.argsort(chances[unsure].max(axis=1), kind="stable")]
        for place in dict.fromkeys(int(rows[one]) for one in order):
            if free == 0 or not when.claim():
                return
            free -= 1
            self._ask(game, place, int(np.flatnonzero(rows == place)[0]), observation, chances, values)

    def save(self, options: dict[str, Any]) -> None:
        self.demonstrations.save(self.path, f"advice of {self.adviser.source.name}", options)

    def finish(self, options: dict[str, Any]) -> None:
        """After the last step: answers that are nearly there were paid for, and are waited for a moment."""
        wait(self._open, LAST_WAIT)
        self.save(options)

    def metrics(self) -> dict[str, float]:
        metrics = self.adviser.metrics
        return {
            "advice/asked": float(metrics.asked),
            "advice/answered": float(metrics.outcomes["answered"] + metrics.outcomes["cached"]),
            "advice/demonstrations": float(len(self.demonstrations)),
            "advice/dollars": metrics.dollars,
        }

    def close(self) -> None:
        """What is still being asked is not waited for; it stays charged."""
        self.adviser.close()

    def _ask(
        self, game: BatchGame, row: int, place: int, observation: np.ndarray, chances: np.ndarray, values: np.ndarray
    ) -> None:
        whole = np.zeros((game.num_rows, chances.shape[1]), np.float32)
        whole[row] = chances[place]
        expected = np.zeros(game.num_rows, np.float32)
        expected[row] = values[place]
        decision = Decision(whole.argmax(axis=1), whole, expected)
        copy = not self.adviser.source.used_llm
        question = question_in(self.entry, game, row, decision, self.adviser.hints, copy)
        seen, legal = observation[place].copy(), game.legal_mask[row].copy()
        future = self.adviser.begin(question, self.adviser.settings.seconds)
        self._open.append(future)
        weight = self.adviser.settings.weight

        def keep(done: Future[Advice | None]) -> None:
            advice = done.result()
            if advice is not None and legal[advice.action]:
                self.demonstrations.add(Demonstration(seen, legal, advice.action, weight))
                self.adviser.metrics.add(followed=1)

        future.add_done_callback(keep)


class Imitation:
    """Steps towards demonstrations."""

    def __init__(self, network: JaxNetwork, max_grad_norm: float, coef: float, seed: int) -> None:
        self._step, self._init = _compiled(network_text(network), max_grad_norm)
        self._coef, self._rng = coef, np.random.default_rng([seed, 17])
        self._optimiser: Any = None
        self.loss = float("nan")

    def learn(self, params: Params, demonstrations: Demonstrations, lr: float) -> Params:
        """The parameters a step nearer to some demonstrations; as they are where there are none."""
        if not len(demonstrations) or not self._coef:
            return params
        if self._optimiser is None:
            self._optimiser = self._init(params)
        drawn = demonstrations.drawn(ROWS, self._rng)
        params, self._optimiser, loss = self._step(params, self._optimiser, *drawn, lr * self._coef)
        self.loss = float(loss)
        return params


@lru_cache(maxsize=KEPT_PROGRAMS)
def _compiled(described: str, max_grad_norm: float) -> tuple[Callable[..., Any], Callable[[Params], Any]]:
    network, optimiser = make_network(json.loads(described)), make_optimiser(max_grad_norm)

    def loss(params: Params, observation: Any, legal_mask: Any, action: Any, weight: Any) -> Any:
        logits, _ = network.apply(params, network.prepare(observation, params))
        chosen = masking.of_action(masking.log_probabilities(logits, legal_mask), action)
        return -jnp.sum(weight * chosen) / jnp.maximum(jnp.sum(weight), 1e-6)

    def step(params: Params, state: Any, observation: Any, legal: Any, action: Any, weight: Any, rate: Any) -> Any:
        found, gradients = jax.value_and_grad(loss)(params, observation, legal, action, weight)
        direction, state = optimiser.update(gradients, state)
        return jax.tree.map(lambda value, move: value - rate * move, params, direction), state, found

    return jax.jit(step), jax.jit(optimiser.init)


@lru_cache(maxsize=KEPT_PROGRAMS)
def answering(described: str) -> Callable[..., Any]:
    """(parameters, observation, legal mask) → probabilities and values, compiled."""
    network = make_network(json.loads(described))

    def answer(params: Params, observation: Any, legal_mask: Any) -> Any:
        logits, value = network.apply(params, network.prepare(observation, params))
        return masking.probabilities(masking.log_probabilities(logits, legal_mask), legal_mask), value

    return jax.jit(answer)


class AdviceInTraining(Extension):
    """`adviser`, `adviser_settings` and `adviser_coef`."""

    name, needs_host = "adviser", True

    advice: BackgroundAdvice | None = None

    def open(self, trainer: JaxPPOTrainer) -> None:
        AdviserSettings().with_values(self.settings.advice.settings)  # says at once which setting there is not
        chosen = self.settings
        self.imitation = Imitation(trainer.network, chosen.ppo.max_grad_norm, chosen.advice.coef, chosen.seed)

    def updated(self, trainer: JaxPPOTrainer, update: int, losses: Mapping[str, Array]) -> None:
        """Asks about where the games stand now, and learns from what was answered by now; waits for nobody."""
        game = trainer.game
        if not isinstance(game, BatchGame) or trainer.state is None:
            return
        if self.advice is None:
            self._latest = LatestPolicy(OnnxPolicy.from_bytes(trainer.policy_onnx(), LatestPolicy.name))
            chosen, folder = self.settings.advice.settings, trainer.session.run.path
            self.advice = BackgroundAdvice.of(chosen, self._latest, trainer.manifest(), game, folder)
        live, answer = trainer.state, answering(network_text(trainer.network))

        def probabilities(observation: np.ndarray, legal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            chances, values = answer(live.params, observation, legal)
            return np.asarray(chances), np.asarray(values)

        self.advice.look(game, probabilities, trainer.sized().batch_size, update)
        params = self.imitation.learn(live.params, self.advice.demonstrations, trainer.learning_rate())
        trainer.state = live._replace(params=params)

    def metrics(self) -> dict[str, float]:
        return {} if self.advice is None else self.advice.metrics() | {"train/advice_loss": self.imitation.loss}

    def saved(self, trainer: JaxPPOTrainer) -> None:
        if self.advice is not None:
            self.advice.save(training_options(self.settings))
            self._latest.policy = OnnxPolicy.from_bytes(trainer.policy_onnx(), self._latest.name)

    def finished(self, trainer: JaxPPOTrainer) -> None:
        if self.advice is not None:
            self.advice.finish(training_options(self.settings))

    def close(self) -> None:
        if self.advice is not None:
            self.advice.close()
