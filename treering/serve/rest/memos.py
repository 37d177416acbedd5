"""Memos: what has been talked about, by topic; read, search, correct."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import Field

from treering.records import Entry
from treering.serve.rest.router import router_of
from treering.serve.rest.wire import IN_QUERY, Body, body_of
from treering.serve.tenant import Asking
from treering.views.memos.record import Choice, Memo, MemoHit
from treering.views.memos.view import MemoView

router = router_of("memos", "/v1/memos")

MAX_MERGED = 100

AsOf = Annotated[str | None, Query(description="As they were known then: ISO 8601.")]


@body_of(MemoView.list)
class MemoListRequest(Body):
    """Which memos to list; all conditions that are given must hold."""

    model_config = IN_QUERY

    topic: str | None = Field(None, description="A part of the topic.")
    source: str | None = Field(None, description="The conversation.")
    since: str | None = Field(None, description="With lines said from then on.")
    until: str | None = Field(None, description="With lines said before then.")


@body_of(MemoView.search)
class MemoSearchRequest(Body):
    """A search among memos."""


@body_of(MemoView.choose)
class MemoChoiceRequest(Body):
    """What to choose memos for."""


@body_of(MemoView.edit, "memo_id")
class MemoEditRequest(Body):
    """What to change of a memo; a summary so given counts as supported."""


@body_of(MemoView.pin, "memo_id")
class MemoPinRequest(Body):
    """Whether a memo is shown before the others."""


@body_of(MemoView.merge, "memo_ids")
class MemoMergeRequest(Body):
    """Memos to make one of, under the id of the first."""

    ids: list[str] = Field(min_length=2, max_length=MAX_MERGED)


@body_of(MemoView.split, "memo_id")
class MemoSplitRequest(Body):
    """Where to cut a memo: before which of its lines."""


@body_of(MemoView.settle)
class MemoSettleRequest(Body):
    """Which memos to write, and by which prompt."""


@router.get("")
async def list_(body: Annotated[MemoListRequest, Query()], tenant: Asking) -> list[Memo]:
    """The memos, pinned ones first, else in the order they were first made."""
    return await tenant.call(tenant.memory.memos.list, **body.given())


@router.post("/search")
async def search(body: MemoSearchRequest, tenant: Asking) -> list[MemoHit]:
    """The memos that answer a query best, best first."""
    return await tenant.call(tenant.memory.memos.search, **body.given())


@router.post("/choose")
async def choose(body: MemoChoiceRequest, tenant: Asking) -> Choice:
    """The memos that a query is about, with their lines; the language model chooses if it can."""
    return await tenant.call_slow(tenant.memory.memos.choose, **body.given())


@router.get("/recent")
async def recent(source: str, tenant: Asking) -> list[Entry]:
    """The last lines of a conversation that no memo stands for yet."""
    return await tenant.call(tenant.memory.memos.recent, source)


@router.post("/merge")
async def merge(body: MemoMergeRequest, tenant: Asking) -> Memo:
    """Make one memo of several; the others are deleted."""
    return await tenant.change(tenant.memory.memos.merge, body.ids, **body.given("ids"))


@router.post("/settle")
async def settle(body: MemoSettleRequest, tenant: Asking) -> None:
    """Let the language model write the memos that are due, of all conversations or of one."""
    await tenant.call_slow(tenant.memory.memos.settle, **body.given())


@router.get("/{memo_id}")
async def get(memo_id: str, tenant: Asking, as_of: AsOf = None) -> Memo:
    """One memo."""
    return await tenant.call(tenant.memory.memos.get, memo_id, as_of=as_of)


@router.get("/{memo_id}/lines")
async def lines(memo_id: str, tenant: Asking) -> list[Entry]:
    """The lines that a memo stands for, as they were said."""

    def read() -> list[Entry]:
        memos = tenant.memory.memos
        return memos.lines(memos.get(memo_id))

    return await tenant.call(read)


@router.get("/{memo_id}/history")
async def history(memo_id: str, tenant: Asking) -> list[Memo]:
    """Every version of a memo, oldest first."""
    return await tenant.call(tenant.memory.memos.history, memo_id)


@router.patch("/{memo_id}")
async def edit(memo_id: str, body: MemoEditRequest, tenant: Asking) -> Memo:
    """Give a memo another topic, summary or both."""
    return await tenant.change(tenant.memory.memos.edit, memo_id, **body.given())


@router.put("/{memo_id}/pin")
async def pin(memo_id: str, body: MemoPinRequest, tenant: Asking) -> Memo:
    """Pin a memo, or let go of it."""
    return await tenant.change(tenant.memory.memos.pin, memo_id, **body.given())


@router.post("/{memo_id}/split")
async def split(memo_id: str, body: MemoSplitRequest, tenant: Asking) -> tuple[Memo, Memo]:
    """Cut a memo in two before one of its lines; the first part keeps the id."""
    return await tenant.change(tenant.memory.memos.split, memo_id, **body.given())


@router.delete("/{memo_id}", status_code=204)
async def delete(memo_id: str, tenant: Asking) -> None:
    """Delete a memo; its lines stay, and forgetting those erases its history too."""
    await tenant.change(tenant.memory.memos.delete, memo_id)
