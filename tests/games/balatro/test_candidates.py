"""What a hand could score: exactly what the engine then scores, and never more than a player may know."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from jimbot.games.balatro.encoding.fields import OBSERVATION
from jimbot.games.balatro.rules.content import HANDS, JOKERS
from jimbot.games.balatro.rules.state import CARD_FACE_DOWN
from tests.games.balatro.playing import Run
from tests.games.balatro.wandering import wander

# Jokers of every kind of rule, none of which leaves a score to chance.
CERTAIN = (
    "j_joker", "j_greedy_joker", "j_jolly", "j_half", "j_stencil", "j_mime", "j_banner", "j_mystic_summit",
    "j_loyalty_card", "j_fibonacci", "j_steel_joker", "j_scary_face", "j_abstract", "j_hack", "j_pareidolia",
    "j_supernova", "j_ride_the_bus", "j_blackboard", "j_runner", "j_ice_cream", "j_dna", "j_splash", "j_blue_joker",
    "j_hiker", "j_green_joker", "j_card_sharp", "j_square", "j_vampire", "j_baron", "j_obelisk", "j_midas_mask",
    "j_photograph", "j_raised_fist", "j_hologram", "j_bull", "j_trousers", "j_ancient", "j_selzer", "j_smiley",
    "j_acrobat", "j_sock_and_buskin", "j_swashbuckler", "j_hanging_chad", "j_bootstraps", "j_wee", "j_idol",
    "j_seeing_double", "j_flower_pot", "j_blueprint", "j_brainstorm", "j_shoot_the_moon", "j_four_fingers",
    "j_shortcut", "j_smeared", "j_dusk", "j_triboulet", "j_matador", "j_baseball", "j_duo", "j_family",
)  # fmt: skip
# Jokers whose real score depends on luck.
BY_CHANCE = ("j_misprint", "j_bloodstone", "j_space", "j_business", "j_reserved_parking")  # the last two by money
EXTRAS = (
    "",
    "",
    "",
    "+m_bonus",
    "+m_mult",
    "+m_wild",
    "+m_steel",
    "+m_stone",
    "+m_gold",
    "+Red",
    "+foil",
    "+polychrome",
)


def best_plays(run: Run) -> tuple[dict[str, float], dict[str, list[int]]]:
    """Score and cards per poker hand that can be formed, read where the observation's helpers leave them."""
    run.look(helpers=True)
    scores, cards = {}, {}
    for hand in range(len(HANDS)):
        if run.s.best_score[hand] >= 0:
            name = HANDS.key(hand)
            scores[name] = float(run.s.best_score[hand])
            cards[name] = [place for place in range(64) if int(run.s.best_cards[hand]) >> place & 1]
    return scores, cards


def play(run: Run, cards: list[int] | tuple[int, ...]) -> tuple[str, float]:
    """The poker hand and score of really playing these cards; the run goes back to before."""
    kept = run._games.copy()
    run.g.requirement = np.inf
    run.g.hands_left = max(2, int(run.g.hands_left))
    run.act("play", cards=list(cards))
    result = HANDS.key(int(run.g.last_hand)), float(run.s.score)
    run._games[:] = kept
    return result


def random_table(seed: int) -> Run:
    random = np.random.default_rng(seed)
    run = Run(seed=f"TRIAL{seed}")
    if seed % 4 == 3:
        bosses = ("bl_flint", "bl_head", "bl_eye", "bl_mouth", "bl_psychic", "bl_arm", "bl_tooth", "bl_plant")
        run.boss(bosses[seed // 4 % len(bosses)])
    run.act("select")
    codes = [f"{'SHCD'[random.integers(4)]}_{'23456789TJQKA'[random.integers(13)]}" for _ in range(7)]
    run.hand(" ".join(code + EXTRAS[random.integers(len(EXTRAS))] for code in codes))
    for _ in range(int(random.integers(0, 6))):
        run.joker(CERTAIN[random.integers(len(CERTAIN))], ("base", "foil", "holo", "polychrome")[random.integers(4)])
    run.g.hand_level[:] = random.integers(1, 5, len(HANDS))
    run.g.hands_played_round = int(random.integers(0, 2))
    run.g.hands_left = 3
    return run


@pytest.mark.parametrize("seed", range(40))
def test_the_best_score_of_every_poker_hand_is_what_playing_it_really_scores(seed):
    run = random_table(seed)
    scores, cards = best_plays(run)
    assert scores
    for name, score in scores.items():
        assert play(run, cards[name]) == (name, score)


def tried_out(run: Run) -> tuple[dict[str, float], dict[str, list[int]]]:
    """What `best_plays` must be, the long way: every choice of cards really played, the fewest cards first."""
    scores: dict[str, float] = {}
    chosen: dict[str, list[int]] = {}
    count = int(run.g.hand_count)
    for size in range(1, 6):
        for cards in sorted(itertools.combinations(range(count), size), key=lambda cards: sum(1 << c for c in cards)):
            name, score = play(run, cards)
            if score > scores.get(name, -1):
                scores[name], chosen[name] = score, list(cards)
    return scores, chosen


@pytest.mark.parametrize("seed", range(48))
def test_trying_every_choice_finds_nothing_else(seed):
    run = random_table(seed)
    assert best_plays(run) == tried_out(run)


@pytest.mark.parametrize("joker", [key for key in JOKERS.keys if key not in BY_CHANCE])
def test_trying_every_choice_finds_nothing_else_with_any_joker(joker):
    """No joker sees something of the cards that do not score, or of their number, that the short way leaves out."""
    run = Run().act("select").hand("S_K+m_steel H_K D_Q C_6 S_6+m_bonus D_4 H_2")
    for key in ("j_hologram", joker, "j_bull"):
        run.joker(key)
    run.g.hands_left = 3
    assert best_plays(run) == tried_out(run)


def test_trying_out_leaves_the_game_as_it_was():
    for seed in range(8):
        run = random_table(seed)
        run.joker("j_dna")
        run.joker("j_vagabond")
        run.joker("j_misprint")
        run.g.hands_played_round = 0
        before = run._games.tobytes()
        best_plays(run)
        assert run._games.tobytes() == before


@pytest.mark.parametrize("joker", ["j_misprint", "j_bloodstone", "j_space", "j_lucky_cat", "j_8_ball", "j_business"])
def test_chance_counts_for_nothing_whatever_the_streams_hold(joker):
    run = Run().act("select").hand("H_A+m_lucky H_8 H_K+m_glass H_4 H_2 S_9")
    plain, _ = best_plays(run)
    run.joker(joker)
    for seed in range(3):
        run.g.fixed_streams[:] = np.random.default_rng(seed).random(run.g.fixed_streams.shape)
        assert best_plays(run)[0] == plain


def test_the_hook_takes_nothing_from_a_trial():
    run = Run().boss("bl_hook").act("select").hand("H_A S_A C_K D_K H_3 H_5 S_7")
    run.joker("j_baron")
    scores, cards = best_plays(run)
    assert cards["Pair"] == [0, 1]
    assert scores["Pair"] == np.floor((10 + 22) * 2 * 1.5 * 1.5)


def test_face_down_cards_are_neither_played_nor_held():
    run = Run().act("select").hand("H_A S_A C_K+m_steel D_K H_3")
    visible = Run().act("select").hand("H_A S_A D_K H_3")
    run.g.card_flags[run.slots[2]] |= CARD_FACE_DOWN
    scores, cards = best_plays(run)
    assert scores == best_plays(visible)[0]
    assert all(2 not in chosen for chosen in cards.values())


def test_a_forced_card_is_in_every_choice_and_face_down_leaves_none():
    run = Run().boss("bl_final_bell").act("select")
    forced = [place for place, slot in enumerate(run.slots) if run.g.card_flags[slot] & 8]
    _, cards = best_plays(run)
    assert all(forced[0] in chosen for chosen in cards.values())
    run.g.card_flags[run.slots[forced[0]]] |= CARD_FACE_DOWN
    assert best_plays(run)[0] == {}


def test_of_equal_choices_the_one_with_the_fewest_cards_is_named():
    run = Run().act("select").hand("H_A S_A C_K D_7 H_3")
    _, cards = best_plays(run)
    assert cards == {"Pair": [0, 1], "High Card": [0]}


def test_outside_a_round_nothing_is_tried():
    run = Run()
    run.s.best_score[:] = -1
    assert best_plays(run) == ({}, {})
    out = run.look(helpers=True)
    assert not out[OBSERVATION.offsets["best_plays"] :].any()


def test_large_hands_combine_their_first_twelve_cards():
    run = Run().act("select").hand("H_2 S_3 C_5 D_7 H_8 S_9 C_J D_Q H_K S_4 H_T S_6 H_A S_A")
    scores, _ = best_plays(run)
    assert "Pair" not in scores
    assert "Straight" in scores


def test_the_observation_shows_the_best_play_and_its_share_of_what_is_missing():
    run = Run().act("select").hand("H_A S_A C_K D_7 H_3")
    out = run.look(helpers=True)
    best = OBSERVATION.view(out, "best_play")
    assert best[1] == pytest.approx(64 / 300)
    assert OBSERVATION.view(out, "best_plays")[HANDS.id("Pair")].tolist() == best.tolist()
    assert OBSERVATION.view(out, "best_play_cards")[:5].tolist() == [1, 1, 0, 0, 0]


def test_random_games_play_out_as_reckoned():
    """Along random games the best play named really scores that, unless a chance adds to it."""
    compared = 0
    for seed in range(3):
        for state in wander(Run(seed=f"RECKON{seed + 1}"), seed, 60):
            if state.phase == "selecting_hand":
                scores, cards = best_plays(state)
                for name, score in scores.items():
                    hand, real = play(state, cards[name])
                    assert real >= score
                    compared += hand == name and real == score
    assert compared > 50
