"""A space that is not there is an error to read; one that is removed leaves nothing behind."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from treering import Memory
from treering.errors import (
    InputError,
    JournalError,
    LLMError,
    UnknownMemory,
    UnknownName,
    UnknownSpace,
)
from treering.journal.open import open_database
from treering.journal.space import names
from treering.journal.sqlite import scrub
from treering.llm.scripted import FakeLLM, Request
from treering.serve import keys
from treering.sharing import MAX_OPEN
from treering.views import erase

PERSON = "ana-de-almeida-1984"
TEXTS = [
    {"role": "user", "name": "Ana", "content": "I live in Porto with my cat Miu."},
    {"role": "assistant", "content": "Porto is a fine place for a cat."},
    {"role": "user", "name": "Ana", "content": "I relocated to Lisbon, Miu likes the river."},
]


def _bytes(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))


def _lived_in(open_memory: Open, space: str, code: Path) -> Memory:
    """A space with something in every view."""
    llm = FakeLLM(["A summary of what Ana said."] * 50)
    memory = open_memory(space=space, llm=llm)
    memory.add(TEXTS, source=f"{space}/chat", metadata={"of": space})
    memory.add("A note on the harbour of Porto.", source="notes")
    (code / "harbour.py").write_text(
        "def ships():\n    return tide()\n\n\ndef tide():\n    return 2\n"
    )
    memory.code.index(code)
    memory.facts.current()
    memory.tree.settle()
    memory.add("A later note on the river of Lisbon.", source="notes")
    return memory


@pytest.mark.both_engines
def test_a_removed_space_leaves_no_byte_of_itself_nor_of_its_name(
    open_memory: Open, path: Path, tmp_path: Path
) -> None:
    code = tmp_path / "code"
    code.mkdir()
    memory = _lived_in(open_memory, PERSON, code)
    other = open_memory(space="ben")
    other.add("Ben likes trains.")
    with closing(open_database(path)) as database:
        keys.add(database, PERSON, label=f"phone of {PERSON}")
        keys.add(database, "ben")

    forgotten = memory.forget_space(PERSON)

    assert forgotten.scrubbed
    assert len(forgotten.entries) == 5
    assert set(forgotten.sources) == {f"{PERSON}/chat", "notes"}
    assert forgotten.views["keys"] == 1
    assert memory.spaces() == other.spaces() == ["ben"]
    left = _bytes(path)
    assert PERSON.encode() not in left
    assert not [word for word in (b"Porto", b"Miu", b"harbour") if word in left]
    assert [hit.text for hit in other.search("trains")] == ["Ben likes trains."]
    with closing(open_database(path)) as database:
        assert [key.space for key in keys.list_keys(database)] == ["ben"]
        with database.read() as reader:
            assert not list(reader.rows("PRAGMA foreign_key_check"))
    assert other.check() == []


@pytest.mark.both_engines
def test_a_space_of_a_removed_name_begins_anew_in_every_open_memory(open_memory: Open) -> None:
    one, two = open_memory(space="ana"), open_memory(space="ana")
    open_memory(space="ben").add("Ben likes trains.")
    one.add("Ana lives in Porto.")
    assert len(two.search("Porto")) == 1

    one.forget_space("ana")
    with pytest.raises(UnknownSpace):
        two.search("Porto")
    one.add("Ana has a boat.")

    assert [hit.text for hit in two.search("Porto boat")] == ["Ana has a boat."]
    assert [hit.text for hit in one.search("Porto boat")] == ["Ana has a boat."]
    assert [entry.text for entry in two.entries()] == ["Ana has a boat."]


@pytest.mark.both_engines
def test_a_memory_opened_to_create_its_space_finds_nothing_after_its_removal(
    open_memory: Open,
) -> None:
    open_memory(space="ben").add("Ben likes trains.")
    ana = open_memory(space="ana", create=True)
    ana.add("Ana lives in Porto.")
    ana.forget_space("ana")
    assert ana.search("Porto") == []
    assert ana.spaces() == ["ben"]
    ana.add("Ana has a boat.")
    assert [hit.text for hit in ana.search("Porto boat")] == ["Ana has a boat."]


@pytest.mark.both_engines
def test_a_removal_that_a_reader_delays_is_ended_by_settle_of_any_space(
    open_memory: Open, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erase, "WAIT_S", 0.01)
    monkeypatch.setattr(scrub, "WAIT_S", 0.01)
    memory, other = open_memory(space=PERSON), open_memory(space="ben")
    memory.add("A secret of the harbour master.")
    other.add("Ben likes trains.")
    with ExitStack() as stack:
        database = stack.enter_context(closing(open_database(path)))
        reader = stack.enter_context(database.read())
        names(reader)  # it sees the state before the removal, which has to stay readable
        assert not memory.forget_space(PERSON).scrubbed
        assert other.spaces() == ["ben"]
        assert other.stats().pending == {"scrub": 1}
    other.settle()
    assert other.stats().pending == {}
    assert PERSON.encode() not in _bytes(path)
    assert b"harbour" not in _bytes(path)


@pytest.mark.both_engines
def test_a_view_of_another_package_loses_its_rows_of_a_removed_space(
    open_memory: Open, path: Path
) -> None:
    memory = open_memory(space="ana")
    memory.add("Ana lives in Porto.")
    with closing(open_database(path)) as database, database.write() as writer:
        writer.execute("CREATE TABLE view_shouts (space INTEGER NOT NULL, text TEXT NOT NULL)")
        writer.execute("INSERT INTO view_shouts SELECT id, 'ANA LIVES IN PORTO.' FROM space")
    memory.forget_space("ana")
    assert b"ANA LIVES" not in _bytes(path)


@pytest.mark.both_engines
@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("said text, Space integer", "SELECT 'PORTO', id FROM space"),
        ("said text, space varchar(40)", "SELECT 'PORTO', name FROM space"),
    ],
)
def test_so_does_one_whose_column_has_another_type(
    open_memory: Open, path: Path, table: str, rows: str
) -> None:
    memory = open_memory(space="ana")
    memory.add("Ana lives in Porto.")
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(f"CREATE TABLE view_shouts ({table})")
        file.execute(f"INSERT INTO view_shouts {rows}")
    memory.forget_space("ana")
    with closing(sqlite3.connect(path)) as file:
        assert not file.execute("SELECT * FROM view_shouts").fetchall()


@pytest.mark.both_engines
def test_no_copy_of_a_removed_space_stays_between_the_rows_of_others(
    open_memory: Open, path: Path
) -> None:
    with open_memory(space="ana") as memory:
        memory.add("Ana lives in Porto.")
    with closing(sqlite3.connect(path)) as file:
        # As SQLite leaves copies when it moves rows: deleted, and still in the page.
        file.execute("PRAGMA secure_delete=OFF")
        file.execute("CREATE TABLE view_shouts (space INTEGER NOT NULL, text TEXT NOT NULL)")
        file.execute("INSERT INTO view_shouts SELECT id, 'ANA LIVES IN PORTO.' FROM space")
        file.execute("INSERT INTO view_shouts VALUES (99, 'BEN LIKES TRAINS.')")
        file.execute("DELETE FROM view_shouts WHERE space <> 99")
        file.commit()
    assert b"ANA LIVES" in _bytes(path)
    memory = open_memory(space="ben")
    memory.add("Ben likes trains.")
    assert memory.forget_space("ana").scrubbed
    assert b"ANA LIVES" not in _bytes(path)
    assert b"BEN LIKES" in _bytes(path)


def test_a_space_that_is_not_there_cannot_be_removed(open_memory: Open) -> None:
    memory = open_memory(space="home")
    memory.add("Hello.")
    with pytest.raises(UnknownSpace, match="'home'"):
        memory.forget_space("hoem")
    with pytest.raises(InputError, match="space"):
        memory.forget_space("")
    assert memory.stats().entries == 1


@pytest.mark.parametrize("name", [None, 42, ""])
def test_the_space_of_an_unknown_user_is_not_that_of_all(memory: Memory, name: Any) -> None:
    memory.add("The boiler is old.")
    calls: list[Callable[[], object]] = [
        lambda: memory.space(name, create=True),
        lambda: memory.forget_space(name),
        lambda: memory.search("boiler", spaces=[name]),
    ]
    for call in calls:
        with pytest.raises(InputError) as raised:
            call()
        assert raised.value.code == "input_error"
    assert memory.spaces() == ["default"]


@pytest.mark.both_engines
@pytest.mark.parametrize("others", [(), ("ben",)])
def test_a_space_that_only_a_key_opens_is_removed_with_its_keys(
    open_memory: Open, path: Path, others: tuple[str, ...]
) -> None:
    for name in others:
        open_memory(space=name).add("Ben likes trains.")
    memory = open_memory(space=PERSON)
    with closing(open_database(path)) as database:
        keys.add(database, PERSON, label=f"phone of {PERSON}")
        keys.add(database, "ben")

    forgotten = memory.forget_space(PERSON)

    assert (forgotten.entries, forgotten.sources, forgotten.scrubbed) == ((), (), True)
    assert forgotten.views == {"keys": 1}
    assert memory.spaces() == list(others)
    with closing(open_database(path)) as database:
        assert [key.space for key in keys.list_keys(database)] == ["ben"]
    assert PERSON.encode() not in _bytes(path)
    with pytest.raises(UnknownSpace):
        memory.forget_space(PERSON)


READS: list[Callable[[Memory], object]] = [
    lambda memory: memory.search("Porto"),
    lambda memory: memory.search_many(["Porto"]),
    lambda memory: memory.context("Porto"),
    lambda memory: memory.brief(),
    lambda memory: memory.page(),
    lambda memory: list(memory.entries()),
    lambda memory: memory.get("abc"),
    lambda memory: memory.stats(),
    lambda memory: list(memory.export()),
    lambda memory: memory.forget(source="notes"),
    lambda memory: memory.facts.all(),
    lambda memory: memory.memos.list(),
    lambda memory: memory.tree.roots(),
    lambda memory: memory.ask("Where is Porto?"),
]


def test_reading_a_space_that_is_not_there_is_an_error(open_memory: Open) -> None:
    open_memory(space="home").add("I live in Porto.")
    typo = open_memory(space="hoem", llm=FakeLLM([]))
    for read in READS:
        with pytest.raises(UnknownSpace):
            read(typo)
        assert typo.spaces() == ["home"]


@pytest.mark.both_engines
def test_a_file_without_any_space_is_a_new_one_and_finds_nothing(memory: Memory) -> None:
    for read in READS[:5]:
        read(memory)
        assert memory.stats().entries == 0
        assert memory.spaces() == []


@pytest.mark.both_engines
def test_without_create_a_file_or_space_must_be_there(open_memory: Open, tmp_path: Path) -> None:
    absent = tmp_path / "neverwas.db"
    with pytest.raises(UnknownMemory):
        Memory.open(absent, create=False)
    assert not absent.exists()
    new = open_memory()
    with pytest.raises(UnknownSpace):
        open_memory(create=False)
    new.add("Hello.")
    open_memory(space="home").add("I live in Porto.")
    with pytest.raises(UnknownSpace):
        open_memory(space="hoem", create=False)
    assert len(open_memory(space="home", create=False).search("Porto")) == 1


@pytest.mark.both_engines
def test_a_space_that_a_key_opens_is_there(open_memory: Open, path: Path) -> None:
    open_memory(space="home").add("I live in Porto.")
    with closing(open_database(path)) as database:
        keys.add(database, "new")
    assert open_memory(space="new").search("Porto") == []


@pytest.mark.both_engines(operation=("ask", "chat", "settle"))
@pytest.mark.parametrize("operation", ["ask", "chat", "memos", "tree", "settle"])
def test_a_space_that_is_removed_while_a_model_works_for_it_stays_removed(
    open_memory: Open, operation: str
) -> None:
    other = open_memory(space="ben")
    other.add("Ben likes trains.")

    def removed(_: Request) -> None:
        if PERSON in other.spaces():
            other.forget_space(PERSON)

    memory = open_memory(
        space=PERSON, llm=FakeLLM(lambda _: "yes, she moved", before_reply=removed)
    )
    memory.add([*TEXTS, {**TEXTS[0], "content": "I moved: I live in Faro with my cat Miu now."}])
    lines = [f"Line {number} on boats." for number in range(30)]
    memory.add([{"role": "user", "name": "Eva", "content": line} for line in lines])
    operations: dict[str, Callable[[], object]] = {
        "ask": lambda: memory.ask("Where does Ana live?"),
        "chat": lambda: memory.chat("Where does Ana live?"),
        "memos": memory.memos.settle,
        "tree": memory.tree.settle,
        "settle": memory.settle,
    }
    with suppress(LLMError, UnknownName):  # the space is not there; nor is that a good reply
        operations[operation]()
    assert other.spaces() == ["ben"]


def test_the_spaces_of_a_memory_share_its_connections_and_model(path: Path) -> None:
    llm = FakeLLM(["Porto.", "Lisbon."])
    with Memory.open(path, embedder=HashingEmbedder(), llm=llm) as memory:
        memory.add("The boiler is old.")
        memory.space("user-0", create=True).add("I live in Porto.")
        before = len(list(Path("/proc/self/fd").iterdir()))
        for number in range(1, MAX_OPEN + 4):  # more than stay loaded
            memory.space(f"user-{number}", create=True).add(f"I live in house {number}.")
        assert len(list(Path("/proc/self/fd").iterdir())) <= before
        first = memory.space("user-0", create=False)
        assert [hit.text for hit in first.search("live")] == ["I live in Porto."]
        assert [hit.text for hit in memory.search("live")] == ["The boiler is old."]
        hits = first.search("live boiler", spaces=["user-0", "default"])
        assert {hit.space for hit in hits} == {"user-0", "default"}
        assert first.ask("Where do I live?").text == "Porto."
        first.close()
        assert memory.space("user-1").ask("Where do I live?").text == "Lisbon."
        with pytest.raises(UnknownSpace):
            memory.space("nobody", create=False)
        memory.forget_space("user-0")
        assert memory.space("user-0", create=True).search("live") == []
    with pytest.raises(JournalError):
        first.search("live")
