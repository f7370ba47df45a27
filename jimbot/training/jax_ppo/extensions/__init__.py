"""The learner's own optional parts, one file each, in the order in which they take part in an update."""

from jimbot import plugins
from jimbot.errors import UnknownNameError, UsageError
from jimbot.games.spec import GameSpec
from jimbot.training.jax_ppo.extension import Extension, asked_for, other_extensions
from jimbot.training.jax_ppo.extensions.batch_growth import BatchGrowth
from jimbot.training.jax_ppo.extensions.count_bonus import CountBonus
from jimbot.training.jax_ppo.extensions.entropy_blocks import EntropyBlocks, HierarchicalExploration
from jimbot.training.jax_ppo.extensions.far_games import FarGames
from jimbot.training.jax_ppo.extensions.forced_moves import ForcedMoves
from jimbot.training.jax_ppo.extensions.league_seats import LeagueSeats
from jimbot.training.jax_ppo.extensions.normalisation import Normalisation
from jimbot.training.jax_ppo.extensions.start import FrozenLayers, KLAnchor
from jimbot.training.jax_ppo.extensions.teacher import TeacherLabels, TeacherPlay, TeacherShaping
from jimbot.training.jax_ppo.extensions.variety import VarietyMetrics
from jimbot.training.settings.record import TrainSettings

EXTENSIONS = (
    Normalisation, ForcedMoves, FrozenLayers, LeagueSeats, TeacherPlay, TeacherLabels, TeacherShaping, CountBonus,
    KLAnchor, EntropyBlocks, HierarchicalExploration, VarietyMetrics, FarGames, BatchGrowth,
)  # fmt: skip


def extensions_of(settings: TrainSettings, spec: GameSpec) -> list[Extension]:
    """The parts that the settings ask for, in the order in which they take part."""
    others = other_extensions()
    if unknown := set(settings.ppo.extensions) - set(others):
        raise UnknownNameError("extension", min(unknown), sorted(others), "One of your own is found with --plugin.")
    found: list[type[Extension]] = [part for part in EXTENSIONS if part.wanted(settings)]
    for name, where in others.items():
        if asked_for(name, settings):
            part = plugins.named_object(where, "EXTENSION") if isinstance(where, str) else where
            if not (isinstance(part, type) and issubclass(part, Extension)):
                raise UsageError(f"Extension '{name}' is {part!r}; expected a subclass of Extension.")
            found.append(part)
    return [part(settings, spec) for part in found]
