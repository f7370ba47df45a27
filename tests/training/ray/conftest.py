"""A cluster of the tests' own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Ray of our own: without "local" it joins whatever a file of somebody else's names, dead or not."""
    import ray

    ray.init("local", num_cpus=2, object_store_memory=150 * 2**20, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()
