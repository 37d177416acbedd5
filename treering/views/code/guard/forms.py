"""Parts in another form: when one part can replace another, and the names that a part is about."""

from __future__ import annotations

import re
from functools import lru_cache

from treering.views.code.parse.parts import CodePart

_WORD = re.compile(r"[^\W\d]\w*")
_PARAMETER = re.compile(r"\bp\d+\b")
_EITHER = re.compile(r" (?:or|and|\|\||&&) ")
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
}
"""The kinds that can replace a kind in another form, with any names."""


def is_instead(lost: CodePart, new: CodePart, *, here: bool) -> bool:
    """Whether a new part can be a lost one in another form; ``here``: in the same definition."""
    about, is_form = words(lost), new.kind in _FORMS.get(lost.kind, ())
    if about & words(new):
        return True
    if not is_form:
        return False
    if lost.kind == "step":
        return here
    if lost.kind == "branch":  # parameters have other numbers in another function
        return bool(_parameters(lost) & _parameters(new)) if here else not about
    return True


def same_value(part: CodePart, was: CodePart, is_: CodePart) -> bool:
    """Whether a part sets what ``was`` set, or has its value where that is hardly so by chance."""
    if part.kind == "setting" and part.text == was.text:
        return True
    if part.kind == "setting" and _value(part) == _value(was) and _is_particular(_value(was)):
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
    """The last name of a call, without its receiver."""
    return part.text.rpartition(" . ")[2]


@lru_cache(maxsize=1 << 14)  # each part is compared with many others
def words(part: CodePart) -> frozenset[str]:
    """The names that say what a part is about; of a call the last one, of a setting its name."""
    text = part.text
    if part.kind in ("step", "call", "finally"):
        text = last_name(part)
    elif part.kind == "setting":
        text = name_of(part)
    names = frozenset(_WORD.findall(text)) - _SYNTAX
    return frozenset(word for word in names if not _PARAMETER.fullmatch(word))


def name_of(part: CodePart) -> str:
    """The name of a setting, ``name = value``."""
    return part.text.partition(" = ")[0]


def _parameters(part: CodePart) -> frozenset[str]:
    return frozenset(_PARAMETER.findall(part.text))


def _value(part: CodePart) -> str:
    return part.text.partition(" = ")[2]


def _is_particular(value: str) -> bool:
    """Whether a value is hardly the same by chance: a pattern, a product, a call with arguments."""
    return len(value.split()) > 2 or len(value) > 5
