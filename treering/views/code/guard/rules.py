"""Rules that an undone change meets: each compares one earlier change of a definition with now.

The paper's rule (eq. 9) flags a change that deletes statements that a round added, or adds those
that it deleted. A rewrite does that freely, so these rules ask for more. The lost part must bear
behaviour, this change must lose it, and it must not turn up elsewhere in the change. Then either
something goes back (the definition is as it was, all replaced parts return, a name has its former
value), or something is missing: an error, or an addition whose surroundings stay and that nothing
replaces in another form.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache, reduce
from operator import or_

from treering.views.code.parse.parts import BEHAVIOUR, CodePart, PartKind, Parts
from treering.views.code.parse.pieces import CodePiece, DefinitionChange
from treering.views.code.rounds.history import EarlierChange

ADDITIONS: tuple[PartKind, ...] = ("branch", "decorator", "scope", "finally", "step")
"""Kinds that are missed where they are just gone. Calls and returns are not: a rewrite has
others."""

SURVIVES = 0.5
"""At least this share of the rest must be left: a definition written from the ground up does its
work in another way."""

_TELLING: frozenset[PartKind] = frozenset({"guard", "raise", "branch", "default", "decorator"})
_CATCHES = ("except", "catch", "rescue")
_LOGS = re.compile(r"\b(log|logger|logging|console|print|warnings|debug)\b")
"""Calls that only report: they may come and go."""

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

_NOTHING: Parts = Counter()


def arrived_parts(changes: Iterable[DefinitionChange]) -> Parts:
    """The parts that a change brings anywhere: what one definition loses may be in another one."""
    parts: Parts = Counter()
    for change in changes:
        parts += parts_of(change.after) - parts_of(change.before)
    return parts


def parts_in_order(piece: CodePiece, parts: Parts) -> list[CodePart]:
    """The parts of a bag as they follow each other in a piece."""
    left, ordered = Counter(parts), []
    for part in piece.parts():
        if left[part] > 0:
            left[part] -= 1
            ordered.append(part)
    return ordered


def parts_of(piece: CodePiece | None) -> Parts:
    """All compared parts of a piece, without order."""
    return Counter(piece.parts()) if piece is not None else Counter()


def _only(belongs: Callable[[CodePart], bool], parts: Parts) -> Parts:
    return Counter({part: n for part, n in parts.items() if belongs(part)})


def _only_behaviour(parts: Parts) -> Parts:
    return _only(lambda part: part.kind in BEHAVIOUR, parts)


class _Difference:
    """Four states of a definition: before and after the earlier change, then and now.

    The earlier change brought ``came``, as far as it was left then; of that ``lost`` is nowhere
    now. It replaced ``replaced``; of that ``back`` has returned.
    """

    def __init__(self, states: Sequence[Parts], arrived: Parts) -> None:
        before, after, then, now = states
        self.before, self.then, self.now = before, then, now
        self.came = (after - before) & then
        self.lost = self.came - now - arrived
        self.replaced = before - after
        self.back = (self.replaced - then) & now
        self.fresh = now - then


class Comparison:
    """One earlier change of a definition, and one now, by rules that each give evidence."""

    def __init__(
        self,
        earlier: EarlierChange,
        old: CodePiece,
        new: CodePiece,
        arrived: Parts,
    ) -> None:
        self._earlier, self._old, self._new = earlier, old, new
        self._arrived = arrived
        states = (earlier.before, earlier.after, old, new)
        bags = [parts_of(state) for state in states]
        self._all = _Difference(bags, arrived)
        # An import that goes is not a loss: its users went.
        for part in [part for part in self._all.lost if part.kind == "import"]:
            del self._all.lost[part]
        # The same by behaviour alone: details come and go with every rewrite, and would hide that
        # a definition does the same as before. A class or file has only details.
        behaviour = [_only_behaviour(bag) for bag in bags] if new.is_function else [Counter()] * 4
        self._behaviour = _Difference(behaviour, _only_behaviour(arrived))
        self._elsewhere = arrived - self._all.fresh

    def undone_parts(self) -> tuple[list[CodePart], list[CodePart]]:
        """The parts that are lost by one of the rules, and those that are back by it."""
        rules = [self._returns, self._error_dropped]
        if self._earlier.before is not None:
            rules += [self._set_back, self._addition_gone]
        pairs = [(lost, back) for lost, back in (rule() for rule in rules) if lost]
        lost = reduce(or_, (lost for lost, _ in pairs), _NOTHING)
        back = reduce(or_, (back for _, back in pairs), _NOTHING)
        return parts_in_order(self._old, lost), parts_in_order(self._new, back)

    def _returns(self) -> tuple[Parts, Parts]:
        """The definition is as before, or all that was replaced is back and all new is gone."""
        for states in (self._behaviour, self._all):
            whole = states.replaced == states.back and states.lost == states.came
            is_telling = any(map(_is_telling, states.back)) and any(map(_is_telling, states.lost))
            if states.lost and (states.before == states.now or (whole and is_telling)):
                return states.lost, states.back
        return _NOTHING, _NOTHING

    def _error_dropped(self) -> tuple[Parts, Parts]:
        """An error, raised or caught, that is gone, without a condition or a replacement."""
        # A commit that created a definition may have had an error in it for no reason.
        if self._earlier.before is None and self._earlier.origin == "commit":
            return _NOTHING, _NOTHING
        states, dropped = self._behaviour, Counter[CodePart]()
        arrived = _only_behaviour(self._arrived)
        for is_error in (_is_raise, _is_catch):
            left = {part for part in (*states.now, *arrived) if is_error(part)}
            fewer = _only(is_error, states.now).total() < _only(is_error, states.then).total()
            if fewer and (is_error is _is_raise or not left):
                gone = _only(is_error, states.lost)
                dropped += Counter({part: n for part, n in gone.items() if part not in left})
        return dropped, _NOTHING

    def _set_back(self) -> tuple[Parts, Parts]:
        """A name has its former value, wherever it is set now, or an error its former class."""
        states = self._all
        lost, back = _NOTHING, _NOTHING
        for is_error in (_is_raise, _is_catch):
            gone, former = (_only(is_error, parts) for parts in (states.lost, states.back))
            if gone and former:
                lost, back = lost | gone, back | former
        returned = states.fresh + self._elsewhere
        settings = {name_of(part): part for part in states.replaced if part.kind == "setting"}
        for part in states.lost:
            was = settings.get(name_of(part)) if part.kind == "setting" else None
            if was is not None and any(same_value(new, was, part) for new in returned):
                lost = lost | Counter([part])
        values = {part.text for part in settings.values()}
        return lost, back | Counter(part for part in states.fresh if part.text in values)

    def _addition_gone(self) -> tuple[Parts, Parts]:
        """Additions that are gone, with nothing in their place."""
        if not self._keeps_the_rest():
            return _NOTHING, _NOTHING
        came = self._all.came
        added = [part for part in came if self._is_addition(part)]
        gone = {part for part in added if self._is_gone(part)}
        lost: Parts = Counter()
        for kind in ADDITIONS:
            brought = {part for part in added if part.kind == kind}
            if brought <= gone:
                lost += Counter({part: came[part] for part in brought})
        return lost, _NOTHING

    def _keeps_the_rest(self) -> bool:
        rest = Counter(
            shape(part)
            for part in (self._all.then - self._all.came).elements()
            if part.kind != "return"
        )
        there = Counter(map(shape, (self._all.now + self._elsewhere).elements()))
        return (rest & there).total() >= SURVIVES * rest.total()

    def _is_addition(self, part: CodePart) -> bool:
        """Whether a part was brought, and not only put in another form."""
        if part.kind not in ADDITIONS or _LOGS.search(part.text):
            return False
        return not any(is_instead(part, old, here=True) for old in self._all.replaced)

    def _is_gone(self, part: CodePart) -> bool:
        if not self._all.lost[part]:
            return False
        if part.kind == "branch":
            # A condition of which one case is gone is there, and weaker.
            cases = operands(part)
            covered = {case for some in self._conditions_left if some < cases for case in some}
            if covered and covered != cases:
                return True
        here = any(is_instead(part, other, here=True) for other in self._new_parts)
        return not here and not any(
            is_instead(part, other, here=False) for other in self._elsewhere
        )

    # Made once: each of thousands of lost parts is compared with all of these.
    @cached_property
    def _conditions_left(self) -> list[frozenset[str]]:
        """The cases of each condition that is new."""
        return [operands(other) for other in self._all.fresh if other.kind == "branch"]

    @cached_property
    def _new_parts(self) -> list[CodePart]:
        then, came = self._all.then, self._all.came
        steps = {last_name(old) for old in then if old.kind == "step" and old not in came}
        return [
            part for part in self._all.fresh if part.kind != "step" or last_name(part) not in steps
        ]


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
    # A longer value is hardly the same by chance: a pattern, a product, a call with arguments.
    value = _value(was)
    if (
        part.kind == "setting"
        and _value(part) == value
        and (len(value) > 5 or value.count(" ") > 1)
    ):
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


def _is_raise(part: CodePart) -> bool:
    return part.kind == "raise" and bool(part.text)


def _is_catch(part: CodePart) -> bool:
    return part.kind == "branch" and part.text.startswith(_CATCHES)


def _is_telling(part: CodePart) -> bool:
    """Whether a part is enough to say what a definition does: numbers alone come and go."""
    return part.kind in _TELLING or bool(words(part))
