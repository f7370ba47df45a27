"""VGC battles behind the BatchGame contract. A row is one side of one battle.

Against a heuristic opponent a battle has one row; with `opponent: self` it has two, and both may be asked at once (a
side that has nothing to decide is not acting). A battle moves when none of its rows is held. `send` and `receive` are
the two halves of `step`, for callers who want one group of battles simulated while they think about the other.

A choice the simulator refuses because of hidden trapping or disabling is no step: the row is asked again with
what it knows now, and `refused` marks it, so that learners can put the new decision in the place of the old one.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.errors import SimulatorError, SnapshotError, UsageError
from jimbot.games.contract import BatchGame
from jimbot.games.spec import GameSpec
from jimbot.games.vgc import fields, history, narration, orders, rewards, rng, words
from jimbot.games.vgc import teams as team_files
from jimbot.games.vgc.options import SELF, Options
from jimbot.games.vgc.pool import Pool, Ticket, settings_of
from jimbot.games.vgc.wire import COUNTERS, Flag, Kind, beginning, redraw, replay, unpack_masks
from jimbot.games.vgc.wire import step as step_entry

VERSION = 1
SPEC = GameSpec(
    id="vgc",
    version=VERSION,
    players=1,
    observation=fields.OBSERVATION,
    actions=orders.SPEC,
    reward_terms=rewards.TERMS,
    shaping=rewards.SHAPING,
    episode_stats=rewards.STATS,
    options=Options,
)
"""With one row per battle, against a heuristic opponent."""
SELF_PLAY_SPEC = replace(SPEC, players=2)
GROUPS = 2
MOST_STARTS = 5
"""Attempts to start a battle whose process dies or hangs each time."""
EVENTS = ("worker_died", "worker_hung", "worker_replaced", "battles_truncated", "battles_cut_off", "refused_choices")
"""What is counted while battles run; see `VgcGame.events`."""


class VgcGame(BatchGame):
    """N battles on the Showdown simulator."""

    may_refuse = True

    def __init__(self, num_envs: int, seed: int = 0, options: Options = Options(), checked: bool = False) -> None:
        super().__init__((SPEC if options.players == 1 else SELF_PLAY_SPEC).under(options), num_envs, seed, checked)
        self.options = options
        self.players = options.players
        self.refused = np.zeros(
            self.num_rows, bool
        )  # the last choice was refused by hidden trapping; no step was taken
        self.lost = np.zeros(self.num_rows, bool)  # the battle was cut off because its process died; no move did it
        self.counters = np.zeros((self.num_rows, len(COUNTERS)), np.int16)  # raw counters of the state shown
        self.teams = np.zeros((num_envs, 2), np.int64)  # numbers in `team_table`
        self.groups = np.array_split(np.arange(num_envs), GROUPS)
        """Battles of each group, for callers who overlap `send` and `receive`."""
        self.team_table, self.pool = _open(options, num_envs)
        self._scales = fields.scales()
        self._weights = np.array(rewards.PRESETS[options.reward], np.float32)
        self._streams = np.random.default_rng(seed).integers(0, 2**63, num_envs, dtype=np.uint64)
        self._episodes = np.zeros(num_envs, np.int64)
        self._histories: list[list[history.Event]] = [[] for _ in range(num_envs)]
        self._following: list[int] = [0] * num_envs
        self._chosen: dict[int, int] = {}
        self._sent: dict[int, Ticket] = {}
        self._started = False

    @property
    def events(self) -> Mapping[str, int]:
        """What went wrong with simulator processes so far, by name."""
        return self.pool.events

    # --- playing ---

    def reset(self, seeds: np.ndarray | None = None) -> None:
        battles = list(range(self.num_envs))
        if seeds is None:
            chosen = [self._draw(battle) for battle in battles]
        else:
            seeds = np.asarray(seeds, np.uint64)
            if seeds.shape != (self.num_envs,):
                raise UsageError(f"reset got seeds of shape {seeds.shape}; expected ({self.num_envs},), one per game.")
            chosen = [int(seed) for seed in seeds]
        self._sent.clear()
        self._quiet(np.arange(self.num_rows))
        self._begin(dict(zip(battles, chosen, strict=True)))
        self._started = True

    def step(self, actions: np.ndarray, hold: np.ndarray | None = None) -> None:
        self._require_started()
        self.check_actions(actions, hold)
        self._quiet(np.arange(self.num_rows))
        held = np.zeros(self.num_envs, bool) if hold is None else self._by_battle(hold).any(axis=1)
        battles = np.flatnonzero(~held)
        self._send(np.asarray(actions), battles)
        self._receive(battles)

    def send(self, actions: np.ndarray, battles: np.ndarray) -> None:
        """The first half of a step of some battles; `actions` (N,) as for `step`, others' are ignored."""
        self._require_started()
        hold = np.ones(self.num_rows, bool)
        hold[self._rows(battles)] = False
        self.check_actions(actions, hold)
        self._send(np.asarray(actions), np.asarray(battles))

    def receive(self, battles: np.ndarray) -> None:
        """The second half: waits for these battles and brings their rows up to date."""
        self._quiet(self._rows(battles))
        self._receive(np.asarray(battles))

    def follow(self, battles: np.ndarray, seeds: np.ndarray) -> None:
        """Chooses the seeds these battles go on with if they end with the next step; for evaluations, which play
        one chosen seed after another without waiting for the slowest battle."""
        self._chosen.update(zip(np.asarray(battles).tolist(), np.asarray(seeds).tolist(), strict=True))

    def redraw_hidden(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        self._require_started()
        events: dict[int, history.Event] = {}
        for row, seed in zip(np.asarray(rows).tolist(), np.asarray(seeds).tolist(), strict=True):
            battle, side = divmod(int(row), self.players)
            # Two players of a battle hide from each other what they show to themselves: both keep it.
            both = battle in events
            events[battle] = (
                (history.REDRAW_BOTH, events[battle][1]) if both else (history.REDRAW_FROM + side, int(seed))
            )
        entries = {battle: redraw(battle, what, seed) for battle, (what, seed) in events.items()}
        got, lost = self.pool.receive(self.pool.send(Kind.REDRAW, entries))
        if lost:
            raise SimulatorError("A simulator process died while hidden information was re-dealt; restore and repeat.")
        for battle, event in events.items():
            self._histories[battle].append(event)
        self._show(got)

    def health(self) -> dict[str, float]:
        metrics = {name: float(self.events[name]) for name in EVENTS}
        with suppress(SimulatorError):  # it died just now; the next step notices, replaces and counts it
            metrics["worker_mb"] = max(worker["rss_mb"] for worker in self.pool.usage())
        return metrics

    def close(self) -> None:
        self.pool.close()

    # --- snapshots ---

    def snapshot(self, rows: np.ndarray | None = None) -> dict[str, np.ndarray]:
        self._require_started()
        battles = self._battles(rows)
        parts = {name: part[battles].copy() for name, part in self._parts().items()}
        events = history.pack([self._histories[battle] for battle in battles])
        return {"game": np.array(self._tag()), "events": events, **parts}

    def restore(self, snapshot: Mapping[str, np.ndarray], rows: np.ndarray | None = None) -> None:
        tag = str(snapshot.get("game", "nothing known"))
        if tag != self._tag():
            raise SnapshotError(f"The snapshot is of '{tag}'; this game is '{self._tag()}'. Use one of this version.")
        battles = self._battles(rows)
        found = {name: history.field(snapshot, name, part, len(battles)) for name, part in self._parts().items()}
        if (found["battle_teams"] >= len(self.team_table.packed)).any() or (found["battle_teams"] < 0).any():
            raise SnapshotError("The snapshot names a team that is not in the table; it is damaged. Take a new one.")
        events = history.unpack(snapshot.get("events", np.zeros(0)))
        if len(events) != len(battles):
            raise SnapshotError(f"The snapshot tells of {len(events)} battles; expected {len(battles)}.")
        seeds = {
            battle: int(of_rows[0]) for battle, of_rows in zip(battles.tolist(), found["battle_seeds"], strict=True)
        }
        dealt = {battle: (int(a), int(b)) for battle, (a, b) in zip(seeds, found["battle_teams"], strict=True)}
        entries = {
            battle: replay(battle, rng.mixed(seed), dealt[battle], story)
            for (battle, seed), story in zip(seeds.items(), events, strict=True)
        }
        try:
            got, lost = self.pool.receive(self.pool.send(Kind.RESTORE, entries))
        except SimulatorError as problem:
            raise SnapshotError(f"The snapshot's battles cannot be played again: {problem}") from problem
        if lost:
            raise SimulatorError("A simulator process died while a snapshot was restored; restore it again.")
        for name, part in self._parts().items():
            part[battles] = found[name]
        for battle, story in zip(battles.tolist(), events, strict=True):
            self._histories[battle] = story
        self._started = True
        self._show(got)

    # --- words ---

    def describe(self, row: int) -> str:
        return words.describe(self.features(row))

    def describe_action(self, row: int, action: int) -> str:
        return words.describe_action(self.features(row), action)

    def features(self, row: int) -> np.ndarray:
        """(D,) the whole numbers a row's observation was made of."""
        return np.rint(self.observation[row] / self._scales).astype(np.int64)

    def final_board(self, row: int) -> BatchGame | None:
        shown = copy.copy(self)
        shown.observation = self.final_observation
        return shown

    def log_lines(self, battle: int, start: int = 0, ended: bool = False) -> list[str]:
        """The battle's public protocol lines from a place on, as a spectator sees them; with `ended` those of the last
        battle that ended in its place."""
        return self.pool.ask({"what": "log", "battle": battle, "from": start, "ended": ended}, battle)["lines"]

    def story(self, battle: int, start: int = 0, ended: bool = False) -> tuple[list[str], int]:
        """What happened since line `start` in sentences, and the number of the next line."""
        lines = self.log_lines(battle, start, ended)
        return narration.sentences(lines), start + len(lines)

    # --- inner parts ---

    def _send(self, actions: np.ndarray, battles: np.ndarray) -> None:
        entries: dict[int, bytes] = {}
        for battle in battles.tolist():
            played = [
                (side, self._legal(int(actions[row]), row))
                for side, row in enumerate(range(battle * self.players, (battle + 1) * self.players))
                if self.acting[row]
            ]
            self._histories[battle] += played
            drawn = rng.train_seed(int(self._streams[battle]), int(self._episodes[battle]))
            following = self._chosen.pop(battle, drawn)
            self._following[battle] = following
            entries[battle] = step_entry(battle, rng.mixed(following), self._deal(following), played)
        for ticket in self.pool.send(Kind.STEP, entries):
            self._sent.update(dict.fromkeys(ticket.battles, ticket))

    def _legal(self, action: int, row: int) -> int:
        """What is played: the action, or where it is illegal (counted already) the first legal one."""
        return action if self.legal_mask[row, action] else int(self.legal_mask[row].argmax())

    def _receive(self, battles: np.ndarray) -> None:
        missing = [battle for battle in battles.tolist() if battle not in self._sent]
        if missing:
            raise UsageError(f"receive was called for battle {missing[0]}, which was not sent; call send first.")
        tickets = {id(ticket): ticket for ticket in (self._sent.pop(battle) for battle in battles.tolist())}
        got, lost = self.pool.receive(tickets.values())
        self._reward(got)
        self._show(got)
        self._cut_off(lost)

    def _reward(self, got: np.ndarray) -> None:
        """Rewards and endings of a step from its rows: one per side, and first the final one of a battle that ended."""
        ended = (got["flags"] & Flag.ENDED) > 0
        rows = self._row_numbers(got)
        final, now = got[ended], got[~ended]
        over, going = rows[ended], rows[~ended]
        going_on = ~np.isin(going, over)
        aborted = (final["flags"] & Flag.ABORTED) > 0
        self.terminated[over], self.truncated[over] = ~aborted, aborted
        self.final_observation[over] = final["features"] * self._scales
        self.final_stats[over] = rewards.stats(final["counters"])
        for number, part, end in ((over, final, ~aborted), (going[going_on], now[going_on], None)):
            finished = np.zeros(len(number), bool) if end is None else end
            self.reward_terms[number] = rewards.step_terms(
                self.counters[number], part["counters"], finished, self._weights, self.options.discount
            )
        self.reward[:] = self.reward_terms.sum(axis=1)
        if aborted.any():
            self.pool.events["battles_cut_off"] += int(aborted.sum()) // self.players
        for battle in np.unique(over // self.players).tolist():
            self._episodes[battle] += 1
            self._note_start(battle, self._following[battle])

    def _show(self, got: np.ndarray) -> None:
        """Brings the arrays of the rows that are going on up to date."""
        now = got[(got["flags"] & Flag.ENDED) == 0]
        rows = self._row_numbers(now)
        self.observation[rows] = now["features"] * self._scales
        self.legal_mask[rows] = unpack_masks(now)
        self.acting[rows] = (now["flags"] & Flag.ACTING) > 0
        self.counters[rows] = now["counters"]
        self.refused[rows] = (now["flags"] & Flag.REFUSED) > 0
        self.pool.events["refused_choices"] += int(self.refused[rows].sum())

    def _cut_off(self, lost: list[int]) -> None:
        """Battles that died with their process: truncated where they stood, never counted as lost games."""
        if not lost:
            return
        self.pool.events["battles_truncated"] += len(lost)
        rows = self._rows(np.array(lost))
        self.truncated[rows] = self.lost[rows] = True
        self.final_observation[rows] = self.observation[rows]
        self.final_stats[rows] = rewards.stats(self.counters[rows])
        self._episodes[lost] += 1
        self._begin({battle: self._following[battle] for battle in lost})

    def _begin(self, seeds: dict[int, int]) -> None:
        """Starts battles; again, where a process dies while it does, but not for ever."""
        waiting, attempts = seeds, 0
        while waiting:
            if (attempts := attempts + 1) > MOST_STARTS:
                raise SimulatorError(
                    f"Battle {min(waiting)} (seed {waiting[min(waiting)]}) could not be started in {MOST_STARTS} "
                    f"attempts: {self.pool.last_failure or 'its process was lost'}. Check the simulator with: jimbot "
                    "setup vgc"
                )
            entries = {battle: beginning(battle, rng.mixed(seed), self._deal(seed)) for battle, seed in waiting.items()}
            got, lost = self.pool.receive(self.pool.send(Kind.START, entries))
            self._show(got)
            waiting = {battle: seeds[battle] for battle in lost}
        for battle, seed in seeds.items():
            self._note_start(battle, seed)

    def _note_start(self, battle: int, seed: int) -> None:
        self._histories[battle] = []
        self.teams[battle] = self._deal(seed)
        self.seeds[battle * self.players : (battle + 1) * self.players] = seed

    def _draw(self, battle: int) -> int:
        """The next seed of a battle's own stream."""
        seed = rng.train_seed(int(self._streams[battle]), int(self._episodes[battle]))
        self._episodes[battle] += 1
        return seed

    def _deal(self, seed: int) -> tuple[int, int]:
        return self.team_table.deal(seed, rng.words(seed, 2))

    def _quiet(self, rows: np.ndarray) -> None:
        for array in (self.reward, self.reward_terms, self.terminated, self.truncated, self.refused, self.lost):
            array[rows] = 0

    def _row_numbers(self, got: np.ndarray) -> np.ndarray:
        return got["battle"].astype(np.int64) * self.players + got["side"]

    def _rows(self, battles: np.ndarray) -> np.ndarray:
        return (np.asarray(battles)[:, None] * self.players + np.arange(self.players)).reshape(-1)

    def _battles(self, rows: np.ndarray | None) -> np.ndarray:
        if rows is None:
            return np.arange(self.num_envs)
        return np.array(list(dict.fromkeys((np.asarray(rows) // self.players).tolist())))

    def _by_battle(self, hold: np.ndarray) -> np.ndarray:
        return np.asarray(hold, bool).reshape(self.num_envs, self.players)

    def _parts(self) -> dict[str, np.ndarray]:
        """What a snapshot holds of every battle beside its events."""
        return {
            "battle_seeds": self.seeds.reshape(self.num_envs, self.players),
            "battle_teams": self.teams,
            "streams": self._streams,
            "episodes": self._episodes,
        }

    def _require_started(self) -> None:
        if not self._started:
            raise UsageError("Game 'vgc' was used before its first reset. Call reset() first.")

    def _tag(self) -> str:
        chosen = self.options
        story = (
            chosen.format_id,
            chosen.opponent,
            chosen.open_team_sheets,
            chosen.teams,
            chosen.own_team,
            chosen.turn_limit,
        )
        return f"{SPEC.id} v{SPEC.version} {story}"


def _open(options: Options, num_envs: int) -> tuple[team_files.TeamTable, Pool]:
    """The teams and the simulator processes of a batch."""
    settings = settings_of(options, "" if options.opponent == SELF else options.opponent)
    table = _team_table(options, settings)
    settings["teams"] = table.packed
    pool = Pool(settings, options.worker_count(num_envs), options.deadline)
    try:
        _check_format(options, pool.greeting())
    except BaseException:
        pool.close()
        raise
    return table, pool


def _team_table(options: Options, settings: dict[str, Any]) -> team_files.TeamTable:
    """The teams of the options; own files are shown to the validator first, by a process of their own."""
    split = options.teams in (team_files.BY_SEED, *team_files.SPLITS)
    names = team_files.SPLITS if options.teams == team_files.BY_SEED else (options.teams,)
    pools = {name: team_files.split_teams(name) for name in names} if split else {}
    own = ""
    if not split or options.own_team:
        pool = Pool(settings, 1, options.deadline)
        try:
            _check_format(options, pool.greeting())

            def approved(path: str) -> list[str]:
                texts = team_files.read_texts(Path(path))
                return team_files.check_teams(pool.ask, texts, path, options.format_id)

            if not split:
                pools = {options.teams: tuple(approved(options.teams))}
            if options.own_team:
                own = approved(options.own_team)[0]
        finally:
            pool.close()
    return team_files.TeamTable(pools, own)


def _check_format(options: Options, greeting: Mapping[str, Any]) -> None:
    """Refuses formats that are unknown to the simulator or that the action table cannot express."""
    if not greeting["format_name"]:
        raise UsageError(
            f"The simulator knows no format '{options.format}'; expected one such as gen9vgc2023regc, gen9vgc2024regg "
            "or gen9vgc2025regi."
        )
    if greeting["game_type"] != "doubles" or greeting["picked"] != 4 or not options.format_id.startswith("gen9"):
        raise UsageError(
            f"Format '{options.format}' ({greeting['game_type']}, {greeting['picked'] or 'all'} brought) does not fit "
            "the action table; expected a ninth-generation doubles format in which four Pokémon are brought."
        )
