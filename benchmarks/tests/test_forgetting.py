"""The forgetting replay, on a small recording of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from treering_bench.forgetting import replay

PLAIN = "def half(n):\n    return n / 2\n\n\nhalf(4)\n"
GUARDED = "def half(n):\n    if n < 0:\n        raise ValueError('negative')\n    return n / 2\n"
KEPT = GUARDED.replace("half(n)", "half(n: int) -> float")


def dialogue(model: str, task: int, last: str) -> dict[str, object]:
    kept = last == KEPT
    rounds = [
        ("base", "Write a function called 'half'.", PLAIN, {"base": True}, []),
        (
            "Exception Handling",
            "Raise a ValueError if the input is negative.",
            GUARDED,
            {"base": True, "Exception Handling": True},
            [],
        ),
        (
            "Annotation Coverage",
            "Add type annotations.",
            last,
            {"base": True, "Exception Handling": kept},
            [] if kept else ["Exception Handling"],
        ),
    ]
    names = ("requirement", "instruction", "code", "met", "forgets")
    return {
        "model": model,
        "task_id": task,
        "rounds": [dict(zip(names, values, strict=True)) for values in rounds],
    }


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("forgetting") / "dialogues.jsonl"
    ends = [("one", 1, KEPT), ("one", 2, PLAIN), ("two", 1, PLAIN), ("two", 2, KEPT)]
    path.write_text("\n".join(json.dumps(dialogue(*end)) for end in ends) + "\n", encoding="utf-8")
    return path


def test_figures_of_an_easy_recording_are_perfect(recording: Path) -> None:
    figures = replay(recording)
    assert figures["round"] == {
        "precision": 1.0,
        "recall": 1.0,
        "f1": 1.0,
        "flagged": 2,
        "positive": 2,
    }
    assert figures["requirement"]["f1"] == 1.0
    assert figures["rounds"] == 8


def test_the_paper_and_simple_rules_are_measured_beside_it(recording: Path) -> None:
    rules = replay(recording)["baselines"]
    assert rules["every round"]["round"]["precision"] == 0.25
    assert rules["paper (eq. 8-10)"]["round"]["recall"] == 1.0
    assert rules["raised kind gone"]["round"]["f1"] == 1.0
