"""RemoteMemory: ``Memory`` over HTTP, opened by ``Memory.open("http://…")``.

Methods, their signatures and their documentation are those of ``Memory``.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from typing_extensions import override

from treering.chat.answer import Answer
from treering.chat.stream import ChatStream
from treering.client import calls
from treering.client.connection import API_KEY, Connection, error_of, parse_json
from treering.errors import InputError, ServerError
from treering.ingest.intake import Message
from treering.journal.fields import required_name
from treering.memory import DEFAULT_SPACE, Memory
from treering.records import Progress, Receipt, Stats
from treering.views.code.memory import CodeMemory
from treering.views.facts.view import FactView
from treering.views.memos.record import Memo
from treering.views.memos.view import Entries, MemoView
from treering.views.tree.view import TreeView


def open_remote(
    url: str, space: str, api_key: str | None, create: bool | None = None
) -> RemoteMemory:
    """Return the memory on a server. Only with ``create`` a request is sent now.

    A key opens one space, which needs no name; without a key the name chooses the space.
    """
    key = api_key or os.environ.get(API_KEY)
    named = None if key and space == DEFAULT_SPACE else space
    memory = RemoteMemory(Connection(url, named, key))
    try:
        memory._begin_space(space if named is None else named, create)
    except BaseException:
        memory.close()
        raise
    return memory


class RemoteStream(ChatStream):
    """A streamed reply of a server; closing it early stops the model there."""

    def __init__(self, events: calls.Events) -> None:
        self._events = events
        self._answer = None
        self._over = False
        self._reading = threading.Lock()

    @override
    def _read(self) -> str:
        for name, data in self._events:
            if name == "done":
                self._answer = parse_json(Answer, data)
            elif name == "error":
                raise error_of(500, data)
            else:
                return parse_json(dict[str, str], data)["text"]
        if self._answer is None:
            raise ServerError("the server broke off its reply, and did not remember it")
        raise StopIteration

    @override
    def _end(self) -> None:
        self._over = True

    @override
    def _close_pieces(self) -> None:
        self._events.close()


class _View:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection


@calls.remote
@calls.without("settle")
class RemoteTree(_View, TreeView):
    """``memory.tree`` of a memory on a server."""


@calls.remote
@calls.without("recent", "settle")
class RemoteMemos(_View, MemoView):
    """``memory.memos`` of a memory on a server."""

    @override
    def lines(self, memo: Memo) -> Entries:
        return self._connection.get(Entries, f"/memos/{calls.step(memo.id)}/lines")


@calls.remote
class RemoteFacts(_View, FactView):
    """``memory.facts`` of a memory on a server."""


def _round(sent: dict[str, Any]) -> dict[str, Any]:
    """Return a round of work to send: with the files after it, no folder is read."""
    return sent if sent["after"] is None else {**sent, "root": None}


@calls.remote
@calls.without("blocks", "rounds")
class RemoteCode(_View, CodeMemory):
    """``memory.code`` of a memory on a server. Roots are folders on the server's disk; a relative
    one counts from the caller's folder, so that a server on the same machine reads it."""

    record = calls.remote_method(CodeMemory.record, "POST /code/rounds", body_of=_round)


@calls.remote
@calls.without("fit", "suggest_relations", "reembed", "check")
class RemoteMemory(Memory):
    """A memory on a server, with the calls of ``Memory``.

    It adds no files by their path, takes relations by name, and reports no ``progress``. The errors
    are those of ``Memory``; besides, AccessDenied without access, and ServerUnavailable if the
    server cannot be reached or is busy for long.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._owns_database = True  # and its connections
        self._views = SimpleNamespace(  # type: ignore[assignment]
            code=RemoteCode(connection),
            facts=RemoteFacts(connection),
            memos=RemoteMemos(connection),
            tree=RemoteTree(connection),
        )

    @override
    def space(self, name: str, *, create: bool | None = None) -> RemoteMemory:
        memory = RemoteMemory(self._connection.of_space(required_name(name, "space")))
        memory._owns_database = False
        memory._begin_space(name, create)
        return memory

    @override
    def close(self) -> None:
        if self._owns_database:
            self._connection.close()

    add = calls.remote_method(
        Memory.add,
        "POST /entries",
        body_of=lambda sent: _content(sent.pop("content")) | _without_file_options(sent),
    )

    @override
    def settle(self, progress: Progress | None = None, *, upgrade: bool = False) -> Stats:
        del progress  # a server reports none
        path = f"/settle?upgrade={str(upgrade).lower()}"
        while "settling" in self._connection.send(dict[str, Any], "POST", path, {}):
            pass  # the server answers after some seconds, and goes on
        return self.stats()

    chat = calls.remote_method(Memory.chat, "POST /chat", once=True)
    chat_stream = calls.remote_method(Memory.chat_stream, "POST /chat", read=RemoteStream)

    @override
    def export(self) -> Iterator[str]:
        return self._connection.lines("/export")

    @override
    def _import_lines(
        self,
        lines: Iterable[str],
        *,
        settings: bool,
        again_forgotten: bool,
        progress: Progress | None = None,
    ) -> Receipt:
        sent = {"settings": settings, "again_forgotten": again_forgotten}
        return self._connection.upload(Receipt, "/import", lines, sent)

    def _begin_space(self, name: str, create: bool | None) -> None:
        """Make the space, or check that it exists. Raise UnknownName."""
        if create:
            self._connection.send(list[str], "PUT", f"/spaces/{calls.step(name)}")
        elif create is False:
            self.stats()


def _without_file_options(sent: dict[str, Any]) -> dict[str, Any]:
    for name in ("sync", "force", "encoding"):
        if sent.pop(name):
            raise InputError(
                f"{name} is for files, which cannot be added over HTTP by their path", param=name
            )
    return sent


def _content(content: str | Path | Message | Iterable[Message]) -> dict[str, Any]:
    if isinstance(content, Path):
        raise InputError(
            f"{content} cannot be added over HTTP by its path; add its text or messages, or run "
            "`treering add` where the memory's file is"
        )
    if isinstance(content, str):
        return {"text": content}
    if isinstance(content, Mapping):
        return {"messages": [content]}
    if isinstance(content, Iterable) and not isinstance(content, bytes):
        return {"messages": list(content)}
    raise InputError(f"cannot add a {type(content).__name__}; give a text or messages")
