"""Hits: rows of a ranking with their texts, which are read from the database here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from treering.arrays import Codes, Floats
from treering.journal import entries
from treering.journal.space import SpaceReader
from treering.journal.stored import cut
from treering.records import BLOCK, Hit
from treering.search.filters import RowFilter
from treering.search.marks import Mark, Quote
from treering.search.snapshot import FragmentSource, Snapshot

if TYPE_CHECKING:
    from treering.search.rounds import RankedRows


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads rows of a snapshot from the database, each once; ``allowed`` meet the filter."""

    reader: SpaceReader
    corpus: FragmentSource
    allowed: RowFilter
    _read: dict[int, Quote] = field(default_factory=dict)

    @property
    def exact(self) -> Callable[[Codes], Floats] | None:
        """A function that reads vectors as they were embedded; None if the snapshot has them."""
        snapshot = self.allowed.snapshot
        model, numbers = snapshot.state.model, snapshot.vector_number
        if model is None or getattr(snapshot.items.vectors, "is_exact", True):
            return None
        assert numbers is not None  # the database has vectors of eight bits together with them
        return lambda rows: self.corpus.exact(self.reader, model, numbers[rows])

    def quotes(self, rows: Codes) -> list[Quote]:
        """Return the texts of the fragments at ``rows``, in the order given."""
        numbers = rows.tolist()
        new = [row for row in numbers if row not in self._read]
        quotes = read_quotes(self.reader, self.corpus, self.allowed.snapshot, new)
        self._read.update(zip(new, quotes, strict=True))
        return [self._read[row] for row in numbers]


def read_quotes(
    reader: SpaceReader, corpus: FragmentSource, snapshot: Snapshot, rows: Sequence[int]
) -> list[Quote]:
    """Return the texts of the fragments at ``rows``, in the order given."""
    if not rows:
        return []
    seqs, fragments = snapshot.entry[rows].tolist(), snapshot.fragment[rows].tolist()
    spans, entry_by_seq = corpus.spans(reader, fragments), entries.there(reader, seqs)
    return [
        Quote(
            seq,
            entry_by_seq[seq],
            cut(entry_by_seq[seq], spans.get(fragment)),
            fragment,
            spans.get(fragment, (0, 0)),
        )
        for seq, fragment in zip(seqs, fragments, strict=True)
    ]


def hits(
    ranking: RankedRows, query: int, rows: Codes, quotes: Sequence[Quote], marks: Sequence[Mark]
) -> list[Hit]:
    """Return the fragments at ``rows`` as hits for a query, in the order given."""
    confidences = ranking.confidence(rows, query)
    found = []
    for row, quote, mark, confidence in zip(rows.tolist(), quotes, marks, confidences, strict=True):
        entry, (start, end) = quote.entry, quote.span
        found.append(
            Hit(
                score=float(ranking.scores[row, query]),
                text=quote.text,
                entry_id=entry.id,
                source=entry.source,
                position=entry.position,
                start=start,
                end=end,
                kind=entry.kind,
                why=ranking.why(row, query),
                at=entry.at,
                speaker=entry.speaker,
                role=entry.role,
                session=entry.session,
                metadata={key: value for key, value in entry.metadata.items() if key != BLOCK},
                superseded_by=mark.superseded_by,
                stale=mark.stale,
                level=mark.level,
                confidence=confidence,
            )
        )
    return found
