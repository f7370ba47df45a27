"""Run directories, checkpoints and metrics: everything a run leaves on the disk.

Importing this package loads neither jax nor torch, wandb or tensorboardX.
"""

from jimbot.runs.checkpoint import Checkpoint, CheckpointStore, find_checkpoint, load_checkpoint, run_names
from jimbot.runs.manifest import Manifest, check_matches, platform_info

__all__ = [
    "Checkpoint",
    "CheckpointStore",
    "Manifest",
    "check_matches",
    "find_checkpoint",
    "load_checkpoint",
    "platform_info",
    "run_names",
]
