"""The texts and vectors of leaves. A leaf that is a round has those of its messages together."""

from __future__ import annotations

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
from treering.views.tree.leaves import fragments_by_leaf, json_list


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


def leaf_texts(reader: Reader, numbers: Iterable[int]) -> dict[int, LeafText]:
    """The texts of leaves by number. A leaf whose fragments were erased is left out."""
    members = fragments_by_leaf(reader, numbers)
    shown = {
        number: [*digests] if is_round(digests) else [next(iter(digests))]
        for number, digests in members.items()
    }
    texts = {}
    for number, parts in _parts_of_leaves(reader, shown).items():
        ids = tuple(dict.fromkeys(part.entry.id for part in parts))
        repeats = len(members[number]) - len(parts)
        texts[number] = LeafText(join_parts(parts), ids, parts[0].entry.source, repeats)
    return texts


def leaf_vectors(
    reader: Reader, model: EmbeddingModel, numbers: Iterable[int]
) -> dict[int, Vector]:
    """The vectors of leaves by number: of the first fragment, or of those of a round together."""
    members = fragments_by_leaf(reader, numbers)
    wanted = [fragment for digests in members.values() for fragment in digests]
    embedded = fragments.vectors_of(reader, model, wanted)
    of_rounds = {number: [*digests] for number, digests in members.items() if is_round(digests)}
    parts = _parts_of_leaves(reader, of_rounds)
    vectors = {}
    for number, digests in members.items():
        there = [fragment for fragment in digests if fragment in embedded]
        if there:
            of_round = parts.get(number)
            vectors[number] = mean_vector(of_round, embedded) if of_round else embedded[there[0]]
    return vectors


def is_round(digests: Mapping[int, bytes]) -> bool:
    """Whether the fragments of a leaf are parts of a round, and not repetitions of one text."""
    return len(set(digests.values())) > 1


def parts_of(reader: Reader, wanted: Sequence[int]) -> dict[int, LeafPart]:
    """The places of fragments in their entries, by fragment."""
    rows = reader.rows(
        "SELECT id, entry, start, stop FROM fragment"
        " WHERE space = ? AND id IN (SELECT value FROM json_each(?))",
        (reader.space, json_list(wanted)),
    )
    places = {int(row[0]): (int(row[1]), int(row[2]), int(row[3])) for row in rows}
    stored = entries.there(reader, list({seq for seq, _, _ in places.values()}))
    with damage.decoding("the fragments of a leaf"):
        return {
            fragment: LeafPart(fragment, stored[places[fragment][0]], *places[fragment][1:])
            for fragment in wanted
        }


def join_parts(parts: Sequence[LeafPart]) -> str:
    """The messages of a round one below the other, each with its speaker, as they are embedded."""
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


def _parts_of_leaves(
    reader: Reader, members: Mapping[int, Sequence[int]]
) -> dict[int, list[LeafPart]]:
    """The parts of each leaf, as they are read."""
    parts = parts_of(reader, [fragment for of_leaf in members.values() for fragment in of_leaf])
    return {
        number: sorted(
            map(parts.__getitem__, of_leaf), key=lambda part: (part.entry.position, part.start)
        )
        for number, of_leaf in members.items()
    }
