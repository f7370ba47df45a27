"""What each tool does, as plain Python: the protocol is `server`'s business.

Docstrings of public methods are what assistants read, so they say when to call what.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from jimbot.errors import UnknownNameError, UsageError
from jimbot.evaluation import evaluate
from jimbot.evaluation.intervals import Interval
from jimbot.evaluation.review.kept import reviewed
from jimbot.evaluation.review.reading import games_in_text
from jimbot.games.contract import available_games, game_entry, game_title, games_with, named_game
from jimbot.games.hooks.people import LoggedGame
from jimbot.planning import planning
from jimbot.policies.contract import decide
from jimbot.policies.heuristics import heuristic_names
from jimbot.policies.players import Player, find_player
from jimbot.runs.catalogue import details, list_runs
from jimbot.runs.checkpoint import shipped_games
from jimbot.runs.directory import RunDirectory
from jimbot.services.mcp import models
from jimbot.services.mcp.open_games import LiveGame, OpenGame, OpenGames

MOST_MOVES = 500  # in one answer
MOST_GAMES = 1000  # of one evaluation
MOST_SIMULATIONS = 512  # of one plan
MOST_POLICIES = 4  # kept loaded
LONGEST_SEARCH = 60.0  # seconds
LONGEST_RECORDING = 900_000  # characters; a whole request may have a megabyte

Handle = Annotated[str, Field(description="The game in play, as start_game named it.")]
GameId = Annotated[str, Field(description="A game, as list_games names it.")]
Policy = Annotated[
    str, Field(description="A run, checkpoint, file, heuristic player, or nothing for the game's own policy.")
]
Options = Annotated[dict[str, Any] | None, Field(description="Options by name; see list_games.")]


class Tools:
    """The tools of one server."""

    def __init__(self, runs_dir: Path = Path("runs"), policy: str = "", live: str = "") -> None:
        self.tables = OpenGames()
        self.runs_dir, self.policy, self.address = runs_dir, policy, live
        self._players: OrderedDict[tuple[str, str], Player] = OrderedDict()
        self._loading = threading.Lock()

    # --- playing ---

    def list_games(self) -> models.Games:
        """Which games there are, what they are about, and what can be chosen about them. Begin here."""
        return models.Games(games=[self._about(game) for game in available_games()])

    def start_game(
        self,
        game: GameId,
        seed: Annotated[
            str, Field(description="A number, or a seed as the game writes it; nothing for a random one.")
        ] = "",
        options: Options = None,
        live: Annotated[bool, Field(description="Play the bought game, if the server knows its address.")] = False,
    ) -> models.TableSeen:
        """Start a game. The answer has its handle, which all other tools of a game in play want.

        Options are those its policy was trained with, unless given.
        """
        usual = self._load(self._named("", named_game(game)), named_game(game)).options
        chosen = {**usual, **(options or {})}
        if not live:
            return self.see_table(self.tables.start(game, seed, chosen))
        if not self.address:
            raise UsageError("Nobody said where the bought game is; start the server with jimbot mcp --live URL.")
        return self.see_table(self.tables.add(LiveGame(game_entry(named_game(game)), chosen, seed, self.address)))

    def list_tables(self) -> models.TablesOpen:
        """The games in play."""
        return models.TablesOpen(tables=[self.see_table(handle) for handle in self.tables.handles()])

    def see_table(self, handle: Handle) -> models.TableSeen:
        """The situation of a game in words, and its metrics."""
        with self.tables.use(handle) as game:
            return _seen(handle, game)

    def list_legal_moves(
        self,
        handle: Handle,
        contains: Annotated[str, Field(description="Only moves whose label or words have this in them.")] = "",
        limit: Annotated[int, Field(ge=1, le=MOST_MOVES, description="At most so many moves are listed.")] = 60,
    ) -> models.LegalMoves:
        """The moves that can be made now. There may be hundreds: filter with `contains`, or ask for advice."""
        with self.tables.use(handle) as game:
            wanted = contains.lower()
            moves = [_move(game, action) for action in game.legal().tolist()]
            fitting = [one for one in moves if wanted in one.label.lower() or wanted in one.words.lower()]
            return models.LegalMoves(handle=handle, count=len(fitting), moves=fitting[:limit])

    def act(
        self, handle: Handle, move: Annotated[str, Field(description="Label of a legal move, or its words.")]
    ) -> models.Acted:
        """Make a move."""
        with self.tables.use(handle) as game:
            action = _action(handle, game, move)
            made, before = _move(game, action), game.metrics()
            reward = game.act(action)
            after = game.metrics()
            changes = {name: after[name] - old for name, old in before.items() if after.get(name, old) != old}
            return models.Acted(move=made, reward=reward, changes=changes, table=_seen(handle, game))

    def close_game(self, handle: Handle) -> models.TablesOpen:
        """Leave a game; the answer has those still in play."""
        self.tables.close(handle)
        return self.list_tables()

    # --- advice ---

    def ask_policy(
        self,
        handle: Handle,
        policy: Policy = "",
        top: Annotated[int, Field(ge=1, le=50, description="So many of the likeliest moves.")] = 5,
        plan: Annotated[
            int, Field(ge=0, le=MOST_SIMULATIONS, description="Look ahead with so many simulations; 0 for none.")
        ] = 0,
    ) -> models.Advice:
        """What a policy would do now: its likeliest moves, how likely each is, and the return it expects."""
        with self.tables.use(handle) as game:
            if game.over:
                raise UsageError(f"The game {handle} is over; there is nothing to advise. Start another one.")
            name = game.entry.spec.id
            player = self._load(self._named(policy, name), name)
            with self._loading:  # policies and plans keep metrics and buffers of their own
                decision = decide(planning(player, plan or None).policy, game.game, np.ones(1, bool))
            chances, legal = decision.probabilities[0], game.legal()  # a live game may not know every move
            likely = legal[np.argsort(-chances[legal], kind="stable")].tolist()
            best = int(decision.actions[0]) if decision.actions[0] in legal else likely[0]
            order = [best, *(action for action in likely if action != best)]
            moves = [_likely(game, action, chances) for action in order[:top] if action == best or chances[action] > 0]
            value = float(decision.values[0])
            known = value if value or player.manifest is not None else None
            return models.Advice(
                handle=handle, policy=player.name, best=moves[0], moves=moves, value=known, remark=_remark(player, game)
            )

    def evaluate_policy(
        self,
        game: GameId,
        policy: Policy = "",
        games: Annotated[int, Field(ge=1, le=MOST_GAMES, description="So many games are played.")] = 20,
        seeds: Annotated[str, Field(description="held-out (never trained on), validation or train.")] = "held-out",
        options: Options = None,
    ) -> models.Judged:
        """How good a policy is: it plays some games of a seed bank. Many games take long; begin with twenty."""
        entry = game_entry(game)
        if entry.two_sides is not None:
            raise UsageError(f"Game '{game}' has two players; evaluate its policies with jimbot evaluate.")
        player = find_player(self._named(policy, game), game, options or {}, self.runs_dir)
        judged = evaluate(player.policy, game, games, bank=seeds, options=player.options, num_envs=min(games, 64))
        return models.Judged(
            game=game,
            policy=player.name,
            games=judged.count,
            seeds=judged.bank,
            mean_return=_estimate(judged.mean_return),
            win_rate=None if judged.win_rate is None else _estimate(judged.win_rate),
            mean_length=_estimate(judged.mean_length),
            stats={name: _estimate(interval) for name, interval in judged.stats.items()},
            illegal_actions=judged.illegal_actions,
            seconds=judged.games.seconds,
        )

    def review_game(
        self,
        recording: Annotated[
            str, Field(max_length=LONGEST_RECORDING, description="The text of a recorded game, or of a log of games.")
        ] = "",
        handle: Annotated[str, Field(description="Or a game in play (or over), as start_game named it.")] = "",
        run: Annotated[int, Field(ge=1, description="Of a log with several games, which.")] = 1,
        policy: Policy = "",
        seconds: Annotated[float, Field(ge=0, le=120, description="Time for simulations.")] = 20.0,
    ) -> dict[str, Any]:
        """Which move lost the game: the chance to win after every move, what each cost, and what was better.

        A move is called a mistake only where that is sure; nothing hidden from the player is held against it.
        """
        if bool(recording) == bool(handle):
            raise UsageError("Give a recording or a handle, one of them.")
        if handle:
            with self.tables.use(handle) as game:
                found = [LoggedGame(game.recorded(), "")]
        else:
            found = games_in_text(recording)
        if run > len(found):
            raise UsageError(f"The log has {len(found)} games; there is no game {run}.")
        game_id = found[run - 1].recorded.game
        player = self._load(self._named(policy, game_id), game_id)
        return reviewed(found[run - 1], player, seconds, runs_root=self.runs_dir)

    # --- looking things up ---

    def explain(
        self,
        name: Annotated[str, Field(description="A name or key: Blueprint, j_blueprint, The Hook, …")],
        game: GameId = "",
        kind: Annotated[str, Field(description="joker, blind, tag, voucher, …; nothing for any.")] = "",
    ) -> models.Explanations:
        """What a thing of a game does, from the tables the rules are made of."""
        chosen = self._game_with("glossary", game, "has no glossary")
        glossary = game_entry(chosen).glossary
        assert glossary is not None
        found = [models.Explained(**one._asdict()) for one in glossary.explain(name, kind)]
        return models.Explanations(game=chosen, found=found)

    def preview_seed(
        self,
        seed: Annotated[str, Field(description="The seed, as the game writes it.")],
        game: GameId = "",
        options: Annotated[dict[str, Any] | None, Field(description="For instance antes, deck, stake.")] = None,
    ) -> models.SeedPage:
        """What a seed holds, without playing it: bosses, vouchers, tags, shops and packs, for instance."""
        chosen = self._game_with("seed_pages", game, "does not show what seeds hold")
        pages = game_entry(chosen).seed_pages
        assert pages is not None
        return models.SeedPage(game=chosen, seed=seed, holds=pages.preview(seed, options or {}))

    def search_seeds(
        self,
        question: Annotated[str, Field(description="Conditions; list_games says how they are written.")],
        game: GameId = "",
        limit: Annotated[int, Field(ge=1, le=100, description="Stop after so many seeds.")] = 5,
        seconds: Annotated[float, Field(gt=0, le=LONGEST_SEARCH, description="Stop after so long.")] = 20.0,
        options: Annotated[dict[str, Any] | None, Field(description="For instance antes, deck, start.")] = None,
    ) -> models.SeedsFound:
        """Seeds that hold what a question asks for."""
        chosen = self._game_with("seed_pages", game, "does not show what seeds hold")
        pages = game_entry(chosen).seed_pages
        assert pages is not None
        found: list[str] = []
        looked, ends = 0, time.monotonic() + seconds
        for so_far, seeds in pages.search(question, limit, options or {}):
            looked, found = so_far, found + seeds
            if time.monotonic() > ends:
                break
        return models.SeedsFound(
            game=chosen, question=question, seeds=found, looked_at=looked, complete=len(found) >= limit
        )

    # --- runs ---

    def runs(self) -> models.RunsListed:
        """The runs on this machine."""
        listed = [
            models.RunListed(
                name=one.name, game=one.game, learner=one.learner, algorithm=one.algorithm, step=one.step,
                best=str(one.best or ""), training_now=one.live is not None,
                has_report=RunDirectory(self.runs_dir, one.name).report_path.exists(),
            )
            for one in list_runs(self.runs_dir)
        ]  # fmt: skip
        return models.RunsListed(runs=listed)

    def run(self, name: str) -> dict[str, Any]:
        """Everything known about one run."""
        found = details(self.runs_dir, name)
        return {**found.__dict__, "summary": found.summary.to_dict()}

    def report(self, name: str) -> str:
        """The page `jimbot analyze` wrote about a run."""
        run = details(self.runs_dir, name).summary.name
        path = RunDirectory(self.runs_dir, run).report_path
        if not path.exists():
            raise UsageError(f"Run '{run}' has no report yet; write one with: jimbot analyze {run}")
        return path.read_text(encoding="utf-8")

    def close(self) -> None:
        self.tables.close_all()

    # --- inside ---

    def _about(self, game: str) -> models.GameAbout:
        entry = game_entry(game)
        own = [game] if game in shipped_games() else []
        return models.GameAbout(
            id=game,
            title=game_title(game),
            about=entry.about,
            options={one.name: one.meaning for one in entry.spec.option_list if not one.internal},
            policies=own + heuristic_names(game),
            glossary=list(entry.glossary.kinds) if entry.glossary else [],
            seeds=entry.seed_pages.how if entry.seed_pages else "",
        )

    def _game_with(self, hook: str, game: str, lacking: str) -> str:
        """The game meant, or the one that offers this."""
        if game:
            if getattr(game_entry(game), hook) is None:
                raise UsageError(f"Game '{game}' {lacking}; {' and '.join(games_with(hook))} can be asked.")
            return game
        return games_with(hook)[0]

    def _named(self, policy: str, game: str) -> str:
        """The policy meant: as said, as the server was started with, the game's own, or its heuristic player."""
        if policy or self.policy:
            return policy or self.policy
        if game in shipped_games():
            return game
        return next((name for name in heuristic_names(game) if name in game_entry(game).heuristics), "random")

    def _load(self, policy: str, game: str) -> Player:
        """A player of a game; those asked lately are kept."""
        with self._loading:
            if (policy, game) not in self._players:
                self._players[policy, game] = find_player(policy, game, {}, self.runs_dir)
                while len(self._players) > MOST_POLICIES:
                    self._players.popitem(last=False)
            self._players.move_to_end((policy, game))
            return self._players[policy, game]


def _seen(handle: str, game: OpenGame) -> models.TableSeen:
    return models.TableSeen(
        handle=handle,
        game=game.entry.spec.id,
        seed=game.seed,
        live=game.live,
        turn=game.turn,
        words=game.words(),
        metrics=game.metrics(),
        legal_moves=len(game.legal()),
        total_return=game.total,
        over=game.over,
        outcome=game.outcome,
        stats=game.stats,
        not_read=list(game.not_read),
    )


def _move(game: OpenGame, action: int) -> models.Move:
    return models.Move(label=game.entry.spec.actions.label(action), words=game.game.describe_action(0, action))


def _likely(game: OpenGame, action: int, chances: np.ndarray) -> models.Likely:
    move = _move(game, action)
    return models.Likely(label=move.label, words=move.words, probability=float(chances[action]))


def _remark(player: Player, game: OpenGame) -> str:
    """What makes advice doubtful: options the policy knows otherwise."""
    parsed, given = game.entry.spec.parse_options(player.options), game.game.options
    other = [
        f"{name}={getattr(parsed, name)} (here {getattr(given, name)})"
        for name in player.options
        if getattr(parsed, name) != getattr(given, name)
    ]
    return f"{player.name} was made for {', '.join(other)}; its advice may be poor." if other else ""


def _action(handle: str, game: OpenGame, text: str) -> int:
    """The legal action with this label, or else the one in these words."""
    if game.over:
        raise UsageError(f"The game {handle} is over, no move can be made. Start another one.")
    legal, wanted, labels = game.legal().tolist(), " ".join(text.lower().split()), game.entry.spec.actions.labels
    for spelled in (lambda action: labels[action], lambda action: game.game.describe_action(0, action)):
        for action in legal:
            if spelled(action).lower() == wanted:
                return action
    raise UnknownNameError("legal move", text, [labels[action] for action in legal], "See list_legal_moves.")


def _estimate(interval: Interval) -> models.Estimate:
    return models.Estimate(mean=interval.mean, low=interval.low, high=interval.high)
