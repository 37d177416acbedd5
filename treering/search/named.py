"""Speakers that a query names, and the query without their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from treering.search.terms import terms, words

_POSSESSIVE: Final = re.compile(r"['\u2019]s\b", re.IGNORECASE)

ROLES: Final = frozenset({"user", "assistant", "system", "tool"})
"""Words, not names, in a query."""


@dataclass(frozen=True, slots=True)
class SpeakerNames:
    """The names of the speakers of a space, by code, and the words of each."""

    names: tuple[str, ...]
    words: tuple[frozenset[str], ...]

    @classmethod
    def from_names(cls, names: Sequence[str]) -> SpeakerNames:
        """Split each name into words once."""
        return cls(tuple(names), tuple(map(words, names)))

    def codes(self, query: str) -> frozenset[int]:
        """The codes of the speakers whose names a query holds, each with all of its words."""
        asked = words(_POSSESSIVE.sub("", query))
        return frozenset(
            code
            for code, name in enumerate(self.words)
            if name and name <= asked and not name <= ROLES
        )

    def removed(self, query: str) -> str:
        """The query without the names of speakers; the query if nothing else is left of it.

        Half of all turns of a chat carry each name, so it fills a vector and tells none apart.
        """
        rest = query
        for code in self.codes(query):
            rest = re.sub(
                rf"(?<!\w){re.escape(self.names[code])}(?:['\u2019]s)?(?!\w)", " ", rest, flags=re.I
            )
        rest = " ".join(rest.split())
        return rest if len(terms(rest)) else query
