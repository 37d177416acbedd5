"""Taking in: texts, messages and files to entries of the journal, and entries to other texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from treering.errors import InputError, MissingExtra, UnknownName
from treering.ingest import exchange, files
from treering.ingest.documents.reader import DocumentReader
from treering.ingest.drafts import Envelope, Numbering, message_drafts, numbered, text_drafts
from treering.ingest.files import FileContent, FilePart
from treering.journal import entries, ledger
from treering.journal.contract import Writer
from treering.journal.entries import Draft, FileSource
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
            for source, item in exchange.read_entries(stream):
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
                    entries.set_file(writer, space, item)
            changes.apply(writer, space)
            if settings:
                ledger.save_settings(writer, space, settings)
        return Receipt.total(receipts)

    def _path(self, path: Path, source: str | None, envelope: Envelope) -> Receipt:
        if path.is_dir():
            with DocumentReader() as documents:
                return self._folder(path, source, envelope, documents)
        if not path.is_file():
            raise UnknownName(f"{path} is neither a file nor a folder")
        with DocumentReader() as documents:
            return self._file(path, source or str(path.resolve()), envelope, documents)

    def _folder(
        self, folder: Path, source: str | None, envelope: Envelope, documents: DocumentReader
    ) -> Receipt:
        receipts = []
        for path in files.walk(folder):
            if isinstance(path, Skipped):
                receipts.append(Receipt(skipped=(path,)))
                continue
            base = source if source is not None else str(folder.resolve())
            name = f"{base}/{path.relative_to(folder).as_posix()}"
            try:
                receipts.append(self._file(path, name, envelope, documents))
            except (InputError, MissingExtra, OSError) as error:
                reason = str(error).removeprefix(str(path)).lstrip(": ")
                receipts.append(Receipt(skipped=(Skipped(str(path), reason),)))
        return Receipt.total(receipts)

    def _file(
        self, path: Path, source: str, envelope: Envelope, documents: DocumentReader
    ) -> Receipt:
        """Take in a file in one transaction; what an earlier version of it left and it no longer
        holds, or holds in another place, goes.
        """
        checked_name(source, "source")
        digest = files.digest(path, envelope)
        resolved = str(path.resolve())
        with self._space.read() as reader:
            before = entries.parts_of(reader, reader.id, source)
            _refuse_another_file(before, source, resolved)
            if before and all(part.digest == digest for part in before):
                sizes = (entries.size(reader, reader.id, part.name) for part in before)
                return Receipt(unchanged=sum(sizes))
        content = files.read_file(path, source, envelope, documents)
        receipts = []
        with self._space.write() as writer:
            space = writer.id
            gone = _outdated(writer, space, source, path, content, envelope.uncounted())
            self._eraser.remove(writer, gone)
            for part in content.parts:
                drafts = _placed(part, envelope)
                receipts.append(_store(writer, space, part.source, drafts))
                file = FileSource(part.source, digest, resolved, part.document)
                entries.set_file(writer, space, file)
            if gone:
                entries.drop_empty_sources(writer, space)
                self._eraser.queue_scrub(writer)
        return replace(Receipt.total(receipts), removed=len(gone), skipped=content.skipped)

    def _append(self, source: str, drafts: Iterable[Draft]) -> Receipt:
        with self._space.write() as writer:
            return self._appended(writer, source, drafts)

    def _appended(self, writer: SpaceWriter, source: str, drafts: Iterable[Draft]) -> Receipt:
        receipt = _store(writer, writer.id, source, numbered(drafts, source))
        if receipt.ids:
            entries.set_source_digest(writer, writer.id, source, None)
        return receipt


def _refuse_another_file(parts: Iterable[FileSource], source: str, path: str) -> None:
    for part in parts:
        if part.path not in (None, path):
            raise InputError(
                f"source {source!r} was read from {part.path}; {path} would replace it. Give "
                "the file another source"
            )


def _outdated(
    writer: Writer, space: int, source: str, path: Path, content: FileContent, envelope: Envelope
) -> list[int]:
    """The entries of a file's sources that the file holds no longer, or in another place."""
    part_by_name = {part.source: part for part in content.parts}
    before = {part.name: part for part in entries.parts_of(writer, space, source)}
    for name in part_by_name.keys() - before.keys():
        if (other := entries.file_source(writer, space, name)) is not None:
            before[name] = other
    gone: list[int] = []
    for name, old in before.items():
        seq_by_place = entries.places(writer, space, name)
        part = part_by_name.get(name)
        if seq_by_place and (old.digest is None or (part and part.document != old.document)):
            brought = "no file brought" if old.digest is None else f"{old.path} brought"
            raise InputError(
                f"source {name!r} holds entries that {brought}, which {path} would "
                "replace; give the file another source"
            )
        drafts = _placed(part, envelope) if part and seq_by_place else ()
        places = {(draft.position, draft.digest()) for draft in drafts}
        gone += [seq for place, seq in seq_by_place.items() if place not in places]
    return gone


def _placed(part: FilePart, envelope: Envelope) -> Iterator[Draft]:
    """The drafts of a part of a file, each in its place."""
    drafts = numbered(part.drafts(envelope), part.source)
    return (replace(draft, position=place) for place, draft in enumerate(drafts))


def _store(writer: Writer, space: int, source: str, drafts: Iterable[Draft]) -> Receipt:
    place = entries.source_id(writer, space, source)
    queue = changes.VIEW if source == changes.SOURCE else None
    done = entries.append(writer, space, place, drafts, queue)
    return Receipt(ids=tuple(done.ids), unchanged=done.unchanged)
