"""Marks on what a memory says of code that has changed or gone since: found when it is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from treering.code.mentions import last_part, means, mentioned
from treering.code.recorded import Recorded
from treering.journal import damage
from treering.journal.contract import Reader, Writer
from treering.journal.entries import PAGE, micros, moment, there
from treering.records import BLOCK, Entry, Newer


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition by its place in a repository."""

    path: str
    qualified: str


@dataclass(frozen=True, slots=True)
class _Change:
    """When a definition changed or went, and the round that did it, if one is recorded."""

    place: Definition
    at: datetime
    gone: bool
    seq: int | None

    def newer(self, rounds: Mapping[int, Entry]) -> Newer:
        """What stands against a text that speaks of it, given the entries of the rounds."""
        how = "is gone" if self.gone else "has changed"
        round_ = None if self.seq is None else rounds[self.seq]
        asked = round_.text.partition("\n")[0] if round_ else ""
        why = f": {asked}" if asked else ""
        said = f"{self.place.qualified} in {self.place.path} {how}{why}"
        return Newer(round_.id if round_ else "", said, self.at)


def save_noticed(
    writer: Writer,
    space: int,
    repository: int,
    changed: Iterable[Definition],
    gone: Iterable[Definition],
) -> None:
    """Note what an index has found changed or gone; the last time of each counts."""
    now = micros(datetime.now(UTC))
    for is_gone, places in ((0, changed), (1, gone)):
        for place in places:
            writer.execute(
                "DELETE FROM code_change WHERE repository = ? AND path = ? AND qualified = ?",
                (repository, place.path, place.qualified),
            )
            _insert(writer, space, place, now, is_gone, None, repository)


def save_recorded(writer: Writer, space: int, recorded: Iterable[Recorded]) -> None:
    """Note what recorded rounds changed."""
    for one in recorded:
        block = one.block
        if block.at is not None:
            place = Definition(block.path, block.definition)
            _insert(writer, space, place, micros(block.at), int(not block.code), one.seq, None)


def _insert(
    writer: Writer,
    space: int,
    place: Definition,
    at: int,
    gone: int,
    entry: int | None,
    repository: int | None,
) -> None:
    writer.execute(
        "INSERT INTO code_change (space, name, qualified, path, at, gone, entry, repository)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            *(space, last_part(place.qualified), place.qualified, place.path),
            *(at, gone, entry, repository),
        ),
    )


def unread(reader: Reader, space: int) -> int:
    """Above which entry rounds have not been noted yet."""
    row = reader.row("SELECT coalesce(max(entry), 0) FROM code_change WHERE space = ?", (space,))
    return int(row[0]) if row else 0


def erase(writer: Writer, space: int, seqs: Sequence[int]) -> int:
    """Delete what was derived from entries."""
    return sum(
        writer.execute("DELETE FROM code_change WHERE space = ? AND entry = ?", (space, seq))
        for seq in seqs
    )


def drop(writer: Writer, repository: int) -> None:
    """Delete what an index had noticed."""
    writer.execute("DELETE FROM code_change WHERE repository = ?", (repository,))


def against(
    reader: Reader, space: int, found: Mapping[int, Entry], texts: Mapping[int, str]
) -> dict[int, Newer]:
    """What has changed of the code that texts speak of since they were said, by their keys.

    ``found`` are the texts' entries. A recorded round is not marked: it is the story itself.
    """
    if reader.row("SELECT 1 FROM code_change WHERE space = ? LIMIT 1", (space,)) is None:
        return {}
    names = {
        key: mentioned(text) for key, text in texts.items() if BLOCK not in found[key].metadata
    }
    changes = _changes(reader, space, {last_part(name) for some in names.values() for name in some})
    latest = {}
    for key, some in names.items():
        said = found[key].at or found[key].added
        since = [
            change
            for name in some
            for change in changes.get(last_part(name), ())
            if change.at > said and means(name, change.place.qualified)
        ]
        if since:
            latest[key] = max(since, key=lambda change: (change.at, change.seq is not None))
    rounds = there(reader, [one.seq for one in latest.values() if one.seq is not None])
    return {key: one.newer(rounds) for key, one in latest.items()}


def _changes(reader: Reader, space: int, names: Iterable[str]) -> dict[str, list[_Change]]:
    wanted = sorted(names)
    found: dict[str, list[_Change]] = {}
    for start in range(0, len(wanted), PAGE):
        chunk = wanted[start : start + PAGE]
        rows = reader.rows(
            "SELECT name, path, qualified, at, gone, entry FROM code_change"
            f" WHERE space = ? AND name IN ({', '.join('?' * len(chunk))})",
            (space, *chunk),
        )
        for name, path, qualified, at, gone, seq in rows:
            with damage.decoding("what has changed in the code"):
                change = _Change(Definition(path, qualified), moment(at), bool(gone), seq)
            found.setdefault(name, []).append(change)
    return found
