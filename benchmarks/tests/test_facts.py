"""Facts, measured: forms, a model and both on sets of texts, pairs, chats and FactConsolidation."""

from __future__ import annotations

import json
import re
from pathlib import Path

from treering.llm.scripted import FakeLLM, Request
from treering_bench import facts
from treering_bench.task import Document, DocumentPiece, Task
from worlds import Bench, write

ROWS = [
    {"text": "I relocated to Porto.", "value": "porto"},
    {"text": "where i dwell is oslo", "value": "oslo"},
    {"text": "I would love to live in Porto.", "value": None},
    {"text": "I live in Rome.", "value": None},
]


def sets(folder: Path) -> Path:
    write(folder / "sets" / "all.jsonl", "".join(f"{json.dumps(row)}\n" for row in ROWS))
    german = {"text": "Ich wohne in Graz.", "value": "Graz"}
    write(folder / "sets" / "de.jsonl", f"{json.dumps(german)}\n")
    return folder / "sets"


def reads_places(request: Request) -> str:
    """A model that takes the last word of every text for a home."""
    rows = []
    for line in re.findall(r'^\{"message": .*\}$', request.text, re.MULTILINE):
        text = json.loads(line)["text"]
        value = text.rstrip(".").split()[-1]
        rows.append(
            {
                "message": json.loads(line)["message"],
                "quote": text,
                "value": value,
                "subject": "speaker",
                "attribute": "home",
                "sense": "holds",
                "single": True,
            }
        )
    return json.dumps(rows)


def test_recall_and_precision_are_counted_by_wording(tmp_path: Path) -> None:
    texts = facts.by_wording(sets(tmp_path))
    found = facts.figures(facts.by_forms, texts)
    assert {name: found[name]["recall"] for name in texts} == {
        "plain": 1.0,
        "casual": 0.0,
        "misleading": None,
        "de": 0.0,
    }
    assert found["misleading"]["alarms"] == ["I live in Rome."]
    assert found["precision"] == 0.5


def test_a_model_and_both_readers_are_measured(tmp_path: Path) -> None:
    texts = facts.by_wording(sets(tmp_path))
    by_model = facts.by_model(FakeLLM(reads_places))
    found = facts.figures(by_model, texts)
    assert (found["casual"]["recall"], found["de"]["recall"]) == (1.0, 1.0)
    assert (found["misleading"]["false alarms"], found["de"]["precision"]) == (2, 1.0)
    both = facts.figures(facts.by_both(facts.by_forms, by_model), texts)
    assert (both["plain"]["recall"], both["casual"]["recall"]) == (1.0, 1.0)
    silent = facts.by_model(FakeLLM(lambda _: "I could not say."))
    assert facts.figures(silent, texts)["precision"] is None


def test_a_sample_is_the_same_in_each_run() -> None:
    texts = facts.by_wording(facts.SETS)
    assert facts.drawn(texts, 5) == facts.drawn(texts, 5)
    assert {len(each) for each in facts.drawn(texts, 5).values()} == {5}


def test_the_forms_raise_no_false_alarm_on_the_misleading_texts() -> None:
    texts = facts.by_wording(facts.SETS)
    found = facts.figures(facts.by_forms, texts)
    assert found["misleading"]["false alarms"] == 0
    assert found["plain"]["recall"] > 0.23
    assert facts.of_pairs(facts.by_forms)["precision"] > 0.95


def test_changes_in_chats_are_listed_to_be_read() -> None:
    turns = ("I live in Berlin.", "It rains.", "I relocated to Porto last week.")
    pieces = tuple(DocumentPiece(str(n), text, "Ana") for n, text in enumerate(turns))
    found = facts.found_in([Task("chat", (Document("s", pieces, chat=True),), ())], facts.by_forms)
    assert found == {"turns": 3, "statements": 2, "pairs": [(turns[0], turns[2])]}


def test_the_newest_of_contradicting_facts_comes_first(tmp_path: Path) -> None:
    lines = "The author of Emma is Ana Ray.", "The sky is blue.", "The author of Emma is Ben Poe."
    context = "\n".join(["Facts:", *(f"{n}. {line}" for n, line in enumerate(lines))])
    data = tmp_path / "factcon.json"
    data.write_text(json.dumps([{"context": context}]), encoding="utf-8")
    found = facts.consolidated(data, facts.by_forms)
    assert (found["pairs"], found["marked"]) == (1, 1.0)
    assert found["newest shown"] == 1.0


def test_the_command_prints_all_readers(bench: Bench, tmp_path: Path) -> None:
    printed = bench.object("facts", "--sets", sets(tmp_path), "--json")
    assert printed["forms"]["plain"]["recall"] == 1.0
    assert set(printed["pairs"]) == {"recall", "precision", "changes", "others"}
