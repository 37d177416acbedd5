"""The page and its files at ``/``, and the routes under ``/v1/page`` that only it needs."""

from __future__ import annotations

from importlib import resources
from typing import Annotated, Final

from fastapi import Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from treering.ingest.where import to_filter
from treering.journal.listing import EntryNames, names
from treering.memory import Memory, page_back, space_of
from treering.records import Page
from treering.serve.page.branches import TreePart, part
from treering.serve.page.markdown import MarkdownNode, parsed
from treering.serve.page.story import EntryStory, ForgetPreview, preview, story
from treering.serve.rest.entries import EntryListRequest
from treering.serve.rest.router import router_of
from treering.serve.rest.routes import Offset
from treering.serve.rest.wire import MAX_IDS, Body, FilterRequest
from treering.serve.tenant import Asking
from treering.text import check_text
from treering.views.tree.shape import ROOT

router = router_of("page", "/v1/page")

NAMES_SHOWN: Final = 500
NODES_SHOWN: Final = 100

HEADERS: Final = {
    # Nothing from elsewhere, nothing written into the page, no page of others around it.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_TYPES: Final = {"html": "text/html", "css": "text/css", "js": "text/javascript"}


@router.get("/entries/{entry_id}/story")
async def entry_story(entry_id: str, tenant: Asking) -> EntryStory:
    """An entry, where it went and what was derived from it."""
    return await tenant.call(story, tenant.memory, entry_id)


@router.get("/newest")
async def newest(body: Annotated[EntryListRequest, Query()], tenant: Asking) -> Page:
    """The entries that meet a filter, the newest first; ``next`` is the cursor of older ones."""
    condition = to_filter(body.filters())
    return await tenant.call(page_back, tenant.memory, condition, body.cursor, body.limit)


@router.get("/names")
async def entry_names(tenant: Asking) -> EntryNames:
    """Sources, speakers and sessions, to choose from."""

    def read(memory: Memory) -> EntryNames:
        with space_of(memory).read() as reader:
            return names(reader, reader.id, NAMES_SHOWN)

    return await tenant.call(read, tenant.memory)


@router.get("/tree")
async def tree(
    tenant: Asking, below: int = ROOT, offset: Offset = 0, place: bool = False
) -> TreePart:
    """The nodes below one, by default the topmost; with ``place`` some more texts get their place
    first."""
    return await tenant.call(part, tenant.memory, below, offset, NODES_SHOWN, place)


class ForgetPreviewRequest(FilterRequest):
    """Which entries would be erased."""

    ids: list[str] = Field([], max_length=MAX_IDS)


class MarkdownRequest(Body):
    """A text to take apart, such as an answer."""

    text: str


@router.post("/markdown")
async def markdown(body: MarkdownRequest, tenant: Asking) -> list[MarkdownNode]:
    """A text in Markdown as a tree of elements."""
    return list(await tenant.call(parsed, check_text(body.text, "the text")))


@router.post("/forget-preview")
async def forget_preview(which: ForgetPreviewRequest, tenant: Asking) -> ForgetPreview:
    """What forgetting these entries would touch; nothing is changed."""
    return await tenant.call(preview, tenant.memory, which.ids, which.filters())


def files() -> list[Route]:
    """The page and what it is made of; they hold nothing of any memory."""
    folder = resources.files("treering.serve.page").joinpath("static")
    routes = []
    for file in folder.iterdir():
        ending = file.name.rpartition(".")[2]
        at = "/" if file.name == "index.html" else f"/page/{file.name}"
        routes.append(_file_route(at, file.read_bytes(), _TYPES[ending]))
    return routes


def _file_route(path: str, content: bytes, kind: str) -> Route:
    """A route that answers with a file, held in main memory."""
    media_type = f"{kind}; charset=utf-8"

    async def answer(_: Request) -> Response:
        return Response(content, headers=HEADERS, media_type=media_type)

    return Route(path, answer, methods=["GET"], include_in_schema=False)
