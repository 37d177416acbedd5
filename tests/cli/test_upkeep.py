from __future__ import annotations

import json
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Treering, record, records
from tests.ingest.clients import claude_line
from tests.memory.test_suggest import reply, voices
from treering import Memory
from treering.cli import stdin
from treering.cli.failures import FOUND
from treering.records import Stats
from treering.views.facts.view import Facts
from treering.views.tree import store


@pytest.fixture
def identity(treering: Treering) -> str:
    """The id of the only entry of a memory."""
    result = treering("add", "The password is swordfish.", "--source", "secrets", "--json")
    [found] = record(result)["ids"]
    return str(found)


def test_list_shows_entries_or_sources(treering: Treering, identity: str) -> None:
    treering("add", "Second thoughts. " * 20)
    first, second = treering("list").stdout.splitlines()
    assert first.startswith(identity)
    assert first.endswith("secrets #0  The password is swordfish.")
    assert second.endswith("…")
    assert records(treering("list", "--sources", "--json")) == [
        {"source": "secrets", "entries": 1},
        {"source": "notes", "entries": 1},
    ]
    assert len(treering("list", "--limit", "1").stdout.splitlines()) == 1


def test_show_prints_an_entry_whole(treering: Treering, identity: str) -> None:
    shown = treering("show", identity).stdout
    assert shown.endswith("\n\nThe password is swordfish.\n")
    assert "secrets" in shown
    missing = treering("show", "nonsense")
    assert (missing.exit_code, "treering list" in missing.stderr) == (2, True)


def test_forget_without_a_person_to_ask_needs_yes(
    treering: Treering, identity: str, tmp_path: Path
) -> None:
    asked = treering("forget", "--source", "secrets")
    assert asked.exit_code == 2
    assert "1 entry will be erased" in asked.stderr
    assert "swordfish" in asked.stderr
    done = treering("forget", "--source", "secrets", "--yes", "--json")
    assert record(done)["entries"] == [identity]
    assert record(done)["scrubbed"] is True
    assert b"swordfish" not in (tmp_path / "life.db").read_bytes()


@pytest.mark.parametrize(
    "command", [["forget", "--source", "secrets"], ["spaces", "--remove", "x"]]
)
def test_an_answer_is_read_from_a_terminal(
    treering: Treering, identity: str, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    treering("add", "Words.", "--space", "x")
    monkeypatch.setattr(stdin, "is_piped", lambda: False)
    ended = treering(*command, stdin="")
    assert (ended.exit_code, "\nnothing was erased\n" in ended.stderr) == (1, True)
    refused = treering(*command, stdin="n\n")
    assert (refused.exit_code, refused.stderr.endswith("nothing was erased\n")) == (0, True)
    assert treering(*command, stdin="y\n").exit_code == 0


def test_keys_are_made_where_the_memory_is(treering: Treering) -> None:
    refused = treering("serve", "key", "add", "-m", "http://127.0.0.1:1")
    assert refused.exit_code == 2
    assert "run it on the machine of the memory" in " ".join(refused.stderr.split())


@pytest.mark.parametrize("arguments", [[], ["--source", "unknown"], ["--source", ""], ["unknown"]])
def test_forget_refuses_what_matches_nothing_or_everything(
    treering: Treering, tmp_path: Path, arguments: list[str]
) -> None:
    (tmp_path / "note.md").write_text("The boiler.")
    assert treering("add", "note.md").exit_code == 0
    assert treering("forget", "--yes", *arguments).exit_code == 2
    assert len(records(treering("list", "--json"))) == 1


def test_fit_reports_what_it_gained(treering: Treering) -> None:
    too_little = treering("fit")
    assert (too_little.exit_code, "add" in too_little.stderr) == (2, True)
    words = [f"word{number}" for number in range(1000)]
    turns = [" ".join(words[at : at + 12]) for at in range(0, 700, 7)]
    lines = [json.dumps({"role": "user", "content": turn}) + "\n" for turn in turns]
    treering("add", stdin="".join(lines))
    report = record(treering("fit", "--json"))
    assert report["kind"] == "chat"
    assert report["gain"] == pytest.approx(report["fitted"] - report["default"])
    assert isinstance(report["kept"], bool)
    assert "pseudo-queries" in treering("fit").stdout


def test_suggested_relations_are_kept_or_refused(treering: Treering, tmp_path: Path) -> None:
    treering("add", stdin="".join(json.dumps(turn) + "\n" for turn in voices()))
    script = tmp_path / "script"
    script.write_text(reply("chat: speaker", "chat: friends") + "\n[]\n")
    command = ("relate", "suggest", "--llm", f"scripted#{script}")
    kept, refused = records(treering(*command, "--json"))
    assert (kept["relation"], kept["kept"]) == ("chat: speaker", True)
    assert kept["report"]["fitted"] > kept["report"]["default"]
    assert (refused["kept"], refused["report"]) == (False, None)
    script.write_text(reply("chat: speaker", "chat: time(tau=60)") + "\n")
    shown = treering(*command).stdout
    assert "refused: the space has this relation" in shown
    assert "pseudo-queries" in shown
    script.write_text("nothing\n" * 2)
    assert treering(*command).exit_code == 5


def test_reembed_changes_the_model(treering: Treering, identity: str) -> None:
    same = treering("reembed", "hashing")
    assert (same.exit_code, "has the model" in same.stderr) == (2, True)
    other = treering("reembed", "failing")
    assert other.exit_code == 4
    assert record(treering("stats", "--json"))["model"] == "hashing"


def test_only_a_view_that_is_there_is_rebuilt(treering: Treering, identity: str) -> None:
    refused = treering("rebuild", "leaves")
    assert refused.exit_code == 2
    assert "no view 'leaves'; there are" in refused.stderr


def test_a_space_that_is_not_there_is_an_error_and_not_an_empty_answer(
    treering: Treering, identity: str
) -> None:
    for command in (
        ["search", "Hello"],
        ["stats"],
        ["forget", "x"],
        ["export"],
        ["tree"],
        ["memo"],
    ):
        result = treering(*command, "--space", "defualt")
        assert result.exit_code == 2
        assert "no space 'defualt'" in result.stderr
        assert "treering spaces" in result.stderr
        assert records(treering("spaces", "--json", "--space", "defualt")) == [{"space": "default"}]


def test_entries_are_pinned_superseded_and_kept_for_a_while(treering: Treering) -> None:
    for arguments in (
        ["The party is in the garden.", "--at", "2026-01-01", "--meta", "year=2025"],
        ["The party is in the barn.", "--at", "2026-02-01", "--meta", "year=2026"],
        ["A code for the door.", "--expires", "2090-01-01", "--pin"],
    ):
        assert treering("add", *arguments).exit_code == 0
    old, new, code = (entry["id"] for entry in records(treering("list", "--json")))
    assert treering("supersede", old, new).stdout == f"{old} is superseded by {new}\n"
    assert "superseded since 2026-02-01" in treering("list").stdout
    assert treering("supersede", old, "--undo").stdout == f"{old} holds again\n"
    assert treering("supersede", old).exit_code == 2
    assert treering("pin", code, "--off").stdout == f"unpinned {code} in notes\n"
    [hit] = records(treering("search", "party", "--as-of", "2026-01-15", "--json"))
    assert hit["entry_id"] == old


def test_a_space_is_removed_with_its_keys_and_its_name(
    treering: Treering, identity: str, tmp_path: Path
) -> None:
    treering("add", "Ana has a boat.", "--space", "ana-de-almeida")
    treering("serve", "key", "add", "--space", "ana-de-almeida")
    assert b"ana-de-almeida" in (tmp_path / "life.db").read_bytes()
    assert b"boat" in (tmp_path / "life.db").read_bytes()
    result = treering("spaces", "--remove", "ana-de-almieda", "--yes")
    assert result.exit_code == 2
    assert "there is 'ana-de-almeida'" in result.stderr
    result = treering("spaces", "--remove", "ana-de-almeida")
    assert result.exit_code == 2
    assert "--yes" in result.stderr
    result = treering("spaces", "--remove", "ana-de-almeida", "-y")
    assert result.stdout == "removed ana-de-almeida with 1 entry and 1 key\n"
    assert "1 entry and its keys will be erased" in result.stderr
    assert treering("spaces").stdout == "default\n"
    left = b"".join(file.read_bytes() for file in tmp_path.glob("life.db*"))
    assert not [word for word in (b"ana-de-almeida", b"boat") if word in left]
    assert b"swordfish" in left  # of another space
    assert treering("serve", "key").stdout == ""


def test_a_space_that_only_a_key_opens_is_removed_with_it(
    treering: Treering, identity: str
) -> None:
    treering("serve", "key", "add", "--space", "ana")
    assert treering("list", "--space", "ana").exit_code == 0
    result = treering("spaces", "--remove", "ana", "--yes")
    assert result.stdout == "removed ana with 0 entries and 1 key\n", result.stderr
    assert treering("serve", "key").stdout == ""
    again = treering("spaces", "--remove", "ana", "--yes")
    assert "no space 'ana'" in again.stderr
    assert "erased" not in again.stderr


def test_a_space_of_a_file_without_any_is_not_announced_as_erased(treering: Treering) -> None:
    treering("serve", "key", "add", "--space", "ana")  # makes the file
    result = treering("spaces", "--remove", "anna", "--yes")
    assert result.exit_code == 2
    assert result.stderr.startswith("treering: there is no space 'anna'")


def test_doctor_finds_a_sound_memory_sound(treering: Treering, identity: str) -> None:
    result = treering("doctor", "--json")
    assert result.exit_code == 0
    found = record(result)
    assert found["ok"] is True
    checks = {check["check"]: check["state"] for check in found["checks"]}
    assert checks == dict.fromkeys(("versions", "file", "disk", "space", "embedder", "llm"), "ok")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes there")
def test_doctor_tells_of_a_file_that_everybody_may_open(
    treering: Treering, identity: str, tmp_path: Path
) -> None:
    (tmp_path / "life.db").chmod(0o644)
    result = treering("doctor")
    assert result.exit_code == 0
    assert "'default': 1 entry, 1 fragment\n" in result.stdout
    assert "every user of this machine may open" in result.stdout
    assert "chmod 600" in result.stdout


def test_pending_work_is_told_in_words(
    treering: Treering, identity: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stats = record(treering("stats", "--json"))
    queued = {"tree": 2, store.ERASED: 1, store.LOOSE: 3, "embed:7": 1_200, "mine": 4, "scrub": 1}
    monkeypatch.setattr(Memory, "stats", lambda _: Stats(**stats | {"pending": queued}))
    for command in ("stats", "doctor"):
        told = treering(command).stdout
        assert "1 erased text to be taken out of the tree of summaries" in told
        assert "3 texts to be put into the tree of summaries again" in told
        assert "2 summaries to be written" in told
        assert "1,200 fragments to be embedded" in told
        assert "erased text to be taken out of the file's bytes" in told
        assert "4 of mine" in told  # a view of another package
        assert "tree:" not in told
        assert "embed:" not in told
    assert record(treering("stats", "--json"))["pending"] == queued


def test_doctor_checks_each_space_once(
    treering: Treering, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spaces = ("ana", "ben", "default")
    for space in spaces:
        treering("add", f"A note of {space}.", "--space", space)
    sound = treering("doctor").stdout
    for space in spaces:
        assert sound.count(f"ok   space     {space!r}: 1 entry, 1 fragment\n") == 1
    named = treering("doctor", "--space", "ben").stdout
    assert "'ben': 1 entry" in named
    assert "'ana'" not in named

    monkeypatch.setattr(Facts, "version", "another")
    lines = treering("doctor").stdout.splitlines()
    assert [line for line in lines if "facts was derived" in line] == [
        f"warn view      {space!r}: facts was derived by another version of treering, or its "
        f"rebuild was interrupted; run `treering settle --space {space}`"
        for space in spaces
    ]


def test_doctor_makes_no_file(treering: Treering, tmp_path: Path) -> None:
    result = treering("doctor")
    assert result.exit_code == 0
    assert "no memory at" in result.stdout
    assert not (tmp_path / "life.db").exists()


def test_an_export_does_not_overwrite_the_memory(
    treering: Treering, identity: str, tmp_path: Path
) -> None:
    result = treering("export", tmp_path / "life.db", "--force")
    assert result.exit_code == 2
    assert "is the memory itself" in result.stderr
    assert treering("doctor").exit_code == 0


def test_doctor_tells_what_is_broken_and_what_is_not(
    treering: Treering, identity: str, tmp_path: Path
) -> None:
    (tmp_path / "life.db").write_bytes(b"This is no database. " * 1000)
    result = treering("doctor", "--json")
    assert result.exit_code == FOUND
    checks = {check["check"]: check["state"] for check in record(result)["checks"]}
    assert checks["file"] == "fail"
    assert checks["embedder"] == "ok"
    assert "treering doctor" not in result.stdout
    assert treering("doctor", "--space", "default").exit_code == FOUND


def test_doctor_asks_the_language_model_only_if_one_is_configured(
    treering: Treering, identity: str, tmp_path: Path
) -> None:
    script = tmp_path / "script"
    script.write_text("OK\n")
    assert "scripted answers" in treering("doctor", "--llm", f"scripted#{script}").stdout
    down = treering("doctor", "--llm", "down")
    assert (down.exit_code, "nobody answers" in down.stdout) == (FOUND, True)


def test_doctor_names_a_damaged_entry_which_the_export_leaves_out_and_forget_removes(
    treering: Treering, identity: str, settings: dict[str, str], tmp_path: Path
) -> None:
    treering("add", "-", stdin="Another note, about the harbour.")
    with closing(sqlite3.connect(settings["TREERING_MEMORY"])) as connection:
        row = "(SELECT body FROM entry WHERE id = ?)"
        connection.execute(f"UPDATE body SET text = 'altered' WHERE id = {row}", (identity,))
        connection.commit()

    found = treering("doctor")
    assert found.exit_code == 6
    assert identity in found.stdout
    assert "treering doctor" not in found.stdout
    rest = tmp_path / "rest.jsonl"
    exported = treering("export", rest)
    assert exported.exit_code == 3
    assert identity in exported.stderr
    assert "harbour" in rest.read_text("utf-8")
    assert identity not in rest.read_text("utf-8")
    assert treering("forget", identity, "--yes").exit_code == 0
    assert treering("doctor").exit_code == 0


def test_configure_shows_and_sets_what_the_space_does(treering: Treering) -> None:
    treering("add", "-", stdin="The boat leaks.")
    shown = treering("configure", "memtree", "--k", "4", "--json")
    assert shown.exit_code == 0, shown.output
    settings = json.loads(shown.stdout)
    assert (settings["preset"], settings["k"], settings["level"]) == ("own", 4, "all")
    listed = treering("configure").stdout
    assert re.search(r"^k +4$", listed, re.MULTILINE)
    assert re.search(r"^tree_route +content$", listed, re.MULTILINE)
    assert len(listed.splitlines()) <= 14
    told = "preset default\nall others have their defaults; --json lists them\n"
    assert treering("configure", "default").stdout == told


def test_configure_refuses_a_preset_that_is_not_there_and_makes_no_file(
    treering: Treering, tmp_path: Path
) -> None:
    refused = treering("configure", "memtrees")
    assert refused.exit_code == 2
    assert "no preset 'memtrees'" in refused.stderr
    assert list(tmp_path.glob("*.db")) == []


def test_what_was_forgotten_stays_away_and_its_file_is_named(
    treering: Treering, tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(claude_line(1, "user", "The mast is nine metres long.")) + "\n")
    treering("import", str(path))
    [entry] = records(treering("list", "--json"))
    forgotten = treering("forget", str(entry["id"]), "--yes")
    assert f"are not changed: {path}" in forgotten.stderr
    assert "left out: messages that were forgotten here (1)" in treering("import", str(path)).stderr
    assert "added 1 entry" in treering("import", str(path), "--again-forgotten").stdout
