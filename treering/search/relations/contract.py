"""A relation is a linear operator on a score vector (SPEC: FragRel, eq. 9 and 10).

FragRel scores fragment i by ``own[i] + Σ_r α_r · env_r[i]`` with ``env = W·own / W·1``. No W is
ever built: a relation that can propagate a score vector is all that is needed.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, Floats, for_each_piece
from treering.records import Kind
from treering.search.vectors import Matrix

if TYPE_CHECKING:
    from treering.search.snapshot import Snapshot

Labels = NDArray[np.integer[Any]]
"""Codes or counts, in 32 or 64 bits."""

MISSING = -1
"""The code of an item without a document, session or speaker."""


Flags = NDArray[np.bool_]
Ints = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class ReadingOrder:
    """``rows`` in the order in which they are read, source by source; flags by place in it.

    ``follows`` tells whether the row before is of the same source, ``continues`` whether it is of
    the same source and session. ``is_plain`` says that row i is at place i. The rows of
    ``sources[i]``, which ascend, are at the places from ``firsts[i]`` to ``firsts[i + 1]``.
    """

    rows: Ints
    follows: Flags
    continues: Flags
    is_plain: bool
    sources: Ints
    firsts: Codes

    def places(self, source: NDArray[Any], rank: NDArray[Any]) -> Codes:
        """Return the places of rows, given their source and their rank in it."""
        places: Codes = self.firsts[np.searchsorted(self.sources, source)] + rank
        return places

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class RowChange:
    """The change of a space from the state of version ``before``.

    ``gone`` are the rows of that state that went, ascending; ``added`` rows came, at the end.
    ``places`` in the new reading order, ascending, are new or follow another row than before.
    """

    before: int
    gone: Codes
    added: int
    places: Codes


def fill_times(at: NDArray[np.float64], source: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return times in reading order, shape (N,), with gaps (NaN) filled.

    A gap gets the last time before it in its source, or else the next after it. It stays NaN in a
    source without any time.
    """
    return _fill_forward(_fill_forward(at, source)[::-1], source[::-1])[::-1]


def _fill_forward(at: NDArray[np.float64], source: NDArray[np.int64]) -> NDArray[np.float64]:
    # ``last`` is the place of the newest time seen so far; it counts only within the same source.
    place = np.arange(len(at))
    last = np.maximum.accumulate(np.where(np.isnan(at), -1, place))
    same = (last >= 0) & (source[last] == source)
    return np.where(same, at[last], np.nan)


class StoredColumns(Protocol):
    """What a space stores of its items besides their columns, read when a relation asks for it."""

    def values(self, key: str) -> Labels:
        """The codes of the values of a key of metadata, shape (N,), MISSING for no such key."""
        ...

    def citations(self) -> tuple[Codes, Codes]:
        """Items whose texts name a source, and the document of that source for each."""
        ...


@dataclass(frozen=True, slots=True)
class Items:
    """The N items of one space that scores are about, as columns of equal length, in any order.

    ``document``, ``session`` and ``speaker`` are codes (equal code, same group; ``MISSING`` for
    none); ``position`` orders the items of one document; ``at`` is in seconds since the epoch, NaN
    if unknown; ``vectors`` has unit rows, shape (N, d), and an all-zero row for an item that is not
    embedded. ``fragment`` identifies items that come from the database. ``reading`` is their order
    by document and position; items that are not in it have no document, and positions leave no
    gaps. ``message`` has the codes of the messages of chats that they are pieces of. ``stored``
    reads further columns.
    """

    document: Labels
    position: Labels
    session: Labels
    speaker: Labels
    at: NDArray[np.float64]
    vectors: Matrix
    fragment: Codes | None = None
    reading: ReadingOrder | None = None
    message: Labels | None = None
    stored: StoredColumns | None = None

    def __len__(self) -> int:
        return len(self.document)


class Operator(Protocol):
    """W, bound to N items."""

    def propagate(self, scores: Floats) -> Floats:
        """``W·scores`` for scores of shape (N,) or, one column a query, (N, Q); a new array."""
        ...

    def mass(self) -> Floats:
        """``W·1``, shape (N,); zero where an item is related to nothing."""
        ...


@dataclass(frozen=True, slots=True)
class NullOperator:
    """W = 0 over ``size`` items: the relation adds no term."""

    size: int

    def propagate(self, scores: Floats) -> Floats:
        """Zeros, in the shape of the scores."""
        return np.zeros_like(scores)

    def mass(self) -> Floats:
        """Zeros, shape (N,)."""
        return np.zeros(self.size, dtype=np.float32)


class LocalOperator(Operator, Protocol):
    """An operator whose scores go no further than to a few items beside each."""

    def near(self, items: Codes, least: float) -> Codes:
        """These items and others that a share of at least ``least`` of a score reaches, sorted."""
        ...

    def among(self, items: Codes, scores: Floats) -> Floats:
        """``W·scores`` at some items, given ascending, where all others have the score 0."""
        ...


def is_local(operator: Operator) -> TypeGuard[LocalOperator]:
    """Return whether an operator is a ``LocalOperator``.

    ``isinstance`` of a protocol would take a tenth of a search of 10,000 fragments.
    """
    return hasattr(operator, "near") and hasattr(operator, "among")


@runtime_checkable
class Relation(Protocol):
    """A kind of relatedness: frozen parameters that bind to items.

    ``name`` is the key in ``Hit.why``; two relations of one search must not share it.

    A relation whose ``bind`` is expensive may offer ``rebind(before, items, change)``: it returns
    the operator over ``items`` from ``before``, that over the items before ``change``, or None if
    it must be bound from scratch. ``before`` is in use and must not change.
    """

    @property
    def name(self) -> str:
        """The relation's name, such as ``context``."""
        ...

    def bind(self, items: Items) -> Operator:
        """The operator of this relation over ``items``."""
        ...


def is_relation(term: object) -> TypeGuard[Relation]:
    """Return whether a term of a plan is a relation."""
    return hasattr(term, "bind")


RelationFactory = Callable[..., Relation]
"""An entry point of the group ``treering.relations``: keyword parameters to a relation."""


def by_column(propagate: Callable[[Floats], Floats], scores: Floats) -> Floats:
    """``propagate`` of scores of shape (N,), or of each column of (N, Q); the same shape."""
    if scores.ndim == 1:
        return propagate(scores)
    if scores.shape[1] == 1:
        return propagate(scores[:, 0])[:, None]  # as it is, without a copy
    result = np.empty_like(scores)
    for column in range(scores.shape[1]):
        result[:, column] = propagate(scores[:, column])
    return result


USER: Final = "user"
ASSISTANT: Final = "assistant"

LEARNED: Final[Mapping[str, float]] = json.loads(
    files("treering.search").joinpath("weights.json").read_text("utf-8")
)["weights"]
"""The weights of chats between people as multiples of that of cosines, by term, which
``treering-bench learn`` found. ``benchmarks/results/learn.json`` is of a later run, after other
terms had changed: its weights (context 2.574) find 80.9 in chats of LoCoMo that were left out, and
these found 81.4, so these stay."""

MAX_BOUND = 16  # operators kept: a search uses a handful, and each holds some bytes an item


class Term(Protocol):
    """A relation or a signal: ``name`` is its key in ``Hit.why``."""

    @property
    def name(self) -> str: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Weighted:
    """A relation or a signal and its weight α (FragRel eq. 10).

    ``among_people`` is the weight in chats without an assistant; None for ``alpha`` there, too.
    """

    relation: Term
    alpha: float
    among_people: float | None = None

    def __str__(self) -> str:
        """As settings have it, such as ``context(w=0.3, within=document) @ 0.5``."""
        parameters = ""
        if is_dataclass(self.relation):  # another package's has its name alone
            values: dict[str, Any] = asdict(self.relation)
            parameters = ", ".join(f"{key}={values[key]}" for key in values if key != "name")
        people = "" if self.among_people is None else f" among people {self.among_people:g}"
        named = self.relation.name + (f"({parameters})" if parameters else "")
        return f"{named} @ {self.alpha:g}{people}"


Plan = Mapping[Kind, Sequence[Weighted]]


def alpha_of(plan: Plan, kind: Kind, name: str) -> float:
    """Return the weight of a term for a kind of content, 0 if the plan lacks it."""
    return next((w.alpha for w in plan.get(kind, ()) if w.relation.name == name), 0.0)


def among_people(snapshot: Snapshot, plan: Plan) -> Plan | None:
    """Return the plan for chats between people; None for other chats, or without such weights.

    A chat is between people if the space has no message of an assistant, and none of a speaker
    called ``user``. The result has ``among_people``, so a second call returns the same plan.
    """
    with_assistant = snapshot.state.has_assistant or USER in snapshot.names.speakers
    has_weights = any(weighted.among_people is not None for weighted in plan.get("chat", ()))
    if "chat" not in snapshot.kinds or with_assistant or not has_weights:
        return None
    people = [
        weighted
        if weighted.among_people is None
        else Weighted(weighted.relation, weighted.among_people, weighted.among_people)
        for weighted in plan["chat"]
    ]
    return {**plan, "chat": people}


@dataclass(frozen=True, slots=True)
class Bound:
    """An operator over the items of one version of a space; ``share`` is ``1 / W·1``, shape (N,),
    or (1,) if it is the same for all.
    """

    version: int
    operator: Operator
    share: Floats


class Relations:
    """Binds relations to the items of one version of a space, and keeps the operators."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version: int | None = None
        self._bound: OrderedDict[Relation, Bound] = OrderedDict()

    def environment(self, relation: Relation, items: Items, version: int, own: Floats) -> Floats:
        """Return ``env = W·own / W·1`` (eq. 9); 0 for an item related to nothing."""
        bound = self.bound(relation, items, version)
        env = bound.operator.propagate(own)
        env *= bound.share if own.ndim == 1 else bound.share[:, None]
        return env

    def bound(
        self, relation: Relation, items: Items, version: int, change: RowChange | None = None
    ) -> Bound:
        """Return the operator over items, made from an earlier one if only a change came."""
        # Binding may sort all items: searches that arrive together wait for one operator.
        with self._lock:
            if self._version != version:
                self._version = version
                self._keep_only(None if change is None else change.before)
            bound = self._bound.get(relation)
            if bound is None or bound.version != version:
                operator = _rebind(relation, bound, items, change) or relation.bind(items)
                bound = Bound(version, operator, _shares(operator))
                self._bound[relation] = bound
                while len(self._bound) > MAX_BOUND:
                    self._bound.popitem(last=False)
            self._bound.move_to_end(relation)
            return bound

    def _keep_only(self, version: int | None) -> None:
        """Drop all operators but those from which the present ones can be made."""
        for relation, bound in list(self._bound.items()):
            if bound.version != version or not hasattr(relation, "rebind"):
                del self._bound[relation]


def _rebind(
    relation: Relation, before: Bound | None, items: Items, change: RowChange | None
) -> Operator | None:
    rebind = getattr(relation, "rebind", None)
    if before is None or change is None or rebind is None:
        return None
    operator: Operator | None = rebind(before.operator, items, change)
    return operator


def _shares(operator: Operator) -> Floats:
    """Return ``1 / W·1``; for an operator that relates nothing a single 0, for all items."""
    if isinstance(operator, NullOperator):
        return np.zeros(1, dtype=np.float32)
    mass = operator.mass()
    inverse = np.zeros_like(mass)

    def divide(rows: slice) -> None:
        np.divide(1, mass[rows], out=inverse[rows], where=mass[rows] > 0)

    for_each_piece(divide, len(mass))
    return inverse
