"""Which earlier change does a change leave out, though it goes back to nothing?

``treering.code.guard`` tells what returns to a former state. A fix that only added something (a
lock, a guard that returns early, a call that flushes, a decorator) has replaced nothing that could
return: it is left out where a change drops all of what it brought of one kind, keeps most of the
rest, and puts nothing in its place that could be it in another form.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from treering.code.behaviour import Part, PartKind, Parts
from treering.code.changes import DefinitionChange, Piece
from treering.code.details import Come, bag, details
from treering.code.guard import Brought, Undone, as_undone, standing, undone

ADDITIONS: tuple[PartKind, ...] = ("branch", "decorator", "scope", "finally", "step", "option")
"""Kinds that are missed where they are just gone. Calls and returns are not: a rewriting has
others."""

ALONE: tuple[PartKind, ...] = ("scope", "decorator", "option")
"""Of these one says nothing of another: each is missed by itself."""

STRUCTURE: tuple[PartKind, ...] = ("branch", "decorator", "scope", "finally")
"""Of these each can stand for the whole: a retry that is a decorator now needs no ``sleep``."""

_ENDS: tuple[PartKind, ...] = ("raise", "return")

SURVIVES = 0.5
"""At least this share of the rest must still be there: whoever writes a definition anew has
thought of another way to do it."""

_Pair = tuple[Part, Part]

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
_TELLS = re.compile(r"\b(log|logger|logging|console|print|warnings|debug)\b")
"""Calls that only tell somebody: they may come and go."""


def told(
    change: DefinitionChange, history: Sequence[Brought], moved: Parts, fine: Come
) -> tuple[Undone, ...]:
    """What a change undoes, and what it leaves out of rounds that it does not undo otherwise.

    ``moved`` and ``fine`` are what the whole change brings anywhere, coarsely and in detail.
    """
    found = list(undone(change, history, moved))
    shown = {line.number for one in found for line in one.then}
    for one in left_out(change, history, fine):
        lines = {line.number for line in one.then}
        if not lines <= shown:
            found.append(one)
            shown |= lines
    return tuple(found)


def left_out(change: DefinitionChange, history: Sequence[Brought], come: Come) -> Iterator[Undone]:
    """The rounds of ``history``, oldest first, that ``change`` leaves out, newest first.

    ``come`` are the details that the whole change brings anywhere (``Come.of``).
    """
    if change.before is None or change.after is None:
        return
    old, new = change.before, change.after
    turned = _turned(old, new)
    for round_ in reversed(history):
        if round_.before is None:
            continue
        lost, back = _Comparison(round_, old, new, come, turned).result()
        if lost:
            yield as_undone(old, new, round_, _in(old, lost), _in(new, back))


class _Comparison:
    """One earlier change of a definition, and one now."""

    def __init__(
        self, round_: Brought, old: Piece, new: Piece, come: Come, turned: Sequence[_Pair]
    ) -> None:
        self._before, self._after = bag(round_.before), bag(round_.after)
        self._then, self._now = bag(old), bag(new)
        self._fresh = self._now - self._then
        self._elsewhere = come.parts - self._fresh
        self._helpers = come.names.get(new.path, frozenset())
        self._came = (self._after - self._before) & self._then
        self._lost = self._came - self._now - come.parts
        for part in [one for one in self._lost if one.kind == "import"]:
            del self._lost[part]
        self._replaced = self._before - self._after
        self._round = round_
        self._turned = turned

    def result(self) -> tuple[Parts, Parts]:
        """What is lost of the earlier change, and what has come back instead."""
        if self._lost and self._before == self._now:
            return self._lost, self._replaced & self._now
        for rule in (self._swapped, self._set_back, self._dropped, self._reordered):
            lost, back = rule()
            if lost:
                return lost, back
        return Counter(), Counter()

    def _swapped(self) -> tuple[Parts, Parts]:
        """All that it replaced is back, and all that it brought is gone."""
        back = (self._replaced - self._then) & self._now
        whole = self._replaced == back and self._lost == self._came
        telling = any(map(_words, back)) and any(map(_words, self._lost))
        return (self._lost, back) if whole and telling else (Counter(), Counter())

    def _set_back(self) -> tuple[Parts, Parts]:
        """A name has its former value, wherever it is set now, or what has returned tells it."""
        returned = self._fresh + self._elsewhere
        former = {_name(part): part for part in self._replaced if _is_set(part)}
        lost: Parts = Counter()
        for part in self._lost:
            if not _is_set(part) or (part.kind == "option" and not _is_constant(part)):
                continue
            was = former.get(_name(part))
            if was is not None and any(_has_value(one, was, part) for one in returned):
                lost[part] = self._lost[part]
        values = {_setting(part) for part in former.values()}
        back = Counter(one for one in self._fresh if _is_set(one) and _setting(one) in values)
        return lost, back

    def _dropped(self) -> tuple[Parts, Parts]:
        """Additions that are gone, with nothing in their place."""
        if not self._keeps_the_rest():
            return Counter(), Counter()
        added = [part for part in self._came if self._is_addition(part)]
        gone = {part for part in added if self._is_gone(part)}
        structure = {part for part in added if part.kind in STRUCTURE}
        if any(self._lost[part] for part in structure - gone):
            # It is there in another form, of which the rest may be part.
            added = [part for part in added if part in structure]
        lost: Parts = Counter()
        for kind in ADDITIONS:
            brought = {part for part in added if part.kind == kind}
            if kind in ALONE:
                brought &= gone
            if brought <= gone:
                lost += Counter({part: self._came[part] for part in brought})
        return lost, Counter()

    def _keeps_the_rest(self) -> bool:
        rest = Counter(
            _shape(part) for part in (self._then - self._came).elements() if part.kind != "return"
        )
        there = Counter(map(_shape, (self._now + self._elsewhere).elements()))
        return (rest & there).total() >= SURVIVES * rest.total()

    def _is_addition(self, part: Part) -> bool:
        """Whether a part was brought, and not only put in another form."""
        if part.kind not in ADDITIONS or _TELLS.search(part.text):
            return False
        if part.kind == "option":
            options = [one for one in self._replaced if one.kind == "option"]
            return self._is_plain_option(part) and _name(part) not in map(_name, options)
        if part.kind == "branch" and part.text.startswith("if "):
            return False  # the filter of a comprehension: another expression needs none
        return not any(_is_instead(part, one, here=True) for one in self._replaced)

    def _is_plain_option(self, part: Part) -> bool:
        """Whether an option is a constant, of a call that is still made."""
        made = any(one.kind == "call" and one.text == _callee(part) for one in self._now)
        return made and _is_constant(part)

    def _is_gone(self, part: Part) -> bool:
        if not self._lost[part]:
            return False
        if part.kind == "branch" and self._is_weaker(part):
            return True
        if part.kind == "branch" and self._has_consequences():
            return False
        here = any(_is_instead(part, one, here=True) for one in self._fresh if self._is_new(one))
        there = any(_is_instead(part, one, here=False) for one in self._elsewhere)
        return not (here or there)

    def _has_consequences(self) -> bool:
        """Whether an error or result that was brought is still there: under another condition.

        One that puts what the earlier change replaced in another form is of no new condition.
        """
        replaced = [part for part in self._replaced.elements() if part.kind in _ENDS]
        for part in (self._came - self._lost).elements():
            if part.kind in _ENDS:
                former = [one for one in replaced if _words(one) & _words(part)]
                if not former:
                    return True
                replaced.remove(former[0])
        return False

    def _is_weaker(self, part: Part) -> bool:
        """Whether a condition is there of which one case is gone."""
        cases = _operands(part)
        left = [_operands(one) for one in self._fresh if one.kind == "branch"]
        covered = {case for some in left if some < cases for case in some}
        return bool(covered) and covered != cases

    def _is_new(self, part: Part) -> bool:
        """Whether a part can be instead of another: no step that is there anyway, or was moved."""
        if part.kind != "step":
            return True
        name = _last(part)
        steps = {_last(one) for one in self._then if one.kind == "step" and one not in self._came}
        return name not in steps and name not in self._helpers

    def _reordered(self) -> tuple[Parts, Parts]:
        """Two steps are in their former order again."""
        found: Parts = Counter()
        if not self._turned:
            return found, Counter()
        before, after = _places(self._round.before), _places(self._round.after)
        there = before.keys() & after.keys()
        for first, second in self._turned:
            one, other = first.text, second.text
            if {one, other} <= there and after[one] < after[other] and before[other] < before[one]:
                line = first.first_line
                found[Part("order", f"{one} before {other}", line, line)] = 1
        return found, Counter()


def _is_instead(lost: Part, new: Part, *, here: bool) -> bool:
    """Whether a new part can be a lost one in another form."""
    words = _words(lost)
    if words & _words(new):
        return True
    if new.kind not in _FORMS.get(lost.kind, ()):
        return False
    if lost.kind == "step":
        return here
    if lost.kind == "option":
        return _callee(lost) == _callee(new)
    if lost.kind == "branch":  # parameters have other numbers in another function
        return bool(_parameters(lost) & _parameters(new)) if here else not words
    return True


def _operands(part: Part) -> frozenset[str]:
    return frozenset(_EITHER.split(part.text))


def _has_value(part: Part, was: Part, is_: Part) -> bool:
    """Whether a part sets what ``was`` set, or has its value where that is hardly so by chance."""
    if _is_set(part) and _setting(part) == _setting(was):
        return True
    if _is_set(part) and _value(part) == _value(was) and _is_particular(_value(was)):
        return True
    literals = set(_TEXT.findall(was.text)) - set(_TEXT.findall(is_.text))
    return bool(literals & set(_TEXT.findall(part.text)))


def _shape(part: Part) -> tuple[str, str]:
    """A part as it is known again after names have changed: of a call its last name."""
    if part.kind in ("step", "call", "effect"):
        return part.kind, _last(part)
    return part.kind, _PARAMETER.sub("_", part.text)


_FORMS: dict[str, frozenset[str]] = {
    "branch": frozenset({"branch", "guard"}),
    "decorator": frozenset({"decorator"}),
    "scope": frozenset({"scope", "finally", "decorator"}),
    "finally": frozenset({"scope", "finally", "decorator"}),
    "step": frozenset({"step", "scope", "finally", "decorator"}),
    "option": frozenset({"option"}),
}
"""Kinds of which any can be the other in another form, whatever it names."""


def _last(part: Part) -> str:
    return part.text.rpartition(" . ")[2]


def _words(part: Part) -> frozenset[str]:
    """The names that say what a part is about; of a call the last one, of an option its name."""
    text = part.text
    if part.kind in ("step", "call", "finally"):
        text = _last(part)
    elif part.kind in ("option", "setting"):
        text = _name(part)
    found = frozenset(_WORD.findall(text)) - _SYNTAX
    return frozenset(word for word in found if not _PARAMETER.fullmatch(word))


def _parameters(part: Part) -> frozenset[str]:
    return frozenset(_PARAMETER.findall(part.text))


def _is_set(part: Part) -> bool:
    return part.kind in ("setting", "option")


def _name(part: Part) -> str:
    return _setting(part).partition(" = ")[0]


def _value(part: Part) -> str:
    return _setting(part).partition(" = ")[2]


def _callee(part: Part) -> str:
    return part.text.partition(" ( ")[0]


def _setting(part: Part) -> str:
    """``name = value``, of a call's option too."""
    return part.text.partition(" ( ")[2].removesuffix(" )") if part.kind == "option" else part.text


def _is_constant(part: Part) -> bool:
    return _CONSTANT.fullmatch(_value(part)) is not None


def _is_particular(value: str) -> bool:
    """Whether a value is hardly the same by chance: a pattern, a product, a call with arguments."""
    return len(value.split()) > 2 or len(value) > 5


def _turned(old: Piece, new: Piece) -> list[_Pair]:
    """The steps, first and second, that a change puts in the other order."""
    now = _places(new)
    steps = [part for part in _steps(old) if part.text in now]
    places = [now[part.text] for part in steps]
    if places == sorted(places):  # as nearly always: no need to compare each with each
        return []
    return [
        (first, second)
        for first, second in combinations(steps, 2)
        if now[second.text] < now[first.text]
    ]


def _places(piece: Piece | None) -> dict[str, int]:
    """On which place each step stands that is there once."""
    return {part.text: place for place, part in enumerate(_steps(piece))}


def _steps(piece: Piece | None) -> list[Part]:
    """The steps that are there once, in their order."""
    steps = [part for part in details(piece) if part.kind == "step"]
    count = Counter(part.text for part in steps)
    return [part for part in steps if count[part.text] == 1]


def _in(piece: Piece, parts: Parts) -> list[Part]:
    """Where parts stand in a piece; an order is of no node, and told first."""
    return [*(part for part in parts if part.kind == "order"), *standing(details(piece), parts)]
