from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Process, Treering, record, records
from tests.ingest.clients import CLAUDE, SESSION, write_lines

MESSAGES = [
    {"role": "user", "name": "Ana", "content": "My sister moved to Porto.", "session": "one"},
    {"role": "assistant", "content": "How does she like it?"},
]


def test_a_text_is_added_with_all_that_is_said_of_it(treering: Treering) -> None:
    result = treering(
        "add", "My sister moved to Porto.", "--source", "diary", "--speaker", "Ana",
        "--at", "2026-05-03T10:00:00Z", "--session", "spring", "--kind", "chat",
        "--meta", "year=2026", "--meta", "mood=good", "--meta", 'code="7"',
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert result.stdout == "added 1 entry\n"
    entry = record(treering("list", "--json"))
    assert entry["metadata"] == {"year": 2026, "mood": "good", "code": "7"}
    assert (entry["source"], entry["speaker"], entry["kind"]) == ("diary", "Ana", "chat")
    assert (entry["at"], entry["session"]) == ("2026-05-03T10:00:00+00:00", "spring")


def test_files_folders_and_texts_can_be_added_at_once(treering: Treering, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "one.md").write_text("The first note.")
    (notes / "two.py").write_text("print('the second')\n")
    (notes / "image.bin").write_bytes(b"\x00\x01")
    (tmp_path / "three.txt").write_text("A third note.")
    result = treering("add", notes, tmp_path / "three.txt", "and some words", "--json")
    assert len(record(result)["ids"]) == 4
    assert [skipped["reason"] for skipped in record(result)["skipped"]] == ["not text"]
    kinds = {entry["source"]: entry["kind"] for entry in records(treering("list", "--json"))}
    assert kinds["notes/two.py"] == "code"
    assert kinds["notes"] == "text"


def test_only_a_folder_is_synced_in_the_words_of_the_shell(
    treering: Treering, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.md").write_text("A note.")
    cases: list[tuple[tuple[str, ...], str]] = [
        (("notes",), "there is no file or folder 'notes'"),
        (("A boat.",), "there is no file or folder 'A boat.'"),
        (("here.md",), "'here.md' is a file"),
        ((".", "--text"), "--text for a text"),
    ]
    for arguments, reason in cases:
        result = treering("add", "--sync", *arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert reason in result.stderr
        assert not (tmp_path / "life.db").exists()


def test_a_text_is_read_from_standard_input(treering: Treering) -> None:
    assert treering("add", "-", stdin="Words with ümlauts.\nAnd a line.\n").exit_code == 0
    assert treering("add", stdin="By default, too.").exit_code == 0
    texts = [entry["text"] for entry in records(treering("list", "--json"))]
    assert texts == ["Words with ümlauts.\nAnd a line.\n", "By default, too."]


def test_messages_are_read_from_standard_input(treering: Treering) -> None:
    lines = "".join(json.dumps(message) + "\n" for message in MESSAGES)
    assert treering("add", "-", "--source", "talk", stdin=lines + "\n").exit_code == 0
    first, second = records(treering("list", "--json"))
    assert (first["speaker"], first["session"], first["kind"]) == ("Ana", "one", "chat")
    assert (second["role"], second["source"]) == ("assistant", "talk")


@pytest.mark.parametrize("argument", ["nowhere.txt", "no/where", "./nowhere"])
def test_a_path_that_leads_nowhere_is_not_remembered_as_a_text(
    treering: Treering, argument: str
) -> None:
    result = treering("add", argument)
    assert result.exit_code == 2
    assert "--text" in result.stderr
    assert treering("add", argument, "--text").exit_code == 0


def test_a_failure_says_how_many_arguments_were_added_before_it(
    treering: Treering, tmp_path: Path
) -> None:
    (tmp_path / "empty.txt").write_text(" ")
    result = treering("add", "some words", tmp_path / "empty.txt", "more words")
    assert result.exit_code == 2
    assert "1 of 3 arguments were added" in result.stderr
    assert len(records(treering("list", "--json"))) == 1


@pytest.mark.parametrize("meta", ["year", "=2026"])
def test_metadata_without_a_key_or_a_value_is_refused_before_a_memory_is_made(
    treering: Treering, tmp_path: Path, meta: str
) -> None:
    result = treering("add", "words", "--meta", meta)
    assert result.exit_code == 2
    assert "KEY=VALUE" in result.stderr
    assert not (tmp_path / "life.db").exists()


@pytest.mark.parametrize("value", ['{"$in":', "[draft] x", "[7, 8", '"7', " {", "[" * 100_000])
def test_a_value_that_begins_like_json_and_is_none_is_refused_and_named(
    treering: Treering, tmp_path: Path, value: str
) -> None:
    result = treering("add", "words", "--meta", f"a={value}")
    assert result.exit_code == 2
    assert repr(value[:80])[:-1] in result.stderr
    assert len(result.stderr) < 500
    assert "begins like JSON but is not" in result.stderr
    assert not (tmp_path / "life.db").exists()
    assert treering("add", "words", "--meta", f"a={json.dumps(value)}").exit_code == 0
    [entry] = records(treering("list", "--meta", f"a={json.dumps(value)}", "--json"))
    assert entry["metadata"] == {"a": value}
    for sign in ("=", "!=", ">="):
        assert treering("search", "words", "--meta", f"a{sign}{value}").exit_code == 2


def test_metadata_that_is_a_condition_or_given_twice_is_not_stored(
    treering: Treering, tmp_path: Path
) -> None:
    (tmp_path / "note.txt").write_text("Words.")
    cases = [
        (["a>=3"], "'a>=3' compares"),
        (["a<=3"], "compares"),
        (["a!=3"], "compares"),
        (["a=1", "b=1", "a=2"], "gives 'a' twice"),
        (["a=1", "a=1"], "gives 'a' twice"),
    ]
    for pairs, reason in cases:
        options = [part for pair in pairs for part in ("--meta", pair)]
        for command in (("add", "words"), ("ingest", "note.txt")):
            refused = treering(*command, *options)
            assert refused.exit_code == 2
            assert reason in refused.stderr
            assert not (tmp_path / "life.db").exists()


def test_replace_changes_the_text_and_nothing_else(treering: Treering) -> None:
    [identity] = record(treering("add", "Ana lives in Rome.", "--speaker", "Ben", "--json"))["ids"]
    assert treering("replace", identity, "-", stdin="Ana lives in Oslo.").exit_code == 0
    entry = record(treering("show", identity, "--json"))
    assert (entry["text"], entry["speaker"]) == ("Ana lives in Oslo.", "Ben")
    assert records(treering("search", "Rome", "--mode", "lexical", "--json")) == []


def test_an_export_is_imported_into_an_equal_memory(treering: Treering, tmp_path: Path) -> None:
    treering("add", "One text.", "--source", "a", "--meta", "n=1")
    treering("add", "Another text.", "--source", "b", "--at", "2026-01-01")
    file, copy = tmp_path / "export.jsonl", tmp_path / "copy.db"
    assert record(treering("export", file, "--json")) == {"file": str(file), "entries": 2}
    assert treering("--memory", copy, "import", file).stdout == "added 2 entries\n"
    assert treering("list", "-m", copy, "--json").stdout == treering("list", "--json").stdout
    assert treering("export").stdout == file.read_text("utf-8")
    assert treering("import", stdin=file.read_text("utf-8")).stdout == (
        "added 0 entries, 2 unchanged\n"
    )


def test_an_export_overwrites_a_file_only_if_told_to(treering: Treering, tmp_path: Path) -> None:
    treering("add", "Words.")
    file = tmp_path / "export.jsonl"
    file.write_text("precious")
    assert treering("export", file).exit_code == 2
    assert file.read_text() == "precious"
    assert treering("export", file, "--force").exit_code == 0
    assert [path.name for path in tmp_path.glob("export*")] == ["export.jsonl"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes there")
@pytest.mark.parametrize("is_there", [True, False])
def test_what_is_exported_is_its_owners_alone(
    treering: Treering, tmp_path: Path, is_there: bool
) -> None:
    treering("add", "Words.")
    file = tmp_path / "exported"
    if is_there:
        file.touch(0o644)
    assert treering("export", file, "--force").exit_code == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "Words." in file.read_text("utf-8")


def test_what_cannot_be_embedded_is_added_and_found_when_the_model_is_back(
    treering: Treering,
) -> None:
    result = treering("add", "An otter swims.", "--embedder", "failing")
    assert (result.exit_code, result.stdout) == (0, "added 1 entry\n")
    assert "1 wait to be indexed" in result.stderr
    stuck = treering("settle", "--embedder", "failing")
    assert (stuck.exit_code, "refused" in stuck.stderr) == (4, True)
    assert "refused" in treering("doctor", "--embedder", "failing").stdout


def test_past_conversations_are_imported_and_what_is_left_out_is_told(
    treering: Treering, tmp_path: Path
) -> None:
    folder = tmp_path / "projects"
    write_lines(folder / f"{SESSION}.jsonl", CLAUDE)
    (folder / "notes.md").write_text("x", "utf-8")
    done = treering("import", folder, "--since", "2026-01-01")
    assert done.stdout == "added 5 entries, 1 skipped\n"
    assert "left out: thoughts of the model (1)\n" in done.stderr
    assert f"skipped {folder / 'notes.md'}: no conversation" in done.stderr
    assert treering("import", folder).stdout == "added 0 entries, 5 unchanged, 1 skipped\n"


@pytest.mark.parametrize("command", [["add"], ["code", "index"], ["import"]])
def test_an_empty_argument_is_not_the_current_folder(
    treering: Treering, command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "diary.txt").write_text("Nobody asked for this.")
    monkeypatch.chdir(tmp_path)
    done = treering(*command, "")
    assert done.exit_code == 2
    assert "empty" in done.stderr


def test_a_word_that_is_no_file_is_remembered_and_that_is_said(treering: Treering) -> None:
    added = treering("add", "notess")
    assert added.exit_code == 0
    assert "remembered as a text: there is no file or folder 'notess' here" in added.stderr
    assert "remembered as a text" not in treering("add", "two words").stderr
    masked = treering("add", "password=Hunter22x9zz", "--mask")
    assert "remembered as a text" in masked.stderr
    assert "Hunter22x9zz" not in masked.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="needs names that are no UTF-8")
def test_files_whose_names_are_no_utf8_or_of_two_lines_are_told_on_one(
    process: Process, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in (b"a.md", b"\xff.md", b"new\nline.md"):
        (folder / os.fsdecode(name)).write_text(f"Text {len(name)}.")
    with process("add", str(folder)) as adding:
        _, told = adding.communicate(timeout=60)
    assert adding.returncode == 0, told
    assert "\\xff.md" in told or "\\udcff.md" in told
    assert "has bytes that are not UTF-8" in told
    assert "new\\nline.md" in told
