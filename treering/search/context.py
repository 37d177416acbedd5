"""A prompt-ready context: the best fragments that fit a token budget, in reading order, cited."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from math import ceil
from operator import index
from typing import Final, Protocol, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Floats
from treering.errors import InputError
from treering.records import Context, Hit, Newer, Order, Passage
from treering.search.relations.contract import fill_times
from treering.search.terms import terms
from treering.split.text import FragmentSize, LengthUnit, spans
from treering.text import shorten_source, with_speaker

CountTokens = Callable[[str], int]
DUPLICATE_COSINE = 0.97
"""From here on two fragments say the same: a quoted or re-sent message, not a paraphrase."""

_CITATION = re.compile(r"^\[(?=\d+\])", re.MULTILINE)
"""The beginning of a passage. It is broken up in texts, so that none passes for a passage."""
_URL = re.compile(r"https?://(?:www\.)?(?P<site>[^/?#\s]+)/")
LABEL_CHARS = 40  # of a source in a citation; ``Passage.source`` has all of it
SENTENCE_CHARS = 200  # where a fragment is cut that does not fit as a whole
SURE_CANDIDATES: Final = 256  # looked at for a context of a least confidence
MAX_MISSES = 20  # after so many that do not fit, the little room left is not worth the search


_MEASURES: Mapping[str, CountTokens] = {"words": lambda text: len(text.split()), "characters": len}


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that a context or a prompt has."""

    limit: int
    unit: LengthUnit = "tokens"

    @classmethod
    def parse(cls, given: int | str) -> Budget:
        """Read a number of tokens, or a size such as ``4000 words``. Raises InputError."""
        if not isinstance(given, str):
            is_whole = isinstance(given, SupportsIndex) and not isinstance(given, bool)
            if not is_whole or index(given) < 1:
                raise InputError(
                    f"budget is {given!r}; it must be a whole number of at least 1 token, or a "
                    "size such as '4000 words'",
                    param="budget",
                )
            return cls(index(given))
        size = FragmentSize.parse(f"{given} tokens" if given.isdecimal() else given, "the budget")
        return cls(size.count, size.unit)

    def limit_and_count(
        self, count: CountTokens, window: int | None = None
    ) -> tuple[int, CountTokens]:
        """Return the limit and a count in its unit; a text that fits also fits a ``window``."""
        if self.unit == "tokens":
            return min(self.limit, window or self.limit), count
        measure = _MEASURES[self.unit]
        if window is None:
            return self.limit, measure
        share = self.limit / max(window, 1)
        return self.limit, lambda text: max(measure(text), ceil(count(text) * share))


@dataclass(frozen=True, slots=True)
class Layout:
    """The form of a context: at most ``k`` units, or as many as fit if it is None.

    By ``score`` the best unit comes first, each whole. ``cites`` puts a citation above each.
    """

    k: int | None = None
    order: Order = "reading"
    cites: bool = True


DEFAULT_LAYOUT: Final = Layout()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fragment that may go into a context, with its place in its source and its vector.

    Fragments of one ``unit``, such as a round of a chat, were ranked as one and follow each other.
    """

    hit: Hit
    rank: int  # its place among the fragments of its source
    session: int  # the code of its session, which was named or cut at silences
    vector: Floats
    is_cut: tuple[bool, bool] = (False, False)  # at its beginning, and at its end
    unit: int = -1
    is_pinned: bool = False
    space: str = ""  # its name, where several are asked

    @property
    def home(self) -> tuple[str, str]:
        """Its space and source."""
        return self.space, self.hit.source


@dataclass(slots=True)
class _PassageRun:
    """Neighbouring fragments of one source that are shown as one passage."""

    members: list[Candidate] = field(default_factory=list)

    def follows(self, candidate: Candidate) -> bool:
        """Return whether a candidate continues this run; a new session begins another one."""
        last = self.members[-1]
        if last.hit.summary_of or candidate.hit.summary_of:
            return False
        if (last.home, last.session) != (candidate.home, candidate.session):
            return False
        if _overlap(last.hit, candidate.hit):
            return True
        # A gap behind a fragment that was cut would be invisible.
        is_whole = not last.is_cut[1] and not candidate.is_cut[0]
        return candidate.rank == last.rank + 1 and is_whole


def _overlap(before: Hit, after: Hit) -> bool:
    return before.entry_id == after.entry_id and after.start <= before.end


def assemble(
    query: str, candidates: Iterable[Candidate], budget: int, count: CountTokens
) -> Context:
    """Take candidates, best first, while the whole stays within ``budget`` tokens.

    Drop a candidate that repeats another, and pass over one that does not fit, since a shorter one
    may follow. Of the best one take as many sentences as fit.
    """
    every = iter(candidates)
    best = next(every, None)
    if best is None:
        return _arrange(query, [], budget, count)
    is_whole = _tokens([best], count) <= budget
    taken = [best] if is_whole else _excerpt(query, best, budget, count)
    total, misses = _tokens(taken, count), 0
    exact = True  # whether ``total`` is a count, not a sum of upper bounds
    for candidate in every:
        if misses == MAX_MISSES:
            break
        if _repeats(candidate, taken):
            continue
        # Counting all passages for each candidate would cost more than the search: upper bounds
        # are added up, and the exact count is made only if they do not fit.
        cost = count(_show(1, [candidate])) + 1  # at most, as neighbours share a citation
        if total + cost > budget and not exact:
            total, exact = _tokens(taken, count), True
        # Beside a neighbour a candidate needs no citation of its own, so it may cost less.
        home, rank = candidate.home, candidate.rank
        is_beside = any(t.home == home and abs(t.rank - rank) <= 1 for t in taken)
        if total + cost > budget and is_beside:
            cost = _tokens([*taken, candidate], count) - total
        if total + cost > budget:
            misses += 1
            continue
        taken.append(candidate)
        total, exact = total + cost, False
    return _arrange(query, taken, budget, count)


def fill(
    query: str,
    candidates: Iterable[Candidate],
    budget: int,
    count: CountTokens,
    least: float,
    layout: Layout,
    *,
    whole: bool,
) -> Context:
    """Return a context of candidates with a confidence of at least ``least``, best first.

    With ``whole`` their units are shown whole, as ``layout`` says.
    """

    def assemble_all(some: Iterable[Candidate]) -> Context:
        if whole:
            return assemble_whole(query, some, layout, budget, count)
        return assemble(query, some, budget, count)

    if not least:
        return assemble_all(candidates)
    # Far down the ranking nothing is sure: that need not be read.
    first = list(islice(candidates, SURE_CANDIDATES))
    surest = max((candidate.hit.confidence for candidate in first), default=None)
    sure = [candidate for candidate in first if candidate.hit.confidence >= least]
    return replace(assemble_all(sure), surest=surest)


def assemble_whole(
    query: str,
    candidates: Iterable[Candidate],
    layout: Layout,
    budget: int,
    count: CountTokens,
) -> Context:
    """Take those of the ``layout.k`` best units that fit ``budget``, best first, each whole.

    Repetitions stay. If no unit fits, show a part of the best fragment.
    """
    taken: list[list[Candidate]] = []
    first: Candidate | None = None
    misses = 0
    for _, unit in islice(groupby(candidates, key=lambda candidate: candidate.unit), layout.k):
        members = [*unit]
        first = first or members[0]
        if count(_text(_laid_out([*taken, members], layout), layout.cites)) <= budget:
            taken.append(members)
        elif (misses := misses + 1) == MAX_MISSES:
            break
    if first is not None and not taken:
        taken = [part] if (part := _excerpt(query, first, budget, count)) else []
    return _context(query, _laid_out(taken, layout), budget, count, layout.cites)


def _laid_out(taken: Sequence[list[Candidate]], layout: Layout) -> list[_PassageRun]:
    if layout.order == "score":
        return [*map(_PassageRun, taken)]
    return _runs([member for members in taken for member in members])


def _excerpt(query: str, candidate: Candidate, budget: int, count: CountTokens) -> list[Candidate]:
    """Return the sentences of a fragment in a row that fit and say most words of the query.

    If no whole sentence with such a word fits, return parts of sentences; if the fragment says no
    such word, its first sentences. The result may be empty.
    """
    first: list[Candidate] = []
    for size in (SENTENCE_CHARS, SENTENCE_CHARS // 2, SENTENCE_CHARS // 4):
        said, best = _stretch(query, candidate, budget, count, size)
        if said:
            return best
        first = first or best
    return first


def _stretch(
    query: str, candidate: Candidate, budget: int, count: CountTokens, size: int
) -> tuple[int, list[Candidate]]:
    """Return how many words of the query the best pieces in a row say that fit, and the pieces."""
    hit = candidate.hit
    parts = spans(hit.text, size)
    asked = _terms_of(query)
    words = [asked & _terms_of(hit.text[start:stop]) for start, stop in parts]
    every = len(frozenset[int]().union(*words))

    def cut(first: int, stop: int) -> Candidate:
        begin, end = parts[first][0], parts[stop - 1][1]
        text = hit.text[begin:end]
        return replace(
            candidate,
            hit=replace(hit, text=text, start=hit.start + begin, end=hit.start + end),
            is_cut=(first > 0, stop < len(parts)),
        )

    most, best, stop = -1, (0, 0), 0
    for first in range(len(parts)):
        if most == every:
            break
        if first and not words[first]:
            continue  # a stretch that begins behind it says as much
        stop = max(stop, first)
        while stop < len(parts) and _tokens([cut(first, stop + 1)], count) <= budget:
            stop += 1
        said = len(frozenset[int]().union(*words[first:stop]))
        if stop > first and said > most:
            most, best = said, (first, stop)
    if most > 0:  # one piece around those with a word: more room is better left to other texts
        telling = [place for place in range(*best) if words[place]]
        best = max(best[0], telling[0] - 1), min(best[1], telling[-1] + 2)
    return max(most, 0), [cut(*best)] if most >= 0 else []


def _terms_of(text: str) -> frozenset[int]:
    return frozenset(terms(text)[:, 0].tolist())


def _tokens(taken: Sequence[Candidate], count: CountTokens) -> int:
    return count(_text(_runs(taken)))


def _repeats(candidate: Candidate, taken: Sequence[Candidate]) -> bool:
    if not taken:
        return False
    if any(earlier.hit.text == candidate.hit.text for earlier in taken):
        return True
    if candidate.hit.kind == "code":
        return False  # overlapping windows are alike by construction; they are merged instead
    # Spaces may have models of other dimensions.
    alike = [earlier for earlier in taken if earlier.vector.shape == candidate.vector.shape]
    if not alike:
        return False
    likeness: NDArray[np.float32] = (
        np.stack([earlier.vector for earlier in alike]) @ candidate.vector
    )
    return bool(likeness.max() >= DUPLICATE_COSINE)


def _runs(taken: Sequence[Candidate]) -> list[_PassageRun]:
    """Merge neighbours, in reading order: summaries, then by time, inside a source by place."""
    runs: list[_PassageRun] = []
    for candidate in sorted(taken, key=lambda candidate: (candidate.home, candidate.rank)):
        if runs and runs[-1].follows(candidate):
            runs[-1].members.append(candidate)
        else:
            runs.append(_PassageRun([candidate]))
    order = sorted(
        zip(runs, _times(runs), strict=True),
        key=lambda timed: (
            not timed[0].members[0].hit.summary_of,
            timed[1],
            timed[0].members[0].home,
            timed[0].members[0].rank,
        ),
    )
    return [run for run, _ in order]


def _times(runs: Sequence[_PassageRun]) -> list[float]:
    """Return the time of each run, sorted by source and place; −inf if no time is known."""
    hits = [run.members[0].hit for run in runs]
    codes: dict[tuple[str, str], int] = {}
    source = [codes.setdefault(run.members[0].home, len(codes)) for run in runs]
    at = [hit.at.timestamp() if hit.at else np.nan for hit in hits]
    times = fill_times(np.array(at, dtype=np.float64), np.array(source, dtype=np.int64))
    said_at: list[float] = np.where(np.isnan(times), -np.inf, times).tolist()
    return said_at


def _arrange(query: str, taken: Sequence[Candidate], budget: int, count: CountTokens) -> Context:
    """Return candidates, best first, as passages in reading order, as many as fit."""
    fitting = list(taken)
    while fitting and _tokens(fitting, count) > budget:
        fitting.pop()
    return _context(query, _runs(fitting), budget, count)


def _context(
    query: str, runs: Sequence[_PassageRun], budget: int, count: CountTokens, cites: bool = True
) -> Context:
    passages = tuple(_passage(number, run, count) for number, run in enumerate(runs, start=1))
    text = _text(runs, cites)
    return Context(query, passages, text, count(text), budget)


def _passage(number: int, run: _PassageRun, count: CountTokens) -> Passage:
    hits = sorted((candidate.hit for candidate in run.members), key=lambda hit: -hit.score)
    times = [hit.at for hit in hits if hit.at is not None]
    body = _body(run.members)
    return Passage(
        number=number,
        text=body,
        source=run.members[0].hit.source,
        hits=tuple(hits),
        at=min(times, default=None),
        until=max(times, default=None),
        tokens=count(body),
    )


def _text(runs: Sequence[_PassageRun], cites: bool = True) -> str:
    if not cites:
        return "\n\n".join(_body(run.members) for run in runs)
    return "\n\n".join(_show(number, run.members) for number, run in enumerate(runs, start=1))


def _show(number: int, members: Sequence[Candidate]) -> str:
    """Return a passage under its citation."""
    hit = members[0].hit
    # Turns differ by the minute; for a text the day is enough, and costs half as much.
    moment = "%Y-%m-%d %H:%M" if hit.kind == "chat" else "%Y-%m-%d"
    date = f", {hit.at:{moment}}" if hit.at else ""
    label = f"summary of {hit.summary_of} texts" if hit.summary_of else _label(hit.source)
    label = f"{members[0].space}: {label}" if members[0].space else label
    return f"[{number}] {label}{date}\n{_CITATION.sub('[ ', _body(members))}"


def _label(source: str) -> str:
    """Return a long path without its middle, or the site of a long URL."""
    if len(source) > LABEL_CHARS and (url := _URL.match(source)):
        source = url["site"]
    return shorten_source(source, LABEL_CHARS)


def _body(members: Sequence[Candidate]) -> str:
    """Return pieces of one entry joined without overlap, each message on its own line."""
    body = ""
    for place, candidate in enumerate(members):
        hit = candidate.hit
        before = members[place - 1].hit if place else None
        if before is not None and _overlap(before, hit):
            body += hit.text[max(before.end - hit.start, 0) :]
            continue
        if body and not body.endswith("\n"):
            body += "\n"
        if body and hit.kind == "code":
            body += "\n"  # a round of work on code has lines of its own
        body += show_hit(hit)
    return body.strip("\n")


def show_hit(hit: Hit) -> str:
    """Return a fragment as it is shown: speaker, text, and the mark against it."""
    return with_speaker(hit.text, hit.speaker) + against(hit)


class MarkedText(Protocol):
    """A text that may be superseded or out of date: a hit, or the mark of an entry."""

    @property
    def superseded_by(self) -> Newer | None: ...  # noqa: D102

    @property
    def stale(self) -> Newer | None: ...  # noqa: D102


def against(hit: MarkedText) -> str:
    """Return the mark against a text, which is shown right behind it."""
    if hit.superseded_by is not None:
        newer = hit.superseded_by
        what = "superseded" if newer.of is None else f'"{newer.of}" is superseded'
        return f" ({since(what, newer)}: {newer.text})"
    if hit.stale is not None:
        return f" ({since('possibly out of date', hit.stale)}: {hit.stale.text})"
    return ""


def mark_of_summary(below: Iterable[MarkedText]) -> str:
    """Return the mark of a summary with a superseded text below it, by the newest statement."""
    newer = [marked.superseded_by for marked in below if marked.superseded_by is not None]
    if not newer:
        return ""
    newest = max(newer, key=lambda statement: statement.at.timestamp() if statement.at else 0.0)
    return f" ({since('possibly out of date', newest)}: {newest.text})"


def since(what: str, newer: Newer) -> str:
    """Return ``what`` with the day since which it holds."""
    return f"{what} since {newer.at:%Y-%m-%d}" if newer.at else what
