"""Cuts a plain sentence into clauses: who it is about, and what is said of that. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from treering.views.facts.phrases import SEVERAL
from treering.views.facts.verbs import (
    ADVERBS,
    ARTICLES,
    BE,
    CHANGED,
    DETERMINERS,
    ENDED,
    FRONT,
    HAVE,
    KIN,
    LINKS,
    MODAL,
    OTHERS,
    PARTNERS,
    PETS,
    PREPOSITIONS,
    ROLES,
    STATUSES,
    SUBJECTS,
    SUBORDINATE,
    SWAPPED,
    SWITCHED,
    TAKEN,
    THING_VERBS,
    word_set,
)

SELF: Final = "I"
"""The subject of a clause about the speaker, alone or with others."""

IT: Final = "it"
SOMEBODY: Final = ""
"""The subject of a clause about somebody who is no affair of ours."""

MAX_SUBJECT_WORDS: Final = 7

_TOKEN = re.compile(
    r"(?:Dr|Mr|Mrs|Ms|Prof|St)\.(?= )"
    r"|(?:[^\s,;:()—–!]|:(?=\S)|(?<=\d),(?=\d))*[^\s,;:()—–!.]|\.(?=$)|[,;:()—–!]"
)
_BREAKS = frozenset(",;:()—–!")
_PARTING = _BREAKS | LINKS
"""Tokens, small, between which segments stand."""

_CONTRACTED = {
    f"{who}{verb}": (who, verb)
    for who in word_set(
        "I We we You you He he She she It it They they That that There there Who who This this"
    )
    for verb in word_set("'m 're 's 've 'd 'll")
} | {
    f"{verb}n't": ("can" if verb == "ca" else verb, "not")
    for verb in word_set("do does did is are was were have has had ca wo could would")
}
"""Contractions with the words that they are of: "can't" is "can not"."""

_FINITE = (
    word_set(
        "is are was were has have had got went changed moved switched used passed died became met "
        "turned will would can could should gets retired lives works does did needs arrived came "
        "started joined left put made prescribed appointed"
    )
    | THING_VERBS
    | CHANGED
)
_STARTS = (
    ENDED
    | TAKEN
    | SWITCHED
    | SWAPPED
    | {
        "took",
        "cut",
        "put",
        "set",
        "hit",
        "won",
        "chose",
        "built",
        "made",
        "passed",
        "booked",
        "turned",
    }
    | {"gave", "given", "became", "become", "got", "no"}
)
_BASES = word_set(
    "am have do live work teach drive ride play use take go get run swim cycle walk eat drink "
    "keep attend study learn volunteer practise practice sing shoot write read watch wear speak "
    "see bank report belong train coach own rent share sleep follow support make cook bake paint "
    "draw wake rise serve sit stay shop buy order travel commute collect hate love like prefer "
    "enjoy say spend try"
) - {"say", "try", "stay"}
"""Verbs with which a clause goes on after "and", its subject left out."""


_THIRD = frozenset(
    verb + ending for verb in _BASES for ending in ("s", "es") if verb not in ("am", "have")
) | {"goes", "does", "has"}
"""The same verbs of others, with which a clause about them goes on: "and drives a taxi"."""

_REDUCED = word_set(
    "based living working studying training teaching stationed lodging employed retired now "
    "currently"
)
"""Words with which a clause goes on without "is": "in the RAF, based at Lossiemouth"."""

_SHE = word_set(
    "sister mother mum mom daughter wife girlfriend niece aunt grandma grandmother "
    "granddaughter landlady fiancee stepdaughter sister-in-law"
)
_HE = word_set(
    "brother father dad son husband boyfriend nephew uncle grandpa grandfather grandson "
    "fiance stepson brother-in-law"
)
_NAMED = KIN | ROLES | PETS
_KNOWN = _NAMED - PETS
_PERSONS = KIN | PARTNERS
_IS = BE | HAVE | {"used", "became"}
_GOING_ON = BE | HAVE | _STARTS | _BASES | STATUSES | MODAL | {"used"}
_GOING_ON_OF_OTHERS = _THIRD | _REDUCED
_NO_VERBS = PREPOSITIONS | LINKS
_VERBS = _FINITE | _THIRD | _STARTS
_AFTER_IS = (
    ADVERBS
    | DETERMINERS
    | {"not", "been", "called", "named", "on", "at", "in", "with", "changed", "here", "born"}
)
"""Words after an "'s" that is "is" or "has"."""

_REASONS = {"because", "although", "though", "while", "whereas"}
"""Links of what is no part of the clause before it: "because of my back"."""

_NOWADAYS = {"now", "instead", "nowadays", "currently", "lately"}

_BEFORE = (ADVERBS | {"though", "these"}) - FRONT


_RESUMING = SUBJECTS | BE | HAVE | _STARTS | _BASES | _THIRD
_NOT_NAMES = (
    PREPOSITIONS | LINKS | ADVERBS | DETERMINERS | SUBJECTS | BE | HAVE | MODAL | KIN | {"not"}
)


@dataclass(frozen=True, slots=True)
class Clause:
    """What is said of ``subject``: the words from the first verb on, and the clause as a whole.

    ``link`` is the word that joins the clause to the one before it; empty for the first. A clause
    ``goes_on`` where its subject is left out, as it is that of the clause before.
    """

    subject: str
    words: tuple[str, ...]
    link: str
    whole: str
    goes_on: bool = False


def clauses(sentence: str, before: Sequence[Clause] = ()) -> list[Clause]:
    """The clauses of a plain sentence that have a subject and a verb, in their order.

    ``before`` are those of the sentence before it, of whose people "she" may speak.
    """
    read: list[Clause] = []
    subject, front = SELF, list[str]()
    person = next((c.subject for c in reversed(before) if _role(c.subject)), "")
    for link, tokens in _segments(_tokens(sentence)):
        parsed = _parsed(tokens, subject if read else None, link)
        if parsed is None and read and link.lower() in _REASONS:
            continue
        if parsed is None:
            if read:
                read[-1] = _with_tail(read[-1], link, tokens)
            else:  # "Back in 2010, I moved": when it was, which the next clause does not say
                front += [*tokens, ","]
            continue
        goes_on = bool(read) and parsed == (
            subject,
            tokens[_start(tokens) :],
        )
        subject = parsed[0]
        if subject == SOMEBODY and _is_of(tokens[_start(tokens)].lower(), person):
            subject = person
        person = subject if _role(subject) else person
        whole = " ".join((*front, *tokens))
        read.append(Clause(subject, tuple(parsed[1]), link, whole, goes_on))
        front = []
    return read


def _role(subject: str) -> str:
    """What somebody of the speaker's is to them, "sister"; empty for others and for things."""
    words = subject.lower().split()
    return words[-1] if words[:1] in (["my"], ["our"]) and words[-1] in _KNOWN else ""


def _is_of(pronoun: str, person: str) -> bool:
    """Whether "she" or "he" may stand for somebody."""
    role = _role(person)
    if pronoun not in ("she", "he") or not role or role in SEVERAL:
        return False
    return role not in (_HE if pronoun == "she" else _SHE)


def unnamed(subject: Sequence[str]) -> str:
    """A subject without the name beside it: "my sister Orla" is "my sister"."""
    if subject[0].lower() in ("my", "our"):
        for place, word in enumerate(subject[1:-1], start=1):
            names = subject[place + 1 :]
            if word.lower() in _NAMED and len(names) < 3 and all(map(_may_name, names)):
                return " ".join(subject[: place + 1])
    return " ".join(subject)


def _may_name(word: str) -> bool:
    return word[:1].isupper() or (word.isalpha() and word.lower() not in _NOT_NAMES)


def _tokens(sentence: str) -> list[str]:
    tokens: list[str] = []
    pieces = sentence.split()
    if sentence.count(" ") != len(pieces) - 1 or not pieces:  # other blanks than single ones
        return [part for token in _TOKEN.findall(sentence) for part in _parts(token)]
    if sentence.replace(" ", "").isalnum():  # most are plain words, which need no expression
        return pieces
    last = pieces.pop()
    for piece in pieces:
        if piece.isalnum():
            tokens.append(piece)
        elif piece in _CONTRACTED:
            tokens += _CONTRACTED[piece]
        elif piece[-1] == "," and piece[:-1].isalnum():
            tokens += (piece[:-1], ",")
        else:
            tokens += (part for token in _TOKEN.findall(f"{piece} ") for part in _parts(token))
    return [*tokens, *(part for token in _TOKEN.findall(last) for part in _parts(token))]


def _parts(token: str) -> Sequence[str]:
    if token == ".":
        return ()
    return _CONTRACTED.get(token, (token,))


def _segments(tokens: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Runs of tokens between commas and links, each with the link before it."""
    small = list(map(str.lower, tokens))
    link, start = "", 0
    for place in [place for place, word in enumerate(small) if word in _PARTING]:
        breaks = small[place] in _BREAKS
        if not breaks and not _links(tokens, place):
            continue
        if start < place:
            yield link, tokens[start:place]
            link = ""
        link, start = tokens[place] if not breaks or not link else link, place + 1
    if start < len(tokens):
        yield link, tokens[start:]


def _links(tokens: Sequence[str], place: int) -> bool:
    """Whether a clause may begin after the link at a place, which joins it to what is before."""
    word = tokens[place].lower()
    if place + 1 == len(tokens):
        return False
    if word in ("if", "unless", "when", "whereas", "although", "because", "while", "who", "whose"):
        return True
    after = place + 1
    while after < len(tokens) - 1 and tokens[after].lower() in ADVERBS:
        after += 1
    following = tokens[after].lower()
    if word in ("and", "but", "so", "yet", "though", "although", "or"):
        fronted = tokens[place + 1].lower() in FRONT and word != "or"
        return fronted or following in _RESUMING
    if following in ARTICLES:
        clausal = word in ("since", "as", "before", "after", "until") and _has_verb(tokens, after)
        # "after a decent interval we have a cat": what follows is no clause of its own.
        return clausal and not {"I", "we"} & {*tokens[after : after + 4]}
    return following in SUBJECTS


def _has_verb(tokens: Sequence[str], start: int) -> bool:
    return any(t.lower() in _FINITE for t in tokens[start + 1 : start + 1 + MAX_SUBJECT_WORDS])


def _parsed(
    tokens: Sequence[str], before: str | None, link: str
) -> tuple[str, Sequence[str]] | None:
    """Subject and predicate of a segment; None where it has no verb of its own.

    ``before`` is the subject of the clause before, which goes on where none is named.
    """
    start = _start(tokens)
    if start == len(tokens):
        return None
    word = tokens[start].lower()
    rest = tokens[start + 1 :]
    is_doing = word.endswith("ing") and not _NOWADAYS.isdisjoint(token.lower() for token in tokens)
    if before is not None and is_doing and rest:  # "dropped out of law, doing design now"
        return SELF, ["am", *tokens[start:]]
    if word in ("i", "we"):
        return (SELF, rest) if rest else None
    if word in ("it", "that", "this") and rest and rest[0].lower() in _IS:
        return IT, rest
    if word == "me" and rest[:1] == ["and"]:
        return (SELF, rest[2:]) if len(rest) > 2 else None
    if word in OTHERS:
        return SOMEBODY, rest
    if (
        before is not None
        and link.lower() not in SUBORDINATE
        and _goes_on(word, tokens[start:], is_self=before == SELF)
    ):
        if word in _REDUCED and before != SELF:
            return before, ["is", *tokens[start:]]
        gets = word in ("got", "bought", "have", "adopted") and link in ("but", "so")
        # "My hamster died but got a gecko now": the hamster did not.
        return (SELF if gets else before), tokens[start:]
    return _of_thing(tokens[start:])


def _goes_on(word: str, tokens: Sequence[str], *, is_self: bool) -> bool:
    """Whether a segment begins with the verb of a clause whose subject is that before it."""
    if word == "be":  # "be honest" is said to the hearer
        return False
    if word in _GOING_ON:
        return True
    if word in _GOING_ON_OF_OTHERS:
        return not is_self and len(tokens) > 1
    return word == "not" and len(tokens) > 2 and tokens[1].lower() in ("in", "with", "at")


def _start(tokens: Sequence[str]) -> int:
    """Where the subject of a segment is: after adverbs, or after an adverbial in front of it."""
    start = 0
    while start < len(tokens) and tokens[start].lower() in _BEFORE:
        if tokens[start].lower() == "these" and tokens[start + 1 : start + 2] != ["days"]:
            break
        start += 2 if tokens[start].lower() == "these" else 1
    if start < len(tokens) and tokens[start].lower() in FRONT:
        for place in range(start + 1, len(tokens)):
            if tokens[place] in ("I", "We", "we") or (place < 3 and tokens[place] in ("it", "It")):
                return place
            if tokens[place].lower() in ("my", "our") and _has_verb(tokens, place):
                return place
    return start


def _of_thing(tokens: Sequence[str]) -> tuple[str, Sequence[str]] | None:
    """Subject and predicate of a clause about a thing or person, such as "my dentist"."""
    if tokens[0].lower() == "all":
        tokens = tokens[1:]
    if not tokens:  # "All that we've done": a link follows, and no subject
        return None
    person = _person_end(tokens)
    for place, token in enumerate(tokens[: MAX_SUBJECT_WORDS + 1]):
        word = token.lower()
        is_of_kin = place == person and token.islower()
        if place and (word in _FINITE or (is_of_kin and word.isalpha() and word not in _NO_VERBS)):
            if tokens[place - 1] == "I" and tokens[0].lower() in ("my", "our"):
                return SELF, tokens[place:]
            named = tokens[: place - 1] if tokens[place - 1].lower() == "now" else tokens[:place]
            # "All now is well": what is now is not named.
            return (unnamed(named), tokens[place:]) if named else None
        if word == "i" and place > 1 and tokens[place - 1].lower() == "and":
            return SELF, tokens[place + 1 :]
        if place and word.endswith("'s") and _is_of_verb(tokens[place + 1 :]):
            return unnamed([*tokens[:place], token[:-2]]), ["is", *tokens[place + 1 :]]
    return None


def _person_end(tokens: Sequence[str]) -> int:
    """Where the verb of a clause about somebody of the speaker's stands; 0 for other clauses."""
    if tokens[0].lower() not in ("my", "our"):
        return 0
    place = next((n for n, t in enumerate(tokens[:5]) if t.lower() in _PERSONS), 0)
    if not place:
        return 0
    after = place + 1
    while after < min(len(tokens), place + 3) and tokens[after][:1].isupper():
        after += 1
    is_name = after == place + 1 and len(tokens) > after + 1 and _may_name(tokens[after])
    return after + (is_name and tokens[after + 1].lower() in _VERBS)


def _is_of_verb(after: Sequence[str]) -> bool:
    """Whether an "'s" before these words is "is" or "has": "my number's now …"."""
    if not after:
        return False
    word = after[0].lower()
    if "now" in (token.lower() for token in after[:3]):
        return True
    return word in _AFTER_IS or any(map(str.isdigit, word)) or "@" in word


def _with_tail(clause: Clause, link: str, tokens: Sequence[str]) -> Clause:
    """A clause with what follows it without a verb: "me" with "and my brother"."""
    joined = (link, *tokens) if link in ("and", "or") else (",", *tokens)
    whole = " ".join((clause.whole, *joined))
    return Clause(clause.subject, (*clause.words, *joined), clause.link, whole, clause.goes_on)
