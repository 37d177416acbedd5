"""Two who work on one file: what one changes while the other derives is stored once, and right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

import pytest

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from tests.views.conftest import fill
from tests.views.pictures import picture, rows, vectors, views
from treering import Memory
from treering.arrays import Floats
from treering.errors import JournalCorrupt
from treering.ingest.drafts import Envelope
from treering.journal.postgres.database import PostgresDatabase
from treering.views.settle import rebuild

pytestmark = pytest.mark.both_engines


class Meanwhile:
    """An embedder's ``tamper`` that does something once, while texts are being embedded."""

    def __init__(self) -> None:
        self.work: Callable[[], object] | None = None

    def __call__(self, _texts: Sequence[str], vectors: Floats) -> Floats:
        work, self.work = self.work, None
        if work is not None:
            work()
        return vectors


@pytest.fixture
def meanwhile() -> Meanwhile:
    return Meanwhile()


@pytest.fixture
def both(open_memory: Open, meanwhile: Meanwhile) -> tuple[Memory, Memory]:
    """Two memories of one file, of which the first embeds with ``meanwhile``."""
    return open_memory(embedder=HashingEmbedder(tamper=meanwhile)), open_memory()


def texts_of_fragments(memory: Memory) -> list[str]:
    return sorted(hit.text for hit in memory.search("Ana Porto", mode="lexical", k=50))


def replaced(memory: Memory, text: str) -> None:
    """The first half of ``replace``: the views have not followed it."""
    [entry] = memory.entries()
    memory._intake.rewrite(entry.id, text)


def cut(memory: Memory) -> None:
    """Cut the connection that holds what a process is doing: another one may do the same then."""
    if isinstance(memory._database, PostgresDatabase):
        memory._database._process.close()


@pytest.mark.parametrize("text", ["Ana moved to Faro.", "Ana moved to Porto."])
def test_an_entry_replaced_while_it_is_embedded_is_stored_once_with_its_new_text(
    both: tuple[Memory, Memory], meanwhile: Meanwhile, text: str
) -> None:
    memory, other = both
    meanwhile.work = lambda: replaced(other, text)
    memory.add("Ana moved to Porto.")
    memory.settle()
    assert texts_of_fragments(memory) == [text]
    assert len(rows(memory, "fragment")) == len(vectors(memory)) == 1
    assert memory.stats().pending.keys() <= {"tree"}


def test_an_entry_forgotten_while_it_is_embedded_leaves_nothing(
    both: tuple[Memory, Memory], meanwhile: Meanwhile
) -> None:
    memory, other = both
    meanwhile.work = lambda: other.forget(source="notes")
    memory.add("Ana moved to Porto.")
    assert rows(memory, "fragment") == vectors(memory) == []
    assert memory.check() == []


def test_of_two_who_read_the_same_entry_one_stores(
    both: tuple[Memory, Memory], meanwhile: Meanwhile
) -> None:
    memory, other = both

    def read_too() -> None:
        cut(memory)  # else the other would wait for it
        other.settle()

    meanwhile.work = read_too
    memory.add([{"role": "user", "name": "Ana", "content": "I live in Porto."}])
    assert len(rows(memory, "fragment")) == len(vectors(memory)) == 1
    assert len(rows(memory, "statement")) == 1


def test_an_entry_replaced_before_a_rebuild_passes_it_stands_once(
    shouting: None, open_memory: Open
) -> None:
    memory, other = open_memory(), open_memory()
    memory.add([{"role": "user", "name": "Ana", "content": "I live in Berlin."}])
    replaced(memory, "I live in PORTO.")
    for view in views(other):
        rebuild(other._space, view)
    memory._views.build()
    assert [hit.text for hit in memory.search("Porto")] == ["I live in PORTO."]
    assert len(vectors(memory)) == 1
    for table in ("fragment", "statement", "view_shouts"):
        assert len(rows(memory, table)) == 1, table


def test_an_entry_replaced_while_a_rebuild_derives_keeps_its_new_rows(
    shouting: None, open_memory: Open
) -> None:
    memory, other = open_memory(), open_memory()
    memory.add("Ana says HELLO.")
    import_module("shouting").MEANWHILE.append(
        lambda: other.replace(next(other.entries()).id, "Ana says GOODBYE.")
    )
    memory.rebuild("shouts")
    memory.settle()
    assert [row[2] for row in rows(memory, "view_shouts")] == ["GOODBYE"]


@pytest.mark.both_engines(name=("fragments", "tree"))
@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("fragments", "UPDATE block_postings SET data = zeroblob(length(data))"),
        ("fragments", "DELETE FROM vector_block"),
        ("facts", "UPDATE statement SET value = 'Nowhere'"),
        ("facts", "UPDATE statement SET newer = NULL"),
        ("facts", "DELETE FROM statement"),
        ("code", "DELETE FROM code_change"),
        ("shouts", "DELETE FROM view_shouts"),
        ("tree", "UPDATE node SET text = 'Nothing of it' WHERE leaf = 0"),
    ],
)
def test_a_rebuild_mends_rows_that_are_wrong(
    shouting: None, open_memory: Open, name: str, damage: str
) -> None:
    memory = open_memory()
    fill(memory)
    before = picture(memory, name)
    memory.close()
    memory = open_memory()
    with memory._space.write() as writer:
        writer.execute(damage)
    assert picture(memory, name) != before
    memory.rebuild(name)
    assert picture(memory, name) == before


def test_a_damaged_entry_holds_up_nothing_but_itself(open_memory: Open) -> None:
    memory = open_memory()
    # Durable, and not followed yet, as a crash leaves it.
    memory._intake.add("Ana moved to Porto.", "bad", Envelope())
    with memory._space.write() as writer:
        writer.execute("UPDATE body SET text = 'Ana moved to Faro.'")
    memory.add("Ben keeps bees.", source="good")
    assert [hit.source for hit in memory.search("bees", k=5)] == ["good"]
    assert memory.stats().pending["fragments"] == 1
    with pytest.raises(JournalCorrupt):
        memory.settle()
    with pytest.raises(JournalCorrupt):
        memory.rebuild("fragments")
    with pytest.raises(JournalCorrupt):
        memory.rebuild()
    assert memory.stats().outdated == ()
    assert [hit.source for hit in memory.search("bees", k=5)] == ["good"]
    memory.forget(source="bad")
    assert memory.settle().pending == {}


@pytest.mark.both_engines
def test_what_is_erased_before_the_views_read_stays_erased(open_memory: Open) -> None:
    first, second = open_memory(), open_memory()
    first._intake.add("Ana keeps bees.", "diary", Envelope())
    second.forget(source="diary")
    first.add("Ben sails.")
    assert [hit.text for hit in first.search("bees", k=5)] == ["Ben sails."]
