"""`--adviser` of every command that has it: who is asked, within which limits, by which words."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from jimbot.cli.shared import terminal

if TYPE_CHECKING:
    from jimbot.advisor.advised_policy import AdvisedPolicy
    from jimbot.advisor.adviser import Adviser
    from jimbot.advisor.settings import AdviserSettings
    from jimbot.policies.players import Player

AdviserOption = Annotated[
    bool,
    typer.Option(
        "--adviser", help="Ask where the policy is not sure: Claude if ANTHROPIC_API_KEY is set, else the planner."
    ),
]
AdviserSetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--adviser-set",
        metavar="NAME=VALUE",
        help="A setting or limit of the adviser: model, dollars_per_hour, … (jimbot adviser settings).",
    ),
]


def adviser_settings(given: list[str] | None) -> AdviserSettings:
    """What `--adviser-set` says."""
    from jimbot.advisor.settings import AdviserSettings

    return AdviserSettings().with_values(terminal.pairs(given or [], "--adviser-set"))


def adviser_for(player: Player, given: list[str] | None, what: str) -> Adviser:
    """The adviser of a player. `what` is done with it, which names the run that its limits are charged to."""
    from jimbot.advisor.adviser import open_adviser
    from jimbot.errors import UsageError
    from jimbot.services.graph_hints import graph_hints

    if player.entry.two_sides is not None:
        raise UsageError(f"An adviser is for games with one player; '{player.game}' has two. Leave it out.")
    settings = adviser_settings(given)
    run = f"{what} {player.game} {time.strftime('%Y-%m-%d %H:%M:%S')}"
    hints = graph_hints(player.entry)
    return open_adviser(settings, player.policy, player.manifest, run, hints, terminal.note)


def advised(player: Player, given: list[str] | None, what: str) -> tuple[Player, AdvisedPolicy]:
    """The player with an adviser at its side."""
    policy = _with_adviser(player, adviser_for(player, given, what), follow=True)
    return replace(player, policy=policy, name=f"{player.name} advised"), policy


def second_opinion(load: Callable[[], Player], given: list[str] | None) -> tuple[Callable[[], Player], Adviser]:
    """What loads players that hear an adviser and play their own moves; and the adviser, one for all of them."""
    first = load()
    adviser = adviser_for(first, given, "watch")

    def load_listening() -> Player:
        player = load()
        return replace(player, policy=_with_adviser(player, adviser, follow=False))

    return load_listening, adviser


def _with_adviser(player: Player, adviser: Adviser, follow: bool) -> AdvisedPolicy:
    from jimbot.advisor.advised_policy import AdvisedPolicy

    return AdvisedPolicy(player.policy, adviser, follow)
