"""The views of a memory on a server: memos, facts, the tree, code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Final
from urllib.parse import quote

from typing_extensions import override

from treering.client.absent import without
from treering.client.connection import Connection
from treering.code.check import DEPTH, CheckReport
from treering.code.coder import JudgeName
from treering.code.fragments import Unit
from treering.code.generate import CONTEXT_BUDGET, Generated
from treering.code.index import ALPHA, CodeHit
from treering.code.indexing import CodeReceipt
from treering.code.joined import About
from treering.code.memory import CodeMemory
from treering.code.neighbours import Neighbourhood
from treering.code.rounds import Files
from treering.code.session import SessionBlock
from treering.errors import InputError
from treering.facts.view import Change, Fact, FactView
from treering.llm.tokens import estimate_tokens
from treering.memo.record import Choice, Memo
from treering.memo.view import Entries, Hits, Memos, MemoView, When
from treering.records import Forgotten, Progress
from treering.score.own import Mode
from treering.tree.node import TreeNode
from treering.tree.search import TREE_ALPHA, Method
from treering.tree.view import TreeStats, TreeView

PAGE: Final = 1_000  # nodes asked for at a time
INSIDE: Final = "it is a part of the machinery, which runs on the server"

Nodes = list[TreeNode]


def step(text: str) -> str:
    """A text as one step of a path."""
    return quote(text, safe="")


def same_count(count_tokens: Callable[[str], int]) -> None:
    """Raises InputError for a way of counting tokens that the server does not have."""
    if count_tokens is not estimate_tokens:
        raise InputError("count_tokens cannot be sent; a server counts as by default")


@without(
    {
        "grow": INSIDE,
        "settle": "memory.settle() settles the tree too",
        "hits": INSIDE,
        "context": "memory.context(altitude='mixed') asks for it",
        "relation": "name the relation 'tree' instead",
        "quality": "it takes minutes; run it where the file is",
        "replant": "it grows the whole tree anew; run `treering tree` where the file is",
        "settings": "they are read where the file is",
        "draw": "export the memory and draw it there, or look at the server's page",
    }
)
class RemoteTree(TreeView):
    """``memory.tree`` of a memory on a server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @override
    def roots(self) -> Nodes:
        return self._all("/tree")

    @override
    def children(self, number: int) -> Nodes:
        return self._all(f"/tree/nodes/{number}/children")

    @override
    def node(self, number: int) -> TreeNode:
        return self._connection.get(TreeNode, f"/tree/nodes/{number}")

    @override
    def path(self, number: int) -> Nodes:
        return self._connection.get(Nodes, f"/tree/nodes/{number}/path")

    @override
    def leaves(self, number: int) -> Nodes:
        return self._all(f"/tree/nodes/{number}/leaves")

    @override
    def find(self, entry_id: str) -> Nodes:
        return self._connection.get(Nodes, f"/tree/entries/{step(entry_id)}")

    @override
    def stats(self) -> TreeStats:
        return self._connection.get(TreeStats, "/tree/stats")

    @override
    def search(
        self,
        query: str,
        *,
        k: int = 10,
        method: Method = "related",
        least: float | None = None,
        alpha: float = TREE_ALPHA,
    ) -> Nodes:
        wanted = {"query": query, "k": k, "method": method, "least": least, "alpha": alpha}
        return self._connection.post(Nodes, "/tree/search", wanted)

    def _all(self, path: str) -> Nodes:
        found: Nodes = []
        while True:
            part: Nodes = self._connection.get(Nodes, path, {"offset": len(found), "limit": PAGE})
            found += part
            if len(part) < PAGE:
                return found


@without(
    {
        "relation": "name the relation 'topic' instead",
        "settle": "memory.settle() settles memos too",
        "embed": INSIDE,
    }
)
class RemoteMemos(MemoView):
    """``memory.memos`` of a memory on a server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @override
    def list(
        self,
        *,
        topic: str | None = None,
        source: str | None = None,
        since: When = None,
        until: When = None,
        as_of: When = None,
    ) -> Memos:
        which = {"topic": topic, "source": source, "since": since, "until": until, "as_of": as_of}
        return self._connection.get(Memos, "/memos", which)

    @override
    def get(self, memo_id: str, *, as_of: When = None) -> Memo:
        return self._connection.get(Memo, f"/memos/{step(memo_id)}", {"as_of": as_of})

    @override
    def history(self, memo_id: str) -> Memos:
        return self._connection.get(Memos, f"/memos/{step(memo_id)}/history")

    @override
    def search(
        self, query: str, *, k: int = 10, mode: Mode = "hybrid", source: str | None = None
    ) -> Hits:
        wanted = {"query": query, "k": k, "mode": mode, "source": source}
        return self._connection.post(Hits, "/memos/search", wanted)

    @override
    def pinned(self) -> Memos:
        return [memo for memo in self.list() if memo.pinned]

    @override
    def written(self, source: str) -> frozenset[str]:
        return frozenset(one for memo in self.list(source=source) for one in memo.entry_ids)

    @override
    def lines(self, memo: Memo) -> Entries:
        return self._connection.get(Entries, f"/memos/{step(memo.id)}/lines")

    @override
    def choose(self, query: str, *, source: str | None = None) -> Choice:
        wanted = {"query": query, "source": source}
        return self._connection.post(Choice, "/memos/choose", wanted)

    @override
    def recent(self, source: str) -> Entries:
        return self._connection.get(Entries, "/memos/recent", {"source": source})

    @override
    def edit(self, memo_id: str, *, topic: str | None = None, summary: str | None = None) -> Memo:
        change = {"topic": topic, "summary": summary}
        return self._connection.send(Memo, "PATCH", f"/memos/{step(memo_id)}", change)

    @override
    def pin(self, memo_id: str, pinned: bool = True) -> Memo:
        wanted = {"pinned": pinned}
        return self._connection.send(Memo, "PUT", f"/memos/{step(memo_id)}/pin", wanted)

    @override
    def merge(
        self, memo_ids: Sequence[str], *, topic: str | None = None, summary: str | None = None
    ) -> Memo:
        wanted = {"ids": [*memo_ids], "topic": topic, "summary": summary}
        return self._connection.post(Memo, "/memos/merge", wanted)

    @override
    def split(
        self,
        memo_id: str,
        entry_id: str,
        *,
        topics: tuple[str, str] | None = None,
        summaries: tuple[str, str] | None = None,
    ) -> tuple[Memo, Memo]:
        where = {"entry_id": entry_id, "topics": topics, "summaries": summaries}
        return self._connection.post(tuple[Memo, Memo], f"/memos/{step(memo_id)}/split", where)

    @override
    def delete(self, memo_id: str) -> None:
        self._connection.send(type(None), "DELETE", f"/memos/{step(memo_id)}")


@without({"follow": INSIDE})
class RemoteFacts(FactView):
    """``memory.facts`` of a memory on a server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @override
    def all(self, subject: str | None = None) -> list[Fact]:
        return self._connection.get(list[Fact], "/facts", {"subject": subject})

    @override
    def current(self, subject: str | None = None) -> list[Fact]:
        return self._connection.get(list[Fact], "/facts", {"subject": subject, "current": True})

    @override
    def changes(self) -> list[Change]:
        return self._connection.get(list[Change], "/facts/changes")

    @override
    def judge(self) -> int:
        return self._connection.post(int, "/facts/judge", {})


@without(
    {
        "blocks": "search() finds the definitions",
        "context_memory": "it calls back for every turn; use it where the file is",
        "rounds": "log() tells the story of a definition",
        "relation": "name the relation 'code' instead",
        "follow": INSIDE,
        "use": INSIDE,
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
    ) -> list[CodeHit]:
        wanted = {"query": query, "k": k, "mode": mode, "alpha": alpha, "near": near} | _at(root)
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
        judge: JudgeName = "names",
        budget: int = CONTEXT_BUDGET,
    ) -> Generated:
        wanted = {"instruction": instruction, "definition": definition} | _at(root)
        wanted |= {"judge": judge, "budget": budget}
        return self._connection.post(Generated, "/code/generate", wanted)

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
