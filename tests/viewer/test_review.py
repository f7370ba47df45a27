"""The page's Review: a file is dropped, the verdict grows, moves are walked through, another move is tried."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from jimbot.evaluation.review import GamePositions
from jimbot.evaluation.review.kept import reviewed
from jimbot.games.balatro.transcript import GameRecorder
from jimbot.games.balatro.view.playback import Playback
from jimbot.games.hooks.people import LoggedGame
from jimbot.policies.players import find_player
from jimbot.viewer.review_file import review_page
from tests.games.balatro.roaming import new_game
from tests.viewer.conftest import OpenTab, Served, serving

MOVES = 30


@pytest.fixture(scope="module")
def recorded() -> Playback:
    """The beginning of a game whose shops are left at once."""
    player = find_player("balatro")
    game = new_game(1, seed_text="7LB2WVPK", helpers=True)
    recorder, leave = GameRecorder(game), game.spec.actions.index("next")
    for _ in range(MOVES):
        action = int(player.policy.act(game.observation, game.legal_mask).actions[0])
        action = leave if game.legal_mask[0, leave] else action
        recorder.note(action)
        game.step(np.array([action]))
        if game.terminated[0]:
            break
    return Playback(recorder.transcript())


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, recorded: Playback) -> Generator[Served]:
    root = tmp_path_factory.mktemp("runs")
    (root / "recordings").mkdir()
    (root / "recordings" / "game.json").write_text(recorded.to_json())
    with serving(root) as served:
        yield served


def test_a_dropped_game_is_reviewed_walked_through_and_questioned(
    served: Served, open_tab: OpenTab, recorded: Playback, tmp_path: Path
) -> None:
    path = tmp_path / "mine.json"
    path.write_text(recorded.to_json())
    tab = open_tab(f"{served.address}/review")
    tab.get_by_label("A recorded game").set_input_files(path)
    moves = tab.get_by_role("region", name="Moves").get_by_role("listitem")
    expect(moves).to_have_count(recorded.count, timeout=90_000)
    expect(tab.get_by_text("simulations in")).not_to_contain_text("going on", timeout=90_000)
    first = next(number for number, move in enumerate(recorded.transcript.moves) if move == "next")
    moves.nth(first).click()
    expect(tab.get_by_role("region", name="This move")).to_contain_text("leave the shop")
    tab.keyboard.press("ArrowLeft")
    expect(tab.get_by_text(f"{first} of {recorded.count}")).to_be_visible()
    tab.keyboard.press("ArrowRight")
    choice = tab.get_by_label("What if")
    expect(choice.locator("option")).not_to_have_count(1)
    choice.select_option(index=1)
    tab.get_by_role("button", name="Try it").click()
    expect(tab.get_by_role("region", name="This move").get_by_role("status")).to_contain_text("points", timeout=60_000)
    narrow = open_tab(f"{served.address}/review", width=390, scheme="dark")
    expect(narrow.get_by_role("button", name="game.json")).to_be_visible()
    assert narrow.evaluate("document.documentElement.scrollWidth") <= 390


def test_what_is_no_game_is_a_sentence(served: Served, open_tab: OpenTab, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("<script>alert(1)</script>")
    tab = open_tab(f"{served.address}/review", quiet=["400"])
    tab.get_by_label("A recorded game").set_input_files(path)
    expect(tab.get_by_role("alert")).to_be_visible()


def test_a_review_in_a_file_needs_no_server(recorded: Playback, open_tab: OpenTab, tmp_path: Path) -> None:
    player = find_player("balatro")
    document = reviewed(LoggedGame(recorded, "</script><img src=x onerror=alert(1)>"), player, 0.1, runs_root=tmp_path)
    document["title"] += " </script><script>alert(2)</script>"
    path = tmp_path / "review.html"
    path.write_text(review_page(document, GamePositions(recorded, player.options).scenes))
    tab = open_tab(path.as_uri())
    expect(tab.get_by_role("heading", name="Balatro, seed 7LB2WVPK")).to_be_visible()
    expect(tab.get_by_role("region", name="Moves").get_by_role("listitem")).to_have_count(recorded.count)
    expect(tab.get_by_label("What if")).to_have_count(0)
    assert json.loads(tab.locator("#review").text_content() or "")["game"] == "balatro"
