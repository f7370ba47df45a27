"""Log lines of JimBot: everything is said to `logging.getLogger("jimbot")` and its children.

Programs that import JimBot decide for themselves (`logging.basicConfig(level=logging.DEBUG)` shows all of it); the
command line's `--log-level` and `setup_logging` are for everybody else. Processes that JimBot starts elsewhere are told
the level (`log_level`) and set themselves up with it.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TextIO

from jimbot.errors import UsageError
from jimbot.foreign_text import visible

LOGGER = "jimbot"
LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def setup_logging(level: int | str = "INFO", path: str | Path | None = None) -> logging.Logger:
    """Log lines of JimBot on the terminal and, with `path`, in a file too. Calling it again replaces the settings."""
    logger = logging.getLogger(LOGGER)
    try:
        logger.setLevel(level.upper() if isinstance(level, str) else level)
    except (TypeError, ValueError) as problem:
        raise UsageError(f"level is {level!r}; expected DEBUG, INFO, WARNING, ERROR or CRITICAL.") from problem
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        handler.close()
    handlers: list[logging.Handler] = [_ToStderr()]
    if path is not None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        handlers.append(logging.FileHandler(path, encoding="utf-8"))
    for handler in handlers:
        handler.setFormatter(_Formatter(LOG_FORMAT))
        logger.addHandler(handler)
    logger.propagate = False  # otherwise a host program with its own root logger prints every line twice
    return logger


def quote_last_resort() -> None:
    """For programs of ours: warnings that Python prints where nobody set up logging are quoted like all others."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Formatter())


class _ToStderr(logging.StreamHandler[TextIO]):
    """Writes to what is stderr by then: a stream that was it once may be closed."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


class _Formatter(logging.Formatter):
    """A line may quote what a client sent; on a terminal it stays text."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))


def log_level() -> int:
    """What is shown in this process, for those it starts."""
    return logging.getLogger(LOGGER).getEffectiveLevel()
