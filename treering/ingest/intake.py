"""Taking in: texts, messages and files to entries of the journal, and entries to other texts."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from treering import files as user_files
from treering.errors import InputError, MissingExtra
from treering.hints import Hint
from treering.ingest import exchange, files, withheld
from treering.ingest.documents.reader import DocumentReader
from treering.ingest.drafts import Envelope, Numbering, message_drafts, text_drafts, with_keys
from treering.ingest.files import FileContent, FilePart
from treering.ingest.folder import KnownFolder
from treering.ingest.items import (
    Item,
    ItemParts,
    Plan,
    SameText,
    read_items,
    store_items,
    supersede,
)
from treering.journal import entries, ledger, sources, writing
from treering.journal.contract import Reader
from treering.journal.fields import checked_name, required_name
from treering.journal.sources import FileSource
from treering.journal.space import Space, SpaceWriter
from treering.journal.tombstones import Tombstone
from treering.journal.writing import Draft
from treering.records import Receipt, Skipped
from treering.text import check_text
from treering.views import settings as space_settings
from treering.views.erase import Eraser
from treering.views.facts import store as facts
from treering.views.memos import changes

log = logging.getLogger("treering")

Message = Mapping[str, Any]

BeforeCommit = Callable[[SpaceWriter, Receipt], None]
"""Called at the end of the transaction of an ``add``, which may be retried. An error undoes it."""

MAX_GONE = 0.5
"""Of the known files of a folder, the share that ``sync`` takes for deleted without being forced:
of a drive that is not mounted, or of a checkout under way, most are gone."""

SETTINGS_LEFT = "settings of the export, as the space has entries"
"""The name in a receipt for skipped settings: an imported file must not decide how a space is
searched."""


class Intake:
    """Adds to one space of a journal. A returned receipt means durable; a refused call leaves no
    trace."""

    def __init__(self, space: Space, eraser: Eraser) -> None:
        self._space = space
        self._eraser = eraser

    def add(
        self,
        content: str | Path | Message | Iterable[Message],
        source: str | None,
        envelope: Envelope,
        sync: bool = False,
        force: bool = False,
        before_commit: BeforeCommit | None = None,
    ) -> Receipt:
        """Append a text or messages to a source, or make a file's source what the file holds.

        With ``sync`` what was read from files of a folder that are gone is erased; if these are
        more than half of all that are known of it, only with ``force``.

        Raises InputError, UnknownName, JournalError.
        """
        source = checked_name(source, "source")
        changes.refuse(source)
        if force and not sync:
            raise InputError("force is for sync; leave it out", param="force")
        if isinstance(content, Path):
            return Receipt.total([*self.each_file(content, source, envelope, sync, force)])
        if sync:
            raise InputError("sync is for a folder; give its Path", param="sync")
        if envelope.encoding is not None:
            raise InputError(
                "encoding is for files and folders; a text needs none", param="encoding"
            )
        if isinstance(content, str):
            drafts = text_drafts([check_text(content, "the text")], envelope, "the text")
            return self._append(source or "notes", drafts, before_commit)
        if isinstance(content, Mapping):
            content = [content]
        if isinstance(content, Iterable) and not isinstance(content, bytes):
            drafts = message_drafts(content, envelope)
            return self._append(source or "chat", drafts, before_commit)
        raise InputError(f"cannot add a {type(content).__name__}; give a text, a Path or messages")

    def each_file(
        self,
        path: Path,
        source: str | None,
        envelope: Envelope,
        sync: bool = False,
        force: bool = False,
    ) -> Iterator[Receipt]:
        """As ``add`` of a file or folder, with a receipt for each file.

        So a caller sees the progress, and need not keep the ids of all entries.
        """
        source = checked_name(source, "source")
        changes.refuse(source)
        with user_files.looking_at(path):
            is_folder = path.is_dir()
        if sync and not is_folder:
            raise InputError(f"sync is for a folder, and {path} is a file", param="sync")
        with DocumentReader() as documents:
            if is_folder:
                yield from self._each_of_folder(path, source, envelope, documents, sync, force)
            else:
                yield self._single(path, source, envelope, documents)

    def said(self, writer: SpaceWriter, source: str, message: Message) -> Receipt:
        """Append a message within the caller's transaction, in which it was found to be new.

        Raises InputError.
        """
        source = checked_name(source, "source") or source
        changes.refuse(source)
        drafts = with_keys(message_drafts([message], Envelope()), source)
        items = [(source, draft) for draft in drafts]
        return store_items(writer, items, Plan(appends=True))

    def put_back(self, items: Sequence[Item]) -> None:
        """Store entries that were withheld. Raises InputError."""
        self._take_in(items, Plan(keeps=True, again_forgotten=True, settings={}))

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
            draft = drafts[0]._replace(role=old.role)
            if entries.has_digest(writer, seq, draft.digest()):
                draft = draft._replace(key=old.id)
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
            writing.set_pinned(writer, entries.seq_of(writer, writer.id, entry_id), pinned)

    def copy_in(self, source: str, drafts: Iterable[Draft]) -> Receipt:
        """Append drafts that have ids of their own; those that are here already stay as they are.

        Raises InputError for an id that is here with another text.
        """
        items = ((source, draft) for draft in drafts)
        return self._take_in(items, Plan(appends=True, again_forgotten=True))

    def restore(
        self, lines: Iterable[str], *, settings: bool = False, again_forgotten: bool = False
    ) -> Receipt:
        """Take in an export, all or nothing; entries that are here already are left alone.

        So are the settings of a space that has entries, unless ``settings`` are asked for. Entries
        that were forgotten are left out, unless ``again_forgotten``.

        Raises InputError naming the line that cannot be read.
        """
        stream = iter(lines)
        given, keeps = exchange.read_header(stream)
        space_settings.read(given)  # refuses what a later search would stumble over
        with self._space.read() as reader:
            others = given and given != ledger.settings(reader)
            leaves = others and not settings and entries.count(reader, "entry", reader.id) > 0
        plan = Plan(keeps, settings={} if leaves else given, again_forgotten=again_forgotten)
        held: list[Item] = []
        receipt = self._take_in(
            _export_items(stream, keeps, held),
            plan,
            lambda *_: withheld.check_room(self._space, held),
        )
        withheld.take_in(self._space, held)
        omitted = {**receipt.omitted, SETTINGS_LEFT: 1} if leaves else receipt.omitted
        return replace(receipt, omitted=omitted)

    def _single(
        self, path: Path, source: str | None, envelope: Envelope, documents: DocumentReader
    ) -> Receipt:
        """Take in a file that was named itself."""
        with user_files.looking_at(path):
            if not path.is_file():
                raise InputError(f"{path} is neither a file nor a folder")
            digest = files.digest(path, envelope)
        name = source or self._name_of(path.resolve())
        return self._file(path, name, digest, envelope, documents)

    def _name_of(self, path: Path) -> str:
        with self._space.read() as reader:
            files = sources.file_sources(reader, reader.id)
            names = [file.whole for file in files if file.path == str(path)]
        return min(names, key=len, default=str(path))

    def _each_of_folder(
        self,
        folder: Path,
        source: str | None,
        envelope: Envelope,
        documents: DocumentReader,
        sync: bool,
        force: bool,
    ) -> Iterator[Receipt]:
        """The receipts of each file of a folder, and one of those that are gone."""
        with self._space.read() as reader:
            known = KnownFolder(reader, reader.id, folder, source)
        for path in files.walk(folder, envelope):
            if isinstance(path, Skipped):
                yield Receipt(skipped=(path,))
                continue
            try:
                yield self._file_of(known, path.resolve(), envelope, documents)
            except (InputError, MissingExtra, OSError) as error:
                reason = str(getattr(error, "message", error))  # as in ``files.walk``
                reason = reason.removeprefix(str(path.resolve())).removeprefix(str(path))
                yield Receipt(skipped=(Skipped(str(path), reason.lstrip(": ")),))
        yield self._gone(known, sync, force)

    def _file_of(
        self, known: KnownFolder, path: Path, envelope: Envelope, documents: DocumentReader
    ) -> Receipt:
        """Take in a file of a folder. One that has only moved keeps its entries, and a new one
        with the content of another is not stored again.
        """
        name = required_name(known.name(path), "source")
        digest = files.digest(path, envelope)
        moved = known.find_moved(path, digest)
        is_moved = moved is not None and self._rename(moved.whole, name, path)
        if not is_moved and (original := known.find_original(path, digest, envelope)) is not None:
            return Receipt(skipped=(Skipped(str(path), f"a copy of {original}"),))
        receipt = self._file(path, name, digest, envelope, documents)
        known.note(path, digest)
        return replace(receipt, moved=int(is_moved))

    def _rename(self, old: str, new: str, path: Path) -> bool:
        """Give the source of a file another name and path, unless that name is taken."""
        with self._space.write() as writer:
            if sources.document_parts(writer, writer.id, new):
                return False
            seqs = entries.of_source(writer, writer.id, old)
            sources.rename_file(writer, writer.id, old, new, str(path))
            facts.rename(writer, writer.id, old, new, seqs)
        return True

    def _gone(self, known: KnownFolder, sync: bool, force: bool) -> Receipt:
        """The sources of missing files: listed, and with ``sync`` erased.

        Raises InputError, unless forced, if most are gone: so does a drive that is not mounted.
        """
        with self._space.read() as reader:
            names = known.gone(reader, reader.id)
        if not sync or not names:
            return Receipt(gone=tuple(names))
        if len(names) > known.size() * MAX_GONE and not force:
            raise InputError(
                f"of the {known.size()} files that were read from {known.root}, {len(names)} are "
                "gone, so nothing was erased: see whether the folder is mounted",
                hint=Hint.FORCE_SYNC,
            )
        with self._space.write() as writer:
            seqs = [seq for name in names for seq in entries.of_source(writer, writer.id, name)]
            self._eraser.erase(writer, seqs)
            sources.drop_empty_sources(writer, writer.id)  # of files that had nothing to take in
        return Receipt(gone=tuple(names), removed=len(seqs))

    def _file(
        self,
        path: Path,
        source: str,
        digest: bytes,
        envelope: Envelope,
        documents: DocumentReader,
    ) -> Receipt:
        """Take in a file. Entries of an earlier version that it no longer holds, or holds in
        another place, go in one transaction with the new ones.
        """
        source = checked_name(source, "source") or source
        resolved = str(path.resolve())
        with self._space.read() as reader:
            before = sources.document_parts(reader, reader.id, source)
            _refuse_another_file(before, source, resolved)
            is_unchanged = bool(before) and all(part.digest == digest for part in before)
            unchanged = sum(entries.size(reader, reader.id, part.name) for part in before)
        if is_unchanged:
            return Receipt(unchanged=unchanged)
        content = files.read_file(path, source, envelope, documents)
        with read_items(_of_file(content, digest, resolved, envelope)) as parts:

            def store(writer: SpaceWriter) -> Receipt:
                gone = _old_entries(writer, writer.id, source, path, content, parts)
                self._eraser.remove(writer, gone)
                receipts = [store_items(writer, part, Plan()) for part in parts()]
                if gone:
                    sources.drop_empty_sources(writer, writer.id)
                    self._eraser.queue_scrub(writer)
                return replace(Receipt.total(receipts), removed=len(gone))

            return replace(self._space.change(store), skipped=content.skipped)

    def _append(
        self, source: str, drafts: Iterable[Draft], before_commit: BeforeCommit | None
    ) -> Receipt:
        items = ((source, draft) for draft in with_keys(drafts, source))
        return self._take_in(items, Plan(appends=True), before_commit)

    def _take_in(
        self, items: Iterable[Item], plan: Plan, before_commit: BeforeCommit | None = None
    ) -> Receipt:
        """Store items in one transaction, which begins once all are read."""
        with read_items(items) as parts:

            def store(writer: SpaceWriter) -> Receipt:
                same: SameText = {}
                receipt = Receipt.total([store_items(writer, part, plan, same) for part in parts()])
                plan.finish(writer)
                if before_commit is not None:
                    before_commit(writer, receipt)
                return receipt

            return self._space.change(store)


def _export_items(stream: Iterator[str], keeps: bool, held: list[Item]) -> Iterator[Item]:
    """The entries of an export, the files of its sources, and supersessions.

    Entries that are withheld, and corrections, are appended to ``held``.
    """
    numbering = Numbering()
    for line in exchange.read_entries(stream):
        if isinstance(line, exchange.WithheldLine):
            held.append(withheld.checked(line))
            continue
        if isinstance(line, exchange.SupersededLine | Tombstone):
            yield "", line
            continue
        source, item = line
        if not isinstance(item, Draft):
            yield source, item
        elif keeps:
            # Its own id distinguishes a message from equal ones.
            yield source, item._replace(key=item.id or "")
        else:
            yield source, numbering.number(item, source)


def _of_file(content: FileContent, digest: bytes, path: str, envelope: Envelope) -> Iterator[Item]:
    """The entries of the parts of a file, and after those of each that it was read."""
    for part in content.parts:
        yield from ((part.source, draft) for draft in _with_places(part, envelope))
        yield part.source, FileSource(part.source, digest, path, part.document)


def _refuse_another_file(parts: Iterable[FileSource], source: str, path: str) -> None:
    for part in parts:
        if part.path not in (None, path):
            raise InputError(
                f"source {source!r} was read from {part.path}; {path} would replace it. Give "
                "the file another source"
            )


def _old_entries(
    reader: Reader, space: int, source: str, path: Path, content: FileContent, parts: ItemParts
) -> list[int]:
    """The entries of a file's sources that the file holds no longer, or in another place."""
    part_by_name = {part.source: part for part in content.parts}
    before = {part.name: part for part in sources.document_parts(reader, space, source)}
    for name in part_by_name.keys() - before.keys():
        if (other := sources.file_source(reader, space, name)) is not None:
            before[name] = other
    places: dict[str, set[tuple[int | None, bytes]]] = defaultdict(set)
    for name, item in chain.from_iterable(parts()) if before else ():
        if isinstance(item, Draft):
            places[name].add((item.position, item.digest()))
    gone: list[int] = []
    for name, old in before.items():
        seq_by_place = entries.places(reader, space, name)
        part = part_by_name.get(name)
        if seq_by_place and (old.digest is None or (part and part.document != old.document)):
            brought = "no file brought" if old.digest is None else f"{old.path} brought"
            raise InputError(
                f"source {name!r} holds entries that {brought}, which {path} would "
                "replace; give the file another source"
            )
        gone += [seq for place, seq in seq_by_place.items() if place not in places[name]]
    return gone


def _with_places(part: FilePart, envelope: Envelope) -> Iterator[Draft]:
    """The drafts of a part of a file, each in its place."""
    drafts = with_keys(part.drafts(envelope), part.source)
    return (draft._replace(position=place) for place, draft in enumerate(drafts))
