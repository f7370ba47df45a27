"""What guides the first updates of a run, in the compiled update: the policy it starts from (`training.init_policy`),
and a teacher who is asked about the run's own positions (`teacher`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jimbot.policies import masking
from jimbot.policies.jax_networks import JaxNetwork, Params
from jimbot.training.init_policy import frozen_updates, pull_weight
from jimbot.training.jax_ppo.samples import Samples
from jimbot.training.settings.groups import TeacherSettings
from jimbot.training.settings.record import TrainSettings

Array = jax.Array


class Guidance(NamedTuple):
    """What guides one update."""

    pull: Array | None  # () float32, weight of the pull in this update; None: no pull in this run
    reference: Any  # Params of the policy pulled to; () without a pull
    learns: dict[str, Array] | None  # per parameter () bool, whether it may change; None: all, always
    teach: Array | None = None  # () float32, weight of the teacher's answers in this update; None: no teacher


def guidance(settings: TrainSettings, params: Params, reference: Any, update: Array) -> Guidance | None:
    """The guidance of an update by its number; None for runs that have none."""
    pull = learns = None
    if settings.start.init_kl:
        pull = pull_weight(settings, update, jnp)
    if settings.start.value_warmup_updates or settings.start.freeze_trunk_updates:
        learns = {name: update >= frozen_updates(settings, name) for name in params}
    teach = teacher_weight(settings.teacher, update) if settings.teacher.policy else None
    given = any(part is not None for part in (pull, learns, teach))
    return Guidance(pull, reference, learns, teach) if given else None


def teacher_weight(settings: TeacherSettings, update: Any) -> Any:
    """What the teacher's answers weigh in an update: less with every one, and nothing in the end."""
    return settings.coef * jnp.maximum(0.0, 1.0 - update / settings.updates)


def with_reference(network: JaxNetwork, guide: Guidance | None, batch: Samples, pieces: int) -> Samples:
    """The batch with the log-probabilities of the policy pulled to; not computed once the pull has decayed to 0.

    In pieces: what a network computes on its way takes several times the memory of its answer.
    """
    if guide is None or guide.pull is None:
        return batch

    def piece(rows: tuple[Array, Array]) -> Array:
        return masking.log_probabilities(network.apply(guide.reference, rows[0])[0], rows[1])

    def all_of_them() -> Array:
        parts = tuple(values.reshape(pieces, -1, values.shape[-1]) for values in (batch.features, batch.legal_mask))
        return jax.lax.map(piece, parts).reshape(batch.legal_mask.shape)

    nothing = jnp.zeros(batch.legal_mask.shape, jnp.float32)
    return batch._replace(reference=jax.lax.cond(guide.pull > 0, all_of_them, lambda: nothing))


def divergence(reference: Array, log_probability: Array, legal_mask: Array) -> Array:
    """(B,) Kullback-Leibler divergence of the reference from the policy, over legal actions."""
    difference = jnp.where(legal_mask, reference - log_probability, 0.0)
    return jnp.sum(masking.probabilities(reference, legal_mask) * difference, axis=-1)


def only_what_learns(guide: Guidance | None, params: Params, moved: Params) -> Params:
    """Frozen parameters stay bit for bit, while the optimiser goes on measuring their gradients: once they may move,
    their step size is a settled one."""
    if guide is None or guide.learns is None:
        return moved
    return {name: jnp.where(guide.learns[name], moved[name], params[name]) for name in moved}
