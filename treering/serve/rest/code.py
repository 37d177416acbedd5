"""Code: repositories below the folders that the server was started with.

``memory.code`` imports its parsers when it is first asked for: in a thread, not in the event loop.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import Query as QueryParameter
from fastapi import Request
from pydantic import Field

from treering.errors import InputError
from treering.records import Forgotten, Mode
from treering.serve.paths import served, served_git
from treering.serve.rest.router import router_of
from treering.serve.rest.wire import Body, Budget, K, PathText, Query
from treering.serve.settings import ServerSettings
from treering.serve.tenant import Asking
from treering.views.choices import ContextName, DetectorName, JudgeName, Unit
from treering.views.code.guard.check import CheckReport
from treering.views.code.index.code_index import ALPHA, CodeHit
from treering.views.code.index.indexing import CodeReceipt
from treering.views.code.index.names import About
from treering.views.code.index.neighbours import Neighbourhood
from treering.views.code.rounds.history import DEPTH
from treering.views.code.rounds.session import SessionBlock
from treering.views.code.write.generate import CONTEXT_BUDGET, GeneratedCode

router = router_of("code", "/v1/code")

MAX_DEPTH = 1_000  # commits that one check compares with


class CodeSearchRequest(Body):
    """A search for the code that matters to an instruction."""

    query: Query
    k: K = 10
    root: PathText | None = None
    mode: Mode | None = None
    alpha: Annotated[float, Field(ge=0, le=10)] = ALPHA
    near: PathText | None = Field(None, description="Where the code will go: PATH or PATH:LINE.")
    paths: list[PathText] | None = Field(
        None, min_length=1, description="Only files at these, as in .gitignore: src/, *.py, !tests/"
    )


class CodeMapRequest(Body):
    """A map of the most central definitions."""

    budget: Budget = 1000
    root: PathText | None = None
    focus: dict[str, float] | None = None


class CodeIndexRequest(Body):
    """A working tree on the server's disk."""

    root: PathText
    unit: Unit | None = None
    embed: bool | None = None


class CodeRecordRequest(Body):
    """A round of work on code: what was asked for, and what it changed.

    Give ``root`` for the git working tree there, and the ``diff`` if it is one of several changes,
    or the files ``after`` the round, and ``before``.
    """

    instruction: Query
    root: PathText | None = None
    before: dict[PathText, str] | None = None
    after: dict[PathText, str] | None = None
    diff: str | None = None
    note: str = ""
    outcome: str = ""


class CodeNoteRequest(Body):
    """A note on the last recorded block of a definition."""

    definition: str
    note: str
    outcome: str = ""


class CodeGenerateRequest(Body):
    """A definition to be written by the language model."""

    instruction: Query
    definition: str
    root: PathText | None = None
    judge: JudgeName | None = None
    detector: DetectorName | None = None
    context: ContextName | None = None
    budget: Budget = CONTEXT_BUDGET


class CodeAboutRequest(Body):
    """A question about code."""

    question: Query
    k: K = 5


class ForgetRoundsRequest(Body):
    """The definition whose recorded rounds are to be erased."""

    definition: str


class CodeCheckRequest(Body):
    """A change to check against what was recorded: of a git working tree, or of commits."""

    root: PathText
    staged: bool = False
    commits: str | None = None
    message: str = ""
    depth: Annotated[int, Field(ge=0, le=MAX_DEPTH)] = DEPTH


@router.get("/repositories")
async def repositories(tenant: Asking) -> list[str]:
    """The roots of the repositories that are indexed."""
    return await tenant.call(lambda: tenant.memory.code.repositories())


@router.post("/repositories")
async def index(tree: CodeIndexRequest, request: Request, tenant: Asking) -> CodeReceipt:
    """Take in a working tree below a folder that is served; only what has changed is read anew."""
    root = await tenant.call(served, _settings(request), tree.root)
    return await tenant.call_slow(
        lambda: tenant.memory.code.index(root, unit=tree.unit, embed=tree.embed)
    )


@router.delete("/repositories")
async def forget(root: Annotated[PathText, QueryParameter()], tenant: Asking) -> int:
    """Erase a repository's index; the number of files it had."""
    return await tenant.change(lambda: tenant.memory.code.forget(root))


@router.post("/search")
async def search(body: CodeSearchRequest, tenant: Asking) -> list[CodeHit]:
    """The fragments of code that matter to an instruction, best first."""
    return await tenant.call(lambda: tenant.memory.code.search(**body.model_dump()))


@router.post("/map")
async def map_(body: CodeMapRequest, tenant: Asking) -> str:
    """The most central definitions of a repository within a budget of tokens."""
    return await tenant.call(lambda: tenant.memory.code.map(**body.model_dump()))


@router.post("/rounds", status_code=HTTPStatus.CREATED)
async def record(
    worked: CodeRecordRequest, request: Request, tenant: Asking
) -> tuple[SessionBlock, ...]:
    """Remember a round of work: what was asked for, and every definition that it changed."""
    given = worked.model_dump(exclude={"root"})
    if worked.root is not None:
        given["root"] = await tenant.call(served_git, _settings(request), worked.root)
    elif worked.after is None:
        raise InputError("give root, or the files as they are after the round")
    return await tenant.change(lambda: tenant.memory.code.record(**given))


@router.post("/generate")
async def generate(body: CodeGenerateRequest, tenant: Asking) -> GeneratedCode:
    """One round with the language model on a definition, recorded; no file is read or changed."""
    return await tenant.call_slow(lambda: tenant.memory.code.generate(**body.model_dump()))


@router.post("/rounds/forget")
async def forget_rounds(which: ForgetRoundsRequest, tenant: Asking) -> Forgotten:
    """Erase the recorded rounds of a definition, also from the file's bytes."""
    return await tenant.change(lambda: tenant.memory.code.forget_rounds(which.definition))


@router.post("/about")
async def about(asked: CodeAboutRequest, tenant: Asking) -> About:
    """What was said, done and what stands in the code, on a question."""
    return await tenant.change(lambda: tenant.memory.code.about(asked.question, k=asked.k))


@router.get("/neighbours")
async def neighbours(
    path: Annotated[PathText, QueryParameter()],
    definition: str,
    tenant: Asking,
    root: Annotated[PathText | None, QueryParameter()] = None,
) -> Neighbourhood:
    """A definition of indexed code: who calls it, whom it calls, its members."""
    return await tenant.call(lambda: tenant.memory.code.neighbours(path, definition, root=root))


@router.post("/note")
async def note(noted: CodeNoteRequest, tenant: Asking) -> SessionBlock:
    """Write the note of a definition's last block, now that its reception is known."""
    return await tenant.change(
        lambda: tenant.memory.code.note(noted.definition, noted.note, outcome=noted.outcome)
    )


@router.get("/log")
async def log(
    definition: str,
    request: Request,
    tenant: Asking,
    root: Annotated[PathText | None, QueryParameter()] = None,
) -> tuple[SessionBlock, ...]:
    """The story of a definition: what was asked for, changed and noted; with root, its commits."""
    where = None if root is None else await tenant.call(served_git, _settings(request), root)
    return await tenant.call_slow(lambda: tenant.memory.code.log(definition, root=where))


@router.post("/check")
async def check(body: CodeCheckRequest, request: Request, tenant: Asking) -> CheckReport:
    """What a change would undo of the recorded rounds and of the last commits."""
    root = await tenant.call(served_git, _settings(request), body.root)
    given = body.model_dump(exclude={"root"})
    return await tenant.call_slow(lambda: tenant.memory.code.check(root=root, **given))


def _settings(request: Request) -> ServerSettings:
    settings: ServerSettings = request.app.state.settings
    return settings
