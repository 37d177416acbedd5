"""A snapshot with further rows: texts that stand for fragments, ranked together with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Floats
from treering.search.lexical import Lexical
from treering.search.relations.contract import MISSING, Items, StackedMatrix
from treering.search.snapshot import Snapshot
from treering.search.terms import Terms


def widened(base: Snapshot, texts: Sequence[Terms], vectors: Floats, version: int) -> Snapshot:
    """A snapshot of the fragments, then the texts.

    ``texts`` are the terms of each. ``vectors`` has a unit row per text, or an all-zero row for one
    that is not embedded. The new rows have no fragment, entry, document, session, speaker or time.
    They are scored as the kind that most fragments have.
    """
    more = len(texts)
    missing = np.full(more, MISSING)
    return replace(
        base,
        fragment=np.concatenate([base.fragment, missing]),
        entry=np.concatenate([base.entry, missing]),
        zone=np.concatenate([base.zone, np.zeros(more, dtype=np.int16)]),
        kind=np.concatenate([base.kind, np.full(more, _usual(base.kind), dtype=np.int8)]),
        items=_extended(base.items, vectors),
        lexical=_with_texts(base.lexical, texts),
        embedded=np.concatenate([base.embedded, vectors.any(axis=1)]),
        version=version,
        change=None,
        named=None if base.named is None else np.concatenate([base.named, missing]),
    )


def _extended(items: Items, vectors: Floats) -> Items:
    more = len(vectors)
    missing = np.full(more, MISSING, dtype=np.int64)
    return replace(
        items,
        document=np.concatenate([items.document, missing]),
        position=np.concatenate([items.position, missing]),
        session=np.concatenate([items.session, missing]),
        speaker=np.concatenate([items.speaker, missing]),
        at=np.concatenate([items.at, np.full(more, np.nan)]),
        vectors=StackedMatrix(items.vectors, vectors),
        fragment=None if items.fragment is None else np.concatenate([items.fragment, missing]),
        message=None if items.message is None else np.concatenate([items.message, missing]),
    )


def _with_texts(lexical: Lexical, texts: Sequence[Terms]) -> Lexical:
    if not texts:
        return lexical
    return lexical.extended(np.concatenate(texts), np.array([len(text) for text in texts]))


def _usual(kind: NDArray[np.int8]) -> int:
    return int(np.bincount(kind).argmax())
