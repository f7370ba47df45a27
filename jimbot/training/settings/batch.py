"""The batch of an update: how it is chosen (`batch`), what follows from the number of games, and what cannot be.

- `fixed`: exactly as given.
- `fitted`: what nobody gave follows from the number of games, see below.
- `measured`: so does the number of games, from short trials on this machine (`jax_ppo/autotune.py`).
- `growing:16`: fitted, and doubled up to so many times as gradients get noisy (`jax_ppo/extensions/batch_growth.py`).

What the user chose stays as it is. Minibatches and epochs of a preset (or a field default) are meant for its own number
of games; above `LARGE_BATCH_GAMES` games, minibatches grow until each has about `MINIBATCH_SAMPLES` samples, and epochs
go down so that there are as many gradient steps as before, but not below `LEAST_EPOCHS`: rare actions need a second
look. A learning rate that a user or a preset stated is never touched; the field's default is stated for the gradient
steps of the field defaults and goes down where there are more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from jimbot.errors import SettingsError

if TYPE_CHECKING:
    from jimbot.training.settings.record import TrainSettings

FIXED, FITTED, MEASURED, GROWING = "fixed", "fitted", "measured", "growing"
MOST_GROWTH = 1024
LARGE_BATCH_GAMES = 256
MINIBATCH_SAMPLES = 8192
LEAST_EPOCHS = 2
MOST_SAMPLES = 2**28  # of one update


def check_choice(choice: str) -> str:
    """Refuses what is no way to choose a batch.

    >>> check_choice("growing:16")
    'growing:16'
    """
    word, colon, most = choice.partition(":")
    if word == GROWING and colon and most.isdecimal() and 2 <= int(most) <= MOST_GROWTH:
        return choice
    if choice not in (FIXED, FITTED, MEASURED):
        raise ValueError(f"expected {FIXED}, {FITTED}, {MEASURED}, or {GROWING}:2 to {GROWING}:{MOST_GROWTH}")
    return choice


def growth_limit(settings: TrainSettings) -> int:
    """By how much the batch may grow; 1: it stays."""
    word, _, most = settings.batch.partition(":")
    return int(most) if word == GROWING else 1


def choice_of(old: Mapping[str, Any]) -> str | None:
    """The choice that the three settings made which there were before; None where they say nothing.

    >>> choice_of({"autoscale": True, "auto_tune": "false", "grow_batch": 16}), choice_of({"autoscale": False})
    ('growing:16', 'fixed')
    """

    def on(name: str) -> bool:
        return str(old.get(name, False)).lower() not in ("false", "0", "no", "off", "none")

    if on("auto_tune"):
        return MEASURED
    if "grow_batch" in old and str(old["grow_batch"]) != "1":
        return f"{GROWING}:{old['grow_batch']}"
    if "autoscale" in old or "grow_batch" in old:
        return FITTED if on("autoscale") or "autoscale" not in old else FIXED
    return None


class Fitted(NamedTuple):
    """Settings whose batch works out, and what had to change for it."""

    settings: TrainSettings
    changes: list[str]


def fit_batch(settings: TrainSettings, chosen: Collection[str], below: Mapping[str, Any]) -> Fitted:
    """`chosen`: names the user gave; `below`: values stated by the preset and the algorithm, which lie under those."""
    check_size(settings)
    large = settings.batch != FIXED and settings.algorithm == "PPO" and settings.num_envs > LARGE_BATCH_GAMES
    stated, usual = {*chosen, *({"lr"} & below.keys())}, _usual_steps(settings, below)
    fitted, changes = settings, []
    for name, derive in (("num_minibatches", _minibatches), ("update_epochs", _epochs), ("lr", _learning_rate)):
        if name in stated or not (large or derive is _minibatches):
            continue
        value, why = derive(fitted, usual, large)
        if value != fitted[name]:
            changes.append(f"{name} {fitted[name]:g} → {value:g} ({why})")
            fitted = fitted.model_copy(update={name: value})
    check_batch(fitted)
    return Fitted(fitted, changes)


def _minibatches(settings: TrainSettings, usual: int, large: bool) -> tuple[int, str]:
    given = settings.ppo.num_minibatches
    wanted = max(given, round(settings.batch_size / MINIBATCH_SAMPLES)) if large else given
    reason = f"about {MINIBATCH_SAMPLES:,} samples each" if wanted > given else "must divide them"
    return nearest_divisor(settings.batch_size, wanted), reason


def _epochs(settings: TrainSettings, usual: int, large: bool) -> tuple[int, str]:
    fewer = max(LEAST_EPOCHS, round(usual / settings.ppo.num_minibatches))
    return min(settings.ppo.update_epochs, fewer), "fewer passes over more minibatches"


def _learning_rate(settings: TrainSettings, usual: int, large: bool) -> tuple[float, str]:
    lr, steps = settings.ppo.lr, settings.gradient_steps
    return lr * min(1.0, usual / steps), f"{steps} gradient steps instead of {usual}"


def sentence(fitted: Fitted) -> str:
    """What was derived, in one line; nothing where nothing was."""
    settings = fitted.settings
    games = f"{settings.num_envs:,} games × {settings.num_steps:,} steps = {settings.batch_size:,} samples per update"
    return f"{games}: {'; '.join(fitted.changes)}." if fitted.changes else ""


def _usual_steps(settings: TrainSettings, below: Mapping[str, Any]) -> int:
    """Gradient steps per update before anything was chosen or scaled."""
    defaults = type(settings.ppo)()
    minibatches = int(below.get("num_minibatches", defaults.num_minibatches))
    return minibatches * int(below.get("update_epochs", defaults.update_epochs))


def check_size(settings: TrainSettings) -> None:
    """Raises for a batch no machine holds, before anything is counted or allocated."""
    if settings.batch_size > MOST_SAMPLES:
        raise SettingsError(
            f"num_envs {settings.num_envs:,} × num_steps {settings.num_steps:,} are {settings.batch_size:,} samples "
            f"per update; at most {MOST_SAMPLES:,} are possible. Lower one of the two."
        )


def check_batch(settings: TrainSettings) -> None:
    """Raises unless minibatches divide the batch."""
    if settings.batch_size % settings.ppo.num_minibatches:
        near = nearest_divisor(settings.batch_size, settings.ppo.num_minibatches)
        raise SettingsError(
            f"num_minibatches {settings.ppo.num_minibatches} does not divide the batch of {settings.num_envs} games × "
            f"{settings.num_steps} steps = {settings.batch_size} samples. Use for instance {near}."
        )


def nearest_divisor(total: int, wanted: int) -> int:
    """The divisor of `total` nearest to `wanted`, the smaller one of two.

    >>> nearest_divisor(4000, 31), nearest_divisor(12, 5), nearest_divisor(3, 100)
    (32, 4, 3)
    """
    wanted = max(1, min(wanted, total))
    for distance in range(total):
        for number in (wanted - distance, wanted + distance):
            if 1 <= number <= total and total % number == 0:
                return number
    return 1
