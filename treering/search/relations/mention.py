"""The relation of a text to those that it names: what the first hits name leads to the next."""

from __future__ import annotations

from dataclasses import dataclass

from treering.search.relations.contract import QueryRelation


@dataclass(frozen=True, slots=True)
class Mention(QueryRelation):
    """A text supports the one that is about somebody or something that it names.

    The names of all texts are nowhere stored. So this relation has no operator over the items: it
    is told once the best hits are known, of their texts alone (see ``search.mentions``).
    """

    name: str = "mention"
