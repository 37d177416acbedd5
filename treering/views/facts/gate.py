"""Whether a sentence can state anything at all, seen at once: most sentences cannot. No I/O.

It has to name whom or what it is about, and to have a word of some form, or of a turn of phrase
that brings one. The words come from the tables of forms and turns of phrase, so a new row brings
its own along.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from treering.views.facts.form import Form
from treering.views.facts.forms import FORMS
from treering.views.facts.framing import FRAMED
from treering.views.facts.left_out import LEAVING_OUT, may_leave_out
from treering.views.facts.literals import names_oneself
from treering.views.facts.names import NAMING
from treering.views.facts.open_forms import RELATIVE
from treering.views.facts.paraphrase import Paraphrase
from treering.views.facts.paraphrases import PARAPHRASES
from treering.views.facts.phrases import NAME, ONESELF, OTHER, STARTS, SUBJECT
from treering.views.facts.tokens import has_any, telling, words
from treering.views.facts.verbs import word_set
from treering.views.facts.wording import CONTRACTED

_WORD = re.compile(r"\w+")
_SUBJECTS: Final = (SUBJECT, ONESELF, OTHER)
_OF_ONESELF: Final = frozenset(["i", "we", "my", "our", "me"])
_OF_THINGS: Final = frozenset(["the", "it", "his", "her", "its"])
"""What clauses are read by beside names: "the Raleigh was stolen", "it's Harlow now"."""


def _without_subject(forms: Iterable[Form]) -> list[Form]:
    """The forms that find what they are about without a name or a word for oneself."""
    return [form for form in forms if not form.expression.startswith(_SUBJECTS)]


def _telling_hints(forms: Iterable[Form]) -> frozenset[str]:
    return telling(hint for form in forms for hint in form.hints if _WORD.search(hint))


_HINTS: Final = frozenset(hint for form in _without_subject(FORMS) for hint in form.hints)
_SIGNS: Final = tuple(hint for hint in _HINTS if not _WORD.search(hint))
"""Hints that are no words, such as a colon."""

_WORDS: Final = _OF_ONESELF.union(
    _OF_THINGS, *(_WORD.findall(hint)[:1] for hint in _HINTS.difference(_SIGNS))
)

_BARE: Final = [form for form in _without_subject(FORMS) if not names_oneself(form.expression)]
_OF_BARE: Final = _telling_hints(_BARE)
_OF_FORMS: Final = _telling_hints(
    form for form in FORMS if form.expression.startswith((SUBJECT, OTHER))
)
"""Words of which a sentence that names neither its speaker nor theirs must have one."""

_NAMED = re.compile(NAME)
_TELLING: Final = _OF_ONESELF | word_set("us name")
_RELATIVES: Final = frozenset(words(who)[0] for who in RELATIVE.split("|"))
_GOING_ON: Final = ("It", "it", "He", "She", "Now", "now")
"""How a sentence begins that may go on with what the sentence before speaks of."""

_PUT_IN: Final = ("For", "our", "Now")
"""How a sentence begins that has been put in other words already."""


_GROUP = re.compile(r"\\g<\w+>|\\\d")


def _brings_words(row: Paraphrase) -> bool:
    """Whether a turn of phrase may bring what the sentence must have and had not before."""
    plain = frozenset(words(_GROUP.sub(" ", row.plain)))
    is_telling = not row.plain or not plain.isdisjoint(_TELLING | _OF_FORMS | _OF_BARE)
    return is_telling and not names_oneself(row.expression)


_BRINGING: Final = [row for row in PARAPHRASES if _brings_words(row)]
_ROW_SIGNS: Final = frozenset(
    hint for row in _BRINGING for hint in row.hints.split() if not words(hint)
) | {"?"}
_ROWS: Final = {
    word: [row for row in _BRINGING if word in telling(filter(_WORD.search, row.hints.split()))]
    for row in _BRINGING
    for word in telling(filter(_WORD.search, row.hints.split()))
}
"""The turns of phrase that bring what a sentence must have, by a word that they are told by."""

_OF_ROWS: Final = frozenset(_ROWS)
_ALL_SIGNS: Final = tuple(_ROW_SIGNS.union(_SIGNS))
"""Signs of forms and of turns of phrase. Who asks goes on, too, so that is not left out here."""

_UNDONE = re.compile(
    r"(?:I|[Ww]e)(?:'ve| have)? (?:very |so )?(?:nearly|almost|(?:was|were) (?:about|going|meant|"
    r"supposed) to|came close to|came this close to)\b(?!.*\b(?:but|instead|then|now)\b)"
    r"|In (?:level|chapter|scene|round|season|act|episode) \w+"
    r"|In (?:the game|Monopoly|Minecraft|Catan|Skyrim|the Sims|"
    r"The Sims|Stardew Valley|Animal Crossing|Fallout|Zelda) "
)
"""What did not come about, with the rest of the sentence, which tells why; what is of a game."""


_EVER: Final = _TELLING.union(
    _OF_FORMS, _OF_BARE, _OF_ROWS, _RELATIVES, LEAVING_OUT, CONTRACTED, FRAMED
) | word_set("the it he she now")
"""A sentence without any of these words, and without signs, states nothing however it is put."""


def may_ever_state(text: str, spoken: Iterable[str]) -> bool:
    """Whether a text with these words may state anything once all is done that is done to it."""
    return not _EVER.isdisjoint(spoken) or has_any(text, _ALL_SIGNS) or not text.isascii()


def may_come_to_state(text: str, spoken: frozenset[str], *, is_casual: bool, goes_on: bool) -> bool:
    """Whether a bare sentence with these words may state anything once it is in plain wording.

    ``goes_on`` says that the sentence before is of something that "it" may stand for.
    """
    if not _TELLING.isdisjoint(spoken) or text.startswith(_PUT_IN) or has_any(text, _ALL_SIGNS):
        return True
    if text[:3] in ("The", "the") or (goes_on and text.startswith(_GOING_ON)):
        return True
    if "'s " in text and not _RELATIVES.isdisjoint(spoken):
        return True
    return (
        may_leave_out(text, spoken)
        or _may_match(text, spoken, is_casual=is_casual)
        or _may_be_put_so(text, spoken)
    )


def _may_match(text: str, spoken: frozenset[str], *, is_casual: bool) -> bool:
    """Whether a form that needs no word for oneself may match a sentence."""
    if not _OF_BARE.isdisjoint(spoken):
        return True
    if _OF_FORMS.isdisjoint(spoken):
        return False
    if is_casual and not NAMING.isdisjoint(spoken):
        return True  # what are names is found out yet
    return any(_NAMED.match(text, start.start()) for start in STARTS.finditer(text))


def _may_be_put_so(text: str, spoken: frozenset[str]) -> bool:
    """Whether a turn of phrase may bring a word for oneself, or one of a form."""
    hints = _OF_ROWS & spoken
    if not hints:
        return False
    small = text.lower()
    return not small.isascii() or any(row.may_apply(small) for hint in hints for row in _ROWS[hint])


def may_state(sentence: str) -> bool:
    """Whether a form or a clause may read anything in a sentence in plain wording."""
    if sentence[:1] in "IWw" and _UNDONE.match(sentence):
        return False
    small = sentence.lower()
    return (
        small != sentence
        or not _WORDS.isdisjoint(words(small))
        or any(sign in small for sign in _SIGNS)
    )
