"""Which lines of a conversation are to be written into memos (MemoChat, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from treering.journal import entries, sources
from treering.journal.contract import Reader
from treering.records import Entry
from treering.views.memos import changes
from treering.views.memos.record import speaker_line
from treering.views.settings import SpaceSettings

EXCHANGE: Final = 2
"""Lines of an exchange. The last exchange stays in the recent dialogue."""

Lines = dict[int, Entry]
"""Lines of a conversation by sequence number, in the order they were said."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The lines of one conversation that no memo stands for.

    ``gaps`` are runs of such lines before a memo's lines: an erased memo leaves them. ``recent``
    are the lines after the last memo's.
    """

    source: str
    gaps: Sequence[Lines]
    recent: Lines

    def batches(self, settings: SpaceSettings, count: Callable[[str], int]) -> Iterator[Lines]:
        """The lines to write, one call for each batch. The rest stays in the recent dialogue.

        A batch is due where the lines exceed the space's ``memo_lines`` or ``memo_tokens``, which
        ``count`` counts. It is the same whether lines are added one by one or all at once.
        """
        for gap in self.gaps:
            yield from _cut(gap, settings, count)
        *due, _ = _cut(self.recent, settings, count)
        yield from due


def _cut(lines: Lines, settings: SpaceSettings, count: Callable[[str], int]) -> Iterator[Lines]:
    """The due batches; the lines after them come last, however few."""
    batch: list[tuple[int, Entry]] = []
    tokens: list[int] = []
    for seq, line in lines.items():
        batch.append((seq, line))
        tokens.append(count(speaker_line(line, settings.wording)))
        # A user's new line stays alone; a reply stays with the line that it answers.
        staying = 1 if line.role == "user" else EXCHANGE
        is_due = len(batch) > settings.memo_lines or sum(tokens) > settings.memo_tokens
        if is_due and len(batch) > staying:
            yield dict(batch[:-staying])
            del batch[:-staying], tokens[:-staying]
    yield dict(batch)


def read_dialogues(
    reader: Reader, source: str | None = None, *, upgrade: bool = False
) -> list[Dialogue]:
    """The conversations with lines that no memo stands for; of all sources, or of one.

    With ``upgrade``, the lines of fallback memos count as lines without a memo.
    """
    condition, params = (
        ("", ()) if source is None else (" AND s.hash = ?", (sources.name_hash(source),))
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
            (int(upgrade), reader.space, sources.name_hash(changes.SOURCE), *params),
        )
    )
    by_source = (list(group) for _, group in groupby(rows, key=lambda row: row[0]))
    return [
        _dialogue(reader, [(int(seq), bool(covered)) for _, seq, covered in group])
        for group in by_source
        if not all(covered for _, _, covered in group)
    ]


def _dialogue(reader: Reader, lines: Sequence[tuple[int, bool]]) -> Dialogue:
    there = entries.there(reader, [seq for seq, covered in lines if not covered])
    runs = [
        {seq: there[seq] for seq, _ in run}
        for covered, run in groupby(lines, key=lambda line: line[1])
        if not covered
    ]
    is_recent = not lines[-1][1]  # else a memo stands for the last line, and every run is a gap
    recent = runs.pop() if is_recent else {}
    return Dialogue(next(iter(there.values())).source, runs, recent)
