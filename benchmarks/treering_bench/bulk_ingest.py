"""How fast texts are taken in: one process that adds, and workers of a bulk ingest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from treering.errors import InputError

FILE_BYTES: Final = 1 << 20
_MEBI: Final = 1 << 20
_KIB_A_MB: Final = 1024


@dataclass(frozen=True, slots=True)
class IngestWay:
    """A way to take texts in: serially, or by so many workers, here or on Ray."""

    workers: int | None = None
    ray: str | None = None

    @property
    def name(self) -> str:
        """What tables call it."""
        if self.workers is None:
            return "add"
        return f"{self.workers} on Ray" if self.ray else f"{self.workers} here"

    @property
    def arguments(self) -> list[str]:
        """The command of treering and its options."""
        if self.workers is None:
            return ["add"]
        ray = [] if self.ray is None else ["--ray", self.ray]
        return ["ingest", "--workers", str(self.workers), *ray]


def measure(
    data: Path, megabytes: float, ways: Sequence[IngestWay], embedder: str
) -> Iterator[dict[str, Any]]:
    """Take the same texts in by each way, each time into a new file; the figures of each.

    ``seconds`` are of the whole process, with all that has to start; ``peak_mb`` is the main memory
    of the largest process, and ``processor_seconds`` are of all, but for actors of Ray, which are
    no children of it. Where there are too few texts they are repeated, in other files.
    """
    with TemporaryDirectory(prefix="treering-bench-") as folder:
        texts = Path(folder, "texts")
        size = write_texts(data, texts, int(megabytes * _MEBI))
        for number, way in enumerate(ways):
            yield _measured(way, texts, size, Path(folder, f"{number}.db"), embedder)


def write_texts(data: Path, folder: Path, size: int) -> int:
    """Write files of about a megabyte, together at least so many bytes; return how many."""
    sources = [data] if data.is_file() else sorted(path for path in data.rglob("*.txt"))
    contents = [path.read_text("utf-8", errors="replace") for path in sources]
    if not any(map(str.strip, contents)):
        raise InputError(f"{data} has no text; give a file of text, or a folder with .txt files")
    folder.mkdir()
    written = files = 0
    pending: list[str] = []
    for content in cycle(contents):
        pending.append(content)
        if sum(map(len, pending)) >= min(FILE_BYTES, size - written):
            text = "\n\n".join(pending)[: size - written]
            written += (folder / f"{files:06}.txt").write_bytes(text.encode())
            files, pending = files + 1, []
        if written >= size:
            return written
    return written


def _measured(way: IngestWay, texts: Path, size: int, file: Path, embedder: str) -> dict[str, Any]:
    options = ["--json", "--memory", str(file), "--embedder", embedder, "--llm", "none"]
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "treering", *way.arguments, str(texts), *options],
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    if process.returncode:
        raise InputError(f"`treering {' '.join(way.arguments)}` failed; see what it says above")
    fragments = _fragments(file)
    return {
        "way": way.name,
        "bytes": size,
        "fragments": fragments,
        "seconds": seconds,
        "texts_per_second": fragments / seconds,
        "mb_per_second": size / 1e6 / seconds,
        "processor_seconds": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss / _KIB_A_MB,
    }


def _fragments(file: Path) -> int:
    """How many fragments a memory has; all of them have to be embedded."""
    command = [sys.executable, "-m", "treering", "stats", "--json", "--memory", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    stats = json.loads(done.stdout)
    if stats["pending"]:
        raise InputError(f"{stats['pending']} are pending: the embedder failed")
    return int(stats["fragments"])
