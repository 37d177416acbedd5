"""A chat on a terminal: what is typed with a slash is for treering, and neither sent nor kept."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Treering, records
from tests.cli.test_process import on_a_terminal
from treering import Memory

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal")


def chat(tmp_path: Path, replies: list[str], typed: list[str], *options: str) -> str:
    """What is shown while somebody types lines, of which the last leaves."""
    script = tmp_path / "script"
    script.write_text("\n".join(replies) + "\n")
    reply = "".join(f"{line}\n" for line in typed).encode()
    shown = on_a_terminal("chat", "--llm", f"scripted#{script}", *options, reply=reply)
    return " ".join(shown.split())


def texts(treering: Treering) -> list[str]:
    return [entry["text"] for entry in records(treering("list", "--json"))]


def test_commands_are_neither_sent_nor_remembered(
    treering: Treering, settings: dict[str, str], tmp_path: Path
) -> None:
    treering("add", "The boat lies in Faro.", "--source", "notes")
    typed = ["/help", "/context", "/forget", "/nonsense x", "Where is the boat?", "/context"]
    shown, _, after = chat(tmp_path, ["In Faro."], [*typed, "/quit"]).partition("In Faro.")
    assert "nothing was sent yet" in shown
    assert "conversation 'chat' is empty" in shown
    assert shown.count("/context what the model was shown") == 2
    assert "/forget erase your last message and its reply for good" in shown
    assert "The boat lies in Faro." in after
    assert "Where is the boat?" in after
    assert texts(treering) == ["The boat lies in Faro.", "Where is the boat?", "In Faro."]


def test_a_round_is_forgotten_after_a_question(
    treering: Treering, settings: dict[str, str], tmp_path: Path
) -> None:
    typed = ["One.", "The code is 4471.", "/forget", "n", "/forget", "y", "/context", "/quit"]
    shown = chat(tmp_path, ["First.", "Noted."], typed)
    assert "2 entries will be erased for good, from “The code is 4471.” on" in shown
    assert "nothing was erased" in shown
    assert "forgot 2 entries" in shown
    assert "nothing was sent yet" in shown
    assert texts(treering) == ["One.", "First."]
    assert b"code is 4471" not in (tmp_path / "life.db").read_bytes()


def test_a_long_message_is_forgotten_whole_and_a_note_beside_it_stays(
    treering: Treering, settings: dict[str, str], tmp_path: Path
) -> None:
    chat(tmp_path, ["First."], ["One.", "/quit"])
    with Memory.open(tmp_path / "life.db", embedder="hashing") as memory:
        pieces = memory.add([{"role": "user", "content": "So it is. " * 4_000}], source="chat")
        assert pieces.added == 2
    treering("add", "A note.", "--source", "chat")
    chat(tmp_path, ["First."], ["/forget", "y", "/quit"])
    assert texts(treering) == ["One.", "First.", "A note."]
    chat(tmp_path, ["First."], ["/forget", "y", "/forget", "/quit"])
    assert texts(treering) == ["A note."]


def test_what_is_said_belongs_to_who_has_a_name(
    treering: Treering, settings: dict[str, str], tmp_path: Path
) -> None:
    shown = chat(tmp_path, ["Nice."], ["I live in Porto.", "/quit"], "--name", "Ana")
    assert (
        "a chat with scripted, as Ana. Conversation 'chat' in space 'default' of life.db." in shown
    )
    speakers = [entry["speaker"] for entry in records(treering("list", "--json"))]
    assert speakers == ["Ana", "assistant"]
    assert "ana" in treering("facts").stdout
    typed = ["/name Ben", "I live in Faro.", "/name", "I am here.", "/quit"]
    shown = chat(tmp_path, ["Nice.", "Yes."], typed, "--name", "Ana")
    assert "your name is Ben" in shown
    assert "you have no name" in shown
    speakers = [entry["speaker"] for entry in records(treering("list", "--json"))]
    assert speakers[2:] == ["Ben", "assistant", "user", "assistant"]


def test_a_message_that_begins_with_a_slash_is_sent_with_a_space_before_it(
    treering: Treering, settings: dict[str, str], tmp_path: Path
) -> None:
    chat(tmp_path, ["It lists names."], [" /etc/hosts is what?", "/quit"])
    assert texts(treering) == ["/etc/hosts is what?", "It lists names."]
