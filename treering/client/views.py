"""The views of a memory on a server: the tree, memos, facts, code."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from treering.client import calls
from treering.client.connection import Connection
from treering.views.code.memory import CodeMemory
from treering.views.facts.view import FactView
from treering.views.memos.record import Memo
from treering.views.memos.view import Entries, MemoView
from treering.views.tree.view import TreeView


@calls.remote
@calls.without("settings", "settle")
class RemoteTree(TreeView):
    """``memory.tree`` of a memory on a server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection


@calls.remote
@calls.without("recent", "settle")
class RemoteMemos(MemoView):
    """``memory.memos`` of a memory on a server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @override
    def lines(self, memo: Memo) -> Entries:
        return self._connection.get(Entries, f"/memos/{calls.step(memo.id)}/lines")


@calls.remote
class RemoteFacts(FactView):
    """``memory.facts`` of a memory on a server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection


def _round(sent: dict[str, Any]) -> dict[str, Any]:
    """Return a round of work to send: with the files after it, no folder is read."""
    return sent if sent["after"] is None else {**sent, "root": None}


@calls.remote
@calls.without("blocks", "rounds")
class RemoteCode(CodeMemory):
    """``memory.code`` of a memory on a server. Roots are folders on the server's disk; a relative
    one counts from the caller's folder, so that a server on the same machine reads it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    record = calls.remote_method(CodeMemory.record, "POST /code/rounds", body_of=_round)
