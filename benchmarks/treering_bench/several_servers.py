"""Several servers on one PostgreSQL: what one more of them gives, and whether anything is lost."""

from __future__ import annotations

import asyncio
import random
import time
from asyncio import IncompleteReadError
from contextlib import ExitStack
from typing import Any

from treering.embed.contract import Embedder
from treering.llm.settings import NONE
from treering.memory import Memory
from treering_bench.perf.texts import RandomVectors, turns
from treering_bench.scratch_schema import scratch_schema
from treering_bench.server_load import (
    ADDS,
    LoadLog,
    RawConnection,
    compare_entries,
    question,
    serving,
)

SERVERS = (1, 2)
RATES = {"search": "searches_per_s", "add": "adds_per_s"}
RETRY_S = 0.1


def compare_servers(
    database: str,
    model: Embedder,
    embedder: str,
    *,
    fragments: int,
    spaces: int,
    clients: int,
    seconds: float,
) -> dict[str, Any]:
    """Searches and adds a second of one server and of two, each on a new schema of the database.

    ``fragments`` are there before, in ``spaces`` spaces; each client works in one of them. Counted
    are errors, what was acknowledged and is not there, and what is there twice.
    """
    names = [f"space {number}" for number in range(spaces)]
    figures: dict[str, Any] = {"clients": clients, "seconds": seconds, "spaces": spaces}
    for count in SERVERS:
        log = LoadLog()
        with scratch_schema(database) as url:
            _fill(url, names, fragments // spaces, model)
            with ExitStack() as stack:
                servers = [stack.enter_context(serving(url, embedder)) for _ in range(count)]
                taken = asyncio.run(_load(servers, names, clients, seconds, log))
            lost = compare_entries(url, model, log.acknowledged, names)
        rates = {RATES[kind]: len(times) / taken for kind, times in log.seconds.items()}
        told = {key: value for key, value in log.figures().items() if "resident" not in key}
        figures[f"servers_{count}"] = rates | told | lost | {"same_id_twice": log.same_id_twice}
    first, last = (figures[f"servers_{count}"] for count in (SERVERS[0], SERVERS[-1]))
    ratios = {f"{rate}_ratio": last[rate] / max(first[rate], 1e-9) for rate in RATES.values()}
    return figures | ratios


def _fill(url: str, spaces: list[str], count: int, model: Embedder) -> None:
    vectors = RandomVectors(model.name, model.dimension)
    for number, space in enumerate(spaces):
        with Memory.open(url, space=space, embedder=vectors, llm=NONE) as memory:
            memory.add(turns(number * count, max(count, 1)), source="chat")


async def _load(
    servers: list[tuple[str, int]], spaces: list[str], clients: int, seconds: float, log: LoadLog
) -> float:
    """The seconds that it took, once every server has every space open."""
    for host, port in servers:
        for space in spaces:
            connection = RawConnection(host, port, space)
            await connection.search("warm up")
            await connection.close()
    began = time.perf_counter()

    async def act(name: int) -> None:
        rng = random.Random(name)
        space = spaces[name % len(spaces)]
        # Neighbours in a space are on different servers, as behind a proxy that deals in turn.
        host, port = servers[name // len(spaces) % len(servers)]
        connection, number = RawConnection(host, port, space), 0
        while time.perf_counter() < began + seconds:
            number += 1
            try:
                await _act(connection, f"client {name}", number, rng, log)
            except (OSError, IncompleteReadError) as error:
                log.errors[type(error).__name__] += 1
                connection = RawConnection(host, port, space)
                await asyncio.sleep(RETRY_S)
        await connection.close()

    await asyncio.gather(*(act(name) for name in range(clients)))
    return time.perf_counter() - began


async def _act(
    connection: RawConnection, name: str, number: int, rng: random.Random, log: LoadLog
) -> None:
    """An add or a search."""
    if rng.random() >= ADDS:
        body = {"query": question(rng.randrange(10**6))}
        await log.timed("search", connection.post("/v1/search", body))
        return
    text = f"{name} noted that step{number} went to place{rng.randrange(10**6)}"
    body = {"text": text, "source": name}
    receipt = await log.timed("add", connection.post("/v1/entries", body))
    for entry in receipt["ids"] if receipt else ():
        log.acknowledge(entry, text)
