"""The names of speakers and sessions by code."""

from __future__ import annotations

from treering.search.relations.contract import MISSING


class Names:
    """Codes for the speakers and the sessions of a space, given out as names come."""

    def __init__(self) -> None:
        self.speakers: dict[str, int] = {}
        self._sessions: dict[str, dict[int, int]] = {}
        self._count = 0

    def speaker(self, name: str | None) -> int:
        """The code of a speaker; MISSING for None."""
        return MISSING if name is None else self.speakers.setdefault(name, len(self.speakers))

    def session(self, source: int, name: str | None) -> int:
        """The code of a session, whose name counts within its source; MISSING for None."""
        if name is None:
            return MISSING
        of_sources = self._sessions.setdefault(name, {})
        code = of_sources.get(source)
        if code is None:
            code = of_sources[source] = self._count
            self._count += 1
        return code

    def sessions(self, name: str) -> list[int]:
        """The codes of the sessions of that name, of all sources."""
        return list(self._sessions.get(name, {}).values())
