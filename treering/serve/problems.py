"""Errors as problem documents (RFC 9457): the status of each, and whether to try again."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treering import errors
from treering.errors import TreeringError
from treering.hints import Hint
from treering.serve.mistakes import in_words, mistakes

log = logging.getLogger("treering.serve")

MEDIA_TYPE = "application/problem+json"
TYPE = "urn:treering:error:"
"""Followed by the code of the error, by which the Python client raises it again."""

RETRY_AFTER_S = 1
_HEADERS = {
    HTTPStatus.SERVICE_UNAVAILABLE: {"Retry-After": str(RETRY_AFTER_S)},
    HTTPStatus.UNAUTHORIZED: {"WWW-Authenticate": "Bearer"},
}
SHOWN_ERRORS = 10  # of a body that does not fit the schema; the first ones tell

SCHEMA: dict[str, Any] = {
    "title": "Problem",
    "description": "What went wrong (RFC 9457). `detail` is `message` with the next step in words, "
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

_STATUS: tuple[tuple[type[TreeringError], HTTPStatus], ...] = (
    (errors.UnknownName, HTTPStatus.NOT_FOUND),
    (errors.InputError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (errors.JournalBusy, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.JournalFull, HTTPStatus.INSUFFICIENT_STORAGE),
    (errors.ModelMismatch, HTTPStatus.CONFLICT),
    (errors.EmbeddingError, HTTPStatus.BAD_GATEWAY),
    (errors.LLMNotConfigured, HTTPStatus.NOT_IMPLEMENTED),
    (errors.ReplyDiscarded, HTTPStatus.CONFLICT),
    (errors.RequestUnderWay, HTTPStatus.CONFLICT),
    (errors.LLMUnavailable, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.LLMError, HTTPStatus.BAD_GATEWAY),
    (errors.KeyUnknown, HTTPStatus.UNAUTHORIZED),
    (errors.AccessDenied, HTTPStatus.FORBIDDEN),
    (errors.ServerUnavailable, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.MissingExtra, HTTPStatus.NOT_IMPLEMENTED),
)
"""The first that fits; any other error is the server's own."""

_OWN_FAULTS = (HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.INSUFFICIENT_STORAGE)
"""Statuses that the owner of the server has to act on; they are logged."""


def status_of(error: TreeringError) -> HTTPStatus:
    """The status that stands for an error."""
    statuses = (status for kind, status in _STATUS if isinstance(error, kind))
    return next(statuses, HTTPStatus.INTERNAL_SERVER_ERROR)


def problem(
    status: int,
    detail: str,
    *,
    error: TreeringError | None = None,
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> Response:
    """A problem document; it carries the data of the ``error`` that it is made of."""
    document = {
        "type": f"{TYPE}{error.code}" if error else "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": int(status),
        "detail": detail,
    }
    body = json.dumps(document | _data(error) | more, ensure_ascii=False)
    return Response(body.encode("utf-8", "replace"), status, dict(headers or {}), MEDIA_TYPE)


def _data(error: TreeringError | None) -> dict[str, Any]:
    """What a program needs to raise the error again."""
    if error is None:
        return {}
    data = {
        "code": error.code,
        "message": _message(error),
        "hint": error.hint,
        "param": error.param,
        "values": error.values or None,
    }
    return {name: value for name, value in data.items() if value is not None}


def _message(error: TreeringError) -> str:
    """The message of an error. One of the journal names its file's path, so its class describes it
    to clients."""
    return str(type(error).__doc__) if isinstance(error, errors.JournalError) else error.message


def of_error(error: TreeringError) -> Response:
    """The problem document of an error."""
    status = status_of(error)
    if status in _OWN_FAULTS:
        log.warning("%s: %s", type(error).__name__, error)
    detail = _message(error) + error.next_step("rest")
    return problem(status, detail, error=error, headers=_HEADERS.get(status))


class StopMiddleware:
    """Answers requests that are given up because the server stops."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on; if it is cancelled before it is answered, say that it may be done."""
        is_answered = False

        async def noting(message: Message) -> None:
            nonlocal is_answered
            is_answered = True
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except asyncio.CancelledError:
            if scope["type"] != "http" or is_answered:
                raise
            # Only the server cancels a whole request, and nothing of it comes after this.
            stopped = "the server stopped before this was done, and it may be done or not"
            answer = of_error(errors.ServerUnavailable(f"{stopped}; send it again"))
            await answer(scope, receive, send)


def register(app: FastAPI) -> None:
    """Answer every error of the app with a problem."""
    app.add_exception_handler(TreeringError, _treering)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _bug)


async def _treering(_: Request, error: Exception) -> Response:
    assert isinstance(error, TreeringError)  # registered for these alone
    return of_error(error)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    if _is_of_another_type(request, error):
        sent = request.headers.get("content-type", "none")
        detail = f"the content type is {sent}; send the header Content-Type: application/json"
        status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
        return problem(status, detail, error=errors.InputError(detail, param="Content-Type"))
    # Without what was sent, which may be large or secret.
    wrong = mistakes(error.errors())[:SHOWN_ERRORS]
    detail = in_words(wrong)
    refused = errors.InputError(detail, param=wrong[0]["where"])
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail, error=refused, errors=wrong)


def _is_of_another_type(request: Request, error: RequestValidationError) -> bool:
    """Whether the body was refused for its content type.

    Only JSON is read: a form, which a page of another site could send, is not.
    """
    essence = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = essence == "application/json" or essence.endswith("+json")
    return not is_json and any(
        mistake["loc"][0] == "body" and mistake["type"] != "missing" for mistake in error.errors()
    )


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return problem(error.status_code, str(error.detail), headers=error.headers)


async def _bug(_: Request, error: Exception) -> Response:
    """The problem document of a bug; the server logs its traceback."""
    detail = f"the server failed with {type(error).__name__}; its log tells more"
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, detail)
