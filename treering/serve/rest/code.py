"""A round of work on code: its git working tree, or its files as a client sends them."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import Request

from treering.errors import InputError
from treering.serve.paths import served_git
from treering.serve.rest.router import router_of
from treering.serve.rest.wire import Body, PathText, body_of
from treering.serve.tenant import Asking
from treering.views.code.memory import CodeMemory
from treering.views.code.rounds.session import SessionBlock

router = router_of("code", "/v1/code")


@body_of(CodeMemory.record)
class CodeRecordRequest(Body):
    """A round of work on code: what was asked for, and what it changed.

    Give ``root`` for the git working tree there, and the ``diff`` if it is one of several changes,
    or the files ``after`` the round, and ``before``.
    """

    root: PathText | None = None
    before: dict[PathText, str] | None = None
    after: dict[PathText, str] | None = None


@router.post("/rounds", status_code=HTTPStatus.CREATED)
async def record(
    worked: CodeRecordRequest, request: Request, tenant: Asking
) -> tuple[SessionBlock, ...]:
    """Remember a round of work: what was asked for, and every definition that it changed."""
    given = worked.given("root")
    if worked.root is not None:
        given["root"] = await tenant.call(served_git, request.app.state.settings, worked.root)
    elif worked.after is None:
        raise InputError("give root, or the files as they are after the round", param="root")
    return await tenant.change(lambda: tenant.memory.code.record(**given))
