"""Short ways to an environment and to log lines, for scripts.

`validate_environment` plays an environment and says in sentences what is wrong. Gymnasium's `check_env` looks at the
form; this looks at what spoils learning without ever failing: masks that are missing, empty or lying, numbers that are
not finite, games that do not repeat under their seed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Dict, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from jimbot.envs import make_env, make_vector_env
from jimbot.envs.gymnasium_env import GameEnv
from jimbot.errors import UsageError
from jimbot.logs import setup_logging
from jimbot.training.env_wrapper import masks_method

MASK = "action_mask"


def validate_environment(env: Any, steps: int = 200, seed: int = 0, quiet: bool = False) -> list[str]:
    """Prints (unless `quiet`) and returns what is wrong with a Gymnasium environment, one sentence each.

    Plays `steps` random legal steps twice under the same seed. Each kind of problem is named once, where it first
    appeared.

    >>> from jimbot.envs import make_env
    >>> validate_environment(make_env("probe"), steps=20)
    Nothing is wrong with GameEnv in 20 steps.
    []
    """
    problems = _problems(env, steps, seed)
    if not quiet:
        nothing = f"Nothing is wrong with {type(env).__name__} in {steps} steps."
        print("\n".join(problems) or nothing)
    return problems


def _problems(env: Any, steps: int, seed: int) -> list[str]:
    form = list(_form_problems(env))
    if form:
        return form  # without spaces there is nothing to play
    first, problems = _play(env, steps, seed)
    again, _ = _play(env, steps, seed)
    for step, (before, after) in enumerate(zip(first, again, strict=False)):
        different = [name for name in before if not _equal(before[name], after.get(name))]
        if different:
            names = " and ".join(different)
            problems["determinism"] = (
                f"Two runs with seed {seed} and the same actions differ in {names} {_when(step)}: some randomness does "
                "not come from the seed given to reset."
            )
            break
    return list(problems.values())


def _form_problems(env: Any) -> Iterator[str]:
    if not isinstance(env, gymnasium.Env):
        yield f"This is a {type(env).__name__}, not a gymnasium.Env; derive it from that class or wrap it."
        return
    if getattr(env, "observation_space", None) is None:
        yield "The environment has no observation_space; set it in __init__."
    if not isinstance(getattr(env, "action_space", None), Discrete):
        found = type(getattr(env, "action_space", None)).__name__
        yield f"action_space is {found}; expected Discrete, which is what masks are about."


def _play(env: gymnasium.Env, steps: int, seed: int) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Random legal play: what was seen at every step, and the problems by kind."""
    rng = np.random.default_rng(seed)
    seen: list[dict[str, Any]] = []
    problems: dict[str, str] = {}

    def note(kind: str, sentence: str) -> None:
        problems.setdefault(kind, sentence)

    answer = env.reset(seed=seed)
    if not isinstance(answer, tuple) or len(answer) != 2 or not isinstance(answer[1], dict):
        note("reset", f"reset returned a {type(answer).__name__}; expected the pair (observation, info dict).")
        return seen, problems
    observation, info = answer
    for step in range(steps + 1):
        for kind, sentence in _observation_problems(env.observation_space, observation, _when(step)):
            note(kind, sentence)
        mask = _mask(env, observation, info, _when(step), note)
        seen.append({"observation": observation, "mask": mask})
        if step == steps:
            break
        action = int(rng.choice(np.flatnonzero(mask)))
        try:
            observation, reward, terminated, truncated, info = env.step(action)
        except Exception as problem:
            note(
                "step", f"Action {action}, legal by the mask, raised {type(problem).__name__} {_when(step)}: {problem}"
            )
            break
        for kind, sentence in _outcome_problems(reward, terminated, truncated, _when(step + 1)):
            note(kind, sentence)
        seen[-1]["reward"] = reward
        if terminated or truncated:
            observation, info = env.reset()
    return seen, problems


def _observation_problems(space: gymnasium.Space, observation: Any, when: str) -> Iterator[tuple[str, str]]:
    if isinstance(space, Dict) and isinstance(observation, dict):
        if observation.keys() != space.spaces.keys():
            yield "keys", f"The observation has {sorted(observation)} {when}; its space says {sorted(space.spaces)}."
            return
        for name, part in space.spaces.items():
            yield from _observation_problems(part, observation[name], when)
        return
    if not isinstance(observation, np.ndarray):
        yield "type", f"The observation is a {type(observation).__name__} {when}; expected a NumPy array."
        return
    if observation.dtype != space.dtype:
        yield "dtype", f"The observation is {observation.dtype} {when}; its space says {space.dtype}."
    if observation.shape != space.shape:
        yield "shape", f"The observation has shape {observation.shape} {when}; its space says {space.shape}."
        return
    wrong = ~np.isfinite(observation) if np.issubdtype(observation.dtype, np.floating) else np.zeros(1, bool)
    if wrong.any():
        place = tuple(int(number) for number in np.argwhere(wrong)[0])
        yield "finite", f"The observation holds {observation[place]} at {place} {when}; every number must be finite."
    elif observation.dtype == space.dtype and not space.contains(observation):
        yield "bounds", f"The observation leaves the bounds of its space {when}."


def _outcome_problems(reward: Any, terminated: Any, truncated: Any, when: str) -> Iterator[tuple[str, str]]:
    if not isinstance(reward, int | float | np.integer | np.floating):
        yield "reward type", f"The reward is a {type(reward).__name__} {when}; expected one number."
    elif not np.isfinite(float(reward)):
        yield "reward", f"The reward is {reward} {when}; it must be finite."
    for name, value in (("terminated", terminated), ("truncated", truncated)):
        if not isinstance(value, bool | np.bool_):
            yield name, f"{name} is a {type(value).__name__} {when}; expected a bool."


def _mask(env: gymnasium.Env, observation: Any, info: dict[str, Any], when: str, note: Any) -> np.ndarray:
    """The mask to go on with: what the environment gives, or all actions where that cannot be used."""
    size = int(env.action_space.n)  # ty: ignore[missing-attribute]
    sources = {"info['action_mask']": info.get(MASK)}
    method = masks_method(env)
    if method is not None:
        sources["action_masks()"] = method()
    if isinstance(observation, dict):
        sources["observation['action_mask']"] = observation.get(MASK)
    given = {name: np.asarray(value) for name, value in sources.items() if value is not None}
    if not given:
        note(
            "no mask",
            f"There is no mask {when}: neither info['action_mask'] nor the method action_masks(). "
            "Without one a learner must find out by itself what is legal.",
        )
        return np.ones(size, bool)
    for name, mask in given.items():
        if mask.shape != (size,):
            note("mask shape", f"{name} has shape {mask.shape} {when}; expected ({size},), one per action.")
        elif mask.dtype not in (np.bool_, np.int8):
            note("mask dtype", f"{name} is {mask.dtype} {when}; expected bool (or int8 of 0 and 1).")
        elif not mask.any():
            note("mask empty", f"{name} is all false {when}; at least one action must always be legal.")
    usable = {name: mask.astype(bool) for name, mask in given.items() if mask.shape == (size,) and mask.any()}
    if not usable:
        return np.ones(size, bool)
    (name, mask), *others = usable.items()
    for other, second in others:
        if not np.array_equal(mask, second):
            note("mask conflict", f"{name} and {other} disagree {when}; both must be the mask of this moment.")
    return mask


def _when(step: int) -> str:
    return "after reset" if step == 0 else f"at step {step}"


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, dict):
        return isinstance(right, dict) and all(_equal(left[name], right.get(name)) for name in left)
    return bool(np.array_equal(left, right, equal_nan=np.asarray(left).dtype.kind == "f"))


__all__ = ["create_balatro_env", "make_vectorized_env", "setup_logging", "validate_environment"]


def create_balatro_env(seed: int | None = None, **options: Any) -> GameEnv:
    """One game of Balatro as a Gymnasium environment. A `seed` decides all its games; `options` are the game's."""
    env = make_env("balatro", **options)
    if seed is not None:
        env.reset(seed=seed)
    return env


def make_vectorized_env(fn: Callable[[], gymnasium.Env], n_envs: int = 8) -> VectorEnv:
    """`n_envs` games of what `fn` makes, restarting by themselves in the step that ends them.

    A bare environment of ours becomes one batch of games, stepped by one call; anything else is stepped one by one. If
    `fn` seeds its environment, the batch starts the same games every time.

    >>> from jimbot.envs import make_env
    >>> make_vectorized_env(lambda: make_env("probe"), n_envs=4)
    GameVectorEnv(num_envs=4)
    """
    if n_envs < 1:
        raise UsageError(f"n_envs is {n_envs}; expected at least 1 environment.")
    first = fn()
    if isinstance(first, GameEnv):
        first.close()
        envs = make_vector_env(first.game_spec.id, n_envs, **first.making)
        if first.given_seed is not None:
            envs.reset(seed=first.given_seed)
        return envs
    logging.getLogger("jimbot").info(
        "%s is stepped one environment at a time; a bare environment of ours would be one batch.", type(first).__name__
    )
    makers = [lambda: first, *[fn] * (n_envs - 1)]
    return SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP)
