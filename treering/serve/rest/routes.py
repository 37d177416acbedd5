"""The routes of ``treering.operations``, each made of its row and the signature of its method."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from inspect import Parameter, Signature
from string import Formatter
from typing import Annotated, Any, Final, get_type_hints

from fastapi import APIRouter, Query, Request
from fastapi.routing import APIRoute

from treering.operations import OPERATIONS, Operation
from treering.serve.paths import served, served_git
from treering.serve.rest.router import router_of
from treering.serve.rest.wire import Body, request_of
from treering.serve.settings import ServerSettings
from treering.serve.tenant import Asking, Tenant

MAX_PART = 1_000  # of one reply; a list that is longer comes in parts

Offset = Annotated[int, Query(ge=0)]
Limit = Annotated[int, Query(ge=1, le=MAX_PART)]

_ROOTS: Final = {"folder": served, "git": served_git}
_WORK: Final = {"read": Tenant.call, "write": Tenant.change, "wait": Tenant.call_slow}


def operation_routes() -> list[APIRoute]:
    """The routes of all operations for which the server has no function of its own."""
    routers: dict[str, APIRouter] = {}
    for operation in OPERATIONS:
        if operation.is_custom:
            continue
        tag = operation.tag or operation.view
        router = routers.setdefault(tag, router_of(tag, "/v1"))
        result = None if _result(operation) is type(None) else _result(operation)
        gone = operation.verb == "DELETE" and result is None
        router.add_api_route(
            operation.path,
            _endpoint(operation),
            methods=[operation.verb],
            response_model=result,
            status_code=HTTPStatus.NO_CONTENT if gone else HTTPStatus.OK,
        )
    return [route for router in routers.values() for route in router.routes]  # type: ignore[misc]


def _endpoint(operation: Operation) -> Callable[..., Any]:
    in_path = [name for _, name, _, _ in Formatter().parse(operation.path) if name]
    fields = _request(operation, in_path)
    positional = [
        (name, operation.renamed.get(name, name))
        for name, parameter in _parameters(operation).items()
        if parameter.kind is Parameter.VAR_POSITIONAL
    ]

    async def endpoint(tenant: Tenant, request: Request, **given: Any) -> Any:
        offset, limit = given.pop("offset", 0), given.pop("limit", MAX_PART)
        body: Body | None = given.pop("body", None)
        named = given | (body.given() if body else {})
        for name, sent in operation.renamed.items():
            if sent in named:
                named[name] = named.pop(sent)
        if operation.root != "any" and named["root"] is not None:
            settings: ServerSettings = request.app.state.settings
            named["root"] = await tenant.call(_ROOTS[operation.root], settings, named["root"])
        rest = [value for name, _ in positional for value in named.pop(name)]

        def work() -> Any:
            owner = getattr(tenant.memory, operation.view) if operation.view else tenant.memory
            result = getattr(owner, operation.method.__name__)(*rest, **named)
            return result[offset : offset + limit] if operation.in_parts else result

        work.__qualname__ = operation.method.__qualname__  # the name of its span in a trace
        return await _WORK[operation.work](tenant, work)

    kind = Parameter.KEYWORD_ONLY
    hints = get_type_hints(operation.method)
    parameters = [Parameter(name, kind, annotation=hints[name]) for name in in_path]
    if fields is not None:
        parameters.append(Parameter("body", kind, annotation=fields))
    if operation.in_parts:
        parameters.append(Parameter("offset", kind, default=0, annotation=Offset))
        parameters.append(Parameter("limit", kind, default=MAX_PART, annotation=Limit))
    parameters += [
        Parameter("tenant", kind, annotation=Asking),
        Parameter("request", kind, annotation=Request),
    ]
    endpoint.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    endpoint.__name__ = operation.method.__name__
    endpoint.__doc__ = operation.help
    return endpoint


def _request(operation: Operation, in_path: list[str]) -> Any:
    """The type of the parameter that holds the arguments; None where there are none."""
    in_query = operation.verb in ("GET", "DELETE")
    model = request_of(
        operation.method,
        *in_path,
        doc=operation.help,
        renamed=operation.renamed,
        in_query=in_query,
    )
    if not model.model_fields:
        return None
    return Annotated[model, Query()] if in_query else model


def _parameters(operation: Operation) -> dict[str, Parameter]:
    return dict(Signature.from_callable(operation.method).parameters)


def _result(operation: Operation) -> Any:
    return get_type_hints(operation.method)["return"]
