"""The names of speakers and sessions by code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treering.journal.blocks import name_code
from treering.search.relations.contract import MISSING


class Names:
    """Numbers for the speakers and the sessions of a space, given out as names come.

    The database has neither in its columns, only what ``name_code`` makes of a name.
    """

    def __init__(self) -> None:
        self.speakers: dict[str, int] = {}
        self._speakers: dict[int, int] = {0: MISSING}
        self._sessions: dict[int, dict[int, int]] = {}
        self._count = 0

    def lacks_speaker(self, code: int) -> bool:
        """Whether the name of a speaker is not here yet."""
        return code not in self._speakers

    def add_speaker(self, code: int, name: str) -> None:
        """Give a speaker a number. Raises ValueError if the code is another name's."""
        if name_code(name) != code:
            raise ValueError("a speaker of another name")
        self._speakers[code] = self.speakers[name] = len(self.speakers)

    def speaker(self, code: int) -> int:
        """The number of a speaker; MISSING for none."""
        return self._speakers[code]

    def sessions_of(
        self, sources: NDArray[np.int64], codes: NDArray[np.uint64]
    ) -> NDArray[np.int32]:
        """The numbers of sessions, whose names count within their sources; MISSING for none."""
        # A session's turns come one after the other: it is looked up once a stretch.
        is_other = (np.diff(sources) != 0) | (np.diff(codes) != 0)
        firsts = np.flatnonzero(np.concatenate([np.ones(min(len(codes), 1), np.bool_), is_other]))
        numbers = [
            self._session(source, code)
            for source, code in zip(sources[firsts].tolist(), codes[firsts].tolist(), strict=True)
        ]
        return np.repeat(np.array(numbers, dtype=np.int32), np.diff(np.append(firsts, len(codes))))

    def _session(self, source: int, code: int) -> int:
        if not code:
            return MISSING
        of_sources = self._sessions.setdefault(code, {})
        number = of_sources.get(source)
        if number is None:
            number = of_sources[source] = self._count
            self._count += 1
        return number

    def sessions(self, name: str) -> list[int]:
        """The numbers of the sessions of that name, of all sources."""
        return list(self._sessions.get(name_code(name), {}).values())
