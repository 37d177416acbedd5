"""Memory: a long-term memory in one file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, Unpack, cast

from treering import corrections
from treering.arrays import POOL
from treering.chat.answer import Answer, answer, answer_room
from treering.chat.policies import find_policy
from treering.chat.policy import Policy
from treering.chat.prompt import ChatPrompt
from treering.chat.stream import ChatStream
from treering.embed.contract import Embedder
from treering.embed.registry import open_embedder
from treering.errors import InputError, JournalBusy, JournalCorrupt, UnknownEntry, UnknownName
from treering.forgetting import Forgetting, drop_waiting_messages, forget_space
from treering.hints import Hint
from treering.ingest import exchange
from treering.ingest.drafts import Envelope
from treering.ingest.intake import Intake, Message
from treering.ingest.where import Where, to_filter
from treering.ingest.withheld import ensure_room, held, history, record
from treering.ingest.withheld import lines as withheld_lines
from treering.journal import entries, ledger, sources, stored, supersession, tombstones
from treering.journal.contract import Database
from treering.journal.fields import checked_name, required_name
from treering.journal.open import open_database
from treering.journal.space import Space, SpaceReader, begin, names
from treering.llm.account import ModelAccount
from treering.llm.contract import LLM
from treering.llm.settings import ensure_meaningful
from treering.llm.tokens import estimate_tokens
from treering.records import (
    BRIEF_TOKENS,
    JSON,
    LEVELS,
    Context,
    Correction,
    Entry,
    Forgotten,
    Hit,
    Kind,
    Level,
    Mode,
    Page,
    Progress,
    Receipt,
    Stats,
    Withheld,
)
from treering.search.brief import Brief, compose
from treering.search.context import Budget, CountTokens
from treering.search.relations.registry import Chosen, FitReport, Suggestion
from treering.search.rerank import LOOKED_AT, Reranker, open_reranker, rerank_hits
from treering.search.searcher import (
    check_choice,
    check_confidence,
    check_count,
    check_queries,
    known_until,
)
from treering.sharing import SpacesBeside
from treering.views.choices import Choices, SpaceSettings
from treering.views.erase import retry
from treering.views.facts.view import FactView
from treering.views.fragments.build import space_embedder
from treering.views.material import brief_material
from treering.views.memos.view import MemoView
from treering.views.registry import Views
from treering.views.search_hooks import Alpha
from treering.views.settings import settings_of
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

    Open one with ``Memory.open``. All methods may be called from any thread. A method that changes
    the memory does so as a whole, or raises and changes nothing.
    """

    def __init__(
        self,
        database: Database,
        space: str,
        embedder: Embedder,
        llm: str | LLM | None,
        code_roots: Sequence[Path] | None = None,
        open_beside: Callable[[str], Views] | None = None,
    ) -> None:
        self._database = database
        self._owns_database = True
        account = ModelAccount(Space(database, space), llm)
        views = Views(account.space, embedder, account, code_roots)
        self._use(views, SpacesBeside(views, open_beside))

    def _use(self, views: Views, beside: SpacesBeside) -> None:
        self._views, self._beside = views, beside
        self._space, self._account = views.space, views.account
        self._intake = Intake(self._space, views.eraser)

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
    ) -> Self:
        """Open the memory at a path or URL, and create it if it does not exist.

        - ``url``: a path or ``sqlite:///`` URL; ``postgresql://`` for a schema of that database
          (extra ``postgres``); ``http://`` or ``https://`` for a treering server, which has its own
          models and takes an ``api_key`` (default: ``TREERING_API_KEY``).
        - ``space``: keeps tenants apart. The first ``add`` makes it; until then, reading it raises
          UnknownName if the file has other spaces.
        - ``embedder`` (default: the one of the space, else the bundled model) and ``llm`` (default:
          from the environment, when first needed): specifications or objects. Nothing leaves the
          machine unless one of them names an endpoint.
        - ``create``: True makes the space now, False raises if the file or space does not exist.

        Raises JournalError, ModelMismatch, UnknownName, InputError, LLMNotConfigured.
        """
        name = checked_name(space, "space") or DEFAULT_SPACE
        if isinstance(url, str) and url.startswith(REMOTE):
            if embedder is not None or llm is not None:
                raise InputError(f"{url} is a server, which has its own embedder and llm")
            from treering.client.memory import open_remote

            return cast(Self, open_remote(url, name, api_key, create))
        ensure_meaningful(llm)
        # First, so that an unknown model leaves no file behind.
        chosen = None if embedder is None else open_embedder(embedder)
        database = open_database(url, create=create is not False)
        try:
            model = space_embedder(Space(database, name), chosen)
            memory = cls(database, name, model, llm)
            begin(memory._space, create)
            retry(database)  # erased texts in the bytes of the file
        except BaseException:
            database.close()
            raise
        return memory

    @property
    def _conversations(self) -> Conversations:
        from treering.chat.conversation import Conversations  # here: adds and searches need none

        return Conversations(self._space, self._account, self._views, self._intake, self._beside)

    @property
    def code(self) -> CodeMemory:
        """The code of this space: index and search repositories, remember rounds of work."""
        return self._views.code

    def space(self, name: str, *, create: bool | None = None) -> Memory:
        """Return another space of the same file or database.

        It uses the connections and models of this memory and lives until this memory is closed;
        closing the space alone does nothing. The spaces used last stay loaded, so a server may call
        this for each request. ``create`` is as in ``open``. Raise UnknownSpace, InputError.
        """
        views = self._beside.views(required_name(name, "space"))
        begin(views.space, create)
        memory = copy(self)
        memory._owns_database = False
        memory._use(views, self._beside.seen_from(views))
        return memory

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if not self._owns_database:
            return
        self._account.close()
        self._database.close()
        POOL.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------ adding

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
        encoding: str | None = None,
        sync: bool = False,
        force: bool = False,
        propose: str | None = None,
        progress: Progress | None = None,
    ) -> Receipt:
        """Remember a text, OpenAI-style messages, or a file or folder; durable on return.

        Messages have ``role`` and ``content``, and may have ``name``, ``at``, ``session`` and
        ``metadata``. Other keys, such as ``tool_calls``, go to the metadata.

        A known text or message is not added twice, so a call can be repeated. One is known if its
        source holds one with the same text, role, name, time, session and metadata. Give messages
        an ``at``, so that a later "yes" is a new one. A changed file replaces its entries; texts
        and messages are appended to their source. Documents (PDF, Word, HTML, EPUB, spreadsheets)
        need the extra ``documents``; a page is a source of its own, such as ``lease.pdf#2``. The
        files of a folder have sources such as ``notes/travel.md``. A new file of a folder with the
        content of another one is a copy, which is skipped.

        - ``at``, ``speaker``, ``session``, ``metadata``: for all entries, unless a message has its
          own. Without ``at`` an entry has no date, so questions about a date do not match it. A
          text file is dated by its front matter, its name or its modification time.
        - ``mask``: leave out passages between ``<private>`` and ``</private>``, and replace keys,
          tokens and passwords by a mark.
        - ``expires``: a time from which on the entries are not found, and are erased.
        - ``pin``: the entries come first in contexts and briefs.
        - ``encoding``: of text files that are not UTF-8, such as ``cp1252``.
        - ``sync``: erase the entries of files that are gone from the folder (``Receipt.gone``). If
          more than half are gone, this needs ``force``: the folder may not be mounted.
        - ``propose``, the name of a person or program: the text or messages wait until ``restore``
          accepts them, and nothing finds them before; ``withheld`` lists them.

        ``Receipt.skipped`` names the files that cannot be read, ``Receipt.pending`` counts entries
        that are not fully searchable yet: if the embedder fails, embedding is queued.

        Raises InputError (then nothing was added or erased), MissingExtra and JournalError.
        """
        envelope = Envelope.check(
            kind, at, speaker, session, metadata, mask, expires, pin, encoding
        )
        if propose is not None:
            return corrections.propose(self._space, content, source, envelope, propose)
        receipt = self._intake.add(content, source, envelope, sync, force)
        return index(self._views, envelope.count(receipt), progress)

    def replace(self, entry_id: str, text: str, *, by: str | None = None) -> Entry:
        """Give an entry another text; its id, place, time, speaker and metadata stay.

        The old text leaves the file's bytes with the next ``settle`` or ``forget``.

        Raises UnknownName, EmptyText, TextEncodingError.
        """
        author = corrections.check_author(by)
        ensure_room(self._space)
        drop_waiting_messages(self._space, [self.get(entry_id).id])
        self._intake.rewrite(entry_id, text)
        record(self._space, entry_id, "replaced", author)
        self._views.build()
        return self.get(entry_id)

    def pin(self, entry_id: str, pinned: bool = True) -> Entry:
        """Put an entry before all others in contexts and briefs, or take that back.

        Raises UnknownName.
        """
        self._intake.pin(entry_id, pinned)
        return self.get(entry_id)

    def supersede(self, old: str, new: str | None, *, by: str | None = None) -> None:
        """Say that the entry ``new`` holds instead of ``old``; without ``new``, undo that.

        Both stay, and the older one is marked in results. Raises UnknownName, and InputError for a
        circle.
        """
        author = corrections.check_author(by)
        ensure_room(self._space)
        self._intake.supersede(old, new)
        record(self._space, old, "superseded" if new else "holds again", author, new)

    def retract(
        self, entry_id: str, reason: str | None = None, *, by: str | None = None
    ) -> Correction:
        """Withhold an entry: nothing finds it or anything derived from it, until ``restore``.

        The text stays in the file; ``forget`` erases it. Imports do not bring the entry back, but
        adding its file again does once the file has changed. ``by`` names the person or program.
        Copies in other spaces stay, and are counted.

        Raises UnknownName, InputError.
        """
        author = corrections.check_author(by, reason)
        corrections.retract(self._space, self._views, entry_id, author)
        copies = self._beside.count_copies([entry_id])
        return replace(history(self._space, entry_id)[-1], copies=copies)

    def restore(self, entry_id: str, *, by: str | None = None) -> Entry:
        """Put a retracted entry back in its place, or accept one that was proposed.

        Raises UnknownName, and InputError if its source has the same text again.
        """
        author = corrections.check_author(by)
        corrections.restore(self._space, self._views, self._intake, entry_id, author)
        return self.get(entry_id)

    def withheld(self, **where: Unpack[Where]) -> list[Withheld]:
        """Return the retracted and proposed entries that meet a filter, in the order withheld.

        Raises UnknownName, FilterError.
        """
        condition = to_filter(where)
        with self._read_space():
            return held(self._space, condition)

    def history(self, entry_id: str) -> list[Correction]:
        """Return the corrections of an entry, oldest first; replaced texts are not kept.

        Raises UnknownName. ``forget`` erases the history of an entry, too.
        """
        return history(self._space, entry_id)

    def share(self, ids: Sequence[str], to: str) -> Receipt:
        """Copy entries to another space of the file, which exists; durable on return.

        The source of the copies is ``shared/SPACE``, and ``shared_from`` in their metadata has the
        space and id of the original; nothing else of this space is copied. An entry is copied once.
        Both then live on their own: see ``forget(..., copies=True)``.

        Raises UnknownName, and InputError if the copy of an earlier text is there.
        """
        receipt, views = self._beside.share(ids, to)
        return index(views, receipt)

    def settle(self, progress: Progress | None = None, *, upgrade: bool = False) -> Stats:
        """Do all pending work now. Raises the error that prevents some of it, which stays queued.

        With ``upgrade`` the language model rewrites summaries and memos that were made without it.
        """
        self._views.erase_expired()
        corrections.erase_expired(self._space)
        scrubbed = self._views.eraser.scrub_pending()  # first: it must not wait for a model
        self._views.settler.settle(progress, upgrade=upgrade)
        if not scrubbed:
            raise JournalBusy(
                f"{self._database.url} is still being read or written, so its bytes may hold "
                "forgotten text; close other readers",
                hint=Hint.SETTLE,
            )
        return self._views.stats(self._database.size())

    def rebuild(self, *views: str, progress: Progress | None = None) -> Stats:
        """Derive the rows of views again from the journal; without names, of all that can be.

        Views are ``fragments``, ``tree``, ``memo``, ``facts``, ``code`` and those of other
        packages. Searches and adds go on meanwhile. If it is interrupted, call it again. ``settle``
        also rebuilds the views that ``stats().outdated`` names. The work of a language model is
        only dropped if one is configured to do it again.

        Raises UnknownName, LLMNotConfigured, LLMError, EmbeddingError. After all others it raises
        JournalCorrupt for damaged entries, which keep their rows.
        """
        self._views.settler.rebuild(views, progress)
        return self.stats()

    # ------------------------------------------------------------------ finding

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
        spaces: Sequence[str] | None = None,
        **where: Unpack[Where],
    ) -> list[Hit]:
        """Return the k fragments that answer a query best: ``own + Σ_r α_r·env_r``.

        ``k``, ``mode`` and ``level`` have the defaults of ``configure``, or else 10, ``hybrid`` and
        ``texts``. Filters combine with AND. ``hit.why`` holds the terms that add up to the score.

        - ``mode``: ``hybrid`` (BM25 and cosine), ``lexical`` or ``dense``.
        - ``relations``: names, relations or ``Weighted`` relations; ``()`` for none. By default
          those measured best for each kind of content, or found by ``fit``. ``alpha`` is the weight
          of all, or of each by name.
        - ``level``: ``summaries`` finds summaries of the tree, ``all`` ranks them among the texts.
          A summary meets a filter if every text below it does.
        - ``min_confidence`` (0 to 1): leave out hits with less ``hit.confidence``.
        - ``all``: return each hit. By default hits that say the same, or the same except for a
          value, are folded into the newest: see ``hit.times`` and ``hit.was``.
        - ``rerank``: order the 50 best by ``fastembed:MODEL``, ``http://HOST/rerank``, ``llm`` or a
          ``Reranker``, whose scores the hits then have.
        - ``spaces``: search these spaces of the file as one, each by its own relations; texts and
          single messages. ``hit.space`` names the space of a hit. Raises UnknownName.
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
            spaces=spaces,
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
        spaces: Sequence[str] | None = None,
        **where: Unpack[Where],
    ) -> list[list[Hit]]:
        """As ``search`` for several queries, which are embedded together."""
        check_queries(queries)
        if level is not None:
            check_choice("level", level, LEVELS)
        check_confidence(min_confidence)
        asked = self._beside.ask(spaces, relations, alpha, level=level)
        default = asked.settings
        k, mode = (default.k or HITS) if k is None else k, mode or default.mode
        level = level or default.level
        reranker = None if rerank is None else open_reranker(rerank, self._account)
        deep = k if reranker is None or k < 1 else max(k, LOOKED_AT)
        best = asked.search(
            queries, deep, to_filter(where), mode, level, rounds=reranker is None, every=all
        )
        if reranker is not None:
            pairs = zip(queries, best, strict=True)
            best = [rerank_hits(reranker, query, hits, k) for query, hits in pairs]
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
        spaces: Sequence[str] | None = None,
        **where: Unpack[Where],
    ) -> Context:
        """Return cited passages for a prompt, in reading order, within ``budget``.

        ``budget`` is a number of tokens, or a size such as ``4000 words``; the default is that of
        ``configure``, or 1,000 tokens. ``count_tokens`` is by default an estimate for current
        models.

        Near-duplicates are dropped and neighbours merged, unless ``configure`` set ``k`` or
        ``order``. If it set a ``level`` of summaries, the passages are nodes of the tree.

        With ``min_confidence`` (0 to 1) less sure passages are left out, so the context may be
        empty; ``context.surest`` is the confidence of the best. ``spaces`` are those of ``search``.
        """
        check_confidence(min_confidence)
        asked = self._beside.ask(spaces, relations, alpha)
        default, condition = asked.settings, to_filter(where)
        limit, count = _budget(budget, default, CONTEXT_TOKENS).limit_and_count(count_tokens)
        mode = mode or default.mode
        return asked.context(query, condition, mode, limit, count, min_confidence)

    def brief(
        self, *, budget: int = BRIEF_TOKENS, count_tokens: CountTokens = estimate_tokens
    ) -> Brief:
        """Return an overview of the space: people and topics, decisions and preferences that hold,
        open questions, recent changes; cited, within ``budget`` tokens.

        It comes from facts, memos, summaries and the newest entries, without a language model.
        """
        check_count("budget", budget, " token")
        self._views.catch_up()
        views = self._views
        material = brief_material(self._space, views.marking.marks, views.facts, views.memos)
        return compose(material, budget, count_tokens)

    def ask(
        self,
        question: str,
        *,
        budget: int | str | None = None,
        spaces: Sequence[str] | None = None,
        **where: Unpack[Where],
    ) -> Answer:
        """Answer a question from the memory, with citations, by a prompt within ``budget``.

        ``budget`` is that of ``context``; in words or characters it bounds the passages alone. The
        prompt is that of ``configure``; those of the papers ask for no citations. ``spaces`` are
        those of ``search``. Raises LLMNotConfigured, LLMUnavailable, LLMReplyError.
        """
        check_queries([question])
        asked = self._beside.ask(spaces)
        settings = asked.settings
        allowed = _budget(budget, settings, ASK_TOKENS)
        room, count = answer_room(self._account.llm(), question, allowed, settings.prompt)
        condition, cites = to_filter(where), settings.prompt == "own"
        context = asked.context(question, condition, settings.mode, room, count, cites=cites)
        return answer(self._account, context, settings)

    def chat(
        self,
        message: str,
        *,
        policy: str | Policy | None = None,
        source: str = "chat",
        budget: int | str | None = None,
        speaker: str | None = None,
        spaces: Sequence[str] | None = None,
    ) -> Answer:
        """Reply to a message; both are remembered under ``source``.

        - ``policy``: the context of the prompt. ``auto`` (recent dialogue and related passages),
          ``window`` (the end of the conversation), ``fragments`` (FragRel), ``nodes`` (MemTree),
          ``memo`` (MemoChat), or your own; the default is that of ``configure``, or ``auto``.
        - ``budget``: bounds the whole prompt, without the reply; the default is that of
          ``configure``, or 2,000 tokens.
        - ``speaker``: the author of the message, of whom it then states facts.
        - ``spaces``: passages come from these, as in ``search``; the conversation, its memos and
          summaries are those of this space.

        The message is durable before the model is asked. Sent again after a failure, it is answered
        and not stored twice.

        Raises InputError (then nothing was stored), LLMNotConfigured, LLMUnavailable,
        LLMReplyError.
        """
        policy, talk = space_policy(self._space, policy), self._conversations
        return talk.reply(talk.begin(message, policy, source, budget, speaker, spaces))

    def chat_stream(
        self,
        message: str,
        *,
        policy: str | Policy | None = None,
        source: str = "chat",
        budget: int | str | None = None,
        speaker: str | None = None,
        spaces: Sequence[str] | None = None,
    ) -> ChatStream:
        """Reply piece by piece; the reply is remembered once it is complete.

        Parameters and errors are those of ``chat``; errors of the model are raised while the stream
        is read. See ``ChatStream``.
        """
        policy, talk = space_policy(self._space, policy), self._conversations
        return talk.stream(talk.begin(message, policy, source, budget, speaker, spaces))

    def chat_prompt(
        self,
        message: str,
        *,
        policy: str | Policy | None = None,
        source: str = "chat",
        budget: int | str | None = None,
        count_tokens: CountTokens = estimate_tokens,
        spaces: Sequence[str] | None = None,
    ) -> ChatPrompt:
        """Return the prompt of ``chat``, without asking for a reply or storing the message.

        With the policy ``memo`` the language model, if there is one, chooses the memos.
        """
        policy = space_policy(self._space, policy)
        return self._conversations.prompt(message, policy, source, budget, count_tokens, spaces)

    def entries(self, **where: Unpack[Where]) -> Iterator[Entry]:
        """Yield the entries that meet a filter, in the order they were added."""
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
        with self._read_space() as reader:
            rows = entries.page(reader, reader.id, condition, after, limit + 1, newest=newest)
            reader.as_of = known_until(condition)
            more = str(rows[limit - 1][0]) if len(rows) > limit else None
            return Page(tuple(self._views.marking.mark_entries(reader, rows[:limit])), more)

    def get(self, entry_id: str) -> Entry:
        """Return the entry with that id. Raises UnknownName."""
        with self._read_space() as reader:
            if not reader.id:
                raise UnknownEntry(f"no entry {entry_id!r}: the space {reader.name!r} is empty")
            [entry] = self._views.marking.mark_entries(
                reader, [entries.find(reader, reader.id, entry_id)]
            )
        if entry.expires is not None and entry.expires <= datetime.now(UTC):
            raise UnknownName(f"entry {entry_id!r} has expired and is erased with the next change")
        return entry

    # ------------------------------------------------------------------ forgetting

    def forget(
        self,
        *entry_ids: str,
        replies: bool = False,
        copies: bool = False,
        **where: Unpack[Where],
    ) -> Forgotten:
        """Erase entries by id or filter: from the journal, every view, and the file's bytes.

        With ids and a filter, erase the entries of these ids that meet the filter.

        - ``replies``: erase replies of a model that may quote the entries, too. Without it, the
          receipt names them.
        - ``copies``: erase copies that ``share`` made, too, also if the entries are already gone.
          Without it, the receipt counts them.

        ``scrubbed`` of the receipt is False if another process reads the file for long. The next
        ``forget``, ``settle`` or opening, or a running server, then removes the text from the
        bytes. Imports and hooks do not bring the entries back, but adding a file again does:
        ``files`` names the files that the entries came from.

        Raises UnknownName for an unknown id or if nothing matches, InputError without a condition,
        JournalCorrupt if a damaged index hides entries that may match. Nothing is erased then.
        """
        condition, beside = to_filter(where), self._beside
        try:
            forgotten = Forgetting(self._space, self._views, condition, replies).forget(entry_ids)
        except UnknownName:
            if not copies or where or not beside.copies(entry_ids):
                raise
            forgotten = Forgotten((), (), {}, scrubbed=True)  # forgotten before, without copies
        if not copies:
            return replace(forgotten, copies=beside.count_copies(forgotten.entries))
        gone = beside.forget_copies(forgotten.entries or entry_ids, replies=replies)
        views = {**forgotten.views, "copies": sum(len(one.entries) for one in gone)}
        is_scrubbed = all(one.scrubbed for one in (forgotten, *gone))
        return replace(forgotten, views=views, scrubbed=is_scrubbed)

    def forget_space(self, name: str) -> Forgotten:
        """Erase a space of this file: all it holds, its name, and the keys that open only it.

        Its text leaves everything derived and the file's bytes. The space of this memory may be
        erased, too; ``add`` then begins a new one. Imports and hooks do not bring the entries back
        into a space of that name. Raises UnknownName.
        """
        return forget_space(self._space, self._views, name)

    # ------------------------------------------------------------------ views and upkeep

    @property
    def memos(self) -> MemoView:
        """The topics of conversations: read, search and correct them."""
        return self._views.memos

    @property
    def tree(self) -> TreeView:
        """The tree of summaries: read, search and draw it. It grows when it is used."""
        return self._views.tree

    @property
    def facts(self) -> FactView:
        """Statements about people and things, with those that later ones superseded."""
        return self._views.facts

    def configure(
        self,
        preset: str | None = None,
        **choices: Unpack[Choices],
    ) -> SpaceSettings:
        """Set the defaults of calls for this space; return all settings.

        ``preset`` sets all values given in a paper: ``fragrel-a-story``, ``fragrel-b-story``,
        ``fragrel-chat``, ``fragrel-code``, ``memtree``, ``memtree-story``, ``memtree-chat``,
        ``memochat``, ``codemem``, or ``default``. Other values, such as ``k=3``, override it; the
        reference lists them under "Settings". Without arguments nothing changes.

        ``settle`` derives again what depends on the new settings (see ``stats().outdated``); the
        tree is rebuilt when it is next used.

        Raises UnknownName for an unknown preset or policy, InputError for a bad value or a preset
        for another kind of content than the space holds. Nothing changes then.
        """
        if policy := choices.get("policy"):
            find_policy(policy)
        return self._views.configure(preset, choices)

    def fit(self, *, progress: Progress | None = None) -> list[FitReport]:
        """Choose the relations' weights and parameters for this space, without labels.

        Pseudo-queries come from the space's own text, for each kind of content. The relations of a
        preset are fitted, too. Only gains on held-out pseudo-queries are stored. Raises InputError
        if there is too little text, or no relation to fit.
        """
        self._views.catch_up()
        return self._views.fit(progress)

    def suggest_relations(self, *, progress: Progress | None = None) -> list[Suggestion]:
        """Let the language model propose up to three relations; keep those that rank better.

        The model reads a sample of the space. Each proposal is tried on pseudo-queries, as in
        ``fit``, which later fits those that were kept, too. Relations of a preset do not change.
        Raises InputError if there is too little text, LLMNotConfigured, and LLMReplyError for a
        reply without a list of proposals; nothing changes then.
        """
        self._views.catch_up()
        return self._views.suggest_relations(progress)

    def reembed(self, embedder: str | Embedder, *, progress: Progress | None = None) -> Stats:
        """Change the embedding model; the old one answers until the new one is complete.

        If it is interrupted, call it again. Raises EmbeddingError, UnknownName.
        """
        self._views.reembed(open_embedder(embedder), progress)
        return self.stats()

    def export(self) -> Iterator[str]:
        """Yield the space as lines of JSON, without line ends: a header, then an entry a line.

        Damaged entries are left out. After the last line it raises JournalCorrupt naming them, also
        if a damaged index hides entries.
        """
        self._views.erase_expired()
        with self._read_space() as reader:
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
        yield from withheld_lines(self._space, damaged)
        yield from map(exchange.tombstone_line, forgotten)
        if damaged:
            raise exchange.incomplete(damaged)
        with self._read_space() as reader:
            stored.refuse_incomplete(reader)

    def import_(
        self,
        lines: Iterable[str] | Path,
        *,
        since: Any = None,
        mask: bool = True,
        settings: bool = False,
        again_forgotten: bool = False,
        progress: Progress | None = None,
    ) -> Receipt:
        """Add the entries of an export, all or none; known ones are not added twice.

        A Path may also be transcripts of coding agents, exports of chat clients and messengers, or
        mail: a file, a folder of them, or a ``.zip``. Their format is recognised. Messages are
        known by their own ids, so a second import adds only new ones; some hundred are added at a
        time. ``Receipt.omitted`` counts the others. For these, ``since`` leaves out older messages,
        and ``mask`` is that of ``add``.

        An export also brings its ``settings`` to an empty space; to another one only with
        ``settings``. Entries that were forgotten in this space are left out, unless
        ``again_forgotten`` allows them, also for later imports.

        Raises InputError naming the line that cannot be read.
        """
        # Here, because readers of other programs' formats take long to import.
        from treering.ingest.transcripts.importing import import_content

        take_in = partial(self._import_lines, settings=settings, again_forgotten=again_forgotten)
        return import_content(lines, take_in, since, mask, progress)

    def _import_lines(
        self,
        lines: Iterable[str],
        *,
        settings: bool,
        again_forgotten: bool,
        progress: Progress | None = None,
    ) -> Receipt:
        lines = self._beside.note_copies_in(lines)
        receipt = self._intake.restore(lines, settings=settings, again_forgotten=again_forgotten)
        return index(self._views, receipt, progress)

    def spaces(self) -> list[str]:
        """Return the names of all spaces of the file."""
        with self._database.read() as reader:
            return names(reader)

    def stats(self) -> Stats:
        """Return counts, sizes, the model, pending work, outdated views and costs of models.

        Raises UnknownName.
        """
        with self._read_space():
            return self._views.stats(self._database.size())

    def check(self, progress: Progress | None = None) -> list[str]:
        """Return the problems in the file, of all spaces.

        Reads everything, and compares each entry with its stored digest.
        """
        return stored.problems(self._database, progress)

    @contextmanager
    def _read_space(self) -> Iterator[SpaceReader]:
        """Begin a read transaction of the space. Raise UnknownName."""
        with self._space.read() as reader:
            reader.ensure_there()
            yield reader


def _budget(given: int | str | None, settings: SpaceSettings, otherwise: int) -> Budget:
    """Return the budget of a call: the one given, that of the space, or ``otherwise`` tokens."""
    return Budget.parse((settings.budget or otherwise) if given is None else given)


def space_policy(space: Space, policy: str | Policy | None) -> Policy:
    """Return the policy of a chat, by default that of the space. Raise UnknownName."""
    return find_policy(settings_of(space).policy if policy is None else policy)


class MemoryParts(NamedTuple):
    """The parts of a memory, for the shells of this package."""

    space: Space
    views: Views
    intake: Intake
    account: ModelAccount
    beside: SpacesBeside


def memory_parts(memory: Memory) -> MemoryParts:
    """Return the parts of a memory. Raise InputError for one on a server, which has them there."""
    if not isinstance(getattr(memory, "_views", None), Views):
        raise InputError("a memory on a server derives its views there; open its file or database")
    return MemoryParts(
        memory._space, memory._views, memory._intake, memory._account, memory._beside
    )


def index(views: Views, receipt: Receipt, progress: Progress | None = None) -> Receipt:
    """Index new entries; return their receipt with the number that are not searchable yet."""
    views.build(progress, added=receipt.added)
    return replace(receipt, pending=views.count_pending())
