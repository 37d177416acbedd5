"""Errors as problem documents (RFC 9457): the status of each, and whether to try again."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treering import errors
from treering.errors import TreeringError
from treering.hints import Hint
from treering.serve.mistakes import describe_mistakes, join_mistakes

log = logging.getLogger("treering.serve")

MEDIA_TYPE = "application/problem+json"
TYPE = "urn:treering:error:"
"""Followed by the code of the error, by which the Python client raises it again."""

CLIENT_LEFT: Final = 499
"""The status, for metrics alone, of a request whose client left amid its body, as nginx has it."""

RETRY_AFTER_S = 1
_HEADERS = {
    HTTPStatus.SERVICE_UNAVAILABLE: {"Retry-After": str(RETRY_AFTER_S)},
    HTTPStatus.UNAUTHORIZED: {"WWW-Authenticate": "Bearer"},
}
SHOWN_MISTAKES = 10

SCHEMA: dict[str, Any] = {
    "title": "Problem",
    "description": "An error (RFC 9457). `detail` is `message` with the next step in words, "
    "`hint` names the operation of that step, and `param` the field with the bad value.",
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string", "enum": sorted(errors.BY_CODE)},
        "message": {"type": "string"},
        "hint": {"type": "string", "enum": sorted(Hint)},
        "param": {"type": "string"},
        "values": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "required": ["type", "title", "status", "detail"],
}

RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "A problem.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}
"""For the OpenAPI document: any route may answer with a problem."""

_OWN_FAULTS = (HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.INSUFFICIENT_STORAGE)
"""Statuses that the owner of the server has to act on; they are logged."""


def problem(
    status: int,
    detail: str,
    *,
    error: TreeringError | None = None,
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> Response:
    """Return a problem document with the data of ``error``."""
    document = {
        "type": f"{TYPE}{error.code}" if error else "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": int(status),
        "detail": detail,
    }
    body = json.dumps(document | _error_data(error) | more, ensure_ascii=False)
    return Response(body.encode("utf-8", "replace"), status, dict(headers or {}), MEDIA_TYPE)


def _error_data(error: TreeringError | None) -> dict[str, Any]:
    """Return the fields from which a client can raise the error again."""
    if error is None:
        return {}
    data = {
        "code": error.code,
        "message": public_message(error),
        "hint": error.hint,
        "param": error.param,
        "values": error.values or None,
    }
    return {name: value for name, value in data.items() if value is not None}


def public_message(error: TreeringError) -> str:
    """Return the message; a JournalError names the file's path, which stays on the server."""
    return str(type(error).__doc__) if isinstance(error, errors.JournalError) else error.message


def error_response(error: TreeringError) -> Response:
    """Return the problem document of an error."""
    status = error.status
    if status in _OWN_FAULTS:
        log.warning("%s: %s", type(error).__name__, error)
    detail = public_message(error) + error.next_step("rest")
    return problem(status, detail, error=error, headers=_HEADERS.get(status))


class StopMiddleware:
    """Answers requests that the server cancels because it stops."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; if it is cancelled unanswered, say that it may have been done."""
        is_answered = False

        async def watch(message: Message) -> None:
            nonlocal is_answered
            is_answered = True
            await send(message)

        try:
            await self._app(scope, receive, watch)
        except asyncio.CancelledError:
            if scope["type"] != "http" or is_answered:
                raise
            # Only the server cancels a whole request, and no more messages follow.
            stopped = "the server stopped during this request, which may be done or not"
            answer = error_response(errors.ServerUnavailable(f"{stopped}; send it again"))
            await answer(scope, receive, send)


def register(app: FastAPI) -> None:
    """Answer every error of the app with a problem."""
    app.add_exception_handler(TreeringError, _answer_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(HTTPException, _answer_http)
    app.add_exception_handler(ClientDisconnect, _answer_nobody)
    app.add_exception_handler(Exception, _answer_bug)


async def _answer_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, TreeringError)  # registered for these alone
    return error_response(error)


async def _answer_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    mistakes = error.errors()
    # Only JSON is read: a page of another site could send a form.
    sent = request.headers.get("content-type", "none")
    essence = sent.partition(";")[0].strip().lower()
    in_body = (each["loc"][0] == "body" and each["type"] != "missing" for each in mistakes)
    if essence != "application/json" and not essence.endswith("+json") and any(in_body):
        detail = f"the content type is {sent}; send the header Content-Type: application/json"
        status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
        return problem(status, detail, error=errors.InputError(detail, param="Content-Type"))
    # Without the values, which may be large or secret.
    places = describe_mistakes(mistakes)[:SHOWN_MISTAKES]
    detail = join_mistakes(places)
    refused = errors.InputError(detail, param=places[0]["where"])
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail, error=refused, errors=places)


async def _answer_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        # Each method has a route of its own; Starlette names that of the first.
        routes = [route for route in request.app.routes if isinstance(route, Route)]
        here = [route for route in routes if route.path_regex.match(request.url.path)]
        methods = {method for route in here for method in route.methods or ()}
        headers["Allow"] = ", ".join(sorted(methods))
    where = f"{request.method} {request.url.path}"
    detail = f"{where}: there is no such route, or no such method of it; see /v1/openapi.json"
    is_lost = error.status_code in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)
    kind = errors.UnknownName if error.status_code == HTTPStatus.NOT_FOUND else errors.InputError
    cause = kind(detail if is_lost else str(error.detail))
    return problem(error.status_code, cause.message, error=cause, headers=headers)


async def _answer_nobody(_: Request, __: Exception) -> Response:
    return Response(status_code=CLIENT_LEFT)


async def _answer_bug(_: Request, error: Exception) -> Response:
    """Return the problem document of a bug; the server logs its traceback."""
    detail = f"the server failed with {type(error).__name__}; see its log"
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, detail, error=errors.ServerError(detail))
