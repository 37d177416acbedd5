"""Taking in texts, messages, files and folders: what is new is added, once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from tests.raised import raises
from treering import Memory
from treering.errors import (
    EmptyText,
    InputError,
    TextEncodingError,
)
from treering.ingest.drafts import Envelope
from treering.split.stream import MAX_ENTRY_CHARS

CHAT: list[dict[str, Any]] = [
    {"role": "user", "name": "Ana", "content": "My sister moved to Porto.", "at": "2026-05-03"},
    {"role": "assistant", "content": "ok"},
    {"role": "user", "name": "Ana", "content": "She rows on the river.", "metadata": {"n": 1}},
    {"role": "assistant", "content": "ok"},
]


def test_a_text_comes_back_as_it_was_added(memory: Memory) -> None:
    receipt = memory.add(
        "It was a dark and stormy night.",
        source="novel.txt",
        at="2026-05-03T10:00:00+02:00",
        speaker="narrator",
        session="chapter 1",
        metadata={"page": 1, "tags": ["a", None], "é": {"x": 1.5}},
    )
    entry = memory.get(receipt.ids[0])
    assert entry.text == "It was a dark and stormy night."
    assert (entry.source, entry.position, entry.kind) == ("novel.txt", 0, "text")
    assert entry.at == datetime(2026, 5, 3, 8, tzinfo=UTC)
    assert (entry.speaker, entry.session, entry.role) == ("narrator", "chapter 1", None)
    assert entry.metadata == {"page": 1, "tags": ["a", None], "é": {"x": 1.5}}
    assert abs((datetime.now(UTC) - entry.added).total_seconds()) < 3600
    assert list(memory.entries()) == [entry]
    hit = memory.search("stormy night")[0]
    assert (hit.text, hit.entry_id, hit.start, hit.end) == (entry.text, entry.id, 0, 31)
    assert (hit.source, hit.at, hit.metadata) == (entry.source, entry.at, entry.metadata)


@given(
    text=st.text("ab .\n", min_size=1, max_size=40).filter(str.strip),
    repeat=st.integers(1, 4_000),
)
def test_a_text_of_any_length_comes_back_to_the_character(
    tmp_path_factory: pytest.TempPathFactory, text: str, repeat: int
) -> None:
    whole = text * repeat
    path = tmp_path_factory.mktemp("memory") / "life.db"
    with Memory.open(path, embedder=HashingEmbedder()) as memory:
        memory.add(whole, source="novel.txt")
        stored = list(memory.entries())
        assert "".join(entry.text for entry in stored) == whole
        assert [entry.position for entry in stored] == list(range(len(stored)))
        assert all(len(entry.text) <= MAX_ENTRY_CHARS for entry in stored)
        hits = memory.search("ab", k=100_000)
        texts = {entry.id: entry.text for entry in stored}
        assert all(hit.text == texts[hit.entry_id][hit.start : hit.end] for hit in hits)


@given(
    said=st.lists(st.sampled_from(["ok", "yes", "no", "Porto"]), min_size=1, max_size=12),
    first=st.integers(1, 12),
)
def test_a_longer_export_of_a_chat_adds_only_the_new_messages(
    tmp_path_factory: pytest.TempPathFactory, said: list[str], first: int
) -> None:
    chat = [{"role": "user", "content": text} for text in said]
    path = tmp_path_factory.mktemp("memory") / "life.db"
    with Memory.open(path, embedder=HashingEmbedder()) as memory:
        begun = memory.add(chat[:first], source="chat")
        grown = memory.add(chat, source="chat")
        assert grown.unchanged == begun.added
        assert [entry.text for entry in memory.entries()] == said


def test_the_same_text_from_another_source_or_time_is_another_entry(memory: Memory) -> None:
    for source, at in (("a", None), ("b", None), ("a", "2026-05-03"), ("a", "2026-05-04")):
        assert memory.add("ok then", source=source, at=at).added == 1


def test_parts_tool_calls_and_other_keys_of_messages_are_kept(memory: Memory) -> None:
    memory.add(
        [
            {"role": "user", "content": [{"type": "text", "text": "one"}, "two"]},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "x"}], "model": "m"},
        ]
    )
    first, second = memory.entries()
    assert first.text == "one\ntwo"
    assert json.loads(second.text) == [{"id": "x"}]
    assert second.metadata == {"model": "m", "tool_calls": [{"id": "x"}]}


def test_content_that_cannot_be_kept_is_refused_and_changes_nothing(memory: Memory) -> None:
    said = {"role": "user", "content": "a"}
    cases: list[tuple[Any, type[InputError]]] = [
        ("", EmptyText),
        (" \n\t", EmptyText),
        ([], EmptyText),
        *((text, TextEncodingError) for text in ("a\0b", "a\ud800", [said | {"content": "a\0"}])),
        *((other, InputError) for other in (b"bytes", 5, ["text"], [{"role": "user"}])),
        *(([said | wrong], InputError) for wrong in ({"role": 5}, {"at": "soon"}, {"x": {1}})),
        *(([said | wrong], InputError) for wrong in ({"metadata": 5}, {"content": [5]})),
    ]
    for content, kind in cases:
        with raises(kind):
            memory.add(content)
        assert memory.stats().entries == 0
    assert memory.add("The memory still works.").added == 1


def test_what_is_said_of_a_text_is_checked(memory: Memory) -> None:
    wrong: list[dict[str, Any]] = [
        *({"source": source} for source in ("", "a\nb", "a\ud800")),
        {"speaker": "x" * 1_001},
        {"kind": "poem"},
        *({"at": at} for at in ("yesterday", float("nan"), True)),
        *({"at": at} for at in ("9999-12-31T23:59:59-10:00", "0001-01-01T00:00:00+10:00")),
        *({"metadata": {"x": value}} for value in (float("nan"), "\ud800", ["\0"])),
        {"metadata": {1: "x"}},
        {"metadata": {"": 1}},
    ]
    for options in wrong:
        with pytest.raises(InputError):
            memory.add("text", **options)
    assert list(memory.entries()) == []


def test_times_are_kept_to_the_microsecond_and_returned_in_utc(memory: Memory) -> None:
    for at in (
        datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC),
    ):
        entry = memory.get(memory.add("A moment.", at=at).ids[0])
        assert entry.at == at
        assert entry.at.tzinfo is UTC
    assert memory.search("moment")
    assert memory.context("moment").passages


# ------------------------------------------------------------------ files and folders


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "porto.md").write_text("Ana moved to Porto.", "utf-8")
    (folder / "deep" / "row.py").write_text("def row():\n    return 'river'\n", "utf-8")
    (folder / "chat.json").write_text(json.dumps({"messages": CHAT}), "utf-8")
    (folder / "empty.txt").touch()
    (folder / "image.png").write_bytes(b"\x89PNG\0\0")
    (folder / "latin.txt").write_bytes("é".encode("latin-1"))
    (folder / ".secret").write_text("hidden", "utf-8")
    (folder / "link.md").symlink_to(folder / "porto.md")
    return folder


def test_a_folder_is_added_but_for_what_is_no_text(memory: Memory, notes: Path) -> None:
    receipt = memory.add(notes, source="notes")
    assert {Path(one.path).name for one in receipt.skipped} == {
        *("empty.txt", "image.png", "latin.txt", "link.md")
    }
    found = {entry.source: entry.kind for entry in memory.entries()}
    assert found == {
        "notes/chat.json": "chat",
        "notes/deep/row.py": "code",
        "notes/porto.md": "text",
    }
    assert receipt.added == 6


def test_an_unchanged_folder_is_a_no_op_and_a_changed_file_replaces_its_entries(
    memory: Memory, notes: Path
) -> None:
    first = memory.add(notes)
    again = memory.add(notes)
    assert (again.added, again.removed, again.unchanged) == (0, 0, first.added)
    (notes / "porto.md").write_text("Ana moved to Lisbon.", "utf-8")
    changed = memory.add(notes)
    assert (changed.added, changed.removed) == (1, 1)
    assert memory.search("Lisbon", k=1)[0].text == "Ana moved to Lisbon."
    assert not [entry for entry in memory.entries() if "Ana moved to Porto." in entry.text]
    assert memory.stats().entries == first.added


def test_a_source_that_ends_in_a_slash_stands_for_a_folder(memory: Memory, notes: Path) -> None:
    memory.add(notes, source="notes")
    memory.add("The river is high.", source="notes")
    below = [entry.source for entry in memory.entries(source="notes/")]
    assert sorted(set(below)) == ["notes/chat.json", "notes/deep/row.py", "notes/porto.md"]
    assert {hit.source for hit in memory.search("river", source="notes/deep/")} == {
        "notes/deep/row.py"
    }
    assert not list(memory.entries(source="notes/de"))


def test_a_generator_of_messages_may_use_the_memory_itself(memory: Memory) -> None:
    def messages() -> Iterator[dict[str, Any]]:
        memory.add("a note that is taken meanwhile")
        yield {"role": "user", "content": "Ana rows"}

    memory.add(messages())
    assert {entry.source for entry in memory.entries()} == {"notes", "chat"}


def test_a_file_that_became_unreadable_keeps_what_was_read_before(
    memory: Memory, notes: Path
) -> None:
    file = notes / "porto.md"
    memory.add(file)
    file.write_bytes(b"Ana\xff")
    with pytest.raises(TextEncodingError):
        memory.add(file)
    assert [entry.text for entry in memory.entries()] == ["Ana moved to Porto."]


def test_a_file_with_an_insertion_is_in_order_afterwards(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(CHAT), "utf-8")
    memory.add(file)
    changed = [CHAT[0], {"role": "user", "content": "Porto, really?"}, *CHAT[1:3]]
    file.write_text(json.dumps(changed), "utf-8")
    memory.add(file)
    by_position = sorted(memory.entries(), key=lambda entry: entry.position)
    assert [entry.text for entry in by_position] == [one["content"] for one in changed]
    assert [entry.position for entry in by_position] == [0, 1, 2, 3]


def test_what_was_added_by_hand_to_a_files_source_outlives_a_change_of_the_file(
    memory: Memory, notes: Path
) -> None:
    file = notes / "porto.md"
    memory.add(file, source="porto")
    memory.add("Written by hand.", source="porto")
    file.write_text("Ana moved to Lisbon.", "utf-8")
    with pytest.raises(InputError, match="'porto' holds entries that no file brought"):
        memory.add(file, source="porto")
    assert "Written by hand." in [entry.text for entry in memory.entries()]


def test_a_path_that_is_not_there_is_a_mistake_of_the_caller_and_no_name(
    memory: Memory, tmp_path: Path
) -> None:
    message = r"nowhere\.txt is neither a file nor a folder"
    with pytest.raises(InputError, match=message) as raised:
        memory.add(tmp_path / "nowhere.txt")
    assert type(raised.value) is InputError


def test_a_file_whose_name_is_no_text_is_skipped_and_the_others_are_added(
    memory: Memory, notes: Path
) -> None:
    import os

    with Path(os.fsdecode(os.fsencode(notes) + b"/caf\xe9.txt")).open("w") as file:
        file.write("A café by the river.")
    (notes / "two\nlines.txt").write_text("A name of two lines.", "utf-8")
    receipt = memory.add(notes)
    assert receipt.added == 6
    assert len(receipt.skipped) == 6
    assert len(list(memory.export())) > 6


def test_json_lines_with_a_broken_line_name_it(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_text(json.dumps(CHAT[0]) + "\n{broken\n", "utf-8")
    with pytest.raises(InputError, match=r"chat\.jsonl: line 2 is not JSON"):
        memory.add(file)
    file.write_text(
        json.dumps(CHAT[0]) + "\n" + '{"role": "user", "content": "x", "n": ' + "1" * 5_000 + "}\n",
        "utf-8",
    )
    with pytest.raises(InputError, match=r"chat\.jsonl: line 2"):
        memory.add(file)
    assert memory.stats().entries == 0


def test_json_that_holds_no_messages_is_text(memory: Memory, tmp_path: Path) -> None:
    for name, text in (
        ("a.json", '{"city": "Porto"}'),
        ("b.json", "{broken"),
        ("c.json", '{"n": ' + "1" * 5_000 + "}"),
        ("d.json", "[" * 5_000),
        ("e.json", '[{"role": "admin"}, {"role": "guest"}]'),
    ):
        (tmp_path / name).write_text(text, "utf-8")
        memory.add(tmp_path / name)
    assert [entry.kind for entry in memory.entries()] == ["text"] * 5


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-32"])
def test_a_file_with_a_byte_order_mark_is_read(
    memory: Memory, tmp_path: Path, encoding: str
) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("Ana moved to Porto. 🚣", encoding)
    memory.add(file)
    assert [entry.text for entry in memory.entries()] == ["Ana moved to Porto. 🚣"]


# ------------------------------------------------------------------ replace and get


def test_replace_keeps_id_place_and_metadata_and_forgets_the_old_text(memory: Memory) -> None:
    ids = memory.add(CHAT, source="chat").ids
    before = memory.get(ids[0])
    after = memory.replace(ids[0], "My sister moved to Lisbon.")
    assert after.text == "My sister moved to Lisbon."
    assert (after.id, after.position, after.at, after.speaker, after.role, after.added) == (
        *(before.id, before.position, before.at, before.speaker, before.role, before.added),
    )
    assert "Porto" not in " ".join(hit.text for hit in memory.search("Porto", k=50))
    assert memory.search("Lisbon", k=1)[0].entry_id == ids[0]


def test_replace_may_give_an_entry_the_text_of_another(memory: Memory) -> None:
    one, other = (memory.add(text, source="notes").ids[0] for text in ("one", "other"))
    assert memory.replace(one, "other").text == "other"
    assert memory.get(other).text == "other"
    assert memory.replace(one, "one").text == "one"


def test_a_replacement_that_cannot_be_kept_leaves_the_entry(memory: Memory) -> None:
    entry = memory.add("one", source="notes").ids[0]
    for text in ("", " ", "a\0", "x" * (MAX_ENTRY_CHARS + 1)):
        with pytest.raises(InputError):
            memory.replace(entry, text)
        assert memory.get(entry).text == "one"
        assert memory.search("one")


def test_progress_counts_up_to_all_there_is(memory: Memory) -> None:
    seen: list[tuple[int, int]] = []
    chat = [{"role": "user", "content": f"message {n}"} for n in range(150)]
    memory.add(chat, progress=lambda done, total: seen.append((done, total)))
    assert seen
    assert seen[-1] == (150, 150)
    assert sorted(seen) == seen


def test_a_search_does_not_wait_until_long_texts_are_indexed(
    open_memory: Open, caplog: pytest.LogCaptureFixture
) -> None:
    memory = open_memory()
    memory.add("Ana keeps bees.")
    # Durable, and not indexed yet, as a kill leaves it.
    memory._intake.add("She rows daily. " * 20_000, "book", Envelope())
    assert [hit.text for hit in memory.search("who rows?", k=1)] == ["Ana keeps bees."]
    assert "not indexed yet" in caplog.text
    memory.settle()
    assert "rows daily" in memory.search("who rows?", k=1)[0].text
