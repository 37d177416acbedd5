"""Taking in: texts, messages and files to entries of the journal, and entries to other texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from treering.errors import InputError, UnknownName
from treering.ingest import exchange, files
from treering.ingest.drafts import Envelope, Numbering, message_drafts, numbered, text_drafts
from treering.journal import entries, ledger, supersession
from treering.journal.contract import Writer
from treering.journal.entries import Draft
from treering.journal.fields import checked_name
from treering.journal.space import Space, SpaceWriter
from treering.records import Receipt, Skipped
from treering.search.relations import settings as fitted
from treering.text import check_text
from treering.views.erase import Eraser
from treering.views.memos import changes
from treering.views.tree import planting

Message = Mapping[str, Any]


class Intake:
    """Adds to one space of a journal. What it returns is durable; what it refuses left no trace."""

    def __init__(self, space: Space, eraser: Eraser) -> None:
        self._space = space
        self._eraser = eraser

    def add(
        self,
        content: str | Path | Message | Iterable[Message],
        source: str | None,
        envelope: Envelope,
    ) -> Receipt:
        """Append a text or messages to a source, or make a file's source what the file holds.

        Raises InputError, UnknownName, JournalError.
        """
        checked_name(source, "source")
        changes.refuse(source)
        if isinstance(content, Path):
            return self._path(content, source, envelope)
        if isinstance(content, str):
            drafts = text_drafts([check_text(content, "the text")], envelope, "the text")
            return self._append(source or "notes", drafts)
        if isinstance(content, Mapping):
            content = [content]
        if isinstance(content, Iterable) and not isinstance(content, bytes):
            # As a list: the caller's generator must not run inside the write transaction.
            return self._append(source or "chat", list(message_drafts(content, envelope)))
        raise InputError(f"cannot add a {type(content).__name__}; give a text, a Path or messages")

    def said(self, writer: SpaceWriter, source: str, message: Message) -> Receipt:
        """Append a message within the caller's transaction, in which it was found to be new.

        Raises InputError.
        """
        checked_name(source, "source")
        changes.refuse(source)
        return self._appended(writer, source, message_drafts([message], Envelope()))

    def rewrite(self, entry_id: str, text: str) -> None:
        """Give an entry another text; everything derived from the old one goes.

        Raises UnknownName, EmptyText, TextEncodingError, InputError.
        """
        with self._space.write() as writer:
            seq, old = entries.find(writer, writer.id, entry_id)
            changes.refuse(old.source)
            envelope = Envelope(old.kind, old.at, old.speaker, old.session, old.metadata)
            drafts = list(text_drafts([check_text(text, "the text")], envelope, "the text"))
            if len(drafts) > 1:
                raise InputError(
                    f"the text has {len(text)} characters, too many for one entry; "
                    "forget the entry and add the text"
                )
            draft = replace(drafts[0], role=old.role)
            if entries.has_digest(writer, seq, draft.digest()):
                draft = replace(draft, key=old.id)
            self._eraser.redraft(writer, seq, draft, scrub=True)

    def supersede(self, old: str, new: str | None) -> None:
        """Let an entry hold instead of another; with None, let the other hold again.

        Raises UnknownName, InputError.
        """
        with self._space.write() as writer:
            supersede(writer, old, new)

    def pin(self, entry_id: str, pinned: bool) -> None:
        """Pin an entry, or pin it no longer. Raises UnknownName."""
        with self._space.write() as writer:
            entries.set_pinned(writer, entries.seq_of(writer, writer.id, entry_id), pinned)

    def restore(self, lines: Iterable[str]) -> Receipt:
        """Take in an export, all or nothing; entries that are here already are left alone.

        Raises InputError naming the line that cannot be read.
        """
        stream = iter(lines)
        header = exchange.read_header(stream)
        settings = header.settings
        fitted.load(settings)  # refuses what a later search would stumble over
        planting.load(settings)
        numbering = Numbering()
        receipts: list[Receipt] = []
        with self._space.write() as writer:
            space = writer.id
            for read in exchange.read_entries(stream):
                if isinstance(read, exchange.SupersededLine):
                    supersede(writer, read.older, read.newer)
                    continue
                source, item = read
                if isinstance(item, Draft):
                    if header.keeps and entries.seqs_of(writer, space, [item.id or ""]):
                        receipts.append(Receipt(unchanged=1))
                        continue
                    # A message with an id of its own is told apart from its like by that.
                    own = replace(item, key=item.id or "")
                    draft = own if header.keeps else numbering.number(item, source)
                    receipts.append(_store(writer, space, source, [draft]))
                else:
                    entries.source_id(writer, space, source)
                    entries.set_source_digest(writer, space, source, item)
            changes.apply(writer, space)
            if settings:
                ledger.save_settings(writer, space, settings)
        return Receipt.total(receipts)

    def _path(self, path: Path, source: str | None, envelope: Envelope) -> Receipt:
        if path.is_dir():
            return self._folder(path, source, envelope)
        if not path.is_file():
            raise UnknownName(f"{path} is neither a file nor a folder")
        return self._file(path, source or str(path.resolve()), envelope)

    def _folder(self, folder: Path, source: str | None, envelope: Envelope) -> Receipt:
        receipts = []
        for path in files.walk(folder):
            if isinstance(path, Skipped):
                receipts.append(Receipt(skipped=(path,)))
                continue
            base = source if source is not None else str(folder.resolve())
            name = f"{base}/{path.relative_to(folder).as_posix()}"
            try:
                receipts.append(self._file(path, name, envelope))
            except (InputError, OSError) as error:
                receipts.append(Receipt(skipped=(Skipped(str(path), str(error)),)))
        return Receipt.total(receipts)

    def _file(self, path: Path, source: str, envelope: Envelope) -> Receipt:
        """Take in a file in one transaction; what an earlier version of it left and it no longer
        holds, or holds in another place, goes.
        """
        checked_name(source, "source")
        digest = files.digest(path, envelope)
        resolved = str(path.resolve())
        with self._space.read() as reader:
            before = entries.source_path(reader, reader.id, source)
            if before not in (None, resolved):
                raise InputError(
                    f"source {source!r} was read from {before}; {resolved} would replace it. Give "
                    "the file another source"
                )
            if entries.source_digest(reader, reader.id, source) == digest:
                return Receipt(unchanged=entries.size(reader, reader.id, source))
        with self._space.write() as writer:
            space = writer.id
            gone = _outdated(writer, space, path, source, envelope.uncounted())
            self._eraser.remove(writer, gone)
            receipt = _store(writer, space, source, _placed(path, source, envelope))
            entries.set_source_digest(writer, space, source, digest)
            entries.set_source_path(writer, space, source, resolved)
            if gone:
                self._eraser.queue_scrub(writer)
        return replace(receipt, removed=len(gone))

    def _append(self, source: str, drafts: Iterable[Draft]) -> Receipt:
        with self._space.write() as writer:
            return self._appended(writer, source, drafts)

    def _appended(self, writer: SpaceWriter, source: str, drafts: Iterable[Draft]) -> Receipt:
        receipt = _store(writer, writer.id, source, numbered(drafts, source))
        if receipt.ids:
            entries.set_source_digest(writer, writer.id, source, None)
        return receipt


def supersede(writer: SpaceWriter, old: str, new: str | None) -> None:
    """Let an entry hold instead of another; with None, let the other hold again.

    Raises UnknownName, InputError.
    """
    older = entries.seq_of(writer, writer.id, old)
    if new is None:
        if not supersession.take_back(writer, older):
            raise InputError(f"nobody said that {old!r} is superseded; there is nothing to undo")
        return
    newer = entries.seq_of(writer, writer.id, new)
    supersession.put(writer, writer.id, older, newer)


def _outdated(writer: Writer, space: int, path: Path, source: str, envelope: Envelope) -> list[int]:
    """The entries of a file's source that the file holds no longer, or in another place."""
    old = entries.places(writer, space, source)
    if old and entries.source_digest(writer, space, source) is None:
        raise InputError(
            f"source {source!r} holds entries that no file brought, which {path} would "
            "replace; give the file another source"
        )
    new = _placed(path, source, envelope) if old else ()
    places = {(draft.position, draft.digest()) for draft in new}
    return [seq for place, seq in old.items() if place not in places]


def _placed(path: Path, source: str, envelope: Envelope) -> Iterator[Draft]:
    """The drafts of a file, each in its place."""
    drafts = numbered(files.file_drafts(path, envelope), source)
    return (replace(draft, position=place) for place, draft in enumerate(drafts))


def _store(writer: Writer, space: int, source: str, drafts: Iterable[Draft]) -> Receipt:
    place = entries.source_id(writer, space, source)
    queue = changes.VIEW if source == changes.SOURCE else None
    done = entries.append(writer, space, place, drafts, queue)
    return Receipt(ids=tuple(done.ids), unchanged=done.unchanged)
