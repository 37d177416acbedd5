"""Whether a plain sentence can state anything at all, seen at once: most sentences cannot. No I/O.

It has to name whom or what it is about. That is a name or "I", which are written with a capital, a
word such as "my", or what a form without a subject of its own looks for. Whatever forms and clauses
read has one of these, so nothing is lost, and a new form brings its own words along.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from treering.views.facts.form import Form
from treering.views.facts.forms import FORMS
from treering.views.facts.phrases import ONESELF, OTHER, SUBJECT

_WORD = re.compile(r"\w+")
_SUBJECTS: Final = (SUBJECT, ONESELF, OTHER)
_OF_ONESELF: Final = frozenset(["i", "we", "my", "our", "me"])
_OF_THINGS: Final = frozenset(["the", "it", "his", "her", "its"])
"""What clauses are read by beside names: "the Raleigh was stolen", "it's Harlow now"."""


def _without_subject(forms: Iterable[Form]) -> list[Form]:
    """The forms that find what they are about without a name or a word for oneself."""
    return [form for form in forms if not form.expression.startswith(_SUBJECTS)]


_HINTS: Final = frozenset(hint for form in _without_subject(FORMS) for hint in form.hints)
_SIGNS: Final = tuple(hint for hint in _HINTS if not _WORD.search(hint))
"""Hints that are no words, such as a colon."""

_WORDS: Final = _OF_ONESELF.union(
    _OF_THINGS, *(_WORD.findall(hint)[:1] for hint in _HINTS.difference(_SIGNS))
)

_UNDONE = re.compile(
    r"(?:I|[Ww]e)(?:'ve| have)? (?:very |so )?(?:nearly|almost|(?:was|were) (?:about|going|meant|"
    r"supposed) to|came close to|came this close to)\b(?!.*\b(?:but|instead|then|now)\b)"
    r"|In (?:level|chapter|scene|round|season|act|episode) \w+"
    r"|In (?:the game|Monopoly|Minecraft|Catan|Skyrim|the Sims|"
    r"The Sims|Stardew Valley|Animal Crossing|Fallout|Zelda) "
)
"""What did not come about, with the rest of the sentence, which tells why; what is of a game."""


def may_state(sentence: str) -> bool:
    """Whether a form or a clause may read anything in a sentence in plain wording."""
    if sentence[:1] in "IWw" and _UNDONE.match(sentence):
        return False
    small = sentence.lower()
    return (
        small != sentence
        or not _WORDS.isdisjoint(_WORD.findall(small))
        or any(sign in small for sign in _SIGNS)
    )
