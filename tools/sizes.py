"""Sizes beyond those of the tests: tried by hand, as they take minutes to hours.

``python -m tools.sizes entries|spaces|text|requests NUMBER [FOLDER]`` makes a memory of so many
entries, of so many spaces with an entry each, of a text of so many megabytes, or asks a server so
many times, and says what it took. Everything is asked for again at the end. Vectors are made at no
cost: what is tried is not the embedder. docs/explanation/reliability.md has the figures.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.faults.test_large import Constant
from treering import Memory
from treering.memory import DEFAULT_SPACE

LINE = "It was a dark and stormy night; the rain fell in torrents.\n"
NEEDLE = "The heron nests behind the observatory."
BATCH = 10_000


def opened(path: Path, space: str = DEFAULT_SPACE) -> Memory:
    """A memory whose vectors cost nothing."""
    return Memory.open(path, space=space, embedder=Constant(dimension=4), llm="none", create=True)


def try_entries(path: Path, count: int) -> None:
    """A chat of so many turns, one of them the needle."""

    def turns(start: int) -> Iterator[dict[str, str]]:
        for number in range(start, min(start + BATCH, count)):
            text = NEEDLE if number == count // 2 else f"Turn {number} of {number % 977}. {LINE}"
            yield {"role": "user", "content": text}

    with opened(path) as memory:
        for start in range(0, count, BATCH):
            memory.add(turns(start), source="talk")
        said("stored")
        assert memory.stats().entries == count
        find(memory)
    with opened(path) as memory:
        find(memory)
        said("opened again, and searched")
        [hit] = memory.search(NEEDLE, k=1, mode="lexical")
        assert memory.forget(hit.entry_id).scrubbed
        said("forgot one")


def try_spaces(path: Path, count: int) -> None:
    """So many spaces with an entry each, made one after the other."""
    for number in range(count):
        with opened(path, f"tenant {number}") as memory:
            memory.add(NEEDLE if number == count // 2 else f"Turn {number}.")
        if number % (count // 5 or 1) == 0:
            said(f"{number:,} spaces")
    with opened(path, f"tenant {count // 2}") as memory:
        find(memory)
        assert len(memory.spaces()) == count
        said("searched")
        assert memory.forget_space(f"tenant {count - 1}").scrubbed
        said("removed one")


def try_text(path: Path, megabytes: int) -> None:
    """A file of one text, with the needle in its middle."""
    file = path.with_suffix(".txt")
    with file.open("w", encoding="utf-8") as stream:
        for number in range(megabytes):
            stream.write(LINE * (2**20 // len(LINE)))
            if number == megabytes // 2:
                stream.write(NEEDLE + "\n")
    with opened(path) as memory:
        memory.add(file)
        said("stored")
        find(memory)


def try_requests(path: Path, count: int) -> None:
    """A server that is asked so many times by one client: a text in five, searches else."""
    import httpx2

    from tests.serve.live import serving

    with (
        serving(url=path, embedder=Constant(dimension=4)) as url,
        httpx2.Client(timeout=60) as client,
    ):
        client.post(f"{url}/v1/entries", json={"text": NEEDLE}).raise_for_status()
        for number in range(count - 2):
            if number % 5:
                body = {"query": NEEDLE, "k": 1, "mode": "lexical"}
                answer = client.post(f"{url}/v1/search", json=body)
                assert answer.json()[0]["text"] == NEEDLE
            else:
                answer = client.post(f"{url}/v1/entries", json={"text": f"Turn {number}."})
            answer.raise_for_status()
            if number % (count // 5 or 1) == 0:
                said(f"{number:,} requests")
        entries = client.get(f"{url}/v1/stats").json()["entries"]
        assert entries == len(range(0, count - 2, 5)) + 1, entries


def find(memory: Memory) -> None:
    """Search for the needle."""
    hits = memory.search(NEEDLE, k=1, mode="lexical")
    assert NEEDLE in hits[0].text, hits
    said("found")


BEGAN = time.monotonic()


def said(what: str) -> None:
    """Say what is done, with the seconds and the most memory that it took so far."""
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{time.monotonic() - BEGAN:8.1f} s  {most:6,} MB  {what}", flush=True)


TRIALS: dict[str, Callable[[Path, int], None]] = {
    "entries": try_entries,
    "spaces": try_spaces,
    "text": try_text,
    "requests": try_requests,
}


def main(kind: str, number: str, folder: str | None = None) -> None:
    """Try one size in a folder of its own, which is removed."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        path = Path(name) / "life.db"
        TRIALS[kind](path, int(number))
        said(f"the end; the file has {path.stat().st_size / 1e6:,.0f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:])
