"""The one configuration of a run, and every way to write it."""

from jimbot.training.settings.record import RunSettings, TrainSettings, load_settings, parse_assignments, read_yaml

__all__ = ["RunSettings", "TrainSettings", "load_settings", "parse_assignments", "read_yaml"]
