"""How well does a real small model write memos, and how well are its claims checked?

    python -m benchmarks.memo_writing DATA MODEL --replies FILE [--limit 5] [--seconds 300]
    python -m benchmarks.memo_writing DATA MODEL --replies FILE --whole
    python -m benchmarks.memo_writing DATA --claims

DATA holds ``memo_instructions``, ``locomo`` and ``mtbench_plus``. Dialogues of each are remembered
and settled; what is counted is lines that no memo stands for although they were due, replies that
were taken as they were, mended, asked for again, or replaced by the fallback, and claims that their
lines do not support. Replies are kept in FILE by their prompt, so that a run that is out of time is
continued by calling it again. ``--whole`` has whole DialogSum conversations partitioned in one call
and scores that as the paper does: precision, recall and F1 of topics and of summaries (BERTScore of
the bundled embedder's tokens) whose range is the reference's. ``--claims`` needs no model: it
checks sentences that people wrote about DialogSum dialogues against their own dialogue, against
another, and with a number or name exchanged.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, get_args

from benchmarks.hurried import Hurried
from treering.bench.kept_replies import KeptReplies
from treering.bench.metrics.memos import Matched, Span, bert_score, summaries, topics
from treering.bench.read import json_items, json_lines
from treering.embed.minilm import MiniLM
from treering.errors import LLMUnavailable
from treering.llm.contract import LLM, Message, Reply
from treering.llm.settings import CONTEXT_WINDOW, open_llm
from treering.memo.claims import Check, Support, claims_of, names_of
from treering.memo.lines import shown
from treering.memo.record import Memo
from treering.memo.write import Wording, partition
from treering.memory import Memory

WINDOW = 8192
SHOWN = 8  # memos printed of each data set
SEED = 1
HELD_OUT = slice(150, 300)  # the thresholds were chosen on the first 150 dialogues
_LINE = re.compile(r"^\(line \d+\) ((?:user|bot): .*)$", re.MULTILINE)
NAMES = ("Margaret", "Oliver", "Berlin", "Toyota", "Wednesday")

Dialogue = list[dict[str, str]]


class Heard:
    """A model whose replies are noted by the prompt that they answer, at once or asked again."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self.prompts: dict[tuple[str, ...], list[Reply]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._llm, name)

    def complete(self, messages: Sequence[Message], **options: Any) -> Reply:
        """The model's reply."""
        reply = self._llm.complete(messages, **options)
        asked = tuple(one.content for one in messages)
        first = asked[:-2] if asked[:-2] in self.prompts else asked  # else it is asked again
        self.prompts.setdefault(first, []).append(reply)
        return reply


@dataclass(slots=True)
class Count:
    """What came out over some dialogues."""

    dialogues: int = 0
    lines: int = 0
    due: int = 0
    lost: int = 0
    calls: int = 0
    as_it_was: int = 0
    mended: int = 0
    asked_again: int = 0
    fallback: int = 0
    memos: list[Memo] = field(default_factory=list)

    def report(self, name: str) -> str:
        """All of it on a line."""
        batches = max(self.as_it_was + self.mended + self.asked_again + self.fallback, 1)
        claims = [claim for memo in self.memos for claim in memo.claims]
        doubted = sum(not claim.supported for claim in claims)
        shares = ", ".join(
            f"{label} {count / batches:.0%}"
            for label, count in (
                ("as it was", self.as_it_was),
                ("JSON mended", self.mended),
                ("asked again", self.asked_again),
                ("fallback", self.fallback),
            )
        )
        return (
            f"{name}: {self.dialogues} dialogues, {self.lines} lines, {self.due} due, "
            f"{self.lost} lost, {len(self.memos)} memos; {batches} batches: {shares}; "
            f"{doubted} of {len(claims)} claims not supported"
        )


def dialogsum(data: Path) -> Iterator[Dialogue]:
    """The conversations of the memo writing rows, joined from several of DialogSum."""
    roles = {"user": "user", "bot": "assistant"}
    for row in _writing_rows(data):
        said = (line.partition(": ") for line in _LINE.findall(row["text"]))
        yield [{"role": roles[who], "content": text} for who, _, text in said]


def _writing_rows(data: Path) -> Iterator[dict[str, Any]]:
    rows = json_lines(data / "memo_instructions" / "test_half.jsonl")
    return (row for row in rows if row["type"] == "writing_dialogsum")


def locomo(data: Path) -> Iterator[Dialogue]:
    """The first two sessions of each chat."""
    for sample in json_items(data / "locomo" / "locomo5.json"):
        for number in (1, 2):
            turns = sample["conversation"][f"session_{number}"]
            yield [{"name": turn["speaker"], "content": turn["text"]} for turn in turns]


def mtbench_plus(data: Path) -> Iterator[Dialogue]:
    """The user's turns: the bot's are empty in the published file."""
    for row in json_items(data / "mtbench_plus" / "mtbenchplus27.json"):
        said = (turn["value"] for turn in row["conversations"])
        yield [{"role": "user", "content": text} for text in said if text]


SETS = {"DialogSum": dialogsum, "LoCoMo": locomo, "MT-Bench+": mtbench_plus}


def write(dialogue: Dialogue, llm: Heard, count: Count, wording: Wording) -> None:
    """Remember a dialogue, settle it, and count. Raises LLMUnavailable when time is over."""
    llm.prompts.clear()
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory.open(Path(folder) / "memory.db", llm=llm) as memory,
    ):
        memory.add(dialogue)
        memory.memos.settle(wording=wording)
        memos = memory.memos.list()
        covered = [one for memo in memos for one in memo.entry_ids]
        recent = len(memory.memos.recent("chat"))
    fallbacks = sum(memo.origin == "fallback" for memo in memos)
    twice = sum(len(replies) > 1 for replies in llm.prompts.values())
    plain = sum(len(r) == 1 and _is_json(r[0].text) for r in llm.prompts.values())
    count.dialogues += 1
    count.lines += len(dialogue)
    count.due += len(dialogue) - recent
    count.lost += len(dialogue) - recent - len(set(covered))
    assert len(covered) == len(set(covered)), "a line has two memos"
    count.calls += sum(len(replies) for replies in llm.prompts.values())
    count.fallback += fallbacks
    count.asked_again += twice - fallbacks
    count.as_it_was += plain
    count.mended += len(llm.prompts) - twice - plain
    count.memos += memos


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def model(options: argparse.Namespace) -> Heard:
    """The model, its replies kept; it starts none when its time is over."""
    opened = open_llm(options.model, environ={CONTEXT_WINDOW: str(WINDOW)})
    return Heard(KeptReplies(Hurried(opened, options.seconds), options.replies))


def writing(options: argparse.Namespace) -> None:
    """Print what came out, by data set."""
    llm = model(options)
    for name in options.sets:
        count = Count()
        try:
            for dialogue in islice(SETS[name](options.data), options.limit):
                write(dialogue, llm, count, options.wording)
        except LLMUnavailable as error:
            print(error)
        print(count.report(f"{llm.model}, {options.wording}, {name}"))
        for memo in count.memos[:SHOWN]:
            print(f"   [{memo.origin}] {memo.topic}: {memo.stated} | {memo.unsupported}")


def partitioning(options: argparse.Namespace) -> None:
    """Print the paper's figures for whole conversations in one call each."""
    llm = model(options)
    alike = bert_score(MiniLM().token_vectors)
    ranges, topic, summary, done = Matched(), Matched(), Matched(), 0
    for row in islice(_writing_rows(options.data), options.limit):
        lines = [shown(line) for line in _LINE.findall(row["text"])]
        reference = [Span(**one) for one in json.loads(row["answer"])]
        try:
            made = partition(llm, lines, options.wording)
        except LLMUnavailable as error:
            print(error)
            break
        found = [Span(one.topic, one.summary, one.start, one.end) for one in made.parts]
        ranges += summaries(found, reference)
        topic += topics(found, reference)
        summary += summaries(found, reference, alike)
        done += 1
    print(f"{llm.model}, {options.wording}, {done} whole conversations")
    for name, one in (("ranges", ranges), ("topics", topic), ("summaries", summary)):
        print(f"  {name}: precision {one.precision:.3f}, recall {one.recall:.3f}, F1 {one.f1:.3f}")


def checking(data: Path) -> None:
    """Print how often the check is wrong about sentences that people wrote."""
    check = Check(MiniLM())
    rows = list(json_lines(data / "memo_instructions" / "dialogsum.dev.jsonl"))[HELD_OUT]
    texts = [
        (_named(row["dialogue"]).split("\n"), claims_of(_named(row["summary"]))) for row in rows
    ]
    own: list[Support] = []
    other: list[Support] = []
    exchanged: list[Support] = []
    rng = random.Random(SEED)
    for number, (lines, claims) in enumerate(texts):
        own += check.support(claims, lines)
        other += check.support(claims, texts[(number + 37) % len(texts)][0])
        wrong = [one for claim in claims for one in _exchanged(claim, rng)]
        exchanged += check.support(wrong, lines)
    print(f"{sum(not one.enough for one in own)} of {len(own)} called unsupported by their own")
    print(f"{sum(one.enough for one in other)} of {len(other)} called supported by another")
    print(
        f"{sum(one.enough for one in exchanged)} of {len(exchanged)} with a number or name "
        "exchanged called supported"
    )


def _named(text: str) -> str:
    return text.replace("#Person1#", "user").replace("#Person2#", "bot").replace(" ' ", "'")


def _exchanged(claim: str, rng: random.Random) -> Iterator[str]:
    if re.search(r"\d", claim):
        yield re.sub(r"\d+", lambda number: str(int(number[0]) + 7), claim)
    for name in sorted(names_of(claim))[:1]:
        yield claim.replace(name, rng.choice(NAMES))


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("model", nargs="?", help="a GGUF file or http://HOST/v1#MODEL")
    parser.add_argument("--claims", action="store_true")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--replies", type=Path, default=Path("replies.jsonl"))
    parser.add_argument("--wording", choices=get_args(Wording), default="plain")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--limit", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=300)
    options = parser.parse_args()
    if options.claims:
        checking(options.data)
    if options.model:
        (partitioning if options.whole else writing)(options)


if __name__ == "__main__":
    main()
