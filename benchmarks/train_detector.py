"""Fit the detector's scorers to recorded dialogues: the weights of texts, which ship with treering,
and those of runs, which only measuring needs.

    python benchmarks/train_detector.py DIALOGUES.jsonl
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import treering
from treering.bench.forgetting import STAGES, digest, fit_rounds, judged_rounds
from treering.code.guard.scorer import OF_RULES

DIGITS = 4
TREERING = Path(treering.__file__).parent


def main(dialogues: Path) -> None:
    """Read ``dialogues``, write both files of weights; runs the recorded code in the sandbox."""
    data = dialogues.read_bytes()
    lines = [json.loads(line) for line in data.decode().split("\n") if line.strip()]
    judged = judged_rounds(lines, run=True)
    fitted = {stage: fit_rounds(judged, stage).weights for stage in STAGES}
    rounded = {s: {k: round(w, DIGITS) for k, w in ws.items()} for s, ws in fitted.items()}
    seen = {"trained_on": digest(data)}
    of_texts = {k: w for k, w in rounded.pop("static").items() if k not in OF_RULES}
    for package, weights in (("code.guard", of_texts), ("bench.undone", rounded)):
        target = TREERING.joinpath(*package.split("."), "weights.json")
        text = json.dumps(seen | {"weights": weights}, indent=1, sort_keys=True)
        target.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
