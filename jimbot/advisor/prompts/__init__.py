"""Prompts are files with a version in their name. A released file is never changed: a new wording is a new version, and
answers that are remembered belong to the version they were given to."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

ADVISER = "adviser_v1"


@cache
def prompt(name: str) -> str:
    """The text of a prompt."""
    return files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
