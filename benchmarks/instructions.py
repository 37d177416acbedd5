"""MemoChat's instruction test set by a model: writing, choosing and chatting (its table 3).

    python -m benchmarks.instructions TEST --model MODEL --replies FILE [--rows 20]

``--rows`` bounds the rows of each stage. Summaries and chats are compared by BERTScore over the
bundled embedding model's tokens, so that figures compare with each other and not with the paper's.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from treering.bench.instructions import Instruction, Scores, evaluate, instructions
from treering.bench.kept_replies import KeptReplies
from treering.bench.metrics.memos import Matched, bert_score
from treering.embed.minilm import MiniLM
from treering.llm.settings import open_llm


def sample(path: Path, rows: int) -> Iterator[Instruction]:
    """The first rows of each stage and origin."""
    seen: Counter[tuple[str, str]] = Counter()
    for row in instructions(path):
        seen[row.stage, row.origin] += 1
        if seen[row.stage, row.origin] <= rows:
            yield row


def figures(scores: Scores) -> dict[str, object]:
    """What table 3 reports, and what could not be read."""
    return {
        "topic": _prf(scores.topic),
        "summary, range only": _prf(scores.summary),
        "summary, BERTScore": _prf(scores.summary_similar),
        "retrieval F1": round(scores.choice.f1, 3),
        "chat BERTScore": round(scores.chat_similarity, 3),
        "unread": scores.unread,
        "calls": scores.usage.calls,
    }


def _prf(found: Matched) -> list[float]:
    return [round(one, 3) for one in (found.precision, found.recall, found.f1)]


def main() -> None:
    """Measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("test", type=Path)
    parser.add_argument("--model", required=True, help="A GGUF file or http://HOST/v1#MODEL.")
    parser.add_argument("--replies", type=Path, required=True, help="Where replies are kept.")
    parser.add_argument("--rows", type=int, default=20)
    options = parser.parse_args()
    llm = KeptReplies(open_llm(options.model), options.replies)
    scores = evaluate(sample(options.test, options.rows), llm, bert_score(MiniLM().token_vectors))
    print(json.dumps(figures(scores), indent=2))


if __name__ == "__main__":
    main()
