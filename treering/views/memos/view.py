"""``memory.memos``: what has been talked about, topic by topic, to read, correct and trust."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Final

from treering.arrays import Codes
from treering.embed.checked import checked
from treering.errors import InputError, LLMError, LLMNotConfigured, UnknownMemo
from treering.journal import entries, ledger
from treering.journal.contract import Writer
from treering.journal.fields import parse_time
from treering.journal.space import SpaceReader, SpaceWriter
from treering.llm.contract import memo_model
from treering.records import Entry, Mode, Progress, When
from treering.search.context import against, outdated
from treering.search.marks import Mark, Quote
from treering.search.searcher import by_words_if_down, check_count, check_queries
from treering.views.choices import Wording
from treering.views.contract import Resources
from treering.views.memos import changes, choose, due, search, store
from treering.views.memos.choose import ModelChoice
from treering.views.memos.record import (
    Choice,
    Chooser,
    Claim,
    Memo,
    MemoEvidence,
    MemoHit,
    Span,
    shown,
    spoken,
)
from treering.views.memos.search import MemoSearch, Topic
from treering.views.memos.settle import MemoSettler
from treering.views.memos.store import StoredMemo
from treering.views.settings import settings_of
from treering.views.support import claims_of

log = logging.getLogger("treering")

_DELETED: Final = Memo("", "", (), (), "edited", datetime.min, deleted=True)

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

    # ------------------------------------------------------------------ looking at them

    def list(
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
        begin, end = _time(since, "since"), _time(until, "until")
        with self._reading() as (reader, space):
            stored_memos = store.current(reader, space, _micros(as_of)) if space else []
        memos = [
            stored.memo
            for stored in stored_memos
            if (topic is None or topic.casefold() in stored.memo.topic.casefold())
            and (source is None or any(span.source == source for span in stored.memo.spans))
            and (begin is None or (stored.memo.until is not None and stored.memo.until >= begin))
            and (end is None or (stored.memo.at is not None and stored.memo.at < end))
        ]
        return sorted(memos, key=lambda memo: not memo.pinned)

    def get(self, memo_id: str, *, as_of: When = None) -> Memo:
        """One memo as it is, or was at a time. Raises UnknownName."""
        with self._reading() as (reader, space):
            return store.find(reader, space, memo_id, _micros(as_of)).memo

    def history(self, memo_id: str) -> Memos:
        """Every version of a memo, oldest first, including its deletion. Raises UnknownName."""
        with self._reading() as (reader, space):
            versions = store.history(reader, space, memo_id)
        if not versions:
            raise UnknownMemo(f"no memo {memo_id!r} in this space")
        return [version.memo for version in versions]

    def lines(self, memo: Memo) -> Entries:
        """The lines that a memo stands for, as they were said."""
        with self._reading() as (reader, space):
            return [*store.lines(reader, space, memo).values()]

    # ------------------------------------------------------------------ finding the right ones

    def search(
        self, query: str, *, k: int = 10, mode: Mode = "hybrid", source: str | None = None
    ) -> Hits:
        """The k memos that answer a query best, by words, meaning and relations; needs no LLM.

        Raises InputError, EmbeddingError; ModelMismatch if another process has changed the model.
        """
        check_queries([query])
        check_count("k", k)
        self._erase_expired()  # before memos are embedded, and what is said is counted
        vectors = self._searcher.embedded([query], mode)
        if vectors is not None:
            self._embed()
        base = self._searcher.snapshot()
        if base is None or not len(base):
            return []
        self._searcher.ensure_same(base, vectors)
        with self._space.read() as reader:
            memo_space = self._search.space(reader, reader.id, base)
        return self._search.search(
            memo_space, query, vectors, self._defaults(), k, source=source, mode=mode
        )

    def choose(self, query: str, *, source: str | None = None) -> Choice:
        """The memos that a query is about, with their lines as evidence (MemoChat, table 7).

        The language model chooses among numbered options, which search narrows down if there are
        too many. Search chooses if there is no model, if the model is down, or if its reply is not
        a choice (it names every option, say). Pinned memos are always chosen and come first; the
        others follow in the order of search. While the embedder fails, words alone count.
        Summaries and lines that do not hold any more are marked.
        """
        hits = by_words_if_down(
            lambda mode: self.search(query, k=choose.MOST_RANKED, mode=mode, source=source)
        )
        wording = settings_of(self._space).wording
        picked = self._ask_model(query, [hit.memo for hit in hits])
        chosen = choose.related(hits)
        if picked.memos is not None:  # the best first, for a prompt may have room for some only
            chosen = [hit.memo for hit in hits if hit.memo in picked.memos]
        with self._reading() as (reader, space):
            pinned = _of_source(store.pinned(reader, space), source)
            evidences = tuple(
                _evidence(memo, lines, self._marks_of(reader, lines), wording)
                for memo in dict.fromkeys((*pinned, *chosen))
                if (lines := store.lines(reader, space, memo))
            )
        by: Chooser = "search" if picked.memos is None else "model"
        return Choice(query, evidences, by, picked.usage)

    def pinned(self) -> Memos:
        """The pinned memos, in the order they were first made."""
        with self._reading() as (reader, space):
            return _of_source(store.pinned(reader, space), None)

    def written(self, source: str) -> frozenset[str]:
        """The ids of the lines of a conversation that memos stand for."""
        with self._reading() as (reader, space):
            return store.written_of(reader, space, source)

    def recent(self, source: str) -> Entries:
        """The recent dialogue: the last lines of a conversation that no memo stands for yet."""
        with self._reading() as (reader, space):
            dialogues = due.dialogues(reader, space, source)
        return [line.entry for dialogue in dialogues for line in dialogue.recent]

    def _relation(self) -> Topic:
        """The relation between fragments of the same memo, for ``memory.search``."""
        with self._reading() as (reader, space):
            return Topic(self._topics, store.mark(reader, space))

    # ------------------------------------------------------------------ looking after them

    def edit(self, memo_id: str, *, topic: str | None = None, summary: str | None = None) -> Memo:
        """Give a memo another topic, summary or both. A summary given here counts as supported.

        Raises UnknownName, InputError.
        """
        if topic is None and summary is None:
            raise InputError("an edit needs a topic or a summary")
        with self._writing() as (writer, space):
            old = store.find(writer, space, memo_id)
            new = replace(
                old.memo,
                topic=old.memo.topic if topic is None else changes.checked_topic(topic),
                claims=old.memo.claims if summary is None else _claims(summary),
            )
            keeps_text = topic is None or summary is None
            return self._record(writer, space, new, [old] if keeps_text else [])

    def pin(self, memo_id: str, pinned: bool = True) -> Memo:
        """Pin a memo, or unpin it. Raises UnknownName."""
        with self._writing() as (writer, space):
            old = store.find(writer, space, memo_id)
            return self._record(writer, space, replace(old.memo, pinned=pinned), [old])

    def merge(
        self, memo_ids: Sequence[str], *, topic: str | None = None, summary: str | None = None
    ) -> Memo:
        """Make one memo of several, under the id of the first. The others are deleted.

        By default the memo has the topic of the first and the sentences of all.
        Raises UnknownName, InputError.
        """
        if len(set(memo_ids)) < 2:
            message = f"a merge needs the ids of at least two memos, not {list(memo_ids)}"
            raise InputError(message, param="memo_ids")
        with self._writing() as (writer, space):
            stored_memos = [
                store.find(writer, space, memo_id) for memo_id in dict.fromkeys(memo_ids)
            ]
            memos = [stored.memo for stored in stored_memos]
            new = replace(
                memos[0],
                topic=memos[0].topic if topic is None else changes.checked_topic(topic),
                claims=tuple(dict.fromkeys(claim for memo in memos for claim in memo.claims))
                if summary is None
                else _claims(summary),
                spans=tuple(span for memo in memos for span in memo.spans),
                pinned=any(memo.pinned for memo in memos),
            )
            keeps_text = topic is None or summary is None
            # The deletions come first, so that the merged memo does not repeat their lines.
            for memo in memos[1:]:
                self._record(writer, space, replace(_DELETED, id=memo.id, spans=memo.spans))
            return self._record(writer, space, new, stored_memos if keeps_text else [])

    def split(
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
        with self._writing() as (writer, space):
            stored = store.find(writer, space, memo_id)
            old = stored.memo
            if entry_id not in old.entry_ids[1:]:
                raise InputError(
                    f"entry {entry_id!r} is not a line of memo {memo_id!r} after its first; "
                    f"those are {', '.join(old.entry_ids[1:]) or 'none'}"
                )
            at = old.entry_ids.index(entry_id)
            titles = [changes.checked_topic(title) for title in topics or (old.topic, old.topic)]
            texts = [_claims(text) for text in summaries] if summaries else [old.claims] * 2
            halves = (old.entry_ids[:at], old.entry_ids[at:])
            names = (old.id, secrets.token_hex(8))
            drawn_from = [] if topics and summaries else [stored]
            first, second = (
                self._record(
                    writer,
                    space,
                    replace(old, id=name, topic=title, claims=claims, spans=_only(old, lines)),
                    drawn_from,
                )
                for name, title, claims, lines in zip(names, titles, texts, halves, strict=True)
            )
            return first, second

    def delete(self, memo_id: str) -> None:
        """Delete a memo. Its lines stay in the journal, and no model writes about them again.

        The history stays, too: ``memory.forget`` erases it with the lines. Raises UnknownName.
        """
        with self._writing() as (writer, space):
            old = store.find(writer, space, memo_id).memo
            self._record(writer, space, replace(_DELETED, id=old.id, spans=old.spans))

    # ------------------------------------------------------------------ keeping them up to date

    def settle(
        self,
        progress: Progress | None = None,
        *,
        source: str | None = None,
        wording: Wording | None = None,
        upgrade: bool = False,
    ) -> None:
        """Have the language model write the lines that are due, of all conversations or of one.

        Lines are due once the recent dialogue has over 10 lines or 1,024 tokens, or what
        ``Memory.configure`` set as ``memo_lines`` and ``memo_tokens``. Its last exchange stays.
        Without a language model nothing is written. ``wording`` chooses the prompt: ours,
        ``plain``, or the paper's, as ``printed`` or with its slip ``mended``; by default as
        ``Memory.configure`` set it. ``upgrade`` also asks again about lines whose reply could not
        be read. Raises LLMError and EmbeddingError; unwritten lines stay queued.
        """
        self._erase_expired()
        try:
            llm = memo_model(self._llm())
        except LLMNotConfigured:
            return self._embed()
        settings = settings_of(self._space)
        settings = replace(settings, wording=wording or settings.wording)
        settler = MemoSettler(self._space, llm, self._embedder(), settings)
        settler.run(source, progress, upgrade=upgrade)
        return self._embed()

    def _embed(self) -> None:
        """Embed the memos that the space's model has not embedded. Raises EmbeddingError."""
        with self._space.read() as reader:
            model = reader.model
            if model is None or model.name != self._embedder().name:
                return
            waiting = store.unembedded(reader, reader.id, model)
        if waiting:
            # The embedder is called outside any transaction: it may take long.
            texts = [search.text_of(stored) for stored in waiting]
            vectors = checked(self._embedder(), texts, dimension=model.dimension)
            with self._space.write() as writer:
                store.save_vectors(writer, model, [stored.version for stored in waiting], vectors)

    # ------------------------------------------------------------------ inside

    @contextmanager
    def _reading(self) -> Iterator[tuple[SpaceReader, int]]:
        """A read transaction and the space's number, after what has expired is gone."""
        self._erase_expired()
        with self._space.read() as reader:
            reader.ensure_there()
            yield reader, reader.id

    @contextmanager
    def _writing(self) -> Iterator[tuple[SpaceWriter, int]]:
        self._erase_expired()
        with self._space.write() as writer:
            yield writer, writer.id

    def _ask_model(self, query: str, ranked: Sequence[Memo]) -> ModelChoice:
        """The model's choice; without memos if there is no model or it does not answer."""
        if not ranked:
            return ModelChoice(None)
        try:
            llm = memo_model(self._llm())
            shown = choose.fitting(llm, sorted(ranked, key=lambda memo: not memo.pinned))
            settings = settings_of(self._space)
            options = sorted(shown, key=_first_said)
            heat = settings.temperature or 0.0
            choice = choose.ask(llm, query, options, settings.noto, heat)
        except LLMNotConfigured:
            return ModelChoice(None)
        except LLMError as error:
            log.warning("search chooses the memos, the language model does not answer: %s", error)
            return ModelChoice(None)
        with self._space.write() as writer:
            ledger.spend(writer, choice.usage.spent("choose", choice.writer))
        return choice

    def _record(
        self, writer: Writer, space: int, memo: Memo, drawn_from: Sequence[StoredMemo] = ()
    ) -> Memo:
        """Record a change and apply it. ``drawn_from`` are the versions whose text it keeps."""
        seen = [seq for stored in drawn_from for seq in store.seen(writer, stored.version)]
        changes.say(writer, space, memo, seen)
        changes.apply(writer, space)
        return store.history(writer, space, memo.id)[-1].memo

    def _marks_of(self, reader: SpaceReader, lines: Mapping[int, Entry]) -> Sequence[Mark]:
        return self._marker(reader, [Quote.whole(seq, entry) for seq, entry in lines.items()])

    def _topics(self, fragment: Codes) -> Codes:
        """The topics of fragments, for a search, which has seen to what has expired."""
        with self._space.read() as reader:
            return search.topics(reader, reader.id, fragment)


def _of_source(stored_memos: Sequence[StoredMemo], source: str | None) -> Memos:
    memos = (stored.memo for stored in stored_memos)
    return [m for m in memos if source is None or any(span.source == source for span in m.spans)]


def _evidence(
    memo: Memo, lines: Mapping[int, Entry], marks: Sequence[Mark], wording: Wording
) -> MemoEvidence:
    """A memo with its lines, each marked where it does not hold any more."""
    dialogues = (
        f"{spoken(line, wording)} {shown(against(mark))}".rstrip()
        for line, mark in zip(lines.values(), marks, strict=True)
    )
    doubt = shown(outdated(marks))
    return MemoEvidence(memo, memo.topic, f"{memo.stated} {doubt}".strip(), tuple(dialogues))


def _first_said(memo: Memo) -> tuple[datetime, str, int]:
    span = memo.spans[0] if memo.spans else Span("", 0, 0, ())
    return (memo.at or memo.made, span.source, span.first)


def _claims(summary: str) -> tuple[Claim, ...]:
    return tuple(Claim(text, True) for text in claims_of(changes.checked_summary(summary)))


def _only(memo: Memo, lines: Sequence[str]) -> tuple[Span, ...]:
    """A memo's spans with only some of its lines."""
    ids_left = (
        tuple(entry_id for entry_id in span.entry_ids if entry_id in lines) for span in memo.spans
    )
    both = zip(memo.spans, ids_left, strict=True)
    return tuple(replace(span, entry_ids=ids) for span, ids in both if ids)


def _time(value: When, what: str) -> datetime | None:
    return None if value is None else parse_time(value, what)


def _micros(as_of: When) -> int | None:
    moment = _time(as_of, "as_of")
    return None if moment is None else entries.micros(moment)
