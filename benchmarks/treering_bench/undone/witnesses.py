"""Reads the inputs that a requirement is about from its wording.

"raise a TypeError if the input is not a list" is put to the test with a string, a number and
None; "return -1 for an empty list" with an empty list. Only general words about types, signs and
sizes are read; what they do not cover is left to the variations in ``probes``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from treering_bench.undone.probes import Arguments, literals

KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "character": (str,),
    "list": (list, tuple),
    "array": (list, tuple),
    "matrix": (list, tuple),
    "tuple": (list, tuple),
    "dictionary": (dict,),
    "integer": (int,),
    "number": (int, float),
    "numeric": (int, float),
    "numerical": (int, float),
    "float": (int, float),
}
"""Words for a type and the Python types that an example of it has."""

WRONG: dict[str, tuple[object, ...]] = {
    "string": (123, None, ["a"]),
    "character": ("ab", "", 1),
    "list": ("not a list", 123, None, (1, 2)),
    "array": ("not a list", 123, None),
    "matrix": ("not a matrix", 123, None),
    "tuple": ("not a tuple", 123, None),
    "dictionary": ("not a dictionary", 123, None),
    "integer": ("a", 3.5, None),
    "number": ("a", None, [1]),
    "numeric": ("a", None),
    "numerical": ("a", None),
    "float": ("a", None),
}
"""What a developer would first pass to provoke "not a <word>"."""

NOT_A = re.compile(
    r"\b(?:not|neither|non)[- ]?(?:\w+[ -]){0,2}?"
    r"(string|character|list|array|matrix|tuple|dictionary|integer|number|numeric|numerical|float)"
    r"(?:e?s)?\b(?: of (\w+?)s?\b)?",
    re.IGNORECASE,
)

WRONG_ELEMENTS: dict[str, tuple[object, ...]] = {
    "integer": ("a", 2.5, None),
    "number": ("a", None),
    "string": (1, None),
    "list": (1, "a"),
    "tuple": (1, "a"),
}

SITUATIONS: tuple[tuple[str, Callable[[object], tuple[object, ...]]], ...] = (
    (r"\bempty\b", lambda v: (type(v)(),) if isinstance(v, str | list | tuple | dict) else ()),
    (r"\b(?:zero|0)\b", lambda v: (0,) if isinstance(v, int | float) else ()),
    (r"\bnegative\b", lambda v: (-1, -5) if isinstance(v, int | float) else ()),
    (r"\bpositive\b", lambda v: (0, -1, -5) if isinstance(v, int | float) else ()),
    (r"\b(?:one|1|minimum|smallest)\b", lambda v: (1,) if isinstance(v, int | float) else ()),
    (r"\b(?:two|2)\b", lambda v: (2,) if isinstance(v, int | float) else ()),
    (r"\blarge\b", lambda v: (10**6, 10**12) if isinstance(v, int | float) else ()),
    (r"\b(?:single|one)\b", lambda v: (v[:1],) if isinstance(v, str | list | tuple) else ()),
    (r"\bspaces?\b", lambda v: ("   ", f" {v} ") if isinstance(v, str) else ()),
    (
        r"\b(?:identical|same|repeated|duplicates?)\b",
        lambda v: (v[:1] * 3,) if isinstance(v, str | list | tuple) else (),
    ),
    (
        r"\b(?:special|non-alphabetic|punctuation)\b",
        lambda v: (v + "!@#", v + "1") if isinstance(v, str) else (),
    ),
    (r"\bcase\b", lambda v: (v.upper(), v.lower(), v.swapcase()) if isinstance(v, str) else ()),
)
"""Words for a situation and the arguments that bring it about, given an ordinary one."""

BOUND = re.compile(r"\b(less|smaller|greater|more|larger) than (?:or equal to )?(-?\d+)")


def witnesses(instruction: str, examples: Sequence[Arguments]) -> tuple[str, ...]:
    """Argument tuples, as literal text and the likeliest first, that ``instruction`` is about."""
    made_up = (
        arguments
        for example in examples
        for arguments in _in_places(example, lambda value: _provoking(instruction, value))
    )
    return tuple(literals(made_up))


def _in_places(
    example: Arguments, provoking: Callable[[object], Sequence[object]]
) -> Iterator[Arguments]:
    for place, value in enumerate(example):
        for new in provoking(value):
            yield (*example[:place], new, *example[place + 1 :])
    if len(example) > 1:
        for new in provoking(example[0]):
            yield (new,) * len(example)


def _provoking(instruction: str, value: object) -> list[object]:
    """What to put in the place of ``value``: wrong types, then edges, then bounds."""
    new: list[object] = []
    for match in NOT_A.finditer(instruction):
        word, inner = match[1].lower(), (match[2] or "").lower()
        if isinstance(value, KINDS[word]):
            new += WRONG[word]
            if isinstance(value, list) and inner in WRONG_ELEMENTS:
                new += [[*value[:-1], wrong] for wrong in WRONG_ELEMENTS[inner]]
        elif isinstance(value, list) and word in WRONG_ELEMENTS:
            new += [[*value[:-1], wrong] for wrong in WRONG_ELEMENTS[word]]
    for words, edges in SITUATIONS:
        if re.search(words, instruction, re.IGNORECASE):
            new += edges(value)
            if isinstance(value, list) and value:
                new += [[edge, *value[1:]] for edge in edges(value[0])]
                new += [[edge] for edge in edges(value[0])]
    if isinstance(value, int | float):
        for match in BOUND.finditer(instruction):
            new.append(int(match[2]) + (-1 if match[1] in ("less", "smaller") else 1))
    return new
