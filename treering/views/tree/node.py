"""A node of the tree as it is shown to users."""

from __future__ import annotations

from dataclasses import dataclass

from treering.records import Why


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A summary, or a leaf: an original text.

    ``number`` is the node's identity, ``depth`` is 1 below the root, ``leaves`` is how many texts
    it stands for. A summary has ``made_by`` (a model's name or ``extractive``; None while its text
    is still to be made) and ``pending`` when something below it is not in its text yet. A leaf has
    ``entry_id`` and ``source``, and ``repeats`` counts how many more times exactly its text was
    added; a round of a chat is of all its ``entry_ids``. ``score`` and ``why`` are set by a search.
    """

    number: int
    text: str
    depth: int
    leaf: bool
    leaves: int
    made_by: str | None = None
    pending: bool = False
    entry_id: str | None = None
    entry_ids: tuple[str, ...] = ()
    source: str | None = None
    repeats: int = 0
    score: float | None = None
    why: Why | None = None
