"""A league on disk: players, seeds that were drawn after the players were fixed, and a proof of every game.

- `league`: the folder: players and their hashes, rounds of seeds, results line by line
- `playing`: the games that are missing, played; a result checked by its moves or by its player
- `standings`: who is how good, with intervals
- `site`: the same as pages to put anywhere
"""

from jimbot.evaluation.arena.league import Arena, Entrant, Result, Round
from jimbot.evaluation.arena.playing import check_result, missing_units, play_unit
from jimbot.evaluation.arena.standings import standings

__all__ = ["Arena", "Entrant", "Result", "Round", "check_result", "missing_units", "play_unit", "standings"]
