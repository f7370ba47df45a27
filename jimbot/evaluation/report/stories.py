"""Example games in words: chosen after all were played, then played once more and told."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from html import escape
from itertools import groupby
from typing import NamedTuple

import numpy as np

from jimbot.evaluation.figures import RETURN
from jimbot.evaluation.report import svg
from jimbot.evaluation.report.chronicle import Chronicle
from jimbot.evaluation.report.page import folded, section
from jimbot.evaluation.summary import WON, Evaluation
from jimbot.games.contract import GameEntry, Line, make
from jimbot.games.seed_names import seed_name
from jimbot.policies.contract import Policy

_LINES_A_CHAPTER = 40  # of games that have no chapters of their own
_RED_SUITS = re.compile(r"[^\s,(:→]*[♥♦]")


class Story(NamedTuple):
    """One game told."""

    title: str
    words: str
    lines: list[Line]
    values: list[float]
    """What the policy expected before every action; empty if it has no opinion."""


def choose_examples(judged: Evaluation, count: int) -> dict[int, str]:
    """Games by number, with what they stand for: the best, the worst, and ones evenly between."""
    if count < 1:
        return {}
    keys = [judged.values(RETURN)]
    if judged.spec.ladder:
        keys.append(judged.games.stat(judged.spec.ladder))
    if WON in judged.spec.episode_stats:
        keys.append(judged.games.stat(WON))
    order = np.lexsort([np.nan_to_num(key, nan=-np.inf) for key in keys])[::-1]  # the last key decides first
    places = np.unique(np.linspace(0, len(order) - 1, min(count, len(order))).round().astype(int)).tolist()
    titles = {places[0]: "The best game", places[-1]: "The worst game"} if len(places) > 1 else {places[0]: "A game"}
    return {int(order[place]): titles.get(place, _standing(place, len(order))) for place in places}


def _standing(place: int, count: int) -> str:
    better = round(100 * place / max(1, count - 1))
    return "A typical game" if 40 <= better <= 60 else f"A game with {better} % better ones"


def tell(policy: Policy, chronicle: Chronicle, judged: Evaluation, number: int, title: str) -> Story:
    """Plays game `number` once more, action by action."""
    entry, actions = chronicle.entry, chronicle.actions_of(number)
    seed = judged.games.seeds[number : number + 1]
    named, gained = seed_name(entry, int(seed[0]), judged.options), judged.games.returns[number]
    words = f"seed {named}, {len(actions)} actions, return {gained:.3g}, "
    words += _result(judged, dict(zip(judged.spec.episode_stats, judged.games.stats[number].tolist(), strict=True)))
    with closing(make(entry.spec.id, 1, options=judged.options)) as game:
        values, plain = [], []
        game.reset(seed)
        for action in actions:
            values.append(float(policy.act(game.observation, game.legal_mask).values[0]))
            said = game.describe_action(0, action)
            game.step(np.array([action]))
            plain.append((said, game.reward_terms[0].tolist()))
        if entry.narrate is not None:
            game.reset(seed)
            lines = entry.narrate(game, actions)
        else:
            lines = _plain_lines(entry, plain)
    return Story(title, words, lines, values if any(values) else [])


def _result(judged: Evaluation, stats: Mapping[str, float]) -> str:
    """How a game went: won or lost and how far it came, or whatever the game measures."""
    told = [("won" if stats[WON] > 0 else "not won")] if WON in stats else []
    names = [judged.spec.ladder] if judged.spec.ladder else [name for name in stats if name != WON]
    return ", ".join([*told, *(f"{name.replace('_', ' ')} {stats[name]:.4g}" for name in names)])


def _plain_lines(entry: GameEntry, played: Sequence[tuple[str, list[float]]]) -> list[Line]:
    """Every action with the rewards it brought."""
    lines = []
    for number, (said, terms) in enumerate(played):
        first = number // _LINES_A_CHAPTER * _LINES_A_CHAPTER
        chapter = f"Actions {first + 1} to {min(first + _LINES_A_CHAPTER, len(played))}"
        told = zip(entry.spec.reward_terms, terms, strict=True)
        effects = tuple(f"{name.replace('_', ' ')} {amount:+.2f}" for name, amount in told if abs(amount) >= 0.005)
        lines.append(Line(chapter, said, effects))
    return lines


def stories_section(stories: Sequence[Story]) -> str:
    """All stories, folded up."""
    return section("Games in words", "Open one to read it move by move.", *map(_story, stories))


def _story(story: Story) -> str:
    curve = ""
    if len(story.values) > 1:
        curve = '<p class="note">What it expected of the rest of the game, action by action:</p>'
        curve += svg.sparkline(story.values)
    number, parts = 1, []
    for chapter, lines in groupby(story.lines, key=lambda line: line.chapter):
        items = [f"<li>{_words(line)}</li>" for line in lines]
        parts.append(f'<h4>{escape(chapter)}</h4><ol start="{number}">{"".join(items)}</ol>')
        number += len(items)
    summary = f"{escape(story.title)} <span>· {escape(story.words)}</span>"
    return folded(summary, f'{curve}<div class="story">{"".join(parts)}</div>')


def _words(line: Line) -> str:
    effects = f" <i>{escape('; '.join(line.effects))}</i>" if line.effects else ""
    return _RED_SUITS.sub(lambda card: f'<span class="red">{card[0]}</span>', escape(line.text) + effects)
