"""A web application with one space for each user: ``uvicorn --factory examples.web_app:app``.

The users share connections and models. It needs FastAPI 0.118 or newer: older ones end a dependency
before its response is sent, and a streamed reply would break off.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Body, Depends, FastAPI, Header, Request
from fastapi.responses import JSONResponse, StreamingResponse

from treering import Memory, TreeringError
from treering.chat.stream import ChatStream
from treering.embed.contract import Embedder
from treering.errors import InputError, UnknownSpace
from treering.llm.contract import LLM


def user_memory(request: Request, x_user: Annotated[str, Header()]) -> Memory:
    """Return the memory of the user who sends a request."""
    # Put the verified login of your application here: X-User is what anybody may send, and each new
    # name makes a space.
    memory: Memory = request.app.state.memory
    return memory.space(x_user, create=True)


UserMemory = Annotated[Memory, Depends(user_memory)]
BodyText = Annotated[str, Body(embed=True)]  # not in the URL, which is written to access logs
router = APIRouter()

# FastAPI runs these functions in threads, because they are not asynchronous.


@router.post("/notes")
def add(note: BodyText, memory: UserMemory) -> list[str]:
    """Remember a note; return the ids of its entries."""
    return list(memory.add(note).ids)


@router.post("/notes/search")
def search(query: BodyText, memory: UserMemory) -> list[dict[str, str]]:
    """Return the texts that answer a query best, with the ids of their entries."""
    return [{"id": hit.entry_id, "text": hit.text} for hit in memory.search(query, k=5)]


@router.delete("/notes/{entry_id}")
def forget(entry_id: str, memory: UserMemory) -> bool:
    """Erase an entry; return whether its text has left the file's bytes."""
    return memory.forget(entry_id).scrubbed


@router.delete("/me", status_code=204)
def forget_me(x_user: Annotated[str, Header()], request: Request) -> None:
    """Erase all that is remembered of the user; a second request finds nothing to erase."""
    memory: Memory = request.app.state.memory
    with suppress(UnknownSpace):
        memory.forget_space(x_user)


def start_reply(message: BodyText, memory: UserMemory) -> Iterator[ChatStream]:
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
    # Other messages may name files, the address of a model, or the space of another user.
    is_public = isinstance(error, InputError) and not isinstance(error, UnknownSpace)
    text = error.message if is_public else "the memory cannot do this now"
    return JSONResponse({"error": text, "code": error.code}, error.status)


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
