"""What a model has before it already is not put in a second time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from tests.agents.conftest import Hook, put_in, wait_until
from tests.agents.test_hook import MAST, remember
from treering import Memory
from treering.agents.handler import HookHandler
from treering.agents.recall import relevant_lines
from treering.agents.sessions import SessionsInView

THREADS = 8


def test_a_line_is_put_in_once_until_the_session_is_compacted(server: Path, hook: Hook) -> None:
    remember(server, MAST)
    question = {"session_id": "s", "prompt": "How long is the mast of the boat?"}
    assert MAST in put_in(hook("prompt", question))
    assert hook("prompt", question) == {}  # the model has it before it
    assert MAST in put_in(hook("prompt", question | {"session_id": "another"}))
    hook("session-start", {"session_id": "s", "source": "resume"})
    assert hook("prompt", question) == {}
    gemini = ("--client", "gemini")  # 0.61.0 leaves out of the history what was put in
    assert MAST in put_in(hook("session-start", {"session_id": "s", "source": "resume"}, *gemini))
    brief = put_in(hook("session-start", {"session_id": "s", "source": "compact"}))
    assert MAST in brief
    assert hook("prompt", question) == {}  # it was in the brief


def test_what_was_put_in_comes_again_after_a_compaction_that_no_start_follows(server: Path) -> None:
    remember(server, MAST)
    request = {"event": "prompt", "asks": True, "space": "default", "session": "s"}
    request["prompt"] = "How long is the mast of the boat?"
    with closing(HookHandler(str(server), "hashing")) as handler:
        reply = handler.answer(request)
        assert MAST in reply["text"]
        handler.note_delivery(request, reply)
        assert handler.answer(request)["text"] == ""
        handler.answer({"event": "compact", "asks": False, "space": "default", "session": "s"})
        assert MAST in handler.answer(request)["text"]


def test_what_several_threads_put_in_at_once_is_all_noted(home: Path) -> None:
    sessions = SessionsInView(str(home / "memory.db"))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            each = 60
            texts = [f"{thread} {n}" for thread in range(THREADS) for n in range(each)]
            list(pool.map(lambda text: sessions.note_put_in({"session": "s"}, text), texts))
    finally:
        sys.setswitchinterval(interval)
    assert set(sessions.put_in({"session": "s"})) == set(texts)


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


def test_a_line_that_only_begins_like_what_was_put_in_is_put_in(server: Path) -> None:
    remember(server, "The port of the server is 80")
    with Memory.open(server, space="default", embedder="hashing") as memory:
        question = "What is the port of the server?"
        for before, is_put_in in (("is 8080", True), ("is 80.", False)):
            recalled = relevant_lines(
                [memory], question, {}, [f"- The port of the server {before}"]
            )
            assert bool(recalled.entries) == is_put_in


def test_a_question_comes_with_its_reply(server: Path) -> None:
    server.parent.mkdir(parents=True, exist_ok=True)
    with Memory.open(server, space="default", embedder="hashing") as memory:
        talk = [
            ("user", "What linter do we use in the boat project?", "2026-05-03T10:00:00Z"),
            ("assistant", "Let me see.", "2026-05-03T10:00:02Z"),
            ("assistant", "[Bash cat setup.cfg]", "2026-05-03T10:00:03Z"),
            ("user", "[error] no such file", "2026-05-03T10:00:04Z"),
            ("assistant", "Ruff, with all rules of the project.", "2026-05-03T10:00:05Z"),
            ("user", "Thanks.", "2026-05-03T10:00:06Z"),
            ("assistant", "Welcome.", "2026-05-03T10:00:07Z"),
        ]
        memory.add([{"role": role, "content": text, "at": at} for role, text, at in talk])
        memory.add("The keel of the boat is of lead.")
        recalled = relevant_lines([memory], "What linter do we use in the project?", {})
        assert "we use in the boat project? → Ruff, with all rules of the project." in recalled.text
        assert recalled.text.count("Ruff") == 1
        assert len(recalled.entries) >= 2


def test_stopping_the_server_says_whether_one_ran(
    server: Path, home: Path, treering_command: Callable[..., str]
) -> None:
    assert "the server was told to end" in treering_command(home, "hook", "--stop")
    wait_until(lambda: "no server runs" in treering_command(home, "hook", "--stop"))
