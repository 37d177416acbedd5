"""The proxy: chats pass to the model server with memories, other requests as they are."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from typing import Any, Final
from urllib.parse import quote

import httpx2
from starlette.datastructures import Headers
from starlette.requests import Request as HTTPRequest
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Send

from treering.errors import EmbeddingError, QuotaExceeded
from treering.journal.space import Space, begin
from treering.records import Entry, Spent
from treering.search.searcher import MAX_QUERY_CHARS
from treering.serve.access import caller_of, name_in
from treering.serve.proxy.conversation import (
    PASSED,
    PROTOCOLS,
    ChatProtocol,
    CompletionRequest,
    UpstreamReply,
    Utterance,
    new_utterances,
)
from treering.serve.settings import ServerSettings
from treering.serve.spaces import Tenant, tenant_of

log = logging.getLogger("treering.serve")

CONVERSATION_HEADER = "x-treering-conversation"
MEMORIES_HEADER = "x-treering-memories"
MAX_NAMED = 100
"""Ids in a header: servers in between refuse large headers."""

CONNECT_S = 10.0
SILENCE_S = 600.0
"""The longest pause of a model before its first word, or between two."""

LOCKS = 64
"""The number of locks that conversations share: about so many are written side by side."""

_CREDENTIALS: Final = re.compile("//[^/@]*@")  # in an address: hidden from clients and logs

_KEPT_FROM_CLIENT: Final = frozenset(
    {
        "accept",
        "anthropic-beta",
        "anthropic-version",
        "content-type",
        "openai-beta",
        "user-agent",
    }
)
"""Never its key, which opens this server and no other."""

_KEPT_FROM_UPSTREAM: Final = re.compile(
    r"retry-after(-ms)?|x-should-retry|(x-)?request-id|(openai|anthropic|x-ratelimit)-[a-z-]+"
)
"""Headers that clients of the API read. Any other, such as a cookie, would act on this origin."""

_MEDIA_TYPES: Final = frozenset({"application/json", "text/event-stream"})
"""Types that no browser runs."""


@dataclass(frozen=True, slots=True)
class ProxyTurn:
    """A chat request that is being answered, for one tenant.

    ``shown`` are the digests of the entries that the model gets.
    """

    tenant: Tenant
    request: CompletionRequest
    conversation: str
    history: tuple[Utterance, ...]
    shown: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The source of its entries, which is the beginning of no other name."""
        return f"chat/{quote(self.conversation, safe='')}"


class Proxy:
    """Passes requests on; of chats it remembers both sides, and adds memories to them."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._client: httpx2.AsyncClient | None = None
        self._open: set[asyncio.Task[None]] = set()
        self._locks = [threading.Lock() for _ in range(LOCKS)]

    def routes(self) -> list[Route]:
        """Return the routes: the protocols of chats, all that passes, and the rest below these."""
        chats = [
            Route(f"/v1{each.path}", partial(self.chat, each), methods=["POST"])
            for each in PROTOCOLS
        ]
        passed = [Route(f"/v1/{path}", self.pass_on, methods=[method]) for method, path in PASSED]
        roots = {each.path[1:] for each in PROTOCOLS} | {path.split("/")[0] for _, path in PASSED}
        refused = [
            Route(f"/v1/{root}{rest}", _refuse, methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
            for root in sorted(roots)
            for rest in ("", "/{rest:path}")
        ]
        return [*chats, *passed, *refused]

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Answer until the end of the block; then remember the last replies."""
        if self._settings.upstream is None:
            yield  # without the certificates that a client would read
            return
        timeout = httpx2.Timeout(SILENCE_S, connect=CONNECT_S)
        # Without a bound: the server bounds its requests under way.
        limits = httpx2.Limits(max_connections=None)
        async with httpx2.AsyncClient(timeout=timeout, limits=limits) as self._client:
            yield
            await asyncio.gather(*self._open, return_exceptions=True)  # each logs its failure

    async def pass_on(self, request: HTTPRequest) -> Response:
        """Answer with the model server's answer to the same request."""
        path = str(request.scope["path"]).removeprefix("/v1")
        if not {".", ".."}.isdisjoint(path.split("/")):
            # It would lead to other addresses of that server, with the key for it.
            return _refusal(404, f"there is no {path!r:.100}")
        return await self._pass(request, quote(path), await request.body())

    async def chat(self, protocol: ChatProtocol, request: HTTPRequest) -> Response:
        """Answer a chat: remember both sides of it, and put memories before it."""
        sent = await request.body()
        asked = CompletionRequest.parse(protocol, sent)
        if caller_of(request).key is not None:
            if asked is None:  # not checked, so the model server may read more in it
                return _refusal(400, f"the body is not a JSON object with {protocol.messages!r}")
            if name := asked.stored_name():
                return _refusal(
                    400,
                    f"{name!r:.100} names what the model server has stored, maybe for another "
                    "user of its key; send the whole conversation",
                )
        if asked is None or self._settings.upstream is None:
            return await self._pass(request, protocol.path, sent)
        try:
            named = name_in(request.headers, CONVERSATION_HEADER) or asked.conversation()
            turn = ProxyTurn(await tenant_of(request), asked, named, tuple(asked.history()))
            known, _ = await turn.tenant.run("write", self._remember, turn, turn.history, None)
        except QuotaExceeded as error:
            return _refusal(error.status, str(error), error.code)
        ids, text, shown = await turn.tenant.run("read", self._recall, turn, known)
        turn = replace(turn, shown=shown)
        body = asked.with_memories(text)
        answer = await self._send(request, protocol.path, body, streams=asked.streams)
        if isinstance(answer, Response):
            return answer
        headers = _headers_back(answer) | {
            CONVERSATION_HEADER: turn.conversation.encode().decode("latin-1"),
            # An imported id may have characters that no header can, or a comma.
            MEMORIES_HEADER: ",".join(quote(entry, safe="") for entry in ids[:MAX_NAMED]),
        }
        reply = UpstreamReply(protocol, streams=asked.streams, max_bytes=self._settings.max_bytes)
        if asked.streams and answer.is_success:
            return _Relay(self._relay(answer, turn, reply), answer.status_code, headers)
        if answer.is_success:
            reply.feed(answer.content)
            await turn.tenant.run("write", self._remember_reply, turn, reply)
        return Response(answer.content, answer.status_code, headers)

    # ------------------------------------------------------------------ memory, in a thread

    def _recall(
        self, turn: ProxyTurn, known: Collection[str]
    ) -> tuple[list[str], str, Mapping[str, bytes]]:
        """Return the memories for the last question, without the known entries of the history.

        They are ids, a text, and the digests of all entries that the model gets.
        """
        question, budget = turn.request.question(), self._settings.recall_budget
        ids: list[str] = []
        text = ""
        if question is not None and budget != 0:
            query = question[-MAX_QUERY_CHARS:]
            try:
                context = turn.tenant.memory.context(query, budget=budget, omit=known)
            except EmbeddingError as error:
                log.warning("answered without memories: %s", error)
            else:
                hits = (hit for passage in context.passages for hit in passage.hits)
                ids, text = list(dict.fromkeys(hit.entry_id for hit in hits)), context.text
        talks = turn.tenant.conversations()
        return ids, text, talks.digests({*ids, *known})

    def _remember(
        self, turn: ProxyTurn, history: Sequence[Utterance], model: str | None
    ) -> tuple[frozenset[str], Sequence[str]]:
        """Add the new part of a history; return the ids of all its entries, and of the new ones."""
        memory = turn.tenant.memory
        begin(Space(turn.tenant.database, turn.tenant.space), create=True)
        with self._locks[hash((turn.tenant.space, turn.conversation)) % LOCKS]:
            held = list(memory.entries(source=turn.source))
            new = _messages(new_utterances(_digests(held), history), model)
            session = turn.conversation
            added = memory.add(new, source=turn.source, session=session).ids if new else ()
        digests = {utterance.digest for utterance in history}
        there = (entry.id for entry in held if entry.metadata.get("said") in digests)
        return frozenset({*added, *there}), added

    def _remember_reply(self, turn: ProxyTurn, reply: UpstreamReply) -> None:
        """Add the reply, unless it may quote an entry that was forgotten meanwhile."""
        utterance = reply.utterance()
        if reply.is_too_long:
            log.warning(
                "a reply was not kept: it has more than %d bytes (--max-bytes)",
                self._settings.max_bytes,
            )
        talks = turn.tenant.conversations()
        changed = talks.changed(turn.shown)
        is_chat = turn.request.question() is not None
        if is_chat and not changed and utterance is not None:
            added: Sequence[str] = ()
            try:
                _, added = self._remember(turn, [*turn.history, utterance], reply.model)
            except QuotaExceeded as error:  # the client gets the reply all the same
                log.warning("a reply was not kept: %s", error)
            talks.note_shown(added, turn.shown.keys())
            # A later forget reads the note; an earlier one shows here.
            changed = talks.changed(turn.shown)
            if changed and added:
                turn.tenant.memory.forget(*added)
        if changed:
            log.warning("a reply was not kept: %d entries it may quote are gone", len(changed))
        if reply.tokens is not None:
            turn.tenant.spend(Spent("proxy", reply.model or "", 1, *reply.tokens))

    # ------------------------------------------------------------------ upstream

    async def _pass(self, request: HTTPRequest, path: str, body: bytes) -> Response:
        """Return the model server's answer as it is, in pieces if it is a stream."""
        answer = await self._send(request, path, body, streams=b'"stream"' in body)
        if isinstance(answer, Response):
            return answer
        headers = _headers_back(answer)
        if answer.is_stream_consumed:
            return Response(answer.content, answer.status_code, headers)
        return _Relay(self._relay(answer), answer.status_code, headers)

    async def _send(
        self, request: HTTPRequest, path: str, body: bytes, *, streams: bool
    ) -> httpx2.Response | Response:
        """Return the model server's answer, a stream not yet read, or a refusal."""
        upstream = self._settings.upstream
        if upstream is None:
            return _refusal(
                501, "no model server is configured; start treering with --upstream URL"
            )
        assert self._client is not None  # requests come within the application's lifespan
        headers = self._headers(request.headers, path)
        query = f"?{request.url.query}" if request.url.query else ""
        try:
            asked = self._client.build_request(
                request.method,
                f"{upstream.rstrip('/')}{path}{query}",
                content=body,
                headers=headers,
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
        """Read an answer that is not streamed; refuse one that is too long."""
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
        headers = _headers_back(answer)
        return httpx2.Response(answer.status_code, headers=headers, content=bytes(content))

    def _headers(self, sent: Headers, path: str) -> dict[str, str]:
        passed = {name: value for name, value in sent.items() if name in _KEPT_FROM_CLIENT}
        key = self._settings.upstream_key
        own = {"authorization": f"Bearer {key}"}
        if path.startswith("/messages"):  # Anthropic's
            own = {"x-api-key": key or ""}
        return {**passed, "accept-encoding": "identity", **(own if key else {})}

    async def _relay(
        self,
        answer: httpx2.Response,
        turn: ProxyTurn | None = None,
        reply: UpstreamReply | None = None,
    ) -> AsyncIterator[bytes]:
        """Yield an answer as it comes; remember the reply of a turn, however it ends."""
        try:
            async for chunk in answer.aiter_bytes():
                if reply is not None:
                    reply.feed(chunk)
                yield chunk
        finally:
            # In a task of its own: a client that hangs up cancels this one.
            ending = asyncio.create_task(self._end(answer, turn, reply))
            self._open.add(ending)
            ending.add_done_callback(self._open.discard)
            await asyncio.shield(ending)

    async def _end(
        self, answer: httpx2.Response, turn: ProxyTurn | None, reply: UpstreamReply | None
    ) -> None:
        try:
            await answer.aclose()
            if turn is not None and reply is not None:
                await turn.tenant.run("write", self._remember_reply, turn, reply)
        except Exception as error:  # the client has its reply
            log.error("the end of a reply was not remembered: %s", error)


def _messages(new: Sequence[Utterance], model: str | None) -> list[dict[str, Any]]:
    """Return messages to remember, a microsecond apart, so that equal ones differ in time."""
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
    """Return the digests of stored messages; a long one has several entries of one time."""
    messages = groupby(held, key=lambda entry: (entry.metadata.get("said"), entry.at))
    return [str(digest) for (digest, _), _ in messages]


def _headers_back(answer: httpx2.Response) -> dict[str, str]:
    headers = answer.headers.items()
    passed = {name: value for name, value in headers if _KEPT_FROM_UPSTREAM.fullmatch(name.lower())}
    media_type = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    return passed | {
        "content-type": media_type if media_type in _MEDIA_TYPES else "text/plain; charset=utf-8",
        "x-content-type-options": "nosniff",
    }


async def _refuse(request: HTTPRequest) -> Response:
    return _refusal(404, f"{request.method} {request.url.path!r:.100} is not passed on")


def _refusal(status: int, message: str, code: str | None = None) -> Response:
    """Return an error in the form that clients of OpenAI and of Anthropic read."""
    error = {"message": message, "type": "treering", "param": None, "code": code}
    content = json.dumps({"type": "error", "error": error})
    return Response(content, status, media_type="application/json")


class _Relay(StreamingResponse):
    """A stream; if the model server breaks it off, so does this server, without a traceback."""

    async def stream_response(self, send: Send) -> None:
        """Send the stream; without its end the server closes the connection."""
        try:
            await super().stream_response(send)
        except httpx2.HTTPError as error:
            log.warning("the model server broke off a reply: %s", error)
