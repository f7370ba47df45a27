"""`jimbot`, and `python -m jimbot`."""

import signal


def main() -> None:
    """Until everything is imported there is nothing to end in order: Ctrl+C just ends the process, without a word."""
    asked = signal.getsignal(signal.SIGINT)
    if asked is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from jimbot.cli.main import main as command_line

    signal.signal(signal.SIGINT, asked)
    command_line()


if __name__ == "__main__":  # processes that are spawned import this file again
    main()
