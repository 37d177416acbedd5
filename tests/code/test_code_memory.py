"""``memory.code``: repositories on disk, in the database, and in several processes."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tests.code.repositories import SHOP, write_files
from tests.embedders import HashingEmbedder
from treering import Memory
from treering.arrays import Floats
from treering.errors import EmbeddingError, InputError, JournalBusy, UnknownName

WAIT_S = 30


class Letters:
    """An embedder that counts letters."""

    name = "letters"
    dimension = 26

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        made = np.zeros((len(texts), 26), dtype=np.float32)
        for row, text in enumerate(texts):
            for letter in text.lower():
                if "a" <= letter <= "z":
                    made[row, ord(letter) - ord("a")] += 1
        return made


class Slow(Letters):
    """One that waits, so that a test can look at what goes on meanwhile."""

    def __init__(self) -> None:
        self.asked, self.go = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        self.asked.set()
        assert self.go.wait(WAIT_S)
        return super().embed(texts, query=query)


class Spoilt(Letters):
    """One whose vectors are of no use."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        return super().embed(texts, query=query) * np.float32("nan")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_files(tmp_path / "repo", SHOP)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def opened(file: Path) -> Memory:
    return Memory.open(file, embedder=Letters())


def test_what_is_indexed_is_found_after_reopening(root: Path, file: Path) -> None:
    with opened(file) as memory:
        receipt = memory.code.index(root)
        before = memory.code.search("add the tax")
    assert sorted(receipt.added) == sorted(SHOP)
    with opened(file) as memory:
        assert memory.code.search("add the tax") == before
        assert memory.code.repositories() == [str(root)]
        assert "class Cart" in memory.code.map(budget=500)


def test_only_what_has_changed_is_read_anew(root: Path, file: Path) -> None:
    with opened(file) as memory:
        memory.code.index(root)
        (root / "shop/prices.py").write_text("def levy(amount):\n    return amount\n")
        (root / "shop/log.py").unlink()
        (root / "new.py").write_text("x = 1\n")
        receipt = memory.code.index(root)
        assert (receipt.added, receipt.changed, receipt.removed, receipt.unchanged) == (
            ("new.py",),
            ("shop/prices.py",),
            ("shop/log.py",),
            len(SHOP) - 2,
        )
        assert memory.code.search("levy", k=1)[0].path == "shop/prices.py"
        assert all(hit.path != "shop/log.py" for hit in memory.code.search("note", k=50))
        changed = memory.code.search("levy an amount", k=5)
    with opened(file) as memory:
        found = memory.code.search("levy an amount", k=5)
        assert [(hit.path, hit.first_line) for hit in found] == [
            (hit.path, hit.first_line) for hit in changed
        ]
        assert memory.code.index(root).unchanged == len(SHOP)


def test_another_process_sees_the_change(root: Path, file: Path) -> None:
    with opened(file) as one, opened(file) as other:
        one.code.index(root)
        assert other.code.search("tax", k=1)
        (root / "shop/prices.py").write_text("def levy(amount):\n    return amount\n")
        one.code.index(root)
        assert other.code.search("levy", k=1)[0].path == "shop/prices.py"


def test_embedding_is_asked_for_and_then_kept_up(root: Path, file: Path) -> None:
    with opened(file) as memory:
        memory.code.index(root)
        with pytest.raises(InputError, match="embed=True"):
            memory.code.search("tax", mode="dense")
        memory.code.index(root, embed=True)
        assert "dense" in memory.code.search("tax", k=1)[0].why.terms
        (root / "new.py").write_text("zzz = 1\n")
        memory.code.index(root)
        assert memory.code.search("zzz", k=1, mode="dense")[0].path == "new.py"
        memory.add("We sell bread.")
        memory.reembed(HashingEmbedder())
        with pytest.raises(InputError):  # the code has vectors of the other model
            memory.code.search("tax", k=1)
        assert memory.code.about("tax", k=1).code


def test_forgetting_a_repository_leaves_no_bytes_of_it(root: Path, file: Path) -> None:
    with opened(file) as memory:
        memory.code.index(root)
        with closing(sqlite3.connect(file)) as database:
            rows = [row[0] for row in database.execute("SELECT data FROM code_file")]
        assert memory.code.forget(root) == len(SHOP)
        assert memory.code.repositories() == []
        with pytest.raises(UnknownName, match="index it first"):
            memory.code.search("tax")
    left = file.read_bytes()
    assert rows
    assert not any(row[:40] in left for row in rows)


def test_several_repositories_are_told_apart_by_root(root: Path, file: Path) -> None:
    with opened(file) as memory:
        memory.code.index(root)
        memory.code.index(root / "shop")
        with pytest.raises(UnknownName, match="more than one"):
            memory.code.search("tax")
        assert memory.code.search("tax", root=root / "shop", k=1)[0].path == "prices.py"


def test_spaces_do_not_see_each_others_code(root: Path, file: Path) -> None:
    with opened(file) as memory:
        memory.code.index(root)
    with Memory.open(file, space="other", embedder=Letters()) as memory:
        assert memory.code.repositories() == []


def test_code_is_searched_while_it_is_indexed(root: Path, file: Path) -> None:
    embedder = Slow()
    with Memory.open(file, embedder=embedder) as memory, ThreadPoolExecutor(2) as threads:
        memory.code.index(root)
        (root / "new.py").write_text("def tax_of_items():\n    return 1\n")
        indexing = threads.submit(memory.code.index, root, embed=True)
        assert embedder.asked.wait(WAIT_S)
        search = threads.submit(memory.code.search, "tax of items", mode="lexical")
        try:
            assert "new.py" not in {hit.path for hit in search.result(WAIT_S / 3)}
            assert not indexing.done()
        finally:
            embedder.go.set()
        assert "new.py" in indexing.result(WAIT_S).added
        assert memory.code.search("tax of items", k=1)[0].path == "new.py"


def test_of_two_processes_that_index_at_once_one_is_told(root: Path, file: Path) -> None:
    with opened(file) as one, opened(file) as other:
        one.code.index(root)

        def interfere(done: int, total: int) -> None:
            (root / "third.py").write_text("y = 2\n")
            other.code.index(root)

        (root / "second.py").write_text("x = 1\n")
        with pytest.raises(JournalBusy):
            one.code.index(root, progress=interfere)
        assert one.code.index(root).unchanged == len(SHOP) + 2


def test_a_model_that_misbehaves_is_refused_and_nothing_is_indexed(file: Path, root: Path) -> None:
    with Memory.open(file, embedder=Spoilt()) as memory:
        with pytest.raises(EmbeddingError):
            memory.code.index(root, embed=True)
        assert memory.code.repositories() == []


def test_nothing_is_found_where_no_code_says_a_word_of_the_query(
    memory: Memory, tmp_path: Path
) -> None:
    (tmp_path / "lone.py").write_text("def spin(rate):\n    return rate * 2\n")
    memory.code.index(tmp_path)
    assert memory.code.search("quarkonium") == []
    assert [hit.path for hit in memory.code.search("spin quarkonium")] == ["lone.py"]
    assert memory.code.search("quarkonium", near="lone.py"), "what is near that place"


def test_the_weights_of_the_graph_are_those_of_the_settings(memory: Memory, root: Path) -> None:
    def weights() -> set[float]:
        _, index = memory.code._repositories.open_index(None)
        graph = index.relation.graph
        return {round(float(weight), 3) for weight in (*graph.edge[1:], *graph.weight)}

    memory.code.index(root)
    assert weights() <= {0.5, 0.3, 1.0, 0.8, 0.4, 0.267, 0.2}
    before = memory.code.search("total price")
    memory.configure(edges="syntax=0.6, folder=0.2, root=0.9, call=0.7")
    assert memory.code.index(root).changed == ()
    assert {0.6, 0.2, 0.9, 0.7} <= weights()
    after = memory.code.search("total price")
    assert [hit.why.terms["code"] for hit in after] != [hit.why.terms["code"] for hit in before]
    memory.configure("default")
    memory.code.index(root)
    assert memory.code.search("total price") == before
