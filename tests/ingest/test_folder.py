"""A folder that is read again: what moved is known, what is gone is named and may be erased."""

from __future__ import annotations

import os
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.conftest import Treering, process, records, settings, treering
from tests.raised import raises
from treering import Memory
from treering.errors import InputError
from treering.hints import Hint

__all__ = ["process", "settings", "treering"]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "travel").mkdir(parents=True)
    (folder / "travel" / "croatia.md").write_text("A boat to the islands of Croatia.")
    (folder / "boiler.md").write_text("The boiler is bled in autumn.")
    (folder / "guitar.md").write_text("I play the guitar.")
    return folder


def sources(memory: Memory) -> list[str]:
    return sorted({entry.source for entry in memory.entries()})


def test_sources_are_called_after_the_folder_and_selected_by_it(
    memory: Memory, notes: Path
) -> None:
    memory.add(notes)
    assert sources(memory) == ["notes/boiler.md", "notes/guitar.md", "notes/travel/croatia.md"]
    [hit] = memory.search("boat", source="notes/travel/")
    assert hit.source == "notes/travel/croatia.md"
    [same] = memory.search("boat", source=f"{notes.resolve()}/travel/")
    assert same.entry_id == hit.entry_id
    assert memory.add(notes / "boiler.md").unchanged == 1
    assert len(sources(memory)) == 3


def test_a_folder_that_was_moved_is_known_by_its_files(memory: Memory, notes: Path) -> None:
    ids = set(memory.add(notes).ids)
    memory.facts.all()
    moved = notes.rename(notes.with_name("notizen"))
    receipt = memory.add(moved)
    assert (receipt.added, receipt.moved, receipt.unchanged, receipt.gone) == (0, 3, 3, ())
    assert {entry.id for entry in memory.entries()} == ids
    assert sources(memory) == [
        "notizen/boiler.md",
        "notizen/guitar.md",
        "notizen/travel/croatia.md",
    ]
    assert len(memory.search("boat to Croatia", source="notizen/")) == 3
    again = memory.add(moved)
    assert (again.added, again.moved, again.unchanged) == (0, 0, 3)


def test_a_note_that_was_moved_states_what_it_stated_under_its_new_name(
    memory: Memory, notes: Path
) -> None:
    (notes / "me.md").write_text("I live in Porto.")
    memory.add(notes)
    assert [fact.attribute for fact in memory.facts.all("notes/me.md")] == ["home"]
    (notes / "me.md").rename(notes / "self.md")
    memory.add(notes)
    assert memory.facts.all("notes/me.md") == []
    assert [fact.attribute for fact in memory.facts.all("notes/self.md")] == ["home"]
    (notes / "self.md").write_text("I relocated to Lisbon.")
    memory.add(notes)
    assert [fact.value for fact in memory.facts.current("notes/self.md")] == ["Lisbon"]


def test_a_copy_of_a_file_is_not_stored_again_and_takes_its_place(
    memory: Memory, notes: Path
) -> None:
    memory.add(notes)
    (notes / "boiler (copy).md").write_bytes((notes / "boiler.md").read_bytes())
    (notes / "z").mkdir()
    (notes / "z" / "new.md").write_text("A new note.")
    (notes / "z" / "same.md").write_text("A new note.")
    receipt = memory.add(notes)
    assert receipt.added == 1
    assert {Path(one.path).name: one.reason for one in receipt.skipped} == {
        "boiler (copy).md": "a copy of notes/boiler.md",
        "same.md": "a copy of notes/z/new.md",
    }
    assert memory.add(notes / "z" / "same.md").added == 1  # a file that is named itself
    (notes / "boiler.md").unlink()
    receipt = memory.add(notes, sync=True)
    assert (receipt.moved, receipt.removed, receipt.added) == (1, 0, 0)
    assert "notes/boiler (copy).md" in sources(memory)


def test_an_old_version_and_a_note_of_another_day_are_no_copies(
    memory: Memory, notes: Path
) -> None:
    memory.add(notes)
    (notes / "boiler old.md").write_bytes((notes / "boiler.md").read_bytes())
    (notes / "boiler.md").write_text("The boiler is bled in spring.")
    for day in ("2026-05-03", "2026-05-04"):
        (notes / f"{day}.md").write_text("Nothing new.")
    receipt = memory.add(notes)
    assert (receipt.added, receipt.removed, receipt.skipped) == (4, 1, ())


def test_a_file_that_is_gone_is_named_and_erased_on_request(
    memory: Memory, notes: Path, path: Path
) -> None:
    memory.add(notes)
    (notes / "travel" / "croatia.md").unlink()
    receipt = memory.add(notes)
    assert (receipt.added, receipt.removed, receipt.unchanged) == (0, 0, 2)
    assert receipt.gone == ("notes/travel/croatia.md",)
    assert memory.search("boat")[0].source == "notes/travel/croatia.md"

    synced = memory.add(notes, sync=True)
    assert (synced.removed, synced.gone) == (1, ("notes/travel/croatia.md",))
    assert sources(memory) == ["notes/boiler.md", "notes/guitar.md"]
    memory.settle()
    assert b"Croatia" not in path.read_bytes()
    assert memory.add(notes, sync=True).gone == ()


@pytest.mark.parametrize("others", [0, 10])
def test_a_folder_that_lost_most_of_its_files_is_synced_only_by_force(
    memory: Memory, notes: Path, others: int
) -> None:
    """As one whose drive is not mounted, or at whose place another one is."""
    memory.add(notes)
    drive = notes.rename(notes.with_name("drive"))
    notes.mkdir()
    for number in range(others):
        (notes / f"{number}.md").write_text(f"Note {number} of another drive.")
    with pytest.raises(InputError) as refused:
        memory.add(notes, sync=True)
    assert refused.value.hint is Hint.FORCE_SYNC
    assert len(sources(memory)) == 3 + others
    assert memory.add(notes, sync=True, force=True).removed == 3
    assert len(sources(memory)) == others
    assert memory.add(drive).added == 3


def test_what_was_changed_while_a_folder_moved_is_gone_from_where_it_was(
    memory: Memory, notes: Path
) -> None:
    memory.add(notes)
    moved = notes.rename(notes.with_name("notizen"))
    (moved / "guitar.md").write_text("I play the piano.")
    receipt = memory.add(moved, sync=True)
    assert (receipt.moved, receipt.added, receipt.gone) == (2, 1, ("notes/guitar.md",))
    assert "guitar" not in "".join(entry.text for entry in memory.entries())


def test_files_of_the_same_content_move_with_their_folder(memory: Memory, notes: Path) -> None:
    for copy in ("2026-01-01.md", "2026-01-02.md", "travel/2026-01-03.md"):
        (notes / copy).write_text((notes / "boiler.md").read_text())
    memory.add(notes)
    source_by_id = {entry.id: entry.source for entry in memory.entries()}
    moved = notes.rename(notes.with_name("notizen"))
    receipt = memory.add(moved)
    assert (receipt.added, receipt.moved, receipt.gone) == (0, 6, ())
    assert {entry.id: entry.source for entry in memory.entries()} == {
        identity: source.replace("notes/", "notizen/") for identity, source in source_by_id.items()
    }


def test_a_file_that_came_from_another_folder_syncs_nothing_there(
    memory: Memory, notes: Path
) -> None:
    memory.add(notes)
    archive = notes.with_name("archive")
    archive.mkdir()
    (notes / "guitar.md").rename(archive / "guitar.md")
    (notes / "travel" / "croatia.md").unlink()
    receipt = memory.add(archive, sync=True)
    assert (receipt.moved, receipt.removed, receipt.gone) == (1, 0, ())
    assert "notes/travel/croatia.md" in sources(memory)


def test_what_cannot_be_looked_at_is_not_gone(memory: Memory, notes: Path, path: Path) -> None:
    memory.add(notes)
    with sqlite3.connect(path) as file:
        file.execute(
            "UPDATE source SET path = ? WHERE name LIKE '%boiler%'", (f"{notes}/{'x' * 999}",)
        )
    receipt = memory.add(notes / "travel", sync=True)
    assert (receipt.removed, receipt.gone) == (0, ())
    assert memory.stats().entries == 3


def test_two_folders_of_one_name_are_told_apart(memory: Memory, notes: Path) -> None:
    memory.add(notes)
    other = notes.parent / "work" / "notes"
    other.mkdir(parents=True)
    (other / "boiler.md").write_text("The boiler at work is new.")
    receipt = memory.add(other, sync=True)
    assert (receipt.added, receipt.gone, receipt.skipped) == (1, (), ())
    assert "work/notes/boiler.md" in sources(memory)
    assert len(sources(memory)) == 4


def test_a_folder_that_was_added_under_full_paths_keeps_them(memory: Memory, notes: Path) -> None:
    memory.add(notes, source=str(notes.resolve()))
    receipt = memory.add(notes)
    assert (receipt.added, receipt.unchanged) == (0, 3)
    assert all(source.startswith("/") for source in sources(memory))


def test_only_a_folder_is_synced(memory: Memory, notes: Path) -> None:
    with raises(InputError, param="sync"):
        memory.add(notes / "boiler.md", sync=True)
    with raises(InputError, param="sync"):
        memory.add("Hello.", sync=True)
    with raises(InputError, param="force"):
        memory.add(notes, force=True)
    assert memory.stats().entries == 0


@pytest.mark.parametrize(
    ("name", "text", "at"),
    [
        ("a.md", "---\ntitle: A\ndate: 2026-04-02\n---\nText.", datetime(2026, 4, 2)),
        ("a.md", "---\ncreated: '2026-04-02 10:30'\n---\nText.", datetime(2026, 4, 2, 10, 30)),
        ("a.md", "---\r\nDate: 2026-04-02 10:00 +02:00\r\n---\r\nT", datetime(2026, 4, 2, 8)),
        ("a.md", '+++\ndate = "2026-04-02T10:00:00Z"\n+++\nText.', datetime(2026, 4, 2, 10)),
        ("2026-01-12-standup.md", "---\ndate: 2026-04-02\n---\nText.", datetime(2026, 4, 2)),
        ("2026-01-12-standup.md", "---\ndate: soon\n---\nText.", datetime(2026, 1, 12)),
        ("2026-01-12-standup.md", "Text.\n---\ndate: 2026-04-02\n---\n", datetime(2026, 1, 12)),
        ("standup_20260112.txt", "Text.", datetime(2026, 1, 12)),
        ("order-20269912.txt", "Text.", datetime(2025, 7, 1)),
        ("phone 4912026011200.txt", "Text.", datetime(2025, 7, 1)),
        ("plain.md", "Text.", datetime(2025, 7, 1)),
    ],
)
def test_a_file_is_dated_by_front_matter_then_its_name_then_its_time(
    memory: Memory, tmp_path: Path, name: str, text: str, at: datetime
) -> None:
    file = tmp_path / name
    file.write_text(text, newline="")
    stamp = datetime(2025, 7, 1, tzinfo=UTC).timestamp()
    os.utime(file, (stamp, stamp))
    memory.add(file)
    [entry] = memory.entries()
    assert entry.at == at.replace(tzinfo=UTC)


def test_a_given_time_counts_and_code_has_none(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "2026-01-12.md").write_text("Text.")
    (tmp_path / "a.py").write_text("x = 1\n")
    memory.add(tmp_path / "2026-01-12.md", at="2026-05-05")
    memory.add(tmp_path / "a.py")
    assert [entry.at for entry in memory.entries()] == [datetime(2026, 5, 5, tzinfo=UTC), None]


def test_touching_a_file_changes_nothing(memory: Memory, notes: Path) -> None:
    memory.add(notes)
    for file in notes.glob("*.md"):
        os.utime(file, (1, 1))
    receipt = memory.add(notes)
    assert (receipt.added, receipt.unchanged) == (0, 3)


# ------------------------------------------------------------------ in the shell


def test_what_was_typed_to_add_a_folder_selects_it(treering: Treering, notes: Path) -> None:
    assert treering("add", "notes/").exit_code == 0
    for typed in ("notes/travel/", "notes/travel/croatia.md", notes / "travel", "./notes/travel"):
        found = treering("search", "boat", "--source", typed, "--json")
        assert [hit["source"] for hit in records(found)] == ["notes/travel/croatia.md"]


def test_the_shell_says_what_is_gone_and_syncs(treering: Treering, notes: Path) -> None:
    treering("add", "notes")
    (notes / "guitar.md").unlink()
    told = treering("add", "notes")
    assert "gone: notes/guitar.md" in told.stderr
    assert "add --sync" in told.stderr
    synced = treering("add", "notes", "--sync")
    assert "1 removed" in synced.stdout
    assert synced.stderr == "erased: notes/guitar.md\n"
    assert len(records(treering("list", "--json"))) == 2


def test_a_filter_that_matches_nothing_says_why(treering: Treering, notes: Path) -> None:
    def told_of(*filters: str) -> str:
        return treering("search", "boat", *filters).stderr

    treering("add", "notes")
    treering("add", "A note without a time.", "--speaker", "Ben", "--session", "may")
    assert "no entry has the speaker 'ben', but there is 'Ben'" in told_of("--speaker", "ben")
    assert "no entry has the session 'mai', but there is 'may'" in told_of("--session", "mai")
    assert told_of("--speaker", "Ben", "--session", "nosuch").count("no entry has") == 1
    for command in (["list"], ["search", "boat"]):
        told = treering(*command, "--source", "notes/boilr.md").stderr
        assert "nothing found\nno entry has the source 'notes/boilr.md'" in told
        assert "but there is 'notes/boiler.md'" in told
    told = treering("search", "boat", "--since", "2090-01-01").stderr
    assert "1 entry has no time" in told
