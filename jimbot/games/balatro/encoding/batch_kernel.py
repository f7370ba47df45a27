"""Many games in one compiled call: the only kernel that learners and evaluation run.

`work` does one task for a slice of rows, without the GIL, an allocation or a Python object per game. Every kernel
called from Python is a program of its own, compiled with all the rules below it, so there is one with a task number
instead of one per task.

Seeds. A seed number 0 ≤ n < 35^8 is the real game's seed written in base 35 with the digits 1-9, A-Z: 0 is 11111111.
A 64-bit seed stands for its remainder. Restarts draw numbers of the train bank below 35^8 only, and the judging banks
are counted from 0 upwards: no text that judges is ever trained on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.encoding import action_table, insight, observation, rewards
from jimbot.games.balatro.rules import decisions, hidden, integrity
from jimbot.games.balatro.rules.chance.streams import SEED_COUNT, set_seed_number
from jimbot.games.balatro.rules.state import GAME_OVER, NOTHING, WON
from jimbot.games.seeds import FIRST_TRAIN_RESIDUE

START, RESTART, STEP, LOOK, REDRAW, CHECK, ROAM, REPLAY = range(8)  # tasks

# `settings`
SETTINGS = ("challenge", "endless", "helpers", "insight", "step_limit", "look", "seed_length", "turns")
_CHALLENGE, _ENDLESS, _HELPERS, _INSIGHT, _STEP_LIMIT, LOOKING, _SEED_LENGTH, TURNS = range(len(SETTINGS))


class Arrays(NamedTuple):
    """Everything `work` reads and writes; rows are games."""

    settings: np.ndarray  # int64, see SETTINGS
    decks: np.ndarray  # (k,) int64, of which every game has one
    stakes: np.ndarray  # (k,) int64
    seed_text: np.ndarray  # (8,) uint8, for a fixed text seed
    weights: np.ndarray  # (K,) float64 of the reward terms
    discount: float  # of the potential that shapes rewards
    scratch: np.ndarray  # (workers,) working spaces
    memory: np.ndarray  # (workers, M) float64, what rewards remember of the state before a step
    games: np.ndarray  # (N,) records
    streams: np.ndarray  # (N,) int64, where a row's restart seeds come from
    episodes: np.ndarray  # (N,) int64, restart seeds drawn so far
    seeds: np.ndarray  # (N,) uint64, being played
    points: np.ndarray  # (N,) float64, scored by all hands of the run so far
    actions: np.ndarray  # (N,) int64
    hold: np.ndarray  # (N,) bool, rows to leave alone
    faults: np.ndarray  # (N,) int64, what CHECK found
    advanced: np.ndarray  # (N,) int64, moves of ROAM that were no choosing, grabbing or reordering
    plan: np.ndarray  # (N, turns) int64, the actions REPLAY takes
    observation: np.ndarray
    legal_mask: np.ndarray
    reward: np.ndarray
    reward_terms: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    final_observation: np.ndarray
    final_stats: np.ndarray


# --- seeds ---

_WORD = 0xFFFFFFFF
_DECK_SALT, _STAKE_SALT = 0x5BD1E995, 0x7FEB352D  # so that neither goes with the other, nor with the bank


@njit
def _times(word, factor):
    """A product of 32-bit words, in numbers that never overflow 64 bits."""
    return ((((word * (factor >> 16)) & 0xFFFF) << 16) + word * (factor & 0xFFFF)) & _WORD


@njit
def _mix(word):
    """`jimbot.games.seeds.mix32` in int64."""
    word = _times(word ^ (word >> 16), 0x7FEB352D)
    word = _times(word ^ (word >> 15), 0x846CA68B)
    return word ^ (word >> 16)


@njit
def bank_residue(number):
    """`jimbot.games.seeds.residue` of a seed number."""
    return _mix((number & _WORD) ^ _mix((number >> 32) ^ 0x9E3779B9)) % 100


@njit
def train_number(stream, episode):
    """The seed number of a row's episode: drawn, then moved on past judging seeds."""
    high = _mix((stream >> 32) ^ _mix(episode & _WORD))
    low = _mix((stream & _WORD) ^ _mix(high ^ (episode >> 32)))
    number = ((high << 31) ^ low) % SEED_COUNT
    while bank_residue(number) < FIRST_TRAIN_RESIDUE:
        number = (number + 1) % SEED_COUNT
    return number


# --- tasks ---


@njit
def _drawn(choices, number, salt):
    """What the game of a seed number has of several choices: the same whenever that seed is played."""
    return choices[_mix((number & _WORD) ^ _mix((number >> 32) ^ salt)) % len(choices)]


@njit
def _start(b, s, row, number):
    g = b.games[row]
    length = b.settings[_SEED_LENGTH]
    if length > 0:
        for place in range(8):
            g.seed[place] = b.seed_text[place]
        g.seed_length = length
    else:
        set_seed_number(g, number)
    g.deck = _drawn(b.decks, number, _DECK_SALT)
    g.stake = _drawn(b.stakes, number, _STAKE_SALT)
    g.challenge = b.settings[_CHALLENGE]
    g.endless = b.settings[_ENDLESS] != 0
    b.points[row] = 0.0
    decisions.start(g, s)


@njit
def _restart(b, s, row):
    number = train_number(b.streams[row], b.episodes[row])
    b.episodes[row] += 1
    b.seeds[row] = np.uint64(number)
    _start(b, s, row, number)


@njit
def _observe(b, s, g, out):
    observation.write(g, s, b.settings[_HELPERS] != 0, out)
    if b.settings[_INSIGHT] != 0:
        insight.write(g, s, b.settings[_INSIGHT], out)


@njit
def _look(b, s, row):
    if b.settings[LOOKING] != 0:
        g = b.games[row]
        _observe(b, s, g, b.observation[row])
        action_table.write_mask(g, b.legal_mask[row])


@njit
def _rest(b, row):
    """A row in which nothing happens."""
    b.reward[row] = 0.0
    b.terminated[row] = False
    b.truncated[row] = False
    for term in range(b.weights.shape[0]):
        b.reward_terms[row, term] = 0.0


@njit
def _step(b, s, memory, row):
    g = b.games[row]
    rewards.remember(g, memory)
    score = g.score
    action_table.take(g, s, b.actions[row])
    b.points[row] += rewards.points_gained(g, score)
    terminated = g.phase == GAME_OVER or g.phase == WON
    truncated = not terminated and g.steps >= b.settings[_STEP_LIMIT]
    terms = b.reward_terms[row]
    rewards.write(g, memory, terminated, b.weights, b.discount, terms)
    total = 0.0
    for term in range(terms.shape[0]):
        total += terms[term]
    b.reward[row] = total
    b.terminated[row] = terminated
    b.truncated[row] = truncated
    if terminated or truncated:
        rewards.write_stats(g, b.points[row], b.final_stats[row])
        if b.settings[LOOKING] != 0:
            _observe(b, s, g, b.final_observation[row])
        _restart(b, s, row)


@njit
def _random_legal(b, row, drawn):
    """One of the legal actions of a row, each as likely."""
    legal = 0
    for action in range(b.legal_mask.shape[1]):
        legal += b.legal_mask[row, action]
    wanted = drawn % legal
    for action in range(b.legal_mask.shape[1]):
        if b.legal_mask[row, action]:
            if wanted == 0:
                return action
            wanted -= 1
    return 0


@njit
def _roam(b, s, memory, row):
    """Plays random legal actions, the last look apart."""
    g = b.games[row]
    for turn in range(b.settings[TURNS]):
        drawn = _mix((b.streams[row] & _WORD) ^ _mix(g.steps ^ _mix(b.episodes[row] & _WORD)))
        b.actions[row] = _random_legal(b, row, drawn)
        _step(b, s, memory, row)
        b.advanced[row] += g.selected == 0 and g.grabbed == NOTHING and g.reorderings == 0
        if turn + 1 < b.settings[TURNS]:
            _look(b, s, row)


@njit
def _replay(b, s, memory, row):
    """Takes actions that were legal when they were recorded; nothing is looked at in between."""
    for turn in range(b.plan.shape[1]):
        b.actions[row] = b.plan[row, turn]
        _step(b, s, memory, row)


@njit
def work(task, b, worker, first, last):
    """Does a task for rows first..last-1 that are not held; `worker` has its own working space."""
    s = b.scratch[worker]
    memory = b.memory[worker]
    for row in range(first, last):
        if task == CHECK:
            b.faults[row] = integrity.find_fault(b.games[row])
            continue
        if task == STEP:
            # An action outside the mask has been counted by the caller and must not reach the rules.
            if b.hold[row] or not b.legal_mask[row, b.actions[row]]:
                _rest(b, row)
                continue
            _step(b, s, memory, row)
        elif b.hold[row]:
            continue
        elif task == ROAM:
            _roam(b, s, memory, row)
        elif task == REPLAY:
            _replay(b, s, memory, row)
        elif task == START:
            _rest(b, row)
            _start(b, s, row, np.int64(b.seeds[row] % np.uint64(SEED_COUNT)))
        elif task == RESTART:
            _rest(b, row)
            _restart(b, s, row)
        elif task == REDRAW:
            hidden.redraw(b.games[row], np.int64(b.seeds[row] % np.uint64(SEED_COUNT)))
        _look(b, s, row)
