"""Try sizes beyond those of the tests, by hand, because they take minutes to hours.

``python -m tools.sizes entries|spaces|text|requests NUMBER [FOLDER]`` fills a memory with so many
entries, with so many spaces of one entry, or with a text of so many megabytes, or sends so many
requests to a server. It prints time and memory, and looks for the needle at the end. Vectors are
constant, because the embedder is not on trial. docs/explanation/reliability.md has the figures.
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


def open_memory(path: Path, space: str = DEFAULT_SPACE) -> Memory:
    """Open a memory with constant vectors."""
    return Memory.open(path, space=space, embedder=Constant(dimension=4), llm="none", create=True)


def try_entries(path: Path, count: int) -> None:
    """Store a chat of so many turns; one of them is the needle."""

    def turns(start: int) -> Iterator[dict[str, str]]:
        for number in range(start, min(start + BATCH, count)):
            text = NEEDLE if number == count // 2 else f"Turn {number} of {number % 977}. {LINE}"
            yield {"role": "user", "content": text}

    with open_memory(path) as memory:
        for start in range(0, count, BATCH):
            memory.add(turns(start), source="talk")
        report("stored")
        assert memory.stats().entries == count
        find(memory)
    with open_memory(path) as memory:
        find(memory)
        report("opened again, and searched")
        [hit] = memory.search(NEEDLE, k=1, mode="lexical")
        assert memory.forget(hit.entry_id).scrubbed
        report("forgot one")


def try_spaces(path: Path, count: int) -> None:
    """Create so many spaces with an entry each, one after the other."""
    for number in range(count):
        with open_memory(path, f"tenant {number}") as memory:
            memory.add(NEEDLE if number == count // 2 else f"Turn {number}.")
        if number % (count // 5 or 1) == 0:
            report(f"{number:,} spaces")
    with open_memory(path, f"tenant {count // 2}") as memory:
        find(memory)
        assert len(memory.spaces()) == count
        report("searched")
        assert memory.forget_space(f"tenant {count - 1}").scrubbed
        report("removed one")


def try_text(path: Path, megabytes: int) -> None:
    """Store one text with the needle in its middle."""
    file = path.with_suffix(".txt")
    with file.open("w", encoding="utf-8") as stream:
        for number in range(megabytes):
            stream.write(LINE * (2**20 // len(LINE)))
            if number == megabytes // 2:
                stream.write(NEEDLE + "\n")
    with open_memory(path) as memory:
        memory.add(file)
        report("stored")
        find(memory)


def try_requests(path: Path, count: int) -> None:
    """Send so many requests to a server: one in five adds a text, the others search."""
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
                report(f"{number:,} requests")
        entries = client.get(f"{url}/v1/stats").json()["entries"]
        assert entries == len(range(0, count - 2, 5)) + 1, entries


def find(memory: Memory) -> None:
    """Search for the needle."""
    hits = memory.search(NEEDLE, k=1, mode="lexical")
    assert NEEDLE in hits[0].text, hits
    report("found")


BEGAN = time.monotonic()


def report(step: str) -> None:
    """Print a step with the seconds and the peak memory so far."""
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{time.monotonic() - BEGAN:8.1f} s  {most:6,} MB  {step}", flush=True)


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
        report(f"the end; the file has {path.stat().st_size / 1e6:,.0f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:])
