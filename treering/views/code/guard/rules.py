"""Rules that an undone change meets: each looks at one earlier change of a definition and one now.

The paper's rule (eq. 9) flags a change that deletes what a round added or adds what it deleted.
People rewrite freely, so more is asked for here. What is lost must bear behaviour, it must be this
change that loses it, and it must not turn up elsewhere in the change. Then either something goes
back (the definition is what it was, much of what was replaced returns, a name has its former
value, two steps their former order), or something is left out: an error, or an addition whose
surroundings stay and in whose place nothing stands that could be it in another form.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import combinations

from treering.views.code.guard.difference import (
    Arrivals,
    Difference,
    RuleFinding,
    only_behaviour,
    parts_of,
    standing_in,
)  # fmt: skip
from treering.views.code.guard.forms import (
    callee,
    is_constant,
    is_instead,
    is_set,
    last_name,
    name_of,
    operands,
    same_value,
    setting,
    shape,
    words,
)  # fmt: skip
from treering.views.code.parse.parts import CodePart, PartKind, Parts
from treering.views.code.parse.pieces import CodePiece
from treering.views.code.rounds.history import EarlierChange

TELLING: frozenset[PartKind] = frozenset({"guard", "raise", "branch", "default", "decorator"})
"""One such part that goes back is enough; of returns, calls and effects it takes ``SEVERAL``, for
single ones come and go with every rewrite."""
SEVERAL = 3

GOES_BACK = 0.5
"""The least share of what a round replaced that returns, and of what it brought that goes: from
here on a definition is nearer to what it was before the round than to what it was after it."""

ADDITIONS: tuple[PartKind, ...] = (
    "branch", "decorator", "scope", "finally", "step", "option", "filter",
)  # fmt: skip
"""Kinds that are missed where they are just gone. Calls and returns are not: a rewriting has
others."""

ALONE: tuple[PartKind, ...] = ("scope", "decorator", "option", "filter")
"""Kinds of which each part is missed by itself: one that is gone says nothing of the others."""

STRUCTURE: tuple[PartKind, ...] = ("branch", "decorator", "scope", "finally")
"""Of these each can stand for the whole: a retry that is a decorator now needs no ``sleep``."""

SURVIVES = 0.5
"""At least this share of the rest must still be there: whoever writes a definition anew has
thought of another way to do it."""

_ENDS: tuple[PartKind, ...] = ("raise", "return")
_CATCHES = ("except", "catch", "rescue")
_TELLS = re.compile(r"\b(log|logger|logging|console|print|warnings|debug)\b")
"""Calls that only tell somebody: they may come and go."""

_Pair = tuple[CodePart, CodePart]
_Rule = Callable[[], tuple[Parts, Parts]]


class Comparison:
    """One earlier change of a definition, and one now, by rules that each give evidence."""

    def __init__(
        self,
        earlier: EarlierChange,
        old: CodePiece,
        new: CodePiece,
        arrivals: Arrivals,
        turned: Sequence[_Pair],
    ) -> None:
        self._earlier, self._old, self._new = earlier, old, new
        self._turned = turned
        self._arrived = arrivals.parts
        states = (earlier.before, earlier.after, old, new)
        bags = [parts_of(state) for state in states]
        self._all = Difference(bags, arrivals.parts)
        # An import that goes is no loss by itself: what used it went.
        for part in [part for part in self._all.lost if part.kind == "import"]:
            del self._all.lost[part]
        # The same by behaviour alone: details come and go with every rewrite, and would hide that
        # what a definition does is what it did. A class or file has no behaviour, only details.
        behaviour = [only_behaviour(bag) for bag in bags] if new.is_function else [Counter()] * 4
        self._behaviour = Difference(behaviour, only_behaviour(arrivals.parts))
        # What other definitions gain, and which are new: a lost part may be in one of them.
        self._elsewhere = arrivals.parts - self._all.fresh
        self._helpers = arrivals.names.get(new.path, frozenset())

    def broken(self) -> dict[str, RuleFinding]:
        """The rules that hold by name, with what each found."""
        rules: dict[str, _Rule] = {
            "as before": self._as_before,
            "much returns": self._much_returns,
            "an error is dropped": self._error_dropped,
        }
        if self._earlier.before is not None:
            rules |= {
                "all returns": self._all_returns,
                "a value is set back": self._set_back,
                "an addition is gone": self._addition_gone,
                "steps are turned back": self._reordered,
            }
        found = {name: self._standing(*rule()) for name, rule in rules.items()}
        return {name: finding for name, finding in found.items() if finding.lost}

    def _standing(self, lost: Parts, back: Parts) -> RuleFinding:
        """Bags of parts as they stand in the code, an order of steps first: it is of no node."""
        order = [part for part in lost if part.kind == "order"]
        there = standing_in(self._old, lost)
        return RuleFinding((*order, *there), tuple(standing_in(self._new, back)))

    def _as_before(self) -> tuple[Parts, Parts]:
        """The definition is what it was before the earlier change."""
        behaviour, every = self._behaviour, self._all
        if behaviour.lost and behaviour.before == behaviour.now and not self._is_held(behaviour):
            return behaviour.lost, behaviour.back
        if every.lost and every.before == every.now and self._earlier.before is not None:
            return every.lost, every.replaced & every.now
        return Counter(), Counter()

    def _is_held(self, behaviour: Difference) -> bool:
        """Whether calls alone are lost and something new is held: ``with`` for ``close()``."""
        return not _is_telling(behaviour.lost) and any(
            part.kind in ("scope", "decorator") for part in self._all.fresh
        )

    def _much_returns(self) -> tuple[Parts, Parts]:
        """What was replaced has returned in the place of what was brought."""
        states = self._behaviour
        telling = all(
            any(part.kind in TELLING for part in bag) for bag in (states.back, states.lost)
        )
        holds = (
            states.lost
            and (telling or states.back.total() >= SEVERAL)
            and states.back.total() >= GOES_BACK * states.replaced.total()
            and states.lost.total() >= GOES_BACK * states.came.total()
        )
        return (states.lost, states.back) if holds else (Counter(), Counter())

    def _error_dropped(self) -> tuple[Parts, Parts]:
        """An error, raised or caught, that is no longer, on no condition, nor another instead."""
        # What a commit that created a definition had in it may have been there for no reason.
        if self._earlier.before is None and self._earlier.origin == "commit":
            return Counter(), Counter()
        states, dropped = self._behaviour, Counter[CodePart]()
        arrived = only_behaviour(self._arrived)
        for is_error in (_is_raise, _is_catch):
            left = {part for part in (*states.now, *arrived) if is_error(part)}
            fewer = _count(states.now, is_error) < _count(states.then, is_error)
            gone = {
                part: n for part, n in states.lost.items() if is_error(part) and part not in left
            }
            if fewer and (is_error is _is_raise or not left):
                dropped += Counter(gone)
        return dropped, Counter()

    def _all_returns(self) -> tuple[Parts, Parts]:
        """All that it replaced is back, and all that it brought is gone."""
        states = self._all
        whole = states.replaced == states.back and states.lost == states.came
        telling = any(map(words, states.back)) and any(map(words, states.lost))
        return (states.lost, states.back) if whole and telling else (Counter(), Counter())

    def _set_back(self) -> tuple[Parts, Parts]:
        """A name has its former value, wherever it is set now, or what has returned tells it."""
        states = self._all
        returned = states.fresh + self._elsewhere
        former = {name_of(part): part for part in states.replaced if is_set(part)}
        lost: Parts = Counter()
        for part in states.lost:
            if not is_set(part) or (part.kind == "option" and not is_constant(part)):
                continue
            was = former.get(name_of(part))
            if was is not None and any(same_value(new, was, part) for new in returned):
                lost[part] = states.lost[part]
        values = {setting(part) for part in former.values()}
        back = Counter(part for part in states.fresh if is_set(part) and setting(part) in values)
        return lost, back

    def _addition_gone(self) -> tuple[Parts, Parts]:
        """Additions that are gone, with nothing in their place."""
        if not self._keeps_the_rest():
            return Counter(), Counter()
        came = self._all.came
        added = [part for part in came if self._is_addition(part)]
        gone = {part for part in added if self._is_gone(part)}
        structure = {part for part in added if part.kind in STRUCTURE}
        if any(self._all.lost[part] for part in structure - gone):
            # It is there in another form, of which the rest may be part.
            added = [part for part in added if part in structure]
        lost: Parts = Counter()
        for kind in ADDITIONS:
            brought = {part for part in added if part.kind == kind}
            if kind in ALONE:
                brought &= gone
            if brought <= gone:
                lost += Counter({part: came[part] for part in brought})
        return lost, Counter()

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
        if part.kind not in ADDITIONS or _TELLS.search(part.text):
            return False
        if part.kind == "option":
            options = [old for old in self._all.replaced if old.kind == "option"]
            return self._is_plain_option(part) and name_of(part) not in map(name_of, options)
        if part.kind == "branch" and part.text.startswith("if "):
            return False  # the filter of a comprehension is a part of its own
        return not any(is_instead(part, old, here=True) for old in self._all.replaced)

    def _is_plain_option(self, part: CodePart) -> bool:
        """Whether an option is a constant, of a call that is still made."""
        now = self._all.now
        is_called = any(other.kind == "call" and other.text == callee(part) for other in now)
        return is_called and is_constant(part)

    def _is_gone(self, part: CodePart) -> bool:
        if not self._all.lost[part]:
            return False
        if part.kind == "filter" and not self._goes_through(callee(part)):
            return False
        if part.kind == "branch" and self._is_weaker(part):
            return True
        if part.kind == "branch" and self._has_consequences():
            return False
        here = any(is_instead(part, other, here=True) for other in self._new_parts)
        return not here and not any(
            is_instead(part, other, here=False) for other in self._elsewhere
        )

    def _goes_through(self, iterable: str) -> bool:
        """Whether a comprehension goes through what the lost filter was of, now without one."""
        now = self._all.now
        return any(part.kind == "iteration" and part.text == iterable for part in now) and not any(
            part.kind == "filter" and callee(part) == iterable for part in self._all.fresh
        )

    def _has_consequences(self) -> bool:
        """Whether an error or result that was brought is still there: under another condition.

        One that puts what the earlier change replaced in another form is of no new condition.
        """
        replaced = [part for part in self._all.replaced.elements() if part.kind in _ENDS]
        for part in (self._all.came - self._all.lost).elements():
            if part.kind in _ENDS:
                former = [old for old in replaced if words(old) & words(part)]
                if not former:
                    return True
                replaced.remove(former[0])
        return False

    def _is_weaker(self, part: CodePart) -> bool:
        """Whether a condition is there of which one case is gone."""
        cases = operands(part)
        covered = {case for some in self._conditions_left if some < cases for case in some}
        return bool(covered) and covered != cases

    # Made once: each of thousands of lost parts is compared with all of these.
    @cached_property
    def _conditions_left(self) -> list[frozenset[str]]:
        """The cases of each condition that is new."""
        return [operands(other) for other in self._all.fresh if other.kind == "branch"]

    @cached_property
    def _new_parts(self) -> list[CodePart]:
        """What can be instead of a part: no step that is there anyway, or was moved."""
        then, came = self._all.then, self._all.came
        steps = {last_name(old) for old in then if old.kind == "step" and old not in came}
        there = steps | self._helpers
        return [
            part for part in self._all.fresh if part.kind != "step" or last_name(part) not in there
        ]

    def _reordered(self) -> tuple[Parts, Parts]:
        """Two steps are in their former order again."""
        orders: Parts = Counter()
        if not self._turned:
            return orders, Counter()
        before, after = _places(self._earlier.before), _places(self._earlier.after)
        there = before.keys() & after.keys()
        for first, second in self._turned:
            earlier_step, other = first.text, second.text
            if (
                {earlier_step, other} <= there
                and after[earlier_step] < after[other]
                and before[other] < before[earlier_step]
            ):
                line = first.first_line
                orders[CodePart("order", f"{earlier_step} before {other}", line, line)] = 1
        return orders, Counter()


def turned_steps(old: CodePiece, new: CodePiece) -> list[_Pair]:
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


def _places(piece: CodePiece | None) -> dict[str, int]:
    """On which place each step stands that is there once."""
    return {part.text: place for place, part in enumerate(_steps(piece))}


def _steps(piece: CodePiece | None) -> list[CodePart]:
    """The steps that are there once, in their order."""
    steps = [part for part in piece.parts() if part.kind == "step"] if piece is not None else []
    count = Counter(part.text for part in steps)
    return [part for part in steps if count[part.text] == 1]


def _is_raise(part: CodePart) -> bool:
    return part.kind == "raise" and bool(part.text)


def _is_catch(part: CodePart) -> bool:
    return part.kind == "branch" and part.text.startswith(_CATCHES)


def _is_telling(parts: Parts) -> bool:
    return any(part.kind in TELLING for part in parts)


def _count(parts: Parts, counts: Callable[[CodePart], bool]) -> int:
    return sum(n for part, n in parts.items() if counts(part))
