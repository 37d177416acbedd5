"""Releases of another package's view that name further tables, fewer, or none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.conftest import Open
from tests.plugins import install
from tests.views.pictures import rows
from treering import Memory
from treering.views.foreign import OWN_TABLES

PACKAGE = """
from treering.views.contract import Erased, View

class LoudWords(View):
    name = "loud_words"
    version = "{version}"
    tables = {tables}
    made = {made}

    def __init__(self, resources):
        pass

    def prepare(self, writer):
        for table in self.made:
            writer.execute(
                f"CREATE TABLE IF NOT EXISTS {{table}}"
                " (space INTEGER NOT NULL, entry INTEGER, word TEXT)"
            )
        if "tally" in self.made:
            writer.execute("INSERT INTO tally (space, entry) VALUES (?, 0)", (writer.id,))

    def derive(self, entries):
        return {{seq: entry.text for seq, entry in entries.items()}}

    def store(self, writer, derived):
        for table in self.made:
            writer.many(
                f"INSERT INTO {{table}} (space, entry, word) VALUES (?, ?, ?)",
                [(writer.id, seq, text) for seq, text in derived.items()],
            )

    def erase(self, writer, seqs):
        return Erased({{"loud_words": sum(
            writer.execute(f"DELETE FROM {{table}} WHERE space = ? AND entry = ?", (writer.id, seq))
            for table in self.made for seq in seqs
        )}})
"""
Release = Callable[..., Memory]


@pytest.fixture
def release(open_memory: Open, tmp_path: Path) -> Iterator[Release]:
    """Opens a memory where a release of a package with a view is installed, or without one."""
    with ExitStack() as installed:

        def installing(
            tables: tuple[str, ...] = (),
            made: tuple[str, ...] | None = None,
            *,
            version: str = "1",
            is_installed: bool = True,
        ) -> Memory:
            installed.close()
            sys.modules.pop("loud_words", None)
            if is_installed:
                patch = installed.enter_context(pytest.MonkeyPatch.context())
                made = tables if made is None else made
                source = PACKAGE.format(version=version, tables=tables, made=made)
                site = tmp_path / f"site {len(list(tmp_path.iterdir()))}"
                install(
                    *(patch, site, "loud_words", source),
                    "[treering.views]\nloud_words = loud_words:LoudWords\n",
                )
            return open_memory()

        yield installing


def test_a_table_that_a_rebuild_fills_is_erased_where_the_package_is_missing(
    release: Release,
) -> None:
    with release(("uttered",)) as memory:
        memory.add("The plan is here.", source="plan")
    with release(("uttered", "echo"), version="2") as memory:
        memory.settle()
        assert len(rows(memory, "echo")) == 1
    with release(("echo",), version="3") as memory:  # which drops a table
        memory.settle()
    with release(is_installed=False) as memory:
        assert memory.forget(source="plan").entries
        assert rows(memory, "echo") == rows(memory, "uttered") == []


def test_a_view_may_have_an_empty_version(release: Release) -> None:
    with release(("uttered",), version="") as memory:
        memory.add("The plan is here.", source="plan")
        memory.settle()
        assert memory.stats().entries == len(rows(memory, "uttered")) == 1


def test_a_table_that_was_named_and_never_made_hinders_no_erasing(release: Release) -> None:
    with release(("uttered",)) as memory:
        memory.add("The plan is here.", source="plan")
    with release(("uttered", "echo"), made=("uttered",)) as memory:
        memory.add("More of it.", source="later")
    with release(is_installed=False) as memory:
        assert memory.forget(source="plan").scrubbed
        assert rows(memory, "uttered") == []


def test_a_view_that_is_new_to_a_space_once_more_is_prepared_again(release: Release) -> None:
    memory = release(("tally",))
    memory.add("One.", source="numbers")
    memory.forget_space("default")
    memory.add("Two.", source="numbers")
    assert [row[2] for row in rows(memory, "tally")] == [None, "Two."]


def test_tables_are_named_in_capitals_or_not(release: Release) -> None:
    memory = release(("uttered",), made=("Uttered",))
    memory.add("The plan is here.", source="plan")
    memory.settle()
    assert len(rows(memory, "Uttered")) == 1


def test_rows_in_a_table_that_no_view_names_are_not_said_to_be_erased(release: Release) -> None:
    with release() as memory:
        memory.add("The plan is here.", source="plan")
        memory.add("And so on.", source="later")
        with memory._space.write() as writer:
            writer.execute("CREATE TABLE murmur (space INTEGER NOT NULL, word TEXT)")
            writer.execute("CREATE TABLE budget (year INTEGER)")  # of another program
            writer.execute("INSERT INTO murmur VALUES (?, 'The plan is here.')", (writer.id,))
        assert memory.check() == []
    with release(is_installed=False) as memory:
        assert not memory.forget(source="plan").scrubbed
        [finding] = memory.check()
        assert "loud_words" in finding
        assert "murmur" in finding
        assert "budget" not in finding
        with memory._space.write() as writer:
            writer.execute("DROP TABLE murmur")
        assert memory.forget(source="later").scrubbed
        assert memory.check() == []


def test_no_table_of_treerings_own_is_taken_for_one_of_a_view(release: Release) -> None:
    with release()._space.read() as reader:
        assert {table.name for table in reader.tables()} - OWN_TABLES == set()
