"""Routes of the views that are more than a call: search, memos, facts and rounds of code."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import Request

from treering.errors import InputError
from treering.records import Entry, Hit
from treering.serve.paths import served_git
from treering.serve.rest.router import router_of
from treering.serve.rest.wire import Body, PathText, SearchRequest, body_of
from treering.serve.tenant import Asking
from treering.views.code.memory import CodeMemory
from treering.views.code.rounds.session import SessionBlock
from treering.views.facts.change import attribute_key
from treering.views.facts.view import Fact
from treering.views.memos.record import Memo
from treering.views.memos.view import MemoView

recall = router_of("recall", "/v1")
memos = router_of("memos", "/v1/memos")
facts = router_of("facts", "/v1/facts")
code = router_of("code", "/v1/code")

ROUTERS = (recall, memos, facts, code)


@recall.post("/search")
async def search(body: SearchRequest, tenant: Asking) -> list[Hit]:
    """The fragments that answer a query best, best first, each with the terms of its score."""
    return await tenant.search(**body.given())


@body_of(MemoView.edit, "memo_id")
class MemoEditRequest(Body):
    """What to change of a memo; a summary so given counts as supported, a pinned memo is first."""

    pinned: bool | None = None


@memos.patch("/{memo_id}", name="edit")
async def edit_memo(memo_id: str, body: MemoEditRequest, tenant: Asking) -> Memo:
    """Give a memo another topic or summary, pin it, or let go of it."""

    def change() -> Memo:
        memos, text = tenant.memory.memos, body.given("pinned")
        if body.pinned is None:
            return memos.edit(memo_id, **text)
        if any(value is not None for value in text.values()):
            memos.edit(memo_id, **text)
        return memos.pin(memo_id, body.pinned)

    return await tenant.change(change)


@memos.get("/{memo_id}/lines", name="lines")
async def memo_lines(memo_id: str, tenant: Asking) -> list[Entry]:
    """The lines that a memo stands for, as they were said."""

    def read() -> list[Entry]:
        memos = tenant.memory.memos
        return memos.lines(memos.get(memo_id))

    return await tenant.call(read)


@facts.get("", name="list")
async def list_facts(
    tenant: Asking,
    subject: str | None = None,
    attribute: str | None = None,
    current: bool = False,
    as_of: str | None = None,
) -> list[Fact]:
    """Statements in the order they were said, of all subjects or one, of all attributes or one.

    ``current``: only the facts that hold. ``as_of``: as they were known at that time.
    """
    facts = tenant.memory.facts
    found = await tenant.change(facts.current if current else facts.all, subject, as_of)
    key = None if attribute is None else attribute_key(attribute)
    return [fact for fact in found if key is None or fact.attribute == key]


@body_of(CodeMemory.record)
class CodeRecordRequest(Body):
    """A round of work on code: what was asked for, and what it changed.

    Give ``root`` for the git working tree there, or the files ``after`` the round, and ``before``.
    """

    root: PathText | None = None
    before: dict[PathText, str] | None = None
    after: dict[PathText, str] | None = None


@code.post("/rounds", name="record", status_code=HTTPStatus.CREATED)
async def record_round(
    worked: CodeRecordRequest, request: Request, tenant: Asking
) -> tuple[SessionBlock, ...]:
    """Remember a round of work: what was asked for, and every definition that it changed."""
    given = worked.given("root")
    if worked.root is not None:
        given["root"] = await tenant.call(served_git, request.app.state.settings, worked.root)
    elif worked.after is None:
        raise InputError("give root, or the files as they are after the round", param="root")
    return await tenant.change(lambda: tenant.memory.code.record(**given))
