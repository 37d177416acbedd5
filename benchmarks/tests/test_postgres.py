"""Several servers on one PostgreSQL, and PostgreSQL against a file."""

from __future__ import annotations

import psycopg
import pytest

from tests.postgres_server import server_url
from worlds import Bench


def schemas() -> list[str]:
    with psycopg.connect(server_url()) as connection:
        query = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'treering_bench%'"
        return [str(row[0]) for row in connection.execute(query)]


def test_clients_of_one_and_of_two_servers_lose_nothing(with_plugins: Bench) -> None:
    small = ("--fragments", 20, "--spaces", 2, "--clients", 6, "--seconds", 0.5)
    named = ("--database", server_url(), "--embedder", "hashing", "--json")
    told = with_plugins.object("postgres", "servers", *small, *named)
    for count in (1, 2):
        figures = told[f"servers_{count}"]
        assert figures["errors"] == {}
        assert figures["adds"] == figures["acknowledged"] > 0
        assert figures["lost"] == figures["duplicated"] == figures["never_acknowledged"] == 0
    assert told["adds_per_s_ratio"] > 0
    assert schemas() == []


def test_a_file_and_postgresql_are_timed_in_one_run(bench: Bench) -> None:
    named = ("--database", server_url(), "--embedder", "hashing", "--json")
    told = bench.object("postgres", "engines", "--max-n", 1000, *named)
    assert told["1000"].keys() == {"store", "add", "search", "forget", "open"}
    assert all(figures["ratio"] > 0 for figures in told["1000"].values())
    assert schemas() == []


@pytest.mark.parametrize("url", ["life.db", "postgresql:///life?schema=team"])
def test_a_database_that_is_none_or_names_a_schema_is_refused(bench: Bench, url: str) -> None:
    result = bench("postgres", "engines", "--database", url, "--json")
    assert result.exit_code == 2
    assert "without a schema" in result.stderr
