"""Balatro's entry: how to build it, and what it offers beyond being played (see `jimbot.games.hooks`).

Most of that needs libraries or kernels that playing does not, so it is imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from jimbot.errors import UsageError
from jimbot.games.balatro.encoding.fields import COLUMNS, FIRST_JOKER_ITEM, OBSERVATION
from jimbot.games.balatro.encoding.scaling import count_log
from jimbot.games.balatro.game import SPEC, BalatroGame
from jimbot.games.balatro.options import Options
from jimbot.games.balatro.rules.chance.streams import seed_number, seed_text
from jimbot.games.balatro.rules.content import BLIND_SHOWDOWN, HANDS, JOKERS, RATES
from jimbot.games.balatro.rules.state import PHASE_NAMES
from jimbot.games.batch_game import BatchGame
from jimbot.games.entry import GameEntry
from jimbot.games.hooks import lazy
from jimbot.games.hooks.learners import Found, Held, Knowledge, Milestones, Offers, Plans, RareEvent, Variety
from jimbot.games.hooks.people import Glossary, RecordingForm, SeedForm, SeedPages
from jimbot.games.hooks.programs import InfoMetric, LivePlay, LiveProtocol, PlainStates, ReadForeign
from jimbot.plugins import provided

LATE_ANTE = 4
_EVALATRO_BLINDS = 36  # of twelve antes
_OFFSETS = OBSERVATION.offsets
_AT_HAND = _OFFSETS["phase"] + PHASE_NAMES.index("selecting_hand")
_AT_BLIND = _OFFSETS["phase"] + PHASE_NAMES.index("blind_select")
_HANDS_LEFT = _OFFSETS["blind"] + COLUMNS["blind"].index("hands_left")
_MOST_HANDS = 32
_WON = _OFFSETS["run"] + COLUMNS["run"].index("won")
_ANTE = _OFFSETS["run"] + COLUMNS["run"].index("ante")
_BLIND = _OFFSETS["blind_id"]
_LAST_HAND = _OFFSETS["last_hand"]
_SHOWDOWN = np.concatenate([[False], BLIND_SHOWDOWN])  # by id in the observation, where 0 is none
_JOKERS = OBSERVATION["joker_id"]
_OWNED = OBSERVATION.span("joker_id")

# --- which decisions matter ---


def at_blind(observation: np.ndarray) -> np.ndarray:
    """(N,) bool, where the next blind is to be chosen."""
    return observation[:, _AT_BLIND] > 0


def kinds(observation: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
    """(N,) 1 where a hand is to be played or discarded, 2 where a blind is to be chosen, else 0: shops and packs."""
    return np.where(observation[:, _AT_HAND] > 0, 1, np.where(at_blind(observation), 2, 0))


def decision_importance(observation: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
    """(N,) 1 between rounds; with k hands left 1/k."""
    known = np.array([count_log(hands) for hands in range(_MOST_HANDS)])
    left = np.abs(observation[:, _HANDS_LEFT, None] - known).argmin(axis=1)
    return np.where(observation[:, _AT_HAND] > 0, 1 / np.maximum(1, left), 1.0)


PLANS = Plans(
    ("shop", "hand", "blind"),
    kinds,
    # The heuristic's simulations end where the next blind is to be chosen; what a tag is worth, its judgement does not
    # know.
    ({"candidates": 4, "depth": 20, "margin": 1.5, "least": 0.02}, {"share": 0.0}, {"share": 0.0}),
    player="heuristic",
    settled=at_blind,
)


# --- what is rare ---


def rare_events() -> tuple[RareEvent, ...]:
    return (
        RareEvent("first_win", 10.0, 1000, 1, _win),
        RareEvent("new_joker", 4.0, 200, _JOKERS.ids, _new_joker),
        RareEvent("showdown_boss", 3.0, None, len(_SHOWDOWN), _showdown_boss),
    )


def _win(before: np.ndarray, after: np.ndarray) -> Found:
    rows = np.flatnonzero((before[:, _WON] <= 0) & (after[:, _WON] > 0))
    return rows, np.zeros(len(rows), np.int64)


def _new_joker(before: np.ndarray, after: np.ndarray) -> Found:
    had, has = before[:, _OWNED].astype(np.int64), after[:, _OWNED].astype(np.int64)
    fresh = (has > 0) & ~(has[:, :, None] == had[:, None, :]).any(axis=2)
    rows, places = np.nonzero(fresh)
    return rows, has[rows, places]


def _showdown_boss(before: np.ndarray, after: np.ndarray) -> Found:
    kind = before[:, _BLIND].astype(np.int64)
    rows = np.flatnonzero((before[:, _AT_HAND] > 0) & _SHOWDOWN[kind])
    return rows, kind[rows]


# --- ways to play ---


def varieties() -> tuple[Variety, ...]:
    return (
        Variety("jokers", f"jokers held from ante {LATE_ANTE} on", _JOKERS.ids, _held, _joker),
        Variety(
            "hands", "poker hands played last", OBSERVATION["last_hand"].ids, _played, lambda key: HANDS.name(key - 1)
        ),
    )


def _joker(key: int) -> str:
    return JOKERS.name(key - FIRST_JOKER_ITEM) if key >= FIRST_JOKER_ITEM else "a joker face down"


def _held(observation: np.ndarray) -> Found:
    late = np.flatnonzero(observation[:, _ANTE] * 8 >= LATE_ANTE - 0.5)
    owned = observation[late, _OWNED].astype(np.int64)
    rows, places = np.nonzero(owned)
    return late[rows], owned[rows, places]


def _played(observation: np.ndarray) -> Found:
    last = observation[:, _LAST_HAND].astype(np.int64)
    rows = np.flatnonzero(last)
    return rows, last[rows]


ABOUT = (
    "Balatro is poker against a rising number. Each blind asks for a score: play up to five cards that make a poker "
    "hand; its chips times its mult are your points. Discards change cards you do not want. A beaten blind pays money, "
    "and the shop after it sells jokers, which make hands worth far more, and packs, planets, tarots and vouchers. "
    "Three blinds are an ante; the third is a boss with a rule against you. Beat the boss of ante 8 to win; fall short "
    "of one score and the run is over."
)


def ending(board: BatchGame, row: int, stats: Mapping[str, float], cut: bool) -> str:
    """How a run ended, with the blind that ended it and how far its score was from enough."""
    from jimbot.games.balatro.view.describe import ending

    return ending(cast(BalatroGame, board).games[row], cut)


def _read_seed(text: str) -> int:
    if len(text) < 8:
        raise UsageError(
            f"Seed '{text}' has {len(text)} characters; only seeds of 8 have a number here. Play it as an option: "
            f"--seed-text {text}"
        )
    return seed_number(text)


def _live(name: str) -> Callable[..., Any]:
    """What the live game, a door, has registered under a name; imported when it is called."""
    return lambda *values: provided("jimbot.live.balatro", name)(*values)


def _reads(dialect: str) -> ReadForeign:
    return lambda body, options: _live("read_state")(body, dialect, options)


FOREIGN_STATES = {"balatrobot/1": _reads("1.x"), "balatrobot/dev": _reads("dev")}


STATES = PlainStates(
    lazy("jimbot.games.balatro.states.plain:write_state"), lazy("jimbot.games.balatro.states.plain:read_plain")
)


LIVE_PLAY = LivePlay(*map(_live, ("dialect_of", "start", "follow", "standing", "seed", "simple")))
LIVE = LiveProtocol(("1.x", "dev"), 12346, _live("host"), LIVE_PLAY)
SEED_FORM = SeedForm("7LB2WVPK", _read_seed, seed_text, "seed_text")


def _give(game: BatchGame, row: int, keys: Sequence[str]) -> None:
    from jimbot.games.balatro.synergy.parts import give

    give(game, row, keys)
    cast(BalatroGame, game).look([row])


_SYNERGY = "jimbot.games.balatro.synergy"
KNOWLEDGE = Knowledge(
    parts=lazy(f"{_SYNERGY}.parts:parts"),
    read_state=lazy(f"{_SYNERGY}.parts:read_state"),
    measure=lazy(f"{_SYNERGY}.knowledge:measure"),
    measure_group=lazy(f"{_SYNERGY}.knowledge:measure_group"),
    measure_top=lazy(f"{_SYNERGY}.knowledge:measure_top"),
    read_observation=lazy(f"{_SYNERGY}.seen:read_observation"),
    vocabulary=lazy(f"{_SYNERGY}.seen:vocabulary"),
    give=_give,
    held=Held(lazy(f"{_SYNERGY}.seen:held_keys"), lazy(f"{_SYNERGY}.seen:held")),
    profiles=lazy(f"{_SYNERGY}.knowledge:profiles"),
    offers=Offers(
        lazy(f"{_SYNERGY}.seen:offer_keys"),
        lazy(f"{_SYNERGY}.seen:offers"),
        lazy(f"{_SYNERGY}.seen:jokers_held"),
        lazy(f"{_SYNERGY}.seen:antes"),
    ),
)
SEED_PAGES = SeedPages(
    'Conditions such as voucher:v_telescope@1, joker:j_blueprint+negative@<=2, not boss:"The Needle"@<=3: boss, '
    "voucher, tag, joker, tarot, planet, spectral, card or pack, a colon, a key or a name, for jokers an edition, and "
    "antes; and, or, not and brackets combine them.",
    lazy("jimbot.games.balatro.seeds.places:preview_seed"),
    lazy("jimbot.games.balatro.seeds.places:search_seeds"),
    lazy("jimbot.games.balatro.view.seed_scene:chapters"),
    lazy("jimbot.games.balatro.view.seed_scene:choices"),
    lazy("jimbot.games.balatro.view.seed_scene:things"),
    lazy("jimbot.games.balatro.seeds.places:seed_places"),
)
GLOSSARY = Glossary(
    ("joker", "consumable", "voucher", "tag", "blind", "deck", "stake", "pack", "hand", "enhancement", "edition",
     "seal", "challenge"),
    lazy("jimbot.games.balatro.view.names:explain"),
)  # fmt: skip
RECORDING = RecordingForm(
    lazy("jimbot.games.balatro.view.playback:RunRecorder"),
    lazy("jimbot.games.balatro.view.playback:read"),
    _live("logs"),
)


def _field(name: str) -> Callable[[BatchGame, int], Any]:
    return lambda game, row: cast(BalatroGame, game).games[row][name].item()


INFO_METRICS = {
    "ante": InfoMetric(_field("ante"), "ante"),
    "round": InfoMetric(_field("rounds"), "rounds"),
    "money": InfoMetric(_field("money"), "money"),
    "won": InfoMetric(_field("won"), "won"),
    "score": InfoMetric(_field("score")),
    "requirement": InfoMetric(_field("requirement")),
    "hands_left": InfoMetric(_field("hands_left")),
    "discards_left": InfoMetric(_field("discards_left")),
}


def scores(stats: Mapping[str, np.ndarray]) -> dict[str, float]:
    """BalatroBench: the mean of the final round. Evalatro: the way to ante 12 in percent, here without the share of the
    last blind, and never beyond the win, where our games end."""
    ladder = np.minimum(stats["blinds_cleared"], _EVALATRO_BLINDS)
    return {
        "BalatroBench": float(stats["rounds"].mean()),
        "Evalatro": float(np.round(100 * ladder / _EVALATRO_BLINDS, 1).mean()),
    }


def _antes(game: BatchGame) -> np.ndarray:
    return cast(BalatroGame, game).games["ante"]


def _cut_off(game: BatchGame, rows: np.ndarray) -> None:
    cast(BalatroGame, game).cut_off(rows)


MILESTONES = Milestones(
    "ante", RATES["starting"]["win_ante"], _antes, _cut_off, lazy("jimbot.games.balatro.synergy.seen:antes")
)


def make(num_envs: int, seed: int = 0, options: Options = Options(), checked: bool = False) -> BalatroGame:
    """N games behind the BatchGame contract."""
    return BalatroGame(num_envs, seed, options, checked)


LEVELS = {
    "hand": ("play", "discard", "play_chosen", "discard_chosen"),
    "shop": ("buy", "buy_and_use", "redeem", "open", "reroll", "next", "pick", "skip_pack"),
    "blind": ("select", "skip", "reroll_boss"),
}

GAME = GameEntry(
    spec=SPEC,
    make=make,
    heuristics={"heuristic": lazy("jimbot.games.balatro.heuristic:Heuristic")},
    scene=lazy("jimbot.games.balatro.view.scene:scene"),
    canvas=(102, 36),
    about=ABOUT,
    human_interface=lazy("jimbot.games.balatro.view.human_interface:BalatroInterface"),
    diary=lazy("jimbot.games.balatro.view.diary:BalatroDiary"),
    ending=ending,
    narrate=lazy("jimbot.games.balatro.view.diary:narrate"),
    recording=RECORDING,
    seed_form=SEED_FORM,
    seed_pages=SEED_PAGES,
    glossary=GLOSSARY,
    knowledge=KNOWLEDGE,
    milestones=MILESTONES,
    rare_events=rare_events,
    decision_levels=LEVELS,
    varieties=varieties,
    decision_importance=decision_importance,
    plans=PLANS,
    info_metrics=INFO_METRICS,
    scores=scores,
    verify=lazy("jimbot.games.balatro.verify:verify_directory"),
    states=STATES,
    foreign_states=FOREIGN_STATES,
    warm_states=_live("warm"),
    live=LIVE,
)
