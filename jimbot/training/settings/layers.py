"""What a run's settings are made of. Every way to start one comes through here.

Precedence, lowest first:

1. the fields' defaults (`groups`, `record`),
2. what the algorithm usually wants on its learner (`trainer_config.algorithm_defaults`),
3. the preset of the game (`presets/<game>.yaml`); for a run that begins with nothing, and unless `teacher` is none,
   that of its guided start above it; for a run that begins with another policy, that one's network,
4. a settings file (YAML, `--config`),
5. `--set`, flags, or what Python code gives (a mapping, a `TrainSettings`, a `TrainerConfig`, which states every field
   it has).

Last comes what follows from the number of games (`batch`): it changes nothing that 4 or 5 gave.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jimbot.errors import CheckpointError, SettingsError
from jimbot.games.contract import game_entry
from jimbot.policies.networks import DEFAULT_WIDTH
from jimbot.training.init_policy import network_for_clone
from jimbot.training.learners import AUTO, algorithms_of, learner_of
from jimbot.training.presets import guided, preset
from jimbot.training.settings.batch import FIXED, fit_batch, nearest_divisor, sentence
from jimbot.training.settings.names import paths
from jimbot.training.settings.record import DEFAULTS, TrainSettings, checked_settings, merged, read_yaml
from jimbot.training.settings.trainer_config import algorithm_defaults


class Resolved(NamedTuple):
    """Complete settings, and what there is to say about them."""

    settings: TrainSettings
    preset: dict[str, Any]
    """What differs from the fields' defaults because the game's preset says so."""
    notes: list[str]
    """What was derived and why, and what a learner cannot honour; one sentence each."""


def resolve(*given: Mapping[str, Any], root: str | Path = "runs") -> Resolved:
    """The settings of a run that is started with these layers (4 and 5 above), later ones winning.

    `root` is where a run is looked for that this one begins with by name.
    """
    given = (usual_algorithm(merged(*given)), *given)
    meant = checked_settings(merged(*given))  # only to learn which game and learner it will be
    learner = actual_learner(meant)
    game = preset(meant.game, learner, meant.algorithm)
    teaching = guided_start(meant, merged(*given), game, learner)
    started = network_of_start(meant, merged(*given), root)
    game |= teaching | started
    below = merged(algorithm_defaults(meant.algorithm, learner), game)
    chosen = merged(*given, below=below)
    values = merged(below, chosen)
    if meant.algorithm == "PPO" and (places := wanted_places(*given)) is not None:
        usual = checked_settings(values)
        values["num_steps"] = chosen["num_steps"] = steps_for(places, usual)
        if "num_minibatches" not in chosen:  # of the usual size, whatever the buffer
            samples = values["num_steps"] * usual.num_envs
            values["num_minibatches"] = nearest_divisor(samples, max(1, round(samples / usual.minibatch_size)))
    fitted = fit_batch(shared_out(checked_settings(values), chosen, learner), chosen, below)
    if teaching:
        fitted = fitted._replace(settings=in_updates(fitted.settings, teaching, chosen))
    sentences = (
        sentence(fitted),
        gpu_note(fitted.settings, learner),
        guide_note(fitted.settings, teaching),
        start_note(meant, started),
    )
    notes = [note for note in sentences if note]
    used = {name: value for name, value in merged(game).items() if fitted.settings[name] == value != DEFAULTS[name]}
    return Resolved(fitted.settings, used, notes)


TEACHES = "jax"
"""The learner that asks teachers."""
STREAMS = "sb3"
"""The learner that learns from games as they are published."""
SCHEDULES = ("teacher_updates", "teacher_play_updates")


def guided_start(
    meant: TrainSettings, given: Mapping[str, Any], preset: Mapping[str, Any], learner: str
) -> dict[str, Any]:
    """What the preset says about a start with a teacher, where this run is one: from nothing, on a learner that asks
    teachers, of the game as the preset plays it, and not without a teacher by wish."""
    wanted = guided(meant.game) if (learner, meant.algorithm) == (TEACHES, "PPO") else {}
    alone = "teacher" in given and meant.teacher.policy is None
    begun = meant.start.init_from is not None or meant.start.bc_model is not None
    options = meant.game_options
    other = any(options.get(name, value) != value for name, value in preset.get("game_options", {}).items())
    return {} if alone or begun or other else wanted


def in_updates(settings: TrainSettings, teaching: Mapping[str, Any], chosen: Mapping[str, Any]) -> TrainSettings:
    """The teacher's schedules for the batch as it is: they are stated in updates of the guided start's own batch."""
    usual = DEFAULTS | dict(teaching)
    factor = usual["num_envs"] * usual["num_steps"] / settings.batch_size
    changes = {
        name: max(1, round(teaching[name] * factor)) for name in SCHEDULES if name in teaching and name not in chosen
    }
    return settings.model_copy(update=changes)


def guide_note(settings: TrainSettings, teaching: Mapping[str, Any]) -> str:
    if not teaching:
        return ""
    return f"Begins with the answers of '{settings.teacher.policy}'; reinforcement learning alone: --teacher none."


NETWORK = tuple(name for name, path in paths(TrainSettings).items() if path[0] == "network")
"""The settings that say what network a run has."""


def network_of_start(meant: TrainSettings, given: Mapping[str, Any], root: str | Path) -> dict[str, Any]:
    """The network of the policy that a run begins with, unless one was given. A policy that is not there, or of another
    game, is refused where it is loaded."""
    reference = meant.start.init_from or meant.start.bc_model
    if reference is None or any(name in given for name in NETWORK):
        return {}
    from jimbot.training.init_policy import find_start, foreign_tensors, read_policy

    try:
        path = find_start(reference, root)
        if (tensors := foreign_tensors(path)) is not None:
            return network_for_clone(tensors, game_entry(meant.game).spec.actions.size)
        manifest = read_policy(path).manifest
    except CheckpointError:
        return {}
    if manifest.game != meant.game:
        return {}
    network, found = manifest.network, {name: value for name, value in manifest.config.items() if name in NETWORK}
    if network.get("kind") in DEFAULT_WIDTH and len(set(network["hidden"])) == 1:  # also what was widened by hand
        found |= {"hidden_dim": network["hidden"][0], "num_layers": len(network["hidden"])}
    return {**found, "network": network.get("kind", found.get("network")), "normalize_obs": "normalize" in network}


def start_note(meant: TrainSettings, network: Mapping[str, Any]) -> str:
    if not network:
        return ""
    layers = f" {network['hidden_dim']} × {network['num_layers']}" if network.get("hidden_dim") else ""
    return f"The network is that of {meant.start.init_from or meant.start.bc_model}: {network['network']}{layers}."


def usual_algorithm(given: Mapping[str, Any]) -> dict[str, str]:
    """Who names a learner and no algorithm means the learner's own; who learns from a bus, the one that can."""
    learner = given.get("learner", AUTO)
    if "algorithm" in given:
        return {}
    if given.get("from_bus") and learner in (AUTO, STREAMS):
        return {"algorithm": "DQN"}
    if learner == AUTO:
        return {}
    return {"algorithm": algorithms_of(learner)[0]}


def resolve_settings(config: Path | None, given: Mapping[str, Any]) -> TrainSettings:
    """From a settings file and what was given beside it."""
    return resolve(read_yaml(config) if config else {}, given).settings


def complete(settings: TrainSettings) -> TrainSettings:
    """A record as `resolve` would have made it from what was set in it; one that `resolve` made stays as it is."""
    return resolve(settings.flat("python", only_set=True)).settings


def actual_learner(settings: TrainSettings) -> str:
    """`auto` resolved by the algorithm; empty where nobody knows it."""
    return settings.learner if settings.learner != AUTO else learner_of(settings.algorithm) or ""


def wanted_places(*layers: Mapping[str, Any]) -> Any:
    """`buffer_size`, where it is how PPO's batch was chosen: who names num_steps as well (a file of all settings does)
    means DQN's.

    >>> wanted_places({"buffer_size": 4096, "num_steps": 32}, {"replay.buffer_size": 2048})
    2048
    """
    places = None
    for layer in map(merged, layers):
        places = None if "num_steps" in layer else layer.get("buffer_size", places)
    return places


def steps_for(places: Any, settings: TrainSettings) -> int:
    """Steps of each game between two updates, for so many places for the decisions of one side of all games."""
    games = settings.num_envs
    if settings.replay.buffer_size < games:
        raise SettingsError(
            f"buffer_size is {places}, but {games} games are played at once. Give at least {games}, or fewer games "
            "(--num-envs)."
        )
    return settings.replay.buffer_size // games


def shared_out(settings: TrainSettings, chosen: Mapping[str, Any], learner: str) -> TrainSettings:
    """As many games as Ray's processes can share evenly, where nobody chose their number."""
    runners = settings.ray.num_env_runners
    if learner != "ray" or "num_envs" in chosen:
        return settings
    return settings.model_copy(update={"num_envs": runners * max(1, round(settings.num_envs / runners))})


def gpu_note(settings: TrainSettings, learner: str) -> str:
    """Only Ray is given how many GPUs to use."""
    if learner == "ray" or not (settings.ray.num_gpus or settings.ray.num_gpus_per_env_runner):
        return ""
    library = {"jax": "JAX"}.get(learner, "torch")
    return f"num_gpus counts for learner ray only; learner {learner} learns on the one device that {library} finds."


ONLY = {
    "jax": (
        "ent_blocks", "forced_every", "extensions", "teacher", "adviser", "exploration",
        "count_bonus", "strategy_bonus", "keep_games", "batch",
    ),
    "improve": ("plan", "plan_with", "plan_settings"),
    "sb3": ("from_bus",),
}  # fmt: skip


def check_only(settings: TrainSettings, learner: str) -> None:
    """One sentence for a setting that another learner's alone is."""
    for owner, names in ONLY.items():
        for name in names if owner != learner else ():
            if settings[name] != DEFAULTS[name] and not (name == "batch" and settings.batch == FIXED):
                raise SettingsError(
                    f"{name} is {settings[name]}, which only learner {owner} does; this run is on '{learner}'. "
                    f"Leave it out, or use --learner {owner}."
                )
