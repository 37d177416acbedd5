"""The definitions that talk, rounds and code share, of one space: its state has one owner."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

from treering.code.index import CodeIndex
from treering.code.joined import CodeNames, Definitions
from treering.code.mentions import mentioned
from treering.code.rounds import Rounds
from treering.fragments import store
from treering.journal.space import Space
from treering.relate.contract import Codes


class Names:
    """Which definitions there are, and which fragments speak of which; safe to use from threads."""

    def __init__(
        self, space: Space, rounds: Rounds, indexes: Callable[[], Iterable[CodeIndex]]
    ) -> None:
        self._space = space
        self._rounds = rounds
        self._indexes = indexes
        self._lock = threading.Lock()
        self._state: object = None
        self._relation: CodeNames | None = None
        self._known: dict[int, frozenset[str]] = {}

    def relation(self, state: object) -> CodeNames:
        """The relation as of ``state``, which is what tells that indexes or rounds have changed."""
        with self._lock:
            if self._relation is None or self._state != state:
                recorded = (one[-1].block.key for one in self._rounds.known().values())
                definitions = Definitions.of(self._indexes(), recorded)
                self._relation, self._state = CodeNames(self._names_of, definitions), state
            return self._relation

    def _names_of(self, fragments: Codes) -> Sequence[Iterable[str]]:
        wanted = fragments.tolist()
        known = self._known  # another thread may put another one there meanwhile
        new = [fragment for fragment in wanted if fragment not in known]
        with self._space.read() as reader:
            read = {one: mentioned(text) for one, text, _ in store.texts(reader, new)}
        names = self._known = {one: known.get(one) or read.get(one, _NONE) for one in wanted}
        return [names[one] for one in wanted]


_NONE: frozenset[str] = frozenset()
