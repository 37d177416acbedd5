"""The server under load: its searches against those in the process, and many clients at once.

Client and server are on one machine and share its cores. Run as a module, with the path of a
memory, it is the server itself: in a process of its own, so that it shares nothing else.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treering.embed.contract import Embedder
from treering.embed.registry import DEFAULT, open_embedder
from treering.errors import ServerError
from treering.journal.open import is_postgres
from treering.llm.settings import NONE
from treering.memory import Memory
from treering.records import Entry
from treering_bench.perf.texts import RandomVectors, turns

THREADS = (1, 2, 4)
"""Of the process that searches without a server: its best counts."""

SEARCHERS = 32  # clients of the server whose searches are compared
ADDS = 0.2
"""The share of adds of many clients: agents look things up more often than they say new ones."""

WARM_UP_S = 10.0  # until then memory grows: connections, caches, threads
START_S = 120.0
_SERVER = "treering_bench.server_load"
_RESIDENT = "process_resident_memory_bytes"


def build(path: Path, count: int, model: Embedder) -> None:
    """A memory of turns with random vectors, which stand for the model's."""
    vectors = RandomVectors(model.name, model.dimension)
    with Memory.open(path, embedder=vectors, llm=NONE) as memory:
        memory.add(turns(0, count), source="chat")


def question(number: int) -> str:
    """A query that no other has."""
    return f"what did Ben tell Ana about name{37 * number % 30_000} before name{number}?"


class RawConnection:
    """One connection that is kept open and does little, so that the server is measured."""

    def __init__(self, host: str, port: int, space: str | None = None) -> None:
        self._address = (host, port)
        self._space = "" if space is None else f"X-Treering-Space: {space}\r\n"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        """The status and body of the answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address)
        reader, writer = self._streams
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}{self._space}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        answer = await reader.readuntil(b"\r\n\r\n")
        status = int(answer.split(b" ", 2)[1])
        fields = dict(line.split(b": ", 1) for line in answer.lower().split(b"\r\n")[1:-2])
        return status, await reader.readexactly(int(fields[b"content-length"]))

    async def search(self, query: str) -> None:
        """Search. Raises ServerError."""
        status, body = await self.post("/v1/search", {"query": query})
        if status != 200:
            raise ServerError(f"the server answered a search with {status}: {body[:200]!r}")

    async def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            await self._streams[1].wait_closed()


@contextmanager
def serving(
    memory: str | Path, embedder: str = DEFAULT, *, warm: bool = True
) -> Iterator[tuple[str, int]]:
    """A server in a process of its own; its host and port. Raises ServerError.

    It has answered a search already, if it is to be ``warm``.
    """
    command = [sys.executable, "-m", _SERVER, str(memory), embedder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            if not url:
                raise ServerError("the server did not start; what it said is above")
            host, port = "127.0.0.1", int(url.rpartition(":")[2])
            if warm:
                asyncio.run(_warm_up(host, port))
            yield host, port
        finally:
            process.terminate()
            process.wait(START_S)


async def _warm_up(host: str, port: int) -> None:
    connection = RawConnection(host, port)
    await connection.search("warm up")
    await connection.close()


# ------------------------------------------------------------------ searches compared


def compare_searches(
    path: Path, model: Embedder, embedder: str, rounds: int, seconds: float
) -> dict[str, Any]:
    """Searches a second in the process and over REST: alternating rounds of so many seconds.

    The median of each, and of the ratio of REST to the best of the process.
    """
    rates: dict[str, list[float]] = {f"in_process_{threads}": [] for threads in THREADS}
    rates["rest"] = []
    with (
        serving(path, embedder) as (host, port),
        Memory.open(path, embedder=model, llm=NONE) as memory,
    ):
        memory.search("warm up")
        for _ in range(rounds):
            for threads in THREADS:
                rate = searches_in_process(memory, threads, seconds)
                rates[f"in_process_{threads}"].append(rate)
            rates["rest"].append(asyncio.run(searches_over_rest(host, port, seconds)))
    medians = {f"{name}_qps": statistics.median(values) for name, values in rates.items()}
    best = [max(rates[f"in_process_{threads}"][at] for threads in THREADS) for at in range(rounds)]
    ratios = [rest / own for rest, own in zip(rates["rest"], best, strict=True)]
    return {**medians, "ratio": statistics.median(ratios), "ratios": ratios}


def searches_in_process(memory: Memory, threads: int, seconds: float) -> float:
    """Searches a second of so many threads that share a memory."""
    end, counts = time.perf_counter() + seconds, [0] * threads

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


async def searches_over_rest(host: str, port: int, seconds: float) -> float:
    """Searches a second of many clients of a server. Raises ServerError."""
    connections = [RawConnection(host, port) for _ in range(SEARCHERS)]
    began = time.perf_counter()
    end, count = began + seconds, 0

    async def search(connection: RawConnection) -> None:
        nonlocal count
        while time.perf_counter() < end:
            await connection.search(question(random.randrange(10**6)))
            count += 1

    await asyncio.gather(*(search(connection) for connection in connections))
    taken = time.perf_counter() - began
    await asyncio.gather(*(connection.close() for connection in connections))
    return count / taken


# ------------------------------------------------------------------ many clients


@dataclass(slots=True)
class LoadLog:
    """What many clients did: seconds by kind, errors, and the texts acknowledged by id."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {"add": [], "search": []})
    errors: Counter[str] = field(default_factory=Counter)
    acknowledged: dict[str, str] = field(default_factory=dict)
    same_id_twice: int = 0
    resident: list[tuple[float, float]] = field(default_factory=list)
    """Seconds since the beginning, and the server's resident bytes."""

    async def timed(self, kind: str, call: Awaitable[tuple[int, bytes]]) -> Any:
        """The body of an answer; None if it is an error, which is counted."""
        start = time.perf_counter()
        status, body = await call
        self.seconds[kind].append(time.perf_counter() - start)
        if status >= 300:
            self.errors[f"{kind} {status}"] += 1
            return None
        return json.loads(body)

    def acknowledge(self, entry: str, text: str) -> None:
        """A text was acknowledged under that id."""
        self.same_id_twice += entry in self.acknowledged
        self.acknowledged[entry] = text

    def figures(self) -> dict[str, Any]:
        """Counts, latencies in milliseconds, errors, and how steady the server's memory was."""
        return {
            **{f"{kind}s": len(values) for kind, values in self.seconds.items()},
            **{
                f"{kind}_{name}": value
                for kind, values in self.seconds.items()
                for name, value in _latencies(values).items()
            },
            "errors": dict(self.errors),
            **_steadiness(self.resident),
        }


def load_server(
    path: Path, model: Embedder, embedder: str, clients: int, seconds: float
) -> dict[str, Any]:
    """Clients that add and search at once; then what was acknowledged is looked for."""
    log = LoadLog()
    with serving(path, embedder) as (host, port):
        asyncio.run(_load(host, port, clients, seconds, log))
    lost = compare_entries(path, model, log.acknowledged)
    figures = {"clients": clients, "seconds": seconds, **log.figures()}
    return figures | lost | {"same_id_twice": log.same_id_twice}


async def _load(host: str, port: int, clients: int, seconds: float, log: LoadLog) -> None:
    rng = random.Random(0)
    began = time.perf_counter()

    async def act(name: int) -> None:
        connection, number = RawConnection(host, port), 0
        while time.perf_counter() < began + seconds:
            number += 1
            if rng.random() < ADDS:
                text = f"client{name} noted that step{number} went to place{rng.randrange(10**6)}"
                body = {"text": text, "source": f"client {name}"}
                receipt = await log.timed("add", connection.post("/v1/entries", body))
                for entry in receipt["ids"] if receipt else ():
                    log.acknowledge(entry, text)
            else:
                body = {"query": question(rng.randrange(10**6))}
                await log.timed("search", connection.post("/v1/search", body))
        await connection.close()

    async def watch() -> None:
        while time.perf_counter() < began + seconds:
            await asyncio.sleep(min(1.0, seconds / 2))
            log.resident.append((time.perf_counter() - began, await _resident(host, port)))

    await asyncio.gather(watch(), *(act(name) for name in range(clients)))


async def _resident(host: str, port: int) -> float:
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    text = (await reader.read()).decode()
    writer.close()
    sizes = (line.split()[1] for line in text.splitlines() if line.startswith(_RESIDENT))
    return float(next(sizes, "nan"))


def _latencies(seconds: Sequence[float]) -> dict[str, float]:
    if len(seconds) < 2:
        return {}
    cuts = statistics.quantiles(seconds, n=100)
    return {"p50_ms": 1e3 * cuts[49], "p99_ms": 1e3 * cuts[98], "max_ms": 1e3 * max(seconds)}


def _steadiness(resident: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Resident bytes after warming up and at the end: medians of the first and last ten seconds."""
    late = [value for at, value in resident if at > WARM_UP_S]
    if not late:
        return {}
    return {
        "resident_mb_first": statistics.median(late[:10]) / 1e6,
        "resident_mb_last": statistics.median(late[-10:]) / 1e6,
    }


def compare_entries(
    memory: str | Path,
    model: Embedder,
    acknowledged: dict[str, str],
    spaces: Sequence[str] = ("default",),
) -> dict[str, int]:
    """How the entries of the clients differ from what was acknowledged."""
    entries: list[Entry] = []
    for space in spaces:
        with Memory.open(memory, space=space, embedder=model, llm=NONE) as opened:
            entries += (e for e in opened.entries() if e.source.startswith("client "))
    texts = Counter(entry.text for entry in entries)
    by_id = {entry.id: entry.text for entry in entries}
    return {
        "acknowledged": len(acknowledged),
        "lost": sum(by_id.get(entry) != text for entry, text in acknowledged.items()),
        "duplicated": sum(count - 1 for count in texts.values()),
        "never_acknowledged": len(by_id.keys() - acknowledged.keys()),
    }


def _serve(memory: str, embedder: str) -> None:
    from treering.serve.run import run  # needs the extra, unlike the clients
    from treering.serve.settings import ServerSettings

    url = memory if is_postgres(memory) else Path(memory)
    settings = ServerSettings(url, port=0, embedder=open_embedder(embedder))
    run(settings, lambda url: print(url, flush=True))  # noqa: T201 - the parent reads it


if __name__ == "__main__":
    _serve(sys.argv[1], sys.argv[2])
