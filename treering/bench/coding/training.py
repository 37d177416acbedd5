"""Fit the change detector's scorers to recorded dialogues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from treering.bench.forgetting import STAGES, digest, fit_rounds, judged_rounds

DIGITS = 4


def fitted_weights(dialogues: Path) -> dict[str, Any]:
    """The weights of every stage, as ``weights.json`` of :mod:`treering.code` holds them.

    Runs the recorded code in the sandbox.
    """
    data = dialogues.read_bytes()
    lines = [json.loads(line) for line in data.decode().split("\n") if line.strip()]
    judged = judged_rounds(lines, run=True)
    fitted = {stage: fit_rounds(judged, stage).weights for stage in STAGES}
    rounded = {s: {k: round(w, DIGITS) for k, w in ws.items()} for s, ws in fitted.items()}
    return {"trained_on": digest(data), "weights": rounded}


def write_weights(weights: dict[str, Any], path: Path) -> None:
    """Save them in the form in which they are shipped."""
    path.write_text(json.dumps(weights, indent=1, sort_keys=True) + "\n", encoding="utf-8")
