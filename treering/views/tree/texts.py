"""The texts and vectors of leaves. A leaf that is a round has those of its messages together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from treering.embed.checked import unit_rows
from treering.journal import damage, entries
from treering.journal.contract import Reader
from treering.journal.space import EmbeddingModel
from treering.journal.stored import cut
from treering.records import Entry
from treering.text import with_speaker
from treering.views.fragments import store as fragments
from treering.views.tree.family import Vector
from treering.views.tree.leaves import marks, pages, rounds, standing


@dataclass(frozen=True, slots=True)
class LeafText:
    """A leaf's text, its origin, and how many more times exactly this text was added.

    Only a round of a chat has several entries.
    """

    text: str
    entry_ids: tuple[str, ...]
    source: str
    repeats: int


class LeafPart(NamedTuple):
    """A fragment of an entry: from ``start`` to ``stop`` of its text."""

    fragment: int
    entry: Entry
    start: int
    stop: int


def leaf_texts(reader: Reader, space: int, numbers: Iterable[int]) -> dict[int, LeafText]:
    """The texts of leaves by number. A leaf whose fragments were erased is left out."""
    texts, several = {}, []
    for chunk in pages(numbers):
        rows = reader.rows(
            "SELECT l.number, l.more, l.digests, f.id, e.seq, f.start, f.stop"
            " FROM (SELECT space, number, MIN(fragment) AS first, COUNT(*) - 1 AS more,"
            " COUNT(DISTINCT digest) AS digests FROM leaf"
            f" WHERE space = ? AND number IN ({marks(chunk)}) GROUP BY space, number) l"
            " JOIN fragment f ON f.space = l.space AND f.id = l.first"
            " JOIN entry e ON e.space = f.space AND e.seq = f.entry",
            [space, *chunk],
        )
        firsts = list(rows)
        several += [int(row[0]) for row in firsts if row[2] > 1]
        stored = entries.there(reader, [row[4] for row in firsts])
        for number, more, digests, fragment, seq, start, stop in firsts:
            if digests == 1:
                entry = stored[seq]
                text = text_of(LeafPart(fragment, entry, start, stop))
                texts[int(number)] = LeafText(text, (entry.id,), entry.source, int(more))
    for number, parts in _rounds(reader, space, several).items():
        ids = tuple(dict.fromkeys(part.entry.id for part in parts))
        texts[number] = LeafText(joined(parts), ids, parts[0].entry.source, 0)
    return texts


def leaf_vectors(reader: Reader, space: int, model: EmbeddingModel) -> dict[int, Vector]:
    """The vector of every leaf by its number.

    It is that of the first of its fragments, or of those of a round together.
    """
    several = {part.leaf for part in rounds(reader, space).values()}
    vectors = round_vectors(reader, space, model, several)
    leaves = dict(sorted(standing(reader, space), reverse=True))
    single = {fragment: number for fragment, number in leaves.items() if number not in several}
    embedded = fragments.vectors_of(reader, model, list(single))
    return vectors | {single[fragment]: vector for fragment, vector in embedded.items()}


def round_vectors(
    reader: Reader, space: int, model: EmbeddingModel, numbers: Iterable[int]
) -> dict[int, Vector]:
    """The vectors of leaves that are rounds, by number."""
    parts = _rounds(reader, space, numbers)
    wanted = [part.fragment for members in parts.values() for part in members]
    embedded = fragments.vectors_of(reader, model, wanted)
    return {
        number: mean_vector(members, embedded)
        for number, members in parts.items()
        if any(part.fragment in embedded for part in members)
    }


def parts_of(reader: Reader, wanted: Sequence[int]) -> dict[int, LeafPart]:
    """Where fragments stand in their entries, by fragment."""
    places: dict[int, tuple[int, int, int]] = {}
    for chunk in pages(wanted):
        rows = reader.rows(
            "SELECT id, entry, start, stop FROM fragment"
            f" WHERE space = ? AND id IN ({marks(chunk)})",
            [reader.space, *chunk],
        )
        places.update((int(row[0]), (int(row[1]), int(row[2]), int(row[3]))) for row in rows)
    stored = entries.there(reader, list({seq for seq, _, _ in places.values()}))
    with damage.decoding("the fragments of a round"):
        return {
            fragment: LeafPart(fragment, stored[places[fragment][0]], *places[fragment][1:])
            for fragment in wanted
        }


def text_of(part: LeafPart) -> str:
    """The text of a fragment, as it was embedded."""
    return with_speaker(cut(part.entry, (part.start, part.stop)), part.entry.speaker)


def joined(parts: Sequence[LeafPart]) -> str:
    """The messages of a round one below the other, each with who says it."""
    spans: dict[str, tuple[Entry, int, int]] = {}
    for part in parts:
        _, start, _ = spans.get(part.entry.id, (part.entry, part.start, part.stop))
        spans[part.entry.id] = (part.entry, start, part.stop)
    return "\n".join(
        with_speaker(cut(entry, (start, stop)), entry.speaker)
        for entry, start, stop in spans.values()
    )


def mean_vector(parts: Sequence[LeafPart], embedded: Mapping[int, Vector]) -> Vector:
    """The vector of a round: the sum of its parts', by their length, at unit length."""
    weighted = [
        (part.stop - part.start) * embedded[part.fragment]
        for part in parts
        if part.fragment in embedded
    ]
    vector: Vector = unit_rows(np.stack(weighted).sum(axis=0, keepdims=True))[0]
    return vector


def _rounds(reader: Reader, space: int, numbers: Iterable[int]) -> dict[int, list[LeafPart]]:
    """The parts of each leaf, as they are read."""
    members: dict[int, list[int]] = defaultdict(list)
    for chunk in pages(numbers):
        rows = reader.rows(
            f"SELECT number, fragment FROM leaf WHERE space = ? AND number IN ({marks(chunk)})",
            [space, *chunk],
        )
        for number, fragment in rows:
            members[int(number)].append(int(fragment))
    parts = parts_of(reader, [fragment for of_leaf in members.values() for fragment in of_leaf])
    return {
        number: sorted(
            map(parts.__getitem__, of_leaf), key=lambda part: (part.entry.position, part.start)
        )
        for number, of_leaf in members.items()
    }
