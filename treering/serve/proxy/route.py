"""``/v1/chat/completions`` and ``/v1/models``, passed on to the configured server and back."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
from collections.abc import AsyncIterator, Collection, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final
from urllib.parse import quote

import httpx2
from starlette.datastructures import Headers
from starlette.requests import Request as HTTPRequest
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from treering.errors import EmbeddingError
from treering.journal.space import Space, begin
from treering.memory import conversations
from treering.records import Entry, Spent
from treering.search.searcher import MAX_QUERY_CHARS
from treering.serve.access import name_in
from treering.serve.proxy.conversation import CompletionRequest, UpstreamReply, Utterance, unknown
from treering.serve.settings import ServerSettings
from treering.serve.tenant import Tenant, tenant_of

log = logging.getLogger("treering.serve")

CONVERSATION_HEADER = "x-treering-conversation"
MEMORIES_HEADER = "x-treering-memories"
MAX_NAMED = 100
"""Ids in a header: servers in between refuse headers of more than some kilobytes."""

CONNECT_S = 10.0
SILENCE_S = 600.0
"""How long a model may think before its first word, or between two."""

LOCKS = 64
"""Conversations that are written side by side without waiting for each other, about."""

CHAT: Final = "/chat/completions"

_CREDENTIALS: Final = re.compile("//[^/@]*@")  # in an address; neither clients nor logs get them

_KEPT_FROM_CLIENT: Final = frozenset({"accept", "content-type", "openai-beta", "user-agent"})
"""Never its key, which opens this server and no other."""

_KEPT_FROM_UPSTREAM: Final = re.compile(
    r"retry-after(-ms)?|x-should-retry|(x-)?request-id|(openai|x-ratelimit)-[a-z-]+"
)
"""Headers that clients of the API read. Any other, such as a cookie, would act on this origin."""

_MEDIA_TYPES: Final = frozenset({"application/json", "text/event-stream"})
"""Types that no browser runs."""


@dataclass(frozen=True, slots=True)
class ProxyTurn:
    """A chat request that is being answered, for one tenant.

    ``shown`` are the digests of the entries that the model is shown.
    """

    tenant: Tenant
    request: CompletionRequest
    conversation: str
    history: tuple[Utterance, ...]
    shown: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """Where its entries are: a name that no other begins with."""
        return f"chat/{quote(self.conversation, safe='')}"


@dataclass(frozen=True, slots=True)
class AddedMemories:
    """The memories that are added to a chat: their ids and text, and what is shown in all."""

    ids: list[str]
    text: str
    shown: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class StoredHistory:
    """The ids of the entries that hold a history, and of those among them that are new."""

    ids: frozenset[str]
    added: tuple[str, ...]


class Proxy:
    """Passes chats on, remembering what is said and adding what is known."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._client: httpx2.AsyncClient | None = None
        self._open: set[asyncio.Task[None]] = set()
        self._locks = [threading.Lock() for _ in range(LOCKS)]

    def routes(self) -> list[Route]:
        """Where it is found."""
        return [
            Route(f"/v1{CHAT}", self.chat, methods=["POST"], include_in_schema=False),
            Route("/v1/models", self.models, methods=["GET"], include_in_schema=False),
            Route("/v1/models/{model:path}", self.models, methods=["GET"], include_in_schema=False),
        ]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer until the end of the block; then what was said last is remembered first."""
        if self._settings.upstream is None:
            yield  # without the certificates that a client would read
            return
        timeout = httpx2.Timeout(SILENCE_S, connect=CONNECT_S)
        # No bound of its own: how many requests are under way is bounded where they come in.
        limits = httpx2.Limits(max_connections=None)
        async with httpx2.AsyncClient(timeout=timeout, limits=limits) as self._client:
            yield
            await asyncio.gather(*self._open, return_exceptions=True)  # each logs its failure

    async def models(self, request: HTTPRequest) -> Response:
        """The upstream server's models."""
        name = request.path_params.get("model", "")
        if not {".", ".."}.isdisjoint(name.split("/")):
            # It would lead to other addresses of that server, with the key for it.
            return _refusal(404, f"there is no model {name!r:.100}")
        return await self._passed(request, f"/models/{quote(name)}" if name else "/models", b"")

    async def chat(self, request: HTTPRequest) -> Response:
        """A chat completion; both sides of it are remembered, and memories are put before it."""
        sent = await request.body()
        asked = CompletionRequest.of(sent)
        if asked is None or self._settings.upstream is None:
            return await self._passed(request, CHAT, sent)
        turn = await _turn(request, asked)
        stored = await turn.tenant.change(self._remember, turn, turn.history, None)
        held = stored.ids
        recalled = await turn.tenant.call(self._recall, turn, held)
        turn = replace(turn, shown=recalled.shown)
        body = asked.with_memories(recalled.text) if recalled.text else sent
        answer = await self._send(request, CHAT, body, streams=asked.streams)
        if isinstance(answer, Response):
            return answer
        headers = _passed_back(answer) | {
            CONVERSATION_HEADER: turn.conversation.encode().decode("latin-1"),
            # An imported id may have characters that no header can, or a comma.
            MEMORIES_HEADER: ",".join(quote(entry, safe="") for entry in recalled.ids[:MAX_NAMED]),
        }
        if asked.streams and answer.is_success:
            return StreamingResponse(self._relayed(turn, answer), answer.status_code, headers)
        if answer.is_success:
            reply = self._reply(streams=False)
            reply.feed(answer.content)
            await turn.tenant.change(self._remember_reply, turn, reply)
        return Response(answer.content, answer.status_code, headers)

    # ------------------------------------------------------------------ memory, in a thread

    def _recall(self, turn: ProxyTurn, held: Collection[str]) -> AddedMemories:
        """What matters to the last question, but for the entries of what the client has sent."""
        question, budget = turn.request.question(), self._settings.recall_budget
        ids: list[str] = []
        text = ""
        if question is not None and budget != 0:
            query = question[-MAX_QUERY_CHARS:]
            try:
                context = turn.tenant.memory.context(query, budget=budget, omit=held)
            except EmbeddingError as error:
                log.warning("answered without memories: %s", error)
            else:
                hits = (hit for passage in context.passages for hit in passage.hits)
                ids, text = list(dict.fromkeys(hit.entry_id for hit in hits)), context.text
        talks = conversations(turn.tenant.memory)
        return AddedMemories(ids, text, talks.digests({*ids, *held}))

    def _remember(
        self, turn: ProxyTurn, history: Sequence[Utterance], model: str | None
    ) -> StoredHistory:
        """Add what is new of a history."""
        memory = turn.tenant.memory
        begin(Space(turn.tenant.database, turn.tenant.space), create=True)
        with self._locks[hash((turn.tenant.space, turn.conversation)) % LOCKS]:
            held = list(memory.entries(source=turn.source))
            new = _messages(unknown(_digests(held), history), model)
            session = turn.conversation
            added = memory.add(new, source=turn.source, session=session).ids if new else ()
        digests = {utterance.digest for utterance in history}
        there = (entry.id for entry in held if entry.metadata.get("said") in digests)
        return StoredHistory(frozenset({*added, *there}), tuple(added))

    def _remember_reply(self, turn: ProxyTurn, reply: UpstreamReply) -> None:
        """Add the reply, unless it may bring back what was forgotten while it was written."""
        utterance = reply.utterance()
        if reply.is_too_long:
            log.warning(
                "a reply was not kept: it has more than %d bytes (--max-bytes)",
                self._settings.max_bytes,
            )
        talks = conversations(turn.tenant.memory)
        changed = talks.changed(turn.shown)
        if not changed and utterance is not None:
            stored = self._remember(turn, [*turn.history, utterance], reply.model)
            talks.note_shown(stored.added, turn.shown.keys())
            # Whoever forgets something from now on sees the note; who did so before is seen here.
            changed = talks.changed(turn.shown)
            if changed and stored.added:
                turn.tenant.memory.forget(*stored.added)
        if changed:
            log.warning("a reply was not kept: %d entries it may quote are gone", len(changed))
        if reply.tokens is not None:
            turn.tenant.spend(Spent("proxy", reply.model or "", 1, *reply.tokens))

    # ------------------------------------------------------------------ upstream

    async def _passed(self, request: HTTPRequest, path: str, body: bytes) -> Response:
        """An answer that is not looked into."""
        answer = await self._send(request, path, body, streams=False)
        if isinstance(answer, Response):
            return answer
        return Response(answer.content, answer.status_code, _passed_back(answer))

    async def _send(
        self, request: HTTPRequest, path: str, body: bytes, *, streams: bool
    ) -> httpx2.Response | Response:
        """The upstream server's answer, a stream not yet read; or why there is none."""
        upstream = self._settings.upstream
        if upstream is None:
            return _refusal(
                501, "no model server is configured; start treering with --upstream URL"
            )
        assert self._client is not None  # requests come within the application's lifespan
        headers = self._headers(request.headers)
        try:
            asked = self._client.build_request(
                request.method, upstream.rstrip("/") + path, content=body, headers=headers
            )
            answer = await self._client.send(asked, stream=True)
            if not (streams and answer.is_success):
                return await self._whole(answer)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            address = _CREDENTIALS.sub("//", upstream)
            log.warning("%s does not answer: %s", address, error)
            return _refusal(502, f"the model server {address} does not answer: {error}")
        return answer

    async def _whole(self, answer: httpx2.Response) -> httpx2.Response | Response:
        """An answer that is not streamed, or a refusal where it does not end."""
        most, content = self._settings.max_bytes, bytearray()
        try:
            async for chunk in answer.aiter_bytes():
                content += chunk
                if len(content) > most:
                    return _refusal(
                        502, f"the model server's reply has over {most} bytes (--max-bytes)"
                    )
        finally:
            await answer.aclose()
        headers = _passed_back(answer)
        return httpx2.Response(answer.status_code, headers=headers, content=bytes(content))

    def _reply(self, *, streams: bool) -> UpstreamReply:
        return UpstreamReply(streams=streams, max_bytes=self._settings.max_bytes)

    def _headers(self, sent: Headers) -> dict[str, str]:
        passed = {name: value for name, value in sent.items() if name in _KEPT_FROM_CLIENT}
        key = self._settings.upstream_key
        own = {"authorization": f"Bearer {key}"} if key else {}
        return {**passed, "accept-encoding": "identity", **own}

    async def _relayed(self, turn: ProxyTurn, answer: httpx2.Response) -> AsyncIterator[bytes]:
        """A reply as it comes; what it says is remembered when it ends, however it ends."""
        reply = self._reply(streams=True)
        try:
            async for chunk in answer.aiter_bytes():
                reply.feed(chunk)
                yield chunk
        finally:
            # A task of its own: a client that has hung up takes this one with it.
            await asyncio.shield(self._later(self._ended(turn, answer, reply)))

    async def _ended(self, turn: ProxyTurn, answer: httpx2.Response, reply: UpstreamReply) -> None:
        await answer.aclose()
        await turn.tenant.change(self._remember_reply, turn, reply)

    def _later(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._open.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._open.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("the end of a reply was not remembered: %s", error)


async def _turn(request: HTTPRequest, asked: CompletionRequest) -> ProxyTurn:
    """The turn that a request is. Raises InputError if its conversation's name is not valid."""
    named = name_in(request.headers, CONVERSATION_HEADER)
    tenant = await tenant_of(request)
    return ProxyTurn(tenant, asked, named or asked.conversation(), tuple(asked.history()))


def _messages(new: Sequence[Utterance], model: str | None) -> list[dict[str, Any]]:
    """What is new as messages to remember, a microsecond apart: time tells equal ones apart."""
    now = datetime.now().astimezone()
    return [
        {
            "role": utterance.role,
            "name": utterance.name,
            "content": utterance.text,
            "at": now + timedelta(microseconds=place),
            "metadata": {"said": utterance.digest}
            | ({"model": model} if model and utterance.role == "assistant" else {}),
        }
        for place, utterance in enumerate(new)
    ]


def _digests(held: Sequence[Entry]) -> list[str]:
    """What is known of a conversation, in order; a long message has several entries of one time."""
    messages = groupby(held, key=lambda entry: (entry.metadata.get("said"), entry.at))
    return [str(digest) for (digest, _), _ in messages]


def _passed_back(answer: httpx2.Response) -> dict[str, str]:
    headers = answer.headers.items()
    passed = {name: value for name, value in headers if _KEPT_FROM_UPSTREAM.fullmatch(name.lower())}
    media_type = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    return passed | {
        "content-type": media_type if media_type in _MEDIA_TYPES else "text/plain; charset=utf-8",
        "x-content-type-options": "nosniff",
    }


def _refusal(status: int, message: str) -> Response:
    """An error in the form that OpenAI's clients read."""
    error = {"message": message, "type": "treering", "param": None, "code": None}
    return Response(json.dumps({"error": error}), status, media_type="application/json")
