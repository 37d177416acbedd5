"""Facts that change: rules and a model as judge on the tests' hand-written set, and false alarms.

    python -m benchmarks.facts LOCOMO [--model MODEL --replies FILE]

LoCoMo's speakers hardly ever contradict what they said, so what is found in it is listed, to be
read: each pair that is no contradiction is a false alarm.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path

from tests.facts.test_statements import CHANGED, MISSED, UNCHANGED, found
from treering.bench.kept_replies import KeptReplies
from treering.bench.suites.locomo import load
from treering.errors import LLMReplyError
from treering.facts.change import Known, superseded
from treering.facts.judge import ask, controls_right, read_verdict
from treering.facts.statement import statements
from treering.llm.contract import LLM
from treering.llm.settings import open_llm
from treering.records import Entry

Pair = tuple[str, str]


def by_rule(pair: Pair) -> bool:
    """Whether the rules take the newer statement to supersede the older."""
    return bool(found(*pair))


def judged(llm: LLM, pair: Pair) -> bool:
    """Whether a model does; a verdict that cannot be read is none."""
    try:
        return read_verdict(ask(llm, *pair).text)
    except LLMReplyError:
        return False


def scores(right: list[bool], wrong: list[bool]) -> dict[str, float]:
    """Precision and recall; ``right`` are verdicts on changes, ``wrong`` on pairs without one."""
    hits, alarms = sum(right), sum(wrong)
    return {
        "precision": round(hits / max(hits + alarms, 1), 3),
        "recall": round(hits / len(right), 3),
        "false alarms": alarms,
        "of": len(wrong),
    }


def locomo(path: Path) -> dict[str, object]:
    """What the rules find in LoCoMo: turns, statements, and the pairs, to be read."""
    turns, read, pairs = 0, 0, []
    for task in load(path):
        groups: dict[tuple[str, str], list[Known]] = defaultdict(list)
        texts: list[str] = []
        for piece in (one for document in task.documents for one in document.pieces):
            now = piece.at or datetime.now(UTC)
            entry = Entry("e", piece.text, "chat", 0, "chat", now, piece.at, piece.speaker)
            for one in statements(entry):
                read += 1
                known = Known(one, len(texts), int(now.timestamp()))
                groups[one.subject, one.slot].append(known)
            texts.append(piece.text)
        turns += len(texts)
        for group in groups.values():
            pairs += [(texts[old.entry], texts[new.entry]) for old, new in superseded(group)]
    return {"turns": turns, "statements": read, "pairs": pairs}


def main() -> None:
    """Measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("locomo", type=Path)
    parser.add_argument("--model", help="A GGUF file or http://HOST/v1#MODEL.")
    parser.add_argument("--replies", type=Path, help="Where its replies are kept.")
    options = parser.parse_args()
    changes = [*CHANGED, *MISSED]
    rules = scores([by_rule(one) for one in changes], [by_rule(one) for one in UNCHANGED])
    figures: dict[str, object] = {"rules": rules, "locomo": locomo(options.locomo)}
    if options.model:
        llm = KeptReplies(open_llm(options.model), options.replies)
        verdicts = scores(
            [judged(llm, one) for one in changes], [judged(llm, one) for one in UNCHANGED]
        )
        figures[llm.model] = verdicts | {"controls right": controls_right(llm)[0]}
    print(json.dumps(figures, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
