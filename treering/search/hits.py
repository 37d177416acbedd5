"""Hits: rows of a ranking with their texts, which are read from the database here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from treering.arrays import Codes, Floats
from treering.journal import entries
from treering.journal.space import SpaceReader
from treering.journal.stored import cut
from treering.records import BLOCK, Folded, Hit
from treering.search.marks import Mark, Quote
from treering.search.snapshot import FragmentSource, Mask, Snapshot
from treering.search.terms import is_unspaced, terms

if TYPE_CHECKING:
    from treering.search.rounds import RankedRows


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads rows of a snapshot from the database, each once; ``allowed`` meet the filter."""

    reader: SpaceReader
    corpus: FragmentSource
    snapshot: Snapshot
    allowed: Mask | None
    _read: dict[int, Quote] = field(default_factory=dict)

    @property
    def exact(self) -> Callable[[Codes], Floats] | None:
        """A function that reads vectors as they were embedded; None if the snapshot has them."""
        model, numbers = self.snapshot.state.model, self.snapshot.vector_number
        if model is None or getattr(self.snapshot.items.vectors, "is_exact", True):
            return None
        assert numbers is not None  # the database has vectors of eight bits together with them
        return lambda rows: self.corpus.exact(self.reader, model, numbers[rows])

    def quotes(self, rows: Codes) -> list[Quote]:
        """Return the texts of the fragments at ``rows``, in the order given."""
        numbers, read = rows.tolist(), self._read
        if new := [row for row in numbers if row not in read]:
            snapshot = self.snapshot
            seqs, fragments = snapshot.entry[new].tolist(), snapshot.fragment[new].tolist()
            spans = self.corpus.spans(self.reader, fragments)
            entry_by_seq = entries.there(self.reader, seqs)
            for row, seq, fragment in zip(new, seqs, fragments, strict=True):
                entry, span = entry_by_seq[seq], spans.get(fragment)
                read[row] = Quote(seq, entry, cut(entry, span), span or (0, 0))
        return [read[row] for row in numbers]


def hits(
    ranking: RankedRows,
    rows: Codes,
    quotes: Sequence[Quote],
    marks: Sequence[Mark],
    space: str,
) -> list[Hit]:
    """Return the fragments of a space at ``rows`` as hits, in the order given."""
    confidences = ranking.confidence(rows)
    found = []
    for row, quote, mark, confidence in zip(rows.tolist(), quotes, marks, confidences, strict=True):
        entry, (start, end) = quote.entry, quote.span
        found.append(
            Hit(
                score=float(ranking.scores[row]),
                text=quote.text,
                entry_id=entry.id,
                source=entry.source,
                position=entry.position,
                start=start,
                end=end,
                kind=entry.kind,
                why=ranking.why(row),
                at=entry.at,
                speaker=entry.speaker,
                role=entry.role,
                session=entry.session,
                metadata={key: value for key, value in entry.metadata.items() if key != BLOCK},
                superseded_by=mark.superseded_by,
                stale=mark.stale,
                confidence=confidence,
                space=space,
            )
        )
    return found


TERM: Final = "newest"
"""In ``hit.why``: how much more an older hit scored that this one represents."""

LEAST_BEFORE: Final = 4
"""Words that two texts share before their values: "The capital of Chile is …". With three, half of
FactConsolidation gains nothing, and "I bought a bike" folds into "I bought a car"."""

LETTERS_BEFORE: Final = (
    8  # the same in scripts without spaces: a Chinese word has about two letters
)

MOST_IN_VALUE: Final = 8  # words
QUESTION_MARKS: Final = ("?", "\uff1f", "\u061f")

Words = tuple[str, ...]
Whose = tuple[str | None, bool]
"""The speaker of a text, and whether it is of a time that the question names."""


def represent(newer: Hit, older: Hit) -> Hit:
    """Return the newer hit with the score and confidence of the older one, if they are higher."""
    confidence = max(newer.confidence, older.confidence)
    gained = older.score - newer.score
    if gained <= 0:
        return replace(newer, confidence=confidence)
    named = {**newer.why.terms, TERM: newer.why.terms.get(TERM, 0.0) + gained}
    why = replace(newer.why, terms=named)
    return replace(newer, score=older.score, confidence=confidence, why=why)


def represent_all(query: str, hits: Sequence[Hit]) -> list[Hit]:
    """Let each statement among the hits represent those that it supersedes; keep the order."""
    best = {hit.entry_id: hit for hit in reversed(hits)}
    for hit in hits:
        holding = _newer_entry(query, hit)
        if holding in best:
            best[holding] = represent(best[holding], best[hit.entry_id])
    return [new if (new := best[hit.entry_id]).start == hit.start else hit for hit in hits]


def holding_first(
    query: str, hits: Sequence[Hit], find: Callable[[Collection[str]], Sequence[Hit]]
) -> list[Hit]:
    """Put each statement that holds before the hits that it supersedes, best first.

    ``find`` returns the best hit of each of some entries, by id, that meets the filter.
    """
    holding = [_newer_entry(query, hit) for hit in hits]
    missing = set(filter(None, holding)) - {hit.entry_id for hit in hits}
    every = represent_all(query, [*hits, *(find(missing) if missing else ())])
    place = {hit.entry_id: at for at, hit in reversed([*enumerate(every)])}
    order: list[int] = []
    for at, newer in enumerate(holding):
        order += [place[newer], at] if newer in place else [at]
    return [every[at] for at in dict.fromkeys(order)]


@dataclass(slots=True)
class Groups:
    """Hits of a query, best first, grouped where their words agree, or agree but for a value."""

    query: str
    groups: list[list[Hit]] = field(default_factory=list)
    _by_text: dict[tuple[Whose, Words], list[Hit]] = field(default_factory=dict)
    _by_beginning: dict[tuple[Whose, Words], list[tuple[Words, list[Hit]]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    _asked: set[int] | None = None

    def __len__(self) -> int:
        return len(self.groups)

    def add(self, hits: Sequence[Hit]) -> None:
        """Put each of further hits into its group."""
        for hit in hits:
            if hit.kind == "code":
                self.groups.append([hit])
                continue
            # Texts of another time than the question names do not represent one of that time.
            whose, words = (hit.speaker, bool(hit.why.terms.get("when"))), _words(hit)
            before = LETTERS_BEFORE if is_unspaced(hit.text) else LEAST_BEFORE
            alike = self._by_beginning[whose, words[:before]]
            group = self._by_text.get((whose, words)) or self._same_but_value(words, alike)
            if group is None:
                group = []
                self.groups.append(group)
                alike.append((words, group))
            group.append(hit)
            self._by_text[whose, words] = group

    def _same_but_value(
        self, words: Words, alike: Sequence[tuple[Words, list[Hit]]]
    ) -> list[Hit] | None:
        for others, group in alike:
            split = _split(words, others)
            if split is not None and not self._asks_for_one(*split):
                return group
        return None

    def _asks_for_one(self, shared: Words, one: Words, other: Words) -> bool:
        """Return whether the query names one of two values, and so asks for one of two things."""
        if self._asked is None:
            self._asked = _terms(self.query.split())
        return not self._asked.isdisjoint((_terms(one) ^ _terms(other)) - _terms(shared))

    def best(self) -> list[Hit]:
        """Return one hit for each group, by the best of its scores."""
        return [_representative(group) if len(group) > 1 else group[0] for group in self.groups]


def _terms(words: Iterable[str]) -> set[int]:
    return set(terms(" ".join(words))[:, 0].tolist())


def _words(hit: Hit) -> Words:
    """Return the words of a text in order; its letters in a script without spaces."""
    text = hit.text
    return tuple(text.replace(" ", "") if is_unspaced(text) else text.split())


def _split(one: Words, other: Words) -> tuple[Words, Words, Words] | None:
    """Return the words that two texts share and the value of each, if they differ in a value only.

    Most shared words are before the value, and the values share no word. Questions state no value.
    """
    if any(word.endswith(QUESTION_MARKS) for word in (one[-1], other[-1])):
        return None
    least = min(len(one), len(other))
    before = next((at for at in range(least) if one[at] != other[at]), least)
    least -= before
    after = next((at for at in range(least) if one[-1 - at] != other[-1 - at]), least)
    values = one[before : len(one) - after], other[before : len(other) - after]
    longest = max(map(len, values))
    if not all(values) or before <= after or longest > min(before + after, MOST_IN_VALUE):
        return None
    shared = one[:before] + one[len(one) - after :]
    return (shared, *values) if set(values[0]).isdisjoint(values[1]) else None


def _representative(group: Sequence[Hit]) -> Hit:
    """Return the newest hit of a group with the best score, and the values of the others."""
    timed = all(hit.at is not None for hit in group)
    ordered = sorted(
        group, key=lambda hit: (hit.at.timestamp() if timed and hit.at else 0.0, hit.entry_id)
    )[::-1]
    newest = next((hit for hit in ordered if hit.superseded_by is None), ordered[0])
    said: dict[Words, list[Hit]] = {_words(newest): []}
    for hit in ordered:
        said.setdefault(_words(hit), []).append(hit)
    same, *others = said.values()
    for hit in group:
        newest = represent(newest, hit)
    was = [Folded(hits[0].entry_id, hits[0].text, hits[0].at, _times(hits)) for hits in others]
    before = [folded for hit in group for folded in hit.was]  # those of hits of several spaces
    return replace(newest, times=_times(same), was=(*was, *before))


def _times(hits: Sequence[Hit]) -> int:
    return sum(hit.times for hit in hits)


def _newer_entry(query: str, hit: Hit) -> str | None:
    """Return the entry that holds instead of a hit, unless the query asks for another part."""
    newer = hit.superseded_by
    if newer is None:
        return None
    if newer.of is not None:
        asked, statement = set(terms(query)[:, 0].tolist()), terms(newer.of)[:, 0].tolist()
        if asked.intersection(terms(hit.text)[:, 0].tolist()) - set(statement):
            return None
    return newer.entry_id
