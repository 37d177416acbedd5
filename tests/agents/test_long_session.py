"""A session of 200 turns with a compaction, in the formats of Claude Code and of Codex."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.conftest import Hook, put_in, wait_until
from tests.ingest.clients import claude_line, codex_line, codex_said
from treering.hooks import inbox

FACTS = {
    3: ("We agreed that releases go out on Tuesdays only.", "On which day do releases go out?"),
    21: ("The staging database runs on port 5544.", "Which port does the staging database use?"),
    48: ("Ana owns the invoice module.", "Who owns the invoice module?"),
    77: (
        "Never retry payment requests, they are charged twice.",
        "May payment requests be retried?",
    ),
    99: ("We chose msgpack over protobuf for the cache.", "Why msgpack or protobuf in the cache?"),
    118: (
        "The mobile client needs dates in UTC.",
        "In which zone does the mobile client need dates?",
    ),
}
TURNS = 200
COMPACTED_AT = 150
TOPICS = ("button", "margin", "typo", "icon", "font", "colour", "label", "tooltip", "menu", "logo")


def said(turn: int) -> tuple[str, str]:
    """What the user and the model say in a turn."""
    topic = TOPICS[turn % len(TOPICS)]
    filler = f"Please look at the {topic} in view {turn} once more."
    return FACTS.get(turn, (filler, ""))[0], f"Done with number {turn}: the {topic} is right now."


def claude_turn(turn: int) -> list[dict[str, Any]]:
    user, model = said(turn)
    return [
        claude_line(2 * turn + place, kind, text, sessionId="s", timestamp=_time(turn))
        for place, (kind, text) in enumerate((("user", user), ("assistant", model)))
    ]


def codex_turn(turn: int) -> list[dict[str, Any]]:
    user, model = said(turn)
    lines = [codex_said(turn, "user", user), codex_said(turn, "assistant", model)]
    return [line | {"timestamp": _time(turn)} for line in lines]


def _time(turn: int) -> str:
    return f"2026-05-03T{10 + turn // 60:02}:{turn % 60:02}:00.000Z"


BEGINNINGS: dict[str, list[dict[str, Any]]] = {
    "claude-code": [{"type": "summary", "summary": "x", "leafUuid": "u"}],
    "codex": [codex_line(0, "session_meta", {"id": "s", "cwd": "/home/ana/shop"})],
}


@pytest.fixture
def embedder() -> str:
    return "minilm"


@pytest.mark.parametrize("client", BEGINNINGS)
def test_facts_from_before_a_compaction_are_recalled_after_it(
    server: Path, hook: Hook, tmp_path: Path, client: str
) -> None:
    turn_of = claude_turn if client == "claude-code" else codex_turn
    path = tmp_path / "rollout-s.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in BEGINNINGS[client]))
    options = ("--client", client)
    base = {"session_id": "s", "transcript_path": str(path), "cwd": str(tmp_path)}
    hook("session-start", base | {"source": "startup"}, *options)
    for turn in range(1, TURNS + 1):
        with path.open("a", encoding="utf-8") as stream:
            stream.writelines(f"{json.dumps(line)}\n" for line in turn_of(turn))
        if turn % 50 == 0 and turn != COMPACTED_AT:
            hook("turn", base, *options)
        if turn == COMPACTED_AT:
            hook("compact", base | {"trigger": "auto"}, *options)
            wait_until(lambda: not any(inbox.waiting_jobs(str(server))))
            # What the brief says already is not put in again by a prompt.
            brief = put_in(hook("session-start", base | {"source": "compact"}, *options))
            for fact, question in FACTS.values():
                recalled = put_in(hook("prompt", base | {"prompt": question}, *options))
                assert fact in brief + recalled, question
    hook("session-end", base, *options)
    wait_until(lambda: not any(inbox.waiting_jobs(str(server))))
    later = base | {"session_id": "t"}
    brief = put_in(hook("session-start", later | {"source": "startup"}, *options))
    assert brief
    for fact, question in FACTS.values():
        assert fact in brief + put_in(hook("prompt", later | {"prompt": question}, *options))
