"""A server that is killed at a chosen moment while it answers.

``python -m tests.faults.server MEMORY before|after NUMBER`` prints its address, and is killed
before or after the commit of that number that follows; 0 is none. Its model prints ``asked``; with
``MEMORY held 0`` it then replies once it gets a line of input.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from tests.embedders import HashingEmbedder
from treering.journal.contract import Writer
from treering.journal.postgres.database import PostgresDatabase
from treering.journal.sqlite.database import SqliteDatabase
from treering.llm.scripted import FakeLLM, Request
from treering.serve.run import run
from treering.serve.settings import ServerSettings


def killed_at(moment: str, number: int, engine: type[SqliteDatabase | PostgresDatabase]) -> None:
    """End this process by its own hand at one of the commits from now on."""
    original, commits = engine.write, count(1)

    def end() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    @contextmanager
    def write(
        database: Any, space: str | None = None, *, derived: bool = False
    ) -> Iterator[Writer]:
        with original(database, space, derived=derived) as writer:
            yield writer
            commit = next(commits)
            if (moment, number) == ("before", commit):
                end()
        if (moment, number) == ("after", commit):
            end()

    setattr(engine, "write", write)  # noqa: B010


def main() -> None:
    place, moment, number = sys.argv[1:]
    is_postgres = place.startswith("postgresql:")

    def ready(url: str) -> None:
        killed_at(moment, int(number), PostgresDatabase if is_postgres else SqliteDatabase)
        print(url, flush=True)

    def asked(_: Request) -> None:
        print("asked", flush=True)
        if moment == "held":
            sys.stdin.readline()

    llm = FakeLLM(lambda _: "In Portugal.", before_reply=asked)
    url = place if is_postgres else Path(place)
    run(ServerSettings(url, port=0, embedder=HashingEmbedder(), llm=llm), ready)


if __name__ == "__main__":
    main()
