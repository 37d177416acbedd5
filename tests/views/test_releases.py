"""Releases of another package's view that make further tables or fewer, or that are missing."""

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
from treering.errors import ViewError

PACKAGE = """
from treering.views.contract import Erased, View

class Loud(View):
    name = "{name}"
    version = "{version}"
    made = {made}

    def __init__(self, resources):
        pass

    def prepare(self, writer):
        for table in self.made:
            writer.execute(
                f"CREATE TABLE IF NOT EXISTS {{table}}"
                " (space INTEGER NOT NULL, entry INTEGER, word TEXT)"
            )

    def derive(self, entries):
        return {{seq: entry.text for seq, entry in entries.items()}}

    def store(self, writer, derived):
        for table in self.made:
            writer.many(
                f"INSERT INTO {{table}} (space, entry, word) VALUES (?, ?, ?)",
                [(writer.id, seq, text) for seq, text in derived.items()],
            )

    def erase(self, writer, seqs):
        return Erased({{"loud": sum(
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
            *made: str, name: str = "loud", version: str = "1", is_installed: bool = True
        ) -> Memory:
            installed.close()
            sys.modules.pop("loud_words", None)
            if is_installed:
                patch = installed.enter_context(pytest.MonkeyPatch.context())
                source = PACKAGE.format(name=name, version=version, made=made)
                site = tmp_path / f"site {len(list(tmp_path.iterdir()))}"
                install(
                    *(patch, site, "loud_words", source),
                    "[treering.views]\nloud_words = loud_words:Loud\n",
                )
            return open_memory()

        yield installing


def test_a_table_that_a_rebuild_fills_is_erased_where_the_package_is_missing(
    release: Release,
) -> None:
    with release("view_loud") as memory:
        memory.add("The plan is here.", source="plan")
    with release("view_loud", "view_loud_echo", version="2") as memory:
        memory.settle()
        assert len(rows(memory, "view_loud_echo")) == 1
    with release("view_loud_echo", version="3") as memory:  # which drops a table
        memory.settle()
    with release(is_installed=False) as memory:
        assert memory.forget(source="plan").scrubbed
        assert rows(memory, "view_loud_echo") == rows(memory, "view_loud") == []


@pytest.mark.parametrize("name", ["loud_words", "Loud", "fragments"])
def test_a_name_that_could_pass_for_another_is_refused(release: Release, name: str) -> None:
    with pytest.raises(ViewError):
        release(name=name)
