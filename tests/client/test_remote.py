"""A memory behind a real server is used as one in a file is."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Open
from tests.serve.conftest import MakeKey, make_key
from tests.serve.live import serving
from treering import AsyncMemory, Memory
from treering.chat.stream import ChatStream
from treering.client import memory as client
from treering.errors import (
    AccessDenied,
    EmptyText,
    InputError,
    KeyUnknown,
    LLMUnavailable,
    ServerError,
    ServerUnavailable,
    UnknownEntry,
    UnknownName,
    UnknownSpace,
)
from treering.llm.scripted import FakeLLM
from treering.search.relations.decay import ContextRelation
from treering.views.code.memory import CodeMemory
from treering.views.facts.view import FactView
from treering.views.memos.view import MemoView
from treering.views.tree.view import TreeView

__all__ = ["make_key"]

SAID: list[dict[str, Any]] = [
    {
        "role": "user",
        "name": "Ana",
        "content": "I live in Porto. The river is loud\u2028at night.",
        "at": datetime(2026, 3, 1, 10, tzinfo=UTC),
    },
    {"role": "user", "name": "Ben", "content": "I keep bees on the roof.", "mood": ["proud", 1.5]},
    {"role": "assistant", "content": "Bees are fine neighbours."},
]
TWINS = [
    (client.RemoteMemory, Memory),
    (client.RemoteTree, TreeView),
    (client.RemoteMemos, MemoView),
    (client.RemoteFacts, FactView),
    (client.RemoteCode, CodeMemory),
    (client.RemoteStream, ChatStream),
]
INHERITED = {
    *("Memory.open", "Memory.entries", "Memory.import_"),
    *("Memory.code", "Memory.facts", "Memory.memos", "Memory.tree"),
    *("ChatStream.answer", "ChatStream.close"),
}
"""They use only methods and views of the remote class."""


@pytest.fixture
def url(path: Path) -> Iterator[str]:
    with serving(url=path) as found:
        yield found


@pytest.fixture
def remote(url: str) -> Iterator[Memory]:
    with Memory.open(url) as found:
        yield found


@pytest.fixture
def talk(remote: Memory) -> Memory:
    remote.add(SAID, source="talk")
    return remote


def test_every_call_is_there_with_its_signature_or_says_why_not() -> None:
    for twin, kind in TWINS:
        for name, method in inspect.getmembers(kind):
            if name.startswith("_") or f"{kind.__name__}.{name}" in INHERITED:
                continue
            own = twin.__dict__.get(name)
            assert own is not None, f"{twin.__name__} has no {name} of its own"
            if hasattr(own, "is_refusal"):
                with pytest.raises(InputError, match="needs the memory itself"):
                    own()
            else:
                ours, theirs = inspect.signature(own), inspect.signature(method)
                assert ours.parameters == theirs.parameters, name


def test_a_space_is_begun_missed_and_removed_over_a_server(url: str, remote: Memory) -> None:
    remote.add("Ana moved to Porto.")
    missing = pytest.raises(UnknownSpace)
    with Memory.open(url, space="defualt") as typo, missing:
        typo.search("Porto")
    with pytest.raises(UnknownSpace):
        Memory.open(url, space="defualt", create=False)
    with remote.space("ana/maria", create=True) as ana:
        assert ana.search("Porto") == []
        ana.add("A boat.")
    assert remote.spaces() == ["ana/maria", "default"]
    assert len(remote.forget_space("ana/maria").entries) == 1
    assert remote.spaces() == ["default"]
    remote.space("None", create=True)
    nothing: Any = None
    for call in (remote.space, remote.forget_space):
        with pytest.raises(InputError):
            call(nothing)
    assert remote.spaces() == ["None", "default"]


def test_what_is_pinned_superseded_and_looked_back_at_is_so_over_a_server(remote: Memory) -> None:
    later = datetime(2090, 1, 1, tzinfo=UTC)
    [old] = remote.add("A party in the garden.", at="2026-01-01", metadata={"year": 2026}).ids
    [new] = remote.add("A party in the barn.", at="2026-02-01", expires=later, pin=True).ids
    assert (remote.get(new).pinned, remote.get(new).expires) == (True, later)
    assert not remote.pin(new, pinned=False).pinned
    remote.supersede(old, new)
    against = remote.get(old).superseded_by
    assert against is not None
    assert against.entry_id == new
    [hit] = remote.search("party", as_of=datetime(2026, 1, 15, tzinfo=UTC))
    assert (hit.entry_id, hit.superseded_by) == (old, None)
    assert [entry.id for entry in remote.entries(metadata={"year": {"$gte": 2026}})] == [old]
    remote.supersede(old, None)
    assert remote.get(old).superseded_by is None


def test_what_comes_back_is_what_the_memory_in_the_file_gives(
    talk: Memory, open_memory: Open
) -> None:
    local = open_memory()
    assert list(talk.entries()) == list(local.entries())
    assert list(talk.entries(speaker="Ben", metadata={"mood": ["proud", 1.5]})) == list(
        local.entries(speaker="Ben")
    )
    [entry] = talk.entries(speaker="Ben")
    assert talk.get(entry.id) == local.get(entry.id) == entry
    assert talk.page(limit=2) == local.page(limit=2)
    options: dict[str, Any] = {"relations": ["context"], "alpha": {"context": 0.5}, "kind": "chat"}
    for ours, theirs in zip(
        talk.search("bees", k=3, **options), local.search("bees", k=3, **options), strict=True
    ):
        assert (ours.text, ours.entry_id, ours.metadata) == (
            theirs.text,
            theirs.entry_id,
            theirs.metadata,
        )
        assert ours.score == pytest.approx(theirs.score, abs=1e-4)
    assert talk.search_many([]) == []
    assert len(talk.search_many(["bees", "river"], k=1)) == 2
    assert talk.context("bees", budget=60).text == local.context("bees", budget=60).text
    assert talk.settle() == local.stats() == talk.stats()
    assert talk.spaces() == ["default"]


def test_an_export_is_a_memory_again(talk: Memory, url: str, open_memory: Open) -> None:
    lines = list(talk.export())
    assert len(lines) == 1 + len(SAID)
    assert lines == list(open_memory().export())
    with Memory.open(url, space="copy") as copy:
        assert copy.import_(iter(lines)).added == len(SAID)
        assert list(copy.export()) == lines


def test_the_tree_is_drawn_and_grows_by_other_settings(talk: Memory, open_memory: Open) -> None:
    talk.settle()
    local = open_memory()
    assert talk.tree.draw() == local.tree.draw() != ""
    assert talk.tree.nodes() == local.tree.nodes()
    settings = talk.configure(tree_base=0.05, tree_form="printed")
    assert (settings.tree_base, settings.tree_form) == (0.05, "printed")
    assert settings == local.configure()
    with pytest.raises(InputError):
        talk.configure(tree_depth=0)


def test_code_is_indexed_and_its_rounds_remembered(path: Path, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "boats.py").write_text("def launch(name):\n    return name\n")
    with serving(url=path, code_roots=(tmp_path,)) as url, Memory.open(url) as memory:
        assert memory.code.index(repository).added == ("boats.py",)
        [hit] = memory.code.search("launch", k=1, root=repository, paths=["*.py"])
        assert hit.path == "boats.py"
        assert "launch" in memory.code.map(budget=200)
        assert memory.code.repositories() == [str(repository)]
        after = {"boats.py": "def launch(name):\n    return name.upper()\n"}
        [block] = memory.code.record("Shout the name.", after=after)
        assert block.definition == "launch"
        assert memory.code.note("launch", "Liked.", outcome="accepted").outcome == "accepted"
        assert memory.code.log("launch")[-1].note == "Liked."
        assert memory.code.forget(repository) == 1
        with pytest.raises(AccessDenied):
            memory.code.index("/etc")


def test_a_question_and_a_chat_are_answered(path: Path) -> None:
    llm = FakeLLM(["In Porto [1].", "Hello, Ana.", "Good\n\nbye."])
    with serving(url=path, llm=llm) as url, Memory.open(url) as memory:
        memory.add(SAID)
        answer = memory.ask("Where does Ana live?")
        assert (answer.text, answer.citations[0].number) == ("In Porto [1].", 1)
        said = memory.chat("I am Ana.", source="phone")
        assert said.text == "Hello, Ana."
        assert {one for shown in said.evidences for one in shown.entries} <= {
            one.id for one in memory.entries()
        }
        assert said.evidences
        with memory.chat_stream("See you.", source="phone") as stream:
            assert "".join(stream) == "Good\n\nbye."
            assert stream.answer is not None
            assert stream.answer.text == "Good\n\nbye."
        assert len(list(memory.entries(source="phone"))) == 4


def test_errors_are_those_of_a_memory_in_a_file(path: Path) -> None:
    llm = FakeLLM([LLMUnavailable("down")] * 8)
    with serving(url=path, llm=llm) as url, Memory.open(url) as memory:
        memory._connection._pause = lambda _: None  # type: ignore[attr-defined]
        memory.add("Ana moved to Porto.")
        with pytest.raises(UnknownEntry):
            memory.get("none of those?")
        with pytest.raises(UnknownName):
            memory.get("none/of/those")
        with pytest.raises(EmptyText):
            memory.search("  ")
        with pytest.raises(InputError, match="k: "):
            memory.search("x", k=0)
        with pytest.raises(LLMUnavailable):
            memory.ask("Where?")
        with pytest.raises(LLMUnavailable):
            next(memory.chat_stream("Where?"))


def test_what_cannot_be_sent_is_refused_before_it_is(remote: Memory) -> None:
    cases: list[Any] = [
        lambda memory: memory.add(Path("diary.txt")),
        lambda memory: memory.add(7),
        lambda memory: memory.add("x", metadata={"a": object()}),
        lambda memory: memory.add("x", metadata={"a": "\ud800"}),
        lambda memory: memory.search("x", relations=[ContextRelation()]),
        lambda memory: memory.context("x", count_tokens=len),
        lambda memory: memory.chat("x", policy=object()),
    ]
    for call in cases:
        with pytest.raises(InputError):
            call(remote)


def test_a_key_opens_its_space(path: Path, make_key: MakeKey) -> None:
    key = make_key("ana")
    with serving(url=path) as url:
        with Memory.open(url, api_key=key) as memory:
            memory.add("A secret.")
            assert memory.stats().space == "ana"
        with Memory.open(url, space="ana", api_key=key) as memory:
            assert len(list(memory.entries())) == 1
        with Memory.open(url, space="ben", api_key=key) as memory, pytest.raises(AccessDenied):
            memory.stats()
        with Memory.open(url) as memory, pytest.raises(KeyUnknown):
            memory.stats()


def test_the_key_may_come_from_the_environment(
    path: Path, make_key: MakeKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREERING_API_KEY", make_key("ana"))
    with serving(url=path) as url, Memory.open(url) as memory:
        assert memory.stats().space == "ana"


def test_a_server_that_is_not_there_is_told() -> None:
    with Memory.open("http://127.0.0.1:9") as memory, pytest.raises(ServerUnavailable):
        memory.stats()


def test_a_closed_memory_says_so(url: str) -> None:
    memory = Memory.open(url)
    memory.close()
    memory.close()
    calls: tuple[Callable[[], object], ...] = (
        memory.stats,
        lambda: next(memory.export()),
        lambda: memory.import_(["{}"]),
        lambda: next(memory.chat_stream("Hello")),
    )
    for call in calls:
        with pytest.raises(ServerError, match="open it again"):
            call()


def test_there_is_an_asynchronous_twin(url: str) -> None:
    async def use() -> None:
        async with await AsyncMemory.open(url, space="async") as memory:
            await asyncio.gather(*(memory.add(f"Number {number}.") for number in range(5)))
            assert len([entry async for entry in memory.entries()]) == 5
            assert (await memory.search("Number 3.", k=1))[0].text == "Number 3."
            assert await (await memory.space("other", create=True)).search("Number 3.") == []

    asyncio.run(use())
