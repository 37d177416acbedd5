"""What held at an earlier moment: the rules decide anew, from what had been said by then.

What is stored says how things stand now. A statement that a later one confirmed again may have been
superseded in between, so that leaving later rows out would not do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from treering.journal import entries
from treering.journal.contract import Reader
from treering.journal.space import SpaceReader
from treering.records import Entry, Newer
from treering.search.marks import UNMARKED, Mark
from treering.views.facts import store
from treering.views.facts.change import DatedStatement, superseded
from treering.views.facts.store import RULE, Group, Replacement

Pair = tuple[DatedStatement, DatedStatement]


def replacements(reader: Reader, space: int, as_of: int) -> list[Replacement]:
    """What was superseded by what at a time, in microseconds since the epoch.

    In the order of the newer statements: of several that supersede one, the last counts.
    """
    by_rule = sorted(_by_rules(reader, space, as_of), key=lambda pair: pair[1].order)
    entry_of = entries.there(reader, [end.entry for pair in by_rule for end in pair])
    decided = [
        Replacement(
            older.entry,
            newer.entry,
            older.statement.subject,
            older.statement.slot,
            RULE,
            _newer(older, newer, entry_of),
        )
        for older, newer in by_rule
    ]
    return decided + store.verdicts(reader, as_of)


def marks(reader: SpaceReader, seqs: Sequence[int], as_of: int) -> dict[int, Mark]:
    """The marks that entries had at a time; entries without a mark are left out."""
    mark_of: dict[int, Mark] = {}
    for seq, mark in store.marks(reader, seqs, until=as_of).items():
        mark_of[seq] = replace(mark, superseded_by=None)
    groups = store.groups_of(reader, seqs)
    pairs = [pair for pair in _by_rules(reader, reader.id, as_of, groups) if pair[0].entry in seqs]
    entry_of = entries.there(reader, [end.entry for pair in pairs for end in pair])
    for older, newer in sorted(pairs, key=lambda pair: pair[1].order):  # the newest counts
        before = mark_of.get(older.entry, UNMARKED)
        mark_of[older.entry] = replace(before, superseded_by=_newer(older, newer, entry_of))
    for verdict in store.verdicts(reader, as_of, seqs):
        before = mark_of.get(verdict.older, UNMARKED)
        mark_of[verdict.older] = replace(before, superseded_by=verdict.statement)
    return {seq: mark for seq, mark in mark_of.items() if mark != UNMARKED}


def _by_rules(
    reader: Reader, space: int, as_of: int, groups: Collection[Group] | None = None
) -> list[Pair]:
    """Superseded statements with those that held instead, of all groups or some."""
    if groups is None:
        stated = store.dated_statements(reader, space)
    else:
        stated = [s for group in groups for s in store.dated_statements(reader, space, group)]
    by_group: defaultdict[Group, list[DatedStatement]] = defaultdict(list)
    for dated in stated:
        if dated.at <= as_of:
            by_group[dated.statement.subject, dated.statement.slot].append(dated)
    return [pair for group in by_group.values() for pair in superseded(group)]


def _newer(older: DatedStatement, newer: DatedStatement, entry_of: Mapping[int, Entry]) -> Newer:
    """A newer statement as it is shown beside the older one."""
    entry, before = entry_of[newer.entry], entry_of[older.entry]
    text = entry.text[newer.statement.start : newer.statement.stop]
    sentence = before.text[older.statement.start : older.statement.stop]
    of = store.clause_with(sentence, older.statement.value)
    whole = of == before.text.strip()
    return Newer(entry.id, store.short(text), entry.at, None if whole else store.short(of))
