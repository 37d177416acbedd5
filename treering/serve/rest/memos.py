"""Memos: a change of one, and its lines."""

from __future__ import annotations

from treering.records import Entry
from treering.serve.rest.router import router_of
from treering.serve.rest.wire import Body, body_of
from treering.serve.tenant import Asking
from treering.views.memos.record import Memo
from treering.views.memos.view import MemoView

router = router_of("memos", "/v1/memos")


@body_of(MemoView.edit, "memo_id")
class MemoEditRequest(Body):
    """What to change of a memo; a summary so given counts as supported, a pinned memo is first."""

    pinned: bool | None = None


@router.patch("/{memo_id}")
async def edit(memo_id: str, body: MemoEditRequest, tenant: Asking) -> Memo:
    """Give a memo another topic or summary, pin it, or let go of it."""

    def change() -> Memo:
        memos, text = tenant.memory.memos, body.given("pinned")
        if body.pinned is None:
            return memos.edit(memo_id, **text)
        if any(value is not None for value in text.values()):
            memos.edit(memo_id, **text)
        return memos.pin(memo_id, body.pinned)

    return await tenant.change(change)


@router.get("/{memo_id}/lines")
async def lines(memo_id: str, tenant: Asking) -> list[Entry]:
    """The lines that a memo stands for, as they were said."""

    def read() -> list[Entry]:
        memos = tenant.memory.memos
        return memos.lines(memos.get(memo_id))

    return await tenant.call(read)
