"""Marks on talk of code that has changed or gone since, computed when the talk is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from treering.journal import damage
from treering.journal.contract import Reader, Writer
from treering.journal.entries import PAGE, micros, moment, there
from treering.records import BLOCK, Entry, Newer
from treering.text import digest_number
from treering.views.code.rounds.mentions import last_part, means, names_in
from treering.views.code.rounds.recorded import RecordedBlock


@dataclass(frozen=True, slots=True)
class DefinitionPlace:
    """A definition by its place in a repository."""

    path: str
    qualified: str


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
        text = f"{self.place.qualified} in {self.place.path} {how}{why}"
        return Newer(round_.id if round_ else "", text, self.at)


def save_noticed(
    writer: Writer,
    space: int,
    repository: int,
    changed: Iterable[DefinitionPlace],
    gone: Iterable[DefinitionPlace],
) -> None:
    """Note what an index has found changed or gone; the last time of each counts."""
    now = micros(datetime.now(UTC))
    for is_gone, places in ((0, changed), (1, gone)):
        for place in places:
            writer.execute(
                "DELETE FROM code_change"
                " WHERE space = ? AND repository = ? AND path = ? AND qualified = ?",
                (space, repository, place.path, place.qualified),
            )
            _insert(writer, space, place, now, is_gone, None, repository)


def save_recorded(writer: Writer, space: int, recorded: Iterable[RecordedBlock]) -> None:
    """Note what recorded rounds changed."""
    for recorded_block in recorded:
        block = recorded_block.block
        if block.at is not None:
            place = DefinitionPlace(block.path, block.definition)
            _insert(
                writer,
                space,
                place,
                micros(block.at),
                int(not block.code),
                recorded_block.seq,
                None,
            )


def _insert(
    writer: Writer,
    space: int,
    place: DefinitionPlace,
    at: int,
    gone: int,
    entry: int | None,
    repository: int | None,
) -> None:
    writer.execute(
        "INSERT INTO code_change (space, word, qualified, path, at, gone, entry, repository)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            *(space, _word(place.qualified), place.qualified, place.path),
            *(at, gone, entry, repository),
        ),
    )


def erase(writer: Writer, space: int, seqs: Sequence[int]) -> int:
    """Delete what was derived from entries."""
    return sum(
        writer.execute("DELETE FROM code_change WHERE space = ? AND entry = ?", (space, seq))
        for seq in seqs
    )


def drop(writer: Writer, space: int, repository: int) -> None:
    """Delete what an index had noticed."""
    writer.execute(
        "DELETE FROM code_change WHERE space = ? AND repository = ?", (space, repository)
    )


def against(
    reader: Reader, space: int, entries: Mapping[int, Entry], texts: Mapping[int, str]
) -> dict[int, Newer]:
    """The last change of the code that each text mentions, after the text, by the texts' keys.

    ``entries`` are the texts' entries. A recorded round is not marked: it is the story itself.
    """
    names = {
        key: names_in(text) for key, text in texts.items() if BLOCK not in entries[key].metadata
    }
    has_change = "SELECT 1 FROM code_change WHERE space = ? LIMIT 1"
    if not any(names.values()) or reader.row(has_change, (space,)) is None:
        return {}
    changes = _changes(reader, space, {last_part(name) for some in names.values() for name in some})
    latest = {}
    for key, some in names.items():
        spoken_at = entries[key].at or entries[key].added
        since = [
            change
            for name in some
            for change in changes.get(last_part(name), ())
            if change.at > spoken_at and means(name, change.place.qualified)
        ]
        if since:
            latest[key] = max(since, key=lambda change: (change.at, change.seq is not None))
    rounds = there(reader, [one.seq for one in latest.values() if one.seq is not None])
    return {key: one.newer(rounds) for key, one in latest.items()}


def _word(name: str) -> int:
    """Return the number by which an index finds the last part of a name."""
    return digest_number(last_part(name))


def _changes(reader: Reader, space: int, names: Iterable[str]) -> dict[str, list[_Change]]:
    words = sorted(map(_word, names))
    by_name: dict[str, list[_Change]] = {}
    for start in range(0, len(words), PAGE):
        chunk = words[start : start + PAGE]
        rows = reader.rows(
            "SELECT path, qualified, at, gone, entry FROM code_change"
            f" WHERE space = ? AND word IN ({', '.join('?' * len(chunk))})",
            (space, *chunk),
        )
        for path, qualified, at, gone, seq in rows:
            with damage.decoding("the changes of the code"):
                change = _Change(DefinitionPlace(path, qualified), moment(at), bool(gone), seq)
                by_name.setdefault(last_part(qualified), []).append(change)
    return by_name
