"""The relation of the best hits to what says the same: their words and their sessions."""

from __future__ import annotations

from dataclasses import dataclass

from treering.search.relations.contract import QueryRelation


@dataclass(frozen=True, slots=True)
class Feedback(QueryRelation):
    """The best hits support what shares their rare words, and the turns of their sessions.

    As ``Mention`` it is told once the best hits are known (see ``search.feedback``).
    """

    name: str = "feedback"
