"""Where Numba keeps the machine code of a kernel: by the name of its module, not by where the package lies.

The cache directory is already named by a hash of every source (`kernels.py`), so a folder per place would only compile
the same code again in a second clone or a container. Numba still compares a hash of the kernel's own file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numba
from numba.core.caching import UserProvidedCacheLocator


class CachePlace(UserProvidedCacheLocator):
    """Numba asks for one per kernel (its setting `CACHE_LOCATOR_CLASSES`)."""

    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        super().__init__(py_func, py_file)
        settings: Any = numba.config
        self._cache_path = os.path.join(settings.CACHE_DIR, py_func.__module__)


NAME = f"{__name__}.{CachePlace.__name__}"
