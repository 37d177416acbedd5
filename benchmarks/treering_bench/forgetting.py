"""Forgetting replay: on recorded dialogues, is a change that undoes a requirement noticed?

A dialogue is a JSON line ``{model, task_id, rounds}``; a round has ``instruction``, ``code``,
``requirement`` (its name), ``met`` (what the code meets of what was asked so far, by tests) and
``forgets`` (what an earlier round met and this one does not). A detector sees earlier
instructions and codes and the round's own; ``met`` of earlier rounds only in the stage ``tested``,
``met`` and ``forgets`` of the judged round never.

Figures are cross-validated: the scorer that judges a dialogue has seen none of its model (or, in
the other split, none of its task).
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from difflib import SequenceMatcher
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from treering.errors import InputError
from treering.views.code.guard.detector import Case, text_cases, verdict
from treering.views.code.guard.evidence import Version
from treering.views.code.guard.printed import conflicts
from treering.views.code.guard.scorer import OF_RULES, Scorer
from treering.views.code.guard.wording import read_instruction
from treering.views.code.parse.parts import read_definition
from treering.views.code.parse.pieces import DefinitionChange
from treering.views.code.rounds.history import changes_of, piece_of
from treering.views.code.rounds.session import SessionBlock, chained
from treering_bench.read import json_lines
from treering_bench.undone.fitting import Stage, fit, fitted, trained_on
from treering_bench.undone.trial import Laboratory, Trial, inputs

STAGES: tuple[Stage, ...] = ("static", "trial", "tested")
HEADLINE: Stage = "trial"
TASK_FOLDS = 10
FIELDS = ("model", "task_id", "rounds")
ASKED_NAME = re.compile(r"['\"`](\w+)['\"`]")


@dataclass(frozen=True, slots=True)
class Round:
    """One judged round: the evidence of each stage, the truth, and the verdicts of simple rules.

    ``forgotten`` holds positions of rounds, and so do the cases' ``origin``.
    """

    model: str
    task: str
    cases: dict[Stage, tuple[Case, ...]]
    forgotten: frozenset[int]
    conflicts: frozenset[int]
    raise_gone: bool


@dataclass(frozen=True, slots=True)
class Score:
    """Precision, recall and their harmonic mean, with the counts they come from."""

    precision: float
    recall: float
    f1: float
    flagged: int
    positive: int

    @classmethod
    def of(cls, hits: int, flagged: int, positive: int) -> Score:
        """Zero where nothing was flagged or there was nothing to find."""
        precision = hits / flagged if flagged else 0.0
        recall = hits / positive if positive else 0.0
        f1 = 2 * hits / (flagged + positive) if flagged + positive else 0.0
        return cls(round(precision, 4), round(recall, 4), round(f1, 4), flagged, positive)


def replay(
    path: Path, run: bool = True, workers: int | None = None, limit: int | None = None
) -> dict[str, Any]:
    """Figures at round and requirement level, of every stage and split, and of baselines.

    ``run`` allows the recorded code to be run in the sandbox; without it only the static stage is
    measured, and is the headline. ``limit`` bounds the dialogues. A recording of one model cannot
    be judged by scorers of others: its headline is what the shipped weights say.
    """
    dialogues = list(islice(json_lines(path), limit))
    if not dialogues:
        raise InputError(f"{path} holds no dialogue; give JSON lines with {', '.join(FIELDS)}")
    if strange := [n for n, dialogue in enumerate(dialogues) if not _is_dialogue(dialogue)]:
        raise InputError(
            f"{path}: object {strange[0] + 1} is no dialogue; "
            f"give JSON lines with {', '.join(FIELDS)}"
        )
    judged = judged_rounds(dialogues, run, workers)
    stages = STAGES if run else STAGES[:1]
    headline = HEADLINE if run else STAGES[0]
    figures = {
        name: {stage: _held_out(judged, stage, group) for stage in stages}
        for name, group in _splits(judged).items()
    }
    figures["shipped_weights"] = {stage: _shipped(judged, stage) for stage in stages}
    split = next(iter(figures))
    return {
        **figures[split][headline],
        "stage": headline,
        "split": split,
        "rounds": len(judged),
        **figures,
        "shipped_weights_saw_this_data": digest(path.read_bytes()) == trained_on(),
        "baselines": baselines(judged),
    }


def _splits(judged: Sequence[Round]) -> dict[str, Callable[[Round], str]]:
    """The ways to part rounds for cross-validation, if they give at least two parts."""
    fold = _folds(judged)
    splits: dict[str, Callable[[Round], str]] = {
        "leave_one_model_out": lambda r: r.model,
        "whole_tasks_apart": lambda r: fold[r.task],
    }
    return {name: group for name, group in splits.items() if len({group(r) for r in judged}) > 1}


def digest(data: bytes) -> str:
    """The SHA-256 by which weights name the data that they were trained on."""
    return hashlib.sha256(data).hexdigest()


def judged_rounds(
    dialogues: Sequence[dict[str, Any]], run: bool, workers: int | None = None
) -> list[Round]:
    """Every round but the first of every dialogue."""
    # Spawned: a forked copy of a process with threads, such as an embedding model's, may hang.
    context = get_context("spawn")
    with ProcessPoolExecutor(workers or os.cpu_count(), mp_context=context) as pool:
        per_dialogue = pool.map(_judged, dialogues, [run] * len(dialogues))
        return [round_ for rounds in per_dialogue for round_ in rounds]


def _judged(dialogue: dict[str, Any], run: bool) -> list[Round]:
    name, rounds = _name(dialogue), dialogue["rounds"]
    laboratory = _prepared(name, rounds) if run else None
    every = chained(_block(name, rounds, t) for t in range(len(rounds)))
    judged = []
    for t in range(1, len(rounds)):
        before, block = every[:t], every[t]
        evidence: dict[Stage, tuple[Case, ...]] = {"static": _static_cases(before, block)}
        if laboratory is not None:
            trial = Trial.of(laboratory, _versions(every[: t + 1]))
            evidence["trial"] = _run_cases(evidence["static"], trial, before, tested=False)
            evidence["tested"] = _run_cases(evidence["static"], trial, before, tested=True)
        contradictions = conflicts(before, block.instruction, block.code, _similarity)
        judged.append(
            Round(
                model=dialogue["model"],
                task=str(dialogue["task_id"]),
                cases=evidence,
                forgotten=_positions(rounds, rounds[t]["forgets"]),
                conflicts=frozenset(before.index(c.block) for c in contradictions),
                raise_gone=_raise_gone(before, block),
            )
        )
    return judged


def _static_cases(before: Sequence[SessionBlock], block: SessionBlock) -> tuple[Case, ...]:
    """The cases by the texts alone, which is what ``memory.code.generate`` weighs."""
    change = DefinitionChange(piece_of(before[-1]), piece_of(block))
    cases = text_cases(change, changes_of(before), block.instruction)
    # Where a model wrote nothing there is no change, so places differ.
    place = [place for place, earlier in enumerate(before) if earlier.code]
    return tuple(replace(case, origin=place[case.origin]) for case in cases)


def _versions(blocks: Sequence[SessionBlock]) -> list[Version]:
    return [Version(read_instruction(b.instruction), b.code, None) for b in blocks]


def _run_cases(
    cases: Sequence[Case], trial: Trial, before: Sequence[SessionBlock], tested: bool
) -> tuple[Case, ...]:
    """The cases by the outcomes of running the versions.

    With ``tested`` it is known what earlier rounds met. Requirements that were never met are then
    left out, because they cannot be lost.
    """
    weighed = []
    for case in cases:
        met = [case.origin in (block.met or ()) for block in before[case.origin :]]
        if any(met) or not tested:
            evidence = trial.evidence(case.origin, met if tested else None)
            weighed.append(replace(case, evidence=evidence))
    return tuple(weighed)


def _is_dialogue(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() >= set(FIELDS)


def _name(dialogue: dict[str, Any]) -> str:
    """The function asked for: the first quoted name of the first instruction."""
    instruction: str = dialogue["rounds"][0]["instruction"]
    quoted = ASKED_NAME.search(instruction)
    return quoted[1] if quoted else ""


def _prepared(name: str, rounds: Sequence[dict[str, Any]]) -> Laboratory:
    """A laboratory that has run all versions once. A round sees only the outcomes of its inputs."""
    laboratory = Laboratory(name)
    codes = [r["code"] for r in rounds]
    asked = [r["instruction"] for r in rounds]
    made_up = [inputs(codes[: t + 1], asked[: t + 1], name) for t in range(len(rounds))]
    every = tuple(dict.fromkeys(call for round_inputs in made_up for call in round_inputs.every))
    for code in codes:
        laboratory.outcomes(code, every)
    return laboratory


def _block(name: str, rounds: Sequence[dict[str, Any]], t: int) -> SessionBlock:
    met = [requirement for requirement, is_met in rounds[t]["met"].items() if is_met]
    met_rounds = _positions(rounds, met)
    return SessionBlock(name, rounds[t]["instruction"], rounds[t]["code"], met=met_rounds)


def _positions(rounds: Sequence[dict[str, Any]], requirements: Iterable[str]) -> frozenset[int]:
    place = {r["requirement"]: t for t, r in enumerate(rounds)}
    return frozenset(place[requirement] for requirement in requirements)


def _similarity(text: str, other: str) -> float:
    return SequenceMatcher(None, text, other).ratio()


def _raise_gone(before: Sequence[SessionBlock], now: SessionBlock) -> bool:
    """A simple rule to compare with: an exception that any earlier round raised is not raised."""
    return bool({kind for block in before for kind in _raised(block)} - _raised(now))


def _raised(block: SessionBlock) -> set[str]:
    reading = read_definition(block.code, block.definition, block.language)
    return {part.text for part in reading.of("raise")} if reading else set()


def _folds(judged: Sequence[Round]) -> dict[str, str]:
    tasks = sorted({r.task for r in judged}, key=lambda task: (len(task), task))
    return {task: str(i % TASK_FOLDS) for i, task in enumerate(tasks)}


def _held_out(
    judged: Sequence[Round], stage: Stage, group: Callable[[Round], str]
) -> dict[str, Any]:
    """Figures of ``stage`` where each group is judged by a scorer fitted to the others."""
    groups = sorted({group(r) for r in judged})
    scorers = {g: fit_rounds([r for r in judged if group(r) != g], stage) for g in groups}
    return _measured(judged, stage, lambda r: scorers[group(r)])


def _shipped(judged: Sequence[Round], stage: Stage) -> dict[str, Any]:
    return _measured(judged, stage, lambda _: fitted(stage))


def fit_rounds(judged: Iterable[Round], stage: Stage) -> Scorer:
    """The scorer fitted to ``judged``.

    For the static stage, only evidence outside the rules is fitted; rules keep their own weights.
    """
    pairs = [(c.evidence, c.origin in r.forgotten) for r in judged for c in r.cases[stage]]
    of_texts = [{n: v for n, v in evidence.items() if n not in OF_RULES} for evidence, _ in pairs]
    fitted = fit(of_texts, [lost for _, lost in pairs]).weights
    return Scorer({**fitted, **OF_RULES} if stage == "static" else fitted)


def _measured(
    judged: Sequence[Round], stage: Stage, scorer: Callable[[Round], Scorer]
) -> dict[str, Any]:
    flagged = []
    for r in judged:
        outcome = verdict(r.cases[stage], scorer(r))
        flagged.append(frozenset(case.origin for case, _ in outcome.named))
    return _figures(judged, flagged)


def _figures(judged: Sequence[Round], flagged: Sequence[frozenset[int]]) -> dict[str, Any]:
    """Scores by round (is anything lost?) and by requirement (is it the flagged one?)."""
    pairs = list(zip(judged, flagged, strict=True))
    at_round = Score.of(
        hits=sum(bool(r.forgotten) and bool(s) for r, s in pairs),
        flagged=sum(map(bool, flagged)),
        positive=sum(bool(r.forgotten) for r in judged),
    )
    at_requirement = Score.of(
        hits=sum(len(r.forgotten & s) for r, s in pairs),
        flagged=sum(map(len, flagged)),
        positive=sum(len(r.forgotten) for r in judged),
    )
    return {"round": asdict(at_round), "requirement": asdict(at_requirement)}


def baselines(judged: Sequence[Round]) -> dict[str, Any]:
    """Flagging every round, the paper's rule, and the disappearance of a kind of exception."""
    everything = [frozenset(c.origin for c in r.cases["static"]) for r in judged]
    gone = [frozenset({0}) if r.raise_gone else frozenset[int]() for r in judged]
    return {
        "every round": _figures(judged, everything),
        "paper (eq. 8-10)": _figures(judged, [r.conflicts for r in judged]),
        "raised kind gone": {"round": _figures(judged, gone)["round"]},
    }
