"""Games of other programs on the page: a policy plays one, or somebody else does and the page looks on.

Both go through the protocol of the bought edition, to its mod or to `jimbot host`. Looking on only ever asks for the
state, so whoever plays does not notice; what a policy would do in the other's place is shown beside it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from jimbot.errors import UsageError
from jimbot.games.contract import GameEntry
from jimbot.games.hooks import LivePlay, LiveRun, Standing
from jimbot.policies.contract import decide
from jimbot.policies.players import Player
from jimbot.services.live_play.client import LiveClient
from jimbot.services.live_play.driver import LiveDriver, Patience
from jimbot.services.mcp.live_games import LiveGame
from jimbot.viewer.tables import Frame, Played, scene_of, short, think

LOOK_SECONDS = 0.3  # between two looks at somebody else's game
BRIEF = Patience(deadline=5.0, settling=5.0, away=5.0)
NOTHING: Frame = {"moves": [], "value": None, "legal": 0, "move": None, "total": None}


def live_game(player: Player, address: str, seed_text: str) -> Played:
    """A policy plays the game of another program."""
    about = {"kind": "live", "game": player.game, "policy": player.name, "title": f"{player.name} plays at {address}"}
    about["thinks"] = player.manifest is not None
    return Played(about, lambda: _live_frames(player, address, seed_text))


def _live_frames(player: Player, address: str, seed_text: str) -> Iterator[Frame]:
    live = LiveGame(player.entry, player.options, seed_text.strip(), address)
    scene = None
    while not live.over:
        game, total = live.game, live.total
        playable = np.zeros_like(game.legal_mask)
        playable[0, live.legal()] = True
        decision = player.policy.act(game.observation, playable)
        action, scene = int(decision.actions[0]), scene_of(player.entry, game)
        frame = {"scene": scene, "total": short(total), "move": game.describe_action(0, action), "over": False}
        frame |= {**think(game, decision), "told": list(live.not_read)}
        yield {**frame, "reward": short(live.act(action))}
    ending = {**NOTHING, "outcome": live.outcome, "stats": live.stats}
    yield {**ending, "scene": scene, "over": True, "total": short(live.total)}


def followed_game(entry: GameEntry, address: str, adviser: Player | None) -> Played:
    """Somebody else plays; `adviser` says what it would do."""
    play = entry.live.play if entry.live is not None else None
    if play is None:
        raise UsageError(f"Game '{entry.spec.id}' cannot be followed in another program.")
    driver = LiveDriver(LiveClient(address), play, BRIEF)
    about = {
        "kind": "follow",
        "game": entry.spec.id,
        "title": f"The game at {driver.client.address}",
        "policy": adviser.name if adviser is not None else "",
        "thinks": adviser is not None and adviser.manifest is not None,
    }
    options = entry.spec.parse_options(adviser.options if adviser is not None else {})
    return Played(about, lambda: _followed_frames(entry, driver, play, options, adviser))


def _followed_frames(
    entry: GameEntry, driver: LiveDriver, play: LivePlay, options: Any, adviser: Player | None
) -> Iterator[Frame | None]:
    run, before, scene = play.follow(driver.connect(), options), None, None
    while True:
        state = driver.look()
        standing = play.standing(state) if state is not None else None
        if state == before or standing not in (Standing.ASKING, Standing.OVER):
            yield None
            time.sleep(LOOK_SECONDS)
            continue
        before = state
        if standing is Standing.OVER:
            yield {**NOTHING, "scene": scene, "over": True, "outcome": "The game is over.", "stats": {}}
            continue
        try:
            run.see(state)
        except UsageError as problem:  # a state between two others, or of a card nobody here knows
            yield {**NOTHING, "scene": scene, "over": False, "told": [str(problem)]}
            continue
        scene = scene_of(entry, run.game)
        yield {**NOTHING, "scene": scene, "over": False, "told": _assumed(run), **_advice(run, adviser)}


def _assumed(run: LiveRun) -> list[str]:
    """Who does not see the moves does not know all; what is drawn and advised says so."""
    return [f"not shown by the game, assumed: {', '.join(run.unknown)}"] if run.unknown else []


def _advice(run: LiveRun, adviser: Player | None) -> Frame:
    """What a policy would do."""
    if adviser is None or not (playable := run.playable()).any():
        return {}
    run.game.legal_mask[0] = playable
    return think(run.game, decide(adviser.policy, run.game, np.ones(1, bool)))
