"""What waits to be taken in: a small file an event, so that nothing is lost if no server runs."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from treering.agents.home import agents_home, make_private


def folder_of(memory: str) -> Path:
    """Where a memory's files wait."""
    key = hashlib.sha256(str(Path(memory).resolve()).encode()).hexdigest()[:16]
    return agents_home() / "inbox" / key


def leave(memory: str, job: dict[str, Any]) -> Path:
    """Leave a job, durable and whole when this returns."""
    folder = make_private(folder_of(memory))
    name = f"{time.time_ns():020}-{os.getpid()}-{os.urandom(3).hex()}.json"
    part = folder / f"{name}.part"
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        json.dump(job, stream)
        stream.flush()
        os.fsync(stream.fileno())
    return part.rename(folder / name)


def waiting(memory: str) -> Iterator[tuple[Path, dict[str, Any] | None]]:
    """The jobs in the order they were left; None for one that cannot be read."""
    folder = folder_of(memory)
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        try:
            job = json.loads(path.read_bytes())
        except FileNotFoundError:
            continue  # another server was quicker
        except ValueError:
            job = None
        yield path, job if isinstance(job, dict) else None
