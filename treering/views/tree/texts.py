"""The texts and vectors of leaves, and rounds of chats as leaves.

MemTree inserts a conversation round by round (A.2.1): a user's message with the replies to it is
one text, and its fragments share a leaf. A round without a reply is a leaf already; when the reply
comes, the whole round takes its place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from treering.arrays import Floats
from treering.embed.contract import unit_rows
from treering.journal import damage, entries
from treering.journal.contract import Reader
from treering.journal.space import EmbeddingModel
from treering.journal.stored import cut
from treering.records import Entry
from treering.search.rounds import reading_of, round_starts
from treering.search.snapshot import Snapshot
from treering.text import with_speaker
from treering.views.fragments import store as fragments
from treering.views.tree.leaves import LeafRow, NewLeaf, fragments_by_leaf, json_list, places_of


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
) -> dict[int, Floats]:
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


def mean_vector(parts: Sequence[LeafPart], embedded: Mapping[int, Floats]) -> Floats:
    """The vector of a round: the sum of its parts', by their length, at unit length."""
    weighted = [
        (part.stop - part.start) * embedded[part.fragment]
        for part in parts
        if part.fragment in embedded
    ]
    vector: Floats = unit_rows(np.stack(weighted).sum(axis=0, keepdims=True))[0]
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


_NEIGHBOUR = (
    "SELECT n.seq FROM entry e JOIN entry n ON n.space = e.space AND n.source = e.source"
    " WHERE e.space = ? AND e.seq = ? AND n.kind = 'chat' AND n.position"
)


def has_all(snapshot: Snapshot, new: Sequence[NewLeaf]) -> bool:
    """Whether a snapshot has the fragments of all these texts."""
    there = np.isin([fragment for leaf in new for fragment in leaf.fragments], snapshot.fragment)
    return bool(there.all())


def changes(
    reader: Reader, model: EmbeddingModel, snapshot: Snapshot, arrived: Sequence[int]
) -> tuple[list[NewLeaf], list[int]]:
    """The rounds that become leaves as fragments arrive, in the order in which they are read.

    And those of their fragments that stand on other leaves, which they have outgrown. All sessions
    are looked at that an arrived fragment is of: one message may move the borders of other rounds.
    """
    order = reading_of(snapshot)
    read = snapshot.fragment[order.rows]
    is_new = np.isin(read, arrived)
    session = np.cumsum(~order.continues)
    number = np.cumsum(round_starts(snapshot, entries.of_role(reader, reader.space, "user")))
    places = np.flatnonzero(np.isin(session, session[is_new]))
    stored = places_of(reader, read[places].tolist())
    # A later round waits for its turn. The snapshot may still have what was erased since.
    due = places[np.isin(number[places], number[is_new])]
    embedded = fragments.vectors_of(reader, model, read[due].tolist())
    rounds: dict[int, list[int]] = defaultdict(list)
    for place in places.tolist():
        fragment = int(read[place])
        if fragment in stored or fragment in embedded:
            rounds[int(number[place])].append(fragment)
    together = _together(stored)
    changed = [
        members
        for members in rounds.values()
        if any(together.get(fragment) != set(members) for fragment in members)
    ]
    moved = [fragment for members in changed for fragment in members]
    embedded |= fragments.vectors_of(reader, model, [f for f in moved if f not in embedded])
    leaves = _new_leaves(reader, changed, embedded)
    return leaves, [fragment for fragment in moved if fragment in stored]


def beside(reader: Reader, erased: Sequence[int]) -> list[int]:
    """A fragment of each message of a chat right before or after an erased one.

    The rounds of their sessions may begin elsewhere now: what the last message of the user or the
    first one of all was, decides about every other. Called before the entries go.
    """
    near = {
        int(row[0])
        for seq in erased
        for order in ("< e.position ORDER BY n.position DESC", "> e.position ORDER BY n.position")
        for row in reader.rows(f"{_NEIGHBOUR} {order} LIMIT 1", (reader.space, seq))
    }
    spans = [fragments.spans(reader, seq) for seq in sorted(near.difference(erased))]
    return [fragment for [(fragment, _, _), *_] in filter(None, spans)]


def _together(stored: Mapping[int, LeafRow]) -> dict[int, set[int]]:
    """The fragments that are one text with each, itself included."""
    on_leaf: dict[int, list[int]] = defaultdict(list)
    for fragment, standing in stored.items():
        on_leaf[standing.number].append(fragment)
    together: dict[int, set[int]] = {}
    for members in on_leaf.values():
        is_round = len({stored[fragment].digest for fragment in members}) > 1
        together |= {fragment: set(members) if is_round else {fragment} for fragment in members}
    return together


def _new_leaves(
    reader: Reader, rounds: Sequence[Sequence[int]], embedded: Mapping[int, Floats]
) -> list[NewLeaf]:
    """Rounds with their texts and vectors. One of a single fragment is a text as any other."""
    parts = parts_of(reader, [fragment for members in rounds for fragment in members])
    leaves = []
    for members in rounds:
        of_round = [parts[fragment] for fragment in members]
        # The vector of a single message is kept to the bit.
        vector = embedded[members[0]] if len(members) == 1 else mean_vector(of_round, embedded)
        leaves.append(NewLeaf(tuple(members), join_parts(of_round), vector, "chat"))
    return leaves
