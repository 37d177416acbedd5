"""The operations that a server offers, one row each: a method, its route and a line of help.

The method declares its parameters, their types and defaults, and its result. The routes with their
bodies, the client's methods and the reference page come from these rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from treering.memory import Memory
from treering.views.code.memory import CodeMemory
from treering.views.facts.view import FactView
from treering.views.memos.view import MemoView
from treering.views.tree.view import TreeView

Work = Literal["read", "write", "wait", "search"]
"""Read and compute, change the space, wait for a language model or go over everything, or search
in one pass with the other searches of the moment."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of ``Memory`` or of one of its views, and how it is called over HTTP."""

    method: Callable[..., Any]
    route: str
    help: str
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
    _O(Memory.add, "POST /entries", "", is_custom=True, needs="add"),
    _O(
        Memory.page,
        "GET /entries",
        "The entries in the order they were added, a page at a time; `next` is the next cursor.",
        tag="entries",
    ),
    _O(Memory.get, "GET /entries/{entry_id}", "An entry as it was added.", tag="entries"),
    _O(
        Memory.replace,
        "PATCH /entries/{entry_id}",
        "Give an entry another text. Its place, time, speaker and metadata stay.",
        "write",
        tag="entries",
    ),
    _O(
        Memory.pin,
        "POST /pin",
        "Let an entry come before all others in contexts and briefs, or take that back.",
        "write",
        tag="entries",
    ),
    _O(
        Memory.supersede,
        "POST /supersede",
        "Say that an entry holds instead of another; with null for the new one, take it back.",
        "write",
        tag="entries",
    ),
    _O(
        Memory.retract,
        "POST /retract",
        "Withhold an entry: nothing finds it until it is restored.",
        "write",
        tag="entries",
    ),
    _O(
        Memory.restore,
        "POST /restore",
        "Put a retracted entry back, or accept a proposed one.",
        "write",
        tag="entries",
    ),
    _O(Memory.withheld, "GET /withheld", "The retracted and proposed entries.", tag="entries"),
    _O(
        Memory.history,
        "GET /entries/{entry_id}/history",
        "The corrections of an entry, oldest first.",
        tag="entries",
    ),
    _O(
        Memory.forget,
        "POST /forget",
        "Erase the entries of these ids that meet all conditions; give an id or a condition.",
        "write",
        tag="entries",
        renamed={"entry_ids": "ids"},
    ),
    _O(
        Memory.share,
        "POST /share",
        "Copy entries to another space, once, each with its origin.",
        "write",
        tag="entries",
        needs="read",
    ),
    _O(
        Memory.search,
        "POST /search",
        "The fragments that answer a query best, best first, each with the terms of its score.",
        "search",
        tag="recall",
    ),
    _O(
        Memory.search_many,
        "POST /search-many",
        "As `search`, for several queries in one pass.",
        tag="recall",
    ),
    _O(
        Memory.context,
        "POST /context",
        "Passages for a prompt within a budget of tokens, cited.",
        tag="recall",
    ),
    _O(
        Memory.brief,
        "GET /brief",
        "An overview of the space, cited, within a budget of tokens.",
        "write",
        tag="recall",
    ),
    _O(
        Memory.ask,
        "POST /ask",
        "Answer a question from the memory, with citations.",
        "wait",
        tag="recall",
        needs="read",
    ),
    _O(Memory.chat, "POST /chat", "", is_custom=True, needs="read add"),
    _O(
        Memory.chat_prompt,
        "POST /chat/prompt",
        "The prompt of a chat, without a reply; nothing is remembered.",
        "wait",
        tag="chat",
        needs="read",
    ),
    _O(
        MemoView.list,
        "GET /memos",
        "The memos, pinned ones first, else in the order they were first made.",
    ),
    _O(MemoView.search, "POST /memos/search", "The memos that answer a query best, best first."),
    _O(
        MemoView.choose,
        "POST /memos/choose",
        "The memos that a query is about, with their lines; the language model chooses if it can.",
        "wait",
        needs="read",
    ),
    _O(MemoView.get, "GET /memos/{memo_id}", "One memo."),
    _O(
        MemoView.edit,
        "PATCH /memos/{memo_id}",
        "Give a memo another topic or summary, pin it, or unpin it.",
        "write",
    ),
    _O(
        MemoView.delete,
        "DELETE /memos/{memo_id}",
        "Delete a memo; its lines stay, and get no new memo.",
        "write",
    ),
    _O(FactView.all, "GET /facts", "", is_custom=True),
    _O(FactView.history, "GET /facts", "", is_custom=True),
    _O(
        TreeView.roots,
        "GET /tree",
        "The topmost nodes, in the order their first text arrived.",
        in_parts=True,
    ),
    _O(TreeView.stats, "GET /tree/stats", "Figures: nodes, depth, pending summaries."),
    _O(
        TreeView.nodes,
        "GET /tree/nodes/{root}/branch",
        "All nodes of the tree, or of a branch, each before its children.",
        in_parts=True,
    ),
    _O(TreeView.draw, "GET /tree/drawing", "The tree, or a branch of it, as an outline."),
    _O(
        TreeView.replant,
        "POST /tree/replant",
        "Grow the whole tree again by other settings; its summaries become pending work.",
        "wait",
    ),
    _O(TreeView.node, "GET /tree/nodes/{number}", "One node."),
    _O(
        TreeView.children,
        "GET /tree/nodes/{number}/children",
        "The nodes below one, in order of arrival.",
        in_parts=True,
    ),
    _O(
        TreeView.leaves,
        "GET /tree/nodes/{number}/leaves",
        "The original texts that a summary rests on.",
        in_parts=True,
    ),
    _O(TreeView.path, "GET /tree/nodes/{number}/path", "The summaries above a node, top first."),
    _O(TreeView.find, "GET /tree/entries/{entry_id}", "The leaves that hold an entry's text."),
    _O(
        CodeMemory.repositories,
        "GET /code/repositories",
        "The roots of the repositories that are indexed.",
    ),
    _O(
        CodeMemory.index,
        "POST /code/repositories",
        "Index a working tree below a folder that is served; only files that changed are read.",
        "wait",
        root="folder",
    ),
    _O(
        CodeMemory.forget,
        "DELETE /code/repositories",
        "Erase a repository's index; the number of files it had.",
        "write",
    ),
    _O(
        CodeMemory.search,
        "POST /code/search",
        "The fragments of code that matter to an instruction, best first.",
    ),
    _O(
        CodeMemory.map,
        "POST /code/map",
        "The most central definitions of a repository within a budget of tokens.",
    ),
    _O(CodeMemory.record, "POST /code/rounds", "", is_custom=True, needs="add"),
    _O(
        CodeMemory.forget_rounds,
        "POST /code/rounds/forget",
        "Erase the recorded rounds of a definition, also from the file's bytes.",
        "write",
    ),
    _O(
        CodeMemory.generate,
        "POST /code/generate",
        "One round with the language model on a definition, recorded; no file is read or changed.",
        "wait",
    ),
    _O(
        CodeMemory.about,
        "POST /code/about",
        "Conversations, rounds of work and fragments of code about a question.",
        "write",
        needs="read",
    ),
    _O(
        CodeMemory.neighbours,
        "GET /code/neighbours",
        "A definition of indexed code: who calls it, whom it calls, its members.",
    ),
    _O(
        CodeMemory.note,
        "POST /code/note",
        "Write the note of a definition's last block, now that its reception is known.",
        "write",
    ),
    _O(
        CodeMemory.log,
        "GET /code/log",
        "The history of a definition: instructions, changes, notes; with root, its commits.",
        "wait",
        root="git",
    ),
    _O(
        CodeMemory.check,
        "POST /code/check",
        "The recorded rounds and commits that a change would undo.",
        "wait",
        root="git",
        needs="read",
    ),
    _O(Memory.spaces, "GET /spaces", "", is_custom=True),
    _O(Memory.forget_space, "DELETE /spaces/{name}", "", is_custom=True),
    _O(
        Memory.stats,
        "GET /stats",
        "Counts, sizes, the model, pending work, and the costs of models.",
        tag="upkeep",
    ),
    _O(
        Memory.configure,
        "POST /configure",
        "Set the defaults of calls; return all settings of the space.",
        "write",
        tag="upkeep",
    ),
    _O(
        Memory.rebuild,
        "POST /rebuild",
        "Derive views again from the journal, by default all; searches go on.",
        "wait",
        tag="upkeep",
    ),
)
