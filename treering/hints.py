"""The next step after an error: an operation, and the words that each interface has for it.

An error carries a ``Hint``. Python code calls methods, a shell runs commands, a client of the
server requests routes, and a model calls tools, so each interface words the hint by its own column.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Literal, NamedTuple

Interface = Literal["python", "cli", "rest", "mcp"]


class Hint(StrEnum):
    """Operation that resolves an error."""

    ADD_AS_TEXT = "add_as_text"
    ADD_TEXT = "add_text"
    CHANGE_MODEL = "change_model"
    CHOOSE_ENTRIES = "choose_entries"
    CHOOSE_LLM = "choose_llm"
    CHOOSE_REPOSITORY = "choose_repository"
    EDIT_MEMO = "edit_memo"
    FORCE_SYNC = "force_sync"
    INDEX_CODE = "index_code"
    LIST_ENTRIES = "list_entries"
    LIST_MEMOS = "list_memos"
    LIST_SPACES = "list_spaces"
    LIST_TREE = "list_tree"
    MAKE_MEMORY = "make_memory"
    RENAME_MODEL = "rename_model"
    SEND_KEY = "send_key"
    SETTLE = "settle"
    SETTLE_ONLY = "settle_only"
    UNDO_SUPERSEDE = "undo_supersede"


class Words(NamedTuple):
    """One hint by interface; ``{name}`` is replaced by the error's value of that name."""

    python: str
    cli: str
    rest: str
    mcp: str


WORDS: Final[Mapping[Hint, Words]] = {
    Hint.ADD_AS_TEXT: Words(
        python="to add it as a text, give kind='text'",
        cli="to add it as a text, give --kind text",
        rest='to add it as a text, give `"kind": "text"`',
        mcp="to add it as a text, ask your user to run `treering add --kind text`",
    ),
    Hint.ADD_TEXT: Words(
        python="add the text with `memory.add(text)` and ask about it",
        cli="add the text with `treering add` and ask about it",
        rest="add the text with `POST /v1/entries` and ask about it",
        mcp="add the text with the tool `remember` and ask about it",
    ),
    Hint.CHANGE_MODEL: Words(
        python="open it with embedder={built!r}, or change the model with "
        "`memory.reembed({opened!r})`",
        cli="leave --embedder and TREERING_EMBEDDER out, or change the model with "
        "`treering reembed {opened}`",
        rest="start the server without --embedder, or change the model with "
        "`treering reembed {opened}`",
        mcp="ask your user to start treering without --embedder, or to change the model with "
        "`treering reembed {opened}`",
    ),
    Hint.CHOOSE_ENTRIES: Words(
        python="give entry ids or a filter, such as source='novel.txt'",
        cli="give ids or a filter, such as --source novel.txt",
        rest='give ids or a filter, such as {{"source": "novel.txt"}}',
        mcp="give ids, which recall names with ids=true, or source",
    ),
    Hint.CHOOSE_LLM: Words(
        python="pass a model, or omit `llm` to use TREERING_LLM_*",
        cli="give --llm MODEL, or omit it to use TREERING_LLM_*",
        rest="start the server without --llm none",
        mcp="ask your user to start treering without --llm none",
    ),
    Hint.CHOOSE_REPOSITORY: Words(
        python="give the `root` of one",
        cli="work in the folder of one, name it with --root, or drop one with "
        "`treering code forget --root FOLDER`",
        rest="give the `root` of one",
        mcp="give the `root` of one",
    ),
    Hint.EDIT_MEMO: Words(
        python="use `memory.memos`",
        cli="use `treering memo`",
        rest="use `PATCH /v1/memos/{{memo_id}}`",
        mcp="choose another source",
    ),
    Hint.FORCE_SYNC: Words(
        python="to erase what was read from them, give force=True, too",
        cli="to erase what was read from them, add --force",
        rest="to erase what was read from them, run `treering add --sync --force`",
        mcp="to erase what was read from them, ask your user to run `treering add --sync --force`",
    ),
    Hint.INDEX_CODE: Words(
        python="index it first with `memory.code.index(root)`",
        cli="index it first with `treering code index FOLDER`",
        rest="index it first with `POST /v1/code/repositories`",
        mcp="ask your user to run `treering code index FOLDER`",
    ),
    Hint.LIST_ENTRIES: Words(
        python="`memory.entries()` shows the ids",
        cli="`treering list` shows the ids",
        rest="`GET /v1/entries` lists the ids",
        mcp="the tool `list` shows the ids",
    ),
    Hint.LIST_MEMOS: Words(
        python="`memory.memos.list()` shows the ids",
        cli="`treering memo` shows the ids",
        rest="`GET /v1/memos` lists the ids",
        mcp="ask your user to run `treering memo`, which shows the ids",
    ),
    Hint.LIST_SPACES: Words(
        python="`memory.spaces()` lists all; `add`, or `create=True` at opening, makes one",
        cli="`treering spaces` lists all, and --space or TREERING_SPACE names one",
        rest="`GET /v1/spaces` lists all, `POST /v1/entries` and `PUT /v1/spaces/NAME` make one",
        mcp="the tool `remember` makes one",
    ),
    Hint.LIST_TREE: Words(
        python="`memory.tree.roots()` lists the roots",
        cli="`treering tree` shows the tree",
        rest="`GET /v1/tree` lists the roots",
        mcp="ask your user to run `treering tree`, which lists the roots",
    ),
    Hint.MAKE_MEMORY: Words(
        python="open it without create=False to make one",
        cli="`treering add` or `treering code index` makes one, --memory or TREERING_MEMORY names "
        "another",
        rest="`POST /v1/entries` makes one",
        mcp="the tool `remember` makes one",
    ),
    Hint.RENAME_MODEL: Words(
        python="give the changed model another name and call `memory.reembed(model)`",
        cli="give the changed model another name and run `treering reembed NAME`",
        rest="give the changed model another name and run `treering reembed NAME`",
        mcp="ask your user to give the changed model another name and to run "
        "`treering reembed NAME`",
    ),
    Hint.SEND_KEY: Words(
        python="set TREERING_API_KEY, or give api_key= to Memory.open",
        cli="set TREERING_API_KEY",
        rest="send a key: Authorization: Bearer tr_…",
        mcp="ask your user to send a key",
    ),
    Hint.SETTLE: Words(
        python="call `memory.settle()` again",
        cli="run `treering settle` again",
        rest="call `POST /v1/settle` again",
        mcp="ask your user to run `treering settle`",
    ),
    Hint.SETTLE_ONLY: Words(
        python="configure one, or call settle() without upgrade",
        cli="configure one, or leave --upgrade out",
        rest="configure one, or leave `upgrade` out",
        mcp="leave `upgrade` out",
    ),
    Hint.UNDO_SUPERSEDE: Words(
        python="undo it with `memory.supersede(old, None)`",
        cli="undo it with `treering supersede OLD --undo`",
        rest="undo it with `POST /v1/supersede`, with null as `new`",
        mcp="ask your user to run `treering supersede OLD --undo`",
    ),
}


def words(hint: Hint, interface: Interface, values: Mapping[str, str]) -> str:
    """Return the next step in the words of an interface."""
    template: str = getattr(WORDS[hint], interface)
    return template.format_map(values)
