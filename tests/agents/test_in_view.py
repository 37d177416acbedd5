"""What a model has before it already is not put in a second time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tests.agents.conftest import Hook, put_in, wait_until
from tests.agents.test_hook import MAST, remember
from treering import Memory
from treering.agents.handler import HookHandler


def test_a_line_is_put_in_once_until_the_session_is_compacted(server: Path, hook: Hook) -> None:
    remember(server, MAST)
    question = {"session_id": "s", "prompt": "How long is the mast of the boat?"}
    assert MAST in put_in(hook("prompt", question))
    assert hook("prompt", question) == {}  # the model has it before it
    assert MAST in put_in(hook("prompt", question | {"session_id": "another"}))
    hook("session-start", {"session_id": "s", "source": "resume"})
    assert hook("prompt", question) == {}
    brief = put_in(hook("session-start", {"session_id": "s", "source": "compact"}))
    assert MAST in brief
    assert hook("prompt", question) == {}  # it was in the brief


def test_a_line_that_was_put_in_comes_again_once_something_else_holds(
    server: Path, hook: Hook
) -> None:
    remember(server, MAST)
    question = {"session_id": "s", "prompt": "How long is the mast of the boat?"}
    assert MAST in put_in(hook("prompt", question))
    with Memory.open(server, space="default", embedder="hashing") as memory:
        [old] = memory.entries()
        [new] = memory.add("The mast of the boat was cut to eight metres.").ids
        memory.supersede(old.id, new)
    again = put_in(hook("prompt", question))
    assert f"{MAST} (since then: The mast of the boat was cut to eight metres.)" in again


def test_a_line_whose_reply_nobody_read_is_put_in_the_next_time(server: Path, hook: Hook) -> None:
    remember(server, MAST)
    question = "How long is the mast of the boat?"
    handler = HookHandler(str(server), "hashing")
    request = {"event": "prompt", "asks": True, "space": "default", "session": "s"}
    with closing(handler):
        assert MAST in handler.answer(request | {"prompt": question})["text"]
        reply = handler.answer(request | {"prompt": question})
        assert MAST in reply["text"]
        handler.delivered(request, reply)
        assert handler.answer(request | {"prompt": question})["text"] == ""


def test_stopping_the_server_says_whether_one_ran(
    server: Path, home: Path, treering_command: Callable[..., str]
) -> None:
    assert "the server has ended" in treering_command(home, "hook", "stop")
    wait_until(lambda: "no server runs" in treering_command(home, "hook", "stop"))
