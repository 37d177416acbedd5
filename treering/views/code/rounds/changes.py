"""The code view: changes of definitions, by which talk of that code is marked when it is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

from treering.journal import damage, sources
from treering.journal.contract import Reader
from treering.journal.entries import PAGE, micros, moment, there
from treering.journal.space import SpaceReader, SpaceWriter
from treering.journal.writing import Draft
from treering.records import BLOCK, Entry, Newer
from treering.search.marks import Mark, Quote
from treering.text import digest_number
from treering.views.code.rounds import recorded
from treering.views.code.rounds.recorded import RecordedBlock
from treering.views.contract import Erased, Trace, View

# It begins where no other begins and takes nothing back: a text may be one long word.
_START = r"(?<!\w)(?<!\w\.)(?<!\w\#)(?<!\w::)"
_NAME = rf"{_START}[^\W\d]\w*+(?:(?:\.|::|\#)[^\W\d]\w*+)*+"
_SIGNED = re.compile(rf"({_NAME})\(|`({_NAME})(?:\([^`]*\))?`")
_WORD = re.compile(_NAME)
_PARTS = re.compile(r"\.|::|#")
_OF_CODE = re.compile(r"[^_]_[^_]|[a-z0-9][A-Z]|^_")
"""Two words in one, or a leading underscore: no word of any language looks like that."""
_FILE = re.compile(r".*\.(?:[a-z]{1,4}|com|org)$")

DefinitionPlace = tuple[str, str]
"""The path and the qualified name of a definition."""


class CodeChanges(View):
    """When definitions changed or went. The index of a repository is not derived from the
    journal."""

    name: ClassVar[str] = "code"
    traces: ClassVar[tuple[Trace, ...]] = (Trace("code_change", "entry"),)

    def derive(self, entries: Mapping[int, Entry]) -> Mapping[int, RecordedBlock]:
        """See ``View``."""
        rounds = {
            seq: recorded.read(entry, seq)
            for seq, entry in entries.items()
            if entry.source.startswith(recorded.SOURCE)
        }
        return {seq: round_ for seq, round_ in rounds.items() if round_ is not None}

    def store(self, writer: SpaceWriter, derived: Mapping[int, RecordedBlock]) -> None:
        """See ``View``."""
        for seq, record in derived.items():
            block = record.block
            if block.at is not None:
                place, gone = (block.path, block.definition), not block.code
                _insert(writer, place, micros(block.at), gone, entry=seq)

    def redrafts(self, reader: SpaceReader, seqs: Sequence[int]) -> Sequence[tuple[int, Draft]]:
        """See ``View``: rounds whose note was written from one that goes, without the note."""
        has_rounds = "SELECT 1 FROM source WHERE space = ? AND family = ? LIMIT 1"
        if reader.row(has_rounds, (reader.id, sources.family_hash(recorded.SOURCE))) is None:
            return ()
        return recorded.without_notes(reader, reader.id, seqs)

    def erase(self, writer: SpaceWriter, seqs: Sequence[int]) -> Erased:
        """See ``View``."""
        writer.many(
            "DELETE FROM code_change WHERE space = ? AND entry = ?",
            [(writer.id, seq) for seq in seqs],
        )
        return Erased()

    def marks(self, reader: SpaceReader, quotes: Sequence[Quote]) -> Mapping[int, Mark]:
        """See ``View``: later changes of the code that a quote mentions.

        A recorded round is not marked: it is the story itself.
        """
        has_change = "SELECT 1 FROM code_change WHERE space = ? LIMIT 1"
        if reader.row(has_change, (reader.id,)) is None:
            return {}  # before the texts are read: most spaces have no code
        names = {
            place: names_in(quote.text)
            for place, quote in enumerate(quotes)
            if BLOCK not in quote.entry.metadata
        }
        changes = _changes(reader, {last_part(name) for some in names.values() for name in some})
        latest = {}
        for place, some in names.items():
            spoken_at = quotes[place].entry.at or quotes[place].entry.added
            since = [
                change
                for name in some
                for change in changes.get(last_part(name), ())
                if change.at > spoken_at and means(name, change.place[1])
            ]
            if since:
                latest[place] = max(since, key=lambda change: (change.at, change.seq is not None))
        rounds = there(reader, [each.seq for each in latest.values() if each.seq is not None])
        return {place: Mark(stale=each.newer(rounds)) for place, each in latest.items()}


@dataclass(frozen=True, slots=True)
class _Change:
    """When a definition changed or went, and the round that did it, if one is recorded."""

    place: DefinitionPlace
    at: datetime
    gone: bool
    seq: int | None

    def newer(self, rounds: Mapping[int, Entry]) -> Newer:
        how = "is gone" if self.gone else "has changed"
        round_ = None if self.seq is None else rounds[self.seq]
        asked = round_.text.partition("\n")[0] if round_ else ""
        why = f": {asked}" if asked else ""
        path, qualified = self.place
        return Newer(round_.id if round_ else "", f"{qualified} in {path} {how}{why}", self.at)


def save_noticed(
    writer: SpaceWriter,
    repository: int,
    changed: Iterable[DefinitionPlace],
    gone: Iterable[DefinitionPlace],
) -> None:
    """Note what an index has found changed or gone; the last time of each counts."""
    now = micros(datetime.now(UTC))
    for is_gone, places in ((False, changed), (True, gone)):
        for place in places:
            writer.execute(
                "DELETE FROM code_change"
                " WHERE space = ? AND repository = ? AND path = ? AND qualified = ?",
                (writer.id, repository, *place),
            )
            _insert(writer, place, now, is_gone, repository=repository)


def _insert(
    writer: SpaceWriter,
    place: DefinitionPlace,
    at: int,
    gone: bool,
    *,
    entry: int | None = None,
    repository: int | None = None,
) -> None:
    writer.execute(
        "INSERT INTO code_change (space, word, path, qualified, at, gone, entry, repository)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (writer.id, _word(place[1]), *place, at, int(gone), entry, repository),
    )


def _word(name: str) -> int:
    """Return the number by which an index finds the last part of a name."""
    return digest_number(last_part(name))


def _changes(reader: Reader, names: Iterable[str]) -> dict[str, list[_Change]]:
    words = sorted(map(_word, names))
    by_name: dict[str, list[_Change]] = {}
    for start in range(0, len(words), PAGE):
        chunk = words[start : start + PAGE]
        rows = reader.rows(
            "SELECT path, qualified, at, gone, entry FROM code_change"
            f" WHERE space = ? AND word IN ({', '.join('?' * len(chunk))})",
            (reader.space, *chunk),
        )
        for path, qualified, at, gone, seq in rows:
            with damage.decoding("the changes of the code"):
                change = _Change((path, qualified), moment(at), bool(gone), seq)
                by_name.setdefault(last_part(qualified), []).append(change)
    return by_name


def names_in(text: str) -> frozenset[str]:
    """The names of definitions in a text, dotted where it gives an owner: ``Client.fetch``.

    A word that could be one of the language counts only as a call, ``parse()``, or quoted as code.
    """
    marked = {name for pair in _SIGNED.findall(text) for name in pair if name}
    looks = {word for word in _WORD.findall(text) if _looks_like_code(word)}
    return frozenset(".".join(_PARTS.split(name)) for name in marked | looks)


def last_part(name: str) -> str:
    """The name without its owners."""
    return name.rpartition(".")[2]


def means(name: str, qualified: str) -> bool:
    """Whether a name in a text can be that of a definition; owners must agree if both have some."""
    asked, there = name.split("."), qualified.split(".")
    shared = min(len(asked), len(there))
    return asked[-shared:] == there[-shared:]


def _looks_like_code(word: str) -> bool:
    parts = _PARTS.split(word)
    if _OF_CODE.search(parts[-1]):
        return True
    return len(parts) > 1 and parts[0][:1].isupper() and not _FILE.match(word)
