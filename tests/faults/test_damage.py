"""A file whose bytes were changed: either the right answer or an error that says so."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from treering import Memory
from treering.errors import JournalCorrupt, JournalError, UnknownName
from treering.journal.stored import PAGE
from treering.llm.scripted import FakeLLM
from treering.records import Entry
from treering.views.memos import store as memos
from treering.views.memos.record import Claim
from treering.views.memos.store import NewMemo

SEED = 20_260_101
COPIES = 30
TEXTS = [
    f"Entry {number}: Ana moved to {town} in {1990 + number} and took her {pet} along."
    for number, (town, pet) in enumerate(
        (town, pet)
        for town in ("Porto", "Łódź", "Lisbon", "Ghent", "Turku")
        for pet in ("cat", "dog", "newt", "horse")
    )
]


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Entry]]:
    """A file that each test copies before it damages it, and what is in it, by id: notes with equal
    ones among them, a chat, and what was replaced, changed by hand and imported."""
    file = tmp_path_factory.mktemp("undamaged") / "life.db"
    with Memory.open(file, embedder=HashingEmbedder()) as memory:
        memory.add(TEXTS[0], source="notes", metadata={"town": "Porto"}, at="2026-05-03T10:00:00Z")
        for text in TEXTS[1:]:
            memory.add(text, source="notes", speaker="Ana", session="one")
        memory.add([{"role": "user", "content": "ok"}] * 5, source="chat")
        replaced = memory.add("Something else.", source="notes").ids[0]
        memory.replace(replaced, "Something new.")
    with Memory.open(file, embedder=HashingEmbedder()) as again:
        return file, {entry.id: entry for entry in again.entries()}


@pytest.fixture
def stored(undamaged: tuple[Path, dict[str, Entry]], path: Path) -> dict[str, Entry]:
    """What is in the file at ``path``, by id."""
    file, entries = undamaged
    shutil.copyfile(file, path)
    return entries


def test_every_way_to_store_an_entry_leaves_one_that_is_given_out(
    open_memory: Open, path: Path
) -> None:
    memory = open_memory(llm="none")
    chat = [{"role": "user", "content": "ok", "at": "2026-05-03T10:00:00Z"}] * 40
    ids = memory.add(chat, source="chat").ids
    memory.forget(*ids[:30])
    memory.add("Alike", source="notes")
    unlike = memory.add("Unlike", source="notes").ids[0]
    memory.replace(unlike, "Alike")
    memory.code.record("Add it", before={}, after={"a.py": "def f():\n    return 1\n"})
    memory.code.note("a.py::f", "Went well.")
    before = list(memory.entries())

    assert memory.check() == []
    with open_memory(path.with_name("other.db")) as other:
        other.import_(memory.export())
        assert [entry.text for entry in other.entries()] == [entry.text for entry in before]
        assert other.check() == []


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("text", "Ana never moved."),
        ("text", b"\xff\xfe"),
        ("text", 5),
        ("kind", "odd"),
        ("speaker", "Bob"),
        ("session", "two"),
        ("role", "user"),
        ("at", 1 << 62),
        ("at", "yesterday"),
        ("added", 1 << 62),
        ("added", "yesterday"),
        ("position", "first"),
        ("metadata", "{"),
        ("metadata", "[1]"),
        ("metadata", '{"a": 1}'),
        ("digest", b""),
        ("key", "7"),
        ("key", b"\xff"),
        ("source", 999),
    ],
)
def test_an_entry_that_was_changed_in_the_file_is_named_and_not_given_out(
    column: str, value: Any, open_memory: Open, path: Path
) -> None:
    with open_memory() as memory:
        entry_id = memory.search("Lisbon newt")[0].entry_id
    others = len(TEXTS) + 5
    alter(path, column, value, entry_id)

    with open_memory() as memory:
        for use in USES:
            with pytest.raises(JournalCorrupt, match=entry_id):
                use(memory, entry_id)
        assert any(entry_id in problem for problem in memory.check())
        assert "Ana never moved" not in str(memory.check())
        memory.forget(entry_id)
        assert memory.check() == []
        assert len(list(memory.entries())) == others


@pytest.mark.parametrize(("column", "value"), [("text", "Altered."), ("text", b"\xff\xfe")])
def test_a_search_finds_all_but_what_is_damaged_and_says_so(
    stored: dict[str, Entry],
    column: str,
    value: Any,
    open_memory: Open,
    path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with open_memory() as memory:
        before = memory.search("Lisbon newt", k=6)
        bad = {before[0].entry_id, before[2].entry_id}
    for entry_id in bad:
        alter(path, column, value, entry_id)

    with open_memory() as memory:
        after = [hit.entry_id for hit in memory.search("Lisbon newt", k=4)]
        assert after == [hit.entry_id for hit in before if hit.entry_id not in bad]
        assert any(entry_id in caplog.text for entry_id in bad)
        assert "treering doctor" in caplog.text
        passages = memory.context("Lisbon newt", budget=200).passages
        shown = {hit.entry_id for passage in passages for hit in passage.hits}
    assert shown
    assert not shown & bad
    assert "Altered" not in str(passages)


BAD_BYTES = b"\xff\xfe Berlin"


@pytest.mark.parametrize("value", ["I live in Rome now.", BAD_BYTES])
@pytest.mark.parametrize("by", ["rule", "person"])
def test_a_mark_that_rests_on_a_damaged_entry_is_left_out_and_all_else_is_found(
    value: str | bytes, by: str, open_memory: Open, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with open_memory() as memory:
        [older] = memory.add([{"role": "user", "content": "I live in Porto."}], source="a").ids
        [newer] = memory.add([{"role": "user", "content": "I live in Berlin now."}], source="b").ids
        memory.add([{"role": "user", "content": "The boiler was serviced."}], source="c")
        if by == "person":
            memory.supersede(older, newer)
        assert memory.get(older).superseded_by
    alter(path, "text", value, newer)

    with open_memory() as memory:
        hits = memory.search("boiler", k=3)
        assert {hit.source for hit in hits} == {"a", "c"}
        assert not any(hit.superseded_by for hit in hits)
        assert "boiler" in memory.context("boiler", budget=100).text
        assert f"a mark of entry '{older}' is left out" in caplog.text
        assert newer in caplog.text


USES: list[Callable[[Memory, str], object]] = [
    lambda memory, entry_id: memory.get(entry_id),
    lambda memory, _: list(memory.entries()),
    lambda memory, _: list(memory.export()),
]


def alter(path: Path, column: str, value: object, entry_id: str) -> None:
    """Change a value of an entry behind treering's back."""
    with closing(sqlite3.connect(path)) as connection:
        sql = f"UPDATE entry SET {column} = ? WHERE id = ?"
        if column in {row[1] for row in connection.execute("PRAGMA table_info(body)")} - {"id"}:
            new = "CAST(? AS TEXT)" if isinstance(value, bytes) else "?"
            row = "(SELECT body FROM entry WHERE id = ?)"
            sql = f"UPDATE body SET {column} = {new} WHERE id = {row}"
        connection.execute(sql, (value, entry_id))
        connection.commit()


def test_an_export_of_a_damaged_memory_holds_the_rest_and_then_says_what_is_missing(
    stored: dict[str, Entry], open_memory: Open, path: Path
) -> None:
    bad = [entry.id for entry in stored.values() if entry.source == "notes"][3:5]
    for entry_id in bad:
        alter(path, "text", "Altered.", entry_id)
    lines: list[str] = []
    with open_memory() as memory, pytest.raises(JournalCorrupt) as raised:
        lines.extend(memory.export())

    assert all(entry_id in str(raised.value) for entry_id in bad)
    with open_memory(path.with_name("rest.db")) as rest:
        rest.import_(lines)
        assert {entry.id for entry in rest.entries()} == stored.keys() - set(bad)


def test_looking_over_a_file_reports_how_far_it_has_come(memory: Memory) -> None:
    memory.add([{"role": "user", "content": f"line {n}"} for n in range(PAGE + 1)])
    seen: list[tuple[int, int]] = []

    assert memory.check(progress=lambda done, total: seen.append((done, total))) == []
    assert seen == [(PAGE, PAGE + 1), (PAGE + 1, PAGE + 1)]


def test_flipped_bytes_are_never_given_out_as_the_text(
    stored: dict[str, Entry], path: Path, tmp_path: Path
) -> None:
    rng, whole = random.Random(SEED), path.read_bytes()
    assert not path.with_name(f"{path.name}-wal").exists()
    rows = [whole.index(text.encode()) for text in TEXTS]
    altered = 0
    for number in range(COPIES):
        damaged = bytearray(whole)
        for _ in range(rng.choice((1, 1, 4))):
            anywhere = rng.randrange(100, len(whole))
            near_a_text = rng.choice(rows) + rng.randrange(-150, 60)
            damaged[rng.choice((anywhere, near_a_text))] ^= 1 << rng.randrange(8)
        copy = tmp_path / f"copy{number}.db"
        copy.write_bytes(damaged)
        with suppress(JournalError), Memory.open(copy, embedder=HashingEmbedder()) as memory:
            altered += _used(memory, stored, copy)
        copy.unlink()
    assert altered, "no byte of any text was hit"


def test_an_index_that_leads_to_another_entry_is_named_and_erases_nothing(
    stored: dict[str, Entry], open_memory: Open, path: Path
) -> None:
    wrong, other = list(stored)[2:4]
    with closing(sqlite3.connect(path)) as connection:
        [wrong_seq], [other_seq] = (
            connection.execute("SELECT seq FROM entry WHERE id = ?", (entry_id,)).fetchone()
            for entry_id in (wrong, other)
        )
    whole = path.read_bytes()
    cell = wrong.encode() + bytes([wrong_seq])  # a record of the index: the id, then the row
    assert whole.count(cell) == 1
    path.write_bytes(whole.replace(cell, wrong.encode() + bytes([other_seq])))

    with open_memory() as memory:
        for use in (memory.get, memory.forget, memory.pin):
            with pytest.raises(JournalCorrupt):
                use(wrong)
        assert memory.get(other) == stored[other]


def _used(memory: Memory, stored: dict[str, Entry], copy: Path) -> bool:
    """Use a memory; whether a text in it was altered, which looking it over must find then."""
    texts = {entry.text for entry in stored.values()}
    with suppress(JournalCorrupt):
        for entry in memory.entries():
            assert entry.text in texts
    with suppress(JournalCorrupt):
        for hit in memory.search("Ana moved to Porto with her dog", k=30):
            assert any(hit.text in text for text in texts)
            assert hit.metadata in ({}, {"town": "Porto"})
    with suppress(JournalCorrupt):
        for passage in memory.context("Where does Ana live?", budget=500).passages:
            assert any(passage.text.strip() in text or text in passage.text for text in texts)
    for entry_id, entry in stored.items():
        with suppress(JournalCorrupt, UnknownName):
            assert memory.get(entry_id).text == entry.text
    with suppress(JournalCorrupt):
        memory.facts.all()
    with suppress(JournalCorrupt):
        memory.settle()
    # The history of corrections has the name of one, beside the entries.
    altered = _texts(copy) - {entry.text.encode() for entry in stored.values()} - {b"replaced"}
    assert not altered or memory.check(), f"{altered} are not found"
    return bool(altered)


def _texts(copy: Path) -> set[bytes]:
    """The texts as SQLite reads them, damaged or not; none if it cannot read the table."""
    with closing(sqlite3.connect(copy)) as connection:
        connection.text_factory = bytes
        with suppress(sqlite3.Error):
            rows = connection.execute(
                "SELECT CAST(b.text AS BLOB) FROM entry e JOIN body b ON b.id = e.body"
            ).fetchall()
            return {bytes(row[0] or b"") for row in rows}
    return set()


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("change", "use"),
    [
        ("UPDATE block_rows SET data = x'0102'", lambda memory: memory.search("Lisbon")),
        (
            "UPDATE block_rows SET data = zeroblob(length(data))",
            lambda memory: memory.search("Lisbon"),
        ),
        ("DELETE FROM block_rows", lambda memory: memory.search("Lisbon")),
        ("UPDATE block_postings SET data = x'0102'", lambda memory: memory.search("Lisbon")),
        ("UPDATE vector_block_data SET data = x'0102'", lambda memory: memory.search("Lisbon")),
        ("UPDATE block SET used = slots + 1", lambda memory: memory.search("Lisbon")),
        ("UPDATE vector_block SET size = 'far'", lambda memory: memory.search("Lisbon")),
        ("UPDATE fragment SET start = 999", lambda memory: memory.search("Lisbon")),
        ("UPDATE fragment SET stop = 'far'", lambda memory: memory.search("Lisbon")),
        ("UPDATE vector_data SET data = x'0102'", lambda memory: memory.search("Lisbon")),
        (
            "UPDATE vector_data SET data = zeroblob(3) || data",
            lambda memory: memory.search("Lisbon"),
        ),
        ("UPDATE space SET settings = '{'", lambda memory: memory.search("Lisbon")),
        (
            "UPDATE node SET parent = 77 WHERE leaf",
            lambda memory: memory.search("Lisbon", level="all"),
        ),
        ("UPDATE memo SET claims = '{'", lambda memory: memory.memos.search("Ana")),
        ("UPDATE memo SET made = 1 << 62", lambda memory: memory.memos.search("Ana")),
        ("UPDATE code_file SET data = x'0102'", lambda memory: memory.code.search("spin")),
        ("UPDATE code_file SET calls = x'0102'", lambda memory: memory.code.search("spin")),
    ],
)
def test_what_is_derived_and_damaged_is_an_error_that_says_what_to_do(
    change: str, use: Callable[[Memory], object], open_memory: Open, path: Path, tmp_path: Path
) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text("def spin():\n    return spin()\n")
    with open_memory() as memory:
        with memory._space.write() as writer:
            said = NewMemo("Ana", (Claim("Ana moved.", True),), "written", 0, (1,))
            memos.put(writer, "ana", said)
        memory.code.index(tmp_path / "code")
        use(memory)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(change).rowcount
        connection.commit()

    with (
        open_memory() as memory,
        pytest.raises(JournalCorrupt),
    ):
        use(memory)


def test_the_index_of_a_repository_that_is_damaged_can_be_made_anew(
    memory: Memory, path: Path, tmp_path: Path, open_memory: Open
) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text("def spin():\n    return spin()\n")
    memory.code.index(tmp_path / "code")
    memory.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE code_file SET data = x'0102'")
        connection.commit()

    with open_memory() as again:
        again.code.forget(tmp_path / "code")
        again.code.index(tmp_path / "code")
        assert again.code.search("spin")


def test_a_damaged_entry_that_a_model_was_shown_can_be_forgotten(
    open_memory: Open, path: Path
) -> None:
    with open_memory(llm=FakeLLM(["In the attic."])) as memory:
        [given] = memory.add("The suitcase is in the attic.").ids
        memory.chat("Where is the suitcase?", source="talk")
    alter(path, "text", b"\xffThe suitcase is in the attic.", given)
    with open_memory() as memory:
        assert memory.forget(given).replies
        assert b"suitcase is in the attic" not in path.read_bytes()
