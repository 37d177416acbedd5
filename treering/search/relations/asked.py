"""Relations of a question to what it asks for beside its words: when, by whom, and by what rule."""

from __future__ import annotations

from dataclasses import dataclass

from treering.search.relations.contract import Items, NullOperator, Operator


@dataclass(frozen=True, slots=True)
class When:
    """A question that names a time asks for what was said then.

    This relation and the others here relate nothing to items, but to questions, which no items know
    (see ``search.asked``).
    """

    name: str = "when"

    def bind(self, items: Items) -> Operator:
        """Nothing."""
        return NullOperator(len(items))


@dataclass(frozen=True, slots=True)
class Role:
    """A question that says "I" asks for the user's turns, "you recommended" for the assistant's."""

    name: str = "role"

    def bind(self, items: Items) -> Operator:
        """Nothing."""
        return NullOperator(len(items))


@dataclass(frozen=True, slots=True)
class Wish:
    """What a user always wants holds for every question that it is near to."""

    name: str = "wish"

    def bind(self, items: Items) -> Operator:
        """Nothing."""
        return NullOperator(len(items))


@dataclass(frozen=True, slots=True)
class Parts:
    """A long question asks for what answers one of its parts (see ``search.parts``)."""

    name: str = "parts"

    def bind(self, items: Items) -> Operator:
        """Nothing."""
        return NullOperator(len(items))
