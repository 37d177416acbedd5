"""Which lines of a conversation are to be written into memos (MemoChat, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Self

from treering.journal import entries, labels, ledger
from treering.journal.contract import Reader
from treering.journal.space import SpaceReader
from treering.records import Entry
from treering.views.choices import Wording
from treering.views.memos import changes
from treering.views.memos.record import spoken
from treering.views.settings import SpaceSettings, choices_of

EXCHANGE: Final = 2
"""Lines of an exchange. The last exchange stays in the recent dialogue."""

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Window:
    """The most lines and tokens that a recent dialogue has; ``count`` counts tokens."""

    lines: int
    tokens: int
    count: Count
    wording: Wording = "plain"

    @classmethod
    def from_settings(cls, settings: SpaceSettings, count: Count) -> Self:
        """The window of a space."""
        return cls(settings.memo_lines, settings.memo_tokens, count, settings.wording)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a conversation with its sequence number."""

    seq: int
    entry: Entry


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The lines of one conversation that no memo stands for.

    ``gaps`` are runs of such lines with a memo's lines after them: an erased memo leaves them.
    ``recent`` are the lines after the last memo's.
    """

    source: str
    gaps: tuple[tuple[Line, ...], ...]
    recent: tuple[Line, ...]


def batches(dialogue: Dialogue, window: Window) -> Iterator[tuple[Line, ...]]:
    """The runs of lines to write, one call for each. The rest stays in the recent dialogue.

    The batches are the same whether lines are added one by one or all at once.
    """
    for gap in dialogue.gaps:
        runs, rest = _cut(gap, window)
        yield from runs
        yield rest
    yield from _cut(dialogue.recent, window)[0]


def waiting(reader: SpaceReader, count: Count) -> int:
    """How many batches are due in a space."""
    window = Window.from_settings(choices_of(ledger.settings(reader)), count)
    return sum(len(list(batches(one, window))) for one in dialogues(reader, reader.id))


def _cut(lines: Sequence[Line], window: Window) -> tuple[list[tuple[Line, ...]], tuple[Line, ...]]:
    """Batches, and the lines after them, which are not empty if ``lines`` are not."""
    runs: list[tuple[Line, ...]] = []
    open_lines: list[Line] = []
    tokens: list[int] = []
    for line in lines:
        open_lines.append(line)
        tokens.append(window.count(spoken(line.entry, window.wording)))
        # A user's new line stays alone; a reply stays with the line that it answers.
        staying = 1 if line.entry.role == "user" else EXCHANGE
        outgrown = len(open_lines) > window.lines or sum(tokens) > window.tokens
        if outgrown and len(open_lines) > staying:
            runs.append(tuple(open_lines[:-staying]))
            del open_lines[:-staying], tokens[:-staying]
    return runs, tuple(open_lines)


def dialogues(
    reader: Reader, space: int, source: str | None = None, *, upgrade: bool = False
) -> list[Dialogue]:
    """The conversations with lines that no memo stands for; of all sources, or of one.

    With ``upgrade``, the lines of fallback memos count as lines without a memo.
    """
    condition, params = (
        ("", ()) if source is None else (" AND s.hash = ?", (labels.hash_of(source),))
    )
    rows = list(
        reader.rows(
            "SELECT e.source, e.seq, EXISTS (SELECT 1 FROM memo_line l"
            " JOIN memo m ON m.space = l.space AND m.current = l.version"
            " JOIN memo_version v ON v.space = l.space AND v.id = l.version"
            " WHERE l.space = e.space AND l.entry = e.seq AND l.covered = 1"
            " AND (? = 0 OR v.origin <> 'fallback'))"
            " FROM entry e JOIN source s ON s.space = e.space AND s.id = e.source"
            f" WHERE s.space = ? AND e.kind = 'chat' AND s.hash <> ?{condition}"
            " ORDER BY e.source, e.position",
            (int(upgrade), space, labels.hash_of(changes.SOURCE), *params),
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
    # If a memo stands for the last line, every run is a gap and the recent dialogue is empty.
    *gaps, last = [*_runs(lines), []] if lines[-1][1] else _runs(lines)
    shown = [tuple(Line(seq, open_lines[seq]) for seq in run) for run in (*gaps, last)]
    return Dialogue(next(iter(open_lines.values())).source, tuple(shown[:-1]), shown[-1])


def _runs(lines: Sequence[tuple[int, bool]]) -> list[list[int]]:
    """The runs of lines that are not covered."""
    return [
        [seq for seq, _ in run] for covered, run in groupby(lines, key=lambda line: line[1])
        if not covered
    ]  # fmt: skip
