"""Checks what a game offers beyond being played: the second half of the contract checker (`checker.py`)."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np

from jimbot.errors import UsageError
from jimbot.games.batch_game import BatchGame
from jimbot.games.entry import GameEntry
from jimbot.games.hooks.learners import Milestones, RareEvent
from jimbot.games.hooks.people import HumanInterface, RecordingForm
from jimbot.games.hooks.programs import InfoMetric, PlainStates
from jimbot.games.seeds import TRAIN, bank_of

STEPS = 20
SCENES = ("cards", "board", "battle", "text")
SMALL_COLUMNS, SMALL_ROWS = 80, 14
"""Of a board on a terminal of 24 rows; the others are for actions, value and keys."""
Require = Callable[[Any, str], None]
"""Raises the sentence unless the condition holds."""


def check_hooks(entry: GameEntry, build: Callable[[int], BatchGame], num_envs: int, require: Require) -> None:
    """Everything an entry declares keeps its word; `build` makes a batch of so many games."""
    for name, metric in entry.info_metrics.items():
        known = metric.stat is None or metric.stat in entry.spec.episode_stats
        require(known, f"InfoMetric '{name}' names the statistic '{metric.stat}', which the game does not have.")
    if entry.milestones is not None:
        with closing(build(num_envs)) as game:
            _check_milestones(entry.milestones, game, require)
    if entry.rare_events is not None:
        with closing(build(num_envs)) as game:
            _check_rare_events(entry.rare_events(), game, require)
    if entry.info_metrics:
        with closing(build(num_envs)) as game:
            _check_info_metrics(dict(entry.info_metrics), game, require)
    if entry.legal_masks is not None:
        with closing(build(num_envs)) as game:
            _check_legal_masks(entry.legal_masks, game, require)
    if entry.recording is not None:
        with closing(build(1)) as game:
            _check_recording(entry.recording, game, require)
    if entry.states is not None:
        with closing(build(1)) as game:
            _check_states(entry.states, game, require)
    if entry.about:
        ends = all(part.strip().endswith((".", "!", ":")) for part in entry.about.strip().split("\n\n"))
        require(ends, "`about` is not in whole sentences.")
    if entry.scene is not None:
        with closing(build(1)) as game:
            _check_scene(entry.scene, game, require)
    if entry.human_interface is not None:
        with closing(build(1)) as game:
            _check_human_interface(entry.human_interface(started(game)), game, require)


def started(game: BatchGame) -> BatchGame:
    game.reset()
    return game


def _played(game: BatchGame, steps: int = STEPS) -> tuple[np.ndarray, np.ndarray]:
    """(before, after): observations around the last of so many random steps in which no game ended."""
    rng = np.random.default_rng(13)
    game.reset()
    before = after = game.observation.copy()
    for _ in range(steps):
        seen = game.observation.copy()
        game.step(np.where(game.legal_mask, rng.random(game.legal_mask.shape), -1.0).argmax(axis=1))
        if not (game.terminated | game.truncated).any():
            before, after = seen, game.observation.copy()
    return before, after


def _check_legal_masks(legal_masks: Callable[[np.ndarray], np.ndarray], game: BatchGame, require: Require) -> None:
    rng = np.random.default_rng(13)
    game.reset()
    for _ in range(STEPS):
        shown = game.acting
        require(
            np.array_equal(legal_masks(game.observation[shown]), game.legal_mask[shown]),
            "legal_masks computes another mask from the observation than the game shows.",
        )
        game.step(np.where(game.legal_mask, rng.random(game.legal_mask.shape), -1.0).argmax(axis=1))


def _check_milestones(milestones: Milestones, game: BatchGame, require: Require) -> None:
    require(game.spec.players == 1, "Milestones are for games of one player.")
    require(milestones.name.isidentifier() and milestones.last >= 1, "Milestones need a one-word name and a last one.")
    _played(game, steps=1)
    reached = np.asarray(milestones.reached(game))
    require(reached.shape == (game.num_rows,), f"Milestones reached have shape {reached.shape}; expected one per row.")
    require((reached >= 1).all(), "Milestones are numbered from 1; a game that has just begun is below that.")
    seeds, observation, reward = game.seeds.copy(), game.observation.copy(), game.reward.copy()
    live = np.flatnonzero(~(game.terminated | game.truncated))
    require(len(live) > 1, "Nearly all games ended with their first step; check with more games.")
    rows, others = live[1::2], live[::2]
    milestones.cut_off(game, rows)
    require(game.truncated[rows].all() and not game.terminated[rows].any(), "A game that was cut off is not truncated.")
    require((game.seeds[rows] != seeds[rows]).all(), "A game that was cut off goes on; its next one must begin.")
    require(all(bank_of(int(seed)) == TRAIN for seed in game.seeds[rows]), "A restart's seed is not of the train bank.")
    require(np.array_equal(game.final_observation[rows], observation[rows]), "cut_off lost the last observation.")
    require(np.isfinite(game.final_stats[rows]).all(), "cut_off left statistics that are not finite.")
    require(np.array_equal(game.reward, reward), "cut_off changed the reward of the step before it.")
    same = np.array_equal(game.observation[others], observation[others]) and (game.seeds[others] == seeds[others]).all()
    require(same, "cut_off changed rows that it was not given.")


def _check_scene(scene: Callable[[BatchGame, int], Any], game: BatchGame, require: Require) -> None:
    """A scene is drawn by page and terminal; small, it leaves room for actions, value and keys on 80 by 24."""
    from jimbot.games.drawing import draw

    for step in _random_steps(game):
        found = scene(game, 0)
        kind = found.get("kind") if isinstance(found, dict) else None
        require(kind in SCENES, f"The scene is of kind {kind!r}; expected one of {', '.join(SCENES)}.")
        try:
            json.dumps(found, allow_nan=False)
        except (TypeError, ValueError) as problem:
            require(False, f"The scene is not ready for JSON: {problem}.")
        lines = _printed(draw(found, small=True))
        require(any(line.strip() for line in lines), f"The scene shows nothing after {step} steps.")
        rows, columns = len(lines), max(map(len, lines))
        require(
            rows <= SMALL_ROWS and columns <= SMALL_COLUMNS,
            f"The scene takes {rows} rows of {columns} columns drawn small after {step} steps; expected at most "
            f"{SMALL_ROWS} of {SMALL_COLUMNS}.",
        )


def _check_rare_events(events: tuple[RareEvent, ...], game: BatchGame, require: Require) -> None:
    names = [event.name for event in events]
    require(len(set(names)) == len(names), "Two rare events have the same name.")
    before, after = _played(game)
    for event in events:
        require(event.boost > 0 and event.keys >= 1, f"Rare event '{event.name}' needs a boost above 0 and a key.")
        rows, keys = event.find(before, after)
        require(len(rows) == len(keys), f"Rare event '{event.name}' found {len(rows)} rows but {len(keys)} keys.")
        inside = (rows < len(before)).all() and (keys >= 0).all() and (keys < event.keys).all()
        require(inside, f"Rare event '{event.name}' found a row or key that does not exist.")


def _check_info_metrics(metrics: dict[str, InfoMetric], game: BatchGame, require: Require) -> None:
    _played(game, steps=1)
    for name, metric in metrics.items():
        value = metric.read(game, 0)
        require(isinstance(value, bool | int | float), f"InfoMetric '{name}' is {value!r}; expected a plain number.")


def _check_recording(form: RecordingForm, game: BatchGame, require: Require) -> None:
    """A game that was written down is read back as the same text, and plays again."""
    game.reset()
    recorder, total = form.begin(game), 0.0
    rng = np.random.default_rng(17)
    for _ in range(STEPS):
        action = int(np.where(game.legal_mask, rng.random(game.legal_mask.shape), -1.0).argmax(axis=1)[0])
        recorder.note(action)
        game.step(np.array([action]))
        total += float(game.reward[0])
        if game.terminated[0] or game.truncated[0]:
            break
    written = recorder.finish(total)
    read = form.read(written.to_json(), "The recording")
    require(read.to_json() == written.to_json(), "A recording is not read back as it was written.")
    require(read.game == game.spec.id, f"A recording says it is of game '{read.game}'.")
    require(read.title().strip() and len(list(read.lines())) == read.count + 1, "A recording lacks a line for a move.")
    require(list(read.picture(read.count)), "A recording shows nothing after its last move.")
    require(read.document(None), "A recording has no document.")


def _check_human_interface(interface: HumanInterface, game: BatchGame, require: Require) -> None:
    """A person is shown what can be typed, a move is legal or refused in a sentence, and nothing but `step` moves."""
    require(interface.how.strip(), "A human interface does not say how moves are typed.")
    _messages(interface, False, require)
    for step in _random_steps(game):
        _messages(interface, bool(game.terminated[0] | game.truncated[0]), require)
        require(
            any(line.strip() for line in _printed(interface.choices())),
            f"A human interface offers nothing after {step} steps.",
        )
        seen = game.observation.copy()
        for text in ("1", "1 2", "no move at all", "", "99999999999999999999"):
            try:
                actions = interface.actions(text)
            except UsageError as refusal:
                require(str(refusal).strip(), f"A human interface refuses {text!r} without a word.")
            else:
                legal = bool(actions) and bool(game.legal_mask[0, actions[0]])
                require(legal, f"A human interface reads {text!r} as an illegal move after {step} steps.")
        require(
            np.array_equal(game.observation, seen), "A human interface changes the game while it reads what was typed."
        )


def _messages(interface: HumanInterface, ended: bool, require: Require) -> None:
    sentences = interface.messages(ended)
    require(all(isinstance(one, str) for one in sentences), "A human interface tells something that is no text.")


def _random_steps(game: BatchGame, steps: int = STEPS) -> Iterator[int]:
    """Before the first and after each of so many random steps: how many there were."""
    rng = np.random.default_rng(19)
    game.reset()
    for step in range(steps):
        yield step
        game.step(np.where(game.legal_mask, rng.random(game.legal_mask.shape), -1.0).argmax(axis=1))


def _printed(shown: Any) -> list[str]:
    """The lines something takes on a small terminal."""
    from rich.console import Console

    paper = io.StringIO()
    Console(file=paper, width=SMALL_COLUMNS, color_system=None).print(shown)
    return [line.rstrip() for line in paper.getvalue().splitlines()] or [""]


def _check_states(states: PlainStates, game: BatchGame, require: Require) -> None:
    """A state written and read again, through JSON as it travels, shows its player the same."""
    rng = np.random.default_rng(15)
    visible = np.ones(game.spec.observation.size, bool)
    for name in states.guessed:
        visible[game.spec.observation.span(name)] = False
    game.reset()
    for step in range(STEPS):
        if game.acting[0]:
            sight = states.read(json.loads(json.dumps(states.write(game, 0))), getattr(game, "options", None))
            same = np.allclose(sight.observation[visible], game.observation[0][visible], atol=1e-6)
            require(same, f"A state by keys read back shows another observation after {step} steps.")
            require((sight.legal_mask == game.legal_mask[0]).all(), f"… and another mask after {step} steps.")
        game.step(np.where(game.legal_mask, rng.random(game.legal_mask.shape), -1.0).argmax(axis=1))
