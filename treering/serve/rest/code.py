"""Code: repositories below the folders that the server was started with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import Field

from treering.code.fragments import Unit
from treering.code.index import ALPHA, CodeHit
from treering.code.memory import CodeReceipt
from treering.errors import AccessDenied
from treering.score.own import Mode
from treering.serve.rest.wire import Body, Budget, K
from treering.serve.rest.wire import Query as QueryText
from treering.serve.settings import Settings
from treering.serve.tenant import Asking

router = APIRouter(tags=["code"], prefix="/v1/code")

MAX_PATH_CHARS = 4096
NO_NUL = r"^[^\x00]*$"
PathText = Annotated[str, Field(min_length=1, max_length=MAX_PATH_CHARS, pattern=NO_NUL)]


class CodeSearch(Body):
    """A search for the code that matters to an instruction."""

    query: QueryText
    k: K = 10
    root: PathText | None = None
    mode: Mode | None = None
    alpha: Annotated[float, Field(ge=0, le=10)] = ALPHA
    near: PathText | None = Field(None, description="Where the code will go: PATH or PATH:LINE.")


class CodeMap(Body):
    """A map of the most central definitions."""

    budget: Budget = 1000
    root: PathText | None = None
    focus: dict[str, float] | None = None


class CodeTree(Body):
    """A working tree on the server's disk."""

    root: PathText
    unit: Unit | None = None
    embed: bool | None = None


@router.get("/repositories")
async def repositories(tenant: Asking) -> list[str]:
    """The roots of the repositories that are indexed."""
    return await tenant.call(tenant.memory.code.repositories)


@router.post("/repositories")
async def index(wanted: CodeTree, request: Request, tenant: Asking) -> CodeReceipt:
    """Take in a working tree below a folder that is served; only what has changed is read anew."""
    settings: Settings = request.app.state.settings
    root = await tenant.call(_served, settings, wanted.root)
    return await tenant.call_slow(
        tenant.memory.code.index, root, unit=wanted.unit, embed=wanted.embed
    )


@router.delete("/repositories")
async def forget(root: Annotated[PathText, Query()], tenant: Asking) -> int:
    """Erase a repository's index; the number of files it had."""
    return await tenant.change(tenant.memory.code.forget, root)


@router.post("/search")
async def search(wanted: CodeSearch, tenant: Asking) -> list[CodeHit]:
    """The fragments of code that matter to an instruction, best first."""
    return await tenant.call(lambda: tenant.memory.code.search(**wanted.model_dump()))


@router.post("/map")
async def map_(wanted: CodeMap, tenant: Asking) -> str:
    """The most central definitions of a repository within a budget of tokens."""
    return await tenant.call(lambda: tenant.memory.code.map(**wanted.model_dump()))


def _served(settings: Settings, root: str) -> Path:
    """The folder that a client names, if it lies in one that is served. Raises AccessDenied."""
    found = Path(os.path.realpath(root))  # after links and "..": what would really be read
    if not any(found.is_relative_to(allowed) for allowed in settings.code_roots):
        raise AccessDenied(
            f"{root!r} is not in a folder whose code this server may read; its owner names such "
            "folders with `treering serve --code-root FOLDER`"
        )
    return found
