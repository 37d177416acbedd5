"""Rounds of work recorded in the journal: blocks, sequences, notes, export and forgetting."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.code.working import repository
from treering import Memory
from treering.errors import InputError, UnknownName

PLAIN = """\
import socket


class Client:
    def fetch(self, url):
        return socket.get(url)

    def close(self):
        pass
"""
RETRYING = PLAIN.replace(
    "        return socket.get(url)\n",
    """\
        for attempt in range(2):
            try:
                return socket.get(url)
            except socket.Busy:
                continue
        raise TimeoutError("marmalade")
""",
)
CLOSING = "class File:\n    def close(self):\n        pass\n"
ASKED = "Retry twice when the server is busy."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repository", client=PLAIN)


def test_a_round_is_recorded_for_each_definition_that_it_changed(memory: Memory) -> None:
    before, after = {"client.py": PLAIN}, {"client.py": RETRYING}
    (block,) = memory.code.record(ASKED, before=before, after=after)
    assert (block.path, block.definition) == ("client.py", "Client.fetch")
    assert block.code.startswith("class Client:\n    def fetch(self, url):")
    found, last = memory.code.log("Client.fetch")
    assert found.instruction == ""
    assert last.instruction == ASKED
    assert {s.type for s in last.change.added} >= {"for_statement", "raise_statement"}


def test_the_working_tree_is_compared_with_the_commit_and_then_with_the_last_round(
    memory: Memory, root: Path
) -> None:
    (root / "client.py").write_text(RETRYING)
    (first,) = memory.code.record(ASKED, root=root)
    assert memory.code.record("Nothing new", root=root) == ()
    (root / "client.py").write_text(RETRYING.replace("range(2)", "range(3)"))
    (second,) = memory.code.record("Retry three times.", root=root)
    assert first.definition == second.definition == "Client.fetch"
    story = memory.code.log("fetch")
    assert [block.instruction for block in story] == ["", ASKED, "Retry three times."]
    assert [s.text for s in story[-1].change.deleted] == ["for attempt in range ( 2 ) :"]


def test_a_definition_that_is_as_committed_is_not_recorded(memory: Memory, root: Path) -> None:
    (root / "client.py").write_text(RETRYING)
    memory.code.record(ASKED, root=root)
    (root / "client.py").write_text(PLAIN + CLOSING)
    assert {block.definition for block in memory.code.record("Close files.", root=root)} == {
        "File",
        "File.close",
    }


def test_a_rename_is_recorded_once(memory: Memory, root: Path) -> None:
    (root / "client.py").write_text(PLAIN.replace("def fetch", "def load"))
    (block,) = memory.code.record("Call it load.", root=root)
    assert block.definition == "Client.load"
    assert memory.code.record("Nothing new", root=root) == ()


def test_a_text_that_no_process_can_be_given_is_refused(memory: Memory, root: Path) -> None:
    for text in ("a\0b", "\ud800"):
        with pytest.raises(InputError, match="cannot take"):
            memory.code.check(root=root, commits=text)


def test_a_renamed_and_a_moved_definition_keep_their_story(memory: Memory) -> None:
    memory.code.record(ASKED, before={"client.py": PLAIN}, after={"client.py": RETRYING})
    renamed = RETRYING.replace("def fetch", "def load")
    memory.code.record(
        "Call it load.", before={"client.py": RETRYING}, after={"client.py": renamed}
    )
    memory.code.record(
        "Put it into a package.", before={"client.py": renamed}, after={"net/client.py": renamed}
    )
    story = memory.code.log("net/client.py::Client.load")
    assert [block.instruction for block in story if block.instruction] == [
        ASKED,
        "Call it load.",
        "Put it into a package.",
    ]
    with pytest.raises(UnknownName, match=r"nothing is known of 'Client.fetch'"):
        memory.code.log("Client.fetch")


def test_what_was_changed_outside_is_told_apart_from_what_a_round_changed(memory: Memory) -> None:
    memory.code.record("Write it.", after={"client.py": PLAIN})
    other = PLAIN.replace("get(url)", "get(url, 5)")
    memory.code.record("Close it.", before={"client.py": PLAIN}, after={"client.py": PLAIN})
    memory.code.record(ASKED, before={"client.py": other}, after={"client.py": RETRYING})
    written, found, asked = memory.code.log("Client.fetch")
    assert (written.instruction, found.instruction, asked.instruction) == ("Write it.", "", ASKED)
    assert "get(url, 5)" in found.code


def test_a_note_is_written_later_and_found_by_a_search(memory: Memory) -> None:
    memory.code.record(ASKED, before={"client.py": PLAIN}, after={"client.py": RETRYING})
    noted = memory.code.note("fetch", "Two were not enough for Friday nights.", outcome="accepted")
    assert (noted.note, noted.outcome) == ("Two were not enough for Friday nights.", "accepted")
    assert memory.code.log("fetch")[-1].note == noted.note
    rejected = memory.code.note("fetch", "", outcome="rejected")
    assert (rejected.note, rejected.outcome) == (noted.note, "rejected")
    with pytest.raises(InputError):
        memory.code.note("fetch", "")
    hit = memory.search("Friday nights", k=1)[0]
    assert hit.source == "code:client.py"
    assert hit.metadata == {"path": "client.py", "definition": "Client.fetch"}


def test_rounds_survive_export_and_import(memory: Memory, tmp_path: Path) -> None:
    memory.code.record(ASKED, before={"client.py": PLAIN}, after={"client.py": RETRYING})
    lines = list(memory.export())
    with Memory.open(tmp_path / "other.db") as other:
        other.import_(lines)
        assert other.code.log("fetch") == memory.code.log("fetch")


def test_a_forgotten_round_leaves_neither_story_nor_bytes(memory: Memory, path: Path) -> None:
    (block,) = memory.code.record(ASKED, before={"client.py": PLAIN}, after={"client.py": RETRYING})
    assert memory.forget(block.id).scrubbed
    with pytest.raises(UnknownName):
        memory.code.log("fetch")
    memory.close()
    left = path.read_bytes()
    assert b"marmalade" not in left
    assert b"Retry twice" not in left


def test_a_later_round_does_not_keep_the_lines_of_a_forgotten_one(
    memory: Memory, path: Path
) -> None:
    (first,) = memory.code.record(ASKED, before={"client.py": PLAIN}, after={"client.py": RETRYING})
    memory.code.record("Do not.", before={"client.py": RETRYING}, after={"client.py": PLAIN})
    memory.forget(first.id)
    memory.close()
    assert b"marmalade" not in path.read_bytes()


def test_all_rounds_of_a_definition_are_forgotten_at_once(memory: Memory) -> None:
    memory.code.record(ASKED, before={"client.py": PLAIN}, after={"client.py": RETRYING})
    closing = RETRYING.replace("pass", "self.open = False")
    memory.code.record("Close.", before={"client.py": RETRYING}, after={"client.py": closing})
    assert len(memory.code.forget_rounds("fetch").entries) == 1
    with pytest.raises(UnknownName, match="nothing is known of 'fetch'"):
        memory.code.log("fetch")


def test_an_import_or_a_docstring_alone_is_no_change_of_a_file(memory: Memory) -> None:
    before = {"client.py": PLAIN}
    text = PLAIN.replace("import socket", '"""Talks."""\n\nimport os\nimport socket')
    assert memory.code.record("Import.", before=before, after={"client.py": text}) == ()
    after = {"client.py": f"{text}\nWAIT = 5\n"}
    (block,) = memory.code.record("Wait.", before=before, after=after)
    assert (block.definition, "WAIT = 5" in block.code) == ("", True)


def test_a_deleted_file_ends_the_story_of_what_was_in_it(memory: Memory) -> None:
    memory.code.record("Write it.", after={"client.py": PLAIN})
    memory.code.record("Not needed.", before={"client.py": PLAIN}, after={})
    last = memory.code.log("Client.close")[-1]
    assert (last.instruction, last.code) == ("Not needed.", "")


@pytest.mark.parametrize("name", ["Client", "client.py::Client.fetch", "fetch", "Client.fetch"])
def test_a_definition_may_be_named_as_short_as_it_is_unique(memory: Memory, name: str) -> None:
    memory.code.record("Write it.", after={"client.py": PLAIN, "b.py": CLOSING})
    assert memory.code.log(name)
    with pytest.raises(UnknownName, match="give one of these"):
        memory.code.log("close")


def test_a_round_without_an_instruction_or_a_repository_is_refused(
    memory: Memory, tmp_path: Path
) -> None:
    with pytest.raises(InputError):
        memory.code.record(" ", after={})
    with pytest.raises(UnknownName, match="git init"):
        memory.code.record(ASKED, root=tmp_path)


@pytest.mark.parametrize("name", ["../secret.py", "/etc/secret.py", "a\n.py", ""])
def test_a_path_that_leads_out_of_the_repository_is_refused(memory: Memory, name: str) -> None:
    with pytest.raises(InputError, match="from the root"):
        memory.code.record("Odd.", after={name: CLOSING})
