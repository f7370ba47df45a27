"""Behavioural cloning: the learner's own networks trained to do what a recorded teacher did.

The loss is the masked cross-entropy of the teacher's choice (or of all it may have been, where replays do not tell)
plus the squared error of the value against the return the teacher went on to get, measured in units of the returns'
variance (so that one weight suits every game). Games, not rows, are held out: rows of one game are too much alike to
compare by each other.

A checkpoint of a clone holds the parameters with the lowest validation loss so far (what everybody wants to play or
start from), and in its state where learning stands, so that the same command continues exactly.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.errors import DatasetError, SettingsError
from jimbot.games.functional import from_named_leaves, named_leaves
from jimbot.policies import masking
from jimbot.policies.jax_networks import JaxNetwork, Params
from jimbot.policies.onnx_form import onnx_from_params
from jimbot.policies.portable import with_metadata
from jimbot.policies.reward_transform import transform_reward
from jimbot.runs.checkpoint import Manifest, check_matches, load_checkpoint
from jimbot.training.imitation.batches import Batch, Batches, prefetched
from jimbot.training.imitation.dataset import Dataset
from jimbot.training.imitation.settings import ALGORITHM, CloneSettings
from jimbot.training.init_policy import looked_up
from jimbot.training.jax_ppo.ppo import make_optimiser
from jimbot.training.jax_ppo.program import network_for
from jimbot.training.session.compile_cache import use_compile_cache
from jimbot.training.session.session import Session
from jimbot.training.settings.record import checked_record

_log = logging.getLogger("jimbot.training.clone")

Array = jax.Array
ROWS_PER_EPOCH = 4  # log rows


class CloneState(NamedTuple):
    """All that changes while cloning; what the same command continues from."""

    params: Params
    optimiser: Any
    epoch: Array  # () int32, epochs done
    batch: Array  # () int32, minibatches done of the epoch under way
    best: Params  # with the lowest validation loss so far
    best_loss: Array  # () float32
    worse_epochs: Array  # () int32, epochs since


class Sums(NamedTuple):
    """Sums over rows, from which means are made: scalars of the device, then plain numbers."""

    rows: Any
    policy_loss: Any
    correct: Any
    value_rows: Any
    value_loss: Any  # squared error over the variance of returns


NOTHING = Sums(0.0, 0.0, 0.0, 0.0, 0.0)


class CloneOutcome(NamedTuple):
    """What a call of `clone` leaves behind."""

    run: str
    step: int
    epochs: int
    checkpoint: Path
    metrics: dict[str, float]
    reason: str


def clone_settings(data: Path, given: Mapping[str, Any]) -> CloneSettings:
    """Settings for a dataset: its game and options, then what was given."""
    with Dataset.open(data) as dataset:
        info = dataset.info
        if given.get("targets") == "probabilities" and not info.probabilities:
            raise DatasetError(
                f"Dataset {data} holds no teacher probabilities; record with --probabilities, or leave --targets out."
            )
        own = {"game": info.game, "game_options": info.game_options, "data": data}
        mark = f"{info.policy} {info.created} {info.games} games {info.rows} rows"
        settings = checked_record(CloneSettings, {**given, **own, "dataset": mark})
    if settings.reward_transform == "normalize" or settings.normalize_obs:
        raise SettingsError("A clone has no normalisation (of rewards or observations); leave normalize out.")
    return settings


def clone(settings: CloneSettings, root: Path = Path("runs"), fresh: bool = False, quiet: bool = False) -> CloneOutcome:
    """Trains (or goes on training) a clone of the dataset's teacher."""
    use_compile_cache()
    assert settings.data is not None
    with Dataset.open(settings.data) as dataset, Session.open(settings, root, fresh=fresh, quiet=quiet) as session:
        return Cloner(settings, dataset, session).run()


class Cloner:
    """One call of cloning."""

    def __init__(self, settings: CloneSettings, dataset: Dataset, session: Session) -> None:
        self.settings, self.dataset, self.session = settings, dataset, session
        self.network = network_for(settings, dataset.spec)
        reward = np.asarray(transform_reward(settings.reward_transform, dataset.reward))
        soft = settings.targets == "probabilities"
        self.batches = Batches(dataset, reward, settings.gamma, settings.validation, settings.seed, soft)
        self.batch_size = min(settings.batch_size, self.batches.train_rows)
        self.epoch_batches = self.batches.train_rows // self.batch_size
        self.descend, self.validate = compiled(self.network, settings, self.batches.target_variance)
        self.state = self._initial_state()

    @property
    def step(self) -> int:
        """Decisions learned from."""
        return (int(self.state.epoch) * self.epoch_batches + int(self.state.batch)) * self.batch_size

    def run(self) -> CloneOutcome:
        session, settings = self.session, self.settings
        if start := session.resume_point():
            self._load(start)
            session.resumed(self.step)
            session.view.note(f"Continuing from {start}.", style="cyan")
        total = settings.epochs * self.epoch_batches * self.batch_size
        info = self.dataset.info
        session.view.note(
            f"Cloning '{info.policy}' from {info.games:,} games of {info.game}: {self.batches.train_rows:,} decisions "
            f"to learn from, {self.batches.validation_rows:,} to validate on.",
            style="dim",
        )
        with session.running(self.step, total):
            while not (reason := self._stop_reason(total)):
                self._epoch(total)
            path = self._save()
        session.view.note(f"Cloning stopped: {reason}. Checkpoint: {path}", style="green")
        return CloneOutcome(
            session.run.name, self.step, int(self.state.epoch), path, dict(session.latest_metrics), reason
        )

    def _stop_reason(self, total: int) -> str | None:
        if int(self.state.worse_epochs) >= self.settings.patience:
            return f"no lower validation loss for {self.settings.patience} epochs"
        if int(self.state.batch) >= self.epoch_batches and not self.session.asked_to_stop:
            return None  # all is learned, and not yet validated
        return self.session.stop_reason(self.step, total)

    def _epoch(self, total: int) -> None:
        """One pass, or the rest of one; ends early when the session says stop."""
        session, state = self.session, self.state
        _log.debug("epoch %d begins at decision %d", int(state.epoch) + 1, self.step)
        log_every = max(1, self.epoch_batches // ROWS_PER_EPOCH)
        sums = NOTHING
        source = self.batches.train(int(state.epoch), self.batch_size, skip=int(state.batch))
        with closing(prefetched(source)) as batches:
            for batch in batches:
                params, optimiser, measured = self.descend(
                    self.state.params, self.state.optimiser, batch, self._learning_rate(total)
                )
                done = int(self.state.batch) + 1
                self.state = self.state._replace(params=params, optimiser=optimiser, batch=jnp.int32(done))
                sums = _added(sums, measured)
                session.view.tick(self.step)
                if done % log_every == 0 and done < self.epoch_batches:
                    self._log(sums)
                    sums = NOTHING
                if done < self.epoch_batches and session.checkpoint_due(self.step):
                    self._save()
                if session.stop_reason(self.step, total) and done < self.epoch_batches:
                    return
        self._end_epoch(sums)

    def _end_epoch(self, sums: Sums) -> None:
        if self.session.checkpoint_due(self.step):
            self._save()
        judged: dict[str, float] = {}
        if not self.session.asked_to_stop:
            with self.session.evaluating():
                judged = self._validate()
        if not judged:  # given up: it is saved as it is, and the epoch ends when the run goes on
            return
        loss = judged["clone/validation_loss"]
        better = loss < float(self.state.best_loss)
        state = self.state._replace(epoch=self.state.epoch + 1, batch=jnp.int32(0))
        if better:
            # A copy: the compiled step reuses the memory of the parameters it is given.
            best = jax.tree.map(jnp.copy, state.params)
            state = state._replace(best=best, best_loss=jnp.float32(loss), worse_epochs=jnp.int32(0))
        else:
            state = state._replace(worse_epochs=state.worse_epochs + 1)
        self.state = state
        judged |= {"clone/epoch": float(state.epoch), "clone/best_validation_loss": float(state.best_loss)}
        self._log(sums, judged)
        self._save()

    def _validate(self) -> dict[str, float]:
        sums = NOTHING
        with closing(prefetched(self.batches.validate(self.batch_size))) as batches:
            for batch in batches:
                sums = _added(sums, self.validate(self.state.params, batch))
        return _means(sums, self.settings.vf_coef, "clone/validation_")

    def _log(self, sums: Sums, more: Mapping[str, float] | None = None) -> None:
        metrics = _means(sums, self.settings.vf_coef, "clone/") if sums.rows else {}
        self.session.check_finite(metrics, self.step // self.batch_size, self.step)
        self.session.log(self.step, {**metrics, **(more or {})})

    def _learning_rate(self, total: int) -> float:
        left = max(0.0, 1.0 - self.step / total) if self.settings.anneal_lr else 1.0
        return self.settings.lr * left

    def _initial_state(self) -> CloneState:
        @jax.jit
        def build(params: Params) -> CloneState:
            return CloneState(
                params=params,
                optimiser=make_optimiser(self.settings.max_grad_norm).init(params),
                epoch=jnp.int32(0),
                batch=jnp.int32(0),
                best=jax.tree.map(jnp.zeros_like, params),
                best_loss=jnp.float32(np.inf),
                worse_epochs=jnp.int32(0),
            )

        tables = looked_up(self.network.description, self.dataset.spec.id)
        return build({**self.network.init(self.settings.seed), **tables})

    def _save(self) -> Path:
        """A checkpoint of the best parameters so far (before the first validation: of those there are)."""
        session, spec, state = self.session, self.dataset.spec, self.state
        judged = np.isfinite(float(state.best_loss))
        params = {name: np.asarray(value) for name, value in (state.best if judged else state.params).items()}
        manifest = Manifest.for_game(
            spec,
            game_options=self.settings.game_options,
            learner="jax",
            algorithm=ALGORITHM,
            network=dict(self.network.description),
            step=self.step,
            update=self.step // self.batch_size,
            config=self.settings.flat(),
            metrics={name: value for name, value in session.latest_metrics.items() if value == value},
        )
        model = onnx_from_params(self.network.description, params, spec.observation.size, spec.actions.size)
        path = session.store.save(manifest, with_metadata(model, manifest), params, named_leaves(state))
        session.saved(self.step, path)
        return path

    def _load(self, path: Path) -> None:
        checkpoint = load_checkpoint(path)
        check_matches(checkpoint.manifest, self.dataset.spec, learner="jax", where=path)
        self.state = from_named_leaves(self.state, checkpoint.state(), f"checkpoint {path}")
        self.session.latest_metrics = dict(checkpoint.manifest.metrics)


def compiled(network: JaxNetwork, settings: CloneSettings, target_variance: float) -> tuple[Callable, Callable]:
    """(one gradient step, validation without learning), both compiled."""
    optimiser = make_optimiser(settings.max_grad_norm)

    def measure(params: Params, batch: Batch) -> Sums:
        logits, value = network.apply(params, network.prepare(batch.observation))
        log_probability = masking.log_probabilities(logits, batch.legal_mask)
        if batch.probabilities is not None:
            policy_loss = -jnp.sum(jnp.where(batch.legal_mask, batch.probabilities * log_probability, 0.0), axis=-1)
        elif batch.labels is not None:
            # Nobody saw which of them it was: the chance that it was any of them.
            policy_loss = -jax.nn.logsumexp(jnp.where(batch.labels, log_probability, -jnp.inf), axis=-1)
        else:
            policy_loss = -masking.of_action(log_probability, batch.action)
        value_weight = batch.weight * batch.value_weight
        best = masking.best(log_probability, batch.legal_mask)
        correct = best == batch.action if batch.labels is None else masking.of_action(batch.labels, best)
        return Sums(
            rows=jnp.sum(batch.weight),
            policy_loss=jnp.sum(batch.weight * policy_loss),
            correct=jnp.sum(batch.weight * correct),
            value_rows=jnp.sum(value_weight),
            value_loss=jnp.sum(value_weight * (value - batch.target) ** 2) / target_variance,
        )

    def loss(params: Params, batch: Batch) -> tuple[Array, Sums]:
        sums = measure(params, batch)
        value_loss = sums.value_loss / jnp.maximum(1.0, sums.value_rows)
        return sums.policy_loss / sums.rows + settings.vf_coef * value_loss, sums

    def descend(params: Params, optimiser_state: Any, batch: Batch, lr: Array) -> tuple[Params, Any, Sums]:
        gradients, sums = jax.grad(loss, has_aux=True)(params, batch)
        direction, optimiser_state = optimiser.update(gradients, optimiser_state)
        return jax.tree.map(lambda value, step: value - lr * step, params, direction), optimiser_state, sums

    return jax.jit(descend, donate_argnums=(0, 1)), jax.jit(measure)


def _added(sums: Sums, measured: Sums) -> Sums:
    """Waits for the device, too: running ahead of it would pile up batches in memory."""
    return Sums(*(so_far + float(value) for so_far, value in zip(sums, measured, strict=True)))


def _means(sums: Sums, vf_coef: float, prefix: str) -> dict[str, float]:
    """Loss, accuracy (the teacher's choice found best of the legal ones) and value error, as means over rows.

    `explained_variance` is 1 − squared error / variance of returns.
    """
    policy_loss, value_loss = sums.policy_loss / sums.rows, sums.value_loss / max(1.0, sums.value_rows)
    return {
        f"{prefix}loss": policy_loss + vf_coef * value_loss,
        f"{prefix}policy_loss": policy_loss,
        f"{prefix}value_loss": value_loss,
        f"{prefix}explained_variance": 1.0 - value_loss,
        f"{prefix}accuracy": sums.correct / sums.rows,
    }
