"""Memory: a long-term memory in one file. This module reads as its table of contents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack, cast

from treering import forks
from treering.chat import quoted_replies
from treering.chat.answer import Answer, Answerer
from treering.chat.policies import find_policy
from treering.chat.policy import Policy
from treering.chat.prompt import ChatPrompt
from treering.chat.stream import ChatStream
from treering.embed.contract import Embedder
from treering.embed.registry import open_embedder
from treering.errors import (
    InputError,
    JournalBusy,
    JournalCorrupt,
    UnknownEntry,
    UnknownName,
)
from treering.hints import Hint
from treering.ingest import exchange
from treering.ingest.drafts import Envelope
from treering.ingest.intake import Intake, Message, Record, warn_of_path
from treering.ingest.staging import WasCutShort, recover_all
from treering.ingest.where import Where, to_filter
from treering.journal import entries, ledger, sources, stored, supersession, tombstones
from treering.journal.contract import Database
from treering.journal.fields import checked_name
from treering.journal.open import open_database
from treering.journal.space import Space, SpaceReader, SpaceWriter, begin, names
from treering.llm.account import ModelAccount
from treering.llm.contract import LLM
from treering.llm.settings import ensure_meaningful
from treering.llm.tokens import estimate_tokens
from treering.records import (
    BRIEF_TOKENS,
    JSON,
    LEVELS,
    Context,
    Entry,
    Filter,
    Forgotten,
    Hit,
    Kind,
    Level,
    Mode,
    Page,
    Progress,
    Receipt,
    Stats,
)
from treering.scratch import POOL
from treering.search.brief import Brief, compose
from treering.search.context import Budget, CountTokens
from treering.search.relations.registry import Chosen, FitReport
from treering.search.rerank import LOOKED_AT, Reranker, open_reranker, reranked
from treering.search.searcher import (
    check_choice,
    check_confidence,
    check_count,
    check_queries,
    known_until,
)
from treering.views.choices import (
    Choices,
)
from treering.views.erase import matching_seqs, refuse_hidden, retry
from treering.views.facts.view import FactView
from treering.views.fragments.model import space_embedder
from treering.views.memos.view import MemoView
from treering.views.planning import Alpha
from treering.views.registry import Views
from treering.views.settings import SpaceSettings, settings_of
from treering.views.tree.hits import Retrieval
from treering.views.tree.view import TreeView

if TYPE_CHECKING:
    from treering.chat.conversation import Conversations
    from treering.views.code.memory import CodeMemory

DEFAULT_SPACE = "default"
HITS = 10
"""Hits of a search."""
CONTEXT_TOKENS = 1_000
ASK_TOKENS = 1_500
REMOTE = ("http://", "https://")


class Memory:
    """A long-term memory: add text, conversations and files; search, ask and forget.

    Open one with ``Memory.open``. All methods may be called from any thread. Every method that
    changes something either does so as a whole or raises and changes nothing.
    """

    def __init__(
        self,
        database: Database,
        space: str,
        embedder: Embedder,
        llm: str | LLM | None,
        exact: bool = False,
        code_roots: Sequence[Path] | None = None,
    ) -> None:
        self._database = database
        self._space = Space(database, space)
        self._exact = exact
        self._code_roots = code_roots
        # Not of a server: what its callers send says nothing of its own disk.
        self._warns_of_paths = False
        self._begin(embedder, llm)
        self._views.warn_of_outdated()
        self._intake.recover_if_possible()
        # Locks of other threads and connections to models stay behind when a process is forked.
        forks.renew_in_child(self, lambda memory: memory._begin(memory._views.embedder, llm))

    def _begin(self, embedder: Embedder, llm: str | LLM | None) -> None:
        # Nothing is read: in a forked process the memory may be closed, or its file gone.
        self._account = ModelAccount(self._space, llm)
        self._answerer = Answerer(self._account)
        self._views = Views(self._space, embedder, self._account, self._exact, self._code_roots)
        self._eraser = self._views.eraser
        self._intake = Intake(self._space, self._eraser, self._views.handover)

    @classmethod
    def open(
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
        name = checked_name(space, "space") or DEFAULT_SPACE
        if isinstance(url, str) and url.startswith(REMOTE):
            if embedder is not None or llm is not None:
                raise InputError(f"{url} is a server, which has its own embedder and llm")
            if exact:
                raise InputError(f"{url} is a server; how it keeps vectors is its own affair")
            from treering.client.memory import open_remote

            return cast(Self, open_remote(url, name, api_key, create))
        ensure_meaningful(llm)
        # Before the database, so that no file is made for a model that is not there.
        chosen = None if embedder is None else open_embedder(embedder)
        database = open_database(url, create=create is not False)
        try:
            begin(Space(database, name), create)
            model = space_embedder(Space(database, name), chosen)
            memory = cls(database, name, model, llm, exact)
            recover_all(database)  # a process that was killed may have left texts in any space
            retry(database)  # and erased ones in the bytes of the file
        except BaseException:
            database.close()
            raise
        memory._warns_of_paths = True
        return memory

    @property
    def _conversations(self) -> Conversations:
        with forks.importing():  # here, as adds and searches need none
            from treering.chat.conversation import Conversations

        return Conversations(self._space, self._account, self._views, self._intake)

    @property
    def code(self) -> CodeMemory:
        """The code of this space: repositories indexed and searched, rounds of work remembered."""
        return self._views.code

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._account.close()
        self._database.close()
        POOL.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # ------------------------------------------------------------------ taking in

    def add(
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
        force: bool = False,
        progress: Progress | None = None,
    ) -> Receipt:
        """Remember a text, OpenAI-style messages, or a file or folder; durable on return.

        Documents (PDF, Word, HTML, EPUB, spreadsheets) need the extra ``documents``; a page and the
        like is a source of its own, such as ``lease.pdf#2``. Files of a folder that cannot be read
        are in ``Receipt.skipped``.

        What a source holds already is left alone, so adding again is safe. A file that has changed
        replaces its entries; texts and messages are appended to their source. ``at``, ``speaker``,
        ``session`` and ``metadata`` hold for all that is added unless a message says otherwise.
        What is given no time has none: a question that names a time does not find it by that.

        ``mask`` leaves out passages between ``<private>`` and ``</private>`` and puts a mark in the
        place of keys, tokens and passwords; the receipt counts them.

        From ``expires`` on, a time, it is not found any more; then it is erased like what is
        forgotten. What has a ``pin`` comes before all else in contexts and briefs.

        Sources of a folder's files are called after the folder, ``notes/travel.md``; a file that
        was moved is known again. ``Receipt.gone`` names the sources whose files are there no more;
        with ``sync`` they are erased. If more than half of a folder's known files are gone, it may
        not be mounted: nothing is erased then without ``force``. A text file is dated by its front
        matter, its name or, else, its modification time.

        An embedder that fails delays the embedding, which is queued, and loses nothing:
        ``Receipt.pending`` counts the entries that are not fully searchable yet.

        Raises InputError (and then nothing was added, or with ``sync`` nothing erased),
        MissingExtra and JournalError.
        """
        if self._warns_of_paths:
            warn_of_path(content)
        envelope = Envelope.check(kind, at, speaker, session, metadata, mask, expires, pin)
        receipt = self._intake.add(content, source, envelope, sync, force)
        return self._indexed(envelope.count(receipt), progress)

    def _indexed(self, receipt: Receipt, progress: Progress | None = None) -> Receipt:
        """The receipt of what was stored, once it is indexed."""
        is_done = self._views.build(progress)
        return receipt if is_done else replace(receipt, pending=self._views.count_pending())

    def replace(self, entry_id: str, text: str) -> Entry:
        """Give an entry another text; its id, place, time, speaker and metadata stay.

        The old text leaves the file's bytes with the next ``settle`` or ``forget``.

        Raises UnknownName, EmptyText, TextEncodingError.
        """
        self._drop_waiting([self.get(entry_id).id])
        self._intake.rewrite(entry_id, text)
        self._views.build()
        return self.get(entry_id)

    def pin(self, entry_id: str, pinned: bool = True) -> Entry:
        """Let an entry come before all others in contexts and briefs, or no longer.

        Raises UnknownName.
        """
        self._intake.pin(entry_id, pinned)
        return self.get(entry_id)

    def supersede(self, old: str, new: str | None) -> None:
        """Say that the entry ``new`` holds instead of ``old``, by their ids.

        Both stay; the older one is marked wherever it is shown, as if a rule had found it. With
        None for ``new`` it is taken back. Raises UnknownName, and InputError for a circle.
        """
        self._intake.supersede(old, new)

    def settle(self, progress: Progress | None = None, *, upgrade: bool = False) -> Stats:
        """Do all pending work now. Raises what stood in its way; the rest stays queued.

        ``upgrade`` has the language model rewrite the summaries that were made without one, and the
        memos that no reply could be read for.
        """
        self._intake.recover()
        recover_all(self._database)
        self._views.erase_expired()
        scrubbed = self._eraser.scrub_pending()  # first: it must not wait for a model that is down
        self._views.settle(progress, upgrade=upgrade)
        if not scrubbed:
            raise JournalBusy(
                f"{self._database.url} is still being read or written, so that what was forgotten "
                "may be in its bytes; close other readers",
                hint=Hint.SETTLE,
            )
        return self._views.stats(self._database.size())

    def rebuild(self, *views: str, progress: Progress | None = None) -> Stats:
        """Make the rows of views again from the journal; of all that can be, if none is named.

        Views are ``fragments``, ``tree``, ``memo``, ``facts``, ``code`` and those of other
        packages. Searching and adding go on meanwhile. Safe to interrupt: called again, it goes
        on. A view that another version of treering derived is rebuilt by ``settle()``, too;
        ``stats().outdated`` names it. What a language model made is only dropped if one is
        configured to make it again.

        Raises UnknownName; LLMNotConfigured, LLMError, EmbeddingError; JournalCorrupt naming
        damaged entries, which keep the rows they have, once all others are done.
        """
        self._views.rebuild(views, progress)
        return self.stats()

    # ------------------------------------------------------------------ giving back

    def search(
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
        all: bool = False,
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

        Hits that say the same, or the same but for a value, are folded into the newest of them,
        which gets the best of their scores: see ``hit.times`` and ``hit.was``. With ``all`` each
        is a hit of its own.

        ``rerank`` orders the 50 best anew: ``fastembed:MODEL`` by a local cross-encoder,
        ``http://HOST/rerank`` by a server, ``llm`` by the language model, or by a ``Reranker``, of
        this program or of a package under a name. Their scores are then its own.
        """
        return self.search_many(
            [query],
            k=k,
            mode=mode,
            relations=relations,
            alpha=alpha,
            level=level,
            min_confidence=min_confidence,
            rerank=rerank,
            all=all,
            **where,
        )[0]

    def search_many(
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
        all: bool = False,
        **where: Unpack[Where],
    ) -> list[list[Hit]]:
        """As ``search`` for several queries in one pass over the space."""
        if level is not None:
            check_choice("level", level, LEVELS)
        check_confidence(min_confidence)
        chosen, default = self._views.catch_up_and_plan(relations, alpha, level=level)
        k, mode = (default.k or HITS) if k is None else k, mode or default.mode
        level = level or default.level
        reranker = None if rerank is None else open_reranker(rerank, self._account)
        deep = k if reranker is None or k < 1 else max(k, LOOKED_AT)
        if level == "texts":
            unit = default.chat_unit if reranker is None else "messages"
            best = self._views.searcher.search(
                queries, deep, to_filter(where), mode, chosen, unit, every=all
            )
        else:
            how = Retrieval(level, default.method, default.least)
            best = self.tree._hits(queries, deep, to_filter(where), mode, chosen, how)
        if reranker is not None:
            asked = zip(queries, best, strict=True)
            best = [reranked(reranker, query, hits, k) for query, hits in asked]
        return [[hit for hit in hits if hit.confidence >= min_confidence] for hits in best]

    def context(
        self,
        query: str,
        *,
        budget: int | str | None = None,
        mode: Mode | None = None,
        relations: Chosen | None = None,
        alpha: Alpha | None = None,
        min_confidence: float = 0.0,
        count_tokens: CountTokens = estimate_tokens,
        **where: Unpack[Where],
    ) -> Context:
        """Prompt-ready passages for a query within ``budget``, in reading order, cited.

        ``budget`` is a number of tokens, or a size such as ``4000 words``: by default that of
        ``configure``, or 1,000 tokens. ``count_tokens`` counts tokens; the default is an estimate
        for current models.

        Near-duplicates are dropped and neighbours merged, unless ``configure`` set ``k`` or
        ``order``: then the best are shown whole. Where it set a ``level`` of summaries, nodes of
        the tree are found.

        With ``min_confidence`` (0 to 1) nothing less sure is put in: where nothing in memory is
        relevant the context is empty, and ``context.surest`` says how sure the best was.
        """
        check_confidence(min_confidence)
        chosen, default = self._views.catch_up_and_plan(relations, alpha)
        limit, count = _budget(budget, default, CONTEXT_TOKENS).counted(count_tokens)
        asked = (query, to_filter(where), mode or default.mode, chosen, default)
        return self._views.context(*asked, limit, count, min_confidence)

    def brief(
        self, *, budget: int = BRIEF_TOKENS, count_tokens: CountTokens = estimate_tokens
    ) -> Brief:
        """What to know of this space before one begins: whom and what it is about, decisions and
        preferences that hold, what is open, what changed lately; cited, within ``budget`` tokens.

        No model is asked. It is made of facts, memos, summaries that are there, and the newest
        entries; an empty space has an empty one.
        """
        check_count("budget", budget, " token")
        self._views.catch_up()
        return compose(self._views.material(), budget, count_tokens)

    def ask(
        self,
        question: str,
        *,
        budget: int | str | None = None,
        **where: Unpack[Where],
    ) -> Answer:
        """Answer a question from the memory, with citations, by a prompt within ``budget``.

        ``budget`` is that of ``context``; one in words or characters is that of the passages. The
        prompt is that of ``configure``; those of the papers ask for no citations. Raises
        LLMNotConfigured, which says how to configure a model, LLMUnavailable,
        LLMReplyError.
        """
        check_queries([question])
        plan, settings = self._views.catch_up_and_plan(None, None)
        allowed = _budget(budget, settings, ASK_TOKENS)
        room, count = self._answerer.room(question, allowed, settings.prompt)
        asked = (question, to_filter(where), settings.mode, plan, settings)
        context = self._views.context(*asked, room, count, cites=settings.prompt == "own")
        return self._answerer.ask(context, settings)

    def chat(
        self,
        message: str,
        *,
        policy: str | Policy | None = None,
        source: str = "chat",
        budget: int | str | None = None,
        speaker: str | None = None,
    ) -> Answer:
        """One round of a conversation that is remembered under ``source``.

        ``policy`` decides what the model sees besides the message: ``auto`` (recent dialogue,
        related passages, and in brief what else relates), ``window`` (the newest end of the
        conversation), ``fragments`` (FragRel), ``nodes`` (MemTree), ``memo`` (MemoChat), or one of
        your own; by default that of ``configure``, which is ``auto`` where it was not set.
        ``budget`` bounds the whole prompt (2,000 tokens, or as ``configure`` set it); the reply
        comes on top. ``speaker`` is who says the message, of whom it then states facts; without one
        it is the user.

        The message is durable before the model is asked: one that fails loses nothing, and the
        same message said again is answered without being kept twice.

        Raises InputError (and then nothing was kept), LLMNotConfigured, LLMUnavailable,
        LLMReplyError.
        """
        return self._conversations.reply(
            message, chat_policy(self, policy), source, budget, speaker=speaker
        )

    def chat_stream(
        self,
        message: str,
        *,
        policy: str | Policy | None = None,
        source: str = "chat",
        budget: int | str | None = None,
        speaker: str | None = None,
    ) -> ChatStream:
        """As ``chat``, the reply piece by piece; it is remembered once it is complete."""
        return self._conversations.stream(
            message, chat_policy(self, policy), source, budget, speaker=speaker
        )

    def chat_prompt(
        self,
        message: str,
        *,
        policy: str | Policy | None = None,
        source: str = "chat",
        budget: int | str | None = None,
        count_tokens: CountTokens = estimate_tokens,
    ) -> ChatPrompt:
        """What ``chat`` would show a model; no reply is asked for, and the message is not kept.

        With the policy ``memo`` the language model, if there is one, chooses the memos.
        """
        return self._conversations.prompt(
            message, chat_policy(self, policy), source, budget, count_tokens
        )

    def entries(self, **where: Unpack[Where]) -> Iterator[Entry]:
        """The entries that meet a filter, in the order they were added, with what is known against
        each: see ``Entry``."""
        cursor = None
        while True:
            page = self.page(cursor, limit=entries.PAGE, **where)
            yield from page.entries
            if (cursor := page.next) is None:
                return

    def page(
        self,
        cursor: str | None = None,
        *,
        limit: int = 100,
        newest: bool = False,
        **where: Unpack[Where],
    ) -> Page:
        """Return up to ``limit`` entries that meet a filter, from ``cursor`` on.

        The cursor of the next page is ``next`` of this one. With ``newest`` the newest come first.

        Raises InputError, FilterError.
        """
        check_count("limit", limit)
        condition, after = to_filter(where), entries.after(cursor)
        with self._reading() as reader:
            if newest:
                before = after or entries.LAST
                rows = entries.page_back(reader, reader.id, condition, before, limit + 1)
            else:
                rows = entries.page(reader, reader.id, condition, after, limit + 1)
            reader.as_of = known_until(condition)
            more = str(rows[limit - 1][0]) if len(rows) > limit else None
            return Page(tuple(self._views.marking.mark_entries(reader, rows[:limit])), more)

    def get(self, entry_id: str) -> Entry:
        """The entry with that id. Raises UnknownName."""
        with self._reading() as reader:
            if not reader.id:
                raise UnknownEntry(f"no entry {entry_id!r}: the space {reader.name!r} is empty")
            [entry] = self._views.marking.mark_entries(
                reader, [entries.find(reader, reader.id, entry_id)]
            )
        if entry.expires is not None and entry.expires <= datetime.now(UTC):
            raise UnknownName(f"entry {entry_id!r} has expired and is erased with the next change")
        return entry

    # ------------------------------------------------------------------ forgetting

    def forget(self, *entry_ids: str, replies: bool = False, **where: Unpack[Where]) -> Forgotten:
        """Erase entries by id or filter: from the journal, every view, and the file's bytes.

        With both, the entries of these ids that meet the filter. With ``replies``, what a model
        said that may quote them goes, too; else the receipt names it. If somebody else is reading
        the file for long, ``scrubbed`` is False: the text may then be in its bytes until that ends.
        It is removed by the next ``forget``, ``settle`` or opening, or by a running server.

        Imports and hooks do not bring the entries back, but adding a file again does: ``files`` of
        the receipt names those that they were read from.

        Raises UnknownName when one of the ids is not there or nothing matches, and InputError
        without any condition; JournalCorrupt if a damaged index hides entries that may match.
        Nothing is erased then.
        """
        condition = to_filter(where)
        if condition.as_of is not None:
            raise InputError("as_of looks back; to erase what is older give until")
        if not entry_ids and condition == Filter(omit=condition.omit):
            raise InputError("no entries are chosen to forget", hint=Hint.CHOOSE_ENTRIES)
        self._views.handover.clear()
        try:
            try:
                return self._forget(entry_ids, condition, replies=replies)
            except WasCutShort:  # what was cut short must not come back afterwards
                self._intake.recover_if_possible()
                return self._forget(entry_ids, condition, replies=replies, is_recovered=True)
        except UnknownName:  # forgotten already, perhaps, and still in the bytes of the file
            retry(self._database)
            raise

    def _forget(
        self,
        entry_ids: Sequence[str],
        condition: Filter,
        *,
        replies: bool,
        is_recovered: bool = False,
    ) -> Forgotten:
        """``forget``. Raises WasCutShort if something is to be taken in first, or to be removed."""
        seqs = None if entry_ids else self._all_matching(condition)

        def erase(writer: SpaceWriter) -> Forgotten:
            writer.ensure_there()
            if not is_recovered:
                self._intake.refuse_cut_short(writer)
            doomed = seqs
            if doomed is None:  # they are few: the thread that erases for others finds them, too
                doomed = matching_seqs(writer, entry_ids, condition) if writer.is_there else []
            if not doomed:
                raise UnknownName(
                    f"nothing to forget in space {self._space.name!r}: no entry matches"
                )
            forgotten = quoted_replies.erase_entries(writer, self._eraser, doomed, replies=replies)
            self._drop_waiting(forgotten.entries)
            return forgotten

        return self._eraser.forget(erase)

    def _drop_waiting(self, ids: Collection[str]) -> None:
        """Remove messages that hooks have left once more, before their entries are erased."""
        file = self._database.file
        if file is None:  # agents use memories in files
            return
        with forks.importing():
            from treering.hooks import inbox
        if any(inbox.waiting_jobs(str(file))):
            from treering.hooks.jobs import drop_waiting

            drop_waiting(str(file), self._space.name, ids)

    def _all_matching(self, condition: Filter) -> list[int]:
        """All entries that meet a filter. Raises JournalCorrupt, UnknownName."""
        with self._reading() as reader:
            if not reader.is_there:
                return []
            refuse_hidden(reader, condition)  # who counts all entries must not hold up writers
            return matching_seqs(reader, (), condition)

    def forget_space(self, name: str) -> Forgotten:
        """Erase a space of this file: all it holds, its name, and the keys that open only it.

        It goes from everything derived and from the file's bytes. The space of this memory may be
        named, too: it is empty then, and ``add`` would begin it anew. Imports and hooks do not
        bring the entries back into a space of that name. Raises UnknownName.
        """
        checked = checked_name(name, "space") or ""
        file = self._database.file
        if file is None:
            return self._eraser.forget_space(checked)
        with forks.importing():
            from treering.hooks.jobs import removing_space
        with removing_space(str(file), checked):  # agents use memories in files
            return self._eraser.forget_space(checked)

    # ------------------------------------------------------------------ looking after it

    @property
    def memos(self) -> MemoView:
        """What has been talked about, by topic: read it, search it, correct it."""
        return self._views.memos

    @property
    def tree(self) -> TreeView:
        """The tree of summaries: look at it, search it, draw it.

        It takes in what was added since it was last used; whoever does not use it pays nothing.
        """
        return self._views.tree

    @property
    def facts(self) -> FactView:
        """What was stated of people and things, and what later statements superseded."""
        return self._views.facts

    def configure(
        self,
        preset: str | None = None,
        **choices: Unpack[Choices],
    ) -> SpaceSettings:
        """Set what calls do that are not told otherwise, for this space; return all settings.

        ``preset`` sets everything as a paper prints it: ``fragrel-a-story``, ``fragrel-b-story``,
        ``fragrel-chat``, ``fragrel-code``, ``memtree``, ``memtree-story``, ``memtree-chat``,
        ``memochat``, ``codemem``, or as it was, ``default``. Other values, such as ``k=3``,
        come on top of it; the reference lists them under "Settings".

        With nothing given, nothing is changed.

        What the new settings derive otherwise is made again by ``settle()``: see
        ``stats().outdated``. The tree is grown again when it is next used.

        Raises UnknownName for a preset or policy that is not there, InputError for a bad value, or
        a preset for content of another kind than the space holds; nothing is changed then.
        """
        if policy := choices.get("policy"):
            find_policy(policy)
        return self._views.configure(preset, choices)

    def fit(self, *, progress: Progress | None = None) -> list[FitReport]:
        """Choose the relations' weights and parameters for this space, without labels.

        Pseudo-queries are made from the space's own text, for each kind of content by itself. If a
        preset set relations, these are fitted by their weights and parameters. What is found is
        kept only if it gains on held-out pseudo-queries; a preset stays. Raises InputError if there
        is too little text, or no relation to fit.
        """
        self._views.catch_up()
        return self._views.fit(progress)

    def reembed(self, embedder: str | Embedder, *, progress: Progress | None = None) -> Stats:
        """Change the embedding model; the old one answers until the new one is complete.

        Safe to interrupt: call it again to go on. Raises EmbeddingError, UnknownName.
        """
        self._views.reembed(open_embedder(embedder), progress)
        return self.stats()

    def export(self) -> Iterator[str]:
        """The space as lines of JSON, without line ends: a header, then one entry a line.

        What is damaged is left out. Raises JournalCorrupt naming it, after all that can be read;
        also if an index is damaged, and hides entries.
        """
        self._views.erase_expired()
        with self._reading() as reader:
            settings = ledger.settings(reader)
            files = list(sources.file_sources(reader, reader.id))
            superseded = list(supersession.ids(reader, reader.id))
            forgotten = list(tombstones.of_space(reader))
        yield exchange.header(settings)
        yield from (exchange.source_line(file) for file in files)
        damaged: list[JournalCorrupt] = []
        intact = stored.readable(self._database, reader.id, damaged)
        yield from (exchange.line(entry) for entry in intact)
        yield from (exchange.superseded_line(*pair) for pair in superseded)
        yield from map(exchange.tombstone_line, forgotten)
        if damaged:
            raise exchange.incomplete(damaged)
        with self._reading() as reader:
            stored.refuse_incomplete(reader)

    def import_(
        self,
        lines: Iterable[str] | Path,
        *,
        origin: str | None = None,
        since: Any = None,
        project: str | Path | None = None,
        mask: bool = True,
        settings: bool = False,
        again_forgotten: bool = False,
        progress: Progress | None = None,
    ) -> Receipt:
        """Take in an export; entries that are here already are left alone. All or nothing.

        A space without entries gets the settings of the export; another one only with ``settings``.

        A Path may also be what other programs left: transcripts of coding agents, exports of chat
        clients and messengers, mail; a file, a folder of them, or a ``.zip``. Their formats are
        recognised (``origin`` allows one only). Messages are told by their own ids, so that taking
        in again is safe; they are taken in a few hundred at a time. ``since`` leaves out older
        ones, ``project`` those of a coding agent that worked in another folder. What is left out is
        counted in ``Receipt.omitted``. ``mask`` is that of ``add``. An export is taken in as it is,
        and refuses ``origin``, ``since`` and ``project``.

        Entries that were forgotten in this space stay away; with ``again_forgotten`` they are taken
        in, and by later imports, too.

        Raises InputError naming the line that cannot be read.
        """
        with forks.importing():  # here, as readers of other programs' formats take long to import
            from treering.ingest.transcripts.importing import (
                ImportOptions,
                import_path,
                refuse_options,
            )

        if isinstance(lines, Path):
            options = ImportOptions.check(origin, since, project, mask)
            take_in = partial(self.import_, settings=settings, again_forgotten=again_forgotten)
            return import_path(lines, take_in, options, progress)
        refuse_options(origin, since, project)
        receipt = self._intake.restore(lines, settings=settings, again_forgotten=again_forgotten)
        return self._indexed(receipt, progress)

    def spaces(self) -> list[str]:
        """The names of all spaces of the file."""
        with self._database.read() as reader:
            return names(reader)

    def stats(self) -> Stats:
        """Counts, sizes, the model, pending work, outdated views, and what models have cost.

        Raises UnknownName for a space that is not there.
        """
        with self._reading():
            return self._views.stats(self._database.size())

    def check(self, progress: Progress | None = None) -> list[str]:
        """Problems found in the file, of all spaces; empty if it is sound.

        Reads everything: each entry is compared with the digest that was stored with it.
        """
        return stored.problems(self._database, progress)

    @contextmanager
    def _reading(self) -> Iterator[SpaceReader]:
        """A read transaction of a space that is there. Raises UnknownName."""
        with self._space.read() as reader:
            reader.ensure_there()
            yield reader


def _budget(given: int | str | None, settings: SpaceSettings, otherwise: int) -> Budget:
    """The budget of a call: the one given, or that of the space, or ``otherwise`` tokens."""
    return Budget.parse((settings.budget or otherwise) if given is None else given)


def chat_policy(memory: Memory, policy: str | Policy | None) -> Policy:
    """The policy of a chat, by default that of the space. Raises UnknownName."""
    settings = settings_of(memory._space)
    return find_policy(settings.policy if policy is None else policy)


def conversations(memory: Memory) -> Conversations:
    """The conversations of a memory, for a server that stores something of its own with a round."""
    return memory._conversations


def add_recorded(
    memory: Memory,
    content: str | Iterable[Message],
    record: Record | None,
    *,
    source: str | None = None,
    **described: Any,
) -> Receipt:
    """As ``Memory.add``; ``record`` is called in the transaction that stores the entries."""
    envelope = Envelope.check(**described)

    def counting(writer: SpaceWriter, receipt: Receipt) -> None:
        if record is not None:
            record(writer, envelope.count(receipt))

    receipt = memory._intake.add(content, source, envelope, record=counting)
    return memory._indexed(envelope.count(receipt))


def language_model(memory: Memory) -> str:
    """The name of the language model that answers. Raises LLMNotConfigured."""
    return memory._account.llm().model


def views_of(memory: Memory) -> Views:
    """The views of a memory, for what has others derive them.

    Raises InputError for a memory on a server, which has its own.
    """
    views = getattr(memory, "_views", None)
    if not isinstance(views, Views):
        raise InputError("a memory on a server derives its views there; open its file or database")
    return views


def intake_of(memory: Memory) -> Intake:
    """What takes texts and files into a memory's journal, for who builds its views otherwise."""
    return memory._intake


def space_of(memory: Memory) -> Space:
    """The space of a memory, for a server that lists what is in it in ways of its own."""
    return memory._space


def tree_so_far(memory: Memory, seconds: float) -> TreeView:
    """The tree as it is after growing for about so many seconds; 0: as it is now."""
    return memory._views.tree_so_far(seconds)
