"""The server under load: its searches against those in the process, and many clients at once.

    python -m benchmarks.serve_load search [--memory FILE] [--fragments 100000]
    python -m benchmarks.serve_load mixed [--memory FILE] [--clients 200] [--seconds 60]

``search`` alternates rounds of searches in a process and over REST, on one machine, client and
server sharing its cores, and prints the throughput of both and their ratio. ``mixed`` lets many
clients add and search at once, then compares what was acknowledged with what is there. The memory
has turns with random vectors if FILE is not there; what is added is embedded by the bundled
model. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from treering import Memory
from treering.bench.perf.texts import RandomVectors, turns
from treering.embed.minilm import MiniLM
from treering.serve.run import run
from treering.serve.settings import ServerSettings

ROUNDS = 3
ROUND_S = 8.0
THREADS = (1, 2, 4)
"""Of the process that searches without a server: its best counts."""

SEARCHERS = 32  # clients of the server in ``search``
ADDS = 0.2
"""The share of adds in ``mixed``: agents look things up more often than they say new ones."""

WARM_UP_S = 10.0  # until then memory grows: connections, caches, threads
START_S = 120.0


def build(path: Path, count: int) -> None:
    """A memory of turns with random vectors, which stand for the bundled model's."""
    model = MiniLM()
    with Memory.open(path, embedder=RandomVectors(model.name, model.dimension)) as memory:
        memory.add(turns(0, count), source="chat")


def question(number: int) -> str:
    """A query that no other has."""
    return f"what did Ben tell Ana about name{37 * number % 30_000} before name{number}?"


class Client:
    """One connection that is kept: little more than the bytes, so that the server is measured."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        """The status and body of the answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address)
        reader, writer = self._streams
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        found = await reader.readuntil(b"\r\n\r\n")
        status = int(found.split(b" ", 2)[1])
        fields = dict(line.split(b": ", 1) for line in found.lower().split(b"\r\n")[1:-2])
        return status, await reader.readexactly(int(fields[b"content-length"]))

    async def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            await self._streams[1].wait_closed()


@contextmanager
def serving(path: Path) -> Iterator[tuple[str, int]]:
    """A server in a process of its own; its host and port."""
    command = [sys.executable, "-m", "benchmarks.serve_load", "serve", "--memory", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            yield "127.0.0.1", int(url.rpartition(":")[2])
        finally:
            process.terminate()
            process.wait(START_S)


def searches_in_process(memory: Memory, threads: int) -> float:
    """Searches a second of so many threads that share a memory."""
    end, counts = time.perf_counter() + ROUND_S, [0] * threads

    def search(thread: int) -> None:
        while time.perf_counter() < end:
            memory.search(question(random.randrange(10**6)))
            counts[thread] += 1

    workers = [threading.Thread(target=search, args=(thread,)) for thread in range(threads)]
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(counts) / (time.perf_counter() - began)


async def searches_over_rest(host: str, port: int) -> float:
    """Searches a second of many clients of a server."""
    clients = [Client(host, port) for _ in range(SEARCHERS)]
    began = time.perf_counter()
    end, count = began + ROUND_S, 0

    async def search(client: Client) -> None:
        nonlocal count
        while time.perf_counter() < end:
            wanted = {"query": question(random.randrange(10**6))}
            status, body = await client.post("/v1/search", wanted)
            assert status == 200, body
            count += 1

    await asyncio.gather(*(search(client) for client in clients))
    taken = time.perf_counter() - began
    await asyncio.gather(*(client.close() for client in clients))
    return count / taken


def compare_searches(path: Path) -> dict[str, Any]:
    """Alternating rounds; the median of each and of their ratio."""
    found: dict[str, list[float]] = {f"in_process_{threads}": [] for threads in THREADS}
    found["rest"] = []
    with serving(path) as (host, port), Memory.open(path, embedder=MiniLM()) as memory:
        memory.search("warm up")
        asyncio.run(Client(host, port).post("/v1/search", {"query": "warm up"}))
        for _ in range(ROUNDS):
            for threads in THREADS:
                found[f"in_process_{threads}"].append(searches_in_process(memory, threads))
            found["rest"].append(asyncio.run(searches_over_rest(host, port)))
    medians = {f"{name}_qps": statistics.median(values) for name, values in found.items()}
    best = [max(found[f"in_process_{threads}"][at] for threads in THREADS) for at in range(ROUNDS)]
    ratios = [rest / one for rest, one in zip(found["rest"], best, strict=True)]
    return {**medians, "ratio": statistics.median(ratios), "ratios": ratios}


async def mixed(host: str, port: int, clients: int, seconds: float) -> dict[str, Any]:
    """Clients that add and search at once; latencies, errors, and the texts acknowledged by id."""
    rng = random.Random(0)
    taken: dict[str, list[float]] = {"add": [], "search": []}
    errors: Counter[str] = Counter()
    added: dict[str, str] = {}
    resident: list[tuple[float, float]] = []
    began = time.perf_counter()

    async def timed(
        kind: str, call: Callable[[], Awaitable[tuple[int, bytes]]]
    ) -> dict[str, Any] | None:
        start = time.perf_counter()
        status, body = await call()
        taken[kind].append(time.perf_counter() - start)
        if status >= 300:
            errors[f"{kind} {status}"] += 1
            return None
        return {"found": json.loads(body)}

    async def act(name: int) -> None:
        client, number = Client(host, port), 0
        while time.perf_counter() < began + seconds:
            number += 1
            if rng.random() < ADDS:
                text = f"client{name} noted that step{number} went to place{rng.randrange(10**6)}"
                body = {"text": text, "source": f"client {name}"}
                done = await timed("add", lambda body=body: client.post("/v1/entries", body))  # type: ignore[misc]
                if done is not None:
                    [identity] = done["found"]["ids"]
                    assert identity not in added
                    added[identity] = text
            else:
                query = {"query": question(rng.randrange(10**6))}
                await timed("search", lambda query=query: client.post("/v1/search", query))  # type: ignore[misc]
        await client.close()

    async def watch() -> None:
        while time.perf_counter() < began + seconds:
            await asyncio.sleep(1)
            resident.append((time.perf_counter() - began, await _resident(host, port)))

    await asyncio.gather(watch(), *(act(name) for name in range(clients)))
    return {
        "clients": clients,
        "seconds": seconds,
        **{f"{kind}s": len(values) for kind, values in taken.items()},
        **{f"{kind}_{name}": value for kind in taken for name, value in _times(taken[kind])},
        "errors": dict(errors),
        **_steadiness(resident),
        "added": added,
    }


async def _resident(host: str, port: int) -> float:
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    text = (await reader.read()).decode()
    writer.close()
    [line] = [one for one in text.splitlines() if one.startswith("process_resident_memory_bytes")]
    return float(line.split()[1])


def _times(values: Sequence[float]) -> Iterator[tuple[str, float]]:
    cuts = statistics.quantiles(values, n=100)
    yield from (
        ("p50_ms", 1e3 * cuts[49]),
        ("p99_ms", 1e3 * cuts[98]),
        ("max_ms", 1e3 * max(values)),
    )


def _steadiness(resident: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Resident bytes after warming up and at the end: medians of the first and last ten seconds."""
    late = [value for at, value in resident if at > WARM_UP_S]
    return {
        "resident_mb_first": statistics.median(late[:10]) / 1e6,
        "resident_mb_last": statistics.median(late[-10:]) / 1e6,
    }


def compare_entries(path: Path, added: dict[str, str]) -> dict[str, int]:
    """How the entries of the clients differ from what was acknowledged."""
    with Memory.open(path, embedder=MiniLM()) as memory:
        kept = [entry for entry in memory.entries() if entry.source.startswith("client ")]
    texts = Counter(entry.text for entry in kept)
    identities = {entry.id: entry.text for entry in kept}
    return {
        "acknowledged": len(added),
        "lost": sum(identities.get(one) != text for one, text in added.items()),
        "duplicated": sum(count - 1 for count in texts.values()),
        "never_acknowledged": len(identities.keys() - added.keys()),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["search", "mixed", "serve"])
    parser.add_argument("--memory", type=Path)
    parser.add_argument("--fragments", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    if given.what == "serve":
        run(
            ServerSettings(given.memory, port=0, embedder=MiniLM()),
            lambda url: print(url, flush=True),
        )
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "benchmark.db"
        if given.memory and given.memory.exists():
            shutil.copy(given.memory, path)
        else:
            build(path, given.fragments)
        if given.what == "search":
            figures = compare_searches(path)
        else:
            with serving(path) as (host, port):
                asyncio.run(Client(host, port).post("/v1/search", {"query": "warm up"}))
                figures = asyncio.run(mixed(host, port, given.clients, given.seconds))
            figures |= compare_entries(path, figures.pop("added"))
    print(json.dumps({"fragments": given.fragments, **figures}, indent=1))


if __name__ == "__main__":
    main()
