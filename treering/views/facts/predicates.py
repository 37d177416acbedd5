"""Reads what a clause states, by the kind of its verb. No I/O.

A clause about the speaker states a habit or state ("ride a Dawes"), its end ("no longer drive") or
a change ("swapped the bike for a Brompton"). A clause about something of theirs gives it a value
("my dentist is now Dr Wu"). Each reading is a subject, a slot, a value and a sense, as a form's is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from treering.views.facts.clauses import IT, SELF, SOMEBODY, Clause
from treering.views.facts.phrases import HABITS, NO_HABIT, OBJECTS
from treering.views.facts.reading import Reading
from treering.views.facts.verbs import (
    ACQUIRED,
    ADJECTIVES,
    ADVERBS,
    BE,
    BECOME,
    CHANGED,
    CHOICE_NOUNS,
    CHOICES,
    CHOSEN,
    DANGLING,
    DETERMINERS,
    DIAGNOSED,
    DONE,
    ENDED,
    GOING,
    GONE,
    HAVE,
    JOINING,
    KIN,
    LEFT,
    MODAL,
    NAMED_ME,
    NO_STATE,
    NO_VALUES,
    NOT_A_HABIT,
    NOW,
    OWNING,
    PARTED,
    PARTICIPLES,
    PHRASAL,
    PREPOSITIONS,
    PROGRESSIVE_NOT,
    ROLES,
    SMALL,
    STANDING,
    STATUSES,
    SUBORDINATE,
    SWAPPED,
    SWITCHED,
    TAKEN,
    THING_VERBS,
    TRAILING,
    WERE_ONE,
)

MAX_VALUE_WORDS: Final = 8

_UNITS = {"week", "day", "month", "year", "night", "kilo", "litre"}
_PRONOUNS = {"it", "them", "him", "her", "that", "this", "me", "us"}
_GIVEN_UP = {"eat", "drink", "smoke", "drive", "wear", "use", "speak", "play"}
"""Habits of which "I don't" says as much as "I no longer"."""

_DONE_TO = {"was", "were", "been", "got"}
_PASSIVE = BE | {"was", "were", "got"}
_OF_THEN = ("when", "before", "until", "while", "as", "after")
_NOT_STATUS = {"engaged": ("in", "with", "by"), "married": ("to",), "separated": ("by", "into")}
"""Words after which "engaged" and the like are not what one is to somebody."""

_UNCERTAIN = re.compile(
    r"\b(?:once|(?:years?|decades|ages|long) ago|back then|back in|in those days|as an? (?:child|kid|boy|girl|student|teenager)|"
    r"in my (?:youth|twenties|teens|childhood)|until|till|temporar\w+|for now|for the (?:weekend|"
    r"week|day|night|month|summer|winter|time being|moment|fortnight|season)|this (?:week|weekend|"
    r"month|summer|winter|evening|morning|afternoon)|tonight|tomorrow|next (?:week|month|year|"
    r"spring|summer)|never|almost|nearly|not yet|soon|on holiday|basically|practically|virtually|"
    r"the time|one day|at this point|sometimes|today|(?:in|by) (?:19|20)\d\d)\b",
    re.IGNORECASE,
)
"""What makes a clause one of the past, of a while, or not quite meant."""

_NOT_ANY_MORE = re.compile(r"\b(?:any\s?more|any longer)\b", re.IGNORECASE)
_DAYS = re.compile(
    r"\b(?:now|nowadays|currently|instead|these days|at present|at the moment|as of)\b"
)


@dataclass(frozen=True, slots=True)
class _Predicate:
    """A verb without its auxiliaries and adverbs, and what follows it."""

    verb: str
    rest: tuple[str, ...]
    auxiliaries: frozenset[str] = frozenset()
    is_now: bool = False
    is_negated: bool = False


def asserted(read: Sequence[Clause]) -> list[Clause]:
    """The clauses of a sentence that are said to hold, or to have come to hold."""
    holding: list[Clause] = []
    is_asserted = True
    for place, clause in enumerate(read):
        after = read[place + 1] if place + 1 < len(read) else None
        is_past = after is not None and after.link.lower() in _OF_THEN and _is_of_past(after)
        starts_anew = not clause.goes_on or clause.whole.lower().startswith(("now", "these"))
        if _UNCERTAIN.search(clause.whole) or clause.link.lower() in SUBORDINATE or is_past:
            is_asserted = False
        elif starts_anew:  # what goes on without a subject goes on in the time of the one before
            is_asserted = True
        if is_asserted and (clause.subject != SELF or _predicate(clause) is not None):
            holding.append(clause)
        else:
            is_asserted = False
    return holding


def _is_of_past(clause: Clause) -> bool:
    return clause.subject == SELF and clause.words[:1] in (("was",), ("were",), ("had",))


def readings(read: Sequence[Clause]) -> Iterator[Reading]:
    """What the clauses of one sentence state, in their order."""
    topic: str | None = None
    holding = asserted(read)
    for clause in read:
        topic = _topic(clause) or topic
        if clause not in holding:
            continue
        if clause.subject == SOMEBODY:
            yield from _of_name(clause, read)
            yield from _of_others(clause)
        else:
            yield from _of_clause(clause, topic)


def _of_name(clause: Clause, read: Sequence[Clause]) -> Iterator[Reading]:
    """ "His name is Bruno", after "we have a dog now"."""
    match = re.match(r"(?:[Hh]is|[Hh]er|[Ii]ts) name(?: is|'s) ([A-Z][\w'-]*)$", clause.whole)
    if match is None:
        return
    for before in read:
        had = re.search(
            r"\b(?:have|got|adopted|seeing|dating|met|bought) (?:an? (?:new )?)?(.*)", before.whole
        )
        thing = _noun_phrase(had[1].split()) if had and before.subject == SELF else ""
        if thing:
            slot = "partner" if thing.startswith("someone") else thing.split()[-1]
            yield Reading("my", slot, match[1], "holds")
            return


def _of_clause(clause: Clause, topic: str | None) -> Iterator[Reading]:
    predicate = _predicate(clause)
    if predicate is None:
        return
    if clause.subject == SELF:
        yield from _of_self(predicate)
    elif clause.subject == IT:
        yield from _of_it(predicate, topic)
    else:
        yield from _of_others(clause)
        if _is_person(clause.subject):
            for reading in _of_self(predicate):
                if reading.subject == SELF:
                    yield replace(reading, subject=clause.subject)
        else:
            yield from _of_thing(clause.subject, predicate)


def _is_person(subject: str) -> bool:
    """Whether a subject is somebody of the speaker's, such as "my sister"."""
    words = subject.lower().split()
    return words[:1] in (["my"], ["our"]) and words[-1] in KIN


def _predicate(clause: Clause) -> _Predicate | None:
    """The predicate of a clause; None where it is a wish, a plan or the past."""
    place, auxiliaries, negated = 0, set[str](), False
    words = clause.words
    while place < len(words):
        word = words[place].lower()
        if word == "used" and words[place + 1 : place + 2] == ("to",):
            return None
        is_passive = word in ("was", "were") and (
            (clause.subject != SELF and not _is_person(clause.subject))
            or _first_of(words[place + 1 :]) in DIAGNOSED
        )
        if word in MODAL and not is_passive and not auxiliaries & HAVE:
            return None
        if word in HAVE and not _is_participle(words[place + 1 :]):
            break
        is_done_to = word == "got" and _first_of(words[place + 1 :]) in DIAGNOSED
        if is_done_to or word in BE | HAVE | {"not", "do", "does", "was", "were"}:
            auxiliaries.add(word)
        elif word == "no" and words[place + 1 : place + 2] == ("longer",):
            negated = True
            place += 1
        elif word not in ADVERBS and not (word == "since" and _is_participle(words[place + 1 :])):
            break
        place += 1
    if place == len(words):
        return None
    words_left = tuple(words[place + 1 :])
    no_longer = negated or bool(_NOT_ANY_MORE.search(clause.whole) and "not" in auxiliaries)
    auxiliaries |= {"no longer"} if no_longer else set()
    return _Predicate(
        words[place],
        words_left,
        frozenset(auxiliaries),
        bool(_DAYS.search(clause.whole)),
        "not" in auxiliaries or no_longer,
    )


def _first_of(words: Sequence[str]) -> str:
    """The first of words that is no adverb, in lower case."""
    return next((word.lower() for word in words if word.lower() not in ADVERBS), "")


def _is_participle(after: Sequence[str]) -> bool:
    """Whether "have" is an auxiliary before these words, as in "have just sold"."""
    passed = ADVERBS | {"not", "since"}
    verb = next((word.lower() for word in after if word.lower() not in passed), "")
    return verb in PARTICIPLES or verb.endswith(("ed", "en", "wn"))


def _of_self(it: _Predicate) -> Iterator[Reading]:
    """What the speaker says of themselves."""
    verb = it.verb.lower()
    phrase = (it.verb, *it.rest)
    if it.is_negated:
        if "no longer" in it.auxiliaries:
            yield from _ended(it)
        elif it.auxiliaries & {"do", "does"} and verb in _GIVEN_UP and it.rest:
            yield Reading(SELF, "", _trimmed(phrase), "ends")
        elif it.auxiliaries & HAVE and verb.endswith("ed") and "since" in it.rest:
            yield Reading(SELF, "", _trimmed(phrase[: phrase.index("since")]), "ends")
        return
    if verb in DIAGNOSED and it.auxiliaries & _DONE_TO and verb not in NAMED_ME:
        yield from _habit(phrase)
    elif verb in STATUSES and _is_status(it):
        yield Reading(SELF, "status", verb, "begins")
    elif verb in WERE_ONE and (not it.rest or it.rest[0].lower() in {*PREPOSITIONS, "up"}):
        yield Reading(SELF, "status", "separated" if verb == "split" else verb, "begins")
    elif verb in BECOME or (verb in NAMED_ME and "been" in it.auxiliaries):
        rest = it.rest if verb not in ("promoted", "put", "moved") else it.rest[1:]
        yield from _be(_noun_phrase(rest).split())
    elif it.auxiliaries & BE:
        yield from _being(phrase)
    else:
        yield from _done(it)


def _is_status(it: _Predicate) -> bool:
    """Whether "engaged" and the like are what one is, and not "engaged in a debate"."""
    verb = it.verb.lower()
    return not it.rest or it.rest[0].lower() not in _NOT_STATUS.get(verb, ())


def _being(phrase: Sequence[str]) -> Iterator[Reading]:
    """What the speaker is, where, with whom, or doing."""
    first = phrase[0].lower()
    if first == "back" and len(phrase) > 1:
        if phrase[1].lower() in PHRASAL | {"at"} or phrase[1].endswith("ing"):
            yield from _being(phrase[1:])
    elif first == "going" and phrase[1:2] == ("to",) and phrase[2].lower() in DETERMINERS | {"the"}:
        yield from _habit(phrase)
    elif first in ("done", "through", "finished") and phrase[1:2] == ("with",):
        yield from _stopped("quit", phrase[2:])
    elif first in ("off", "down") and len(phrase) > 1 and phrase[1].lower() not in ("for", "at"):
        if (first == "off") != (phrase[1].lower() == "to"):
            yield Reading(SELF, "", _trimmed(phrase), "holds")
    elif first.endswith("ing"):
        if first not in PROGRESSIVE_NOT:
            yield from _habit(phrase)
    elif first in STANDING and len(phrase) > 1:
        yield from _habit(phrase)
    elif not first.endswith("ed") or "-" in first:  # "excited" passes, "left-handed" stays
        yield from _be(phrase)


def _be(phrase: Sequence[str]) -> Iterator[Reading]:
    # "Bert is a tuner by trade, chiefly" says what he is before the first comma.
    value = _trimmed(phrase)
    if value and phrase[0].lower() not in ADJECTIVES | NO_STATE:
        yield Reading(SELF, "", value, "holds")


def _ended(it: _Predicate) -> Iterator[Reading]:
    """An end: "no longer drive", "don't smoke any more", "am not with O2 any longer"."""
    words = _trimmed((it.verb, *it.rest))
    words = _NOT_ANY_MORE.sub("", words).strip()
    if words and it.verb.lower() not in NOT_A_HABIT | {"care", "mind", "know", "think", "want"}:
        yield Reading(SELF, "", words, "ends")


def _done(it: _Predicate) -> Iterator[Reading]:
    """What the speaker did that lasts, or does as a habit."""
    verb, rest = it.verb.lower(), it.rest
    if verb in SWAPPED and any(word in ("for", "with") for word in rest):
        yield from _swapped(rest)
    elif "favour" in rest or "favor" in rest:
        yield from _habit(
            ("have", _noun_phrase(rest[rest.index("of") + 1 :] if "of" in rest else ()))
        )
    elif verb in SWITCHED and _towards(rest) is not None:
        yield from _switched(it)
    elif verb in ("gave", "given", "got", "swore", "cut", "let", "handed", "packed", "put", "done"):
        yield from _parted_phrase(it)
    elif verb in ENDED:
        yield from _stopped(verb, rest)
    elif verb in ("took", "see"):
        if {"job", "post", "role", "position"} & {*rest} or "".join(rest[:1])[:1].isupper():
            yield from _habit((verb, *rest))
    elif verb == "moved" and "with" in rest[:3]:
        yield from _habit((verb, *rest))
    elif verb in CHOSEN:
        yield from _chosen(verb, rest)
    elif verb == "said" and rest[:2] == ("goodbye", "to"):
        yield from _gone(_noun_phrase(rest[2:]))
    elif verb in ACQUIRED:
        thing = _noun_phrase(rest[1:] if rest[:1] == ("up",) else rest)
        yield from _habit(("have", thing) if thing else ("have",))
    elif verb in TAKEN or (it.auxiliaries & HAVE and verb in DONE):
        yield from _habit((it.verb, *rest))
    elif verb in HAVE:
        yield from _habit(("have", *rest))
    elif not _is_past(verb) and not it.auxiliaries & (BE | HAVE):
        yield from _habit((it.verb, *rest))


def _chosen(verb: str, rest: Sequence[str]) -> Iterator[Reading]:
    """ "ended up going with the Honda", "opted for decaf", "decided to go with Vodafone"."""
    lower = [word.lower() for word in rest]
    if (verb == "ended" and lower[:1] == ["up"]) or (
        verb == "decided" and lower[:2] in (["to", "go"], ["to", "keep"])
    ):
        yield from _habit(rest[1:])
    elif verb in ("chose", "opted", "closed", "passed"):
        yield from _habit((verb, *rest))


def _is_past(verb: str) -> bool:
    if verb in ("go", "get", "take", "make"):
        return False
    return verb in NO_HABIT | NOT_A_HABIT or (verb.endswith("ed") and verb not in ("need", "feed"))


def _habit(phrase: Sequence[str]) -> Iterator[Reading]:
    value = _trimmed(phrase)
    if len(phrase) == 1:
        if phrase[0].lower() in HABITS.split():
            yield Reading(SELF, "", phrase[0], "holds")
    elif phrase[0].lower() in OWNING and phrase[1].lower() in DETERMINERS | {"the"}:
        yield Reading(SELF, "", f"have {_trimmed(phrase[1:])}", "holds")
        yield Reading(SELF, "", value, "holds")
    elif " " in value and phrase[1].lower() not in ("it", "that", "this", "them"):
        yield Reading(SELF, "", value, "holds")


def _swapped(rest: Sequence[str]) -> Iterator[Reading]:
    """ "the Xbox for a Steam Deck": what is gone, and what is there in its place."""
    at = max(place for place, word in enumerate(rest) if word in ("for", "with"))
    old, new = _noun_phrase(rest[:at]), _noun_phrase(rest[at + 1 :])
    if old and new:
        yield Reading(SELF, "", f"have {new}", "holds")
        yield Reading(SELF, "", f"have {old}", "ends")


def _switched(it: _Predicate) -> Iterator[Reading]:
    """ "my major from biology to geology", "from the piano to the cello", "over to Giffgaff"."""
    rest = it.rest
    at = _towards(rest)
    if at is None:
        return
    new = _noun_phrase(rest[at + 1 :])
    is_trip = it.verb.lower() in GOING and not {"from", "over", "across", "back"} & {*rest[:at]}
    if not new or is_trip:
        return
    is_thing = rest[0].lower() in ("my", "our") or rest[:2] == ("the", "rent")
    thing = _noun_phrase(rest) if is_thing else ""
    thing = thing.removeprefix("the ")
    if thing:
        yield Reading(SELF, thing, new, "begins")
        return
    if it.verb in ("moved", "relocated"):
        return  # to a place or a team, as the forms know
    yield Reading(SELF, "", f"use {new}", "holds")
    if "from" in rest[:at]:
        old = _noun_phrase(rest[rest.index("from") + 1 : at])
        if old:
            yield Reading(SELF, "", f"use {old}", "ends")


def _towards(rest: Sequence[str]) -> int | None:
    """Where the "to" stands that brings what somebody switched to."""
    for place, word in enumerate(rest[:8]):
        if word == "to":
            return place
        if word in (",", "because", "since"):
            return None
    return None


def _parted_phrase(it: _Predicate) -> Iterator[Reading]:
    """Verbs of two words: "gave up meat", "got rid of Netflix", "let the caravan go"."""
    verb, rest = it.verb.lower(), it.rest
    lower = [word.lower() for word in rest]
    if verb in ("gave", "given", "swore", "cut", "packed") and lower[:1] in (
        ["up"],
        ["off"],
        ["out"],
        ["in"],
    ):
        yield from _stopped("quit", rest[2:] if lower[1:2] == ["on"] else rest[1:])
    elif verb == "got" and lower[:2] == ["rid", "of"]:
        yield from _gone(_noun_phrase(rest[2:]))
    elif verb == "let" and lower[-1:] in (["go"], ["lapse"]):
        yield from _gone(_noun_phrase(rest[:-1]))
    elif verb in ("gave", "given") and "to" in lower and lower[0] in DETERMINERS | {"the"}:
        yield from _gone(_noun_phrase(rest[: lower.index("to")]))
    elif verb == "got" and len(rest) > 0 and lower[0] not in ("a", "an") and lower[0] in STATUSES:
        yield from _of_self(replace(it, verb=rest[0], rest=rest[1:]))
    elif verb == "got" and lower[:1] in (["a"], ["an"], ["my"], ["two"], ["three"], ["four"]):
        yield from _habit(("have", *rest))


def _stopped(verb: str, rest: Sequence[str]) -> Iterator[Reading]:
    """ "stopped taking sugar in my tea", "quit the gym", "sold the Corsa"."""
    if not rest:
        return
    if rest[0].lower().endswith("ing"):
        value = _trimmed(rest)
        if value:
            yield Reading(SELF, "", value, "ends")
        return
    if rest[0].lower() == "with":  # "stopped with the coffee"
        rest = rest[1:]
    thing = _noun_phrase(rest)
    if not thing or rest[0] in PREPOSITIONS or thing.split()[0].lower() in _PRONOUNS:
        return
    if verb in PARTED:
        yield from _gone(thing)
    elif verb in ("quit", "stopped"):
        yield Reading(SELF, "", OBJECTS.get(thing.casefold(), thing), "ends")


def _gone(thing: str) -> Iterator[Reading]:
    if thing and thing.lower() not in _PRONOUNS:
        yield Reading(SELF, "", f"have {thing}", "ends")


def _of_it(it: _Predicate, topic: str | None) -> Iterator[Reading]:
    """ "It's Harlow now", after "changed my surname"."""
    phrase = (it.verb, *it.rest)
    if it.is_negated or not (it.auxiliaries & (BE | HAVE) or it.verb == "became"):
        return
    if it.verb.lower() in ("become", "became"):
        phrase = it.rest
    value = _noun_phrase(phrase[1:] if phrase[0].lower() in ("on", "in", "at") else phrase)
    if not value or value.lower() in NO_VALUES:
        return
    if topic is not None:
        yield Reading("my", topic, value, "begins")
    elif it.is_now and phrase[0].lower() not in ADJECTIVES:
        yield Reading(SELF, "", value, "holds")


def _topic(clause: Clause) -> str | None:
    """What a later "it" stands for: the thing of the speaker's that a clause is about."""
    name = clause.subject
    if name.lower().startswith(("my ", "our ")) and name.split()[-1].lower() not in KIN:
        if not {word.lower() for word in clause.words} & (CHANGED | {"used", "was", "were", "not"}):
            return None
        return _bare(name.partition(" ")[2])
    match = re.search(
        r"\b(?:changed|changing|update|updated|switched|reset|note) (?:my|our|the|your) "
        r"([\w'-]+(?: [\w'-]+)??)(?= (?:after|to|from|in|on|when|last|recently|again)\b| ?[,:;]|$)",
        clause.whole,
    )
    return match[1] if match else None


def _bare(noun: str) -> str:
    return re.sub(r"^(?:new|old|current|latest|own) ", "", noun)


def _of_others(clause: Clause) -> Iterator[Reading]:
    """What somebody did to the speaker: "they made me treasurer", "put me on a diet"."""
    words = [word.lower() for word in clause.words]
    for place, word in enumerate(words[:-3]):
        if (
            word in CHANGED
            and not set(words) & MODAL
            and (
                words[place + 1] in ("my", "our") or words[place + 1 : place + 3] == ["the", "rent"]
            )
        ):
            yield from _switched(_Predicate(word, clause.words[place + 1 :]))
            return
    for place, word in enumerate(words[:-2]):
        if words[place + 1] != "me" or word not in NAMED_ME or set(words[:place]) & MODAL:
            continue
        after = clause.words[place + 2 :]
        if after and after[0].lower() in ("on", "into", "as", "to", "onto"):
            after = after[1:]
        value = _noun_phrase(after)
        if (
            value
            and value.lower() not in NO_VALUES
            and not after[0].lower().endswith(("ing", "ed"))
        ):
            yield Reading(SELF, "", value, "holds")
        return


def _of_thing(name: str, it: _Predicate) -> Iterator[Reading]:
    """What is said of something: "my dentist is now Dr Wu", "the Raleigh was stolen"."""
    determiner, _, noun = name.partition(" ")
    owned = determiner.lower() in ("my", "our")
    verb = it.verb.lower()
    is_thing = owned or (determiner.lower() == "the" and (it.is_now or it.auxiliaries))
    if not noun or not is_thing or {"to", "that", "which", "who"} & {*noun.lower().split()}:
        return
    if verb in CHANGED and _towards(it.rest) is not None and not it.is_negated:
        yield from _moved(noun, owned, it)
    elif verb in ("part-exchanged", "swapped", "traded", "replaced") and it.auxiliaries:
        yield from _swapped((noun, *it.rest))
    elif verb in GONE and not it.is_negated and (verb in LEFT or it.auxiliaries & _PASSIVE):
        if owned or re.match(r"old |[A-Z]", noun):
            yield from _gone(_noun_phrase(noun.split()))
    elif it.auxiliaries & BE and (owned or noun.startswith("new ")):
        yield from _is(noun, it)
    elif verb in THING_VERBS and not it.is_negated and (owned or it.is_now):
        yield from _does(noun, it)


def _moved(noun: str, owned: bool, it: _Predicate) -> Iterator[Reading]:
    at = _towards(it.rest)
    if at is None:
        return
    new = _noun_phrase(it.rest[at + 1 :])
    if not new:
        return
    if it.verb.lower() in ("gone", "went", "turned") and not it.is_now:
        if owned:
            yield from _gone(_noun_phrase(noun.split()))
    elif owned and noun.split()[-1].lower() not in _PEOPLE:
        yield Reading("my", _bare(noun), new, "begins")


_PEOPLE = ROLES | KIN


def _is(noun: str, it: _Predicate) -> Iterator[Reading]:
    """A value of something of the speaker's, in a slot of its own where the value is one."""
    phrase = (it.verb, *it.rest)
    words = [word.lower() for word in phrase]
    if "no longer" in it.auxiliaries:
        if "but" not in words:
            return
        phrase = phrase[words.index("but") + 1 :]
    elif it.is_negated:
        return
    if words[0] in ("called", "named") and len(phrase) > 1:
        yield Reading("my", _bare(noun), _noun_phrase(phrase[1:]), "holds")
        return
    is_new = noun.startswith("new ") or it.is_now
    if words[0] in {"in", "on", "at", "with", "for", "to"} and is_new:
        value = _noun_phrase(phrase[1:])
        if value:
            yield Reading("my", f"{_bare(noun)} {words[0]}", value, "begins")
        return
    if words[0].endswith("ing") and words[0] in PROGRESSIVE_NOT:
        return
    if "called" in words:  # "is a man called Stefan"
        phrase = phrase[words.index("called") + 1 :]
    value = _noun_phrase(phrase)
    if not value:
        return
    new = is_new or "no longer" in it.auxiliaries
    if _is_value(noun, value):
        yield Reading("my", _bare(noun), value, "begins" if new else "holds")
    elif words[0] not in ADJECTIVES:
        yield Reading(f"my {_bare(noun)}", "", _trimmed(phrase), "holds")


def _is_value(noun: str, value: str) -> bool:
    """Whether "my noun is value" gives a value, rather than saying how it is."""
    words, kinds = value.split(), noun.lower().split()
    if words[0].lower() in NO_VALUES - {"the"} and not words[0].istitle():
        return False
    if words[0][:1].isupper() or any(map(str.isdigit, value)):
        return len(words) == 1 or _is_telling(words)
    is_choice = (
        bool(CHOICES & set(kinds[:-1]))
        or kinds[-2:] == ["of", "choice"]
        or kinds[-1] in CHOICE_NOUNS
    )
    return is_choice and re.search(r"(?:ed|able|ful|ous|ly)$", words[0]) is None


def _is_telling(words: Sequence[str]) -> bool:
    return any(word[:1].isupper() or any(map(str.isdigit, word)) for word in words)


def _does(noun: str, it: _Predicate) -> Iterator[Reading]:
    """ "My walking group meets on Fridays now"."""
    words = list(it.rest)
    verb = it.verb.lower()
    while words and words[0].lower() in PHRASAL | {"now", "just"}:
        words.pop(0)
    value = _noun_phrase(words)
    if value and len(it.rest) > len(words):
        sense: Literal["begins", "holds"] = "begins" if it.is_now else "holds"
        yield Reading("my", f"{_bare(noun)} {verb}", value, sense)


def _noun_phrase(words: Sequence[str]) -> str:
    """The noun phrase that words begin with, without its article; "called Juno" belongs to it."""
    start = 0
    while start < len(words) and words[start].lower() in DETERMINERS | ADVERBS | SMALL:
        start += 1
    end = start
    while end < len(words) and words[end].lower() not in PREPOSITIONS:
        end += 1
    for place in range(start + 1, end):  # "meat a while back" is meat, "six and a half" is all that
        is_rate = place + 1 < end and words[place + 1].lower() in _UNITS
        is_new = words[place].lower() in ("a", "an") and words[place - 1].lower() not in JOINING
        if is_new and not is_rate:
            end = place
            break
    phrase = list(words[start : min(end, start + MAX_VALUE_WORDS)])
    while phrase and phrase[-1].lower() in TRAILING | ADVERBS | {"the"}:
        phrase.pop()
    return " ".join(phrase).replace(" ,", ",")


def _trimmed(words: Sequence[str]) -> str:
    """A phrase up to the first comma, without the words at its end that only say "now"."""
    phrase = _listed(words)
    lower = [word.lower() for word in phrase]
    for end in ("rather", "instead", "because", "so"):
        if end in lower[1:]:
            phrase = phrase[: lower.index(end, 1)]
            lower = lower[: len(phrase)]
    phrase = phrase[: MAX_VALUE_WORDS if "," not in words else 2 * MAX_VALUE_WORDS]
    while phrase and phrase[-1].lower() in TRAILING | NOW:
        phrase.pop()
    if [word.lower() for word in phrase[-2:]] == ["these", "days"]:
        phrase = phrase[:-2]
    while phrase and phrase[-1].lower() in DANGLING:
        phrase.pop()
    if phrase and phrase[0].lower() in ("a", "an"):
        phrase = phrase[1:]
    return " ".join(phrase).replace(" ,", ",")


def _listed(words: Sequence[str]) -> list[str]:
    """Words up to the first comma behind which no list goes on: "a cat, a tortoise and a dog"."""
    for place, word in enumerate(words):
        if word != ",":
            continue
        after = words[place + 1] if place + 1 < len(words) else ""
        is_item = after.lower() in _COUNTS or after[:1].isdigit() or after[:1].isupper()
        if not is_item or after in ("I", "I'm"):
            return list(words[:place])
    return list(words)


_COUNTS = {"a", "an", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
