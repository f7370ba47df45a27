"""Ray itself: joined where it runs, or started here with bounded memory, and asked what it has."""

from __future__ import annotations

import json
import logging
import os
import secrets
import shutil
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from jimbot.errors import SettingsError, TrainingError
from jimbot.logs import log_level
from jimbot.training.memory import GIGABYTE, MemoryBudget
from jimbot.training.ray import ray
from jimbot.training.settings.record import TrainSettings

LEAST_STORE = 80 * 2**20
"""Ray starts with no less."""
KNOCK_SECONDS = 5.0
LOOPBACK = "127.0.0.1"
MOST_OF_DISK = 0.95
"""Ray never fills a disk beyond this share, whatever a run allows."""


class Gpus(NamedTuple):
    """How GPUs are shared out."""

    learners: int = 0
    """Processes that learn, each a part of every minibatch; 0: the one that also drives the run."""
    per_learner: float = 0
    per_runner: float = 0


class Cluster:
    """The Ray this process is connected to. `close` ends only what was started here."""

    def __init__(self, settings: TrainSettings, spill: Path, note: Callable[[str], None]) -> None:
        """`spill`: where shared memory overflows to; `note` is called with what differs from what was asked."""
        self.started, self._spill = False, spill
        logging.getLogger("ray").setLevel(logging.ERROR)  # notices about RLlib's own insides, many per run
        if not ray.is_initialized():
            if settings.ray.address is None:
                self._start(settings, spill)
            else:
                join(settings.ray.address)
        self.resources = ray.cluster_resources()
        check_runners(settings, int(self.resources.get("CPU", 0)))
        self.gpus = usable_gpus(settings, self.resources.get("GPU", 0.0), note)

    def _start(self, settings: TrainSettings, spill: Path) -> None:
        check_runners(settings, psutil.cpu_count() or 1)
        spill.mkdir(parents=True, exist_ok=True)
        listen_on_loopback()
        keep_token_private()
        try:
            ray.init(
                address="local",  # a new one, whatever else runs here or left its file behind
                _node_ip_address=LOOPBACK,
                # The learner lives in this process and takes no CPU of Ray's; runners take one each.
                num_cpus=max(settings.ray.num_env_runners, psutil.cpu_count() or 1),
                object_store_memory=object_store(settings),
                include_dashboard=False,
                log_to_driver=shows_details(),
                configure_logging=False,
                _system_config={
                    "object_spilling_config": json.dumps(
                        {"type": "filesystem", "params": {"directory_path": str(spill.absolute())}}
                    ),
                    "local_fs_capacity_threshold": spill_threshold(spill, settings.ray.spill_gb),
                },
            )
        except Exception as problem:  # Ray raises this very class where a busy machine was too slow for it
            ray.shutdown()
            raise TrainingError(f"Ray could not be started here: {' '.join(str(problem).split())}") from problem
        self.started = True

    def close(self) -> None:
        if self.started and ray.is_initialized():
            ray.shutdown()
            # Ray makes the folder anew to delete what it spilled: a run that was moved away must not come back by it.
            for folder in (self._spill, self._spill.parent):
                with suppress(OSError):  # whatever is not empty is another program's
                    folder.rmdir()
        self.started = False


def shows_details() -> bool:
    """Whether lines of other processes are wanted on this one's terminal."""
    return log_level() < logging.WARNING


def listen_on_loopback() -> None:
    """Keeps a cluster that starts here to this machine.

    Ray turns 127.0.0.1 into the machine's address in the network, so that others may join, unless this switch of its
    own says that nobody will (meant for macOS and Windows). Its processes read the variable, we have read it already.
    """
    from ray._private import ray_constants

    os.environ[ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR] = "0"
    ray_constants.ENABLE_RAY_CLUSTER = False


def keep_token_private() -> None:
    """Ray writes the token of a new cluster as the umask has it, mostly readable by all; who has it runs code
    as this user. So the file is made before Ray makes it, and one that is open to others is closed."""
    if {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys():
        return  # the user's own
    path = Path.home() / ".ray" / "auth_token"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        path.chmod(0o600)
        return
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(32))


def object_store(settings: TrainSettings) -> int:
    """Bytes of shared memory: its part of the run's limit, and no more than half of what is free."""
    half = psutil.virtual_memory().available // 2
    return max(LEAST_STORE, min(MemoryBudget(settings.memory.limit_gb).part("object_store"), half))


def spill_threshold(folder: Path, gigabytes: float) -> float:
    """The share of the disk at which Ray stops spilling: what is used now and so many gigabytes more."""
    disk = shutil.disk_usage(folder)
    return min(MOST_OF_DISK, (disk.used + gigabytes * GIGABYTE) / disk.total)


def start_alone() -> None:
    """Starts one for this process, on this machine alone, with what Ray itself finds right."""
    listen_on_loopback()
    keep_token_private()
    try:
        ray.init("local", include_dashboard=False, log_to_driver=shows_details(), configure_logging=False)
    except Exception as problem:  # of whatever class, as below
        ray.shutdown()
        raise TrainingError(f"Ray could not be started here: {' '.join(str(problem).split())}") from problem


def join(address: str) -> None:
    """Connects to a cluster that runs; one sentence if there is none."""
    try:
        _knock(address)
        ray.init(address=address, log_to_driver=shows_details(), configure_logging=False)
    except Exception as problem:  # of whatever class, as above
        raise SettingsError(
            f"There is no Ray cluster at address '{address}'. Start one with `ray start --head` on one machine and "
            "`ray start --address HOST:6379` on the others, or leave --address out to use this machine alone."
        ) from problem


def _knock(address: str) -> None:
    """Raises if nobody listens there: Ray itself would try for eight minutes."""
    host, colon, port = address.rpartition(":")
    if colon and "/" not in host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=KNOCK_SECONDS).close()


def check_runners(settings: TrainSettings, cpus: int) -> None:
    if settings.algorithm in ("BC", "MARWIL"):
        return  # nobody plays
    if settings.ray.num_env_runners > cpus:
        raise SettingsError(
            f"num_env_runners is {settings.ray.num_env_runners}, but there are {cpus} CPUs; each process that plays "
            f"takes one. Use --num-env-runners {max(1, cpus)}, or add machines to the cluster."
        )
    if settings.num_envs % settings.ray.num_env_runners:
        fitting = settings.ray.num_env_runners * max(1, round(settings.num_envs / settings.ray.num_env_runners))
        raise SettingsError(
            f"num_envs {settings.num_envs} cannot be shared out evenly to {settings.ray.num_env_runners} processes. "
            f"Use --num-envs {fitting}."
        )


def usable_gpus(settings: TrainSettings, there: float, note: Callable[[str], None]) -> Gpus:
    """What RLlib is given of GPUs: what was asked for where it exists, else CPUs, and that is said."""
    per_runner = settings.ray.num_gpus_per_env_runner
    wanted = settings.ray.num_gpus + per_runner * settings.ray.num_env_runners
    if wanted > there:
        note(
            f"{wanted:g} GPUs were asked for and {there:g} are there: learning and playing use the CPU instead "
            "(num_gpus, num_gpus_per_env_runner)."
        )
        return Gpus()
    learners = int(settings.ray.num_gpus)
    if learners < 2:
        return Gpus(per_learner=settings.ray.num_gpus, per_runner=per_runner)
    return Gpus(learners=learners, per_learner=1, per_runner=per_runner)
