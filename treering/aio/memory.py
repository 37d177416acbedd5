"""AsyncMemory: Memory for asyncio. Written by tools/generate_async.py."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

from treering.aio.chat_stream import AsyncChatStream
from treering.aio.code import AsyncCode
from treering.aio.facts import AsyncFacts
from treering.aio.memos import AsyncMemos
from treering.aio.paging import paged
from treering.aio.tree import AsyncTree
from treering.chat.answer import Answer
from treering.chat.policy import Policy
from treering.chat.prompt import ChatPrompt
from treering.embed.contract import Embedder
from treering.ingest.intake import Message
from treering.ingest.where import Where
from treering.llm.contract import LLM
from treering.llm.tokens import estimate_tokens
from treering.memory import DEFAULT_SPACE, Memory
from treering.records import (
    BRIEF_TOKENS,
    JSON,
    Altitude,
    Context,
    Entry,
    Forgotten,
    Hit,
    Kind,
    Level,
    Page,
    Progress,
    Receipt,
    Stats,
)
from treering.search.brief import Brief
from treering.search.compression.contract import Compressor, CompressorName
from treering.search.context import CountTokens
from treering.search.own import Mode
from treering.search.relations.registry import Chosen
from treering.search.relations.settings import FitReport
from treering.search.rerank import Reranker
from treering.search.rounds import ChatUnit
from treering.views.code.parse.cuts import Unit
from treering.views.code.write.choices import ContextName, DetectorName, JudgeName
from treering.views.memos.choose import NotoPlace
from treering.views.memos.write import Wording
from treering.views.registry import Alpha
from treering.views.settings import SpaceSettings


class AsyncMemory:
    """Memory for asyncio: the same methods, each run in a worker thread.

    Open one with ``await AsyncMemory.open(...)``. Calls may be awaited side by side. A call that is
    cancelled is not waited for any more but runs to its end, so what it adds is added as a whole.
    ``progress`` and other callbacks are called in the worker thread. So it is with the views:
    ``await memory.tree.search(...)``.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    @classmethod
    async def open(
        cls,
        url: str | Path,
        *,
        space: str = DEFAULT_SPACE,
        embedder: str | Embedder | None = None,
        llm: str | LLM | None = None,
        api_key: str | None = None,
        create: bool | None = None,
        exact: bool = False,
    ) -> Self:
        """Open the memory at a path or ``sqlite:///`` URL, creating it if it is not there.

        ``space`` keeps tenants apart. It is made by the first ``add``; until then reading it raises
        UnknownName in a file that has other spaces, since its name may be mistyped. With
        ``create=True`` it is made now, with ``create=False`` a file or space that is not there is
        an error now. ``embedder`` (default: what the space was built with, else
        the bundled model) and ``llm`` (default: from the environment, when first needed) are
        specifications or objects. Nothing leaves the machine unless one of them names an endpoint.

        A space of over 20,000 fragments keeps their vectors in main memory in eight bits, and
        scores the best hits by what the file has. With ``exact`` it keeps floats: four times as
        much memory, and the same hits but for one place in some hundreds.

        ``postgresql://`` URLs, with the extra ``postgres``, keep the memory in a schema of that
        database; a file is not needed then. ``http://`` and ``https://`` URLs are those of a
        treering server, which has its own models; ``api_key`` (default: ``TREERING_API_KEY``) is
        for that.

        Raises JournalError, ModelMismatch, UnknownName, InputError, LLMNotConfigured.
        """
        return cls(
            await asyncio.to_thread(
                lambda: Memory.open(
                    url,
                    space=space,
                    embedder=embedder,
                    llm=llm,
                    api_key=api_key,
                    create=create,
                    exact=exact,
                )
            )
        )

    @property
    def code(self) -> AsyncCode:
        """The code of this space: repositories indexed and searched, rounds of work remembered."""
        return AsyncCode(lambda: self._memory.code)

    async def close(self) -> None:
        """Close the file; a second call does nothing."""
        return await asyncio.to_thread(lambda: self._memory.close())

    async def add(
        self,
        content: str | Path | Message | Iterable[Message],
        *,
        source: str | None = None,
        kind: Kind | None = None,
        at: Any = None,
        speaker: str | None = None,
        session: str | None = None,
        metadata: Mapping[str, JSON] | None = None,
        mask: bool = False,
        expires: Any = None,
        pin: bool = False,
        sync: bool = False,
        progress: Progress | None = None,
    ) -> Receipt:
        """Remember a text, OpenAI-style messages, or a file or folder; durable on return.

        Documents (PDF, Word, HTML, EPUB, spreadsheets) need the extra ``documents``; a page and the
        like is a source of its own, such as ``lease.pdf#2``. Files of a folder that cannot be read
        are in ``Receipt.skipped``.

        What a source holds already is left alone, so adding again is safe. A file that has changed
        replaces its entries; texts and messages are appended to their source. ``at``, ``speaker``,
        ``session`` and ``metadata`` hold for all that is added unless a message says otherwise.

        ``mask`` leaves out passages between ``<private>`` and ``</private>`` and puts a mark in the
        place of keys, tokens and passwords; the receipt counts them.

        From ``expires`` on, a time, it is not found any more; then it is erased like what is
        forgotten. What has a ``pin`` comes before all else in contexts and briefs.

        Sources of a folder's files are called after the folder, ``notes/travel.md``; a file that
        was moved is known again. ``Receipt.gone`` names the sources whose files are there no more;
        with ``sync`` they are erased. A text file is dated by its front matter, its name or, else,
        its modification time.

        An embedder that fails delays the embedding, which is queued, and loses nothing:
        ``Receipt.pending`` counts the entries that are not fully searchable yet.

        Raises InputError (and then nothing was added), MissingExtra and JournalError.
        """
        return await asyncio.to_thread(
            lambda: self._memory.add(
                content,
                source=source,
                kind=kind,
                at=at,
                speaker=speaker,
                session=session,
                metadata=metadata,
                mask=mask,
                expires=expires,
                pin=pin,
                sync=sync,
                progress=progress,
            )
        )

    async def replace(self, entry_id: str, text: str) -> Entry:
        """Give an entry another text; its id, place, time, speaker and metadata stay.

        The old text leaves the file's bytes with the next ``settle`` or ``forget``.

        Raises UnknownName, EmptyText, TextEncodingError.
        """
        return await asyncio.to_thread(lambda: self._memory.replace(entry_id, text))

    async def pin(self, entry_id: str, pinned: bool = True) -> Entry:
        """Let an entry come before all others in contexts and briefs, or no longer.

        Raises UnknownName.
        """
        return await asyncio.to_thread(lambda: self._memory.pin(entry_id, pinned))

    async def supersede(self, old: str, new: str | None) -> None:
        """Say that the entry ``new`` holds instead of ``old``, by their ids.

        Both stay; the older one is marked wherever it is shown, as if a rule had found it. With
        None for ``new`` it is taken back. Raises UnknownName, and InputError for a circle.
        """
        return await asyncio.to_thread(lambda: self._memory.supersede(old, new))

    async def settle(self, progress: Progress | None = None, *, upgrade: bool = False) -> Stats:
        """Do all pending work now. Raises what stood in its way; the rest stays queued.

        ``upgrade`` has the language model rewrite the summaries that were made without one, and the
        memos that no reply could be read for.
        """
        return await asyncio.to_thread(lambda: self._memory.settle(progress, upgrade=upgrade))

    async def rebuild(self, *views: str, progress: Progress | None = None) -> Stats:
        """Make the rows of views again from the journal; of all that can be, if none is named.

        Views are ``fragments``, ``tree``, ``memo``, ``facts``, ``code`` and those of other
        packages. Searching and adding go on meanwhile. Safe to interrupt: called again, it goes
        on. A view that another version of treering derived is rebuilt by ``settle()``, too;
        ``stats().outdated`` names it. What a language model made is only dropped if one is
        configured to make it again.

        Raises UnknownName, LLMNotConfigured, LLMError, EmbeddingError.
        """
        return await asyncio.to_thread(lambda: self._memory.rebuild(*views, progress=progress))

    async def search(
        self,
        query: str,
        *,
        k: int | None = None,
        mode: Mode | None = None,
        relations: Chosen | None = None,
        alpha: Alpha | None = None,
        level: Level | None = None,
        min_confidence: float = 0.0,
        rerank: str | Reranker | None = None,
        **where: Unpack[Where],
    ) -> list[Hit]:
        """The k fragments that answer a query best, best first: ``own + Σ_r α_r·env_r``.

        What is left out of ``k``, ``mode`` and ``level`` is as ``configure`` set it for the space:
        10, ``hybrid`` and ``texts`` where it did not.

        ``mode`` is ``hybrid`` (BM25 and cosine), ``lexical`` or ``dense``. ``relations`` are names,
        relations or ``Weighted`` relations (default: those measured best for each kind of content,
        or found by ``fit``; ``()`` for none), ``alpha`` the weight of all or of each by name.
        Filters combine with AND. ``hit.why`` holds the terms that add up to the score.

        ``level`` asks the tree of summaries too: ``"summaries"`` finds these alone, ``"all"`` ranks
        them among the texts, with relatives in the tree among the default relations. A summary
        meets a filter if every text that it rests on does.

        Of the k best those are left out that are less sure than ``min_confidence`` (0 to 1), by
        ``hit.confidence``: so there may be none.

        ``rerank`` has the 50 best ordered anew by a ``Reranker``, or by one that a package brings
        under a name; their scores are then its own.
        """
        return await asyncio.to_thread(
            lambda: self._memory.search(
                query,
                k=k,
                mode=mode,
                relations=relations,
                alpha=alpha,
                level=level,
                min_confidence=min_confidence,
                rerank=rerank,
                **where,
            )
        )

    async def search_many(
        self,
        queries: Sequence[str],
        *,
        k: int | None = None,
        mode: Mode | None = None,
        relations: Chosen | None = None,
        alpha: Alpha | None = None,
        level: Level | None = None,
        min_confidence: float = 0.0,
        rerank: str | Reranker | None = None,
        **where: Unpack[Where],
    ) -> list[list[Hit]]:
        """As ``search`` for several queries in one pass over the space."""
        return await asyncio.to_thread(
            lambda: self._memory.search_many(
                queries,
                k=k,
                mode=mode,
                relations=relations,
                alpha=alpha,
                level=level,
                min_confidence=min_confidence,
                rerank=rerank,
                **where,
            )
        )

    async def context(
        self,
        query: str,
        *,
        budget: int = 1000,
        mode: Mode | None = None,
        relations: Chosen | None = None,
        alpha: Alpha | None = None,
        altitude: Altitude = "texts",
        min_confidence: float = 0.0,
        compress: float | None = None,
        compressor: CompressorName | Compressor = "words",
        count_tokens: CountTokens = estimate_tokens,
        **where: Unpack[Where],
    ) -> Context:
        """Prompt-ready passages for a query within ``budget`` tokens, in reading order, cited.

        Near-duplicates are dropped and neighbours merged. ``count_tokens`` counts for the budget;
        the default is an estimate for current models. ``altitude="mixed"`` shows a summary of the
        tree instead of texts below it wherever it covers more of the question for each token,
        never both.

        With ``min_confidence`` (0 to 1) nothing less sure is put in: where nothing in memory is
        relevant the context is empty, and ``context.surest`` says how sure the best was.

        With ``compress`` (the least share of tokens to keep, such as 0.5) passages of up to
        ``budget / compress`` tokens are found, and shortened as far as ``budget`` needs; what fits
        is not cut. ``compressor`` leaves out what is easily guessed: ``words`` by how often they
        stand there, ``model`` by the probabilities of a local model (raises LLMNotConfigured,
        LLMUnavailable). Citations, speakers, code, and numbers with what they count stay; what
        denies or bounds a clause stays or goes with it.
        """
        return await asyncio.to_thread(
            lambda: self._memory.context(
                query,
                budget=budget,
                mode=mode,
                relations=relations,
                alpha=alpha,
                altitude=altitude,
                min_confidence=min_confidence,
                compress=compress,
                compressor=compressor,
                count_tokens=count_tokens,
                **where,
            )
        )

    async def brief(
        self, *, budget: int = BRIEF_TOKENS, count_tokens: CountTokens = estimate_tokens
    ) -> Brief:
        """What to know of this space before one begins: whom and what it is about, decisions and
        preferences that hold, what is open, what changed lately; cited, within ``budget`` tokens.

        No model is asked. It is made of facts, memos, summaries that are there, and the newest
        entries; an empty space has an empty one.
        """
        return await asyncio.to_thread(
            lambda: self._memory.brief(budget=budget, count_tokens=count_tokens)
        )

    async def ask(
        self,
        question: str,
        *,
        budget: int = 1500,
        altitude: Altitude = "texts",
        **where: Unpack[Where],
    ) -> Answer:
        """Answer a question from the memory, with citations, by a prompt of ``budget`` tokens.

        ``altitude`` is that of ``context``. Raises LLMNotConfigured, which says how to configure a
        model, LLMUnavailable, LLMReplyError.
        """
        return await asyncio.to_thread(
            lambda: self._memory.ask(question, budget=budget, altitude=altitude, **where)
        )

    async def chat(
        self,
        message: str,
        *,
        policy: str | Policy | None = None,
        source: str = "chat",
        budget: int = 2000,
        speaker: str | None = None,
    ) -> Answer:
        """One round of a conversation that is remembered under ``source``.

        ``policy`` decides what the model sees besides the message: ``auto`` (recent dialogue,
        related passages, and in brief what else relates), ``window`` (the newest end of the
        conversation), ``fragments`` (FragRel), ``tree``, ``memo`` (MemoChat), or one of your own;
        by default that of ``configure``, which is ``auto`` where it was not set.
        ``budget`` bounds the whole prompt; the reply comes on top. ``speaker`` is who says the
        message, of whom it then states facts; without one it is the user.

        The message is durable before the model is asked: one that fails loses nothing, and the
        same message said again is answered without being kept twice.

        Raises InputError (and then nothing was kept), LLMNotConfigured, LLMUnavailable,
        LLMReplyError.
        """
        return await asyncio.to_thread(
            lambda: self._memory.chat(
                message, policy=policy, source=source, budget=budget, speaker=speaker
            )
        )

    async def chat_stream(
        self,
        message: str,
        *,
        policy: str | Policy | None = None,
        source: str = "chat",
        budget: int = 2000,
        speaker: str | None = None,
    ) -> AsyncChatStream:
        """As ``chat``, the reply piece by piece; it is remembered once it is complete."""
        return AsyncChatStream(
            await asyncio.to_thread(
                lambda: self._memory.chat_stream(
                    message, policy=policy, source=source, budget=budget, speaker=speaker
                )
            )
        )

    async def chat_prompt(
        self,
        message: str,
        *,
        policy: str | Policy | None = None,
        source: str = "chat",
        budget: int = 2000,
        count_tokens: CountTokens = estimate_tokens,
    ) -> ChatPrompt:
        """What ``chat`` would show a model; no reply is asked for, and the message is not kept.

        With the policy ``memo`` the language model, if there is one, chooses the memos.
        """
        return await asyncio.to_thread(
            lambda: self._memory.chat_prompt(
                message, policy=policy, source=source, budget=budget, count_tokens=count_tokens
            )
        )

    def entries(self, **where: Unpack[Where]) -> AsyncIterator[Entry]:
        """The entries that meet a filter, in the order they were added, with what is known against
        each: see ``Entry``."""
        return paged(self._memory.entries(**where))

    async def page(
        self, cursor: str | None = None, *, limit: int = 100, **where: Unpack[Where]
    ) -> Page:
        """Up to ``limit`` entries that meet a filter, from ``cursor`` on: the ``next`` of a page.

        Raises InputError, FilterError.
        """
        return await asyncio.to_thread(lambda: self._memory.page(cursor, limit=limit, **where))

    async def get(self, entry_id: str) -> Entry:
        """The entry with that id. Raises UnknownName."""
        return await asyncio.to_thread(lambda: self._memory.get(entry_id))

    async def forget(
        self, *entry_ids: str, replies: bool = False, **where: Unpack[Where]
    ) -> Forgotten:
        """Erase entries by id or filter: from the journal, every view, and the file's bytes.

        With both, the entries of these ids that meet the filter. With ``replies``, what a model
        said that may quote them goes, too; else the receipt names it. If somebody else is reading
        the file for long, ``scrubbed`` is False: the text may then be in its bytes until that ends.
        It is removed by the next ``forget``, ``settle`` or opening, or by a running server.

        Raises UnknownName when one of the ids is not there or nothing matches, and InputError
        without any condition; nothing is erased then.
        """
        return await asyncio.to_thread(
            lambda: self._memory.forget(*entry_ids, replies=replies, **where)
        )

    async def forget_space(self, name: str) -> Forgotten:
        """Erase a space of this file: all it holds, its name, and the keys that open only it.

        It goes from everything derived and from the file's bytes. The space of this memory may be
        named, too: it is empty then, and ``add`` would begin it anew. Raises UnknownName.
        """
        return await asyncio.to_thread(lambda: self._memory.forget_space(name))

    @property
    def memos(self) -> AsyncMemos:
        """What has been talked about, by topic: read it, search it, correct it."""
        return AsyncMemos(lambda: self._memory.memos)

    @property
    def tree(self) -> AsyncTree:
        """The tree of summaries: look at it, search it, draw it.

        It takes in what was added since it was last used; whoever does not use it pays nothing.
        """
        return AsyncTree(lambda: self._memory.tree)

    @property
    def facts(self) -> AsyncFacts:
        """What was stated of people and things, and what later statements superseded."""
        return AsyncFacts(lambda: self._memory.facts)

    async def configure(
        self,
        preset: str | None = None,
        *,
        fragment: str | None = None,
        mode: Mode | None = None,
        level: Level | None = None,
        k: int | None = None,
        chat_unit: ChatUnit | None = None,
        policy: str | None = None,
        wording: Wording | None = None,
        noto: NotoPlace | None = None,
        judge: JudgeName | None = None,
        detector: DetectorName | None = None,
        context: ContextName | None = None,
        alike: str | None = None,
        block_alpha: float | None = None,
        unit: Unit | None = None,
    ) -> SpaceSettings:
        """Set what calls do that are not told otherwise, for this space; return all settings.

        ``preset`` sets everything as a paper prints it: ``fragrel-a-story``, ``fragrel-b-story``,
        ``fragrel-chat``, ``fragrel-code``, ``memtree``, ``memtree-story``, ``memtree-chat``,
        ``memochat``, ``codemem``, or as it was, ``default``. Other values come on top of it:

        ``fragment``: the most that a fragment of text has, such as ``500 words``, ``512 tokens`` or
        ``1000 characters``. ``mode``, ``level``, ``k``: of ``search``. ``policy``: of ``chat``.
        ``chat_unit``: what searches rank of chats, ``messages`` or whole ``rounds``, a message of
        the user with the replies to it: ``k`` then counts rounds, whose messages follow each other.
        ``wording``: of ``memos.settle``. ``noto``: where "None of the others" stands when a model
        chooses memos, ``first`` or at a ``random`` place. ``judge``, ``detector``, ``context``: of
        ``code.generate``. ``alike``: from where on that takes two instructions for one intent, a
        cosine (``0.95``) or more than a share of all pairs of recorded ones (``99%``).
        ``block_alpha``: the weight of the code relation in what it retrieves, 0 for BM25 alone.
        ``unit``: of ``code.index``.

        With nothing given, nothing is changed.

        What the new settings derive otherwise is made again by ``settle()``: see
        ``stats().outdated``. The tree is grown again when it is next used.

        Raises UnknownName for a preset or policy that is not there, InputError for a bad value, or
        a preset for content of another kind than the space holds; nothing is changed then.
        """
        return await asyncio.to_thread(
            lambda: self._memory.configure(
                preset,
                fragment=fragment,
                mode=mode,
                level=level,
                k=k,
                chat_unit=chat_unit,
                policy=policy,
                wording=wording,
                noto=noto,
                judge=judge,
                detector=detector,
                context=context,
                alike=alike,
                block_alpha=block_alpha,
                unit=unit,
            )
        )

    async def fit(self, *, progress: Progress | None = None) -> list[FitReport]:
        """Choose the relations' weights and parameters for this space, without labels.

        Pseudo-queries are made from the space's own text, for each kind of content by itself; what
        is found is kept only where it gains over the shipped defaults on held-out ones. Raises
        InputError when there is too little text to tell.
        """
        return await asyncio.to_thread(lambda: self._memory.fit(progress=progress))

    async def reembed(self, embedder: str | Embedder, *, progress: Progress | None = None) -> Stats:
        """Change the embedding model; the old one answers until the new one is complete.

        Safe to interrupt: call it again to go on. Raises EmbeddingError, UnknownName.
        """
        return await asyncio.to_thread(lambda: self._memory.reembed(embedder, progress=progress))

    def export(self) -> AsyncIterator[str]:
        """The space as lines of JSON, without line ends: a header, then one entry a line.

        What is damaged is left out. Raises JournalCorrupt naming it, after all that can be read.
        """
        return paged(self._memory.export())

    async def import_(
        self,
        lines: Iterable[str] | Path,
        *,
        origin: str | None = None,
        since: Any = None,
        project: str | Path | None = None,
        mask: bool = True,
        progress: Progress | None = None,
    ) -> Receipt:
        """Take in an export; entries that are here already are left alone. All or nothing.

        A Path may also be what other programs left: transcripts of coding agents, exports of chat
        clients and messengers, mail; a file, a folder of them, or a ``.zip``. Their formats are
        recognised (``origin`` allows one only). Messages are told by their own ids, so that taking
        in again is safe; they are taken in a few hundred at a time. ``since`` leaves out older
        ones, ``project`` those of a coding agent that worked in another folder. What is left out is
        counted in ``Receipt.omitted``. ``mask`` is that of ``add``; an export is taken in as it is.

        Raises InputError naming the line that cannot be read.
        """
        return await asyncio.to_thread(
            lambda: self._memory.import_(
                lines, origin=origin, since=since, project=project, mask=mask, progress=progress
            )
        )

    async def spaces(self) -> list[str]:
        """The names of all spaces of the file."""
        return await asyncio.to_thread(lambda: self._memory.spaces())

    async def stats(self) -> Stats:
        """Counts, sizes, the model, pending work, outdated views, and what models have cost.

        Raises UnknownName for a space that is not there.
        """
        return await asyncio.to_thread(lambda: self._memory.stats())

    async def check(self, progress: Progress | None = None) -> list[str]:
        """Problems found in the file, of all spaces; empty if it is sound.

        Reads everything: each entry is compared with the digest that was stored with it.
        """
        return await asyncio.to_thread(lambda: self._memory.check(progress))
