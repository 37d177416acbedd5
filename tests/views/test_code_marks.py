"""What speaks of code that has changed since is marked wherever it is shown."""

from __future__ import annotations

import pytest

from tests.conftest import Open
from tests.memo.talk import place
from treering import Memory
from treering.llm.scripted import FakeLLM

pytestmark = pytest.mark.both_engines

CHANGED = "parse in net.py has changed: Retry while the server is busy"
TALK = "parse() never retries when the server is busy."


@pytest.fixture
def changed(open_memory: Open) -> Memory:
    """A talk about a definition, and a round that changed it afterwards."""
    memory = open_memory(llm=FakeLLM(lambda _: "A summary."))
    memory.add([{"role": "user", "content": TALK, "at": "2026-01-01"}], source="talk")
    memory.code.record(
        "Retry while the server is busy",
        before={"net.py": "def parse():\n    return 1\n"},
        after={"net.py": "def parse():\n    for attempt in range(3):\n        pass\n"},
    )
    return memory


def test_a_search_and_a_context_mark_it(changed: Memory) -> None:
    [hit] = changed.search("who retries", k=1, source="talk")
    assert hit.stale is not None
    assert hit.stale.text == CHANGED
    assert CHANGED in changed.context("who retries").text


def test_memos_mark_their_lines(changed: Memory) -> None:
    memo = place(changed, "Retries", "parse never retries.", 0, 0, source="talk")
    changed.memos.edit(memo.id, pinned=True)
    [evidence] = changed.memos.choose("retries").evidences
    assert CHANGED in " ".join(evidence.dialogues)
    prompt = changed.chat_prompt("Does parse() retry?", source="another", policy="memo")
    assert CHANGED in str(prompt.messages)
