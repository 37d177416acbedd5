"""Hits: what is given back for rows of a ranking, their texts read from the database."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treering.code import marks as code
from treering.facts import store as facts
from treering.fragments import store
from treering.journal import entries
from treering.journal.contract import Reader
from treering.recall.rank import Ranking
from treering.records import BLOCK, Hit
from treering.tree.store import levels


def hits(reader: Reader, ranking: Ranking, query: int, rows: NDArray[np.int64]) -> list[Hit]:
    """The fragments at ``rows`` as hits for a query, in the order given."""
    snapshot = ranking.snapshot
    fragments = snapshot.fragment[rows].tolist()
    found = entries.there(reader, snapshot.entry[rows].tolist())
    spans = store.locate(reader, fragments)
    level = levels(reader, snapshot.state.space, fragments)
    marks = facts.marks(reader, snapshot.entry[rows].tolist())
    entry_of = {row: found[int(snapshot.entry[row])] for row in rows.tolist()}
    text_of = {
        row: store.cut(entry_of[row], spans.get(fragment))
        for row, fragment in zip(rows.tolist(), fragments, strict=True)
    }
    changed = code.against(reader, snapshot.state.space, entry_of, text_of)
    made = []
    for row, fragment in zip(rows.tolist(), fragments, strict=True):
        entry = entry_of[row]
        start, stop = spans[fragment]
        against = marks.get(int(snapshot.entry[row]), facts.NOTHING)
        made.append(
            Hit(
                score=float(ranking.scores[row, query]),
                text=text_of[row],
                entry_id=entry.id,
                source=entry.source,
                position=entry.position,
                start=start,
                end=stop,
                kind=entry.kind,
                why=ranking.why(row, query),
                at=entry.at,
                speaker=entry.speaker,
                role=entry.role,
                session=entry.session,
                metadata={key: told for key, told in entry.metadata.items() if key != BLOCK},
                superseded_by=against.superseded_by,
                stale=against.stale or changed.get(row),
                level=level.get(fragment),
                confidence=ranking.confidence(row, query),
            )
        )
    return made
