"""A model before and after tuning, beside answers that need no model at all.

The test rows of MemoChat are answered as treering asks: whole conversations by ``partition``, with
its checks and its second try, and choices by the prompt of ``memos.choose``. A model has learned
something only if it beats what is trivial: a cut after every so many lines, all options, search.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar

from treering import files
from treering.embed.contract import Embedder
from treering.errors import LLMUnavailable
from treering.llm.contract import LLM, Message, memo_model
from treering.llm.gguf import existing_gguf
from treering.llm.settings import NONE
from treering.memory import Memory
from treering.views.choices import Wording
from treering.views.memos.choose import (
    CHOSEN,
    LEAST_COSINE,
    NONE_OF_THE_OTHERS,
    REPLY_TOKENS,
    choose_prompt,
    read,
)
from treering.views.memos.record import shown
from treering.views.memos.write import partition
from treering_bench.kept_replies import RenamedModel
from treering_bench.metrics.memos import MatchCounts, MemoEntry, choices, summaries, topics
from treering_bench.read import Row, json_lines, only_file
from treering_bench.report import table
from treering_bench.run import Progress
from treering_bench.stats import paired_difference

EVERY: Final = (2, 4, 6, 8, 10)
"""Lines of a part, where a conversation is cut without a look at it."""

TUNED: Final = "tuned"

WINDOW: Final = 8_192
"""Tokens that a model is taken to have, so that batches are alike with all of them."""

_LINE = re.compile(r"^\(line \d+\) (.*)$", re.MULTILINE)
_OPTION = re.compile(r"^\((\d+)\) (.*)$", re.MULTILINE)
_QUERY = re.compile(r"Query Sentence:\n(.*?)\nTopic Options:", re.DOTALL)

Counts = dict[int, MatchCounts]
"""What matched, by the number of the row. A model whose time was up lacks some."""

T = TypeVar("T")


@dataclass(slots=True)
class TunedFigures:
    """What matched, row by row: by task and measure, then by who answered."""

    rows: dict[str, dict[str, Counts]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(dict))
    )
    fallbacks: Counter[str] = field(default_factory=Counter)

    def figures(self) -> dict[str, Any]:
        """F1 over all rows, and how far the tuned model is ahead of each other, row by row.

        A row that not all have answered counts for those that have.
        """
        return {
            "f1": {name: {who: _f1(of) for who, of in by.items()} for name, by in self._rows()},
            "tuned ahead by": {
                name: {
                    who: _ahead(by[TUNED], counts)
                    for who, counts in by.items()
                    if who != TUNED and counts.keys() & by[TUNED].keys()
                }
                for name, by in self._rows()
                if TUNED in by
            },
            "rows": {name: {who: len(of) for who, of in by.items()} for name, by in self._rows()},
            "fallbacks": dict(self.fallbacks),
        }

    def _rows(self) -> list[tuple[str, Mapping[str, Counts]]]:
        return list(self.rows.items())


def tuned_table(figures: Mapping[str, Any], measures: Sequence[str] | None = None) -> str:
    """Figures in percent: a row for who answered, a column for each task and measure.

    After the F1 over all rows stands how far the tuned model is ahead in the mean of the rows, with
    its interval, and of how many rows where these are fewer than the tuned model's.
    """
    f1, ahead, rows = figures["f1"], figures["tuned ahead by"], figures["rows"]
    names = list(f1 if measures is None else measures)
    who = list(dict.fromkeys(who for name in names for who in f1[name]))

    def cell(name: str, who: str) -> str:
        if who not in f1[name]:
            return ""
        difference = ahead.get(name, {}).get(who)
        if difference is None:
            return f"{100 * f1[name][who]:.1f}"
        mean, low, high = (100 * x for x in (difference["mean"], *difference["interval"]))
        few = difference["rows"] < rows[name][TUNED]
        of = f", {difference['rows']} rows" if few else ""
        return f"{100 * f1[name][who]:.1f}; tuned {mean:+.1f} [{low:+.1f}, {high:+.1f}]{of}"

    heads = [f"{name} ({max(rows[name].values())} rows)" for name in names]
    return table(["answers by", *heads], [[w, *(cell(name, w) for name in names)] for w in who])


def tuned_model(llm: LLM, adapter: Path) -> LLM:
    """A model with its adapter, named by what is in the file.

    An adapter is tuned again under the same name; what the one before it replied is not its own.
    Raises LLMNotConfigured for a file that is none.
    """
    digest = hashlib.sha256(files.read_bytes(existing_gguf(adapter))).hexdigest()
    tuned = memo_model(llm)
    return RenamedModel(tuned, f"{tuned.model}@{digest[:12]}")


def measure_tuning(
    path: Path,
    models: Mapping[str, LLM],
    embedder: Embedder,
    limit: int,
    wording: Wording,
    progress: Progress,
) -> TunedFigures:
    """Let each model, and what is trivial, answer at most so many rows of each task and origin.

    ``models`` are by what they are called: the one called ``tuned`` is compared with the others. A
    model whose time is up answers only what is kept of it; a row that no model answers counts for
    nobody.
    """
    figures = TunedFigures()
    rows = list(_rows(path, limit))
    for number, row in enumerate(rows):
        answered = _answered(row, models, embedder, wording, figures.fallbacks)
        by_models = [who for _, who in answered if who in models]
        for (name, who), counts in answered.items() if by_models or not models else ():
            figures.rows[name][who][number] = counts
        progress(number + 1, len(rows), row["type"])
    return figures


def _asked(models: Mapping[str, LLM], ask: Callable[[LLM], T]) -> dict[str, T]:
    """What each model answers; without those that are not to be had."""
    answers = {}
    for who, llm in models.items():
        with suppress(LLMUnavailable):
            answers[who] = ask(llm)
    return answers


def _rows(path: Path, limit: int) -> Iterator[Row]:
    """Rows of the tasks that memos pose, every kind in turn, so that a cut run has some of each."""
    by_kind: dict[str, list[Row]] = defaultdict(list)
    for row in json_lines(only_file(path, "test*.jsonl")):
        if row["type"].startswith(("writing", "retrieval")):
            by_kind[row["type"]].append(row)
    for number in range(limit):
        yield from (rows[number] for rows in by_kind.values() if number < len(rows))


def _answered(
    row: Row,
    models: Mapping[str, LLM],
    embedder: Embedder,
    wording: Wording,
    fallbacks: Counter[str],
) -> dict[tuple[str, str], MatchCounts]:
    stage, _, origin = row["type"].partition("_")
    if stage == "retrieval":
        answers = _choices(row, models, embedder)
        right = frozenset(read(row["answer"], 1_000) or ())
        return {
            (f"choosing, {origin}", who): choices(frozenset(chosen), right)
            for who, chosen in answers.items()
        }
    reference = [
        MemoEntry(entry["topic"], entry.get("summary", ""), entry["start"], entry["end"])
        for entry in json.loads(row["answer"])
    ]
    lines = [shown(line) for line in _LINE.findall(row["text"])]
    measured: dict[tuple[str, str], MatchCounts] = {}
    for who, entries in _partitions(lines, models, wording, fallbacks).items():
        measured[f"ranges, {origin}", who] = summaries(entries, reference)
        measured[f"borders, {origin}", who] = choices(_borders(entries), _borders(reference))
        measured[f"topics, {origin}", who] = topics(entries, reference)
    return measured


def _partitions(
    lines: Sequence[str], models: Mapping[str, LLM], wording: Wording, fallbacks: Counter[str]
) -> dict[str, list[MemoEntry]]:
    answers = {f"cut every {size} lines": _cut(len(lines), size) for size in EVERY}
    answers["one topic"] = _cut(len(lines), len(lines))
    for who, written in _asked(models, lambda llm: partition(llm, lines, wording)).items():
        fallbacks[who] += written.fallback
        answers[who] = [MemoEntry(p.topic, p.summary, p.start, p.end) for p in written.parts]
    return answers


def _cut(lines: int, size: int) -> list[MemoEntry]:
    starts = range(1, lines + 1, size)
    return [MemoEntry("", "", start, min(start + size - 1, lines)) for start in starts]


def _borders(entries: Sequence[MemoEntry]) -> frozenset[int]:
    """The first lines of all entries but the first, which begins where the conversation does."""
    return frozenset(entry.start for entry in entries) - {1}


def _choices(row: Row, models: Mapping[str, LLM], embedder: Embedder) -> dict[str, tuple[int, ...]]:
    """The numbers that each chooses. A reply that cannot be read chooses nothing."""
    query = _QUERY.findall(row["text"])[0]
    listed = [option for _, option in _OPTION.findall(row["text"])]
    asked = [Message("user", choose_prompt(query, listed))]

    def choice(llm: LLM) -> tuple[int, ...]:
        reply = llm.complete(asked, max_tokens=REPLY_TOKENS, temperature=0.0)
        return read(reply.text, len(listed)) or ()

    return {
        "all options": tuple(range(1, len(listed) + 1)),
        "the first option": (1,),
        "search": _by_search(query, listed, embedder),
        **_asked(models, choice),
    }


def _by_search(query: str, listed: Sequence[str], embedder: Embedder) -> tuple[int, ...]:
    """What search chooses: the best that share a word or a meaning with the query, else NOTO."""
    noto = next((n for n, o in enumerate(listed, 1) if o.startswith(NONE_OF_THE_OTHERS[:4])), 0)
    with (
        TemporaryDirectory(prefix="treering-bench-") as folder,
        Memory.open(Path(folder) / "bench.db", embedder=embedder, llm=NONE) as memory,
    ):
        for number, option in enumerate(listed, 1):
            if number != noto:
                memory.add(option, source=str(number), kind="text")
        hits = memory.search(query, k=CHOSEN, relations=())
    chosen = {
        int(hit.source)
        for hit in hits
        if (hit.why.bm25 or 0.0) > 0 or (hit.why.cosine or 0.0) >= LEAST_COSINE
    }
    return tuple(sorted(chosen)) or ((noto,) if noto else ())


def _f1(counts: Counts) -> float:
    return round(sum(counts.values(), MatchCounts()).f1, 4)


def _ahead(tuned: Counts, other: Counts) -> dict[str, Any]:
    """The mean of the differences of the F1 of the rows that both answered, and its interval."""
    both = sorted(tuned.keys() & other.keys())
    difference = paired_difference([tuned[row].f1 for row in both], [other[row].f1 for row in both])
    return {
        "mean": round(difference.mean, 4),
        "interval": [round(difference.low, 4), round(difference.high, 4)],
        "verdict": difference.verdict,
        "rows": len(both),
    }
