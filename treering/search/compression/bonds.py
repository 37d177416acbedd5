"""Which words of a sentence stay or go together, so that a shortened text never says otherwise.

"She did not go before it rained" without "not" or "before" says something else. What denies,
excepts or bounds is therefore kept with the clause that it turns, or left out with it. A number is
kept with what it counts, a modal verb or a preposition such as "from" with its next word, and "to"
with the words on both sides.

The words are English; those that deny and except are there for ten more languages. A word that
means something else in another language costs nothing but a clause that is not shortened.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Final

Range = tuple[int, int]
"""The first of some words, and the one behind the last."""

IsContent = Callable[[str], bool]
"""Whether a word tells something by itself: it is no stop word."""


def _words(*lists: str) -> frozenset[str]:
    return frozenset(word for words in lists for word in words.split())


_TURNING: Final = _words(
    "no not never nor neither none nobody nothing nowhere noone no-one cannot",  # what denies,
    "without unless except excepting excluding only merely solely if before after until till",
    "than instead rather otherwise hardly scarcely barely rarely seldom few almost nearly",
    "maybe perhaps probably possibly allegedly supposedly formerly previously",  # bounds, or
    "hope hopes hoped wish wishes wished claim claims claimed believe believes believed",  # leaves
    "suppose supposes supposed dream dreams dreamed dreamt imagine imagines imagined",  # it open
    "nicht kein keine keinen keinem keiner nie niemals niemand nichts ohne außer nur weder kaum",
    "bevor nachdem falls sofern",  # German
    "ne pas jamais sans sauf rien aucun aucune personne seulement avant après",  # French
    "nunca jamás sin ni nada nadie ningún ninguno ninguna tampoco salvo excepto solo sólo",
    "non mai senza né niente nessuno nessuna tranne",  # Italian, after Spanish
    "não sem nem ninguém nenhum nenhuma apenas exceto",  # Portuguese
    "niet geen nooit zonder alleen slechts behalve tenzij",  # Dutch
    "nie nigdy bez tylko oprócz inte ingen aldrig utan endast",  # Polish, Swedish
    "не нет ни никогда без кроме только",  # Russian
    "لا لم لن ليس بدون إلا नहीं मत बिना सिवाय",  # Arabic, Hindi
)
_TURNING_FORM: Final = re.compile(
    r"\w+n['’]t|(?:do|does|did|is|are|was|were|ca|wo|would|could|should|has|have|had)nt"
    r"|(?:fail|refus|declin|avoid|prevent|forbid|reject|cancel|doubt|lack|pretend|ceas)"
    r"(?:|s|e|es|ed|ing|led|ling|den|ding)"
    r"|forbade|forg[eo]t(?:s|ten|ting)?|den(?:y|ies|ied|ying)|stop(?:s|ped)"
)
_LINKS: Final = _words("and or but so then even though although because that yet und et y e")
_CONTRASTS: Final = _words("but though although however whereas aber mais pero")
_COORDINATES: Final = _words("and or so then yet")
_SUBJECTS: Final = _words("i you he she it we they there this that")
_HEADS: Final = _words(
    "may might must should could would can will shall ought from against by versus"
)
"""Modal verbs and prepositions: "hit by Ben" without "by" has Ana hit him."""

_HEAD_FORM: Final = re.compile(r"\w+['’](?:ll|d)|(?:may|might|must|should|could|would)['’]?ve")
_TO: Final = "to"
"""It has the word before it, too: who wants to move, or used to live there, does not."""

_COUNTS: Final = _words(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen",
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety",
    "hundred hundreds thousand thousands million millions billion dozen dozens half",
)
_RANGES: Final = _words("and or to by x × - – times")
_QUALIFIERS: Final = _words(
    "than more less fewer at least most up to over under above below about around roughly nearly",
    "almost approximately exactly just only not no before after until till since by from between",
    "within during for in on minus plus every each",
)
_RATES: Final = _words("a an per each every")
_PLURALS: Final = _words("people men women children feet teeth mice geese sheep fish")
_DIGIT: Final = re.compile(r"\d")
_PAUSE: Final = re.compile(r"[,;:.!?…)\]。！？，、；][\"'”’]*$")
_STOP: Final = re.compile(r"[;:)\]][\"'”’]*$")
_LONGEST_NOUN: Final = 3  # "three old wooden boats"
_MOST_BETWEEN: Final = 20  # words that tell nothing, before one that does
_MOST_QUALIFIERS: Final = 4  # "from no more than 40"


def bare(word: str) -> str:
    """A word in small letters without the marks around it."""
    return word.strip(".,;:!?…\"'“”‘’()[]*_。！？，、；").lower()


def pauses(word: str) -> bool:
    """Whether a word ends with a mark, so that what follows does not belong to it."""
    return _PAUSE.search(word) is not None


def has_number(text: str) -> bool:
    """Whether there is a digit in a text."""
    return _DIGIT.search(text) is not None


def turns(word: str) -> bool:
    """Whether a word, bare, turns or bounds what is said with it."""
    return word in _TURNING or _TURNING_FORM.fullmatch(word) is not None


def bonds(sentence: Sequence[str], is_content: IsContent) -> list[bool]:
    """Whether each word of a sentence stays or goes with the one behind it."""
    names = [bare(word) for word in sentence]
    begun = [0] * (len(sentence) + 1)  # ranges that begin at a word, less those that end there
    for spans in (_turned, _headed, _counted):
        for first, last in spans(sentence, names, is_content):
            begun[first] += 1
            begun[last - 1] -= 1
    return [under_way > 0 for under_way in accumulate(begun[:-1])]


def _turned(sentence: Sequence[str], names: Sequence[str], _: IsContent) -> Iterator[Range]:
    """The clauses that a word turns, each with all that the word reaches.

    It reaches over commas, as in "no apples, pears or plums", up to a contrast or a new subject. A
    clause that begins with it, such as "unless it rains", bounds the clause before it.
    """
    clauses = list(_clauses(sentence, names))
    reached = _reached(sentence, names, clauses)
    for place, (first, last) in enumerate(clauses):
        turning = [at for at in range(first, last) if _turns_at(sentence, names, at)]
        if not turning:
            continue
        begins = all(name in _LINKS for name in names[first : turning[0]])
        start = clauses[place - 1][0] if begins and place else first
        # The last word of a clause reaches over any border.
        over = turning[-1] == last - 1 and place + 1 < len(clauses)
        yield start, reached[place + over]


def _reached(
    sentence: Sequence[str], names: Sequence[str], clauses: Sequence[Range]
) -> Sequence[int]:
    """Behind what each clause reaches: up to the next that is parted from the one before it."""
    reached = [last for _, last in clauses]
    for place in reversed(range(len(clauses) - 1)):
        if not _parted(sentence, names, clauses[place + 1][0]):
            reached[place] = reached[place + 1]
    return reached


def _turns_at(sentence: Sequence[str], names: Sequence[str], at: int) -> bool:
    too = names[at] == "too" and not pauses(sentence[at])  # "too far to row", but not "I do, too"
    return turns(names[at]) or (too and at + 1 < len(names))


def _clauses(sentence: Sequence[str], names: Sequence[str]) -> Iterator[Range]:
    first = 0
    for at in range(1, len(sentence) + 1):
        if at == len(sentence) or pauses(sentence[at - 1]) or _parted(sentence, names, at):
            yield first, at
            first = at


def _parted(sentence: Sequence[str], names: Sequence[str], at: int) -> bool:
    """Whether a clause begins at a word over which a denial before it does not reach."""
    follows = names[at + 1] if at + 1 < len(names) else ""
    return (
        names[at] in _CONTRASTS
        or (names[at] in _COORDINATES and follows in _SUBJECTS)
        or sentence[at].startswith("(")
        or _STOP.search(sentence[at - 1]) is not None
    )


def _headed(
    sentence: Sequence[str], names: Sequence[str], is_content: IsContent
) -> Iterator[Range]:
    """Modal verbs and prepositions, each up to the first word that tells something."""
    for at, name in enumerate(names):
        if name == _TO:
            first = at - 1 if at and not pauses(sentence[at - 1]) else at
            yield first, _behind_content(sentence, at, is_content)
        elif name in _HEADS or _HEAD_FORM.fullmatch(name):
            yield at, _behind_content(sentence, at, is_content)


def _counted(
    sentence: Sequence[str], names: Sequence[str], is_content: IsContent
) -> Iterator[Range]:
    """Numbers, each with what qualifies it and with what it counts."""
    numbers = last = 0  # behind the last numbers in a row, and behind what they count
    for at in range(len(names)):
        if at < min(numbers, last) or not _counts(names[at]):
            continue
        if at >= numbers:
            numbers = _behind_numbers(sentence, names, at)
        last = _behind_counted(sentence, names, at, numbers, is_content)
        first = at
        before = sentence[at - 1] if at else ""
        if last == at + 1 and has_number(names[at]) and is_content(before) and not pauses(before):
            first -= 1  # "spring 2024", "room 12": what it numbers stands before it
        while (
            first
            and at - first < _MOST_QUALIFIERS
            and names[first - 1] in _QUALIFIERS
            and not pauses(sentence[first - 1])
        ):
            first -= 1
        yield first, last


def _counts(name: str) -> bool:
    return name in _COUNTS or has_number(name)


def _behind_numbers(sentence: Sequence[str], names: Sequence[str], at: int) -> int:
    """Behind the numbers in a row that begin at a word: "3 to 5", "40 x 60"."""
    last = at + 1
    while last < len(names) and not pauses(sentence[last - 1]):
        if _counts(names[last]):
            last += 1
        elif names[last] in _RANGES and last + 1 < len(names) and _counts(names[last + 1]):
            last += 2
        else:
            break
    return last


def _behind_counted(
    sentence: Sequence[str], names: Sequence[str], at: int, last: int, is_content: IsContent
) -> int:
    """Behind what numbers count: "3 to 5 days", "40 square metres", "650 euros a month".

    ``last`` is behind the numbers.
    """
    if last == len(names) or pauses(sentence[last - 1]):
        return last
    if names[last] == "of":
        behind = _behind_content(sentence, last, is_content)
        return behind if is_content(sentence[behind - 1]) else at + 1
    last = _behind_noun(sentence, names, last, is_content)
    if last < len(names) and names[last] in _RATES and not pauses(sentence[last - 1]):
        return _behind_content(sentence, last, is_content)
    return last


def _behind_noun(
    sentence: Sequence[str], names: Sequence[str], first: int, is_content: IsContent
) -> int:
    """Behind the noun that begins at a word: the first plural of a few words, else the word.

    Where the word tells nothing, as in "in 2024 she", there is no noun.
    """
    for at in range(first, min(first + _LONGEST_NOUN, len(names))):
        if not is_content(sentence[at]):
            break
        if names[at] in _PLURALS or (names[at].endswith("s") and not names[at].endswith("ss")):
            return at + 1
        if pauses(sentence[at]):
            break
    return first + 1 if is_content(sentence[first]) else first


def _behind_content(sentence: Sequence[str], at: int, is_content: IsContent) -> int:
    """Behind the first word after one that tells something, or where the clause ends before."""
    last = at + 1
    while last < min(len(sentence), at + _MOST_BETWEEN) and not pauses(sentence[last - 1]):
        last += 1
        if is_content(sentence[last - 1]):
            break
    return last
