"""A recorded run of Balatro as `jimbot replay` shows it: moves in words with what they did, the table at any step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.text import Text

from jimbot.games.balatro.encoding.action_table import actions_for
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.balatro.options import Options
from jimbot.games.balatro.rules.state import GAME_OVER, WON
from jimbot.games.balatro.transcript import GameRecorder, Transcript, header
from jimbot.games.balatro.view.describe import describe_move, ending
from jimbot.games.balatro.view.move_text import read_move
from jimbot.games.balatro.view.scene import scene_of
from jimbot.games.batch_game import BatchGame
from jimbot.games.drawing import draw
from jimbot.games.hooks.people import Moment


class Playback:
    """A transcript for people to look at."""

    game = "balatro"

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript

    @property
    def count(self) -> int:
        return len(self.transcript.moves)

    def to_json(self) -> str:
        return self.transcript.to_json()

    def title(self) -> str:
        return header(self.transcript)

    def lines(self) -> Iterator[str]:
        run = self.transcript.play()
        yield from map(str, run.steps)
        end = run.transcript().end
        if _over(run.g):
            yield f"{ending(run.g)}, ${end['money']} left."
        else:
            phase = end["phase"].replace("_", " ")
            yield f"Ends in ante {end['ante']}, round {end['round']}, with ${end['money']}: {phase}."

    def picture(self, step: int) -> Iterator[Any]:
        shown: list[Any] = []
        for number, (run, move, last) in enumerate(self.transcript.replay()):
            if number == step:
                shown = [Text(f"after {last}", style="dim")] if last is not None else []
                shown.append(draw(scene_of(run.g)))
                shown += [f"next: {describe_move(run.g, *read_move(move))}"] if move else []
        yield from shown

    def opened(self, options: Mapping[str, Any]) -> BalatroGame:
        written = self.transcript
        chosen = {"challenge": written.challenge} if written.challenge else {"deck": written.deck}
        own: dict[str, Any] = {
            **options,
            **chosen,
            "stake": written.stake,
            "endless": written.endless,
            "seed_text": written.seed,
        }
        game = BalatroGame(1, options=Options(**own))
        game.reset()
        return game

    def moves(self) -> Iterator[list[int]]:
        yield from (actions_for(*read_move(move)) for move in self.transcript.moves)

    def moments(self) -> Iterator[Moment]:
        """Each on a table of its own, on which policies can be asked."""
        game = BalatroGame(1, options=Options(helpers=True))
        for run, move, last in self.transcript.replay():
            game.games[0] = run.g
            over = _over(run.g)
            if not over:
                game.look()
            following = describe_move(run.g, *read_move(move)) if move else None
            effects = tuple(last.effects) if last is not None else ()
            yield Moment(game, following, effects, ended=ending(run.g) if over else "")

    def document(self, step: int | None) -> dict[str, Any]:
        steps = []
        for number, (run, _, last) in enumerate(self.transcript.replay()):
            if step is None or number == step:
                done = {} if last is None else {"move": last.move, "words": last.words, "effects": list(last.effects)}
                steps.append({"step": number, **done, "state": run.state()})
        kept = ("seed", "deck", "stake", "challenge", "endless", "game_version", "end")
        return {**{name: getattr(self.transcript, name) for name in kept}, "steps": steps}


def _over(g: Any) -> bool:
    return int(g.phase) in (GAME_OVER, WON)


class RunRecorder:
    """Writes down the moves of a batch of one game."""

    def __init__(self, game: BatchGame) -> None:
        self._recorder = GameRecorder(game)

    def note(self, action: int) -> None:
        self._recorder.note(action)

    def finish(self, total_return: float) -> Playback:
        return Playback(self._recorder.transcript())


def read(text: str, name: str) -> Playback:
    return Playback(Transcript.from_json(text, name))
