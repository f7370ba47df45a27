"""Runs jobs in lab.js: battles of the product's own code, looked at from inside."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from jimbot.games.vgc import fields, simulator, teams


def settings(**changes: Any) -> dict[str, Any]:
    return {
        "format": "gen9vgc2023regc", "open_team_sheets": True, "players": ["", ""], "patch": True, "turn_limit": 200,
        "vocabulary": str(fields.VOCABULARY_FILE), "layout": fields.layout(), "teams": teams.split_teams("train")[:96],
        **changes,
    }  # fmt: skip


def run_jobs(*jobs: dict[str, Any], **changes: Any) -> list[Any]:
    """One answer per job; `changes` are to the worker's settings."""
    asked = {
        "package": str(simulator.package_folder()),
        "node": str(simulator.NODE_FILES),
        "settings": settings(**changes),
        "jobs": list(jobs),
    }
    done = subprocess.run(
        [simulator.node_program(), str(Path(__file__).with_name("lab.js"))],
        input=json.dumps(asked), capture_output=True, text=True, timeout=570,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def team(*members: str) -> str:
    """A team in export text from lines like `Zoroark @ Focus Sash | Illusion | Protect, Snarl | Water`."""
    sets = []
    for member in members:
        head, ability, moves, *rest = (part.strip() for part in member.split("|"))
        tera = rest[0] if rest else "Normal"
        listed = "\n".join(f"- {move.strip()}" for move in moves.split(","))
        sets.append(f"{head}\nAbility: {ability}\nLevel: 50\nTera Type: {tera}\n{listed}")
    return "\n\n".join(sets)


PLAIN = (
    "Snorlax | Thick Fat | Body Slam, Protect, Rest, Explosion",
    "Garganacl | Purifying Salt | Salt Cure, Protect, Recover, Explosion",
    "Blissey | Natural Cure | Seismic Toss, Protect, Soft-Boiled, Helping Hand",
    "Toxapex | Regenerator | Scald, Protect, Recover, Haze",
    "Corviknight | Pressure | Body Press, Protect, Roost, U-turn",
    "Dondozo | Unaware | Wave Crash, Protect, Rest, Order Up",
)
"""Six that survive a while."""


def plain_team() -> str:
    return team(*PLAIN)
