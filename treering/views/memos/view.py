"""``memory.memos``: summaries of conversations, topic by topic, to read, search and correct."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import ClassVar, Literal

from treering.arrays import Codes
from treering.embed.contract import unit_vectors
from treering.errors import InputError, LLMError, LLMNotConfigured
from treering.journal import ledger, work
from treering.journal.space import SpaceReader, SpaceWriter
from treering.llm.contract import memo_model
from treering.llm.tokens import estimate_tokens
from treering.records import Entry, Filter, Mode, Progress
from treering.search.context import against, mark_of_summary
from treering.search.marks import Mark, Quote
from treering.search.relations.contract import Items
from treering.search.searcher import Search, by_words_if_down, check_count
from treering.views.choices import Wording
from treering.views.contract import Erased, Resources, Trace, View
from treering.views.memos import changes, choose, store
from treering.views.memos.choose import ModelChoice
from treering.views.memos.record import (
    Choice,
    Claim,
    Memo,
    MemoEvidence,
    MemoHit,
    Span,
    is_from,
    one_line,
    speaker_line,
)
from treering.views.memos.search import MemoSearch, Topic, topics_of_fragments
from treering.views.memos.settle import VIEW, MemoSettler, read_dialogues
from treering.views.memos.store import StoredMemo
from treering.views.settings import choices_of, settings_of
from treering.views.support import claims_of

log = logging.getLogger("treering")

Memos = list[Memo]  # inside the class, ``list`` is a method
Hits = list[MemoHit]
Entries = list[Entry]


class MemoView:
    """The memos of one space. Safe to use from many threads."""

    def __init__(self, resources: Resources) -> None:
        self._space = resources.space
        self._embedder = resources.embedder
        self._llm = resources.llm
        self._searcher = resources.search
        self._defaults = resources.defaults
        self._marker = resources.marks
        self._erase_expired = resources.erase_expired
        self._search = MemoSearch()

    # ------------------------------------------------------------------ reading

    def list(self, *, topic: str | None = None, source: str | None = None) -> Memos:
        """The memos in the order they were first made, pinned ones first.

        ``topic`` is a part of the topic, ``source`` a conversation.
        """
        with self._read() as reader:
            memos = _memos_from(store.current(reader), source)
        chosen = [memo for memo in memos if (topic or "").casefold() in memo.topic.casefold()]
        return sorted(chosen, key=lambda memo: not memo.pinned)

    def get(self, memo_id: str) -> Memo:
        """One memo. Raises UnknownName."""
        with self._read() as reader:
            return store.find(reader, memo_id).memo

    def lines(self, memo: Memo) -> Entries:
        """The lines that a memo stands for, as they were said."""
        with self._read() as reader:
            return [*store.lines(reader, memo).values()]

    def recent(self, source: str) -> Entries:
        """The recent dialogue: the last lines of a conversation that no memo stands for yet."""
        with self._read() as reader:
            dialogues = read_dialogues(reader, source)
        return [line for dialogue in dialogues for line in dialogue.recent.values()]

    # ------------------------------------------------------------------ searching

    def search(
        self, query: str, *, k: int = 10, mode: Mode = "hybrid", source: str | None = None
    ) -> Hits:
        """The k memos that answer a query best, by words, meaning and relations; needs no LLM.

        Raises InputError, EmbeddingError; ModelMismatch if another process has changed the model.
        """
        check_count("k", k)
        search = Search(query, Filter(), mode, self._defaults())
        self._erase_expired()  # before memos are embedded and their words are counted
        vectors = self._searcher.embed_queries([query], mode)
        if vectors is not None:
            self._embed()
        base = self._searcher.snapshot()
        if base is None or not len(base):
            return []
        search = replace(search, vector=None if vectors is None else vectors[0])
        self._searcher.ensure_same(base, search.vector)
        with self._space.read() as reader:
            space = self._search.space(reader, base)
        return self._search.search(space, search, k, source=source)

    def choose(self, query: str, *, source: str | None = None) -> Choice:
        """The memos that a query is about, with their lines as evidence (MemoChat, table 7).

        The language model chooses among numbered options; search narrows them down if there are
        too many. Search chooses without a model, if the model is down, or if its reply is not
        a choice, such as one that names every option. Pinned memos are always chosen and come
        first; the others follow in the order of search. While the embedder fails, words alone
        count. Summaries and lines that do not hold any more are marked.
        """
        hits = by_words_if_down(
            lambda mode: self.search(query, k=choose.MOST_RANKED, mode=mode, source=source)
        )
        wording = settings_of(self._space).wording
        choice = self._ask_model(query, [hit.memo for hit in hits])
        memos = choose.related_memos(hits)
        if choice.memos is not None:  # the best first: a prompt may have room for some only
            memos = [hit.memo for hit in hits if hit.memo in choice.memos]
        with self._read() as reader:
            pinned = _memos_from(store.current(reader, " AND m.pinned = 1"), source)
            evidences = tuple(
                _evidence(memo, lines, self._marks_of(reader, lines), wording)
                for memo in dict.fromkeys((*pinned, *memos))
                if (lines := store.lines(reader, memo))
            )
        by: Literal["model", "search"] = "search" if choice.memos is None else "model"
        return Choice(query, evidences, by, choice.usage)

    def _ask_model(self, query: str, ranked: Sequence[Memo]) -> ModelChoice:
        """The model's choice; ``memos`` is None without an answer."""
        if not ranked:
            return ModelChoice()
        try:
            llm = memo_model(self._llm())
            options = choose.fitting_options(llm, sorted(ranked, key=lambda memo: not memo.pinned))
            options.sort(key=_first_said)
            settings = settings_of(self._space)
            heat = settings.temperature or 0.0
            choice = choose.ask(llm, query, options, settings.noto, heat)
        except LLMNotConfigured:
            return ModelChoice()
        except LLMError as error:
            log.warning("search chooses the memos, the language model does not answer: %s", error)
            return ModelChoice()
        with self._space.write() as writer:
            ledger.spend(writer, choice.usage.spent("choose", choice.writer))
        return choice

    def _marks_of(self, reader: SpaceReader, lines: Mapping[int, Entry]) -> Sequence[Mark]:
        return self._marker(reader, [Quote.whole(seq, entry) for seq, entry in lines.items()])

    def _relation(self) -> Topic:
        """The relation between fragments of the same memo, for ``memory.search``."""
        with self._read() as reader:
            return Topic(self._topics, store.mark(reader))

    def _topics(self, items: Items) -> Codes:
        with self._space.read() as reader:
            return topics_of_fragments(reader, items)

    # ------------------------------------------------------------------ correcting

    def edit(
        self,
        memo_id: str,
        *,
        topic: str | None = None,
        summary: str | None = None,
        pinned: bool | None = None,
    ) -> Memo:
        """Give a memo another topic or summary, or pin it: pinned memos come first.

        A summary given here counts as supported. Raises UnknownName, InputError.
        """
        if topic is None and summary is None and pinned is None:
            raise InputError("an edit needs a topic, a summary or pinned")
        with self._write() as writer:
            old = store.find(writer, memo_id)
            new = _reword(old.memo, topic, summary)
            new = new if pinned is None else replace(new, pinned=pinned)
            keeps = new.topic == old.memo.topic or not set(new.claims).isdisjoint(old.memo.claims)
            changes.record(writer, new, store.seen(writer, old.number) if keeps else ())
            return store.find(writer, memo_id).memo

    def delete(self, memo_id: str) -> None:
        """Delete a memo. Its lines stay in the journal, and no model writes about them again.

        Raises UnknownName.
        """
        with self._write() as writer:
            changes.record(writer, store.find(writer, memo_id).memo, (), deleted=True)

    # ------------------------------------------------------------------ writing

    def settle(
        self,
        progress: Progress | None = None,
        *,
        source: str | None = None,
        upgrade: bool = False,
    ) -> None:
        """Have the language model write the lines that are due, of all conversations or of one.

        Lines are due once the recent dialogue has over 10 lines or 1,024 tokens, or the values
        that ``Memory.configure`` set as ``memo_lines`` and ``memo_tokens``. Its last exchange
        stays. Without a language model nothing is written. ``upgrade`` also asks again about lines
        whose reply could not be read. Raises LLMError and EmbeddingError; unwritten lines stay due.
        """
        self._erase_expired()
        try:
            llm = memo_model(self._llm())
        except LLMNotConfigured:
            return self._embed()
        settler = MemoSettler(self._space, llm, self._embedder(), settings_of(self._space))
        settler.run(source, progress, upgrade=upgrade)
        return self._embed()

    def _embed(self) -> None:
        """Embed the memos that the space's model has not embedded. Raises EmbeddingError."""
        with self._space.read() as reader:
            model = reader.model
            if model is None or model.name != self._embedder().name:
                return
            waiting = store.current(reader, " AND (m.model IS NULL OR m.model <> ?)", model.id)
        if waiting:
            # The embedder is called outside any transaction: it may take long.
            texts = [stored.memo.option for stored in waiting]
            vectors = unit_vectors(self._embedder(), texts, dimension=model.dimension)
            with self._space.write() as writer:
                store.save_vectors(writer, model, waiting, vectors)

    @contextmanager
    def _read(self) -> Iterator[SpaceReader]:
        """A read transaction, after expired entries are erased."""
        self._erase_expired()
        with self._space.read() as reader:
            reader.ensure_there()
            yield reader

    @contextmanager
    def _write(self) -> Iterator[SpaceWriter]:
        self._erase_expired()
        with self._space.write() as writer:
            yield writer


class MemoRows(View):
    """The rows of memos. Single entries derive nothing; a language model writes due lines."""

    name: ClassVar[str] = VIEW
    relation_name: ClassVar[str | None] = "topic"
    kinds: ClassVar[tuple[str, ...]] = ("memos",)
    traces: ClassVar[tuple[Trace, ...]] = (Trace("memo_line", "entry"),)

    def __init__(self, memos: MemoView, has_llm: Callable[[], bool]) -> None:
        self._memos = memos
        self._has_llm = has_llm

    def settle(self, progress: Progress | None = None, *, upgrade: bool = False) -> None:
        """See ``View``."""
        self._memos.settle(progress, upgrade=upgrade)

    def pending(self, reader: SpaceReader) -> Mapping[str, int]:
        """The batches that a model would write now; none without a model.

        Tokens are estimated: this count must not wait for a model, nor fail with it.
        """
        counts = work.counts(reader, reader.id, [changes.VIEW])
        if self._has_llm():
            settings = choices_of(ledger.settings(reader))
            dialogues = read_dialogues(reader)
            counts[VIEW] = sum(len([*one.batches(settings, estimate_tokens)]) for one in dialogues)
        return counts

    def erase(self, writer: SpaceWriter, seqs: Sequence[int]) -> Erased:
        """See ``View``. The entries of a person's changes to an erased memo are erased, too."""
        memos, change_entries = store.erase(writer, seqs)
        return Erased({"memos": memos}, change_entries)

    def begin_rebuild(self, writer: SpaceWriter) -> None:
        """Mark all memos that a model wrote for rewriting. Each stays until it is replaced.

        Raises LLMNotConfigured if there are such memos without a model to rewrite them.
        """
        if not store.has_written(writer):
            return
        if not self._has_llm():
            raise LLMNotConfigured(
                "memos that a language model wrote can only be written again by one; configure "
                "one, see `treering doctor`"
            )
        store.let_rewrite(writer)

    def finish_rebuild(self, progress: Progress | None = None) -> None:
        """See ``View``."""
        self._memos.settle(progress, upgrade=True)

    def relation(self) -> Topic:
        """See ``View``."""
        return self._memos._relation()


def _memos_from(stored_memos: Sequence[StoredMemo], source: str | None = None) -> Memos:
    return [stored.memo for stored in stored_memos if is_from(stored.memo, source)]


def _evidence(
    memo: Memo, lines: Mapping[int, Entry], marks: Sequence[Mark], wording: Wording
) -> MemoEvidence:
    """A memo with its lines, each marked where it does not hold any more."""
    dialogues = (
        f"{speaker_line(line, wording)} {one_line(against(mark))}".rstrip()
        for line, mark in zip(lines.values(), marks, strict=True)
    )
    doubt = one_line(mark_of_summary(marks))
    return MemoEvidence(memo, memo.topic, f"{memo.stated} {doubt}".strip(), tuple(dialogues))


def _first_said(memo: Memo) -> tuple[datetime, str, int]:
    span = memo.spans[0] if memo.spans else Span("", 0, 0, ())
    return (memo.at or memo.made, span.source, span.first)


def _reword(memo: Memo, topic: str | None, summary: str | None) -> Memo:
    """A memo with a person's topic or summary. Raises InputError."""
    if topic is not None:
        memo = replace(memo, topic=changes.clean_topic(topic))
    if summary is not None:
        texts = claims_of(changes.clean_summary(summary))
        memo = replace(memo, claims=tuple(Claim(text, True) for text in texts))
    return memo
