"""While an operation is awaited, other tasks of the loop get their turn."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.embedders import HashingEmbedder
from treering import AsyncMemory
from treering.aio.memory import AsyncCode, AsyncFacts, AsyncMemos, AsyncTree
from treering.arrays import Floats
from treering.errors import TreeringError
from treering.llm.scripted import ScriptedLLM

TICK_S = 0.01
HELD_BACK_S = 0.1
"""What an operation may hold a tick back by."""
ATTEMPTS = 5
"""On a machine with other work a tick may come late for reasons of its own, now and then."""
SLOW_TICKS = 3
"""Ticks that a model takes: none come, and it waits in vain, where it keeps the loop waiting."""
PATIENCE_S = 20.0

SAID: list[dict[str, Any]] = [
    {"role": "user", "name": "Ana", "content": "I live in Porto, beside the river."},
    {"role": "assistant", "content": "Rivers are fine neighbours."},
    {"role": "user", "name": "Ana", "content": "I do not live in Porto any more."},
]

Call = Callable[[AsyncMemory], Awaitable[object]]


async def drained(items: AsyncIterator[object]) -> list[object]:
    return [item async for item in items]


async def streamed(memory: AsyncMemory) -> None:
    async with await memory.chat_stream("And now?") as stream:
        await drained(stream)


MEMORY: Mapping[str, Call] = {
    "add": lambda memory: memory.add(SAID, source="talk"),
    "replace": lambda memory: memory.replace("none", "text"),
    "pin": lambda memory: memory.pin("none"),
    "supersede": lambda memory: memory.supersede("none", "other"),
    "retract": lambda memory: memory.retract("none"),
    "restore": lambda memory: memory.restore("none"),
    "withheld": lambda memory: memory.withheld(),
    "history": lambda memory: memory.history("none"),
    "share": lambda memory: memory.share(["none"], to="other"),
    "settle": lambda memory: memory.settle(upgrade=True),
    "rebuild": lambda memory: memory.rebuild("fragments", "facts"),
    "search": lambda memory: memory.search("Porto", level="all"),
    "search_many": lambda memory: memory.search_many(["Porto", "river"]),
    "context": lambda memory: memory.context("Porto"),
    "brief": lambda memory: memory.brief(),
    "ask": lambda memory: memory.ask("Where does Ana live?"),
    "chat": lambda memory: memory.chat("Where do I live?"),
    "chat_stream": streamed,
    "chat_prompt": lambda memory: memory.chat_prompt("Where?", policy="memo"),
    "entries": lambda memory: drained(memory.entries()),
    "page": lambda memory: memory.page(),
    "get": lambda memory: memory.get("none"),
    "configure": lambda memory: memory.configure(k=10),
    "fit": lambda memory: memory.fit(),
    "suggest_relations": lambda memory: memory.suggest_relations(),
    "export": lambda memory: drained(memory.export()),
    "import_": lambda memory: memory.import_([]),
    "spaces": lambda memory: memory.spaces(),
    "stats": lambda memory: memory.stats(),
    "check": lambda memory: memory.check(),
    "forget": lambda memory: memory.forget(source="chat"),
    "reembed": lambda memory: memory.reembed(HashingEmbedder("other")),
    "forget_space": lambda memory: memory.forget_space("none"),
}
TREE: Mapping[str, Call] = {
    "settle": lambda memory: memory.tree.settle(),
    "replant": lambda memory: memory.tree.replant(base=0.2),
    "settings": lambda memory: memory.tree.settings(),
    "roots": lambda memory: memory.tree.roots(),
    "children": lambda memory: memory.tree.children(0),
    "node": lambda memory: memory.tree.node(1),
    "path": lambda memory: memory.tree.path(1),
    "leaves": lambda memory: memory.tree.leaves(0),
    "find": lambda memory: memory.tree.find("none"),
    "stats": lambda memory: memory.tree.stats(),
    "nodes": lambda memory: memory.tree.nodes(),
    "draw": lambda memory: memory.tree.draw(),
}
MEMOS: Mapping[str, Call] = {
    "list": lambda memory: memory.memos.list(),
    "get": lambda memory: memory.memos.get("none"),
    "lines": lambda memory: each(memory.memos.list(), memory.memos.lines),
    "search": lambda memory: memory.memos.search("Porto"),
    "choose": lambda memory: memory.memos.choose("Porto"),
    "recent": lambda memory: memory.memos.recent("talk"),
    "edit": lambda memory: memory.memos.edit("none", topic="Homes"),
    "delete": lambda memory: memory.memos.delete("none"),
    "settle": lambda memory: memory.memos.settle(),
}
FACTS: Mapping[str, Call] = {
    "all": lambda memory: memory.facts.all(),
    "current": lambda memory: memory.facts.current("ana"),
    "history": lambda memory: memory.facts.history("ana", "home"),
}
CODE: Mapping[str, Call] = {
    "search": lambda memory: memory.code.search("launch", mode="hybrid"),
    "map": lambda memory: memory.code.map(),
    "neighbours": lambda memory: memory.code.neighbours("boats.py", "launch"),
    "blocks": lambda memory: memory.code.blocks("launch"),
    "record": lambda memory: memory.code.record(
        "Shout the name.", after={"boats.py": "def launch(name):\n    return name.upper()\n"}
    ),
    "generate": lambda memory: memory.code.generate("Shout it.", definition="launch"),
    "note": lambda memory: memory.code.note("launch", "Liked."),
    "log": lambda memory: memory.code.log("launch"),
    "rounds": lambda memory: memory.code.rounds(),
    "check": lambda memory: memory.code.check(),
    "about": lambda memory: memory.code.about("Why does launch() shout?"),
    "repositories": lambda memory: memory.code.repositories(),
    "forget_rounds": lambda memory: memory.code.forget_rounds("launch"),
    "index": lambda memory: each(memory.code.repositories(), memory.code.index),
    "forget": lambda memory: each(memory.code.repositories(), memory.code.forget),
}


async def each(items: Awaitable[list[Any]], use: Callable[[Any], Awaitable[object]]) -> None:
    for item in await items:
        await use(item)


class Ticks:
    """A task of the loop and a thread, both ticking: the thread tells how late ticks are anyway."""

    def __init__(self) -> None:
        self._ticked = threading.Condition()
        self._count = 0
        self._over = threading.Event()
        self.of_loop: list[float] = []
        self.of_thread: list[float] = []
        self.waited_in_vain = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        thread = threading.Thread(target=self._in_thread)
        thread.start()
        task = asyncio.create_task(self._in_loop())
        try:
            yield
        finally:
            self._over.set()
            await task
            await asyncio.to_thread(thread.join)

    async def _in_loop(self) -> None:
        while not self._over.is_set():
            began = time.perf_counter()
            await asyncio.sleep(TICK_S)
            self.of_loop.append(time.perf_counter() - began - TICK_S)
            with self._ticked:
                self._count += 1
                self._ticked.notify_all()

    def _in_thread(self) -> None:
        began = time.perf_counter()
        while not self._over.wait(TICK_S):
            self.of_thread.append(time.perf_counter() - began - TICK_S)
            began = time.perf_counter()

    def wait(self) -> None:
        """Wait, as a slow model, until the loop has ticked some times; it must not wait for us."""
        with self._ticked:
            until = self._count + SLOW_TICKS
            if not self._ticked.wait_for(lambda: self._count >= until, PATIENCE_S):
                self.waited_in_vain += 1

    async def late_by(self, call: Callable[[], Awaitable[object]]) -> float:
        """How much later ticks of the loop come than those of the thread while a call goes on."""
        await asyncio.sleep(TICK_S)
        self.of_loop.clear()
        self.of_thread.clear()
        with suppress(TreeringError):  # an id that is not there: looking for it is enough
            await call()
        await asyncio.sleep(TICK_S)
        return max(self.of_loop) - max(self.of_thread, default=0.0)


class SlowEmbedder(HashingEmbedder):
    """Takes some ticks of the loop a call."""

    def __init__(self, ticks: Ticks) -> None:
        super().__init__()
        self._ticks = ticks

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        self._ticks.wait()
        return super().embed(texts, query=query)


@pytest.mark.parametrize(
    ("calls", "kind"),
    [
        (MEMORY, AsyncMemory),
        (TREE, AsyncTree),
        (MEMOS, AsyncMemos),
        (FACTS, AsyncFacts),
        (CODE, AsyncCode),
    ],
    ids=["memory", "tree", "memos", "facts", "code"],
)
def test_no_operation_holds_a_tick_of_the_loop_back(
    tmp_path: Path, calls: Mapping[str, Call], kind: type
) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "boats.py").write_text("def launch(name):\n    return name\n")
    ticks = Ticks()
    llm = ScriptedLLM(lambda _: "Yes.", before_reply=lambda _: ticks.wait())
    late: dict[str, float] = {}

    async def measure() -> None:
        path, embedder = tmp_path / "life.db", SlowEmbedder(ticks)
        async with (
            ticks.running(),
            await AsyncMemory.open(path, embedder=embedder, llm=llm) as memory,
        ):
            await memory.add(SAID, source="talk")
            await memory.code.index(repository, embed=True)
            for name, call in calls.items():
                for _ in range(ATTEMPTS):
                    late[name] = await ticks.late_by(lambda call=call: call(memory))  # type: ignore[misc]
                    if late[name] <= HELD_BACK_S:
                        break

    asyncio.run(measure())
    assert ticks.waited_in_vain == 0
    assert {name: by for name, by in late.items() if by > HELD_BACK_S} == {}
    public = {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if name[0] != "_"}
    assert public - {"open", "close"} == calls.keys()
