"""The page and its files at ``/``, and the routes under ``/v1/page`` that only it needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import resources
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from treering.serve.page.story import EntryStory, ForgetPreview, preview, story
from treering.serve.rest.entries import ForgetRequest
from treering.serve.rest.router import router_of
from treering.serve.tenant import Asking

router = router_of("page", "/v1/page")

TYPES: Final = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}

HEADERS: Final = {
    # Nothing from elsewhere, nothing written into the page, no page of others around it.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


@router.get("/entries/{entry_id}/story")
async def entry_story(entry_id: str, tenant: Asking) -> EntryStory:
    """An entry, where it went and what was derived from it."""
    return await tenant.call(story, tenant.memory, entry_id)


@router.post("/forget-preview")
async def forget_preview(which: ForgetRequest, tenant: Asking) -> ForgetPreview:
    """What forgetting these entries would touch; nothing is changed."""
    return await tenant.call(preview, tenant.memory, which.ids, which.filters())


def files() -> list[Route]:
    """The page and what it is made of; they hold nothing of any memory."""
    folder = resources.files("treering.serve.page").joinpath("static")
    routes = []
    for file in folder.iterdir():
        suffix = f".{file.name.rpartition('.')[2]}"
        at = "/" if file.name == "index.html" else f"/page/{file.name}"
        answer = _answering(file.read_bytes(), TYPES[suffix])
        routes.append(Route(at, answer, methods=["GET"], include_in_schema=False))
    return routes


def _answering(content: bytes, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_: Request) -> Response:
        return Response(content, headers=HEADERS, media_type=f"{media_type}; charset=utf-8")

    return answer
