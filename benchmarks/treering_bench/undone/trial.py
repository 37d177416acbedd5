"""Runs versions side by side to judge an earlier requirement: the opt-in second stage.

A requirement's witnesses are the inputs on which the change made for it changed what happens, and
those its wording speaks of; it is undone where they come out as before, or as no one asked.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from treering.views.code.guard.evidence import Evidence, Version
from treering.views.code.guard.wording import Requirement
from treering_bench.undone.probes import examples, probes
from treering_bench.undone.sandbox import CallOutcome, SandboxLimits, run_version
from treering_bench.undone.sandbox_child import canonical
from treering_bench.undone.witnesses import witnesses

MOST_OBSERVED = 3
"""Inputs shown with a finding."""

MOST_SHOWN = 3
"""Ordinary inputs from which a requirement's witnesses are made."""


@dataclass(slots=True)
class Laboratory:
    """Runs versions of one function and keeps every outcome in ``runs``, to repeat none."""

    function: str
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    runs: dict[str, dict[str, CallOutcome]] = field(default_factory=dict)

    def outcomes(self, source: str, calls: Iterable[str]) -> dict[str, CallOutcome]:
        """What ``source`` does on each of ``calls``."""
        seen = self.runs.setdefault(source, {})
        if new := [call for call in dict.fromkeys(calls) if call not in seen]:
            run = run_version(source, self.function, new, self.limits)
            seen.update(zip(new, run.calls, strict=True))
        return {call: seen[call] for call in calls}


@dataclass(frozen=True, slots=True)
class TrialInputs:
    """Inputs made up for a round: all, the ordinary ones, and each requirement's witnesses."""

    every: tuple[str, ...]
    ordinary: tuple[str, ...]
    witnesses: tuple[tuple[str, ...], ...]


def inputs(codes: Sequence[str], instructions: Sequence[str], function: str) -> TrialInputs:
    """Inputs for versions ``codes``, of which the last is judged, and their ``instructions``."""
    general = probes(codes, function)
    shown = examples(codes, function)
    bases = [ast.literal_eval(call) for call in (shown[:MOST_SHOWN] or general[:MOST_SHOWN])]
    asked = tuple(witnesses(instruction, bases) for instruction in instructions)
    every = dict.fromkeys((*general, *shown, *(call for calls in asked for call in calls)))
    return TrialInputs(tuple(every), shown, asked)


Results = Mapping[str, CallOutcome]


def same(first: CallOutcome, other: CallOutcome) -> bool:
    """Whether two calls ended alike: the same value, or an error of the same kind."""
    if first.end == other.end == "raise":
        return first.kind == other.kind
    return (first.end, first.text) == (other.end, other.text)


@dataclass(frozen=True, slots=True)
class Observation:
    """A call that ends differently now."""

    call: str
    then: CallOutcome
    now: CallOutcome

    def __str__(self) -> str:
        return f"{self.call}: {self.then} then, {self.now} now"


@dataclass(frozen=True, slots=True)
class Trial:
    """Every version's outcomes on the same inputs, oldest first; the last version is judged."""

    requirements: tuple[Requirement, ...]
    made_up: TrialInputs
    results: tuple[Results, ...]

    @classmethod
    def of(cls, laboratory: Laboratory, versions: Sequence[Version]) -> Trial:
        """Make up inputs for ``versions`` and run them all."""
        codes = [version.code for version in versions]
        asked = tuple(version.requirement for version in versions)
        made_up = inputs(codes, [r.text for r in asked], laboratory.function)
        results = tuple(laboratory.outcomes(code, made_up.every) for code in codes)
        return cls(asked, made_up, results)

    def evidence(self, origin: int, met: Sequence[bool] | None = None) -> Evidence:
        """The evidence on whether the last version undoes the requirement of version ``origin``.

        ``met`` says which versions from ``origin`` to the last but one met it, if that is known.
        """
        comparison = self._comparison(origin)
        asked, witnesses = self.requirements[origin], self.made_up.witnesses[origin]
        evidence = dict(comparison.overall())
        evidence |= dict(comparison.of_change())
        evidence |= dict(comparison.of_witnesses(asked, witnesses))
        if met is not None:
            evidence |= dict(comparison.of_tests(met))
        return evidence

    def observations(self, origin: int) -> tuple[Observation, ...]:
        """The requirement's witnesses that end differently now, at most ``MOST_OBSERVED``."""
        comparison = self._comparison(origin)
        calls = dict.fromkeys((*self.made_up.witnesses[origin], *comparison.mattered()))
        pairs = [(call, comparison.then[call], comparison.now[call]) for call in calls]
        different = [Observation(*pair) for pair in pairs if not same(pair[1], pair[2])]
        return tuple(different[:MOST_OBSERVED])

    def _comparison(self, origin: int) -> _Comparison:
        before = self.results[origin - 1] if origin else None
        return _Comparison(self.results[origin:-1], self.results[-1], before, self.made_up)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Versions ``since`` a requirement was asked for, the one ``before`` it, and ``now``."""

    since: Sequence[Results]
    now: Results
    before: Results | None
    made_up: TrialInputs

    @property
    def then(self) -> Results:
        return self.since[0]

    def share(self, calls: Iterable[str], to: Results | None = None) -> float:
        """Share of ``calls`` that come out now as they did in ``to``, by default then."""
        to = to or self.then
        return _mean(same(to[call], self.now[call]) for call in calls)

    def ending(self, end: str, among: Iterable[str], version: Results | None = None) -> list[str]:
        version = version or self.then
        return [call for call in among if version[call].end == end]

    def overall(self) -> Iterator[tuple[str, float]]:
        every, ordinary = self.made_up.every, self.made_up.ordinary
        yield from _figure("same", self.share(every))
        yield from _figure("values same", self.share(self.ending("value", every)))
        yield from _figure("errors same", self.share(self.ending("raise", every)))
        yield from _figure("ordinary same", self.share(self.ending("value", ordinary)))
        yield from _figure("last same", self.share(every, self.since[-1]))
        yield from _least("least same", (self.share(every, version) for version in self.since))
        ran = [(self.ending("value", ordinary, version), version) for version in self.since]
        yield from _least(
            "ordinary least same", (self.share(calls, version) for calls, version in ran)
        )
        yield from _figure("does not fit", _mean(self.now[c].end == "unbound" for c in every))
        yield from _figure("does not run", _mean(self.now[c].end == "lost" for c in every))

    def mattered(self) -> list[str]:
        """Inputs on which the change made for the requirement changed what happens."""
        if (before := self.before) is None:
            return []
        return [c for c in self.made_up.every if not same(before[c], self.then[c])]

    def of_change(self) -> Iterator[tuple[str, float]]:
        if self.before is None:
            return
        mattered = self.mattered()
        rest = set(self.made_up.every) - set(mattered)
        yield "change mattered", len(mattered) / max(1, len(self.made_up.every))
        yield from _figure("change kept", self.share(mattered))
        yield from _figure("change reversed", self.share(mattered, self.before))
        yield from _figure("rest same", self.share(rest))

    def of_tests(self, met: Sequence[bool]) -> Iterator[tuple[str, float]]:
        """Evidence by tests: is it like versions that met the requirement, or like the others?"""
        alike = [self.share(self.made_up.every, version) for version in self.since]
        for name, expected in (("like one that met it", True), ("like one that did not", False)):
            shares = (a for a, m in zip(alike, met, strict=True) if m is expected)
            yield from _figure(name, max(shares, default=math.nan))
        yield "last one met it", float(met[-1])

    def of_witnesses(self, asked: Requirement, calls: Sequence[str]) -> Iterator[tuple[str, float]]:
        yield from _figure("witnesses same", self.share(calls))
        yield from _figure("first witness same", self.share(calls[:1]))
        yield from _figure("witness values same", self.share(self.ending("value", calls)))
        if self.before is not None:
            mattered = [c for c in calls if not same(self.before[c], self.then[c])]
            yield from _figure("decisive witnesses same", self.share(mattered))
        if not (asked.raises or asked.returns or asked.unchanged):
            return
        fulfilled = [c for c in calls if fulfils(asked, c, self.then[c])]
        ever = [c for c in calls if any(fulfils(asked, c, version[c]) for version in self.since)]
        yield from _figure("fulfilled then", _mean(c in fulfilled for c in calls))
        yield from _figure("fulfilled now", self.fulfilled(asked, calls))
        yield from _figure("first still fulfilled", self.fulfilled(asked, fulfilled[:1]))
        yield from _figure("second still fulfilled", self.fulfilled(asked, fulfilled[1:2]))
        yield from _figure("still fulfilled", self.fulfilled(asked, fulfilled))
        if fulfilled:
            yield "all still fulfilled", float(self.fulfilled(asked, fulfilled) == 1)
        yield from _figure("ever fulfilled kept", self.fulfilled(asked, ever))
        if asked.raises:
            raising = [c for c in self.made_up.every if self.then[c].kind in asked.raises]
            same_errors = _mean(self.now[c].kind in asked.raises for c in raising)
            yield from _figure("asked errors same", same_errors)

    def fulfilled(self, asked: Requirement, calls: Iterable[str]) -> float:
        return _mean(fulfils(asked, call, self.now[call]) for call in calls)


def fulfils(asked: Requirement, call: str, outcome: CallOutcome) -> bool:
    """Whether ``outcome`` has the error or the value that the wording asks for."""
    if asked.raises:
        has_message = not asked.messages or any(m in outcome.text for m in asked.messages)
        return outcome.end == "raise" and outcome.kind in asked.raises and has_message
    if outcome.end != "value":
        return False
    arguments = ast.literal_eval(call)
    unchanged = asked.unchanged and bool(arguments) and outcome.text == canonical(arguments[0])
    return unchanged or outcome.text in {canonical(ast.literal_eval(v)) for v in asked.returns}


def _mean(truths: Iterable[bool]) -> float:
    """The share of true values; NaN if ``truths`` is empty."""
    values = list(truths)
    return sum(values) / len(values) if values else math.nan


def _least(name: str, values: Iterable[float]) -> Iterator[tuple[str, float]]:
    if numbers := [value for value in values if not math.isnan(value)]:
        yield name, min(numbers)


def _figure(name: str, value: float) -> Iterator[tuple[str, float]]:
    if not math.isnan(value):
        yield name, value
