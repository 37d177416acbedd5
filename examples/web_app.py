"""A web application with one space for each user: ``uvicorn --factory examples.web_app:app``.

The users share connections and models. The header ``X-User`` stands for the login of a real
application.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Header, Request
from fastapi.responses import JSONResponse, StreamingResponse

from treering import Memory, TreeringError
from treering.chat.stream import ChatStream
from treering.embed.contract import Embedder
from treering.errors import InputError, LLMError, LLMNotConfigured, UnknownName
from treering.llm.contract import LLM

STATUSES = {
    UnknownName: HTTPStatus.NOT_FOUND,
    InputError: HTTPStatus.UNPROCESSABLE_ENTITY,
    LLMNotConfigured: HTTPStatus.NOT_IMPLEMENTED,
    LLMError: HTTPStatus.BAD_GATEWAY,
}


def user_memory(request: Request, x_user: Annotated[str, Header()]) -> Memory:
    """Return the memory of the user who sends a request."""
    memory: Memory = request.app.state.memory
    return memory.space(x_user, create=True)


UserMemory = Annotated[Memory, Depends(user_memory)]
router = APIRouter()

# FastAPI runs these functions in threads, because they are not asynchronous.


@router.post("/notes")
def add(note: str, memory: UserMemory) -> list[str]:
    """Remember a note; return the ids of its entries."""
    return list(memory.add(note).ids)


@router.get("/notes")
def search(query: str, memory: UserMemory) -> list[str]:
    """Return the texts that answer a query best."""
    return [hit.text for hit in memory.search(query, k=5)]


@router.delete("/notes/{entry_id}")
def forget(entry_id: str, memory: UserMemory) -> bool:
    """Erase an entry; return whether its text has left the file's bytes."""
    return memory.forget(entry_id).scrubbed


def start_reply(message: str, memory: UserMemory) -> Iterator[ChatStream]:
    """Yield the reply to a message; it is closed after the response, also if the client leaves."""
    with memory.chat_stream(message) as reply:
        yield reply


@router.post("/chat")
def chat(reply: Annotated[ChatStream, Depends(start_reply)]) -> StreamingResponse:
    """Reply to a message piece by piece."""
    first = next(reply, "")  # here an error still becomes a status
    return StreamingResponse(chain([first], reply), media_type="text/plain")


def _error_response(_: Request, error: Exception) -> JSONResponse:
    statuses = (status for kind, status in STATUSES.items() if isinstance(error, kind))
    status = next(statuses, HTTPStatus.INTERNAL_SERVER_ERROR)
    return JSONResponse({"error": str(error)}, status)


def create_app(
    path: Path, embedder: str | Embedder | None = None, llm: str | LLM | None = None
) -> FastAPI:
    """Return the application over the memory at a path."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with Memory.open(path, embedder=embedder, llm=llm) as memory:
            app.state.memory = memory
            yield

    app = FastAPI(lifespan=lifespan)
    app.include_router(router)
    app.add_exception_handler(TreeringError, _error_response)
    return app


def app() -> FastAPI:
    """Return the application over ``web.db``."""
    return create_app(Path("web.db"))
