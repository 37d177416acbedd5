"""From files of past conversations to the lines of an export, which a memory takes in.

Every message gets an id derived from its own one, so that a second import finds it: a
file may be read twice, grow, or be part of a larger export.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category

from treering import files
from treering.errors import InputError, TextEncodingError
from treering.ingest import exchange
from treering.ingest.secrets import Cleaner
from treering.ingest.transcripts.archive import TranscriptPath, open_archive
from treering.ingest.transcripts.coding_agents import session_format_of
from treering.ingest.transcripts.contract import (
    READERS,
    Omission,
    TranscriptFormat,
    TranscriptItem,
    TranscriptMessage,
    format_of,
    head_of,
)
from treering.journal.fields import MAX_NAME_CHARS, UNNAMEABLE, parse_time
from treering.records import Entry, Receipt, Skipped
from treering.split.stream import pieces
from treering.text import storable

if TYPE_CHECKING:
    from treering.records import Progress

BATCH = 500
"""Messages taken in at a time: an interrupted import continues from there."""

ID_BYTES = 12  # of a hash: 2^48 messages until two share an id by chance
TakeIn = Callable[..., Receipt]
"""Takes in the lines of an export: ``Memory.import_``."""


@dataclass(slots=True)
class TranscriptLines:
    """The messages among some items as lines of an export, and the omissions by reason.

    ``cleaners`` have counted what was taken out of a message, by its id.
    """

    items: Iterable[TranscriptItem]
    path: Path | None = None
    since: datetime | None = None
    mask: bool = True
    omitted: Counter[str] = field(default_factory=Counter)
    cleaners: dict[str, Cleaner] = field(default_factory=dict)

    def __iter__(self) -> Iterator[str]:
        path = str(self.path.absolute()) if self.path else None
        named: set[str] = set()
        for item in self.items:
            if isinstance(item, Omission):
                self.omitted[item.reason] += 1
            elif self.since and item.at is not None and _aware(item.at) < self.since:
                self.omitted[f"messages from before {self.since:%Y-%m-%d %H:%M}"] += 1
            elif not item.text.strip():
                self.omitted["messages without text"] += 1
            elif not (text := self._clean(item)).strip():
                self.omitted["messages that are private as a whole"] += 1
            else:
                yield from _lines(replace(item, text=text))
                source = _source(item)
                if path is not None and path == _name(path) and source not in named:
                    named.add(source)
                    yield exchange.origin_line(source, path)

    def _clean(self, message: TranscriptMessage) -> str:
        cleaner = Cleaner()
        text = cleaner.clean(message.text) if self.mask else message.text
        if text != message.text:
            self.cleaners[_identity(message)] = cleaner
        return text


def import_content(
    content: Path | Iterable[str],
    take_in: TakeIn,
    since: object = None,
    mask: bool = True,
    progress: Progress | None = None,
) -> Receipt:
    """Take in the lines of an export, or what is at a path: an export or conversations.

    Raises InputError for a path that holds neither, and whatever ``take_in`` raises; messages taken
    in before that stay.
    """
    oldest = None if since is None else parse_time(since, "since")
    if isinstance(content, Path):
        if not content.exists():
            raise InputError(f"there is no file or folder {content}")
        files.refuse_memory(content)
        if not is_export(content):
            return _import_conversations(content, take_in, oldest, mask, progress)
        content = _export_lines(content)
    if since is not None:
        raise InputError("since is for conversations; an export is imported as a whole")
    return take_in(content, progress=progress)


def _import_conversations(
    path: Path,
    take_in: TakeIn,
    since: datetime | None,
    mask: bool,
    progress: Progress | None,
) -> Receipt:
    """Take in a file of conversations, a folder of them, or a ``.zip`` of either."""
    with open_archive(path) if path.suffix == ".zip" else nullcontext(path) as place:
        receipts = []
        units = list(_units(place))
        for number, unit in enumerate(units, start=1):
            receipts.append(_unit(unit, take_in, since, mask, path))
            if progress is not None:
                progress(number, len(units))
    if all(isinstance(unit, Skipped) for unit in units):
        raise InputError(
            f"{path} holds no conversation that treering can read; the formats are "
            f"{', '.join(READERS)}; `treering add` takes any text"
        )
    return Receipt.total(receipts)


def is_export(path: Path) -> bool:
    """Whether a file begins like an export."""
    if not path.is_file() or files.is_memory(path):
        return False
    first = head_of(path).partition("\n")[0]
    return first.lstrip("\ufeff").startswith("{") and f'"format": "{exchange.FORMAT}"' in first


def _export_lines(path: Path) -> Iterator[str]:
    with files.open_file(path) as stream:
        for number, line in enumerate(stream, start=1):
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise TextEncodingError(f"{path}: line {number} is not UTF-8: {error}") from error


Transcript = tuple[TranscriptPath, TranscriptFormat]
"""A file, or a folder that is one export, and its format."""

UNKNOWN = "no conversation of a format that treering can read"


def _units(top: TranscriptPath) -> Iterator[Transcript | Skipped]:
    ahead = [top]
    while ahead:
        path = ahead.pop()
        if isinstance(path, Path) and (path.is_symlink() or files.is_memory(path)):
            reason = files.REASON if files.is_memory(path) else "a symbolic link"
            yield Skipped(str(path), reason)
            continue
        recognised = format_of(path)
        if recognised is not None:
            yield path, recognised
        elif path.is_dir():
            ahead += sorted(path.iterdir(), key=str, reverse=True)
        else:
            yield Skipped(str(path), UNKNOWN)


def _unit(
    unit: Transcript | Skipped,
    take_in: TakeIn,
    since: datetime | None,
    mask: bool,
    given: Path,
) -> Receipt:
    if isinstance(unit, Skipped):
        return Receipt(skipped=(unit,))
    path, recognised = unit
    origin = path if isinstance(path, Path) else given  # an archive
    lines = TranscriptLines(recognised.read(path), origin, since, mask)
    receipts = []
    batches = iter(lines)
    while batch := list(islice(batches, BATCH)):
        receipts.append(take_in([exchange.transcript_header(), *batch]))
    receipt = Receipt.total(receipts)
    omitted = lines.omitted + Counter(receipt.omitted)
    cleaners = [lines.cleaners[entry] for entry in receipt.ids if entry in lines.cleaners]
    return replace(
        receipt,
        omitted=dict(omitted.most_common()),
        masked=sum(cleaner.masked for cleaner in cleaners),
        private=sum(cleaner.private for cleaner in cleaners),
    )


# ------------------------------------------------------------ transcripts that grow


class NewLines(NamedTuple):
    """Lines for ``Memory.import_``, none without a new message, and the byte to continue at.

    ``hidden`` counts the masked secrets and the private passages.
    """

    lines: tuple[str, ...]
    offset: int
    hidden: tuple[int, int]


def new_lines(path: Path, offset: int = 0) -> NewLines:
    """The messages that a client has appended to a transcript since ``offset``.

    A line that is still being written is left for the next time, and a file that has become
    shorter is read from its start; messages that the memory has are left alone by it. Only
    formats that grow line by line can be read so. Raises InputError for another file.
    """
    recognised = session_format_of(path)
    if recognised is None:
        raise InputError(f"{path} is not a transcript of Claude Code or Codex")
    if offset > path.stat().st_size:
        offset = 0
    items: list[TranscriptItem] = []
    for line, its_items in recognised.read_from(path, offset):
        if not line.endswith(b"\n"):
            break
        items += its_items
        offset += len(line)
    said = TranscriptLines(items, path=path)
    lines, cleaners = tuple(said), said.cleaners.values()
    hidden = sum(one.masked for one in cleaners), sum(one.private for one in cleaners)
    return NewLines((exchange.transcript_header(), *lines) if lines else (), offset, hidden)


# ------------------------------------------------------------------ a message as lines


def _identity(message: TranscriptMessage) -> str:
    content = f"{message.source.split('/')[0]}\0{message.id}".encode("utf-8", "replace")
    return hashlib.sha256(content).hexdigest()[: 2 * ID_BYTES]


def _lines(message: TranscriptMessage) -> Iterator[str]:
    """A message as one line; a very long one as several."""
    identity = _identity(message)
    for number, piece in enumerate(pieces([storable(message.text)])):
        yield exchange.transcript_line(
            Entry(
                id=f"{identity}-{number}" if number else identity,
                text=piece,
                source=_source(message),
                position=0,
                kind="chat",
                added=_NOW,
                at=_aware(message.at) if message.at else None,
                speaker=_name(message.speaker) or _name(message.role),
                role=_name(message.role),
                session=_name(message.session),
                metadata=_metadata(message),
            )
        )


def _source(message: TranscriptMessage) -> str:
    return _name(message.source) or "chat"


def _metadata(message: TranscriptMessage) -> dict[str, str]:
    fields = {**message.metadata, "cwd": message.project}
    return {key: storable(value) for key, value in fields.items() if isinstance(value, str)}


_NOW = datetime.fromtimestamp(0, UTC)  # the line does not carry it: the journal takes the present


def _name(value: str | None) -> str | None:
    """A name as the journal takes it: one line, without control characters, not too long."""
    if value is None:
        return None
    printable = "".join(" " if category(char) in UNNAMEABLE else char for char in value)
    return " ".join(printable.split(" "))[:MAX_NAME_CHARS].strip() or None


def _aware(at: datetime) -> datetime:
    return at if at.tzinfo else at.replace(tzinfo=UTC)
