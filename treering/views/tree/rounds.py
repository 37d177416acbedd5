"""Rounds of chats as leaves of the tree: a user's message with the replies to it is one text.

MemTree inserts a conversation round by round (A.2.1). The fragments of a round share a leaf.
A round whose reply is not there yet is a leaf already; when the reply comes, the whole round takes
its place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from treering.journal import entries
from treering.journal.contract import Reader
from treering.journal.space import EmbeddingModel
from treering.search.rounds import reading_of, round_starts
from treering.search.snapshot import Snapshot
from treering.views.fragments import store as fragments
from treering.views.tree.family import Vector
from treering.views.tree.leaves import LeafRow, NewLeaf, places_of
from treering.views.tree.texts import join_parts, mean_vector, parts_of

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
    reader: Reader, rounds: Sequence[Sequence[int]], embedded: Mapping[int, Vector]
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
