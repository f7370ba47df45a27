"""`jimbot host`: a simulator in the place of the bought game, for every program that drives that one; and a door for
mods that push what happens in it (`host_events`)."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from jimbot.cli.serve.host_events import events
from jimbot.cli.shared import terminal
from jimbot.cli.shared.options import TokenFileOption
from jimbot.errors import UnknownNameError

EPILOG = """Examples:

jimbot host balatro

jimbot host balatro --instances 8 --port 12346   (ports 12346 to 12353)

jimbot host balatro --dialect dev --speed frame --trap hang=50 --trap slow-reroll

jimbot host balatro --files saves   (clients may save, load and take screenshots in that folder)

jimbot host events   (mods push what happens; see jimbot host events --help)

Ctrl+C ends it."""
GAME = "GAME"


class Hosted(TyperGroup):
    """A word that is no command of its own is the game to host."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        if args and args[0] not in self.commands:
            return GAME, self.commands[GAME], args
        return super().resolve_command(ctx, args)


def register(app: typer.Typer) -> None:
    hosts = typer.Typer(
        cls=Hosted,
        no_args_is_help=True,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Serve a simulator in the protocol of the bought game, or take events that mods push.",
        epilog=EPILOG,
    )
    hosts.command(GAME, epilog=EPILOG)(host)
    hosts.command()(events)
    app.add_typer(hosts, name="host")


def host(
    game: Annotated[str, typer.Argument(help="The game, for instance balatro.")],
    port: Annotated[int | None, typer.Option(help="First port; by default the one the bought game's mod has.")] = None,
    address: Annotated[
        str, typer.Option("--host", help="Address to listen on; others than this machine's need a token.")
    ] = "127.0.0.1",
    instances: Annotated[int, typer.Option(help="Games at once, each on its own port.")] = 1,
    dialect: Annotated[str | None, typer.Option(help="Version of the protocol; by default the released one.")] = None,
    speed: Annotated[
        str, typer.Option(help="instant, frame (60 answers a second) or real (with animations).")
    ] = "instant",
    leaks: Annotated[
        bool, typer.Option("--leaks", help="Show what the mod shows too much: the deck's order, face-down cards.")
    ] = False,
    trap: Annotated[list[str] | None, typer.Option(metavar="TRAP", help="A fault of the mod; repeatable.")] = None,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER",
            help="Where save, load and screenshot may go, instead of a folder of JimBot's own; repeatable.",
        ),
    ] = None,
    token_file: TokenFileOption = None,
) -> None:
    """Serve a simulator in the protocol that programs drive the bought game with.

    Whatever talks to the mod talks to it unchanged: bots, test suites, recorders.
    """
    terminal.require_positive(instances=instances)
    from jimbot.games.contract import available_games, game_entry, games_with
    from jimbot.services.live_files import FolderFiles
    from jimbot.services.live_host import LiveHost

    if game not in available_games() or game_entry(game).live is None:
        raise UnknownNameError("game to host", game, games_with("live"))
    live = game_entry(game).live
    assert live is not None
    kept = FolderFiles(files or ())
    games = [live.host(dialect or live.dialects[0], not leaks, trap or (), kept) for _ in range(instances)]
    served = LiveHost(games, address, live.port if port is None else port, speed, token_file).start()
    places = ", ".join(f"http://{address}:{number}" for number in served.ports)
    terminal.console().print(f"{game} ({dialect or live.dialects[0]}) at {places}; Ctrl+C ends it.", soft_wrap=True)
    terminal.note(f"Files of clients: only inside {', '.join(map(str, kept.folders))}.")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        served.wait()
    except KeyboardInterrupt:
        pass
    finally:
        served.stop()
        terminal.console().print(f"{served.answered:,} calls answered.")
