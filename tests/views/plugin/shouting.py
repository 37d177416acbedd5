"""A view of another package: who shouted, word by word. No file of treering knows it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np

from treering.arrays import Codes
from treering.journal import work
from treering.journal.space import Space, SpaceReader, SpaceWriter
from treering.records import Entry, Newer, Progress
from treering.search.marks import Mark, Quote
from treering.search.relations.contract import Items
from treering.search.relations.group import GroupOperator
from treering.views.contract import Erased, Resources, View

SHOUT = re.compile(r"\b[A-Z]{4,}\b")
QUEUE = "shouts:count"
MEANWHILE: list[Callable[[], object]] = []
"""What a test wants to happen while entries are being read."""


def failing(method: str) -> None:
    """Raise what no view of treering's raises, if a test asks for it."""
    if os.environ.get("SHOUTS_RAISES") == method:
        raise ZeroDivisionError(method)


class Shouts(View):
    """Words in capitals; ``settle`` counts how often each was shouted."""

    name: ClassVar[str] = "shouts"
    relation_name: ClassVar[str | None] = "shouts"

    def __init__(self, resources: Resources) -> None:
        self._space = resources.space

    @property
    def version(self) -> str:
        return os.environ.get("SHOUTS_VERSION", "1")

    def prepare(self, writer: SpaceWriter) -> None:
        writer.execute(
            "CREATE TABLE IF NOT EXISTS view_shouts (space INTEGER NOT NULL,"
            " entry INTEGER NOT NULL, word TEXT NOT NULL, times INTEGER,"
            " FOREIGN KEY (space, entry) REFERENCES entry (space, seq))"
        )

    def derive(self, entries: Mapping[int, Entry]) -> Mapping[int, list[str]]:
        if MEANWHILE:
            MEANWHILE.pop()()
        if any("RAISES" in entry.text for entry in entries.values()):
            raise ZeroDivisionError("no view of treering's raises this")
        return {seq: SHOUT.findall(entry.text) for seq, entry in entries.items()}

    def store(self, writer: SpaceWriter, derived: Mapping[int, list[str]]) -> None:
        if table := os.environ.get("SHOUTS_TABLE"):
            writer.execute(f"CREATE TABLE IF NOT EXISTS {table} (space INTEGER NOT NULL)")
        writer.many(
            "INSERT INTO view_shouts (space, entry, word) VALUES (?, ?, ?)",
            ((writer.id, seq, word) for seq, words in derived.items() for word in words),
        )
        work.enqueue(writer, writer.id, QUEUE, [seq for seq, words in derived.items() if words])

    def settle(self, progress: Progress | None = None, *, upgrade: bool = False) -> None:
        with self._space.write() as writer:
            work.drop(writer, writer.id, QUEUE)
            writer.execute(
                "UPDATE view_shouts SET times = (SELECT count(*) FROM view_shouts o"
                " WHERE o.space = view_shouts.space AND o.word = view_shouts.word) WHERE space = ?",
                (writer.id,),
            )

    def pending(self, reader: SpaceReader) -> Mapping[str, int]:
        failing("pending")
        return {QUEUE: work.counts(reader, reader.id).get(QUEUE, 0)}

    def erase(self, writer: SpaceWriter, seqs: Sequence[int]) -> Erased:
        sql = "DELETE FROM view_shouts WHERE space = ? AND entry = ?"
        rows = sum(writer.execute(sql, (writer.id, seq)) for seq in seqs)
        work.claim(writer, writer.id, QUEUE, seqs)
        return Erased({"shouts": rows})

    def marks(self, reader: SpaceReader, quotes: Sequence[Quote]) -> Mapping[int, Mark]:
        failing("marks")
        loud = {
            int(row[0])
            for row in reader.rows("SELECT entry FROM view_shouts WHERE space = ?", (reader.id,))
        }
        return {
            place: Mark(stale=Newer(quote.entry.id, "it was shouted"))
            for place, quote in enumerate(quotes)
            if quote.seq in loud
        }

    def relation(self) -> ShoutedTogether:
        with self._space.read() as reader:
            rows = reader.rows(
                "SELECT f.id, min(s.word) FROM view_shouts s"
                " JOIN fragment f ON f.space = s.space AND f.entry = s.entry"
                " WHERE s.space = ? GROUP BY f.id",
                (reader.id,),
            )
            return ShoutedTogether({int(row[0]): str(row[1]) for row in rows})


class ShoutedTogether:
    """Fragments in which the same word was shouted are equally related."""

    name = "shouts"

    def __init__(self, words: Mapping[int, str]) -> None:
        self._words = words

    def bind(self, items: Items) -> GroupOperator:
        assert items.fragment is not None
        return GroupOperator(self._codes(items.fragment))

    def _codes(self, fragments: Codes) -> Codes:
        numbers = {word: number for number, word in enumerate(sorted(set(self._words.values())))}
        return np.array(
            [numbers.get(self._words.get(int(fragment), ""), -1) for fragment in fragments],
            dtype=np.int64,
        )


def count(space: Space) -> int:
    """How many words have been shouted, for the tests."""
    with space.read() as reader:
        row = reader.row("SELECT count(*) FROM view_shouts WHERE space = ?", (reader.id,))
        return int(row[0]) if row else 0
