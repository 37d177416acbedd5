"""The views of a memory on a server: the tree, memos, facts, code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from typing_extensions import override

from treering.client import calls
from treering.client.calls import same_count, step, without
from treering.client.connection import Connection
from treering.llm.tokens import estimate_tokens
from treering.records import Forgotten, Mode, Progress
from treering.views.choices import ContextName, DetectorName, JudgeName, Unit
from treering.views.code.guard.check import CheckReport
from treering.views.code.index.code_index import ALPHA, CodeHit
from treering.views.code.index.indexing import CodeReceipt
from treering.views.code.index.names import About
from treering.views.code.index.neighbours import Neighbourhood
from treering.views.code.memory import CodeMemory
from treering.views.code.rounds.history import DEPTH
from treering.views.code.rounds.rounds import Files
from treering.views.code.rounds.session import SessionBlock
from treering.views.code.write.generate import CONTEXT_BUDGET, GeneratedCode
from treering.views.facts.view import FactView
from treering.views.memos.record import Memo
from treering.views.memos.view import Entries, Memos, MemoView
from treering.views.tree.view import TreeView


class RemoteTree(TreeView):
    """``memory.tree`` of a memory on a server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    roots = calls.pages(TreeView.roots, "/tree")
    children = calls.pages(TreeView.children, "/tree/nodes/{number}/children")
    node = calls.get(TreeView.node, "/tree/nodes/{number}")
    path = calls.get(TreeView.path, "/tree/nodes/{number}/path")
    leaves = calls.pages(TreeView.leaves, "/tree/nodes/{number}/leaves")
    find = calls.get(TreeView.find, "/tree/entries/{entry_id}")
    search = calls.post(TreeView.search, "/tree/search")
    stats = calls.get(TreeView.stats, "/tree/stats")
    settings = calls.get(TreeView.settings, "/tree/settings")
    draw = calls.get(TreeView.draw, "/tree/drawing")
    replant = calls.post(TreeView.replant, "/tree/replant")
    settle = calls.post(TreeView.settle, "/tree/settle")


class RemoteMemos(MemoView):
    """``memory.memos`` of a memory on a server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    list = calls.get(MemoView.list, "/memos")
    get = calls.get(MemoView.get, "/memos/{memo_id}")
    history = calls.get(MemoView.history, "/memos/{memo_id}/history")
    search = calls.post(MemoView.search, "/memos/search")
    choose = calls.post(MemoView.choose, "/memos/choose")
    recent = calls.get(MemoView.recent, "/memos/recent")
    edit = calls.post(MemoView.edit, "/memos/{memo_id}", method="PATCH")
    pin = calls.post(MemoView.pin, "/memos/{memo_id}/pin", method="PUT")
    merge = calls.post(
        MemoView.merge, "/memos/merge", body_of=lambda sent: {"ids": sent.pop("memo_ids"), **sent}
    )
    split = calls.post(MemoView.split, "/memos/{memo_id}/split")
    delete = calls.post(MemoView.delete, "/memos/{memo_id}", method="DELETE")
    settle = calls.post(MemoView.settle, "/memos/settle")

    @override
    def pinned(self) -> Memos:
        return [memo for memo in self.list() if memo.pinned]

    @override
    def written(self, source: str) -> frozenset[str]:
        return frozenset(line for memo in self.list(source=source) for line in memo.entry_ids)

    @override
    def lines(self, memo: Memo) -> Entries:
        return self._connection.get(Entries, f"/memos/{step(memo.id)}/lines")


class RemoteFacts(FactView):
    """``memory.facts`` of a memory on a server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    all = calls.get(FactView.all, "/facts")
    current = calls.get(FactView.current, "/facts", current=True)
    history = calls.get(FactView.history, "/facts")
    changes = calls.get(FactView.changes, "/facts/changes")


@without(
    {
        "blocks": "search() finds the definitions",
        "context_memory": "it calls back for every turn; use it where the file is",
        "rounds": "log() tells the story of a definition",
    }
)
class RemoteCode(CodeMemory):
    """``memory.code`` of a memory on a server. Roots are folders on the server's disk; a relative
    one counts from the caller's folder, so that a server on the same machine reads it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @override
    def index(
        self,
        root: str | Path,
        *,
        unit: Unit | None = None,
        embed: bool | None = None,
        progress: Progress | None = None,
    ) -> CodeReceipt:
        del progress  # a server reports none
        wanted = {"root": _absolute(root), "unit": unit, "embed": embed}
        return self._connection.post(CodeReceipt, "/code/repositories", wanted)

    @override
    def search(
        self,
        query: str,
        *,
        k: int = 10,
        root: str | Path | None = None,
        mode: Mode | None = None,
        alpha: float = ALPHA,
        near: str | None = None,
        paths: Sequence[str] | None = None,
    ) -> list[CodeHit]:
        wanted = {"query": query, "k": k, "mode": mode, "alpha": alpha, "near": near}
        wanted |= {"paths": paths} | _at(root)
        return self._connection.post(list[CodeHit], "/code/search", wanted)

    @override
    def map(
        self,
        *,
        budget: int = 1000,
        root: str | Path | None = None,
        focus: Mapping[str, float] | None = None,
        count_tokens: Callable[[str], int] = estimate_tokens,
    ) -> str:
        same_count(count_tokens)
        wanted = {"budget": budget, "focus": focus} | _at(root)
        return self._connection.post(str, "/code/map", wanted)

    @override
    def neighbours(
        self, path: str, definition: str, *, root: str | Path | None = None
    ) -> Neighbourhood:
        which = {"path": path, "definition": definition} | _at(root)
        return self._connection.get(Neighbourhood, "/code/neighbours", which)

    @override
    def repositories(self) -> list[str]:
        return self._connection.get(list[str], "/code/repositories")

    @override
    def forget(self, root: str | Path) -> int:
        path = f"/code/repositories?root={step(_absolute(root))}"
        return self._connection.send(int, "DELETE", path)

    @override
    def record(
        self,
        instruction: str,
        *,
        root: str | Path = ".",
        before: Files | None = None,
        after: Files | None = None,
        diff: str | None = None,
        note: str = "",
        outcome: str = "",
    ) -> tuple[SessionBlock, ...]:
        worked = {"instruction": instruction, "before": before, "after": after, "diff": diff}
        worked |= {"note": note, "outcome": outcome} | _at(root if after is None else None)
        return self._connection.post(tuple[SessionBlock, ...], "/code/rounds", worked)

    @override
    def generate(
        self,
        instruction: str,
        *,
        definition: str,
        root: str | Path | None = None,
        judge: JudgeName | None = None,
        detector: DetectorName | None = None,
        context: ContextName | None = None,
        budget: int = CONTEXT_BUDGET,
    ) -> GeneratedCode:
        wanted = {"instruction": instruction, "definition": definition} | _at(root)
        wanted |= {"judge": judge, "detector": detector, "context": context, "budget": budget}
        return self._connection.post(GeneratedCode, "/code/generate", wanted)

    @override
    def note(self, definition: str, note: str, *, outcome: str = "") -> SessionBlock:
        noted = {"definition": definition, "note": note, "outcome": outcome}
        return self._connection.post(SessionBlock, "/code/note", noted)

    @override
    def log(self, definition: str, *, root: str | Path | None = None) -> tuple[SessionBlock, ...]:
        which = {"definition": definition} | _at(root)
        return self._connection.get(tuple[SessionBlock, ...], "/code/log", which)

    @override
    def about(self, question: str, *, k: int = 5) -> About:
        return self._connection.post(About, "/code/about", {"question": question, "k": k})

    @override
    def forget_rounds(self, definition: str) -> Forgotten:
        which = {"definition": definition}
        return self._connection.post(Forgotten, "/code/rounds/forget", which)

    @override
    def check(
        self,
        *,
        root: str | Path = ".",
        staged: bool = False,
        commits: str | None = None,
        message: str = "",
        depth: int = DEPTH,
    ) -> CheckReport:
        wanted = {"staged": staged, "commits": commits, "message": message, "depth": depth}
        return self._connection.post(CheckReport, "/code/check", wanted | _at(root))


def _at(root: str | Path | None) -> dict[str, Any]:
    return {"root": None if root is None else _absolute(root)}


def _absolute(root: str | Path) -> str:
    """A folder as a server is told it: what is relative is so to the caller's folder."""
    kinds = (PurePosixPath, PureWindowsPath)  # the server's machine may be of the other one
    is_absolute = any(kind(root).is_absolute() for kind in kinds)
    return str(root if is_absolute else Path(root).absolute())
