"""Results as JSON lines: one header that says what was run on what, then one line a question.

A results file can be continued: its lines are not measured again, and those that an
interrupted run left half-written are dropped.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TextIO

import treering
from treering.errors import InputError
from treering_bench.read import json_lines

PACKAGES = ("numpy", "scipy", "onnxruntime", "tokenizers", "openai", "xllamacpp")
_CPU_INFO = Path("/proc/cpuinfo")
_DECIMALS = 6
"""Enough to tell any two means apart, and short lines."""


@dataclass(frozen=True, slots=True)
class RunHeader:
    """The code, data, settings and machine of a results file.

    ``settings`` holds what else decides the figures: the level, the embedding model, the answering
    model and its temperature.
    """

    benchmark: str
    data_sha256: str
    seed: int
    settings: Mapping[str, Any]
    commit: str
    versions: Mapping[str, str]
    machine: Mapping[str, Any]
    started: str

    @property
    def identity(self) -> dict[str, Any]:
        """The fields in which two runs must agree to share a file."""
        keys = ("benchmark", "data_sha256", "seed", "settings", "commit", "versions")
        return {key: getattr(self, key) for key in keys}


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The scores of one policy on one question."""

    policy: str
    task: str
    question: str
    category: str
    metrics: Mapping[str, float]
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, str]:
        """Policy, task and question: they make a line unique in its file."""
        return self.policy, self.task, self.question


def this_run(benchmark: str, data_sha256: str, seed: int, settings: Mapping[str, Any]) -> RunHeader:
    """A header that describes this process, this machine and this checkout."""
    return RunHeader(
        benchmark=benchmark,
        data_sha256=data_sha256,
        seed=seed,
        settings=dict(settings),
        commit=this_commit(),
        versions=_versions(),
        machine=this_machine(),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def with_header(run: RunHeader, figures: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a measurement as one object that says what they were measured with."""
    header = asdict(run)
    settings = header.pop("settings")
    return {"benchmark": header.pop("benchmark"), **settings, **header, **figures}


def this_machine() -> dict[str, Any]:
    """System, processor, number of processors, threads of linear algebra, and memory in GiB."""
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "cpus": os.cpu_count(),
        "threads": os.environ.get("OPENBLAS_NUM_THREADS") or os.cpu_count(),
        "memory_gib": _memory_gib(),
    }


def _processor() -> str:
    """The processor's name: from Linux itself, elsewhere from ``platform``."""
    try:
        information = _CPU_INFO.read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    names = (
        line.partition(":")[2].strip() for line in information.split("\n") if "model name" in line
    )
    return next(names, platform.machine())


def _memory_gib() -> float | None:
    """The physical memory in GiB; None where the system does not report it."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError):
        return None


class Results:
    """An open results file: knows what is measured already, and appends.

    Raises:
        InputError: the file holds another run, or is no results file.
    """

    def __init__(self, path: Path, run: RunHeader) -> None:
        self.run = run
        self.measured: dict[tuple[str, str, str], QuestionResult] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size:
            self._continue(path)
        self._path = path
        self._file: TextIO | None = None

    def _continue(self, path: Path) -> None:
        drop_unfinished_line(path)
        if not path.stat().st_size:
            return
        old, lines = read(path)
        if not lines:  # a run that failed before its first question: nothing is lost
            path.write_bytes(b"")
            return
        differing = [k for k, v in self.run.identity.items() if v != old.identity[k]]
        if differing:
            raise InputError(
                f"{path} holds a run with another {' and '.join(differing)}; "
                "give another --out, or remove the file"
            )
        self.run = old
        self.measured = {line.key: line for line in lines}

    def __contains__(self, key: tuple[str, str, str]) -> bool:
        return key in self.measured

    def add(self, measured: QuestionResult) -> None:
        """Append one line; it is in the file when this returns. The first makes the file."""
        if self._file is None:
            self._file = self._path.open("a", encoding="utf-8")
            if not self._file.tell():
                _write(self._file, {"kind": "run", **asdict(self.run)})
        self.measured[measured.key] = measured
        _write(self._file, {"kind": "measured", **asdict(measured)})

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def _write(file: TextIO, row: Mapping[str, Any]) -> None:
    file.write(json.dumps(_rounded(row), ensure_ascii=False) + "\n")
    file.flush()


def read(path: Path) -> tuple[RunHeader, list[QuestionResult]]:
    """The header and the lines of a finished results file."""
    rows = json_lines(path)
    header: object = next(rows, None)
    if not isinstance(header, dict) or header.pop("kind", None) != "run":
        raise InputError(f"{path} is not a results file: its first line describes no run")
    try:
        return RunHeader(**header), [
            QuestionResult(**row) for row in rows if row.pop("kind") == "measured"
        ]
    except (TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{path} is not a results file of this version: {error}") from error


def drop_unfinished_line(path: Path) -> None:
    """Cut off the half-written line that an interrupted run left."""
    written = path.read_bytes()
    if not written.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(written.rfind(b"\n") + 1)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _DECIMALS)
    if isinstance(value, Mapping):
        return {key: _rounded(inner) for key, inner in value.items()}
    return value


def _versions() -> dict[str, str]:
    versions = {"treering": treering.__version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue  # an optional dependency that this run does not use
    return versions


def this_commit() -> str:
    """The checkout's commit, ``-dirty`` if it has changes; ``unknown`` outside a checkout."""
    command = ("git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    folder = Path(treering.__file__).parent
    try:
        described = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return described.stdout.strip()
