"""One step of HackMatrix, for one game and for a whole batch with automatic restarts.

`_play` is the step itself, written batch-last and shared by both. New boards (a completed stage or a restarted game)
are needed by few games at a time: `play_batch` generates them for a small group of games per trip of a loop that does
not run at all when no game needs one.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.games.contract import FunctionalGame, Transition
from jimbot.games.hackmatrix import board, spec
from jimbot.games.hackmatrix import history as past
from jimbot.games.hackmatrix.actions import aim, legal_mask, legal_word, walk
from jimbot.games.hackmatrix.draws import HIDDEN, Draws, below, draw_step, words
from jimbot.games.hackmatrix.enemies import enemy_turn
from jimbot.games.hackmatrix.helpers import helpers
from jimbot.games.hackmatrix.observe import observe
from jimbot.games.hackmatrix.programs import run_programs
from jimbot.games.hackmatrix.rewards import PRESETS, Events
from jimbot.games.hackmatrix.scene import describe
from jimbot.games.hackmatrix.settle import settle
from jimbot.games.hackmatrix.siphon import missed_by, siphon
from jimbot.games.hackmatrix.spec import Options
from jimbot.games.hackmatrix.stages import FIRST_INTERVAL, generate, opening, start_game
from jimbot.games.hackmatrix.state import (
    ENEMY,
    HIDDEN_DATA,
    HIDDEN_PROGRAM,
    PROGRAM,
    SLOTS,
    TRANSMISSION,
    Cell,
    Entity,
    State,
    batch_first,
    batch_last,
    boards,
    pack,
    unpack,
)

GROUP = 32
"""Boards generated together in one trip of the loop in `play_batch`."""


class HackMatrix(FunctionalGame[State]):
    """The game as pure functions; see `jimbot.games.contract.FunctionalGame`."""

    def __init__(self, options: Options = Options()) -> None:
        self.options = options
        self.settings = options.settings
        self.spec = spec.SPEC.under(options)
        self._rewards = PRESETS[options.reward]

    def init(self, seed: Any) -> State:
        return start_game(seed, self.options.starts)._replace(history=self._no_history())

    def init_batch(self, seeds: Any) -> State:
        return batch_first(start_game(jnp.moveaxis(seeds, 0, -1), self.options.starts), self._no_history(len(seeds)))

    def step(self, state: State, action: Any, draws: Draws | None = None) -> tuple[State, Transition]:
        """One action. `draws` replaces the random words of everything but stage generation (see `draws`)."""
        after, history, transition, advances = self._play(state._replace(history=None), state.history, action, draws)
        after = jax.lax.cond(advances, generate, lambda state: state, after)
        return after._replace(history=history), transition

    def step_batch(self, state: State, actions: Any, draws: Draws | None = None) -> tuple[State, Transition]:
        """`step` for N games at once, without restarts; `draws` is batch last like everything the rules see."""
        after, history, transition, advances = self._play(batch_last(state), state.history, actions, draws)
        after, _ = renew(after, advances, advances & False, jnp.zeros((2, len(actions)), jnp.uint32), 0.0)
        return batch_first(after, history), _batch_first(transition)

    def play_batch(self, state: State, actions: Any, restart_seeds: Any) -> tuple[State, Transition, State]:
        after, history, transition, advances = self._play(batch_last(state), state.history, actions, None)
        transition = _batch_first(transition)
        ended = transition.terminated | transition.truncated
        after, final = renew(after, advances, ended, jnp.moveaxis(restart_seeds, 0, -1), self.options.starts)
        return batch_first(after, history), transition, batch_first(final, history)

    def observe(self, state: State) -> Any:
        seen = observe(state)
        return jnp.concatenate([seen, helpers(state._replace(history=None))]) if self.options.helpers else seen

    def observe_batch(self, state: State) -> Any:
        seen = observe(state)
        return jnp.concatenate([seen, helpers(batch_last(state)).T], -1) if self.options.helpers else seen

    def legal_mask(self, state: State) -> Any:
        return legal_mask(legal_word(state, boards(state)))

    def legal_mask_batch(self, state: State) -> Any:
        return self.legal_mask(batch_last(state))

    def redraw_hidden(self, state: State, seed: Any) -> State:
        return redraw_hidden(state, seed)

    def describe(self, state: State) -> str:
        return describe(state)

    def _no_history(self, *batch: int) -> Any:
        return jnp.zeros((*batch, self.settings.history_length, past.SNAPSHOT), jnp.int32)

    def _play(self, state: State, history: Any, action: Any, draws: Draws | None) -> tuple[State, Any, Transition, Any]:
        """The step up to, but not including, the new board of a completed stage.

        Takes the state batch last and the history batch first; also returns which games need that board.
        """
        settings = self.settings
        before, around = state, boards(state)
        legal = ((legal_word(state, around) >> action) & 1) == 1
        action = jnp.where(legal, action, -1)
        draws = draw_step(state.key) if draws is None else draws

        state = past.undo(state, history, action == spec.UNDO)
        shoots_or_walks = (action >= spec.UP) & (action <= spec.RIGHT)
        target = aim(state, action, shoots_or_walks, around)
        missed = missed_by(state, action == spec.SIPHON, around)
        state = siphon(state, action == spec.SIPHON, around)
        state, effect = run_programs(state, action, target, around, draws)
        state, picked_up, on_exit = walk(state, action, target.walks)
        completed = on_exit | (effect.warped & (state.player == state.exit))
        old_distance, new_distance = exit_distances(before, state)

        ends_turn = shoots_or_walks | (action == spec.SIPHON) | (action == spec.WAIT)
        state, turned = enemy_turn(state, ends_turn & ~completed, draws)
        history, top, size = past.push(
            history, state.history_top, state.history_size, turned, jnp.moveaxis(past.snapshot(state), 0, -1)
        )
        won = completed & (state.stage == spec.STAGES)
        advances = completed & ~won
        stage = state.stage + advances
        if not settings.history_crosses_stages:
            size = jnp.where(advances, 0, size)
        state = state._replace(
            key=jnp.where(legal, draws.key, state.key),
            hp=jnp.where(completed, jnp.minimum(spec.MAX_HP, state.hp + 1), state.hp),
            stage=stage,
            interval=jnp.where(advances, FIRST_INTERVAL + 1 - stage, state.interval),
            steps=state.steps + legal,
            history_top=top,
            history_size=size,
        )
        state = settle(state, by=action)
        died = legal & (state.hp <= 0)
        events = Events(
            legal, action, effect.kills, picked_up, completed, won, died, old_distance, new_distance, missed
        )
        terminated = won | died | (~legal & settings.illegal_action_ends)
        truncated = ~terminated & legal & (settings.step_limit > 0) & (state.steps >= settings.step_limit)
        stats = jnp.stack([state.stage, state.score, won.astype(jnp.int32), state.stage]).astype(jnp.float32)
        terms = self._rewards(before, state, events, settings)
        return state, history, Transition(terms, terminated, truncated, stats), advances


def _batch_first(transition: Transition) -> Transition:
    return transition._replace(reward_terms=transition.reward_terms.T, stats=transition.stats.T)


def exit_distances(*states: State) -> Any:
    """Steps from the player to the exit coordinates around blocks, 0 if there is no way; one row per state."""

    def stacked(sets: list[board.Bits]) -> board.Bits:
        return board.Bits(jnp.stack([one.lo for one in sets]), jnp.stack([one.hi for one in sets]))

    return board.steps_between(
        stacked([board.bit(state.player) for state in states]),
        stacked([board.bit(state.exit) for state in states]),
        stacked([board.from_mask(~Cell.is_block(state.cells)) for state in states]),
    )


def renew(state: State, advances: Any, ended: Any, seeds: Any, starts: float) -> tuple[State, State]:
    """New boards where a stage was completed, new games where one ended (all batch last, seeds (2, N)).

    Also returns the state before restarts. A game that was cut off in the very step that completed a stage needs
    both: the board of the next stage for its last observation, then a new game.
    """
    (games,) = jnp.shape(ended)
    group = min(GROUP, games)
    numbers = np.arange(games)

    def pending(carry: Any) -> Any:
        return jnp.any(carry[0] | carry[1])

    def renew_some(carry: Any) -> Any:
        advancing, restarting, words, final = carry
        waiting = advancing | restarting
        rank = jnp.cumsum(waiting) - 1
        chosen = waiting & (rank < group)
        index = jnp.where((rank == np.arange(group)[:, None]) & chosen, numbers, 0).sum(1)
        restart = ~advancing[index]
        old, new = unpack(words[:, index]), opening(seeds[:, index], starts)
        made = pack(generate(jax.tree.map(lambda a, b: jnp.where(restart, a, b), new, old)))
        words = jnp.where(chosen, made[:, jnp.clip(rank, 0, group - 1)], words)
        advanced = chosen & advancing
        final = jnp.where(advanced & restarting, words, final)
        return advancing & ~chosen, restarting & (advanced | ~chosen), words, final

    words = pack(state)
    _, _, words, final = jax.lax.while_loop(pending, renew_some, (advances, ended, words, words))
    return unpack(words), unpack(final)


# --- re-dealing what the player cannot know ---


_SPAWN = np.array([program.spawn for program in spec.PROGRAMS], np.int32)


@jax.jit
def redraw_hidden(state: State, seed: Any) -> State:
    """One game with everything hidden drawn anew from a (2,) uint32 seed; its observation stays the same."""
    kind = Entity.kind.of(state.entities)
    type_words, contents, places, key = words(seed, HIDDEN, SLOTS, 2 * spec.CELLS, SLOTS, 2)
    types = (type_words & np.uint32(3)).astype(jnp.int32)
    entities = jnp.where(kind == TRANSMISSION, Entity.type.put(state.entities, types), state.entities)
    state = state._replace(entities=entities, cells=_redraw_questions(state.cells, contents))
    return state._replace(entities=_move_cryptogs(state, places), key=key)


def _redraw_questions(cells: Any, drawn: Any) -> Any:
    """Question blocks as if just generated: data or a program that no visible block of the stage holds."""
    content, value, spawn = Cell.content.of(cells), Cell.value.of(cells), Cell.spawn.of(cells)
    question = content >= HIDDEN_DATA
    visible = jnp.where(content == PROGRAM, jnp.int32(1) << value, 0)
    used = jax.lax.reduce(visible, jnp.int32(0), jax.lax.bitwise_or, (0,))
    costs = jnp.asarray(_SPAWN)
    full = jnp.where(content == HIDDEN_PROGRAM, costs[jnp.minimum(value, len(_SPAWN) - 1)], value)
    reduced_by = full - spawn  # what REDUC has taken off

    def deal(cell: Any, carry: Any) -> Any:
        cells, used = carry
        unused = ~used & ((1 << len(spec.PROGRAMS)) - 1)
        is_program = (drawn[cell] & np.uint32(1)) == 1
        program = board.nth_bit(unused, below(drawn[spec.CELLS + cell], jax.lax.population_count(unused)))
        points = 1 + below(drawn[spec.CELLS + cell], 9)
        new_value = jnp.where(is_program, program, points)
        count = jnp.maximum(jnp.where(is_program, costs[program], points) - reduced_by[cell], 0)
        word = Cell.content.put(cells[cell], jnp.where(is_program, HIDDEN_PROGRAM, HIDDEN_DATA))
        word = Cell.spawn.put(Cell.value.put(word, new_value), count)
        taken = question[cell] & is_program
        used = used | jnp.where(taken, jnp.int32(1) << program, 0)
        return cells.at[cell].set(jnp.where(question[cell], word, cells[cell])), used

    return jax.lax.fori_loop(0, spec.CELLS, deal, (cells, used))[0]


def _move_cryptogs(state: State, drawn: Any) -> Any:
    """Unseen cryptogs, each to any cell where it would be as unseen (those that share a cell stay)."""
    around = boards(state)
    seen_from_player = board.row_through(state.player) | board.column_through(state.player)
    cells = Entity.cell.of(state.entities)
    exists = state.entities != 0
    alone = ((cells == cells[:, None]) & exists).sum(1) == 1
    cryptog = (Entity.kind.of(state.entities) == ENEMY) & (Entity.type.of(state.entities) == spec.CRYPTOG)
    moves = cryptog & alone & ~seen_from_player.has(cells) & ~state.show

    def move(slot: Any, carry: Any) -> Any:
        entities, taken = carry
        here = board.bit(cells[slot])
        free = board.FULL.minus(taken | seen_from_player | around.blocks | around.player)
        room = moves[slot] & free.any()
        there = free.nth(below(drawn[slot], free.size()))
        word = jnp.where(room, Entity.cell.put(entities[slot], there), entities[slot])
        return entities.at[slot].set(word), taken.minus(here.when(room)) | board.bit(there).when(room)

    return jax.lax.fori_loop(0, SLOTS, move, (state.entities, around.enemies | around.transmissions))[0]
