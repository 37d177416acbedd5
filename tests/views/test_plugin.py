"""A view that only an entry point names shows wherever treering's own do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.conftest import Open
from tests.plugins import install
from tests.views.conftest import PLUGIN
from tests.views.pictures import rows
from treering import Memory
from treering.errors import ViewError
from treering.llm.scripted import FakeLLM

LOUD = "The server is ON FIRE, call BERTA at once."
SHOUTED = "it was shouted"
pytestmark = pytest.mark.usefixtures("shouting")


@pytest.fixture
def loud(open_memory: Open) -> Memory:
    memory = open_memory(llm=FakeLLM(lambda request: request.messages[-1].content))
    memory.add([{"role": "user", "content": LOUD}], source="alarm")
    memory.add("Nobody raised their voice.", source="calm")
    return memory


def test_it_follows_is_pending_and_is_settled(loud: Memory) -> None:
    assert [(word, times) for _, _, word, times in rows(loud, "view_shouts")] == [
        ("BERTA", None),
        ("FIRE", None),
    ]
    assert loud.stats().pending["shouts:count"] == 1
    assert "shouts:count" not in loud.settle().pending
    assert {times for *_, times in rows(loud, "view_shouts")} == {1}


def test_its_marks_show_in_searches_contexts_and_chats(loud: Memory) -> None:
    [loud_hit, calm] = sorted(loud.search("server voice", k=2), key=lambda hit: hit.source)
    assert loud_hit.stale is not None
    assert loud_hit.stale.text == SHOUTED
    assert calm.stale is None
    assert f"(possibly out of date: {SHOUTED})" in loud.context("server").text
    prompt = loud.chat_prompt("What about the server?", source="another chat")
    assert SHOUTED in str(prompt.messages)


def test_it_is_a_relation_by_name(loud: Memory) -> None:
    loud.add("More FIRE.", source="later")
    hits = loud.search("server", k=3, relations=["shouts"])
    assert {hit.source: "shouts" in hit.why.terms for hit in hits}["later"]


def test_what_is_erased_is_gone_from_it(loud: Memory) -> None:
    assert loud.forget(source="alarm").views["shouts"] == 2
    assert rows(loud, "view_shouts") == []


def test_what_is_erased_leaves_the_tables_of_a_view_that_is_not_installed(
    loud: Memory, open_memory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    loud.close()
    with monkeypatch.context() as uninstalled:
        uninstalled.setattr("sys.path", [place for place in sys.path if place != str(PLUGIN)])
        memory = open_memory()
        assert memory.forget(source="alarm").entries
        assert rows(memory, "view_shouts") == []
        memory.add("It is not HEARD.", source="later")
        memory.close()
    memory = open_memory()
    memory.add("It is HEARD.", source="last")
    memory.settle()
    assert [row[2] for row in rows(memory, "view_shouts")] == ["HEARD", "HEARD"]
    assert memory.check() == []


@pytest.mark.parametrize(
    ("table", "columns", "reason"),
    [
        ("whisper", "space INTEGER, word TEXT", "made table whisper; call it view_whispers"),
        ("view_whispers2", "space INTEGER, word TEXT", "made table view_whispers2"),
        ('"view_whispers said"', "space INTEGER, word TEXT", "made table view_whispers said"),
        ("view_whispers", "word TEXT", "needs a column `space`"),
    ],
)
def test_a_table_that_nothing_else_could_empty_is_refused(
    tmp_path: Path,
    open_memory: Open,
    monkeypatch: pytest.MonkeyPatch,
    table: str,
    columns: str,
    reason: str,
) -> None:
    install(
        monkeypatch,
        tmp_path / "site",
        "whispers",
        f"""
from treering.views.contract import View

class Whispers(View):
    name = "whispers"

    def __init__(self, resources):
        pass

    def derive(self, entries):
        return {{seq: entry.text for seq, entry in entries.items()}}

    def store(self, writer, derived):
        writer.execute('CREATE TABLE IF NOT EXISTS {table} ({columns})')
""",
        "[treering.views]\nwhispers = whispers:Whispers\n",
    )
    memory = open_memory()
    memory.add("The server is on fire.", source="alarm")
    with pytest.raises(ViewError, match=reason):
        memory.settle()
    with memory._space.read() as reader:
        assert table.strip('"') not in {each.name for each in reader.tables()}
    assert memory.search("fire"), "the other views went on"


@pytest.mark.parametrize("method", ["marks", "pending"])
def test_a_view_that_raises_is_named(
    loud: Memory, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setenv("SHOUTS_RAISES", method)
    with pytest.raises(ViewError):
        loud.context("server")
        loud.stats()
