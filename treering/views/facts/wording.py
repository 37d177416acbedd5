"""Brings informal English into the plain wording that forms and clauses are read by. No I/O.

"sold the corsa, im at ocado now" is "I sold the Corsa, I'm at Ocado now" to a reader. What is put
right here is what people leave out when they type: the subject, apostrophes, capitals.
"""

from __future__ import annotations

import re
from typing import Final

from treering.views.facts.framing import tidied, unframed
from treering.views.facts.left_out import NOTED, NOTED_WORDS, with_subject
from treering.views.facts.names import NAMING, capital, named
from treering.views.facts.paraphrases import paraphrased
from treering.views.facts.tokens import words
from treering.views.facts.verbs import KIN, PARTNERS, PETS, ROLES, word_set

_CONTRACTED: Final = {
    "im": "I'm",
    "ive": "I've",
    "id": "I'd",
    "ill": "I'll",
    "i": "I",
    "i'm": "I'm",
    "i've": "I've",
    "i'd": "I'd",
    "i'll": "I'll",
    "dont": "don't",
    "doesnt": "doesn't",
    "cant": "can't",
    "isnt": "isn't",
    "wont": "won't",
    "weve": "we've",
    "thats": "that's",
    "cos": "because",
    "cuz": "because",
    "cause": "because",
    "bc": "because",
    "u": "you",
    "n": "and",
    "w": "with",
    "hes": "he's",
    "shes": "she's",
    "theyre": "they're",
    "fav": "favourite",
    "fave": "favourite",
    "bday": "birthday",
    "gf": "girlfriend",
    "bf": "boyfriend",
    "arent": "aren't",
    "wasnt": "wasn't",
    "havent": "haven't",
    "didnt": "didn't",
}
_ALWAYS = re.compile(
    r"(?<![\w@.'-])(?:i|i'(?:m|ve|d|ll)|[Ii]m|[Ii]ve|(?:[Dd]o|[Dd]oes|[Cc]a|[Ii]s|[Ww]o|[Aa]re|"
    r"[Ww]as|"
    r"[Hh]ave|[Dd]id)nt|[Ww]eve|[Tt]hats|[Hh]es|[Ss]hes|[Tt]heyre)(?![\w@'-]|\.\w)"
)
_TYPED = re.compile(
    rf"(?<![\w@.'’-])(?:{'|'.join(sorted(_CONTRACTED, key=len, reverse=True))})(?![\w@'’-]|\.\w)"
)
_UNMARKED = re.compile(
    r"(?:(?<=\bnow it)|(?<=\bdays it)|(?<=\bbut it)|(?<=\bso it)|(?<=, it)|(?<=^it)(?=s (?:[A-Z]|"
    r"\S*\d|now\b|called\b))|(?<=\bhis name)|"
    r"(?<=\bher name)|(?<=\bmy name))(?=s\b)"
)
"""Where an apostrophe is left out: "now its Fontaines", "her names Priya"."""

_IS_MINE = re.compile(r"^(?P<who>[A-Z][\w-]+)'s (?=(?:my|our) (?!own\b))")
"""A name that is short for "is": "Lucy's my manager now"."""

_I = re.compile(r"I(?<!\wI)(?!\w)")
_ME = re.compile(rf"\bme (?=(?:new |old )?(?:favou?rite|name|mam|da|{NOTED})\b)", re.IGNORECASE)
"""Where "me" is written for "my": "me favourite biscuit"."""

_RUN_ON = re.compile(
    r"(?<=\w)(?P<end> (?:any ?more|any longer|again|lately|now|these days)) "
    r"(?=(?:I'm|I am|I've|we're|we've|now I)\b)"
)
"""Where a sentence goes on without a comma: "not at Google any more I'm at Stripe"."""

_NAMED_BESIDE = re.compile(
    rf"\b(?P<who>(?:my|our) (?:[a-z]+ )?(?:{'|'.join(sorted(ROLES | KIN | PETS | PARTNERS))})), "
    r"(?P<name>(?:(?-i:Dr|Mr|Mrs|Ms) )?(?-i:[A-Z])[\w'-]+(?: (?-i:[A-Z])[\w'-]+)?), "
    r"(?!(?:who|whom|which|and|is)\b(?<!is))(?=[a-z'])",
    re.IGNORECASE,
)
"""A name between commas: "My partner, Sasha, is vegan"."""

_HAD_TO = re.compile(r"\bhad to (?P<verb>give up|stop|quit|sell|leave|let)\b", re.IGNORECASE)
_DID = {"give up": "gave up", "stop": "stopped", "sell": "sold", "leave": "left"}

# A text has one of these words wherever the expression in front of which they are asked for
# matches. An expression is tried at every place of a text, and most texts have none of the words.
_UNMARKED_WORDS: Final = word_set("its names")
_FIRSTS: Final = frozenset(words(word)[0] for word in _CONTRACTED)
CONTRACTED: Final = _FIRSTS | _UNMARKED_WORDS
"""Words of which a sentence has one where an apostrophe or a capital is put in."""

_ALWAYS_WORDS: Final = (frozenset(filter(_ALWAYS.fullmatch, _CONTRACTED)) & _FIRSTS) - {"i"}
"""Most who say "I" write it large: a small one is looked for by itself."""

_SMALL_I = re.compile(r"i(?<![\w@.'-]i)(?![\w@-])")
_OWNERS: Final = word_set("my our me")
_RUN_ON_WORDS: Final = word_set("anymore more longer again lately now days")


def plain(sentence: str) -> str:
    """A sentence as it would be written out: openers gone, subject and capitals put in."""
    casual = is_casual(sentence)
    given = tidied(sentence)
    text, spoken = bare(given, frozenset(words(given)), is_casual=casual)
    return reworded(text, spoken, is_casual=casual)[0]


def bare(given: str, spoken: frozenset[str], *, is_casual: bool) -> tuple[str, frozenset[str]]:
    """A tidied sentence with its apostrophes and without what is said around it, and its words."""
    text = _contracted(given, spoken, is_casual=is_casual)
    text = _with_owner(text, spoken)
    if text != given:
        spoken = frozenset(words(text))
    left = unframed(text, spoken)
    return left, spoken if left in text else frozenset(words(left))


def reworded(text: str, spoken: frozenset[str], *, is_casual: bool) -> tuple[str, frozenset[str]]:
    """A :func:`bare` sentence in plain turns of phrase, and its words.

    There may be more words than it has, of what was cut off.
    """
    plain = paraphrased(text, spoken)
    if plain != text:
        spoken = frozenset(words(plain))
    if plain.count(", ") > 1 and not _OWNERS.isdisjoint(spoken):
        plain = _NAMED_BESIDE.sub(r"\g<who> \g<name> ", plain)
    if "had" in spoken:
        plain = _HAD_TO.sub(lambda m: _DID.get(m["verb"].lower(), m["verb"]), plain)
    whole = with_subject(plain, spoken)
    if whole != plain:
        plain, spoken = whole, frozenset(words(whole))
    if not _RUN_ON_WORDS.isdisjoint(spoken):
        plain = _RUN_ON.sub(r"\g<end>, ", plain)
    is_named = is_casual and not NAMING.isdisjoint(spoken)
    return named(plain) if is_named else plain, spoken


def _with_owner(text: str, spoken: frozenset[str]) -> str:
    """A text with "my" where "me" is written for it, and with "is" behind a name."""
    if _OWNERS.isdisjoint(spoken):
        return text
    if "'s my " in text or "'s our " in text:
        text = _IS_MINE.sub(r"\g<who> is ", text)
    if "me" in spoken and not NOTED_WORDS.isdisjoint(spoken):
        text = _ME.sub("my ", text)
    return text


def _contracted(text: str, spoken: frozenset[str], *, is_casual: bool) -> str:
    """A text with its apostrophes, and the capitals of "I"."""
    if is_casual:
        if not _FIRSTS.isdisjoint(spoken):
            text = _TYPED.sub(lambda match: _CONTRACTED[match[0]], text)
        return text if _UNMARKED_WORDS.isdisjoint(spoken) else _UNMARKED.sub("'", text)
    has_small = "i" in spoken and _SMALL_I.search(text) is not None
    if has_small or not _ALWAYS_WORDS.isdisjoint(spoken):
        text = _ALWAYS.sub(lambda match: _spelt_out(match[0]), text)
    return text


def _spelt_out(word: str) -> str:
    """A contraction with its apostrophe, and the capital that it had: "Dont" is "Don't"."""
    written_out = _CONTRACTED[word.lower()]
    return capital(written_out) if word[0].isupper() else written_out


def is_casual(sentence: str) -> bool:
    """Whether a sentence is typed without capitals, or but for those of some names."""
    first = next(filter(str.isalpha, sentence), "")
    return first.islower() and _I.search(sentence) is None
