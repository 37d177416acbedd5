"""Replies that may quote what is forgotten: named in the receipt, and erased on request."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import Open
from treering import Memory
from treering.llm.scripted import FakeLLM, Line
from treering.views.erase import Eraser

SECRET = "The spare key lies under the third flowerpot."


def talking(open_memory: Open, *lines: Line) -> Memory:
    return open_memory(llm=FakeLLM(lines))


def replies(memory: Memory) -> list[str]:
    return [entry.text for entry in memory.entries() if entry.role == "assistant"]


def test_a_reply_that_repeats_an_entry_is_named_and_stays(open_memory: Open) -> None:
    memory = talking(open_memory, "Look under the flowerpots.", "Nothing to say.")
    [secret] = memory.add(SECRET).ids
    memory.chat("Where is the spare key?")
    memory.chat("Anything else?")
    receipt = memory.forget(secret)
    assert receipt.entries == (secret,)
    assert [memory.get(reply).text for reply in receipt.replies] == ["Look under the flowerpots."]


def test_a_streamed_reply_is_named_that_quotes_a_word_of_another_language(
    open_memory: Open,
) -> None:
    memory = talking(open_memory, "They are in the Häusern.")
    [secret] = memory.add("Die Schlüssel sind in den Häusern und nicht im Garten.").ids
    list(memory.chat_stream("Wo sind die Schlüssel und wer hat sie?"))
    assert len(memory.forget(secret).replies) == 1


def test_on_request_it_goes_too(open_memory: Open, path: Path) -> None:
    memory = talking(open_memory, "Look under the flowerpots.")
    [secret] = memory.add(SECRET).ids
    memory.chat("Where is what opens the door?")
    receipt = memory.forget(secret, replies=True)
    assert receipt.scrubbed
    assert receipt.entries == (secret, *receipt.replies)
    assert replies(memory) == []
    memory.close()
    assert b"flowerpot" not in path.read_bytes()


def test_so_does_a_reply_that_repeats_the_reply(open_memory: Open) -> None:
    memory = talking(open_memory, "Under the flowerpots.", "I said: flowerpots.")
    [secret] = memory.add(SECRET).ids
    memory.chat("Where is the spare key?")
    memory.chat("What?", policy="window")  # shows the reply alone, not the secret
    assert len(memory.forget(secret).replies) == 2


def test_what_a_user_said_goes_with_the_replies_to_it(open_memory: Open) -> None:
    memory = talking(open_memory, "A flowerpot, noted.")
    memory.chat(SECRET)
    message = next(entry for entry in memory.entries() if entry.role == "user")
    assert memory.forget(message.id, replies=True).entries[0] == message.id
    assert list(memory.entries()) == []


def test_replies_of_another_space_are_not_named(open_memory: Open) -> None:
    other = open_memory(space="other", llm=FakeLLM(["Under the flowerpots."]))
    other.add(SECRET)
    other.chat("Where is the spare key?")
    memory = talking(open_memory)
    [secret] = memory.add(SECRET).ids
    assert memory.forget(secret).replies == ()
    assert replies(other) == ["Under the flowerpots."]


def test_forgetting_leaves_no_note_of_what_was_shown(open_memory: Open, path: Path) -> None:
    memory = talking(open_memory, "Under the flowerpots.", "Nothing.")
    ids = memory.add(SECRET).ids
    memory.chat("Where is the spare key?")
    memory.chat("And now?")
    memory.forget(*ids)
    memory.forget(*(entry.id for entry in memory.entries()))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM reply_shown").fetchone() == (0,)


@pytest.mark.parametrize("shown_before", [False, True])
@pytest.mark.parametrize("erase", [False, True])
def test_a_reply_given_between_looking_and_erasing_is_dealt_with(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch, shown_before: bool, erase: bool
) -> None:
    other = talking(open_memory, *["Under the flowerpots."] * 2)
    memory = open_memory()
    [secret] = memory.add(SECRET).ids
    if shown_before:
        other.chat("Where is the spare key?")
    erasing = Eraser.forget

    def late(*arguments: object) -> object:
        monkeypatch.undo()
        other.chat("Where is the spare key now?")
        return erasing(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Eraser, "forget", late)
    receipt = memory.forget(secret, replies=erase)
    assert len(receipt.replies) == 1 + shown_before
    assert len(replies(memory)) == (0 if erase else 1 + shown_before)
