"""Metrics of code written in rounds (CodeMEM, section 4.1 and appendix; CodeIF-Bench)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from treering.errors import InputError


@dataclass(frozen=True, slots=True)
class RoundScore:
    """One round: IA, CA and IFR.

    ``ia`` is 1 if the round's own instruction is met, ``ca`` the share of all instructions so far
    that are, ``ifr`` the share of those met in any round before that are not met now, None where
    none was.
    """

    ia: float
    ca: float
    ifr: float | None


def followed(outcomes: Sequence[Sequence[bool]]) -> Iterator[RoundScore]:
    """The figures of every round; ``outcomes[r]`` says of the instructions 0 to r which are met."""
    before: set[int] = set()
    for round_, met in enumerate(outcomes):
        if len(met) != round_ + 1:
            raise InputError(f"round {round_} has {len(met)} outcomes; it must have {round_ + 1}")
        lost = [at for at in before if not met[at]]
        ifr = len(lost) / len(before) if before else None
        yield RoundScore(float(met[-1]), fmean(map(float, met)), ifr)
        before |= {at for at, is_met in enumerate(met) if is_met}
