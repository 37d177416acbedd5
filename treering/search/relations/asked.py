"""What a question asks for beside its words: when, by whom, of what source, and by what rule."""

from __future__ import annotations

from dataclasses import dataclass

from treering.search.relations.contract import QueryRelation


@dataclass(frozen=True, slots=True)
class When(QueryRelation):
    """A question that names a time asks for what was said then (see ``search.asked``)."""

    name: str = "when"


@dataclass(frozen=True, slots=True)
class Role(QueryRelation):
    """A question that says "I" asks for the user's turns, "you recommended" for the assistant's."""

    name: str = "role"


@dataclass(frozen=True, slots=True)
class Wish(QueryRelation):
    """What a user always wants holds for every question that it is near to."""

    name: str = "wish"


@dataclass(frozen=True, slots=True)
class Parts(QueryRelation):
    """A long question asks for what answers one of its parts (see ``search.parts``)."""

    name: str = "parts"


@dataclass(frozen=True, slots=True)
class NamedSource(QueryRelation):
    """A question that names a source asks for what that says (see ``search.leading``)."""

    name: str = "source"


@dataclass(frozen=True, slots=True)
class ReplyTo(QueryRelation):
    """The reply to a question is an answer to one like it (see ``search.leading``)."""

    name: str = "reply"
