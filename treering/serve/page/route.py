"""The page and its files at ``/``, and the routes under ``/v1/page`` that only it needs."""

from __future__ import annotations

from importlib import resources
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from treering.serve.page.story import EntryStory, TreePart, format_markdown, story, tree_part
from treering.serve.rest.requests import Body
from treering.serve.rest.routes import Offset, new_router
from treering.serve.tenant import Asking
from treering.text import check_text
from treering.views.tree.shape import ROOT

router = new_router("page", "/v1/page")

NODES_SHOWN: Final = 100

HEADERS: Final = {
    # No foreign or inline content, and no frame around the page.
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
    """An entry, its places in the tree, and its memos and facts."""
    return await tenant.call(story, tenant.memory, entry_id)


@router.get("/tree")
async def tree(
    tenant: Asking, below: int = ROOT, offset: Offset = 0, place: bool = False
) -> TreePart:
    """The nodes below one, by default the topmost; ``place`` adds more texts to the tree first."""
    return await tenant.call(tree_part, tenant.memory, below, offset, NODES_SHOWN, place)


class MarkdownRequest(Body):
    """A text in Markdown, such as an answer."""

    text: str


@router.post("/markdown")
async def markdown(body: MarkdownRequest, tenant: Asking) -> str:
    """A text in Markdown as HTML; its own markup stays text."""
    return await tenant.call(format_markdown, check_text(body.text, "the text"))


def files() -> list[Route]:
    """Return the routes of the page's files, which hold no data of a memory."""
    folder = resources.files("treering.serve.page").joinpath("static")
    routes = []
    for file in folder.iterdir():
        ending = file.name.rpartition(".")[2]
        at = "/" if file.name == "index.html" else f"/page/{file.name}"
        routes.append(_file_route(at, file.read_bytes(), _TYPES[ending]))
    return routes


def _file_route(path: str, content: bytes, kind: str) -> Route:
    """Return a route that answers with a file, which stays in main memory."""
    media_type = f"{kind}; charset=utf-8"

    async def answer(_: Request) -> Response:
        return Response(content, headers=HEADERS, media_type=media_type)

    return Route(path, answer, methods=["GET"], include_in_schema=False)
