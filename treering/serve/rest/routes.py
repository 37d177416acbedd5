"""The routes of ``treering.operations``, each made of its row and the signature of its method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from inspect import Parameter, Signature
from string import Formatter
from typing import Annotated, Any, Final, get_type_hints

from fastapi import APIRouter, Query, Request
from fastapi.routing import APIRoute

from treering.operations import OPERATIONS, Operation
from treering.records import Correction, Forgotten
from treering.serve import problems
from treering.serve.access import author, caller_of, served_folder, served_repository
from treering.serve.rest.requests import Body, request_of
from treering.serve.roles import FULL, WILDCARD
from treering.serve.settings import ServerSettings
from treering.serve.spaces import Asking, Tenant, ensure_may_add, open_beside

MAX_PART = 1_000  # items of one reply; a longer list comes in parts

Offset = Annotated[int, Query(ge=0)]
Limit = Annotated[int, Query(ge=1, le=MAX_PART)]

_ROOTS: Final = {"folder": served_folder, "git": served_repository}


def new_router(tag: str, prefix: str) -> APIRouter:
    """Return a router whose routes have a tag and a prefix and may answer with a problem.

    The options belong to the routes: given to ``include_router``, FastAPI would build each route
    again for every application.
    """
    return APIRouter(
        tags=[tag],
        prefix=prefix,
        responses=problems.RESPONSES,
        generate_unique_id_function=_operation_id,
    )


def _operation_id(route: APIRoute) -> str:
    return f"{route.tags[0]}_{route.name}".rstrip("_")


def operation_routes() -> list[APIRoute]:
    """Return the routes of all operations without a function of their own."""
    routers: dict[str, APIRouter] = {}
    for operation in OPERATIONS:
        if operation.is_custom:
            continue
        tag = operation.tag or operation.view
        router = routers.setdefault(tag, new_router(tag, "/v1"))
        result: Any = get_type_hints(operation.method)["return"]
        is_empty = result is type(None)
        gone = operation.verb == "DELETE" and is_empty
        router.add_api_route(
            operation.path,
            _endpoint(operation),
            methods=[operation.verb],
            response_model=None if is_empty else result,
            status_code=HTTPStatus.NO_CONTENT if gone else HTTPStatus.OK,
        )
    return [route for router in routers.values() for route in router.routes]  # type: ignore[misc]


def _endpoint(operation: Operation) -> Callable[..., Any]:
    in_path = [name for _, name, _, _ in Formatter().parse(operation.path) if name]
    listed = [
        (name, operation.renamed.get(name, name))
        for name, parameter in Signature.from_callable(operation.method).parameters.items()
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
            named["root"] = await tenant.run(
                "read", _ROOTS[operation.root], settings, named["root"]
            )
        await open_beside(request, named.get("spaces") or ())
        await ensure_may_add(request, named.get("to"))
        is_whole = caller_of(request).may(FULL, WILDCARD)
        if named.get("copies"):
            caller_of(request).ensure(FULL, WILDCARD)  # copies may be in any space
        if "by" in named:
            named["by"] = author(request, named["by"])
        if operation.work == "search":
            return await tenant.search(**named)
        items = [value for name, _ in listed for value in named.pop(name)]

        def work() -> Any:
            owner = getattr(tenant.memory, operation.view) if operation.view else tenant.memory
            result = getattr(owner, operation.method.__name__)(*items, **named)
            # A caller of this space alone learns nothing of others.
            if isinstance(result, Correction | Forgotten) and not is_whole:
                result = replace(result, copies=0)
            return result[offset : offset + limit] if operation.in_parts else result

        return await tenant.run(operation.work, work)

    endpoint.__signature__ = Signature(_parameters(operation, in_path))  # type: ignore[attr-defined]
    endpoint.__name__ = operation.method.__name__
    endpoint.__doc__ = operation.help
    return endpoint


def _parameters(operation: Operation, in_path: list[str]) -> list[Parameter]:
    """Return the parameters of an endpoint, from which FastAPI reads the request."""
    hints = get_type_hints(operation.method)
    types: dict[str, Any] = {name: hints[name] for name in in_path}
    in_query = operation.verb in ("GET", "DELETE")
    model = request_of(
        operation.method,
        *in_path,
        doc=operation.help,
        renamed=operation.renamed,
        in_query=in_query,
    )
    if model.model_fields:
        types["body"] = Annotated[model, Query()] if in_query else model
    types |= {"tenant": Asking, "request": Request}
    kind = Parameter.KEYWORD_ONLY
    parameters = [Parameter(name, kind, annotation=hint) for name, hint in types.items()]
    if operation.in_parts:
        parameters.append(Parameter("offset", kind, default=0, annotation=Offset))
        parameters.append(Parameter("limit", kind, default=MAX_PART, annotation=Limit))
    return parameters
