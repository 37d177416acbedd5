"""AsyncMemos: MemoView for asyncio. Written by tools/generate_async.py."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from treering.records import Progress
from treering.search.own import Mode
from treering.views.memos.record import Choice, Memo
from treering.views.memos.view import Entries, Hits, Memos, MemoView, When
from treering.views.memos.write import Wording


class AsyncMemos:
    """The methods of ``MemoView``, each run in a worker thread, as is getting at the view."""

    def __init__(self, view: Callable[[], MemoView]) -> None:
        self._view = view

    async def list(
        self,
        *,
        topic: str | None = None,
        source: str | None = None,
        since: When = None,
        until: When = None,
        as_of: When = None,
    ) -> Memos:
        """The memos in the order they were first made, pinned ones first.

        ``topic`` is a part of the topic, ``source`` a conversation. ``since`` and ``until`` ask
        for memos with lines said from then on and before then. ``as_of`` gives the memos as they
        were at that time.
        """
        return await asyncio.to_thread(
            lambda: self._view().list(
                topic=topic, source=source, since=since, until=until, as_of=as_of
            )
        )

    async def get(self, memo_id: str, *, as_of: When = None) -> Memo:
        """One memo as it is, or was at a time. Raises UnknownName."""
        return await asyncio.to_thread(lambda: self._view().get(memo_id, as_of=as_of))

    async def history(self, memo_id: str) -> Memos:
        """Every version of a memo, oldest first, including its deletion. Raises UnknownName."""
        return await asyncio.to_thread(lambda: self._view().history(memo_id))

    async def lines(self, memo: Memo) -> Entries:
        """The lines that a memo stands for, as they were said."""
        return await asyncio.to_thread(lambda: self._view().lines(memo))

    async def search(
        self, query: str, *, k: int = 10, mode: Mode = "hybrid", source: str | None = None
    ) -> Hits:
        """The k memos that answer a query best, by words, meaning and relations; needs no LLM.

        Raises InputError, EmbeddingError; ModelMismatch if another process has changed the model.
        """
        return await asyncio.to_thread(
            lambda: self._view().search(query, k=k, mode=mode, source=source)
        )

    async def choose(self, query: str, *, source: str | None = None) -> Choice:
        """The memos that a query is about, with their lines as evidence (MemoChat, table 7).

        The language model chooses among numbered options, which search narrows down if there are
        too many. Search chooses if there is no model, if the model is down, or if its reply is not
        a choice (it names every option, say). Pinned memos are always chosen and come first; the
        others follow in the order of search. While the embedder fails, words alone count.
        Summaries and lines that do not hold any more are marked.
        """
        return await asyncio.to_thread(lambda: self._view().choose(query, source=source))

    async def pinned(self) -> Memos:
        """The pinned memos, in the order they were first made."""
        return await asyncio.to_thread(lambda: self._view().pinned())

    async def written(self, source: str) -> frozenset[str]:
        """The ids of the lines of a conversation that memos stand for."""
        return await asyncio.to_thread(lambda: self._view().written(source))

    async def recent(self, source: str) -> Entries:
        """The recent dialogue: the last lines of a conversation that no memo stands for yet."""
        return await asyncio.to_thread(lambda: self._view().recent(source))

    async def edit(
        self, memo_id: str, *, topic: str | None = None, summary: str | None = None
    ) -> Memo:
        """Give a memo another topic, summary or both. A summary given here counts as supported.

        Raises UnknownName, InputError.
        """
        return await asyncio.to_thread(
            lambda: self._view().edit(memo_id, topic=topic, summary=summary)
        )

    async def pin(self, memo_id: str, pinned: bool = True) -> Memo:
        """Pin a memo, or unpin it. Raises UnknownName."""
        return await asyncio.to_thread(lambda: self._view().pin(memo_id, pinned))

    async def merge(
        self, memo_ids: Sequence[str], *, topic: str | None = None, summary: str | None = None
    ) -> Memo:
        """Make one memo of several, under the id of the first. The others are deleted.

        By default the memo has the topic of the first and the sentences of all.
        Raises UnknownName, InputError.
        """
        return await asyncio.to_thread(
            lambda: self._view().merge(memo_ids, topic=topic, summary=summary)
        )

    async def split(
        self,
        memo_id: str,
        entry_id: str,
        *,
        topics: tuple[str, str] | None = None,
        summaries: tuple[str, str] | None = None,
    ) -> tuple[Memo, Memo]:
        """Cut a memo in two before one of its lines. The first part keeps the id.

        By default both parts keep the topic and all sentences. Raises UnknownName, InputError.
        """
        return await asyncio.to_thread(
            lambda: self._view().split(memo_id, entry_id, topics=topics, summaries=summaries)
        )

    async def delete(self, memo_id: str) -> None:
        """Delete a memo. Its lines stay in the journal, and no model writes about them again.

        The history stays, too: ``memory.forget`` erases it with the lines. Raises UnknownName.
        """
        return await asyncio.to_thread(lambda: self._view().delete(memo_id))

    async def settle(
        self,
        progress: Progress | None = None,
        *,
        source: str | None = None,
        wording: Wording | None = None,
        upgrade: bool = False,
    ) -> None:
        """Have the language model write the lines that are due, of all conversations or of one.

        Lines are due once the recent dialogue has over 1,024 tokens or 10 lines. Its last exchange
        stays. Without a language model nothing is written. ``wording`` chooses the prompt: ours,
        ``plain``, or the paper's, as ``printed`` or with its slip ``mended``; by default as
        ``Memory.configure`` set it. ``upgrade`` also asks again about
        lines whose reply could not be read. Raises LLMError and EmbeddingError; unwritten lines
        stay queued.
        """
        return await asyncio.to_thread(
            lambda: self._view().settle(progress, source=source, wording=wording, upgrade=upgrade)
        )
