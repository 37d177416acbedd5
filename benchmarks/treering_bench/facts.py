"""How well facts are read: recall and precision of the forms, of a language model, and of both.

A set is lines of JSON. ``{"text": …, "value": …}`` is read if a statement's value holds the value.
A value of null marks a text that states nothing, and any statement of it is a false alarm.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from treering import Memory
from treering.errors import LLMReplyError
from treering.llm.contract import LLM
from treering.llm.settings import NONE
from treering.records import Entry
from treering.views.facts.change import DatedStatement, Statement, find_superseded, states_facts
from treering.views.facts.extract import ask, batches, supported_statements
from treering.views.facts.forms import read_forms
from treering_bench.read import json_lines
from treering_bench.task import Task

SETS: Final = Path(__file__).parent / "fact_sets"
PAIRS: Final = SETS / "pairs" / "english.jsonl"
"""Statements by one speaker, of which the newer changes the fact, or does not.

Many were written to mislead a reader by patterns, so they do not say what to expect of other texts.
"""

SEED: Final = 1  # of the sample that a model reads
RANKED: Final = 143
"""Pairs of each context that are searched for: all of the small context, a tenth of the large."""

CONTEXT_TOKENS: Final = 60  # of what a search shows: three or four facts

_SPEAKER: Final = "Ana"  # of texts written by hand
_PLAIN: Final = re.compile(r"[A-Z].*[.!?]\W*", re.DOTALL)
"""A sentence with a capital and a full stop. Other English texts count as casual."""

_STEM: Final = re.compile(r"(\d+)\. (.*\b(?:is|of|by|in|to|as|from|with|was|at)) (\S.*)\.")
"""A line of FactConsolidation: its number, the words before its value, and the value."""

Pair = tuple[str, str]
"""The older statement and the newer one."""

Read = Callable[[Sequence[str]], list[list[Statement]]]
"""Gives the statements of each of several texts by one speaker."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A text of a set; ``value`` is None if it states nothing."""

    text: str
    value: str | None


def samples(path: Path) -> list[Sample]:
    """The texts of a set."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Sample(row["text"], row["value"]) for row in map(json.loads, filter(None, lines))]


def change_pairs(*, changed: bool) -> list[Pair]:
    """The pairs whose newer statement changes the fact, or those where it does not."""
    rows = json_lines(PAIRS)
    return [(row["older"], row["newer"]) for row in rows if row["changed"] == changed]


def by_wording(folder: Path) -> dict[str, list[Sample]]:
    """All texts of the sets in a folder: plain and casual statements, misleading texts, languages.

    A set in another language has a name of two letters, and stays apart.
    """
    found: dict[str, list[Sample]] = defaultdict(list)
    for path in sorted(folder.glob("*.jsonl")):
        for sample in samples(path):
            if len(path.stem) == 2:
                found[path.stem].append(sample)
            elif sample.value is None:
                found["misleading"].append(sample)
            else:
                plain = _PLAIN.fullmatch(sample.text) is not None
                found["plain" if plain else "casual"].append(sample)
    return dict(sorted(found.items()))


def drawn(sets: Mapping[str, list[Sample]], size: int) -> dict[str, list[Sample]]:
    """At most ``size`` texts of each set, the same in each run."""
    return {
        name: random.Random(SEED).sample(texts, min(size, len(texts)))
        for name, texts in sets.items()
    }


def by_forms(texts: Sequence[str]) -> list[list[Statement]]:
    """The statements that forms find."""
    return [read_forms(entry) for entry in map(_entry, texts) if states_facts(entry)]


def by_model(llm: LLM) -> Read:
    """A reader that asks a model as ``settle`` does; an unreadable reply gives no statements."""

    def read(texts: Sequence[str]) -> list[list[Statement]]:
        found: dict[int, list[Statement]] = {}
        for batch in batches(dict(enumerate(map(_entry, texts)))):
            try:
                rows = ask(llm, batch)
            except LLMReplyError:
                rows = []
            found |= supported_statements(rows, batch, llm.model)
        return [found.get(place, []) for place in range(len(texts))]

    return read


def by_both(*readers: Read) -> Read:
    """A reader that gives the statements of several readers."""
    return lambda texts: [
        [one for each in found for one in each]
        for found in zip(*(read(texts) for read in readers), strict=True)
    ]


def figures(read: Read, sets: Mapping[str, list[Sample]]) -> dict[str, Any]:
    """Recall on the statements of each set, false alarms, and precision over all English sets.

    The sets in other languages have statements and misleading texts, and a precision of their own.
    """
    rows: dict[str, Any] = {}
    hits = alarms = 0
    for name, texts in sets.items():
        found = read([sample.text for sample in texts])
        stating = [pair for pair in zip(texts, found, strict=True) if pair[0].value is not None]
        read_ = sum(_holds(found, sample.value or "") for sample, found in stating)
        wrong = [s.text for s, each in zip(texts, found, strict=True) if each and s.value is None]
        rows[name] = {
            "texts": len(texts),
            "read": read_,
            "recall": round(read_ / len(stating), 3) if stating else None,
            "false alarms": len(wrong),
            "alarms": wrong[:5],
        }
        if len(name) == 2:
            rows[name]["precision"] = _share(read_, read_ + len(wrong))
        else:
            hits, alarms = hits + read_, alarms + len(wrong)
    rows["precision"] = _share(hits, hits + alarms)
    return rows


def of_pairs(read: Read) -> dict[str, Any]:
    """Precision and recall on pairs of which the newer statement may supersede the older one."""
    changed, unchanged = change_pairs(changed=True), change_pairs(changed=False)
    found = sum(map(bool, (_changes(read, pair) for pair in changed)))
    alarms = sum(map(bool, (_changes(read, pair) for pair in unchanged)))
    return {
        "recall": _share(found, len(changed)),
        "precision": _share(found, found + alarms),
        "changes": len(changed),
        "others": len(unchanged),
    }


def found_in(tasks: Iterable[Task], read: Read) -> dict[str, Any]:
    """Statements in chats whose speakers hardly ever contradict themselves, and pairs to be read.

    A pair that is not a contradiction is a false alarm.
    """
    turns = stated = 0
    pairs: list[Pair] = []
    for task in tasks:
        by_speaker: dict[str | None, list[str]] = defaultdict(list)
        for document in task.documents:
            for piece in document.pieces:
                by_speaker[piece.speaker].append(piece.text)
        for texts in by_speaker.values():
            turns += len(texts)
            stated += sum(map(len, read(texts)))
            pairs += _changes(read, texts)
    return {"turns": turns, "statements": stated, "pairs": pairs}


def contradictions(lines: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Contradicting facts of a context of FactConsolidation: the words they share, older, newer."""
    said: dict[str, str] = {}
    for line in lines:
        match = _STEM.fullmatch(line.strip())
        if match is None:
            continue
        text = line.partition(". ")[2].strip()
        older = said.get(match[2])
        if older is not None and older != text:
            yield match[2], older, text
        said[match[2]] = text


def consolidated(path: Path, read: Read, most: int | None = None) -> dict[str, Any]:
    """Contradicting facts of FactConsolidation: which are marked, and which a context shows.

    ``most`` limits the pairs, and the facts that are read to those of the pairs.
    """
    contexts = dict.fromkeys(row["context"] for row in json.loads(path.read_text("utf-8")))
    pairs = marked = ranked = first = first_plain = 0
    for context in contexts:
        found = list(contradictions(context.splitlines()))[:most]
        texts = [text for _, *pair in found for text in pair]
        changes = set(_changes(read, texts)) if texts else set()
        pairs += len(found)
        marked += sum((older, newer) in changes for _, older, newer in found)
        searched = found[:RANKED]
        ranked += len(searched)
        first_plain += _newest_shown(searched, set())
        first += _newest_shown(searched, changes)
    return {
        "contexts": len(contexts),
        "pairs": pairs,
        "marked": _share(marked, pairs),
        "searched": ranked,
        "newest shown": _share(first, ranked),
        "newest shown without facts": _share(first_plain, ranked),
    }


def _newest_shown(found: Sequence[tuple[str, str, str]], changes: set[Pair]) -> int:
    """For how many stems a small context has the newer fact, and not the older one unmarked."""
    with (
        TemporaryDirectory(prefix="treering-facts-") as folder,
        Memory.open(Path(folder) / "facts.db", llm=NONE) as memory,
    ):
        texts = list(dict.fromkeys(text for _, *pair in found for text in pair))
        said = [{"role": "system", "content": text} for text in texts]  # no statements of a speaker
        ids = dict(zip(texts, memory.add(said, source="facts").ids, strict=True))
        for older, newer in changes:
            if older in ids and newer in ids:
                memory.supersede(ids[older], ids[newer])
        return sum(
            newer in shown and (older not in shown or f"{older} (superseded" in shown)
            for stem, older, newer in found
            for shown in [str(memory.context(stem, budget=CONTEXT_TOKENS))]
        )


def _changes(read: Read, texts: Sequence[str]) -> list[Pair]:
    """The older and newer texts of all changes among texts by one speaker, in their order."""
    groups: dict[tuple[str, str], list[DatedStatement]] = defaultdict(list)
    for number, statements in enumerate(read(texts)):
        for statement in statements:
            dated = DatedStatement(statement, number, number, number)
            groups[dated.group].append(dated)
    pairs = (pair for group in groups.values() for pair in find_superseded(group))
    return [(texts[older.entry], texts[newer.entry]) for older, newer in pairs]


def _holds(statements: Sequence[Statement], value: str) -> bool:
    return any(value.casefold() in one.value.casefold() for one in statements)


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


def _entry(text: str) -> Entry:
    return Entry("e", text, "chat", 0, "chat", datetime.now(UTC), speaker=_SPEAKER)
