"""Past conversations: every format is told by its content, read whole, and counted where not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Open
from tests.docs.pages import entry_points, examples
from tests.ingest.clients import (
    CHATGPT,
    CLAUDE,
    CLAUDE_AI,
    CODEX,
    MAIL,
    SESSION,
    TELEGRAM,
    WHATSAPP,
    claude_line,
    codex_line,
    write_json,
    write_lines,
    write_slack,
    zipped,
)
from tests.plugins import install
from treering import Memory
from treering.errors import InputError
from treering.ingest.transcripts.contract import READERS, format_of, formats
from treering.ingest.transcripts.importing import new_lines
from treering.records import Receipt

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def write_claude(folder: Path) -> Path:
    return write_lines(folder / f"{SESSION}.jsonl", CLAUDE)


def write_codex(folder: Path) -> Path:
    return write_lines(folder / "rollout-2026-06-01T09-00-00-s1.jsonl", CODEX)


def write_chatgpt(folder: Path) -> Path:
    return write_json(folder / "conversations.json", CHATGPT)


def write_claude_ai(folder: Path) -> Path:
    return write_json(folder / "conversations.json", CLAUDE_AI)


def write_whatsapp(folder: Path) -> Path:
    path = folder / "WhatsApp Chat with Ana.txt"
    path.write_text(WHATSAPP, "utf-8")
    return path


def write_telegram(folder: Path) -> Path:
    return write_json(folder / "result.json", TELEGRAM)


def write_eml(folder: Path) -> Path:
    path = folder / "inbox" / "1.eml"
    path.parent.mkdir()
    path.write_bytes(MAIL)
    return path


def write_mbox(folder: Path) -> Path:
    path = folder / "archive.mbox"
    path.write_bytes(b"From jose Tue Mar  3 10:00:00 2026\n" + MAIL + b"\n")
    return path


WRITERS: dict[str, Callable[[Path], Path]] = {
    "claude-code": write_claude,
    "codex": write_codex,
    "chatgpt": write_chatgpt,
    "claude-ai": write_claude_ai,
    "whatsapp": write_whatsapp,
    "telegram": write_telegram,
    "slack": lambda folder: write_slack(folder / "export"),
    "mail": write_eml,
}


def reasons(receipt: Receipt) -> dict[str, int]:
    """What was left out, by reason."""
    return dict(receipt.omitted)


def texts(memory: Memory) -> list[str]:
    return [entry.text for entry in memory.entries()]


def test_a_call_in_codex_has_the_server_of_its_tool(open_memory: Open, tmp_path: Path) -> None:
    # Codex 0.171.0 names it beside the tool.
    call = {"type": "function_call", "name": "recall", "arguments": '{"query": "mast"}'}
    calls = [call | {"namespace": "mcp__treering"}, call]
    lines = [codex_line(1, "response_item", item) for item in calls]
    path = write_lines(tmp_path / "rollout-s.jsonl", lines)
    with open_memory() as memory:
        memory.import_(path)
        assert texts(memory) == ["[mcp__treering__recall query=mast]", "[recall query=mast]"]


def test_every_format_has_an_example_here() -> None:
    assert set(WRITERS) == set(READERS)
    assert tuple(entry.name for entry in formats()) == tuple(READERS)


@pytest.mark.parametrize("name", READERS)
def test_a_file_is_recognised_by_one_format_alone(name: str, tmp_path: Path) -> None:
    path = WRITERS[name](tmp_path)
    head = "" if path.is_dir() else path.read_text("utf-8")
    assert [entry.name for entry in formats() if entry.recognises(path, head)] == [name]


@pytest.mark.parametrize("name", READERS)
def test_taking_in_the_same_again_changes_nothing(
    name: str, memory: Memory, tmp_path: Path
) -> None:
    path = WRITERS[name](tmp_path)
    first = memory.import_(path)
    held = [(entry.id, entry.text) for entry in memory.entries()]
    again = memory.import_(path)
    assert first.added == len(held) > 0
    assert (again.added, again.unchanged) == (0, first.added)
    assert again.omitted == first.omitted
    assert [(entry.id, entry.text) for entry in memory.entries()] == held


def test_a_session_of_claude_code_keeps_what_was_said_and_counts_the_rest(
    memory: Memory, tmp_path: Path
) -> None:
    receipt = memory.import_(write_claude(tmp_path))
    assert texts(memory) == [
        "Please round the tax to two digits, always half up.",
        "I will use decimal with ROUND_HALF_UP.\n[Read file_path=tax.py]",
        "[error] 2 failed",
        "Searched.",
        "Good. Invoices are kept ten years.",
    ]
    assert reasons(receipt) == {
        "lines of the client's type 'summary'": 1,
        "lines of the client's type 'file-history-snapshot'": 1,
        "thoughts of the model": 1,
        "results of tools": 1,
        "notes of the client": 2,
        "summaries of earlier messages, made at compaction": 1,
        "lines of the client's type 'moon-phase'": 1,
    }
    first, _, _, aside, last = memory.entries()
    assert (first.role, first.session, first.kind) == ("user", SESSION, "chat")
    assert first.at is not None
    assert first.at.isoformat() == "2026-05-03T10:01:00+00:00"
    assert first.metadata == {"branch": "main", "cwd": "/home/ana/shop"}
    assert first.source == last.source == f"claude-code/{SESSION}"
    assert aside.source == f"claude-code/{SESSION}/a1"
    assert "half up" in memory.search("how is tax rounded")[0].text


def test_a_session_of_codex_keeps_what_was_said_and_done(memory: Memory, tmp_path: Path) -> None:
    receipt = memory.import_(write_codex(tmp_path))
    assert texts(memory) == [
        "The mast is 9.5 m, note that.",
        "[shell command=['make', 'test']]",
        '[error] {"output": "no rule", "exit_code": 2}',
        "Noted: the mast has 9.5 m.",
    ]
    assert next(iter(memory.entries())).metadata == {"cwd": "/home/ana/boat"}
    assert reasons(receipt)["items of unknown type 'ghost_snapshot'"] == 1
    assert sum(reasons(receipt).values()) == len(CODEX) - 4


def test_of_a_chatgpt_tree_the_path_that_was_read_last_is_taken(
    memory: Memory, tmp_path: Path
) -> None:
    receipt = memory.import_(write_chatgpt(tmp_path))
    assert texts(memory) == ["My starter is called Rudi.", "Feed Rudi daily.\n[x]"]
    assert reasons(receipt)["messages of branches that were left"] == 1
    assert [entry.metadata["title"] for entry in memory.entries()] == ["Sourdough", "Sourdough"]


def test_messages_of_claude_ai_name_their_files(memory: Memory, tmp_path: Path) -> None:
    receipt = memory.import_(write_claude_ai(tmp_path))
    assert texts(memory) == [
        "The roses get sick.\n[file: soil.txt]",
        "Water the roots, not the leaves.",
    ]
    assert reasons(receipt) == {"texts of attached files": 1, "thoughts of the model": 1}


def test_a_whatsapp_chat_has_speakers_lines_that_go_on_and_equal_messages(
    memory: Memory, tmp_path: Path
) -> None:
    receipt = memory.import_(write_whatsapp(tmp_path))
    first, second, third = memory.entries()
    assert first.text == "Hey, the key is under the mat\nand the alarm code is on the fridge"
    assert (first.speaker, first.source) == ("Ana", "whatsapp/Ana")
    assert (second.text, third.text) == ("ok", "ok")
    assert reasons(receipt) == {
        "notices of the messenger": 1,
        "pictures, sounds and files without a text": 1,
    }


def test_telegram_texts_are_joined_from_their_parts(memory: Memory, tmp_path: Path) -> None:
    receipt = memory.import_(write_telegram(tmp_path))
    [entry] = memory.entries()
    assert entry.text == "See https://example.org for the boat."
    assert (entry.speaker, entry.source) == ("Ana", "telegram/Ana")
    assert entry.at == datetime(2025, 1, 15, 10, 20, tzinfo=UTC)
    assert reasons(receipt) == {"notices of the messenger": 1, "messages without text": 1}


def test_an_export_of_all_telegram_chats_is_read_chat_by_chat(
    memory: Memory, tmp_path: Path
) -> None:
    message = {"type": "message", "id": 2, "from": "Ana", "text": "Hi", "date_unixtime": "9" * 5000}
    older = {"type": "message", "id": 3, "from_id": "user9", "text": "Ho", "date": "2020-02-02"}
    left = {"id": 7, "type": "private_group", "messages": [message, older]}
    export = {"chats": {"list": [TELEGRAM]}, "left_chats": {"list": [left]}}
    memory.import_(write_json(tmp_path / "result.json", export))
    _, first, second = memory.entries()
    assert (first.text, first.source) == ("Hi", "telegram/private_group")
    assert first.at is None  # no calendar has that time
    assert (second.speaker, second.at) == ("user9", datetime(2020, 2, 2, tzinfo=UTC))


def test_a_slack_export_has_names_for_ids_and_threads_as_sessions(
    memory: Memory, tmp_path: Path
) -> None:
    memory.import_(zipped(write_slack(tmp_path / "export"), tmp_path / "slack.zip"))
    first, second = memory.entries()
    assert first.text == "<3 @Ana see the plan (https://example.org)"
    assert (first.speaker, first.source, first.session) == ("Ana", "slack/general", None)
    assert second.text == "[file: plan.pdf]"
    assert second.session == "general:1767258001.000100"


@pytest.mark.parametrize("write", [write_eml, write_mbox])
def test_mail_is_its_subject_and_its_text(
    write: Callable[[Path], Path], memory: Memory, tmp_path: Path
) -> None:
    memory.import_(write(tmp_path))
    [entry] = memory.entries()
    assert entry.text == "Subject: Re: The lease\n\nThe rent is 900 €."
    assert (entry.speaker, entry.session) == ("José", "The lease")
    assert entry.at is not None
    assert entry.at.isoformat() == "2026-03-03T10:00:00+01:00"


def test_a_folder_of_everything_is_read_and_so_is_its_archive_of_which_no_copy_has_a_name(
    open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever ends the process, no conversation is left in the temporary folder."""
    for name, write in WRITERS.items():
        folder = tmp_path / "all" / name
        folder.mkdir(parents=True)
        write(folder)
    (tmp_path / "all" / "notes.md").write_text("not a chat", "utf-8")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    seen: list[tuple[int, int]] = []
    left: list[Path] = []
    packed, loose = open_memory(tmp_path / "packed.db"), open_memory(tmp_path / "loose.db")
    packed.import_(
        zipped(tmp_path / "all", tmp_path / "all.zip"),
        progress=lambda *_: left.extend(temporary.iterdir()),
    )
    receipt = loose.import_(tmp_path / "all", progress=lambda *step: seen.append(step))
    assert left == []
    both = ([replace(one, added=NOW) for one in memory.entries()] for memory in (packed, loose))
    assert next(both) == next(both) != []
    assert {entry.source.split("/")[0] for entry in loose.entries()} == set(READERS)
    [other] = [one for one in receipt.skipped if one.path.endswith("notes.md")]
    assert other.reason == "no conversation of a format that treering can read"
    assert seen[-1] == (9, 9)


def test_the_memory_itself_is_not_read_where_it_lies_among_transcripts(
    open_memory: Open, tmp_path: Path
) -> None:
    write_claude(tmp_path)
    memory = open_memory(tmp_path / "life.jsonl")
    receipt = memory.import_(tmp_path)
    assert receipt.added == 5
    assert {Path(one.path).name: one.reason for one in receipt.skipped}["life.jsonl"] == (
        "the memory itself"
    )
    with pytest.raises(InputError, match="is the memory itself"):
        memory.import_(tmp_path / "life.jsonl")


def test_a_longer_version_of_a_chat_adds_what_is_new(memory: Memory, tmp_path: Path) -> None:
    path = write_whatsapp(tmp_path)
    memory.import_(path)
    path.write_text(WHATSAPP + "13/08/2023, 09:17 - Ben: ok\n", "utf-8")
    assert memory.import_(path).added == 1
    assert texts(memory).count("ok") == 3


def test_an_entry_that_was_corrected_stays_corrected(memory: Memory, tmp_path: Path) -> None:
    path = write_claude(tmp_path)
    memory.import_(path)
    first = next(iter(memory.entries()))
    memory.replace(first.id, "Round the tax half even.")
    assert memory.import_(path).added == 0
    assert memory.get(first.id).text == "Round the tax half even."


def test_since_leaves_out_and_says_so(memory: Memory, tmp_path: Path) -> None:
    write_claude(tmp_path)
    write_codex(tmp_path)
    receipt = memory.import_(tmp_path, since="2026-05-03T10:05:00Z")
    assert receipt.omitted["messages from before 2026-05-03 10:05"] == 3
    assert len(texts(memory)) == 6
    export = [*memory.export()]
    (tmp_path / "export.jsonl").write_text("\n".join(export))
    for lines in (export, tmp_path / "export.jsonl"):
        with pytest.raises(InputError, match="is for conversations"):
            memory.import_(lines, since="2026-01-01")


@pytest.mark.parametrize("name", ["notes.txt", "a.json", "broken.zip", "missing", "empty.jsonl"])
def test_what_holds_no_conversation_is_refused(name: str, memory: Memory, tmp_path: Path) -> None:
    if name != "missing":
        (tmp_path / name).write_text("" if name == "empty.jsonl" else "Dear diary", "utf-8")
    with pytest.raises(InputError, match=r"no conversation|no file|cannot be unpacked"):
        memory.import_(tmp_path / name)
    assert texts(memory) == []


def test_what_no_database_holds_is_marked_in_texts_and_names(
    memory: Memory, tmp_path: Path
) -> None:
    line = claude_line(1, "user", "nul \0 and half \ud83d of a pair", gitBranch="a\nb")
    memory.import_(write_lines(tmp_path / "s.jsonl", [line]))
    [entry] = memory.entries()
    assert entry.text == "nul \ufffd and half \ufffd of a pair"


def test_a_very_long_message_becomes_several_entries(memory: Memory, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s.jsonl", [claude_line(1, "user", "word " * 20_000)])
    assert memory.import_(path).added == memory.import_(path).unchanged == 4


def test_a_treering_export_is_taken_in_by_its_path(
    memory: Memory, open_memory: Open, tmp_path: Path
) -> None:
    memory.add("kept")
    path = tmp_path / "export.jsonl"
    path.write_text("\n".join(memory.export()), "utf-8")
    other = open_memory(tmp_path / "other.db")
    assert other.import_(path).added == 1
    assert list(other.entries()) == list(memory.entries())


def test_the_format_of_another_package_is_read_as_treerings_own(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = "how-to/documents.md"
    reader, _ = examples(page, "python")
    install(monkeypatch, tmp_path / "package", "ircmemory", reader, entry_points(page))
    (tmp_path / "boat.log").write_text("<ana> The mast is 9.5 m.\n<ben> \n", "utf-8")
    receipt = memory.import_(tmp_path / "boat.log")
    [entry] = memory.entries()
    assert (entry.text, entry.speaker, entry.source) == ("The mast is 9.5 m.", "ana", "irc/boat")
    assert reasons(receipt) == {"messages without text": 1}


# ------------------------------------------------------------------ as it grows


def append(path: Path, *lines: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as stream:
        stream.writelines(f"{json.dumps(line)}\n" for line in lines)


def test_a_hook_reads_what_is_new_and_leaves_a_line_that_is_being_written(
    memory: Memory, tmp_path: Path
) -> None:
    path = write_claude(tmp_path)
    new = new_lines(path)
    assert memory.import_(new.lines).added == 5
    assert new.offset == path.stat().st_size
    assert new_lines(path, new.offset).lines == ()
    append(path, claude_line(20, "user", "Ship on Friday."))
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(claude_line(21, "user", "Half"))[:-9])
    later = new_lines(path, new.offset)
    assert memory.import_(later.lines).added == 1
    assert later.offset < path.stat().st_size


def test_a_file_that_was_begun_anew_is_read_from_its_start(memory: Memory, tmp_path: Path) -> None:
    path = write_codex(tmp_path)
    memory.import_(new_lines(path).lines)
    write_lines(path, CODEX[:4])
    new = new_lines(path, 10**6)
    assert memory.import_(new.lines).unchanged == 1


def test_only_files_that_grow_by_lines_are_read_from_an_offset(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Claude Code or Codex"):
        new_lines(write_chatgpt(tmp_path))


def test_reading_in_steps_gives_what_reading_whole_gives(open_memory: Open, tmp_path: Path) -> None:
    whole, stepwise = open_memory(tmp_path / "a.db"), open_memory(tmp_path / "b.db")
    whole.import_(write_codex(tmp_path))
    path = write_lines(tmp_path / "steps" / "rollout-2026-06-01T09-00-00-s1.jsonl", CODEX[:1])
    offset = 0
    for line in CODEX[1:]:
        append(path, line)
        new = new_lines(path, offset)
        offset = new.offset
        if new.lines:
            stepwise.import_(new.lines)
    held = [(one.id, one.text, one.position) for one in whole.entries()]
    assert [(one.id, one.text, one.position) for one in stepwise.entries()] == held


# ------------------------------------------------------------------ whatever comes

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "role", "content", "text", "message", "payload", "uuid", "mapping", "id"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("name", [name for name in READERS if name not in ("slack", "mail")])
@given(junk=st.lists(values, max_size=4))
def test_no_content_breaks_a_reader(name: str, junk: list[Any], tmp_path: Path) -> None:
    path = WRITERS[name](tmp_path)
    recognised = format_of(path)
    assert recognised is not None
    if path.suffix == ".jsonl":
        path.write_text(path.read_text("utf-8") + "\n".join(map(json.dumps, junk)), "utf-8")
    elif path.suffix == ".json":
        value = json.loads(path.read_text("utf-8"))
        if isinstance(value, list):
            value += junk
            value[0]["mapping" if "mapping" in value[0] else "chat_messages"] = junk
        else:
            value["messages"] += junk
        path.write_text(json.dumps(value), "utf-8")
    else:
        # A file with a NUL is no text, which is an error of its own.
        more = "".join(map(str, junk)).replace("\0", "")
        path.write_text(path.read_text("utf-8") + more, "utf-8")
    list(recognised.read(path))
