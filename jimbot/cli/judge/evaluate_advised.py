"""`jimbot evaluate --adviser`: does advice help? The same seeds with and without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jimbot.cli.shared import terminal
from jimbot.cli.shared.advising import advised
from jimbot.cli.shared.playing import Playing

if TYPE_CHECKING:
    from jimbot.policies.players import Player


def evaluate_advised(player: Player, settings: list[str] | None, full: bool, playing: Playing) -> None:
    """Plays every seed without and with advice, and shows the difference."""
    from jimbot.evaluation import compare_evaluations
    from jimbot.evaluation import evaluate as judge

    helped, policy = advised(player, settings, "evaluate")
    with playing.shown(f"Playing {player.name}") as how:
        alone = judge(player.policy, player.game, options=player.options, **how)
    with playing.shown(f"Playing {helped.name}") as how:
        evaluation = judge(policy, player.game, options=player.options, **how)
    policy.close()
    compared = compare_evaluations([evaluation, alone])
    figures = policy.adviser.figures
    if playing.as_json:
        differences = [one.to_dict() for one in compared.all_differences]
        about = {"source": policy.adviser.source.name, **figures.to_dict(), "differences": differences}
        terminal.print_json({**evaluation.to_dict(), "adviser": {**about, "alone": alone.to_dict()}})
        return
    console = terminal.console()
    console.print(evaluation if full else evaluation.headline())
    console.print(f"The adviser ({policy.adviser.source.name}): {figures}.", soft_wrap=True)
    for difference in compared.all_differences:
        console.print(difference.sentence, soft_wrap=True)
