"""Balatro's entry: how to build it, and what it offers beyond being played (see `jimbot.games.hooks`).

Most of that needs libraries or kernels that playing does not, so it is imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from jimbot.errors import UsageError
from jimbot.games.balatro.game import SPEC, BalatroGame
from jimbot.games.balatro.options import Options
from jimbot.games.balatro.rules.chance.streams import seed_number, seed_text
from jimbot.games.balatro.rules.content import RATES
from jimbot.games.batch_game import BatchGame
from jimbot.games.entry import GameEntry
from jimbot.games.hooks import (
    Explanation,
    Figure,
    Found,
    Glossary,
    Held,
    HostedGame,
    HostFiles,
    Interaction,
    Knowledge,
    LivePlay,
    LiveProtocol,
    Milestones,
    Part,
    PlainStates,
    Plans,
    RareEvent,
    ReadForeign,
    RecordingForm,
    SeedForm,
    SeedPages,
    Sight,
    Variety,
)
from jimbot.games.telling import Line
from jimbot.games.verification import FileReport

ABOUT = (
    "Balatro is poker against a rising number. Each blind asks for a score: play up to five cards that make a poker "
    "hand; its chips times its mult are your points. Discards change cards you do not want. A beaten blind pays money, "
    "and the shop after it sells jokers, which make hands worth far more, and packs, planets, tarots and vouchers. "
    "Three blinds are an ante; the third is a boss with a rule against you. Beat the boss of ante 8 to win; fall short "
    "of one score and the run is over."
)


def render(game: BatchGame, row: int) -> Any:
    """The table of a row as the player sees it."""
    from jimbot.games.balatro.view.table import render

    return render(game, row)


def ending(board: BatchGame, row: int, stats: Mapping[str, float], cut: bool) -> str:
    """How a run ended, with the blind that ended it and how far its score was from enough."""
    from jimbot.games.balatro.view.describe import ending

    return ending(cast(BalatroGame, board).games[row], cut)


def render_small(game: BatchGame, row: int) -> Any:
    from jimbot.games.balatro.view.small import render

    return render(game, row)


def scene(game: BatchGame, row: int) -> Any:
    from jimbot.games.balatro.view.scene import scene

    return scene(game, row)


def sitting(game: BatchGame) -> Any:
    from jimbot.games.balatro.view.sitting import BalatroSitting

    return BalatroSitting(game)


def diary(game: BatchGame) -> Any:
    from jimbot.games.balatro.view.diary import BalatroDiary

    return BalatroDiary(game)


def narrate(game: BatchGame, actions: Sequence[int]) -> list[Line]:
    from jimbot.games.balatro.view.diary import narrate

    return narrate(game, actions)


def heuristic() -> Any:
    """The scripted player; its kernels are not needed to play."""
    from jimbot.games.balatro.heuristic import Heuristic

    return Heuristic()


def rare_events() -> tuple[RareEvent, ...]:
    from jimbot.games.balatro.view.rare_events import rare_events

    return rare_events()


def varieties() -> tuple[Variety, ...]:
    from jimbot.games.balatro.view.varieties import varieties

    return varieties()


def stakes(observation: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
    from jimbot.games.balatro.view.stakes import stakes

    return stakes(observation, legal_mask)


def _kinds_of_decisions(observation: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
    from jimbot.games.balatro.view.stakes import kinds

    return kinds(observation, legal_mask)


def _at_blind(observation: np.ndarray) -> np.ndarray:
    from jimbot.games.balatro.view.stakes import at_blind

    return at_blind(observation)


PLANS = Plans(
    ("shop", "hand", "blind"),
    _kinds_of_decisions,
    # The script's tries end where the next blind is to be chosen; what a tag is worth, its judgement does not know.
    ({"candidates": 4, "depth": 20, "margin": 1.5, "least": 0.02}, {"share": 0.0}, {"share": 0.0}),
    player="heuristic",
    settled=_at_blind,
)


def verify(recordings: Path) -> Iterable[FileReport]:
    from jimbot.games.balatro.verify import verify_directory

    return verify_directory(recordings)


def host(dialect: str, fair: bool, traps: Iterable[str], files: HostFiles) -> HostedGame:
    from jimbot.games.balatro.live.rpc import Session
    from jimbot.games.balatro.live.table import Table, warm_up
    from jimbot.games.balatro.live.traps import read_traps

    table = Table(dialect, fair, read_traps(traps), files)
    warm_up()
    return Session(table)


def benchmark(num_envs: int | None, seconds: float, cold: bool) -> dict[str, Any]:
    from jimbot.games.balatro.benchmarks import bench_balatro

    return bench_balatro(num_envs or 1024, seconds, cold)


def _begin_recording(game: BatchGame) -> Any:
    from jimbot.games.balatro.view.playback import RunRecorder

    return RunRecorder(game)


def _read_recording(text: str, name: str) -> Any:
    from jimbot.games.balatro.view.playback import read

    return read(text, name)


def _read_seed(text: str) -> int:
    if len(text) < 8:
        raise UsageError(
            f"Seed '{text}' has {len(text)} characters; only seeds of 8 have a number here. Play it as an option: "
            f"--seed-text {text}"
        )
    return seed_number(text)


def _reads(dialect: str) -> ReadForeign:
    def read(body: bytes, options: Options) -> Sight:
        from jimbot.games.balatro.live.follower import sight_of

        return sight_of(body, dialect, options)

    return read


FOREIGN_STATES = {"balatrobot/1": _reads("1.x"), "balatrobot/dev": _reads("dev")}


def _write_state(game: BatchGame, row: int) -> dict[str, Any]:
    from jimbot.games.balatro.plain_state import write_state

    return write_state(game, row)


def _read_state(values: Mapping[str, Any], options: Any) -> Sight:
    from jimbot.games.balatro.plain_state import read_plain

    return read_plain(values, options)


STATES = PlainStates(_write_state, _read_state)


def _warm_states(options: Any) -> None:
    from jimbot.games.balatro.live.follower import sight_of
    from jimbot.games.balatro.live.table import Table, warm_up

    warm_up()
    table = Table(luck=0)
    table.begin(0, 1, 0, None)
    for method in ("gamestate", "select"):
        sight_of(table.call(method).encode(), table.dialect.name, options)


def _live(name: str) -> Callable[..., Any]:
    """A function of `live.playing`, imported when it is called."""

    def called(*values: Any) -> Any:
        from jimbot.games.balatro.live import playing

        return getattr(playing, name)(*values)

    return called


LIVE_PLAY = LivePlay(
    *(_live(name) for name in ("dialect_name", "start_call", "PlayedRun", "standing", "seed_of", "simple_move"))
)
LIVE = LiveProtocol(("1.x", "dev"), 12346, host, LIVE_PLAY)
SEED_FORM = SeedForm("7LB2WVPK", _read_seed, seed_text, "seed_text")


def _preview_seed(seed: str, options: Mapping[str, Any]) -> dict[str, Any]:
    from jimbot.games.balatro.seeds.pages import preview_seed

    return preview_seed(seed, options)


def _search_seeds(question: str, limit: int, options: Mapping[str, Any]) -> Iterator[tuple[int, list[str]]]:
    from jimbot.games.balatro.seeds.pages import search_seeds

    return search_seeds(question, limit, options)


def _seed_chapters(seed: str, options: Mapping[str, Any]) -> dict[str, Any]:
    from jimbot.games.balatro.view.seed_scene import chapters

    return chapters(seed, options)


def _seed_choices() -> Mapping[str, Sequence[str]]:
    from jimbot.games.balatro.view.seed_scene import choices

    return choices()


def _seed_things() -> Mapping[str, Sequence[str]]:
    from jimbot.games.balatro.view.seed_scene import things

    return things()


def _seed_places(question: str, seed: str, options: Mapping[str, Any]) -> list[str]:
    from jimbot.games.balatro.seeds.pages import seed_places

    return seed_places(question, seed, options)


def _explain(name: str, kind: str) -> list[Explanation]:
    from jimbot.games.balatro.view.glossary import explain

    return explain(name, kind)


def _parts() -> tuple[Part, ...]:
    from jimbot.games.balatro.synergy.parts import parts

    return parts()


def _read_holdings(game: BatchGame, row: int) -> dict[str, Any]:
    from jimbot.games.balatro.synergy.parts import read_state

    return read_state(game, row)


def _read_observation(observation: np.ndarray) -> dict[str, Any]:
    from jimbot.games.balatro.synergy.seen import read_observation

    return read_observation(observation)


def _vocabulary() -> Mapping[str, tuple[str, ...]]:
    from jimbot.games.balatro.synergy.seen import item_keys

    return {"item": item_keys()}


def _measure(*values: Any, **named: Any) -> Iterator[Interaction]:
    from jimbot.games.balatro.synergy.knowledge import measure

    return measure(*values, **named)


def _measure_group(*values: Any, **named: Any) -> Interaction:
    from jimbot.games.balatro.synergy.knowledge import measure_group

    return measure_group(*values, **named)


def _measure_top(*values: Any, **named: Any) -> Iterator[Interaction]:
    from jimbot.games.balatro.synergy.knowledge import measure_top

    return measure_top(*values, **named)


def _give(game: BatchGame, row: int, keys: Sequence[str]) -> None:
    from jimbot.games.balatro.synergy.parts import give

    give(game, row, keys)
    cast(BalatroGame, game).look()


def _profiles(*values: Any, **named: Any) -> Mapping[str, tuple[float, ...]]:
    from jimbot.games.balatro.synergy.knowledge import profiles

    return profiles(*values, **named)


def _held_keys() -> tuple[str, ...]:
    from jimbot.games.balatro.synergy.seen import held_keys

    return held_keys()


def _held(observation: np.ndarray) -> Found:
    from jimbot.games.balatro.synergy.seen import held

    return held(observation)


KNOWLEDGE = Knowledge(
    _parts, _read_holdings, _measure, _measure_group, _measure_top, _read_observation, _vocabulary, _give,
    Held(_held_keys, _held), _profiles,
)  # fmt: skip
SEED_PAGES = SeedPages(
    'Conditions such as voucher:v_telescope@1, joker:j_blueprint+negative@<=2, not boss:"The Needle"@<=3: boss, '
    "voucher, tag, joker, tarot, planet, spectral, card or pack, a colon, a key or a name, for jokers an edition, and "
    "antes; and, or, not and brackets combine them.",
    _preview_seed,
    _search_seeds,
    _seed_chapters,
    _seed_choices,
    _seed_things,
    _seed_places,
)
GLOSSARY = Glossary(
    ("joker", "consumable", "voucher", "tag", "blind", "deck", "stake", "pack", "hand", "enhancement", "edition",
     "seal", "challenge"),
    _explain,
)  # fmt: skip
RECORDING = RecordingForm(_begin_recording, _read_recording)


def _field(name: str) -> Callable[[BatchGame, int], Any]:
    return lambda game, row: cast(BalatroGame, game).games[row][name].item()


FIGURES = {
    "ante": Figure(_field("ante"), "ante"),
    "round": Figure(_field("rounds"), "rounds"),
    "money": Figure(_field("money"), "money"),
    "won": Figure(_field("won"), "won"),
    "score": Figure(_field("score")),
    "requirement": Figure(_field("requirement")),
    "hands_left": Figure(_field("hands_left")),
    "discards_left": Figure(_field("discards_left")),
}


def _antes(game: BatchGame) -> np.ndarray:
    return cast(BalatroGame, game).games["ante"]


def _cut_off(game: BatchGame, rows: np.ndarray) -> None:
    cast(BalatroGame, game).cut_off(rows)


def _antes_seen(observation: np.ndarray) -> np.ndarray:
    from jimbot.games.balatro.synergy.seen import antes

    return antes(observation)


STREAMS = ("streams", "episodes")
MILESTONES = Milestones("ante", RATES["starting"]["win_ante"], _antes, _cut_off, _antes_seen, STREAMS)


def make(num_envs: int, seed: int = 0, options: Options = Options(), checked: bool = False) -> BalatroGame:
    """N games behind the BatchGame contract."""
    return BalatroGame(num_envs, seed, options, checked)


GAME = GameEntry(
    spec=SPEC,
    make=make,
    scripted={"heuristic": heuristic},
    render=render,
    render_small=render_small,
    scene=scene,
    canvas=(102, 36),
    about=ABOUT,
    sitting=sitting,
    diary=diary,
    ending=ending,
    narrate=narrate,
    recording=RECORDING,
    seed_form=SEED_FORM,
    seed_pages=SEED_PAGES,
    glossary=GLOSSARY,
    knowledge=KNOWLEDGE,
    milestones=MILESTONES,
    rare_events=rare_events,
    varieties=varieties,
    stakes=stakes,
    plans=PLANS,
    figures=FIGURES,
    verify=verify,
    benchmark=benchmark,
    states=STATES,
    foreign_states=FOREIGN_STATES,
    warm_states=_warm_states,
    live=LIVE,
)
