"""The names of speakers and sessions: their codes, and the speakers that a query names."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes
from treering.journal.blocks import name_code
from treering.search.relations.contract import MISSING
from treering.search.terms import terms, words

_POSSESSIVE: Final = re.compile(r"['\u2019]s\b", re.IGNORECASE)

ROLES: Final = frozenset({"user", "assistant", "system", "tool"})
"""Words, not names, in a query."""

FEW: Final = 8  # speakers that are numbered one by one, which takes less than sorting


class Names:
    """Numbers for the speakers and the sessions of a space, in the order of their first rows.

    The columns of the database have the ``name_code`` of each name.
    """

    def __init__(self) -> None:
        self.speakers: dict[str, int] = {}
        self._speakers: dict[int, int] = {0: MISSING}
        self._lock = threading.Lock()  # searches ask for sessions while others come
        self._sessions: dict[tuple[int, int], int] = {}  # by code and source
        self._of_code: dict[int, list[int]] = {}  # of the first ``_listed`` sessions
        self._listed = 0

    def speakers_of(
        self, entries: Codes, codes: NDArray[np.uint64], name_of: Callable[[int], str]
    ) -> NDArray[np.int32]:
        """Return the numbers of the speakers of some entries; MISSING for none.

        ``name_of`` reads a new name from an entry. Raise ValueError if it has another code.
        """
        numbers = np.empty(len(codes), dtype=np.int32)
        is_left = np.ones(len(codes), dtype=np.bool_)
        for _ in range(FEW):
            first = int(is_left.argmax()) if len(codes) else 0
            if not is_left[first : first + 1].any():
                return numbers
            is_same = codes == codes[first]
            numbers[is_same] = self._speaker(int(codes[first]), int(entries[first]), name_of)
            is_left &= ~is_same
        rows = np.flatnonzero(is_left)
        distinct, firsts, inverse = np.unique(codes[rows], return_index=True, return_inverse=True)
        each = np.empty(len(distinct), dtype=np.int32)
        for at in np.argsort(firsts).tolist():
            entry = int(entries[rows[firsts[at]]])
            each[at] = self._speaker(int(distinct[at]), entry, name_of)
        numbers[rows] = each[inverse]
        return numbers

    def _speaker(self, code: int, entry: int, name_of: Callable[[int], str]) -> int:
        if code not in self._speakers:
            name = name_of(entry)
            if name_code(name) != code:
                raise ValueError("a speaker of another name")
            self._speakers[code] = self.speakers[name] = len(self.speakers)
        return self._speakers[code]

    def sessions_of(self, sources: NDArray[Any], codes: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Return the numbers of sessions, named within their sources; MISSING for none."""
        if not len(codes):
            return np.zeros(0, dtype=np.int32)
        # The turns of a session come in a row: look it up once.
        is_other = (sources[1:] != sources[:-1]) | (codes[1:] != codes[:-1])
        firsts = np.append(0, np.flatnonzero(is_other) + 1)
        pairs = zip(codes[firsts].tolist(), sources[firsts].tolist(), strict=True)
        with self._lock:
            known = self._sessions
            numbers = [known.setdefault(pair, len(known)) if pair[0] else MISSING for pair in pairs]
        return np.repeat(np.array(numbers, dtype=np.int32), np.diff(firsts, append=len(codes)))

    def sessions(self, name: str) -> list[int]:
        """Return the numbers of the sessions of that name, of all sources."""
        with self._lock:
            for (code, _), number in islice(self._sessions.items(), self._listed, None):
                self._of_code.setdefault(code, []).append(number)
            self._listed = len(self._sessions)
            return list(self._of_code.get(name_code(name), ()))


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
        """Return the codes of the speakers whose names a query holds, with all of their words."""
        asked = words(_POSSESSIVE.sub("", query))
        return frozenset(
            code
            for code, name in enumerate(self.words)
            if name and name <= asked and not name <= ROLES
        )

    def remove_from(self, query: str) -> str:
        """Return the query without the names of speakers, or the query if nothing else is left.

        Half of all turns of a chat carry each name: it fills a vector and separates nothing.
        """
        rest = query
        for code in self.codes(query):
            rest = re.sub(
                rf"(?<!\w){re.escape(self.names[code])}(?:['\u2019]s)?(?!\w)", " ", rest, flags=re.I
            )
        rest = " ".join(rest.split())
        return rest if len(terms(rest)) else query
