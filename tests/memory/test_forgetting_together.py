"""Tenants of a file who forget at once, and the statements of a forget."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Open
from tests.memory.test_forget import SECRET, bytes_of
from treering import Memory
from treering.errors import UnknownName
from treering.journal.sqlite import scrub
from treering.journal.sqlite.connection import connect

TENANTS = 12

MOST_ALONE = 74
"""Statements of a forget, with those that scrub the file."""


@pytest.fixture
def tenants(open_memory: Open) -> list[Memory]:
    return [open_memory(space=f"tenant {number}") for number in range(TENANTS)]


def forget_at_once(tenants: Sequence[Memory], ids: Sequence[str]) -> list[Future[bool]]:
    """Whether the text of each has left the file."""

    def forget(memory: Memory, entry: str) -> bool:
        return memory.forget(entry).scrubbed

    with ThreadPoolExecutor(len(tenants)) as threads:
        return [threads.submit(forget, *pair) for pair in zip(tenants, ids, strict=True)]


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is sent to files that are opened from now on."""
    sent: list[str] = []

    def traced(file: Path) -> sqlite3.Connection:
        connection = connect(file)
        connection.set_trace_callback(sent.append)
        return connection

    monkeypatch.setattr("treering.journal.sqlite.database.connect", traced)
    return sent


def test_a_forget_takes_few_statements(statements: list[str], tenants: list[Memory]) -> None:
    tenants[0].forget(tenants[0].add("Ben keeps bees.").ids[0])  # the tables are as after one
    further = tenants[0].add("Ben keeps goats.").ids[0]
    statements.clear()
    assert tenants[0].forget(further).scrubbed
    assert len(statements) <= MOST_ALONE


def test_tenants_who_forget_at_once_share_no_entries(tenants: list[Memory], path: Path) -> None:
    kept = [memory.add("Ana moved to Porto.").ids[0] for memory in tenants]
    ids = [memory.add(f"{SECRET} {number}").ids[0] for number, memory in enumerate(tenants)]
    ids[5] = ids[6]  # that of another tenant
    futures = forget_at_once(tenants, ids)
    assert isinstance(futures[5].exception(), UnknownName)
    assert all(future.result() for future in futures if future is not futures[5])
    left = [entry.text for memory in tenants for entry in memory.entries()]
    assert left.count(f"{SECRET} 5") == 1
    assert len(left) == TENANTS + 1
    stored = bytes_of(path)
    assert stored.count(b"flowerpot 5") == stored.count(b"flowerpot") > 0
    for memory, entry in zip(tenants, kept, strict=True):
        assert memory.get(entry).text == "Ana moved to Porto."


@pytest.fixture
def filled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables that are filled again, in order."""
    names: list[str] = []
    refill = scrub._refill

    def noted(writer: Any, table: str, has_rows: bool) -> bool:
        names.append(table)
        return refill(writer, table, has_rows)

    monkeypatch.setattr(scrub, "_refill", noted)
    return names


def test_statements_are_filled_again_only_if_one_has_gone(
    open_memory: Open, path: Path, filled: list[str]
) -> None:
    memory = open_memory()
    stating = [memory.add(f"I live in {town}.", speaker="Ana").ids[0] for town in ("Oslo", "Faro")]

    def forget(entry: str) -> bool:
        """Whether that filled the table of statements again."""
        filled.clear()
        assert memory.forget(entry).scrubbed
        return "statement" in filled

    assert forget(memory.add("Ben keeps bees.").ids[0])  # nobody knows how often one had gone
    assert not forget(memory.add("Ben keeps goats.").ids[0])
    assert forget(stating[0])
    assert b"oslo" not in bytes_of(path).lower()
    assert not forget(memory.add("Ben keeps ducks.").ids[0])
    memory.rebuild("facts")
    assert [fact.value for fact in memory.facts.current()] == ["Faro"]
    memory.replace(stating[1], "I live in Braga.")
    assert forget(memory.add("Ben keeps hens.").ids[0])
    assert b"faro" not in bytes_of(path).lower()


def test_a_name_that_a_statement_had_leaves_the_bytes_too(
    open_memory: Open, path: Path, tmp_path: Path
) -> None:
    memory = open_memory()
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "zebediah.md").write_text("I live in Porto.")
    memory.add(folder)
    assert memory.forget(memory.add("Ben keeps bees.").ids[0]).scrubbed
    (folder / "zebediah.md").rename(folder / "self.md")
    memory.add(folder)
    assert [fact.subject for fact in memory.facts.all()] == ["notes/self.md"]
    assert memory.forget(memory.add("Ben keeps goats.").ids[0]).scrubbed
    assert b"zebediah" not in bytes_of(path)
