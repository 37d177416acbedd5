"""What of a text stays or goes as a whole, so that a shortened text never says otherwise.

That is a sentence, and of a sentence only a clause that stands beside another and can be missed:
", and the path is icy" at its end, or ", who rows," before its verb. A few words tell nothing by
themselves, such as "really". A sentence that denies, bounds or quotes something is never parted.
The words are English; in other languages sentences stay or go whole, up to a ";" at most.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

Range = tuple[int, int]
"""The first of some words, and the one behind the last."""


def _words(*lists: str) -> frozenset[str]:
    return frozenset(word for words in lists for word in words.split())


_DENIALS: Final = _words(
    "no not never nor neither none nobody nothing nowhere noone no-one cannot hardly scarcely",
    "barely rarely seldom only merely solely without except opposite wrong false untrue",
)
"""What a sentence with one of these says of "it" or "them" may take back the one before."""

_BOUNDS: Final = _DENIALS | _words(
    "few little less least just almost nearly but or either unless if until till before after",
    "when whenever while though although whether since because provided as than rather instead",
    "otherwise too must should may might far anything either however yet",
)
"""A sentence with one of these has words that change what others say, so all of it stays."""

_DENIAL: Final = re.compile(r"\w+n['’]t")
_QUOTES: Final = frozenset('"“”„«»()[]')
_JOINS: Final = _words("and so")
_DETERMINERS: Final = _words("the a an my our your this every each")
_VERBS: Final = _words(
    "is are was were has have had does did costs takes took says said comes came goes went",
    "gets got makes gives gave lives runs ran stands stood",
)
_RELATIVES: Final = _words("who whose which")
_LONGEST_SUBJECT: Final = 9  # "the marked path along the northern ridge is"

_FILLERS: Final = _words("really actually basically literally honestly totally extremely very")
_BEHIND_VERY: Final = _words("much many first last same best worst next own")
_OPENERS: Final = _words("oh well hm hmm um uh er ah wow haha hey")
_TWICE: Final = _words("had that is was her")  # are written twice for a reason

_TAKES_UP: Final = _words(
    "but however yet instead otherwise though although still nevertheless nonetheless nor no not",
    "never neither yes that this these those such so then therefore hence thus except unless only",
    "rather or also either too until wrong incorrect false untrue correction sorry actually",
)
_PRONOUNS: Final = _words("he she it they his her its their him them both another")
_SHORT: Final = 6
"""Words of a sentence that says little by itself where one of them is a pronoun."""

_LONGEST_SENTENCE: Final = 40
"""Words that are looked through for what takes back the sentence before."""

_ABBREVIATIONS: Final = _words(
    "dr mr mrs ms prof st no nr vs etc e.g i.e p.m a.m approx ca z.b d.h bzw usw sr sra u.s jr inc",
)

_PAUSE: Final = re.compile(r"[,;:.!?…–—)\]。！？，、；][\"'”’]*$")
_SENTENCE_END: Final = re.compile(r"[.!?…。！？][\"'”’)\]]*$")
_ORDINAL: Final = re.compile(r"\W*(?:\d+|\w)\.")  # "3. Mai", "J. Smith"
_ITEM: Final = re.compile(r"[-*•|]|\d+[.)]")


def bare(word: str) -> str:
    """A word in small letters without the marks around it."""
    return word.strip(".,;:!?…\"'“”‘’()[]*_。！？，、；").lower()


def end_mark(word: str) -> str:
    """The mark with which a word ends a sentence; empty if it does not."""
    match = _SENTENCE_END.search(word)
    return match[0] if match else ""


def ends(words: Sequence[str], at: int, gap: str) -> bool:
    """Whether a sentence ends before a word; ``gap`` is the white space between.

    Where it is not sure, it does not: an abbreviation, a line that goes on, a list below its line.
    """
    word, following = words[at - 1], words[at]
    if "\n" in gap and _ITEM.match(following):
        return False  # an item says nothing without what it stands under
    if word.endswith(":"):
        return False
    if gap.count("\n") > 1:
        return True
    return (
        bool(end_mark(word))
        and not following[0].islower()
        and not _ORDINAL.fullmatch(word)
        and bare(word) not in _ABBREVIATIONS
    )


def takes_up(words: Sequence[str], at: int) -> bool:
    """Whether the sentence that begins at a word answers, limits or takes back the one before.

    "But …" does, and so may a short one with a pronoun ("It was negative."), and a longer one that
    denies something of a pronoun ("They may not do so after all").
    """
    names = [bare(word) for word in _sentence(words, at)]
    if names[0] in _TAKES_UP:
        return True
    if len(names) <= _SHORT and not _PRONOUNS.isdisjoint(names):
        return True
    return points_back(names) and any(_denies(name) for name in names)


def _sentence(words: Sequence[str], at: int) -> Sequence[str]:
    """The words of the sentence that begins at a word, up to ``_LONGEST_SENTENCE``."""
    some = words[at : at + _LONGEST_SENTENCE]
    for place, word in enumerate(some, start=1):
        if end_mark(word) and bare(word) not in _ABBREVIATIONS:
            return some[:place]
    return some


def _denies(name: str) -> bool:
    return name in _DENIALS or _DENIAL.fullmatch(name) is not None


def points_back(words: Sequence[str]) -> bool:
    """Whether a sentence begins with a pronoun, for what the one before it names."""
    return any(bare(word) in _PRONOUNS for word in words[:2])


def clauses(words: Sequence[str]) -> list[Range]:
    """The clauses of a sentence that can be missed: none of them is its first."""
    names = [bare(word) for word in words]
    if not _is_plain(words, names):
        return []
    return [*_relatives(words, names), *_coordinated(words, names)]


def fillers(words: Sequence[str]) -> Iterator[int]:
    """The words of a sentence that tell nothing."""
    names = [bare(word) for word in words]
    if not _is_plain(words, names):
        return
    if names[0] in _OPENERS and words[0].endswith(",") and len(words) > 1:
        yield 0
    for at, word in enumerate(words[:-1]):
        following = words[at + 1]
        is_filler = word in _FILLERS and names[at + 1] not in _BEHIND_VERY
        is_twice = word == following and word.islower() and word.isalpha() and word not in _TWICE
        if is_filler or is_twice:
            yield at
        elif (word, following) == ("you", "know,") and at and words[at - 1].endswith(","):
            yield from (at, at + 1)


def _is_plain(words: Sequence[str], names: Sequence[str]) -> bool:
    """Whether nothing in a sentence denies, bounds or quotes what else it says."""
    return (
        not any(name in _BOUNDS or _denies(name) for name in names)
        and not any(_QUOTES & set(word) for word in words)
        and not any(end_mark(word) for word in words[:-1])
    )


def _relatives(words: Sequence[str], names: Sequence[str]) -> Iterator[Range]:
    """ ", who rows," between the subject of a sentence and its verb."""
    pauses = [at for at, word in enumerate(words) if _PAUSE.search(word)]
    if len(pauses) < 3:
        return
    first, last = pauses[0] + 1, pauses[1] + 1
    set_off = words[first - 1].endswith(",") and words[last - 1].endswith(",")
    if set_off and names[first] in _RELATIVES and names[last] in _VERBS:
        yield first, last


def _coordinated(words: Sequence[str], names: Sequence[str]) -> Iterator[Range]:
    """Clauses behind a ";", or behind a comma and an "and", up to the next pause.

    They go on to the next of them or to the end of the sentence: a "…, he said" is not parted
    from what was said. What stands before has a verb that states something, unlike "Touch the
    wire, and the lamp goes out".
    """
    last = len(words)
    verb = next((at for at, name in enumerate(names) if name in _VERBS), last)
    ranges: list[Range] = []
    for at in range(len(words) - 1, 0, -1):
        if not _PAUSE.search(words[at - 1]):
            continue
        if verb >= at or not _begins_clause(words, names, at):
            break
        ranges.append((at, last))
        last = at
    yield from reversed(ranges)


def _begins_clause(words: Sequence[str], names: Sequence[str], at: int) -> bool:
    joined = names[at] in _JOINS
    if not (words[at - 1].endswith(";") or (words[at - 1].endswith(",") and joined)):
        return False
    first = at + joined
    if first >= len(words) or names[first] not in _DETERMINERS:
        return False
    for name in names[first + 2 : first + 2 + _LONGEST_SUBJECT]:
        if name in _VERBS:
            return True
        if name in _RELATIVES or name in ("that", "to"):
            break
    return False
