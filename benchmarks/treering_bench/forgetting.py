"""Forgetting replay: on recorded dialogues, is a change that undoes a requirement noticed?

A dialogue is a JSON line ``{model, task_id, rounds}``; a round has ``instruction``, ``code``,
``requirement`` (its name), ``met`` (the requirements so far that the code meets, by tests) and
``forgets`` (requirements that an earlier round met and this one does not). A detector sees earlier
instructions and codes and the round's own, nothing else. The detector of ``code.generate`` is
measured beside the rule of the paper and two trivial ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path
from typing import Any

from treering.errors import InputError
from treering.views.code.guard.check import mostly_lost
from treering.views.code.parse.parts import read_definition
from treering.views.code.rounds.history import changes_of, piece_of
from treering.views.code.rounds.session import SessionBlock, conflicts, with_changes
from treering_bench.read import json_lines

FIELDS = ("model", "task_id", "rounds")
ASKED_NAME = re.compile(r"['\"`](\w+)['\"`]")


@dataclass(frozen=True, slots=True)
class Round:
    """One judged round: the verdict, the truth, and the verdicts of simple rules, by the positions
    of earlier rounds.
    """

    earlier: frozenset[int]
    flagged: frozenset[int]
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


def replay(path: Path, limit: int | None = None) -> dict[str, Any]:
    """Figures at round and requirement level, and of baselines; of at most ``limit`` dialogues."""
    dialogues = list(islice(json_lines(path), limit))
    if not dialogues:
        raise InputError(f"{path} holds no dialogue; give JSON lines with {', '.join(FIELDS)}")
    if strange := [n for n, dialogue in enumerate(dialogues) if not _is_dialogue(dialogue)]:
        raise InputError(
            f"{path}: object {strange[0] + 1} is no dialogue; "
            f"give JSON lines with {', '.join(FIELDS)}"
        )
    judged = [round_ for dialogue in dialogues for round_ in _judged(dialogue)]
    return {
        **_figures(judged, [round_.flagged for round_ in judged]),
        "rounds": len(judged),
        "baselines": _baselines(judged),
    }


def _judged(dialogue: dict[str, Any]) -> list[Round]:
    """Every round but the first."""
    name, rounds = _name(dialogue), dialogue["rounds"]
    every = with_changes(_block(name, rounds, t) for t in range(len(rounds)))
    judged = []
    for t in range(1, len(rounds)):
        before, block = every[:t], every[t]
        contradictions = conflicts(before, block.instruction, block.code, _similarity)
        judged.append(
            Round(
                earlier=frozenset(place for place, earlier in enumerate(before) if earlier.code),
                flagged=_flagged(before, block),
                forgotten=_positions(rounds, rounds[t]["forgets"]),
                conflicts=frozenset(before.index(earlier) for earlier, _ in contradictions),
                raise_gone=_raise_gone(before, block),
            )
        )
    return judged


def _flagged(before: Sequence[SessionBlock], block: SessionBlock) -> frozenset[int]:
    """The rounds that are likely to be undone, by the texts alone."""
    draft = piece_of(block)
    # Where a model wrote nothing there is no change, so places differ.
    places = (place for place, earlier in enumerate(before) if earlier.code)
    pairs = zip(places, changes_of(before), strict=True)
    return frozenset(place for place, earlier in pairs if mostly_lost(earlier, draft))


def _is_dialogue(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() >= set(FIELDS)


def _name(dialogue: dict[str, Any]) -> str:
    """The function asked for: the first quoted name of the first instruction."""
    instruction: str = dialogue["rounds"][0]["instruction"]
    quoted = ASKED_NAME.search(instruction)
    return quoted[1] if quoted else ""


def _block(name: str, rounds: Sequence[dict[str, Any]], t: int) -> SessionBlock:
    return SessionBlock(name, rounds[t]["instruction"], rounds[t]["code"])


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
    return {part.text for part in reading or () if part.kind == "raise"}


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


def _baselines(judged: Sequence[Round]) -> dict[str, Any]:
    """Flagging every round, the paper's rule, and the disappearance of a kind of exception."""
    everything = [r.earlier for r in judged]
    gone = [frozenset({0}) if r.raise_gone else frozenset[int]() for r in judged]
    return {
        "every round": _figures(judged, everything),
        "paper (eq. 8-10)": _figures(judged, [r.conflicts for r in judged]),
        "raised kind gone": {"round": _figures(judged, gone)["round"]},
    }
