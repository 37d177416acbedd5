"""What was forgotten stays away from imports, on every engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Open
from tests.ingest.clients import claude_line
from treering import Memory
from treering.copying import copy_space
from treering.errors import InputError
from treering.ingest.exchange import header
from treering.ingest.items import FORGOTTEN
from treering.journal.tombstones import MAX_KEYS

pytestmark = pytest.mark.both_engines

MAST = "The mast of the boat is nine metres long."
KEEL = "The keel is of lead."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where transcripts lie; a test that asks for ``tmp_path`` itself runs on SQLite alone."""
    return tmp_path


def session(path: Path, *texts: str, **fields: Any) -> Path:
    lines = [claude_line(n, "user", text, **fields) for n, text in enumerate(texts, start=1)]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def texts(memory: Memory) -> list[str]:
    return sorted(entry.text for entry in memory.entries())


def forget(memory: Memory, text: str) -> str:
    [entry] = [entry.id for entry in memory.entries() if entry.text == text]
    memory.forget(entry)
    return entry


def test_a_transcript_does_not_bring_back_what_was_forgotten(memory: Memory, folder: Path) -> None:
    path = session(folder / "s.jsonl", MAST, KEEL)
    memory.import_(path)
    forget(memory, MAST)
    receipt = memory.import_(path)
    assert receipt.added == 0
    assert receipt.omitted[FORGOTTEN] == 1
    fork = session(folder / "fork.jsonl", MAST, KEEL, "And the rudder?", sessionId="fork")
    memory.import_(fork)
    assert texts(memory) == ["And the rudder?", KEEL]


def test_an_export_does_not_bring_it_back_nor_what_it_held_instead_of(memory: Memory) -> None:
    ids = [memory.add(text, source="talk").ids[0] for text in (MAST, KEEL)]
    memory.supersede(*ids)
    export = list(memory.export())
    forget(memory, MAST)
    receipt = memory.import_(export)
    assert receipt.omitted == {FORGOTTEN: 1}
    assert texts(memory) == [KEEL]
    memory.forget(ids[1])
    memory.import_(export)
    assert texts(memory) == []


def test_on_purpose_it_comes_back_and_for_good(memory: Memory, folder: Path) -> None:
    path = session(folder / "s.jsonl", MAST, KEEL)
    memory.import_(path)
    forget(memory, MAST)
    forget(memory, KEEL)
    session(folder / "s.jsonl", MAST)
    assert memory.import_(path, again_forgotten=True).added == 1
    session(folder / "s.jsonl", MAST, KEEL)
    assert memory.import_(path).omitted[FORGOTTEN] == 1
    assert texts(memory) == [MAST]


def test_a_copy_forgets_too(memory: Memory, open_memory: Open, folder: Path) -> None:
    path = session(folder / "s.jsonl", MAST, KEEL)
    memory.import_(path)
    forget(memory, MAST)
    with open_memory(folder / "other.db") as other:
        copy_space(memory, other)
        forget(other, KEEL)
        other.import_(path)
        assert texts(other) == []
        assert sum('"forgotten"' in line for line in other.export()) == 2


def test_a_removed_space_does_not_come_back(
    memory: Memory, open_memory: Open, folder: Path
) -> None:
    path = session(folder / "s.jsonl", MAST, KEEL)
    memory.import_(path)
    forget(memory, MAST)
    export = list(memory.export())
    memory.forget_space(memory.stats().space)
    assert memory.import_(path).omitted[FORGOTTEN] == 2
    assert memory.import_(export).omitted[FORGOTTEN] == 1
    fork = session(folder / "fork.jsonl", MAST, KEEL, "And the rudder?", sessionId="fork")
    memory.import_(fork)
    assert texts(memory) == ["And the rudder?"]
    with open_memory(space="another") as another:
        assert another.import_(path).added == 2
    assert memory.import_(path, again_forgotten=True).added == 2
    assert memory.import_(path).omitted.get(FORGOTTEN) is None


def test_what_is_kept_of_it_is_neither_its_text_nor_its_id(memory: Memory, folder: Path) -> None:
    memory.import_(session(folder / "s.jsonl", MAST))
    entry = forget(memory, MAST)
    [line] = [line for line in memory.export() if '"forgotten"' in line]
    assert entry not in line
    assert "mast" not in line


def test_the_receipt_names_the_files_that_the_entries_were_read_from(
    memory: Memory, folder: Path
) -> None:
    path = session(folder / "s.jsonl", MAST, KEEL)
    memory.import_(path)
    note = folder / "note.md"
    note.write_text("The rudder is new.")
    memory.add(note)
    memory.add("Said.", source="talk")
    assert memory.forget(source="talk").files == ()
    assert memory.forget(*[entry.id for entry in memory.entries()]).files == (str(note), str(path))


def test_a_line_that_cannot_be_one_of_a_forgotten_entry_is_refused(memory: Memory) -> None:
    for key, digest in (("00", "01" * 16), ("00" * 16, "x"), (None, "")):
        with pytest.raises(InputError, match="line 2"):
            memory.import_([header({}), json.dumps({"forgotten": digest, "key": key})])


def test_a_space_takes_over_no_more_keys_than_an_import_can_try(memory: Memory) -> None:
    lines = [
        json.dumps({"forgotten": "00" * 16, "key": f"{number:032x}"}) for number in range(1, 100)
    ]
    memory.import_([header({}), *lines])
    assert sum('"forgotten"' in line for line in memory.export()) == MAX_KEYS
