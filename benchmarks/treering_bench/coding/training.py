"""Fit the detector's scorers to recorded dialogues.

The weights of texts ship with treering, in its package ``code.guard``; those of runs are needed by
measuring alone, in ``bench.undone``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from treering.views.code.guard.scorer import OF_RULES
from treering_bench.forgetting import STAGES, digest, fit_rounds, judged_rounds

DIGITS = 4


def fitted_weights(dialogues: Path) -> dict[str, dict[str, Any]]:
    """What ``weights.json`` of each of the two packages holds, by the package's name.

    Runs the recorded code in the sandbox.
    """
    data = dialogues.read_bytes()
    lines = [json.loads(line) for line in data.decode().split("\n") if line.strip()]
    judged = judged_rounds(lines, run=True)
    fitted = {stage: fit_rounds(judged, stage).weights for stage in STAGES}
    rounded = {s: {k: round(w, DIGITS) for k, w in ws.items()} for s, ws in fitted.items()}
    seen = {"trained_on": digest(data)}
    of_texts = {k: w for k, w in rounded.pop("static").items() if k not in OF_RULES}
    return {
        "code.guard": seen | {"weights": of_texts},
        "bench.undone": seen | {"weights": rounded},
    }


def write_weights(weights: dict[str, dict[str, Any]], root: Path) -> None:
    """Save both files below ``root``, the folder of the package ``treering``."""
    for package, content in weights.items():
        path = root.joinpath(*package.split("."), "weights.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(content, indent=1, sort_keys=True)
        path.write_text(f"{text}\n", encoding="utf-8")
