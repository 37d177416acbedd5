"""Remembered conversations: the reply comes whole, or piece by piece."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from typing import Final

from fastapi import Request, Response
from pydantic import Field
from pydantic_core import from_json, to_json
from starlette.responses import StreamingResponse

from treering.chat.answer import Answer
from treering.chat.conversation import RoundRecord
from treering.chat.policy import Policy
from treering.chat.stream import ChatStream
from treering.errors import TreeringError
from treering.http import encoded_event
from treering.journal.space import Space
from treering.memory import Memory, space_policy
from treering.serve import problems
from treering.serve.once import REPLAYED, GivenReply, Once, OnceOnly
from treering.serve.rest.requests import request_of
from treering.serve.rest.routes import new_router
from treering.serve.spaces import Asking, Tenant, open_beside
from treering.serve.threads import start_task

router = new_router("chat", "/v1")

EVENTS: Final = "text/event-stream"
SILENCE_S: Final = 15.0
"""After so long a comment is sent, so that no proxy takes a slow model for a dead connection."""

_END: Final = None
_NOT_STORED: Final = {"Cache-Control": "no-store"}
Pieces = asyncio.Queue[str | None]


_CHAT = request_of(Memory.chat)


class ChatRequest(_CHAT):  # type: ignore[misc, valid-type]
    """One message of a conversation."""

    stream: bool = Field(False, description="Reply with server-sent events.")


@router.post(
    "/chat",
    response_model=Answer,
    responses={
        HTTPStatus.OK: {
            "description": 'The reply. With `stream`, server-sent events: `data: {"text": …}` for '
            "each piece, at the end `event: done` with the whole answer, or `event: error` with a "
            "problem document. An error before the first piece is a status.",
            "content": {EVENTS: {"schema": {"type": "string"}}},
        }
    },
)
async def chat(asked: ChatRequest, request: Request, tenant: Asking, once: OnceOnly) -> Response:
    """One round of a conversation; both sides of it are remembered under ``source``."""
    await open_beside(request, asked.spaces or ())
    space = Space(tenant.database, tenant.space)
    policy = await tenant.run("read", space_policy, space, asked.policy)
    if asked.stream:
        return await _stream_reply(asked, policy, tenant, once)

    said = (asked.message, policy, asked.source, asked.budget, asked.speaker, asked.spaces)

    def work(record: RoundRecord | None) -> Answer:
        talk = tenant.conversations()
        return talk.reply(talk.begin(*said, record))

    return await once.reply("wait", work, status=HTTPStatus.OK, quotes=True)


async def _stream_reply(asked: ChatRequest, policy: Policy, tenant: Tenant, once: Once) -> Response:
    """Return the reply as events. Raise an error that comes before the first piece."""
    loop, pieces, left = asyncio.get_running_loop(), Pieces(), threading.Event()

    def put(piece: str) -> None:
        loop.call_soon_threadsafe(pieces.put_nowait, piece)

    said = (asked.message, policy, asked.source, asked.budget, asked.speaker, asked.spaces)

    def work(record: RoundRecord | None) -> Answer:
        talk = tenant.conversations()
        return _read(talk.stream(talk.begin(*said, record)), put, left)

    reading = start_task(once.execute("wait", work, status=HTTPStatus.OK, quotes=True))
    reading.add_done_callback(lambda _: pieces.put_nowait(_END))
    first = await pieces.get()
    if first is _END and (given := reading.result()).is_replay:
        return _replay(given)

    async def events() -> AsyncIterator[bytes]:
        piece = first
        try:
            while piece is not _END:
                yield _event({"text": piece})
                while (piece := await _next(pieces)) == "":
                    yield b": the model is at work\n\n"
            try:
                yield _event((await reading).reply.body, "done")
            except TreeringError as error:
                yield _event(bytes(problems.error_response(error).body), "error")
        finally:
            left.set()  # a client that leaves early stops the model

    return StreamingResponse(events(), media_type=EVENTS, headers=_NOT_STORED)


def _replay(given: GivenReply) -> Response:
    """Return an earlier reply in one piece, or a problem if it was dropped."""
    body = given.reply.body
    if body is None:
        return given.response()
    text = {"text": from_json(body)["text"]}
    events = _event(text) + _event(body, "done")
    return Response(events, given.reply.status, REPLAYED | _NOT_STORED, EVENTS)


class _ClientLeft(Exception):
    """The client has left, so the reply is not remembered."""


def _read(stream: ChatStream, put: Callable[[str], object], left: threading.Event) -> Answer:
    """Read a reply in one worker thread."""
    with stream:
        for piece in stream:
            if left.is_set():
                raise _ClientLeft
            put(piece)
        assert stream.answer is not None  # an iteration that ends without error has one
        return stream.answer


async def _next(pieces: Pieces) -> str | None:
    """Return the next piece, or an empty one after some silence."""
    try:
        return await asyncio.wait_for(pieces.get(), SILENCE_S)
    except TimeoutError:
        return ""


def _event(data: object, name: str | None = None) -> bytes:
    return encoded_event(data if isinstance(data, bytes) else to_json(data), name)
