"""The code relation between talk, recorded rounds and code (FragRel eq. 8 over definitions).

Two fragments are related by the definitions they speak of: fully by the same one, by the weight of
a call where one calls the other. ``W = B·R·Bᵀ`` with B from fragments to definitions and R between
definitions, both sparse, so a score vector passes in time linear in the mentions of code.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from treering.arrays import Codes, Floats
from treering.errors import InputError
from treering.journal.space import Space
from treering.records import Hit
from treering.search.relations.contract import Items
from treering.views.code.graph.code_graph import EDGES
from treering.views.code.graph.operator import Matrix, matrix
from treering.views.code.index.blocks import CodeBlock
from treering.views.code.index.code_index import CodeIndex
from treering.views.code.rounds import recorded
from treering.views.code.rounds.mentions import last_part, means, names_in
from treering.views.code.rounds.rounds import Rounds
from treering.views.code.rounds.session import SessionBlock
from treering.views.fragments import store

NAME = "code"
"""The relation's name in ``relations=`` and ``Hit.why``."""

MAX_MEANINGS = 5
"""A name with more possible definitions says nothing about which is meant."""

_WORD = re.compile(r"[^\W\d]\w{2,}")
"""Names of fewer than three letters occur in too many questions."""

NamesOf = Callable[[Codes], Sequence[Iterable[str]]]
"""The names of definitions in each of some fragments."""


@dataclass(frozen=True, slots=True)
class About:
    """The answer to a question about code: talk, rounds of work, and definitions.

    ``definitions`` are those that the question names, as ``PATH::NAME``; ``rounds`` are newest
    first, ``talk`` and ``code`` best first.
    """

    question: str
    definitions: tuple[str, ...]
    talk: tuple[Hit, ...]
    rounds: tuple[SessionBlock, ...]
    code: tuple[CodeBlock, ...]


@dataclass(frozen=True, eq=False)
class CodeNames:
    """Relates fragments that name the same definitions, or definitions that call each other.

    ``keys`` are the definitions of a space, ``calls`` says by number which of them call which.
    """

    names_of: NamesOf = field(repr=False)
    keys: Sequence[str] = field(repr=False)
    calls: Collection[tuple[int, int]] = field(repr=False)
    name: str = NAME

    @classmethod
    def build(
        cls, names_of: NamesOf, indexes: Iterable[CodeIndex], with_rounds: Iterable[str]
    ) -> CodeNames:
        """Relate definitions of indexed repositories, and those with recorded rounds."""
        number: dict[str, int] = {}
        calls: set[tuple[int, int]] = set()
        for index in indexes:
            for path, definition in index.definitions():
                number.setdefault(f"{path}::{definition.qualified}", len(number))
            for caller, called, _ in index.call_edges():
                first, last = (f"{end.path}::{index.definition(end).qualified}"
                               for end in (caller, called))  # fmt: skip
                calls.add((number[first], number[last]))
        for key in with_rounds:
            number.setdefault(key, len(number))
        return cls(names_of, tuple(number), calls)

    @cached_property
    def _by_name(self) -> Mapping[str, list[int]]:
        """The numbers of definitions by the last part of their names."""
        places: defaultdict[str, list[int]] = defaultdict(list)
        for at, key in enumerate(self.keys):
            places[last_part(key.partition("::")[2])].append(at)
        return places

    def _meanings(self, name: str) -> list[int]:
        """The definitions that a name can mean; none if it can mean too many."""
        some = self._by_name.get(last_part(name), ())
        meant = [at for at in some if means(name, self.keys[at].partition("::")[2])]
        return meant if len(meant) <= MAX_MEANINGS else []

    def meant(self, text: str) -> list[str]:
        """The keys of the definitions that a question names. A bare word counts as a name, too."""
        words = {word for word in _WORD.findall(text) if word in self._by_name}
        names = sorted(names_in(text) | words)
        return [*dict.fromkeys(self.keys[at] for name in names for at in self._meanings(name))]

    def bind(self, items: Items) -> CodeNamesOperator:
        """The operator over the fragments of a space."""
        if items.fragment is None:
            raise InputError("the code relation relates only the fragments of a space")
        rows: list[int] = []
        columns: list[int] = []
        shares: list[float] = []
        for row, names in enumerate(self.names_of(items.fragment)):
            for name in names:
                meant = self._meanings(name)
                rows += [row] * len(meant)
                columns += meant
                shares += [1 / len(meant) for _ in meant]
        # R: 1 on the diagonal, the weight of a call edge between caller and called, both ways.
        size = len(self.keys)
        pairs = [tuple(pair) for pair in {frozenset(pair) for pair in self.calls} if len(pair) > 1]
        ends = [*pairs, *((end, start) for start, end in pairs), *((at, at) for at in range(size))]
        weights = [EDGES.call] * (2 * len(pairs)) + [1.0] * size
        return CodeNamesOperator(
            matrix(rows, columns, shares, (len(items), size)),
            matrix([end[0] for end in ends], [end[1] for end in ends], weights, (size, size)),
        )


class CodeNamesOperator:
    """``W = B·R·Bᵀ`` over N fragments."""

    def __init__(self, mentions: Matrix, calls: Matrix) -> None:
        self._mentions = mentions
        self._calls = calls

    def propagate(self, scores: Floats) -> Floats:
        """``W·scores`` for scores of shape (N,) or (N, Q)."""
        product: Floats = self._mentions @ (self._calls @ (self._mentions.T @ scores))
        return product

    def mass(self) -> Floats:
        """``W·1``; zero for a fragment that speaks of no definition."""
        return self.propagate(np.ones(self._mentions.shape[0], dtype=np.float32))


class FragmentNames:
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
        """The relation as of ``state``, which differs once indexes or rounds have changed."""
        with self._lock:
            if self._relation is None or self._state != state:
                sequences = recorded.sequences(self._rounds.every()).values()
                keys = (sequence[-1].block.key for sequence in sequences)
                self._relation = CodeNames.build(self._names_of, self._indexes(), keys)
                self._state = state
            return self._relation

    def _names_of(self, fragments: Codes) -> Sequence[Iterable[str]]:
        numbers = fragments.tolist()
        names_known = self._known  # another thread may put another one there meanwhile
        new = [fragment for fragment in numbers if fragment not in names_known]
        with self._space.read() as reader:
            read = {fragment: names_in(text) for fragment, text, _ in store.texts(reader, new)}
        names = self._known = {
            fragment: names_known.get(fragment) or read.get(fragment, frozenset())
            for fragment in numbers
        }
        return [names[fragment] for fragment in numbers]
