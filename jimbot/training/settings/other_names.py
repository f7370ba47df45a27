"""What Stable-Baselines3, CleanRL, the training framework's records and the VGC trainer call our settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

RENAMED = {
    # Stable-Baselines3
    "learning_rate": "lr",
    "n_steps": "num_steps",
    "n_epochs": "update_epochs",
    "clip_range": "clip_eps",
    "clip_range_vf": "clip_value",
    "n_envs": "num_envs",
    "timesteps": "total_timesteps",
    "save_freq": "save_interval",
    "n_eval_episodes": "eval_games",
    # CleanRL
    "clip_coef": "clip_eps",
    "exp_name": "run_name",
    "env_id": "game",
    "wandb_project_name": "project",
    "wandb_entity": "entity",
    "end_e": "exploration_final_eps",
    "target_network_frequency": "target_update_interval",
    "train_frequency": "train_freq",
    # RLlib's newer word, and the training framework's records
    "grad_clip": "max_grad_norm",
    "entropy_coefficient": "ent_coef",
    "policy_net_arch": "policy_layers",
    "value_net_arch": "value_layers",
    "save_dir": "checkpoint_dir",
    "checkpoint_freq": "save_interval",
    "eval_freq": "eval_interval",
    "wandb_project": "project",
    # the VGC trainer
    "ppo_epochs": "update_epochs",
}
"""Name elsewhere → ours, where the value is the same."""

BATCH = {"DQN": "replay_batch_size", "BC": "num_steps", "MARWIL": "num_steps"}
"""What `batch_size` means, by algorithm: of all others the samples of one minibatch."""

Known = Callable[[str], Any]
DERIVED: dict[str, tuple[str, Callable[[Any, Known], Any]]] = {
    "value_function_coefficient": ("vf_coef", lambda value, _: 2 * float(value)),
    "clip_vloss": ("clip_value", lambda value, known: float(known("clip_eps")) if value in (True, "true") else 0.0),
}
"""Name elsewhere → ours and its value: a weight of the whole squared error, a switch for the range of the ratio."""

GONE = {"rival_coef": "predicting the opponent gave nothing (docs/learners/training-log.md)"}
"""Settings that were, and why they are no more; stored configurations have them switched off."""

UNKNOWN_HERE = {
    **dict.fromkeys(("policy_kwargs", "net_arch"), "network, hidden_dim and num_layers, or policy_layers"),
    **dict.fromkeys(("norm_adv", "normalize_advantage"), "nothing: advantages are always normalised"),
    **dict.fromkeys(
        ("tau", "gradient_steps", "start_e"), "target_update_interval, train_freq and exploration_fraction"
    ),
    **dict.fromkeys(("verbose", "torch_deterministic", "capture_video", "n_stack"), "nothing; leave it out"),
    **dict.fromkeys(("device", "cuda"), "nothing: the learner takes the device it finds"),
    "tensorboard_log": "nothing: every run has its TensorBoard files (tensorboard --logdir runs)",
    **dict.fromkeys(("track", "use_wandb"), "project, which turns W&B on"),
    **dict.fromkeys(("use_sde", "sde_sample_freq", "rms_prop_eps", "use_rms_prop"), "nothing; leave it out"),
}
"""Names that have no counterpart, and what to give instead."""
