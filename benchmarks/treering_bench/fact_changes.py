"""How well changes of facts are noticed: by rules and by a model, and false alarms in LoCoMo.

LoCoMo's speakers hardly ever contradict themselves. So the pairs that the rules find in it are
listed for a person to read: a pair that is not a contradiction is a false alarm.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from treering.errors import LLMReplyError
from treering.llm.contract import LLM
from treering.records import Entry
from treering.views.facts.change import DatedStatement, superseded
from treering.views.facts.judge import ask, controls_right, read_verdict
from treering.views.facts.phrases import NUMBERS
from treering.views.facts.statement import statements
from treering_bench.change_pairs import CHANGED, MISSED, UNCHANGED, Pair
from treering_bench.task import Task

_SPEAKER = "Ana"  # of the pairs written by hand


def by_rules() -> dict[str, float]:
    """Precision and recall of the rules on the pairs written by hand."""
    return _scores(lambda pair: bool(_pairs([_entry(text, _SPEAKER) for text in pair])))


def of_statements(lines: Iterable[str]) -> dict[str, Any]:
    """Recall on statements that somebody else wrote, and false alarms on what is made to mislead.

    A line is JSON: ``{"text": …, "value": …}``, read if a statement's value holds that value; a
    value of null is a text that states nothing. Or it is ``{"older": …, "newer": …}``, of which
    neither supersedes the other.
    """
    rows = [json.loads(line) for line in lines if line.strip()]
    stated = [row for row in rows if row.get("value") is not None]
    missed = [row["text"] for row in stated if not _is_read(row)]
    empty = [row["text"] for row in rows if "text" in row and row["value"] is None]
    pairs = [(row["older"], row["newer"]) for row in rows if "older" in row]
    alarms: list[str | Pair] = [text for text in empty if statements(_entry(text, _SPEAKER))]
    alarms += [pair for pair in pairs if _pairs([_entry(text, _SPEAKER) for text in pair])]
    return {
        "statements": len(stated),
        "recall": round(1 - len(missed) / max(len(stated), 1), 3),
        "missed": missed,
        "misleading": len(empty) + len(pairs),
        "false alarms": alarms,
    }


def _is_read(row: dict[str, str]) -> bool:
    value = row["value"].casefold()
    values = (value, str(NUMBERS.get(value, value)))  # an age is kept in digits
    entry = _entry(row["text"], _SPEAKER)
    read = [statement.value.casefold() for statement in statements(entry)]
    return any(each in stated for each in values for stated in read)


def by_model(llm: LLM) -> dict[str, Any]:
    """Precision and recall of a model as judge, and whether it gets enough control pairs right."""
    return {**_scores(lambda pair: _verdict(llm, pair)), "controls right": controls_right(llm)[0]}


def found_in(tasks: Iterable[Task]) -> dict[str, Any]:
    """What the rules find in chats: the counts of turns and statements, and the pairs."""
    turns = stated = 0
    pairs: list[Pair] = []
    for task in tasks:
        pieces = [piece for document in task.documents for piece in document.pieces]
        entries = [_entry(piece.text, piece.speaker, piece.at) for piece in pieces]
        turns += len(entries)
        stated += sum(len(statements(entry)) for entry in entries)
        pairs += _pairs(entries)
    return {"turns": turns, "statements": stated, "pairs": pairs}


def _pairs(entries: Sequence[Entry]) -> list[Pair]:
    """The older and newer texts of all changes in one chat."""
    groups: dict[tuple[str, str], list[DatedStatement]] = defaultdict(list)
    for number, entry in enumerate(entries):
        for statement in statements(entry):
            stated = DatedStatement(statement, number, int((entry.at or entry.added).timestamp()))
            groups[statement.subject, statement.slot].append(stated)
    changes = (change for group in groups.values() for change in superseded(group))
    return [(entries[old.entry].text, entries[new.entry].text) for old, new in changes]


def _entry(text: str, speaker: str | None, at: datetime | None = None) -> Entry:
    return Entry("e", text, "chat", 0, "chat", at or datetime.now(UTC), at, speaker)


def _verdict(llm: LLM, pair: Pair) -> bool:
    """Whether a model calls a pair a change. An unreadable verdict counts as no change."""
    try:
        return read_verdict(ask(llm, *pair).text)
    except LLMReplyError:
        return False


def _scores(is_change: Callable[[Pair], bool]) -> dict[str, float]:
    changes = [*CHANGED, *MISSED]
    hits = sum(map(is_change, changes))
    alarms = sum(map(is_change, UNCHANGED))
    return {
        "precision": round(hits / max(hits + alarms, 1), 3),
        "recall": round(hits / len(changes), 3),
        "changes": len(changes),
        "false alarms": alarms,
        "of": len(UNCHANGED),
    }
