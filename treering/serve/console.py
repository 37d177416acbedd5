"""The OpenAPI document in a browser, at ``/docs`` (to try) and ``/redoc`` (to read).

Nothing comes from elsewhere: scripts and styles are those that ``fastapi-offline`` ships. Where the
server has keys, these pages and ``/openapi.json`` are behind them. A browser cannot send a bearer
token with an address that is typed, so here a key may come as the password of Basic authentication,
which the browser asks for.
"""

from __future__ import annotations

import base64
import binascii
from importlib import resources
from typing import Final

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from treering.serve.shipped import shipped_route

DOCUMENT: Final = "/openapi.json"
_TRY, _READ = "/docs", "/redoc"
PATHS: Final = frozenset({DOCUMENT, _TRY, _READ})
"""Where Basic authentication is understood, beside the key as a bearer token."""

ASSETS_PREFIX: Final = "/docs/assets/"
"""The same files for everybody, which tell nothing of any memory."""

CHALLENGE: Final = 'Basic realm="treering: any name, a key as the password", charset="UTF-8"'

_HEADERS: Final = {
    "Content-Security-Policy": (
        # Both consoles write styles into the page; ReDoc searches in a worker.
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "connect-src 'self'; img-src 'self' data:; worker-src blob:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
}
_SHIPPED: Final = ("swagger-ui-bundle.js", "swagger-ui.css", "redoc.standalone.js")

_START: Final = f"""\
SwaggerUIBundle({{
  url: "{DOCUMENT}", dom_id: "#console", deepLinking: true, tryItOutEnabled: true,
  validatorUrl: null,
}});
"""
_PAGE: Final = """\
<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>treering: REST</title>
<meta name="viewport" content="width=device-width, initial-scale=1">{head}</head>
<body>{body}</body>
</html>
"""
_TRY_PAGE: Final = _PAGE.format(
    head=f'<link rel="stylesheet" href="{ASSETS_PREFIX}swagger-ui.css">',
    body=f'<div id="console"></div><script src="{ASSETS_PREFIX}swagger-ui-bundle.js"></script>'
    f'<script src="{ASSETS_PREFIX}start.js"></script>',
)
_READ_PAGE: Final = _PAGE.format(
    head="",
    body=f'<redoc spec-url="{DOCUMENT}" hide-download-button></redoc>'
    f'<script src="{ASSETS_PREFIX}redoc.standalone.js"></script>',
)


def routes(app: FastAPI) -> list[Route]:
    """The two pages, their files, and the document of ``app`` under the usual name."""

    async def document(_: Request) -> Response:
        return JSONResponse(app.openapi())

    folder = resources.files("fastapi_offline").joinpath("static")
    assets = {name: folder.joinpath(name).read_bytes() for name in _SHIPPED}
    assets["start.js"] = _START.encode()
    return [
        shipped_route(_TRY, _TRY_PAGE, "html", _HEADERS),
        shipped_route(_READ, _READ_PAGE, "html", _HEADERS),
        *(
            shipped_route(ASSETS_PREFIX + name, content, name.rpartition(".")[2], _HEADERS)
            for name, content in assets.items()
        ),
        Route(DOCUMENT, document, methods=["GET"], include_in_schema=False),
    ]


def with_bearer(headers: Headers) -> Headers:
    """The headers, a password of Basic authentication in the place of a bearer token."""
    scheme, _, encoded = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return headers
    try:
        password = base64.b64decode(encoded, validate=True).decode().partition(":")[2]
        password.encode("latin-1")  # which is all that a header can hold, and more than a key has
    except (binascii.Error, UnicodeError):
        return headers  # refused as what it is: no key
    return Headers(dict(headers) | {"authorization": f"Bearer {password}"})
