"""The operations that a server offers, one row each: a method and its route.

The method declares its help, its parameters, their types and defaults, and its result. The routes
with their bodies, the client's methods and the reference page come from these rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import getdoc
from typing import Any, Final, Literal

from treering.memory import Memory
from treering.views.code.memory import CodeMemory
from treering.views.facts.view import FactView
from treering.views.memos.view import MemoView
from treering.views.tree.view import TreeView

Work = Literal["read", "write", "wait", "search"]
"""Read and compute, change the space, wait for a language model or go over everything, or search,
with the query embedded together with those of the moment."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of ``Memory`` or of one of its views, and how it is called over HTTP."""

    method: Callable[..., Any]
    route: str
    work: Work = "read"
    tag: str = ""
    """Part of the interface that it is listed under; by default the name of its view."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Parameters that have another name in the body."""
    root: Literal["any", "folder", "git"] = "any"
    """Where its ``root`` must be: anywhere, or in a folder, or git repository, that is served."""
    in_parts: bool = False
    """Whether it returns a list that is answered a part at a time."""
    is_custom: bool = False
    """Whether the server has a function of its own for the route."""
    needs: str = ""
    """Roles that a caller needs, if others than ``roles`` derives."""

    @property
    def help(self) -> str:
        """First paragraph of the method's documentation."""
        words = (getdoc(self.method) or "").partition("\n\n")[0].split()
        return re.sub(r" Raises [^.]*\.$", "", " ".join(words).replace("``", "`"))

    @property
    def verb(self) -> str:
        """Method of HTTP."""
        return self.route.split()[0]

    @property
    def path(self) -> str:
        """Path below ``/v1``, with parameters in braces."""
        return self.route.split()[1]

    @property
    def roles(self) -> frozenset[str]:
        """Roles that a caller needs: ``read`` if it only reads and computes, else ``full``."""
        reads = self.verb == "GET" or (self.work in ("read", "search") and not self.is_custom)
        return frozenset((self.needs or ("read" if reads else "full")).split())

    @property
    def view(self) -> str:
        """Attribute of a memory that has the method; empty for a method of ``Memory`` itself."""
        return VIEWS[self.method.__qualname__.partition(".")[0]]


VIEWS: Final[Mapping[str, str]] = {
    Memory.__name__: "",
    TreeView.__name__: "tree",
    MemoView.__name__: "memos",
    FactView.__name__: "facts",
    CodeMemory.__name__: "code",
}

_O = Operation

OPERATIONS: Final[tuple[Operation, ...]] = (
    _O(Memory.add, "POST /entries", is_custom=True, needs="add"),
    _O(Memory.page, "GET /entries", tag="entries"),
    _O(Memory.get, "GET /entries/{entry_id}", tag="entries"),
    _O(Memory.replace, "PATCH /entries/{entry_id}", "write", tag="entries"),
    _O(Memory.pin, "POST /pin", "write", tag="entries"),
    _O(Memory.supersede, "POST /supersede", "write", tag="entries"),
    _O(Memory.retract, "POST /retract", "write", tag="entries"),
    _O(Memory.restore, "POST /restore", "write", tag="entries"),
    _O(Memory.withheld, "GET /withheld", tag="entries"),
    _O(Memory.history, "GET /entries/{entry_id}/history", tag="entries"),
    _O(Memory.forget, "POST /forget", "write", tag="entries", renamed={"entry_ids": "ids"}),
    _O(Memory.share, "POST /share", "write", tag="entries", needs="read"),
    _O(Memory.search, "POST /search", "search", tag="recall"),
    _O(Memory.search_many, "POST /search-many", tag="recall"),
    _O(Memory.context, "POST /context", tag="recall"),
    _O(Memory.brief, "GET /brief", "write", tag="recall"),
    _O(Memory.ask, "POST /ask", "wait", tag="recall", needs="read"),
    _O(Memory.chat, "POST /chat", is_custom=True, needs="read add"),
    _O(Memory.chat_prompt, "POST /chat/prompt", "wait", tag="chat", needs="read"),
    _O(MemoView.list, "GET /memos"),
    _O(MemoView.search, "POST /memos/search"),
    _O(MemoView.choose, "POST /memos/choose", "wait", needs="read"),
    _O(MemoView.get, "GET /memos/{memo_id}"),
    _O(MemoView.edit, "PATCH /memos/{memo_id}", "write"),
    _O(MemoView.delete, "DELETE /memos/{memo_id}", "write"),
    _O(FactView.all, "GET /facts", "write"),
    _O(FactView.current, "GET /facts/current", "write"),
    _O(FactView.history, "GET /facts/history", "write"),
    _O(TreeView.roots, "GET /tree", in_parts=True),
    _O(TreeView.stats, "GET /tree/stats"),
    _O(TreeView.nodes, "GET /tree/nodes/{root}/branch", in_parts=True),
    _O(TreeView.draw, "GET /tree/drawing"),
    _O(TreeView.node, "GET /tree/nodes/{number}"),
    _O(TreeView.children, "GET /tree/nodes/{number}/children", in_parts=True),
    _O(TreeView.leaves, "GET /tree/nodes/{number}/leaves", in_parts=True),
    _O(TreeView.path, "GET /tree/nodes/{number}/path"),
    _O(TreeView.find, "GET /tree/entries/{entry_id}"),
    _O(CodeMemory.repositories, "GET /code/repositories"),
    _O(CodeMemory.index, "POST /code/repositories", "wait", root="folder"),
    _O(CodeMemory.forget, "DELETE /code/repositories", "write"),
    _O(CodeMemory.search, "POST /code/search"),
    _O(CodeMemory.map, "POST /code/map"),
    _O(CodeMemory.record, "POST /code/rounds", is_custom=True, needs="add"),
    _O(CodeMemory.forget_rounds, "POST /code/rounds/forget", "write"),
    _O(CodeMemory.generate, "POST /code/generate", "wait"),
    _O(CodeMemory.about, "POST /code/about", "write", needs="read"),
    _O(CodeMemory.neighbours, "GET /code/neighbours"),
    _O(CodeMemory.note, "POST /code/note", "write"),
    _O(CodeMemory.log, "GET /code/log", "wait", root="git"),
    _O(CodeMemory.check, "POST /code/check", "wait", root="git", needs="read"),
    _O(Memory.spaces, "GET /spaces", is_custom=True),
    _O(Memory.forget_space, "DELETE /spaces/{name}", is_custom=True),
    _O(Memory.stats, "GET /stats", tag="upkeep"),
    _O(Memory.configure, "POST /configure", "write", tag="upkeep"),
    _O(Memory.rebuild, "POST /rebuild", "wait", tag="upkeep"),
)
