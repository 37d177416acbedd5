"""Memos written for measuring, counted by what their first reply was."""

from __future__ import annotations

import json
from pathlib import Path

from test_suites import lines, write
from treering.errors import LLMUnavailable
from treering.llm.scripted import Line, ScriptedLLM
from treering_bench.memo_writing import Dialogue, MemoCounts, write_memos
from worlds import BagOfWords, Bench

LINES = 24  # more than stay without a memo at the end of a chat
REFERENCE = [{"topic": "Trips", "summary": "user went to Porto.", "start": 1, "end": 2}]
SPOKEN = "(line 1) user: I went to Porto.\n(line 2) bot: How was it?"


def dialogue() -> Dialogue:
    return [
        {"role": ("user", "assistant")[n % 2], "content": f"We saw bridge number {n} in Porto."}
        for n in range(LINES)
    ]


def silent(done: int, total: int, doing: str) -> None:
    assert done <= total


def counted(llm: ScriptedLLM, *dialogues: Dialogue) -> MemoCounts:
    return write_memos(dialogues or [dialogue()], llm, "plain", BagOfWords(), silent)


def test_replies_that_cannot_be_read_are_counted_as_fallbacks_and_lose_no_line() -> None:
    llm = ScriptedLLM(lambda _: "I would rather not.")
    figures = counted(llm).figures()
    batches = figures["batches"]
    assert (figures["lost"], figures["covered twice"]) == (0, 0)
    assert batches["fallback"] == figures["memos"] > 0
    assert batches["as it was"] == batches["asked again"] == 0
    assert figures["calls"] == len(llm.requests) == 2 * batches["fallback"]


def test_a_reply_that_is_json_is_counted_as_it_was() -> None:
    entry = [{"topic": "Porto", "summary": "We saw bridges in Porto.", "start": 1, "end": 10}]
    figures = counted(ScriptedLLM(lambda _: json.dumps(entry))).figures()
    assert figures["batches"]["as it was"] == figures["calls"] > 0
    assert figures["claims"] > 0
    assert figures["claims not supported"] == 0


def test_dialogues_until_the_time_is_up_count() -> None:
    def reply(_: object) -> Line:
        return LLMUnavailable("time is up") if len(llm.requests) > 5 else "no"

    llm = ScriptedLLM(reply)
    counts = counted(llm, *[dialogue()] * 9)
    assert 0 < counts.dialogues < 9


def test_the_commands_write_partition_and_check(bench: Bench, tmp_path: Path) -> None:
    rows = [{"type": "writing_dialogsum", "text": SPOKEN, "answer": json.dumps(REFERENCE)}]
    data = write(tmp_path / "test_half.jsonl", lines(*rows))
    llm = bench.model(json.dumps(REFERENCE))
    told = bench.object("memos", "partition", "--data", data, *llm, "--json")
    assert (told["conversations"], told["ranges"]["f1"]) == (1, 1.0)
    told = bench.object(
        *("memos", "write", "dialogsum", "--data", data, *llm, "--json", "--embedder", "hashing")
    )
    assert (told["lines"], told["due"]) == (2, 0)


def test_claims_of_another_dialogue_are_called_unsupported(bench: Bench, tmp_path: Path) -> None:
    names = "Porto", "Lima"
    rows = [
        {
            "dialogue": f"#Person1#: I moved to {names[n % 2]} in 19{n % 50 + 40}.",
            "summary": f"#Person1# moved to {names[n % 2]} in 19{n % 50 + 40}.",
        }
        for n in range(160)
    ]
    data = write(tmp_path / "dialogsum.dev.jsonl", lines(*rows))
    told = bench.object("memos", "claims", "--data", data, "--embedder", "hashing", "--json")
    assert told["claims"] == 10  # the first 150 are those that the check was fitted to
    assert told["called unsupported by their own dialogue"] == 0
    assert told["called supported by another dialogue"] == 0
    assert told["with a number or name exchanged"] > 10
    assert told["of these called supported"] == 0
