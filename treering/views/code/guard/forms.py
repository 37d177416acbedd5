"""Parts in another form: when one part can be what another one was, and what a part is about."""

from __future__ import annotations

import re
from functools import lru_cache

from treering.views.code.parse.parts import CodePart

MOST_CALLS = 4
"""Calls that are taken off one value at once, at most."""

_WORD = re.compile(r"[^\W\d]\w*")
_PARAMETER = re.compile(r"\bp\d+\b")
_EITHER = re.compile(r" (?:or|and|\|\||&&) ")
_CONSTANT = re.compile(r"""-? ?[\d.]+|"[^"]*"|'[^']*'|True|False|None|[A-Z_][A-Z_\d]*[A-Z\d]""")
_TEXT = re.compile(r"""(?:"[^"]{4,}"|'[^']{4,}')""")
_SYNTAX = frozenset(
    {
        *("_", "self", "this", "if", "elif", "else", "not", "and", "or", "in", "is", "return"),
        *("while", "for", "with", "except", "catch", "finally", "await", "async", "as", "None"),
        *("True", "False", "null", "nil", "true", "false", "new", "lambda"),
    }
)
_FORMS: dict[str, frozenset[str]] = {
    "branch": frozenset({"branch", "guard"}),
    "decorator": frozenset({"decorator"}),
    "scope": frozenset({"scope", "finally", "decorator"}),
    "finally": frozenset({"scope", "finally", "decorator"}),
    "step": frozenset({"step", "scope", "finally", "decorator"}),
    "option": frozenset({"option"}),
    "filter": frozenset({"filter", "branch", "guard"}),
}
"""Kinds of which any can be the other in another form, whatever it names."""

_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")


def is_instead(lost: CodePart, new: CodePart, *, here: bool) -> bool:
    """Whether a new part can be a lost one in another form; ``here``: in the same definition."""
    about, is_form = words(lost), new.kind in _FORMS.get(lost.kind, ())
    if lost.kind == "filter":  # the rest of its statement has the same names
        return is_form and bool(about & words(new))
    if about & words(new):
        return True
    if not is_form:
        return False
    if lost.kind == "step":
        return here
    if lost.kind == "option":
        return callee(lost) == callee(new)
    if lost.kind == "branch":  # parameters have other numbers in another function
        return bool(_parameters(lost) & _parameters(new)) if here else not about
    return True


def same_value(part: CodePart, was: CodePart, is_: CodePart) -> bool:
    """Whether a part sets what ``was`` set, or has its value where that is hardly so by chance."""
    if is_set(part) and setting(part) == setting(was):
        return True
    if is_set(part) and _value(part) == _value(was) and _is_particular(_value(was)):
        return True
    literals = set(_TEXT.findall(was.text)) - set(_TEXT.findall(is_.text))
    return bool(literals & set(_TEXT.findall(part.text)))


def operands(part: CodePart) -> frozenset[str]:
    """The cases that a condition joins by "and" or "or"."""
    return frozenset(_EITHER.split(part.text))


def shape(part: CodePart) -> tuple[str, str]:
    """A part as it is known again after names have changed: of a call its last name."""
    if part.kind in ("step", "call", "effect"):
        return part.kind, last_name(part)
    return part.kind, _PARAMETER.sub("_", part.text)


def last_name(part: CodePart) -> str:
    """What is called, without what it is looked up on."""
    return part.text.rpartition(" . ")[2]


@lru_cache(maxsize=1 << 14)  # each part is compared with many others
def words(part: CodePart) -> frozenset[str]:
    """The names that say what a part is about; of a call the last one, of an option its name."""
    text = part.text
    if part.kind in ("step", "call", "finally"):
        text = last_name(part)
    elif part.kind in ("option", "setting"):
        text = name_of(part)
    names = frozenset(_WORD.findall(text)) - _SYNTAX
    return frozenset(word for word in names if not _PARAMETER.fullmatch(word))


def is_set(part: CodePart) -> bool:
    """Whether a part gives a name a value."""
    return part.kind in ("setting", "option")


def name_of(part: CodePart) -> str:
    """The name that a part gives a value."""
    return setting(part).partition(" = ")[0]


def callee(part: CodePart) -> str:
    """What an option is given to, or a filter is of."""
    return part.text.partition(" ( ")[0]


def setting(part: CodePart) -> str:
    """``name = value``, of a call's option too."""
    return part.text.partition(" ( ")[2].removesuffix(" )") if part.kind == "option" else part.text


def is_constant(part: CodePart) -> bool:
    """Whether a name is set to a number, a text or the name of a constant."""
    return _CONSTANT.fullmatch(_value(part)) is not None


def taken_off(then: str, now: str) -> frozenset[str]:
    """The names of the calls without which the statement ``then`` is the statement ``now``.

    ``return round ( x , 2 )`` is ``return x`` without ``round``, ``x . strip ( ) . lower ( )`` is
    ``x`` without ``strip`` and ``lower``. Empty where they differ in anything else.
    """
    old, new = then.split(" "), now.split(" ")
    if len(old) <= len(new):
        return frozenset()
    shared = next((i for i, token in enumerate(new) if old[i] != token), len(new))
    for start in range(shared, -1, -1):
        names = _behind(old, new, start) or _around(old, new, start)
        if names:
            return names
    return frozenset()


def _behind(old: list[str], new: list[str], start: int) -> frozenset[str]:
    """The calls in the tokens that ``old`` has at ``start`` and ``new`` has not."""
    end = start + len(old) - len(new)
    if old[end:] != new[start:]:
        return frozenset()
    names = set()
    while start < end:
        if old[start] != "." or start + 2 >= end or old[start + 2] != "(":
            return frozenset()
        names.add(old[start + 1])
        start = _after(old, start + 2)
    return frozenset(names) if start == end and len(names) <= MOST_CALLS else frozenset()


def _around(old: list[str], new: list[str], start: int) -> frozenset[str]:
    """The call around a value that ``old`` has at ``start`` and ``new`` has by itself."""
    head = start
    while head + 2 < len(old) and old[head + 1] == ".":
        head += 2
    if head + 1 >= len(old) or old[head + 1] != "(" or not _WORD.fullmatch(old[head]):
        return frozenset()
    end = _after(old, head + 1)
    rest = len(old) - end
    inner = new[start : len(new) - rest]
    same_rest = rest == 0 or old[end:] == new[len(new) - rest :]
    begins = old[head + 2 : head + 2 + len(inner)] == inner
    follows = old[head + 2 + len(inner)] if head + 2 + len(inner) < end else ""
    whole = inner and same_rest and begins and follows in (",", ")")
    return frozenset({old[head]}) if whole else frozenset()


def _after(tokens: list[str], opening: int) -> int:
    """The place after the bracket that closes the one at ``opening``."""
    depth = 0
    for place in range(opening, len(tokens)):
        depth += (tokens[place] in _OPEN) - (tokens[place] in _CLOSE)
        if not depth:
            return place + 1
    return len(tokens)


def _parameters(part: CodePart) -> frozenset[str]:
    return frozenset(_PARAMETER.findall(part.text))


def _value(part: CodePart) -> str:
    return setting(part).partition(" = ")[2]


def _is_particular(value: str) -> bool:
    """Whether a value is hardly the same by chance: a pattern, a product, a call with arguments."""
    return len(value.split()) > 2 or len(value) > 5
