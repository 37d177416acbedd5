"""What the texts of two versions say about an earlier requirement.

Evidence is a mapping of names to numbers from 0 to 1; a name that is missing could not be told.
Rules (``rules``) are 1 where they hold; shares that are "kept" are 1 where nothing was lost.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from treering.views.code.guard.difference import RuleFinding
from treering.views.code.guard.wording import Requirement
from treering.views.code.parse.parts import CodePart, CodeReading, PartKind, Parts

Evidence = Mapping[str, float]

SHARES: tuple[tuple[PartKind, ...], ...] = (
    ("guard", "raise"), ("branch",), ("return",), ("call",), ("default", "decorator", "effect"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Version:
    """A round's code: its text and the reading of the definition, None where that is gone."""

    requirement: Requirement
    code: str
    reading: CodeReading | None
    before: CodeReading | None = None
    """The definition as the round found it."""


def rule_evidence(broken: Mapping[str, RuleFinding]) -> Evidence:
    """Which rules hold."""
    return {name: float(bool(finding.lost)) for name, finding in broken.items()}


def text_evidence(history: Sequence[Version], origin: int, now: Version) -> Evidence:
    """How ``now`` stands to the requirement of ``history[origin]``, by shares and wording."""
    then, asked = history[origin], history[origin].requirement
    evidence = {f"now asks {topic}": 1.0 for topic in now.requirement.topics}
    evidence["rounds since"] = 1 - 1 / (len(history) - origin)
    if now.reading is None or then.reading is None:
        evidence["definition gone"] = float(now.reading is None)
        return evidence
    evidence |= dict(_of_parts(then.before, then.reading, now.reading))
    evidence |= dict(_of_wording(asked, then, now, history[origin:]))
    return evidence


def lost_parts(then: Version, now: CodeReading | None) -> tuple[CodePart, ...]:
    """What a round brought and ``now`` lacks, in the order of the round's code."""
    if then.reading is None:
        return ()
    brought = then.reading.of() - then.before.of() if then.before else then.reading.of()
    lost = brought - now.of() if now else brought
    return tuple(sorted(lost, key=lambda part: (part.first_line, part.last_line, part.kind)))


def _of_parts(
    before: CodeReading | None, then: CodeReading, now: CodeReading
) -> Iterator[tuple[str, float]]:
    yield "parameters kept", float(now.parameters == then.parameters)
    yield "arguments fit", float(now.required <= len(then.parameters) <= len(now.parameters))
    for kinds in SHARES:
        yield from _share(f"{kinds[0]}s kept", then.of(*kinds), now.of(*kinds))
    yield from _share("parts kept", then.of(), now.of())
    added = then.of() - before.of() if before else then.of()
    yield from _share("added parts kept", added, now.of())
    if before:
        yield from _share("replaced parts back", before.of() - then.of(), now.of())


def _of_wording(
    asked: Requirement, then: Version, now: Version, since: Sequence[Version]
) -> Iterator[tuple[str, float]]:
    """Whether what the instruction names was, and still is, in the code."""
    raised = [_raised(version) & set(asked.raises) for version in since]
    yield from _share("asked errors raised", set.union(*raised), _raised(now))
    quoted = [{m for m in asked.messages if m in version.code} for version in since]
    yield from _share("asked messages there", set.union(*quoted), _holding(asked.messages, now))
    returned = _returned(then) & _literals(asked.returns)
    yield from _share("asked values returned", returned, _returned(now))


def _share(name: str, then: Parts | set[str], now: Parts | set[str]) -> Iterator[tuple[str, float]]:
    """The share of ``then`` that is in ``now``; nothing where there was nothing to keep."""
    was = Counter(then)
    if was:
        yield name, (was & Counter(now)).total() / was.total()


def _raised(version: Version) -> set[str]:
    parts = version.reading.of("raise") if version.reading else Counter()
    return {part.text for part in parts}


def _holding(messages: Iterable[str], version: Version) -> set[str]:
    return {message for message in messages if message in version.code}


def _returned(version: Version) -> set[str]:
    """Literals that are returned, in a form in which equal ones are equal."""
    parts = version.reading.of("return") if version.reading else Counter()
    return _literals(part.text.removeprefix("return").strip() for part in parts)


def _literals(texts: Iterable[str]) -> set[str]:
    literals = set()
    for text in texts:
        try:
            literals.add(repr(ast.literal_eval(text)))
        except (ValueError, SyntaxError):
            continue
    return literals
