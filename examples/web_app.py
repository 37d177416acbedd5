"""A web application with one space for each user: ``uvicorn --factory examples.web_app:app``.

The users share connections and models. It needs FastAPI 0.118 or newer: older ones end a dependency
before its response is sent, and a streamed reply would break off.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import chain
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Header, Request
from fastapi.responses import JSONResponse, StreamingResponse

from treering import Memory, TreeringError
from treering.chat.stream import ChatStream
from treering.embed.contract import Embedder
from treering.errors import JournalError
from treering.llm.contract import LLM


def user_memory(request: Request, x_user: Annotated[str, Header()]) -> Memory:
    """Return the memory of the user who sends a request."""
    # Put the verified login of your application here: X-User is what anybody may send, and each new
    # name makes a space.
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


@router.delete("/me")
def forget_me(x_user: Annotated[str, Header()], memory: UserMemory) -> bool:
    """Erase all that is remembered of the user; return whether it has left the file's bytes."""
    return memory.forget_space(x_user).scrubbed


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
    assert isinstance(error, TreeringError)
    is_private = isinstance(error, JournalError)  # its message names the path of the file
    told = "the memory cannot be used" if is_private else error.message
    return JSONResponse({"error": told, "code": error.code}, error.status)


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
