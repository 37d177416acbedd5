"""Where routes are described: each is built once, when its module is imported."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.routing import APIRoute

from treering.serve import problems


def router_of(tag: str, prefix: str) -> APIRouter:
    """A router whose routes stand under a tag and a path, and may answer with a problem.

    What belongs to a route stands here and not where an application takes it in: included with
    options of its own, a route would be built again, at the first request of each application.
    """
    return APIRouter(
        tags=[tag],
        prefix=prefix,
        responses=problems.RESPONSES,
        generate_unique_id_function=_operation_id,
    )


def _operation_id(route: APIRoute) -> str:
    return f"{route.tags[0]}_{route.name}".rstrip("_")
