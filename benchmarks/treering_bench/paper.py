"""The experiments of the four papers, from ``experiments.toml``: commands, data, and missing parts.

The commands of a row run one after another, each in a process of its own. Results files and kept
replies make a run that was stopped go on when it is started again.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, Final

from treering_bench.report import table

PAPERS: Final = {
    "fragrel": "FragRel",
    "memtree": "MemTree",
    "memochat": "MemoChat",
    "codemem": "CodeMEM",
}

SMALL_BUDGET: Final = 400
"""Tokens of a prompt in a small run."""

_ROWS: Final[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("experiments.toml").read_text("utf-8")
)
_PIECES: Final[Mapping[str, str]] = _ROWS.pop("pieces")


@dataclass(frozen=True, slots=True)
class Places:
    """The values of the names in commands. With ``limit`` all runs are small, and fewer."""

    data: str = "DATA"
    sources: str = "SOURCES"
    llm: str = "MODEL"
    judge: str = "MODEL"
    model: str = "FILE.gguf"
    out: str = "OUT"
    limit: int | None = None
    minutes: float | None = None

    def names(self) -> dict[str, object]:
        """All names but pieces and the values of a row."""
        texts = ("data", "sources", "llm", "judge", "model", "out")
        return {name: shlex.quote(getattr(self, name)) for name in texts} | {
            "some": "" if self.limit is None else f"--limit {self.limit}",
            "few": _Most(None if self.limit is None else 4 * self.limit + 4),
            "room": _Most(None if self.limit is None else SMALL_BUDGET),
            "minutes": "" if self.minutes is None else f"--minutes {self.minutes:g}",
        }


class _Most:
    """A number that a command names as ``{few:200}``, or the most of a small run."""

    def __init__(self, most: int | None) -> None:
        self._most = most

    def __format__(self, number: str) -> str:
        return number if self._most is None else str(min(int(number), self._most))


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table or figure of a paper, or a run for a GPU."""

    name: str
    title: str
    data: str
    commands: tuple[str, ...]
    missing: str = ""
    rivals: str = ""
    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def paper(self) -> str:
        """The paper, by its method's name; empty for a run for a GPU."""
        return PAPERS.get(self.name.partition("-")[0], "")

    def filled(self, places: Places) -> Iterator[list[str]]:
        """The arguments of each command."""
        last = None if places.limit is None else 1
        for values in product(*(some[:last] for some in self.values.values())):
            names = places.names() | dict(zip(self.values, map(_split, values), strict=True))
            for command in self.commands:
                while "{" in command:  # pieces have names, too
                    command = command.format(**{**_PIECES, **names})
                yield shlex.split(command)


def _split(value: Any) -> Any:
    """Several values in one text are a list, of which a command takes one by its place."""
    return value.split() if isinstance(value, str) and " " in value else value


EXPERIMENTS: Final[Mapping[str, Experiment]] = {
    name: Experiment(
        name,
        row["title"],
        row["data"],
        tuple(row["commands"]),
        row.get("missing", ""),
        row.get("rivals", ""),
        row.get("for", {}),
    )
    for name, row in _ROWS.items()
}


def program(command: Sequence[str]) -> str:
    """The module that runs a command: tuning is treering's own."""
    return "treering" if command[0] == "tune" else "treering_bench"


def run(experiment: Experiment, places: Places) -> int:
    """Run the commands of an experiment; return the exit code of the first that fails, else 0.

    The time that each takes is noted in ``seconds.jsonl``. All together stop after ``minutes``.
    """
    out = Path(places.out)
    out.mkdir(parents=True, exist_ok=True)
    end = None if places.minutes is None else time.monotonic() + 60 * places.minutes
    for number in range(sum(1 for _ in experiment.filled(places))):
        left = None if end is None else (end - time.monotonic()) / 60
        if left is not None and left <= 0:
            sys.stderr.write("the time is up; run the same command again to go on\n")
            return 0
        command = list(experiment.filled(replace(places, minutes=left)))[number]
        sys.stderr.write(f"{program(command)} {shlex.join(command)}\n")
        begun = time.monotonic()
        code = _run([sys.executable, "-m", program(command), *command])
        took = {"experiment": experiment.name, "command": command, "exit": code}
        with (out / "seconds.jsonl").open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(took | {'seconds': time.monotonic() - begun})}\n")
        if code:
            return code
    return 0


def _run(command: Sequence[str]) -> int:
    """Run a command, which is ended in order if this process is."""
    with subprocess.Popen(command) as running:
        try:
            return running.wait()
        except BaseException:
            running.terminate()
            raise


def experiments_table(papers: bool = True) -> str:
    """The experiments of the papers, or the runs for a GPU, as a Markdown table."""
    chosen = [one for one in EXPERIMENTS.values() if bool(one.paper) == papers]
    if not papers:
        return (
            f"{table(['run', 'question', 'data'], [[o.name, o.title, o.data] for o in chosen])}\n"
        )
    rows = [
        [
            f"{one.paper}, {one.title}",
            f"`treering-bench paper {one.name}`",
            one.data,
            one.missing or "–",
            one.rivals or "–",
        ]
        for one in chosen
    ]
    head = ["experiment", "command", "data", "what is missing", "systems not here"]
    return f"{table(head, rows)}\n"
