"""Fit the change detector's scorers to recorded dialogues: ``weights.json`` of treering/code.

python benchmarks/train_detector.py DIALOGUES.jsonl treering/code/weights.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from treering.bench.forgetting import STAGES, digest, fit_rounds, judged_rounds

DIGITS = 4


def main(dialogues: Path, weights: Path) -> None:
    """Read ``dialogues``, write ``weights``; runs the recorded code in the sandbox."""
    data = dialogues.read_bytes()
    lines = [json.loads(line) for line in data.decode().split("\n") if line.strip()]
    judged = judged_rounds(lines, run=True)
    fitted = {stage: fit_rounds(judged, stage).weights for stage in STAGES}
    rounded = {s: {k: round(w, DIGITS) for k, w in ws.items()} for s, ws in fitted.items()}
    model = {"trained_on": digest(data), "weights": rounded}
    weights.write_text(json.dumps(model, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
