"""`jimbot play GAME --live …`: a policy plays the bought game, through the protocol of its mod."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jimbot.cli.doors.adviser import advised
from jimbot.cli.look import screen
from jimbot.cli.shared import terminal
from jimbot.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from jimbot.adviser.advised_policy import AdvisedPolicy
    from jimbot.cli.look.play import Live
    from jimbot.cli.shared.common import Advice, Plan
    from jimbot.games.contract import GameEntry
    from jimbot.games.hooks import LiveRun
    from jimbot.policies.players import Player
    from jimbot.services.live_play.player import PlayedLive, Thought


SHOWN_MOVES = 5
UNREAD = ("fallback", "stop")


def play_live(
    entry: GameEntry, policy: str, options: Mapping[str, Any], stochastic: bool, runs_dir: Path, how: Live, plan: Plan,
    advice: Advice, seed: str, games: int, record_to: Path | None,
) -> int:  # fmt: skip
    """Plays and tells; 0 if every game came to its end."""
    from jimbot.games.contract import games_with
    from jimbot.policies.players import find_player
    from jimbot.services.live_play.client import LiveClient
    from jimbot.services.live_play.driver import LiveDriver, Timeouts
    from jimbot.services.live_play.player import LeftError, LivePlayer, summarised
    from jimbot.services.live_play.record import LiveRecord

    game = entry.spec.id
    if entry.live is None or entry.live.play is None:
        raise UsageError(f"Game '{game}' cannot be played live; --live is for {' and '.join(games_with('live'))}.")
    if how.unread not in UNREAD:
        raise UnknownNameError("way with unread states", how.unread, UNREAD)
    found = find_player(policy, None if policy == game else game, options, runs_dir)
    player = plan.of(found)
    fallback = _heuristic(entry, player)
    policy_advised: AdvisedPolicy | None = None
    if advice.wanted:
        player, policy_advised = advised(player, advice.adviser_set, "play live")
    timeouts = Timeouts(deadline=how.deadline)
    driver = LiveDriver(LiveClient(how.live or "", how.deadline), entry.live.play, timeouts, how.restart)
    dialect = driver.connect()
    path = record_to or Path("live") / f"{game}-{time.strftime('%Y%m%d-%H%M%S')}.jsonl"
    record = LiveRecord(path)
    terminal.note(f"{player.name} plays {game} at {driver.client.address} (dialect {dialect}); written to {path}.")
    audience = _Shown(entry, how.confirm, how.as_json)
    playing = LivePlayer(
        entry, player, driver, fallback=fallback, unread="stop" if how.unread == "stop" else "fallback",
        deterministic=not stochastic, record=record, audience=audience,
    )  # fmt: skip
    played: list[PlayedLive] = []
    try:
        for number in range(games):
            played.append(playing.play(seed, how.join and number == 0))
    except LeftError:
        terminal.note("Left; the game stays as it is.")
    finally:
        record.close()
    if policy_advised is not None:
        policy_advised.close()
        terminal.note(f"The adviser ({policy_advised.adviser.source.name}): {policy_advised.adviser.metrics}.")
    if played:
        evaluated = summarised(entry, player, played, f"live at {driver.client.address}", not stochastic)
        if how.as_json:
            terminal.print_json({**evaluated.to_dict(), "record": path, "live": [_plain(one) for one in played]})
        else:
            terminal.console().print(evaluated.headline())
    return 0 if all(one.finished for one in played) else 1


def _heuristic(entry: GameEntry, player: Player) -> Player | None:
    """The game's own player, for states that are not wholly known; None where it cannot play under these options."""
    from jimbot.policies.players import find_player

    for name in entry.heuristics:
        try:
            return find_player(name, entry.spec.id, player.options)
        except UsageError:
            continue
    return None


def _plain(played: PlayedLive) -> dict[str, Any]:
    return {
        "seed": played.seed, "moves": played.moves, "finished": played.finished, "trouble": played.trouble,
        "counts": dict(played.counts), "seconds": played.seconds,
    }  # fmt: skip


class _Shown:
    """The table and the likeliest moves; by lines where nobody sits at a terminal."""

    def __init__(self, entry: GameEntry, confirm: bool, quiet: bool) -> None:
        self._entry, self._confirm, self._quiet = entry, confirm, quiet
        self._console = terminal.console()
        self._live = sys.stdout.isatty()

    def decided(self, run: LiveRun, thought: Thought, played: PlayedLive) -> int | None:
        assert thought.action is not None
        assert thought.decision is not None
        words = run.game.describe_action(0, thought.action)
        if not self._quiet and (self._live or self._confirm):
            chances = screen.chances(
                run.game, thought.decision.probabilities[0], thought.action, thought.value, self._live, SHOWN_MOVES
            )
            rows = self._console.height - 3 - screen.height(self._console, chances)
            board = screen.fitting(self._console, self._entry, run.game, rows) if self._live else run.game.describe(0)
            if self._live:
                self._console.clear()
            self._console.print(board, chances)
        elif not self._quiet:
            share = float(thought.decision.probabilities[0][thought.action])
            by = "" if thought.by.endswith("(shipped)") else f"  ({thought.by})"
            self._console.print(f"{played.moves + 1:5}  {words}  {share:.0%}{by}")
        if thought.advice is not None and not self._quiet:
            self._console.print(f"       {screen.opinion(thought.advice)}", soft_wrap=True)
        return self._confirmed(run, thought) if self._confirm else None

    def _confirmed(self, run: LiveRun, thought: Thought) -> int | None:
        """What the person says: this move (None), another one, or nothing more."""
        from jimbot.services.live_play.player import LeftError

        labels = self._entry.spec.actions.labels
        while True:
            sys.stderr.write("Enter makes this move; type another one's label, or q to leave: ")
            sys.stderr.flush()
            line = sys.stdin.readline()
            typed = " ".join(line.split())
            if not line or typed in ("q", "quit"):
                raise LeftError("The person at the terminal left.")
            if not typed:
                return None
            if typed in labels and thought.mask is not None and thought.mask[labels.index(typed)]:
                return labels.index(typed)
            terminal.complain(f"'{typed}' is not a move that can be made now, such as {labels[thought.action or 0]}.")

    def ended(self, played: PlayedLive) -> None:
        if self._quiet:
            return
        counts = ", ".join(f"{count} {name}" for name, count in sorted(played.counts.items()) if name != "looks")
        end = "over" if played.finished else f"given up: {played.trouble}"
        self._console.print(f"Seed {played.seed}: {end} ({played.moves} moves; {counts}).", soft_wrap=True)
