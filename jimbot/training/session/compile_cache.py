"""Compiled programs kept on disk, so that only the first start on a machine pays for compilation."""

from __future__ import annotations

import os
from pathlib import Path

CACHE_VARIABLE = "JIMBOT_CACHE_DIR"


def cache_directory() -> Path:
    """`$JIMBOT_CACHE_DIR`, else `jimbot` in the user's cache directory."""
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jimbot"


def use_compile_cache() -> None:
    """Turns JAX's persistent cache on, unless the user already pointed it somewhere."""
    import jax

    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        jax.config.update("jax_compilation_cache_dir", str(cache_directory() / "jax"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
