"""RemoteMemory: ``Memory`` over HTTP, opened by ``Memory.open("http://…")``.

The methods are documented where they are defined, in ``Memory``; signatures are the same.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from typing_extensions import override

from treering.answer import Answer
from treering.chat import DEFAULT as DEFAULT_POLICY
from treering.chat.policy import Policy
from treering.chat.stream import ChatStream
from treering.client.absent import without
from treering.client.connection import API_KEY, Connection, decoded, error_of
from treering.client.views import RemoteCode, RemoteFacts, RemoteMemos, RemoteTree, same_count, step
from treering.errors import InputError, ServerError
from treering.ingest.intake import Message
from treering.ingest.transcripts.importing import ImportOptions, import_path, refuse_options
from treering.ingest.where import Where
from treering.llm.tokens import estimate_tokens
from treering.memory import DEFAULT_SPACE, Memory
from treering.recall.brief import Brief
from treering.recall.context import CountTokens
from treering.records import (
    BRIEF_TOKENS,
    JSON,
    Altitude,
    Context,
    Entry,
    Forgotten,
    Hit,
    Kind,
    Level,
    Page,
    Progress,
    Receipt,
    Stats,
)
from treering.relate.registry import Chosen
from treering.score.own import Mode
from treering.views.registry import Alpha

PAGE = 500


def open_remote(url: str, space: str, api_key: str | None) -> RemoteMemory:
    """The memory behind a server's address; nothing is sent yet.

    A key opens one space, which need not be named; without a key the space is asked for by name.
    """
    key = api_key or os.environ.get(API_KEY)
    named = None if key and space == DEFAULT_SPACE else space
    return RemoteMemory(Connection(url, named, key))


@without(
    {
        "chat_prompt": "chat() builds the prompt on the server",
        "fit": "it takes minutes; run `treering fit` where the file is",
        "reembed": "the models are the server's; run `treering reembed` where the file is",
        "check": "it reads the file of all spaces; run `treering doctor` where that is",
    }
)
class RemoteMemory(Memory):
    """A memory on a server, with the calls of ``Memory``.

    A file or folder cannot be added by its path, relations are given by name, and ``progress`` is
    not reported. What a server refuses raises the error that ``Memory`` raises; without access
    AccessDenied, and ServerUnavailable when it cannot be reached or is busy for long.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._remote_code = RemoteCode(connection)
        self._remote_memos = RemoteMemos(connection)
        self._remote_facts = RemoteFacts(connection)
        self._remote_tree = RemoteTree(connection)

    @property
    @override
    def code(self) -> RemoteCode:
        return self._remote_code

    @property
    @override
    def memos(self) -> RemoteMemos:
        return self._remote_memos

    @property
    @override
    def facts(self) -> RemoteFacts:
        return self._remote_facts

    @property
    @override
    def tree(self) -> RemoteTree:
        return self._remote_tree

    @override
    def close(self) -> None:
        self._connection.close()

    # ------------------------------------------------------------------ taking in

    @override
    def add(
        self,
        content: str | Path | Message | Iterable[Message],
        *,
        source: str | None = None,
        kind: Kind | None = None,
        at: Any = None,
        speaker: str | None = None,
        session: str | None = None,
        metadata: Mapping[str, JSON] | None = None,
        mask: bool = False,
        progress: Progress | None = None,
    ) -> Receipt:
        del progress  # a server reports none
        new = {
            **_content(content),
            "source": source,
            "kind": kind,
            "at": at,
            "speaker": speaker,
            "session": session,
            "metadata": metadata,
            "mask": mask,
        }
        return self._connection.post(Receipt, "/entries", new)

    @override
    def replace(self, entry_id: str, text: str) -> Entry:
        return self._connection.send(Entry, "PUT", f"/entries/{step(entry_id)}", {"text": text})

    @override
    def settle(self, progress: Progress | None = None, *, upgrade: bool = False) -> Stats:
        del progress  # a server reports none
        path = f"/settle?upgrade={str(upgrade).lower()}"
        while "settling" in self._connection.post(dict[str, Any], path, {}):
            pass  # it goes on, and the server answers when it is done or after some seconds
        return self.stats()

    # ------------------------------------------------------------------ giving back

    @override
    def search(
        self,
        query: str,
        *,
        k: int = 10,
        mode: Mode = "hybrid",
        relations: Chosen | None = None,
        alpha: Alpha | None = None,
        level: Level = "texts",
        min_confidence: float = 0.0,
        **where: Unpack[Where],
    ) -> list[Hit]:
        how = _ranked(mode, relations, alpha, where)
        wanted = {"query": query, "k": k, "level": level, "min_confidence": min_confidence} | how
        return self._connection.post(list[Hit], "/search", wanted)

    @override
    def search_many(
        self,
        queries: Sequence[str],
        *,
        k: int = 10,
        mode: Mode = "hybrid",
        relations: Chosen | None = None,
        alpha: Alpha | None = None,
        level: Level = "texts",
        min_confidence: float = 0.0,
        **where: Unpack[Where],
    ) -> list[list[Hit]]:
        if not queries:
            return []
        how = _ranked(mode, relations, alpha, where)
        wanted = {
            "queries": [*queries],
            "k": k,
            "level": level,
            "min_confidence": min_confidence,
        } | how
        return self._connection.post(list[list[Hit]], "/search-many", wanted)

    @override
    def context(
        self,
        query: str,
        *,
        budget: int = 1000,
        mode: Mode = "hybrid",
        relations: Chosen | None = None,
        alpha: Alpha | None = None,
        altitude: Altitude = "texts",
        min_confidence: float = 0.0,
        count_tokens: CountTokens = estimate_tokens,
        **where: Unpack[Where],
    ) -> Context:
        same_count(count_tokens)
        how = _ranked(mode, relations, alpha, where)
        wanted = {"query": query, "budget": budget, "altitude": altitude} | how
        wanted["min_confidence"] = min_confidence
        return self._connection.post(Context, "/context", wanted)

    @override
    def brief(
        self, *, budget: int = BRIEF_TOKENS, count_tokens: CountTokens = estimate_tokens
    ) -> Brief:
        same_count(count_tokens)
        return self._connection.get(Brief, "/brief", {"budget": budget})

    @override
    def ask(
        self,
        question: str,
        *,
        budget: int = 1500,
        altitude: Altitude = "texts",
        **where: Unpack[Where],
    ) -> Answer:
        wanted = {"question": question, "budget": budget, "altitude": altitude, **where}
        return self._connection.post(Answer, "/ask", wanted)

    @override
    def chat(
        self,
        message: str,
        *,
        policy: str | Policy = DEFAULT_POLICY,
        source: str = "chat",
        budget: int = 2000,
    ) -> Answer:
        said = _said(message, policy, source, budget)
        return self._connection.post(Answer, "/chat", said)

    @override
    def chat_stream(
        self,
        message: str,
        *,
        policy: str | Policy = DEFAULT_POLICY,
        source: str = "chat",
        budget: int = 2000,
    ) -> ChatStream:
        said = _said(message, policy, source, budget) | {"stream": True}
        return RemoteStream(self._connection.events("/chat", said))

    @override
    def entries(self, **where: Unpack[Where]) -> Iterator[Entry]:
        cursor = None
        while True:
            page = self.page(cursor, limit=PAGE, **where)
            yield from page.entries
            if (cursor := page.next) is None:
                return

    @override
    def page(self, cursor: str | None = None, *, limit: int = 100, **where: Unpack[Where]) -> Page:
        return self._connection.get(Page, "/entries", {"cursor": cursor, "limit": limit, **where})

    @override
    def get(self, entry_id: str) -> Entry:
        return self._connection.get(Entry, f"/entries/{step(entry_id)}")

    # ------------------------------------------------------------------ forgetting

    @override
    def forget(self, *entry_ids: str, **where: Unpack[Where]) -> Forgotten:
        return self._connection.post(Forgotten, "/forget", {"ids": [*entry_ids], **where})

    # ------------------------------------------------------------------ looking after it

    @override
    def export(self) -> Iterator[str]:
        return self._connection.lines("/export")

    @override
    def import_(
        self,
        lines: Iterable[str] | Path,
        *,
        origin: str | None = None,
        since: Any = None,
        project: str | Path | None = None,
        mask: bool = True,
        progress: Progress | None = None,
    ) -> Receipt:
        if isinstance(lines, Path):  # read here, where the file is
            options = ImportOptions.of(origin, since, project, mask)
            return import_path(lines, self.import_, options, progress)
        refuse_options(origin, since, project)
        return self._connection.upload(Receipt, "/import", lines)

    @override
    def spaces(self) -> list[str]:
        return self._connection.get(list[str], "/spaces")

    @override
    def stats(self) -> Stats:
        return self._connection.get(Stats, "/stats")


class RemoteStream(ChatStream):
    """A reply as a server writes it; closing it early stops the model there."""

    def __init__(self, events: Generator[tuple[str, bytes], None, None]) -> None:
        self._events = events
        self._answer = None
        self._over = False
        self._reading = threading.Lock()

    @override
    def _read(self) -> str:
        for name, data in self._events:
            if name == "done":
                self._answer = decoded(Answer, data)
            elif name == "error":
                raise error_of(500, data)
            else:
                return decoded(dict[str, str], data)["text"]
        if self._answer is None:
            raise ServerError("the server broke off its reply; nothing of it was remembered")
        raise StopIteration

    @override
    def _end(self) -> None:
        self._over = True

    @override
    def _close_pieces(self) -> None:
        self._events.close()


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


def _ranked(
    mode: Mode, relations: Chosen | None, alpha: Alpha | None, where: Where
) -> dict[str, Any]:
    if relations is not None and not all(isinstance(one, str) for one in relations):
        raise InputError("over HTTP relations are given by name, such as ['context', 'session']")
    names = None if relations is None else [*relations]
    return {"mode": mode, "relations": names, "alpha": alpha, **where}


def _said(message: str, policy: str | Policy, source: str, budget: int) -> dict[str, Any]:
    if not isinstance(policy, str):
        raise InputError("over HTTP a chat policy is given by name, such as 'auto'")
    return {"message": message, "policy": policy, "source": source, "budget": budget}
