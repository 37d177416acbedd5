"""How well a model writes memos, and how well their claims are checked.

Three measurements. Dialogues are remembered and settled, and what came of each batch of lines is
counted. Whole conversations are partitioned in one call, and scored as MemoChat scores it. And
sentences that people wrote about dialogues are checked against these and others, without a model.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from treering.embed.contract import Embedder
from treering.errors import LLMUnavailable
from treering.llm.contract import LLM
from treering.memory import Memory
from treering.views.memos.claims import Check
from treering.views.memos.lines import shown
from treering.views.memos.record import Memo
from treering.views.memos.write import Wording, partition
from treering.views.support import Support, claims_of, names_of
from treering_bench.kept_replies import NotedReplies
from treering_bench.metrics.memos import (
    MatchCounts,
    MemoEntry,
    Similarity,
    summaries,
    topics,
)
from treering_bench.read import Row, json_items, json_lines, only_file
from treering_bench.run import Progress

WINDOW = 8192  # tokens that a model is taken to have, so that batches are alike with all of them
MEMOS_SHOWN = 8
SEED = 1
HELD_OUT = slice(150, 300)  # the thresholds were chosen on the first 150 dialogues
OTHER_DIALOGUE = 37
"""How far away the other dialogue is that a claim is checked against; any prime would do."""

_LINE = re.compile(r"^\(line \d+\) ((?:user|bot): .*)$", re.MULTILINE)
_NAMES = ("Margaret", "Oliver", "Berlin", "Toyota", "Wednesday")

Dialogue = list[dict[str, str]]


# ------------------------------------------------------------------ dialogues


def dialogsum(path: Path) -> Iterator[Dialogue]:
    """The conversations of MemoChat's rows for writing, joined from several of DialogSum."""
    roles = {"user": "user", "bot": "assistant"}
    for row in _writing_rows(path):
        lines = (line.partition(": ") for line in _LINE.findall(row["text"]))
        yield [{"role": roles[speaker], "content": text} for speaker, _, text in lines]


def _writing_rows(path: Path) -> Iterator[Row]:
    rows = json_lines(only_file(path, "test*.jsonl"))
    return (row for row in rows if row["type"] == "writing_dialogsum")


def locomo(path: Path) -> Iterator[Dialogue]:
    """The first two sessions of each chat."""
    for sample in json_items(only_file(path, "locomo*.json")):
        for number in (1, 2):
            turns = sample["conversation"][f"session_{number}"]
            yield [{"name": turn["speaker"], "content": turn["text"]} for turn in turns]


def mtbench_plus(path: Path) -> Iterator[Dialogue]:
    """The user's turns. The bot's turns are empty in the published file."""
    for row in json_items(only_file(path, "mtbenchplus*.json")):
        texts = (turn["value"] for turn in row["conversations"])
        yield [{"role": "user", "content": text} for text in texts if text]


DIALOGUES: Mapping[str, Callable[[Path], Iterator[Dialogue]]] = {
    "dialogsum": dialogsum,
    "locomo": locomo,
    "mtbench-plus": mtbench_plus,
}


# ------------------------------------------------------------------ batches


@dataclass(slots=True)
class MemoCounts:
    """Counts over some dialogues: lines, batches by the kind of their first reply, and memos."""

    dialogues: int = 0
    lines: int = 0
    due: int = 0
    lost: int = 0
    covered_twice: int = 0
    calls: int = 0
    as_it_was: int = 0
    mended: int = 0
    asked_again: int = 0
    fallback: int = 0
    memos: list[Memo] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """The counts as one object."""
        claims = [claim for memo in self.memos for claim in memo.claims]
        return {
            "dialogues": self.dialogues,
            "lines": self.lines,
            "due": self.due,
            "lost": self.lost,
            "covered twice": self.covered_twice,
            "calls": self.calls,
            "batches": {
                "as it was": self.as_it_was,
                "JSON mended": self.mended,
                "asked again": self.asked_again,
                "fallback": self.fallback,
            },
            "memos": len(self.memos),
            "claims": len(claims),
            "claims not supported": sum(not claim.supported for claim in claims),
        }

    def examples(self) -> str:
        """The first memos, one line each, for a person to read."""
        return "\n".join(
            f"[{memo.origin}] {memo.topic}: {memo.stated} | {memo.unsupported}"
            for memo in self.memos[:MEMOS_SHOWN]
        )


def write_memos(
    dialogues: Sequence[Dialogue],
    llm: LLM,
    wording: Wording,
    embedder: Embedder,
    progress: Progress,
) -> MemoCounts:
    """Have memos written of each dialogue, as a chat does, and count the outcomes.

    A model whose time is up ends the measurement; the dialogues until then count.
    """
    counts = MemoCounts()
    for done, dialogue in enumerate(dialogues, 1):
        try:
            _write(dialogue, NotedReplies(llm), counts, wording, embedder)
        except LLMUnavailable:
            break
        progress(done, len(dialogues), "writing")
    return counts


def _write(
    dialogue: Dialogue,
    llm: NotedReplies,
    counts: MemoCounts,
    wording: Wording,
    embedder: Embedder,
) -> None:
    with (
        TemporaryDirectory(prefix="treering-bench-") as folder,
        Memory.open(Path(folder) / "memory.db", embedder=embedder, llm=llm) as memory,
    ):
        memory.add(dialogue)
        memory.memos.settle(wording=wording)
        memos = memory.memos.list()
        recent = len(memory.memos.recent("chat"))
    covered = [entry for memo in memos for entry in memo.entry_ids]
    counts.dialogues += 1
    counts.lines += len(dialogue)
    counts.due += len(dialogue) - recent
    counts.lost += len(dialogue) - recent - len(set(covered))
    counts.covered_twice += len(covered) - len(set(covered))
    counts.memos += memos
    _count_batches(llm, sum(memo.origin == "fallback" for memo in memos), counts)


def _count_batches(llm: NotedReplies, fallbacks: int, counts: MemoCounts) -> None:
    batches = list(llm.by_prompt.values())
    repeated = sum(len(replies) > 1 for replies in batches)
    plain = sum(len(replies) == 1 and _is_json(replies[0].text) for replies in batches)
    counts.calls += sum(map(len, batches))
    counts.fallback += fallbacks
    counts.asked_again += repeated - fallbacks
    counts.as_it_was += plain
    counts.mended += len(batches) - repeated - plain


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


# ------------------------------------------------------------------ whole conversations


def partition_whole(
    path: Path,
    llm: LLM,
    wording: Wording,
    limit: int,
    similarity: Similarity,
    progress: Progress,
) -> dict[str, Any]:
    """Figures for whole conversations in one call each: ranges, topics and summaries.

    An entry counts if its range is the reference's. A model whose time is up ends the measurement.
    """
    matched = {"ranges": MatchCounts(), "topics": MatchCounts(), "summaries": MatchCounts()}
    rows = list(islice(_writing_rows(path), limit))
    done = 0
    for row in rows:
        lines = [shown(line) for line in _LINE.findall(row["text"])]
        reference = [MemoEntry(**entry) for entry in json.loads(row["answer"])]
        try:
            parts = partition(llm, lines, wording).parts
        except LLMUnavailable:
            break
        written = [MemoEntry(p.topic, p.summary, p.start, p.end) for p in parts]
        matched["ranges"] += summaries(written, reference)
        matched["topics"] += topics(written, reference)
        matched["summaries"] += summaries(written, reference, similarity)
        done += 1
        progress(done, len(rows), "partitioning")
    return {"conversations": done} | {name: counts.figures() for name, counts in matched.items()}


# ------------------------------------------------------------------ claims


def check_claims(path: Path, check: Check) -> dict[str, int]:
    """How often the check is wrong about sentences that people wrote about DialogSum's dialogues.

    Each is checked against its own dialogue, against another one, and with a number or a name
    exchanged. Only dialogues that the check's thresholds were not chosen on count.
    """
    rows = list(json_lines(only_file(path, "dialogsum.dev.jsonl", "*.dev.jsonl")))[HELD_OUT]
    texts = [
        (_named(row["dialogue"]).split("\n"), claims_of(_named(row["summary"]))) for row in rows
    ]
    own: list[Support] = []
    other: list[Support] = []
    exchanged: list[Support] = []
    rng = random.Random(SEED)
    for number, (lines, claims) in enumerate(texts):
        own += check.support(claims, lines)
        other += check.support(claims, texts[(number + OTHER_DIALOGUE) % len(texts)][0])
        wrong = [variant for claim in claims for variant in _exchanged(claim, rng)]
        exchanged += check.support(wrong, lines)
    return {
        "claims": len(own),
        "called unsupported by their own dialogue": sum(not support.enough for support in own),
        "called supported by another dialogue": sum(support.enough for support in other),
        "with a number or name exchanged": len(exchanged),
        "of these called supported": sum(support.enough for support in exchanged),
    }


def _named(text: str) -> str:
    """DialogSum's speakers by the names that lines of a chat have."""
    return text.replace("#Person1#", "user").replace("#Person2#", "bot").replace(" ' ", "'")


def _exchanged(claim: str, rng: random.Random) -> Iterator[str]:
    if re.search(r"\d", claim):
        yield re.sub(r"\d+", lambda number: str(int(number[0]) + 7), claim)
    for name in sorted(names_of(claim))[:1]:
        yield claim.replace(name, rng.choice(_NAMES))
