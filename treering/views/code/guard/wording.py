"""What an instruction asks for, as far as its wording says: errors, messages, values, form.

Only general words of programming are read. An instruction that asks for nothing but form (type
annotations, style, complexity, documentation) has no behaviour that a change could undo.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

RequirementKind = Literal["base", "raises", "returns", "form", "other"]

TOPICS: tuple[tuple[str, str], ...] = (
    ("annotations", r"\bannotat|\btype hints?\b"),
    ("style", r"\bPEP ?8\b|\bstyle\b|\blint|\bnaming conventions?\b|\bformatt"),
    ("complexity", r"\bcyclomatic\b|\bcomplexity\b"),
    ("documentation", r"\bdocstrings?\b|\bcomment"),
    ("extension", r"\bextend|\badditional\b|\boptional"),
    ("errors", r"\braise|\bexception|\berrors?\b"),
    ("edges", r"\bedge cases?\b|\bempty\b|\bcorrectly handle\b"),
)
"""What instructions are about, and the words that tell."""

FORM = frozenset({"annotations", "style", "complexity", "documentation"})

EXCEPTION = re.compile(r"\b[A-Z]\w*(?:Error|Exception|Warning|Exit|Interrupt|Iteration)\b")
RETURNING = re.compile(r"\b[Rr]eturn(?:s|ing)?\b(.*?)(?:\b(?:if|when|for|as|since|where)\b|[.;]|$)")
QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"|`([^`]+)`")
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?\b")

VALUES: tuple[tuple[str, str], ...] = (
    (r"\bempty (?:list|array|matrix)\b", "[]"),
    (r"\bempty string\b", "''"),
    (r"\bempty dict", "{}"),
    (r"\bempty tuple\b", "()"),
    (r"\bempty set\b", "set()"),
    (r"\bNone\b", "None"),
    (r"\bTrue\b", "True"),
    (r"\bFalse\b", "False"),
    (r"\bzero\b", "0"),
)
"""Values that are written in words, as Python literals."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One instruction, read.

    ``raises`` are names of exceptions; ``messages`` quoted texts of several words, where an error
    is asked for; ``returns`` literals that are to be returned; ``unchanged`` whether an argument
    is to be returned as it came; ``topics`` the keys of ``TOPICS`` that apply.
    """

    text: str
    raises: tuple[str, ...]
    messages: tuple[str, ...]
    returns: tuple[str, ...]
    unchanged: bool
    topics: frozenset[str]

    @property
    def kind(self) -> RequirementKind:
        """What sort of evidence can tell that it is lost."""
        if self.raises:
            return "raises"
        if self.returns or self.unchanged:
            return "returns"
        return "form" if self.topics and self.topics <= FORM else "other"


def read_instruction(instruction: str) -> Requirement:
    """Read ``instruction``."""
    raises = tuple(dict.fromkeys(EXCEPTION.findall(instruction)))
    quoted = [a or b or c for a, b, c in QUOTED.findall(instruction)]
    topics = frozenset(t for t, words in TOPICS if re.search(words, instruction, re.IGNORECASE))
    formal = not raises and bool(topics & {"annotations"})
    promised = "" if formal else " ".join(RETURNING.findall(instruction))
    return Requirement(
        text=instruction,
        raises=raises,
        messages=tuple(q for q in quoted if " " in q) if raises else (),
        returns=_values(promised),
        unchanged=bool(re.search(r"\boriginal\b|\bunchanged\b", promised)),
        topics=topics,
    )


def _values(promised: str) -> tuple[str, ...]:
    """The literals named in ``promised``, words and quotes included."""
    values = [value for words, value in VALUES if re.search(words, promised)]
    values += [repr(a or b or c) for a, b, c in QUOTED.findall(promised)]
    values += NUMBER.findall(QUOTED.sub("", promised))
    return tuple(dict.fromkeys(values))
