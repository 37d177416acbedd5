"""The server measured in a process of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from treering.embed.registry import open_embedder
from treering.errors import ServerError
from treering.memory import Memory
from treering_bench.server_load import LoadLog, compare_entries, serving
from worlds import Bench

SMALL = ("--fragments", 20, "--embedder", "hashing", "--json")


def test_searches_over_rest_are_compared_with_those_in_the_process(with_plugins: Bench) -> None:
    rounds = ("--rounds", 1, "--seconds", 0.1)
    told = with_plugins.object("server", "search", *SMALL, *rounds)
    assert told["rest_qps"] > 0
    assert told["ratio"] == told["ratios"][0]


def test_clients_at_once_lose_nothing(with_plugins: Bench) -> None:
    told = with_plugins.object("server", "mixed", *SMALL, "--clients", 4, "--seconds", 0.5)
    assert told["errors"] == {}
    assert told["adds"] == told["acknowledged"]
    assert told["lost"] == told["duplicated"] == told["never_acknowledged"] == 0


def test_what_is_lost_or_doubled_is_counted(bench: Bench, tmp_path: Path) -> None:
    model = open_embedder("hashing")
    with Memory.open(tmp_path / "m.db", embedder=model) as memory:
        [first] = memory.add("one", source="client 1").ids
        [second] = memory.add("two", source="client 2").ids
        memory.add("two", source="client 3")
    found = compare_entries(tmp_path / "m.db", model, {first: "one", second: "not two", "x": "y"})
    assert (found["acknowledged"], found["lost"]) == (3, 2)
    assert (found["duplicated"], found["never_acknowledged"]) == (1, 1)


def test_errors_of_the_server_are_counted_by_status() -> None:
    async def refused() -> tuple[int, bytes]:
        return 503, b"{}"

    log = LoadLog()
    assert asyncio.run(log.timed("add", refused())) is None
    assert log.figures()["errors"] == {"add 503": 1}


def test_a_server_that_does_not_start_is_an_error(with_plugins: Bench, tmp_path: Path) -> None:
    (tmp_path / "m.db").write_text("not a database")
    with pytest.raises(ServerError, match="did not start"), serving(tmp_path / "m.db", "hashing"):
        pytest.fail("it is served")


def test_a_file_that_is_not_there_is_refused(bench: Bench, tmp_path: Path) -> None:
    result = bench("server", "search", *SMALL, "--memory", tmp_path / "none.db")
    assert result.exit_code == 2
    assert "there is no file" in result.stderr
