"""Pages and files that come with the package: the same for everybody, held in main memory."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_TYPES: Final = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
_HEADERS: Final = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}


def shipped_route(path: str, content: str | bytes, ending: str, headers: dict[str, str]) -> Route:
    """A route that answers with a file, whose type its ``ending`` tells: html, css or js.

    ``headers`` say besides what a page may do.
    """
    media_type = f"{_TYPES[ending]}; charset=utf-8"

    async def answer(_: Request) -> Response:
        return Response(content, headers=_HEADERS | headers, media_type=media_type)

    return Route(path, answer, methods=["GET"], include_in_schema=False)
