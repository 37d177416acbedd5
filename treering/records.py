"""The values that go into a memory and come out of it. All are frozen; times are aware UTC."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from typing_extensions import TypeAliasType

JSON = TypeAliasType(  # what metadata may hold; a plain alias cannot be read at run time
    "JSON", "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
)
Progress = Callable[[int, int], None]
"""Called with how many pieces of work are done and how many there are in all."""

When = datetime | str | None
"""A time, as a call takes it; texts are in ISO format."""

Kind = Literal["text", "chat", "code"]
KINDS: tuple[Kind, ...] = ("text", "chat", "code")
Level = Literal["texts", "summaries", "all"]
LEVELS: tuple[Level, ...] = ("texts", "summaries", "all")
Mode = Literal["hybrid", "lexical", "dense"]
MODES: tuple[Mode, ...] = ("hybrid", "lexical", "dense")
ChatUnit = Literal["messages", "rounds"]
Order = Literal["reading", "score"]
CorrectionName = Literal[
    "proposed", "accepted", "retracted", "restored", "replaced", "superseded", "holds again"
]
BRIEF_TOKENS = 600
"""Half a page: what a conversation can afford without having asked for it."""

BLOCK = "block"
"""Metadata of a recorded round of work on code: the whole definition, which hits leave out."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A text as it was added, with its source and place.

    A very long text becomes several entries of one source. Joined in the order of ``position``,
    their texts are the added text, to the character; of a document, they are the text read from it.

    After ``expires``, an entry is not found, and is erased. A ``pinned`` entry comes first in
    contexts and briefs. ``superseded_by`` is the newer statement that holds instead, if there is
    one; ``stale`` is the change since which the text may be out of date.
    """

    id: str
    text: str
    source: str
    position: int
    kind: Kind
    added: datetime
    at: datetime | None = None
    speaker: str | None = None
    role: str | None = None
    session: str | None = None
    metadata: Mapping[str, JSON] = field(default_factory=dict)
    expires: datetime | None = None
    pinned: bool = False
    superseded_by: Newer | None = None
    stale: Newer | None = None


@dataclass(frozen=True, slots=True)
class Correction:
    """A change of an entry: when, by whom and why, as far as that was given.

    ``other`` is the entry that holds instead of a superseded one. ``copies`` counts the copies in
    other spaces that a retraction left in place; a history does not count them.
    """

    entry_id: str
    what: CorrectionName
    at: datetime
    by: str | None = None
    reason: str | None = None
    other: str | None = None
    copies: int = 0


@dataclass(frozen=True, slots=True)
class Withheld:
    """An entry that nothing finds: it was retracted, or is proposed and waits for approval."""

    entry: Entry
    correction: Correction


@dataclass(frozen=True, slots=True)
class Page:
    """Some entries in the order they were added, and the cursor of the next page, if any."""

    entries: tuple[Entry, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Why:
    """Why a hit has its rank: the values of ``terms`` add up to the score.

    ``terms`` holds the parts of the base score (``lexical``, ``dense``) and the share of each
    relation, ``α·env``. ``bm25`` and ``cosine`` are the raw scores, before both were put on one
    scale. A scorer that was not used has None.
    """

    terms: Mapping[str, float]
    bm25: float | None = None
    cosine: float | None = None

    @property
    def is_scored(self) -> bool:
        """Whether there was another text to compare this one with: all terms are 0 without."""
        return any(self.terms.values())

    def __str__(self) -> str:
        return " ".join(f"{name} {value:+.2f}" for name, value in self.terms.items())


@dataclass(frozen=True, slots=True)
class Newer:
    """A newer statement that holds instead of an older one.

    ``of`` is the older statement, if its entry says other things that still hold. The newer one may
    be outside the filter of a search.
    """

    entry_id: str
    text: str
    at: datetime | None = None
    of: str | None = None


@dataclass(frozen=True, slots=True)
class Folded:
    """An older text that differs from a hit in a value only, and is not shown by itself.

    ``times`` counts the entries with this text; ``at`` and ``entry_id`` are those of the newest.
    """

    entry_id: str
    text: str
    at: datetime | None = None
    times: int = 1


@dataclass(frozen=True, slots=True)
class Hit:
    """A fragment that answers a query, with its place and the reason why it was found.

    ``start`` and ``end`` are character offsets in the text of the entry ``entry_id``. ``space``
    holds the entry. ``superseded_by`` is the newer statement that holds instead, if there is one;
    ``stale`` is the change since which the text may be out of date. ``confidence`` is the
    probability, 0 to 1, that the hit answers the query.

    Hits with the same words, or with the same words except for a value, are folded into the newest.
    ``times`` counts the entries with the text of the hit, ``was`` has the other texts, newest
    first.

    A summary has the number of its ``node``, its ``level`` in the tree (1 below the root), and the
    number of texts that it is a ``summary_of``. It has no speaker and no time. Its entry, place and
    metadata are those of the text below it that answers the query best.
    """

    score: float
    text: str
    entry_id: str
    source: str
    position: int
    start: int
    end: int
    kind: Kind
    why: Why
    at: datetime | None = None
    speaker: str | None = None
    role: str | None = None
    session: str | None = None
    metadata: Mapping[str, JSON] = field(default_factory=dict)
    superseded_by: Newer | None = None
    stale: Newer | None = None
    level: int | None = None
    node: int | None = None
    summary_of: int = 0
    confidence: float = 0.0
    times: int = 1
    was: tuple[Folded, ...] = ()
    space: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """Neighbouring fragments, or one summary, in a context, cited as ``[number]``.

    ``hits`` are the fragments that the search found, best first.
    """

    number: int
    text: str
    source: str
    hits: tuple[Hit, ...]
    at: datetime | None = None
    until: datetime | None = None
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Context:
    """Passages for a prompt, in reading order, within a token budget. ``str()`` is the prompt.

    It is empty if no passage reaches ``min_confidence``. ``surest`` is the confidence of the best
    candidate, or None without one.
    """

    query: str
    passages: tuple[Passage, ...]
    text: str
    tokens: int
    budget: int
    surest: float | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file of a folder, or a page of a document, that was not added, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of an ``add`` or import. ``pending`` entries are durable, but not yet searchable.

    ``omitted`` counts the parts of past conversations that are not messages, by reason. ``masked``
    counts the keys, tokens and passwords that were not stored, ``private`` the private passages.
    For a folder, ``moved`` counts the files that were moved, and ``gone`` names the sources whose
    files do not exist any more.
    """

    ids: tuple[str, ...] = ()
    unchanged: int = 0
    removed: int = 0
    pending: int = 0
    skipped: tuple[Skipped, ...] = ()
    omitted: Mapping[str, int] = field(default_factory=dict)
    masked: int = 0
    private: int = 0
    moved: int = 0
    gone: tuple[str, ...] = ()

    @property
    def added(self) -> int:
        """How many entries are new."""
        return len(self.ids)

    @classmethod
    def total(cls, receipts: Sequence[Receipt]) -> Receipt:
        """The sum of several receipts; ``pending`` is that of the last."""
        omitted: Counter[str] = Counter()
        for receipt in receipts:
            omitted.update(receipt.omitted)
        return cls(
            ids=tuple(entry for receipt in receipts for entry in receipt.ids),
            unchanged=sum(receipt.unchanged for receipt in receipts),
            removed=sum(receipt.removed for receipt in receipts),
            pending=receipts[-1].pending if receipts else 0,
            skipped=tuple(skip for receipt in receipts for skip in receipt.skipped),
            omitted=dict(omitted),
            masked=sum(receipt.masked for receipt in receipts),
            private=sum(receipt.private for receipt in receipts),
            moved=sum(receipt.moved for receipt in receipts),
            gone=tuple(name for receipt in receipts for name in receipt.gone),
        )


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The result of ``forget``.

    ``entries`` are the erased entries: those that were asked for, then those that went with them,
    such as a person's change of a memo that was written from one. ``sources`` hold no entry any
    more. ``views`` counts the derived rows that went, by kind, and the erased ``copies``.

    ``scrubbed`` is True if no byte of the file or its log holds the text. It is False while another
    process reads an older state; the next ``forget``, ``settle`` or opening then removes the rest.
    In PostgreSQL it is about rows: the server's log, free room in its pages and its backups are the
    affair of who runs it.

    ``replies`` may quote the text: their model was shown it, and they share words with it. They
    stay, unless ``forget(..., replies=True)`` erased them, too. ``files`` are those that the
    entries were read from, and may still hold the text. ``copies`` counts the shared copies in
    other spaces that stay; ``forget(..., copies=True)`` erases them, too.
    """

    entries: tuple[str, ...]
    sources: tuple[str, ...]
    views: Mapping[str, int]
    scrubbed: bool
    replies: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    copies: int = 0


@dataclass(frozen=True, slots=True)
class Spent:
    """Calls and tokens that one kind of operation has cost so far."""

    operation: str
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Stats:
    """The state of one space. ``bytes`` is the size of the whole file, all spaces together.

    ``text_bytes`` is the size of the texts and metadata of the entries. ``quota`` has the limits of
    ``entries`` and of these ``bytes``, if the owner of a server sets any. ``outdated`` names the
    views that another version of treering derived: a rebuild is due. ``code_files`` counts the
    files of the repositories that are indexed; they are not among the entries.
    """

    space: str
    entries: int
    sources: int
    fragments: int
    embedded: int
    pending: Mapping[str, int]
    model: str | None
    dimension: int | None
    bytes: int
    spent: tuple[Spent, ...]
    outdated: tuple[str, ...] = ()
    text_bytes: int = 0
    quota: Mapping[str, int] = field(default_factory=dict)
    code_files: int = 0


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions on entries; an entry must meet all of them.

    A ``source`` that ends in ``/`` matches everything below it, such as the files of a folder. The
    source of a document matches its parts, such as pages. ``since`` is inclusive, ``until``
    exclusive; an entry without a time meets neither. Without a zone, they are times on the clock of
    each entry. ``as_of`` matches entries dated before this time, or added before it if they have no
    date. ``omit`` has the ids of entries to leave out.

    ``metadata`` maps a top-level key to its value, or to a condition: ``$in`` a list, ``$gt``,
    ``$gte``, ``$lt``, ``$lte``, ``$contains``, ``$exists``, ``$not``. In place of a key, ``$or``
    and ``$and`` join a list of such objects.
    """

    source: str | None = None
    speaker: str | None = None
    session: str | None = None
    kind: Kind | None = None
    since: datetime | None = None
    until: datetime | None = None
    metadata: Mapping[str, JSON] = field(default_factory=dict)
    omit: frozenset[str] = frozenset()
    as_of: datetime | None = None
