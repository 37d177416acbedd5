"""Conversations that are remembered, answered whole or as the reply is written."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter, Response
from pydantic import Field
from pydantic_core import to_json
from starlette.responses import StreamingResponse

from treering.answer import Answer
from treering.chat import DEFAULT as DEFAULT_POLICY
from treering.chat.prompt import ChatPrompt
from treering.chat.stream import ChatStream
from treering.errors import InputError, TreeringError
from treering.http import encoded_event
from treering.memory import Memory
from treering.serve import problems
from treering.serve.once import OnceOnly
from treering.serve.rest.wire import Body, Budget, Query, body_of
from treering.serve.tenant import Asking, Tenant

router = APIRouter(tags=["chat"], prefix="/v1")

EVENTS: Final = "text/event-stream"
SILENCE_S: Final = 15.0
"""A comment is sent after it: what lies between might take a slow model for a dead connection."""

_END: Final = None
Pieces = asyncio.Queue[str | None]


class ChatRequest(Body):
    """One message of a conversation."""

    message: Query
    policy: str = Field(DEFAULT_POLICY, description="What the model is shown besides the message.")
    source: str = Field("chat", description="The conversation.")
    budget: Budget = 2000
    stream: bool = Field(False, description="Reply with server-sent events.")


@router.post(
    "/chat",
    response_model=Answer,
    responses={
        HTTPStatus.OK: {
            "description": "The reply; with `stream` events whose data is a `text`, then an event "
            "`done` with the whole answer, or `error` with a problem.",
            "content": {EVENTS: {"schema": {"type": "string"}}},
        }
    },
)
async def chat(said: ChatRequest, tenant: Asking, once: OnceOnly) -> Response:
    """One round of a conversation; both sides of it are remembered under ``source``."""
    given: dict[str, Any] = said.model_dump(include={"policy", "source", "budget"})
    if not said.stream:
        reply = partial(tenant.call_slow, tenant.memory.chat, said.message, **given)
        return await once.reply(reply, status=HTTPStatus.OK, quotes=True)
    if once.key is not None:
        raise InputError("a stream cannot be given again; leave out the idempotency key or stream")
    stream = await tenant.call_slow(tenant.memory.chat_stream, said.message, **given)
    return await _streamed(stream, tenant)


async def _streamed(stream: ChatStream, tenant: Tenant) -> Response:
    """The reply as events. What fails before the first piece is raised."""
    loop, pieces, left = asyncio.get_running_loop(), Pieces(), threading.Event()

    def put(piece: str) -> None:
        loop.call_soon_threadsafe(pieces.put_nowait, piece)

    reading = asyncio.create_task(tenant.call_slow(_read, stream, put, left))
    reading.add_done_callback(lambda _: pieces.put_nowait(_END))
    first = await pieces.get()
    if first is _END:
        reading.result()

    async def events() -> AsyncIterator[bytes]:
        piece = first
        try:
            while piece is not _END:
                yield _event({"text": piece})
                while (piece := await _next(pieces)) == "":
                    yield b": the model is at work\n\n"
            yield await _last(reading)
        finally:
            left.set()  # whoever goes early stops the model

    return StreamingResponse(events(), media_type=EVENTS, headers={"Cache-Control": "no-store"})


def _read(stream: ChatStream, put: Callable[[str], object], left: threading.Event) -> Answer | None:
    """Read a reply in a worker thread, which alone touches it; None if the client has left."""
    with stream:
        for piece in stream:
            if left.is_set():
                return None
            put(piece)
        return stream.answer


async def _next(pieces: Pieces) -> str | None:
    """The next piece, or an empty one if none comes for a while."""
    try:
        return await asyncio.wait_for(pieces.get(), SILENCE_S)
    except TimeoutError:
        return ""


async def _last(reading: asyncio.Task[Answer | None]) -> bytes:
    try:
        return _event(await reading, "done")
    except TreeringError as error:
        return _event(bytes(problems.of_error(error).body), "error")


def _event(data: object, name: str | None = None) -> bytes:
    return encoded_event(data if isinstance(data, bytes) else to_json(data), name)


@body_of(Memory.chat_prompt)
class ChatPromptRequest(Body):
    """A message, and what the model would be shown besides."""


@router.post("/chat/prompt")
async def chat_prompt(wanted: ChatPromptRequest, tenant: Asking) -> ChatPrompt:
    """What a chat would show the model; it is not asked for a reply, nothing is remembered."""
    return await tenant.call_slow(lambda: tenant.memory.chat_prompt(**wanted.given()))
