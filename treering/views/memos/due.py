"""Which lines of a conversation are to be written into memos (MemoChat, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from treering.journal import entries
from treering.journal.contract import Reader
from treering.records import Entry
from treering.views.memos import changes
from treering.views.memos.lines import spoken

RECENT_LINES: Final = 10
"""The paper's: the recent dialogue may have as many lines."""

RECENT_TOKENS: Final = 1_024
"""The paper's: and as many tokens by the model's count, half of its window of 2,048."""

EXCHANGE: Final = 2
"""Lines of an exchange, the last of which stays in the recent dialogue."""

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a conversation with the number that the database knows it by."""

    seq: int
    entry: Entry


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The lines of one conversation that no memo stands for.

    ``gaps`` are runs of lines before others that a memo stands for: what a memo left that was
    erased. ``recent`` are those after all of them.
    """

    source: str
    gaps: tuple[tuple[Line, ...], ...]
    recent: tuple[Line, ...]


def batches(dialogue: Dialogue, count: Count) -> Iterator[tuple[Line, ...]]:
    """The runs of lines to be written, each by one call; the rest stays in the recent dialogue.

    Whether lines come one by one or all at once, the same batches come out.
    """
    for gap in dialogue.gaps:
        runs, rest = _cut(gap, count)
        yield from runs
        yield rest
    yield from _cut(dialogue.recent, count)[0]


def waiting(reader: Reader, space: int, count: Count) -> int:
    """How many batches are due in a space."""
    return sum(len(list(batches(dialogue, count))) for dialogue in dialogues(reader, space))


def recent(dialogue: Dialogue, count: Count) -> tuple[Line, ...]:
    """The lines that stay in the recent dialogue once all batches are written."""
    return _cut(dialogue.recent, count)[1]


def _cut(lines: Sequence[Line], count: Count) -> tuple[list[tuple[Line, ...]], tuple[Line, ...]]:
    """Batches, and the lines after them; never empty, if there is a line."""
    runs: list[tuple[Line, ...]] = []
    window: list[Line] = []
    tokens: list[int] = []
    for line in lines:
        window.append(line)
        tokens.append(count(spoken(line.entry)))
        staying = 1 if line.entry.role == "user" else EXCHANGE
        outgrown = len(window) > RECENT_LINES or sum(tokens) > RECENT_TOKENS
        if outgrown and len(window) > staying:
            runs.append(tuple(window[:-staying]))
            del window[:-staying], tokens[:-staying]
    return runs, tuple(window)


def dialogues(
    reader: Reader, space: int, source: str | None = None, *, upgrade: bool = False
) -> list[Dialogue]:
    """The conversations that have lines which no memo stands for; of all sources, or of one.

    With ``upgrade`` a memo that is the fallback for a reply does not count.
    """
    condition, params = ("", ()) if source is None else (" AND s.name = ?", (source,))
    rows = list(
        reader.rows(
            "SELECT e.source, e.seq, EXISTS (SELECT 1 FROM memo_line l JOIN memo m"
            " ON m.current = l.version JOIN memo_version v ON v.id = l.version"
            " WHERE l.entry = e.seq AND l.covered = 1 AND (? = 0 OR v.origin <> 'fallback'))"
            " FROM entry e JOIN source s ON s.id = e.source"
            f" WHERE s.space = ? AND e.kind = 'chat' AND s.name <> ?{condition}"
            " ORDER BY e.source, e.position",
            (int(upgrade), space, changes.SOURCE, *params),
        )
    )
    open_dialogues = []
    for _, group in groupby(rows, key=lambda row: row[0]):
        lines = [(int(row[1]), bool(row[2])) for row in group]
        if not all(covered for _, covered in lines):
            open_dialogues.append(_dialogue(reader, lines))
    return open_dialogues


def _dialogue(reader: Reader, lines: Sequence[tuple[int, bool]]) -> Dialogue:
    open_lines = entries.there(reader, [seq for seq, covered in lines if not covered])
    *gaps, last = [*_runs(lines), []] if lines[-1][1] else _runs(lines)
    shown = [tuple(Line(seq, open_lines[seq]) for seq in run) for run in (*gaps, last)]
    return Dialogue(next(iter(open_lines.values())).source, tuple(shown[:-1]), shown[-1])


def _runs(lines: Sequence[tuple[int, bool]]) -> list[list[int]]:
    """The runs of lines that are not covered."""
    return [
        [seq for seq, _ in run] for covered, run in groupby(lines, key=lambda line: line[1])
        if not covered
    ]  # fmt: skip
