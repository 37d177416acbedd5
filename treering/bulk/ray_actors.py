"""Workers that are actors of Ray: on this machine, or on a cluster where treering is installed.

Only the calling process reads files and writes the memory, so Ray Data with its own readers is not
needed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import cycle
from typing import Any, Final, Self

import treering
from treering.bulk.worker import MAX_LOST, Derived, Worker, WorkerTask
from treering.embed.contract import Embedder
from treering.errors import InputError, MissingExtra, TreeringError, WorkersLost

_AUTH_MODE: Final = "RAY_AUTH_MODE"
_TOKEN: Final = "token"
if "ray" not in sys.modules:  # it reads these once, at its import
    os.environ.setdefault(_AUTH_MODE, _TOKEN)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing goes to its makers

try:
    import ray
    from ray.exceptions import GetTimeoutError, RayActorError, RayError, RayTaskError
except ModuleNotFoundError as missing:
    raise MissingExtra.of("ray", "ray") from missing

START_TIMEOUT_S: Final = 120.0
"""Actors wait for processors that other work on the cluster has."""

_LOCAL: Final = "local"
_STORE_BYTES: Final = 256 << 20
"""A local cluster's store for tasks and results, which are small."""


class RayActors:
    """A ``WorkerPool`` of actors. A context manager: they end with it, and so does a local cluster.

    ``address`` is ``auto`` for the cluster that runs here or that RAY_ADDRESS names, ``local`` for
    one that is started for this, or an address. Raises InputError for one that cannot be reached,
    or has another treering, and if RAY_AUTH_MODE turns authentication off.
    """

    def __init__(self, embedder: str | Embedder, size: int | None, address: str) -> None:
        with ExitStack() as stack:
            stack.enter_context(_connect(address))
            self.size = _size(size)
            remote: Any = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=MAX_LOST - 1)
            make = remote(_Actor).remote
            self._actors = [make(embedder) for _ in range(self.size)]
            for actor in self._actors:
                stack.callback(ray.kill, actor)
            self._await_start()
            self._next = cycle(self._actors)
            self._end = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._end.close()

    def submit(self, task: WorkerTask) -> Any:
        """See ``WorkerPool``."""
        return next(self._next).derive.remote(task)

    def collect(self, pending: Any) -> Derived:
        """See ``WorkerPool``."""
        with _ray_errors():
            derived: Derived = ray.get(pending)
        return derived

    def _await_start(self) -> None:
        """Wait until all actors run. Raise InputError if they have another treering."""
        with _ray_errors():
            versions = ray.get(
                [actor.version.remote() for actor in self._actors], timeout=START_TIMEOUT_S
            )
        others = {version for version in versions if version != treering.__version__}
        if others:
            raise InputError(
                f"the cluster has treering {', '.join(others)}, and this is treering "
                f"{treering.__version__}: they would derive otherwise; install the same everywhere"
            )


class _Actor(Worker):
    def version(self) -> str:
        return treering.__version__


def _size(asked: int | None) -> int:
    """Return the number of actors: by default one for each processor."""
    resources: Any = ray.cluster_resources  # it is untyped
    processors = int(resources().get("CPU", 0))
    if asked is not None and asked > processors:
        raise InputError(
            f"workers is {asked}, and the cluster has {processors} processors; give at most that",
            param="workers",
        )
    return asked or processors or 1


@contextmanager
def _connect(address: str) -> Iterator[None]:
    """Connect to a cluster, unless the program has a connection."""
    mode = os.environ.get(_AUTH_MODE, _TOKEN)
    if mode != _TOKEN:
        raise InputError(
            f"{_AUTH_MODE} is {mode!r}: any program that reaches the cluster's ports could run "
            f"code on it and read the texts; set it to {_TOKEN!r} there and here"
        )
    if ray.is_initialized():
        yield
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    if address == _LOCAL:
        options |= {"include_dashboard": False, "object_store_memory": _STORE_BYTES}
    try:
        ray.init(address=address, **options)
    except (OSError, RuntimeError, ValueError, RayError) as error:
        raise InputError(
            f"no cluster of Ray answers at {address!r} ({error}); give the address of one, 'auto' "
            "for the one that runs here, or 'local' to start one for this"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def _ray_errors() -> Iterator[None]:
    """Raise a worker's own error, and Ray's errors as ``WorkersLost``."""
    try:
        yield
    except RayTaskError as error:
        if isinstance(error.cause, TreeringError):
            raise error.cause from None
        raise
    except GetTimeoutError as error:
        raise InputError(
            f"not all workers began within {START_TIMEOUT_S:g} s: the cluster has other work; "
            "give fewer workers, or try again later"
        ) from error
    except RayActorError as error:
        raise WorkersLost.over(MAX_LOST, str(error)) from error
