"""Old import paths that keep working for one release: modules that moved to another room, or got a telling name.

One table, one finder. Importing an old path gives the very module of the new one (so classes stay identical) with a
DeprecationWarning that names it. Nothing in JimBot itself uses an old path (`tests/contracts/test_moved.py`).
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import warnings
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

# package: {old name: where it is now}
_TABLE: dict[str, dict[str, str]] = {
    "jimbot.cli": {
        "analyze": "jimbot.cli.judge.analyze",
        "ask": "jimbot.cli.serve.ask",
        "bench": "jimbot.cli.operate.bench",
        "bus": "jimbot.cli.serve.bus",
        "choice": "jimbot.cli.shared.choice",
        "clone": "jimbot.cli.learn.clone",
        "command": "jimbot.cli.shared.command",
        "compare": "jimbot.cli.judge.compare",
        "completion": "jimbot.cli.shared.completion",
        "doctor": "jimbot.cli.operate.doctor",
        "evaluate": "jimbot.cli.judge.evaluate",
        "experiment": "jimbot.cli.learn.experiment",
        "export": "jimbot.cli.serve.export",
        "flags": "jimbot.cli.shared.flags",
        "help": "jimbot.cli.operate.help",
        "keymap": "jimbot.cli.look.keymap",
        "keys": "jimbot.cli.look.keys",
        "options": "jimbot.cli.shared.options",
        "play": "jimbot.cli.look.play",
        "play_server": "jimbot.cli.look.play_server",
        "plugin_words": "jimbot.cli.shared.plugin_words",
        "record": "jimbot.cli.learn.record",
        "record_bus": "jimbot.cli.learn.record_bus",
        "record_public_games": "jimbot.cli.learn.record_public_games",
        "recording": "jimbot.cli.look.recording",
        "replay": "jimbot.cli.look.replay",
        "resume": "jimbot.cli.learn.resume",
        "runs": "jimbot.cli.operate.runs",
        "screen": "jimbot.cli.look.screen",
        "seed": "jimbot.cli.look.seed",
        "settings_help": "jimbot.cli.shared.settings_help",
        "setup": "jimbot.cli.operate.setup",
        "soak": "jimbot.cli.operate.soak",
        "start": "jimbot.cli.shared.start",
        "terminal": "jimbot.cli.shared.terminal",
        "train": "jimbot.cli.learn.train",
        "tune": "jimbot.cli.learn.tune",
        "verify": "jimbot.cli.judge.verify",
        "watch": "jimbot.cli.look.watch",
        "watch_duel": "jimbot.cli.look.watch_duel",
        "watcher": "jimbot.cli.look.watcher",
    },
    "jimbot.envs": {
        "drawing": "jimbot.envs.pictures",
    },
    "jimbot.games.balatro": {
        "actions": "jimbot.games.balatro.encoding.action_table",
        "appraise": "jimbot.games.balatro.encoding.appraise",
        "batch": "jimbot.games.balatro.encoding.batch_kernel",
        "blind_choice": "jimbot.games.balatro.rules.blind_select",
        "blinds": "jimbot.games.balatro.rules.antes",
        "boss_effects": "jimbot.games.balatro.rules.bosses.blind",
        "bosses": "jimbot.games.balatro.rules.bosses",
        "candidates": "jimbot.games.balatro.encoding.candidates",
        "card_changes": "jimbot.games.balatro.rules.consumables.card_changes",
        "cards": "jimbot.games.balatro.rules.playing_cards.cards",
        "challenges": "jimbot.games.balatro.rules.challenges",
        "compile": "jimbot.games.balatro.compiling.kernels",
        "consumables": "jimbot.games.balatro.rules.consumables.using",
        "content": "jimbot.games.balatro.rules.content",
        "create": "jimbot.games.balatro.rules.chance.create",
        "describe": "jimbot.games.balatro.view.describe",
        "diary": "jimbot.games.balatro.view.diary",
        "drawing": "jimbot.games.balatro.rules.playing_cards.dealing",
        "fields": "jimbot.games.balatro.encoding.fields",
        "figures": "jimbot.games.balatro.view.figures",
        "hands": "jimbot.games.balatro.rules.playing_cards.hands",
        "hidden": "jimbot.games.balatro.rules.hidden",
        "hooks": "jimbot.games.balatro.rules.jokers.moments",
        "integrity": "jimbot.games.balatro.rules.integrity",
        "inventory": "jimbot.games.balatro.rules.inventory",
        "jokers": "jimbot.games.balatro.rules.jokers",
        "linking": "jimbot.games.balatro.compiling.linking",
        "moves": "jimbot.games.balatro.view.move_text",
        "names": "jimbot.games.balatro.view.names",
        "observe": "jimbot.games.balatro.encoding.observation",
        "observe_shop": "jimbot.games.balatro.encoding.observed_offers",
        "opening": "jimbot.games.balatro.rules.shop.packs",
        "packs": "jimbot.games.balatro.rules.shop.packs",
        "payout": "jimbot.games.balatro.rules.payout",
        "piles": "jimbot.games.balatro.rules.playing_cards.piles",
        "pools": "jimbot.games.balatro.rules.chance.pools",
        "preview": "jimbot.games.balatro.seeds.preview_kernel",
        "prices": "jimbot.games.balatro.rules.shop.prices",
        "records": "jimbot.games.balatro.compiling.record_copies",
        "render": "jimbot.games.balatro.view.table",
        "render_cards": "jimbot.games.balatro.view.things",
        "render_side": "jimbot.games.balatro.view.side",
        "render_tiles": "jimbot.games.balatro.view.tiles",
        "reorder": "jimbot.games.balatro.rules.reorder",
        "rewards": "jimbot.games.balatro.encoding.rewards",
        "rng": "jimbot.games.balatro.rules.chance.rng",
        "rounds": "jimbot.games.balatro.rules.rounds",
        "run": "jimbot.games.balatro.rules.decisions",
        "scaling": "jimbot.games.balatro.encoding.scaling",
        "scoring": "jimbot.games.balatro.rules.scoring",
        "scratch": "jimbot.games.balatro.rules.scratch",
        "setup": "jimbot.games.balatro.rules.run_start",
        "shop": "jimbot.games.balatro.rules.shop.stock",
        "shopping": "jimbot.games.balatro.rules.between_rounds",
        "spectrals": "jimbot.games.balatro.rules.consumables.spectrals",
        "staging": "jimbot.games.balatro.verify.staging",
        "state": "jimbot.games.balatro.rules.state",
        "streams": "jimbot.games.balatro.rules.chance.streams",
        "tag_effects": "jimbot.games.balatro.rules.tags.firing",
        "tags": "jimbot.games.balatro.rules.tags.held",
        "tarots": "jimbot.games.balatro.rules.consumables.tarots",
        "threads": "jimbot.games.threads",
        "traces": "jimbot.games.balatro.verify.recorded_states",
        "vouchers": "jimbot.games.balatro.rules.shop.vouchers",
    },
    "jimbot.games.balatro.heuristic": {
        "plan": "jimbot.games.balatro.heuristic.workspace",
        "rounds": "jimbot.games.balatro.heuristic.playing",
        "shopping": "jimbot.games.balatro.heuristic.buying",
    },
    "jimbot.games.balatro.jokers": {
        "card_jokers": "jimbot.games.balatro.rules.jokers.card_jokers",
        "copying": "jimbot.games.balatro.rules.jokers.copying",
        "counting_jokers": "jimbot.games.balatro.rules.jokers.counting_jokers",
        "discard_jokers": "jimbot.games.balatro.rules.jokers.discard_jokers",
        "evaluate": "jimbot.games.balatro.rules.jokers.evaluate",
        "growing_jokers": "jimbot.games.balatro.rules.jokers.growing_jokers",
        "hand_jokers": "jimbot.games.balatro.rules.jokers.hand_jokers",
        "money_jokers": "jimbot.games.balatro.rules.jokers.money_jokers",
        "passive_jokers": "jimbot.games.balatro.rules.jokers.passive_jokers",
        "phases": "jimbot.games.balatro.rules.jokers.dispatch",
        "registry": "jimbot.games.balatro.rules.jokers.registry",
        "round_jokers": "jimbot.games.balatro.rules.jokers.round_jokers",
        "shop_jokers": "jimbot.games.balatro.rules.jokers.shop_jokers",
    },
    "jimbot.games.balatro.rules": {
        "boss_effects": "jimbot.games.balatro.rules.bosses.blind",
        "card_changes": "jimbot.games.balatro.rules.consumables.card_changes",
        "cards": "jimbot.games.balatro.rules.playing_cards.cards",
        "create": "jimbot.games.balatro.rules.chance.create",
        "dealing": "jimbot.games.balatro.rules.playing_cards.dealing",
        "hands": "jimbot.games.balatro.rules.playing_cards.hands",
        "pack_contents": "jimbot.games.balatro.rules.shop.packs",
        "pack_opening": "jimbot.games.balatro.rules.shop.packs",
        "piles": "jimbot.games.balatro.rules.playing_cards.piles",
        "pools": "jimbot.games.balatro.rules.chance.pools",
        "prices": "jimbot.games.balatro.rules.shop.prices",
        "rng": "jimbot.games.balatro.rules.chance.rng",
        "shop_stock": "jimbot.games.balatro.rules.shop.stock",
        "spectrals": "jimbot.games.balatro.rules.consumables.spectrals",
        "streams": "jimbot.games.balatro.rules.chance.streams",
        "tag_effects": "jimbot.games.balatro.rules.tags.firing",
        "tarots": "jimbot.games.balatro.rules.consumables.tarots",
        "vouchers": "jimbot.games.balatro.rules.shop.vouchers",
    },
    "jimbot.games.balatro.seeds": {
        "kernels": "jimbot.games.balatro.seeds.preview_kernel",
    },
    "jimbot.games.balatro.view": {
        "recording": "jimbot.games.balatro.view.playback",
        "replay": "jimbot.games.balatro.view.playback",
    },
    "jimbot.games.balatro.verify": {
        "report": "jimbot.games.verification",
        "pools": "jimbot.games.balatro.verify.recorded_pools",
        "rng_units": "jimbot.games.balatro.verify.recorded_numbers",
        "scoring": "jimbot.games.balatro.verify.recorded_hands",
        "seeds": "jimbot.games.balatro.verify.recorded_seeds",
        "states": "jimbot.games.balatro.verify.recorded_states",
        "traces": "jimbot.games.balatro.verify.recorded_games",
    },
    "jimbot.games.vgc": {
        "replays": "jimbot.games.vgc.battle_logs",
    },
    "jimbot.policies": {
        "shipped": "jimbot.runs.shipped",
    },
    "jimbot.runs": {
        "locking": "jimbot.locking",
    },
    "jimbot.training": {
        "compile_cache": "jimbot.training.session.compile_cache",
        "config": "jimbot.training.settings.trainer_config",
        "curriculum_game": "jimbot.training.curriculum.game",
        "env_validation": "jimbot.training.environments.validation",
        "health": "jimbot.training.session.health",
        "hyperparameters": "jimbot.training.trials.hyperparameters",
        "interrupts": "jimbot.training.session.interrupts",
        "league_store": "jimbot.training.league.store",
        "measures": "jimbot.training.session.log_rows",
        "moments": "jimbot.training.running_statistics",
        "orders": "jimbot.training.trials.order",
        "ray_search": "jimbot.training.ray.search",
        "ray_tune": "jimbot.training.ray.tune_trials",
        "resources": "jimbot.runs.resources",
        "reward_transform": "jimbot.policies.reward_transform",
        "rllib_names": "jimbot.training.settings.rllib_names",
        "start": "jimbot.training.init_policy",
        "tuning": "jimbot.training.search.tune",
        "turns": "jimbot.training.trials.turn",
        "view": "jimbot.training.session.screen",
    },
    "jimbot.training.imitation": {
        "replays": "jimbot.training.imitation.public_games",
    },
    "jimbot.training.session": {
        "resources": "jimbot.runs.resources",
    },
    "jimbot.training.jax_ppo": {
        "statistics": "jimbot.training.jax_ppo.normalising",
    },
}
# Modules that became rooms of the same name: where the names they had are now.
NAMES = {
    "jimbot.games.balatro.rules.bosses": ("blind", "debuffs", "definitions", "dispatch"),
    "jimbot.games.balatro.rules.consumables": ("using",),
    "jimbot.games.balatro.rules.tags": ("held",),
}
MOVED = {f"{package}.{old}": new for package, names in _TABLE.items() for old, new in names.items()}


class _Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers for old paths only."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(fullname, self) if fullname in MOVED else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        new = MOVED[spec.name]
        warnings.warn(f"{spec.name} is now {new}; the old path goes with the next release.", DeprecationWarning, 2)
        module = importlib.import_module(new)
        spec.loader_state = module.__spec__  # the import system is about to write the alias's over it
        return module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def keep_old_paths() -> None:
    """Called once, by `import jimbot`."""
    if not any(isinstance(finder, _Alias) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Alias())  # before the folders: an old one may still hold compiled leftovers


def old_names(room: str) -> Callable[[str], Any]:
    """The `__getattr__` of a room that was a module: its old names, out of the modules that have them now."""

    def find(name: str) -> Any:
        for part in NAMES[room] if not name.startswith("__") and name not in NAMES[room] else ():
            module = importlib.import_module(f"{room}.{part}")
            if hasattr(module, name):
                text = f"{room}.{name} is now in {module.__name__}; the old path goes with the next release."
                warnings.warn(text, DeprecationWarning, 2)
                return getattr(module, name)
        raise AttributeError(f"module {room} has no attribute {name}")

    return find
