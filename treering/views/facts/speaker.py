"""Reads what speakers state of themselves, by the kind of the verb. No I/O.

That is a habit or state ("ride a Dawes"), its end ("no longer drive"), or a change ("swapped the
bike for a Brompton"). A verb more in a list of ``verbs`` is read in all of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from treering.views.facts.assertion import Assertion
from treering.views.facts.clauses import SELF
from treering.views.facts.phrases import HABITS, NO_HABIT, OBJECTS
from treering.views.facts.phrasing import is_telling, noun_phrase, placed, trimmed
from treering.views.facts.predicate import _NOT_ANY_MORE, Predicate
from treering.views.facts.verbs import (
    ACQUIRED,
    ADJECTIVES,
    ARTICLES,
    BE,
    BECOME,
    CHOSEN,
    DETERMINERS,
    DIAGNOSED,
    DONE,
    ENDED,
    GOING,
    HAPPENING,
    HAVE,
    KINDS,
    NAMED_ME,
    NO_STATE,
    NOT_A_HABIT,
    OWNING,
    PARTED,
    PASSING,
    PHRASAL,
    PREPOSITIONS,
    PROGRESSIVE_NOT,
    STANDING,
    STATUSES,
    SWAPPED,
    SWITCHED,
    TAKEN,
    WERE_ONE,
)

_PRONOUNS = {"it", "them", "him", "her", "that", "this", "me", "us"}


_UNNAMED = _PRONOUNS | {"anything", "much", "so", "well"}
_NO_THINGS = _PRONOUNS | {"job", "work", "school", "studies"}
"""What one leaves that is no habit and no thing; the forms read the place of work."""

_GIVEN_UP = {"eat", "drink", "smoke", "drive", "wear", "use", "speak", "play"}
_NOT_DONE = {"own", "fly", "swim", "ride", "celebrate", "cook", "watch", "touch"}
"""Habits of which "I don't" says as much as "I no longer"."""


_BABIES = {
    "baby",
    "child",
    "twins",
    "triplets",
    "boy",
    "girl",
    "son",
    "daughter",
    "grandchild",
    "second",
    "third",
    "first",
}
"""Whom one expects for months."""

_LASTING = {"pregnant"}
"""Adjectives that stay true for months."""

_PASSING_STATES = (ADJECTIVES | NO_STATE) - _LASTING
_NO_END = NOT_A_HABIT | {"care", "mind", "know", "think", "want"}
_NOT_DOING = NO_HABIT | NOT_A_HABIT
_PLACING = PHRASAL | {"at"}
_GIVEN_TO = DETERMINERS | {"charity"}
_BE_OR_HAVE = BE | HAVE
_DONE_TO = {"was", "were", "been", "got"}


_NOT_STATUS = {"engaged": ("in", "with", "by"), "married": ("to",), "separated": ("by", "into")}
"""Words after which "engaged" and the like are not what one is to somebody."""


def of_speaker(it: Predicate) -> Iterator[Assertion]:
    """What the speaker says of themselves."""
    verb = it.verb.lower()
    phrase = (it.verb, *it.rest)
    if it.is_negated:
        if "no longer" in it.auxiliaries:
            yield from _ended(it)
        elif it.auxiliaries & {"do", "does"} and _is_given_up(it):
            yield Assertion(SELF, "", trimmed(phrase), "ends")
        elif it.auxiliaries & HAVE and _is_long_since(phrase):
            yield Assertion(SELF, "", trimmed(phrase[: phrase.index("since")]), "ends")
        return
    if verb in DIAGNOSED and it.auxiliaries & _DONE_TO and verb not in NAMED_ME:
        yield from _habit(phrase)
    elif verb in STATUSES and _is_status(it):
        yield Assertion(SELF, "status", verb, "begins")
    elif verb in WERE_ONE and (not it.rest or it.rest[0].lower() in {*PREPOSITIONS, "up"}):
        yield Assertion(SELF, "status", "separated" if verb == "split" else verb, "begins")
    elif verb in BECOME or (verb in NAMED_ME and "been" in it.auxiliaries):
        rest = it.rest if verb not in ("promoted", "put", "moved") else it.rest[1:]
        if it.rest[:1] == ("from",):
            return  # what one was moved from one is no more: the clause is read as a whole
        yield from _be(noun_phrase(rest).split())
    elif it.auxiliaries & BE:
        yield from _being(phrase)
    else:
        yield from _done(it)


def _is_given_up(it: Predicate) -> bool:
    """Whether "I don't" is said of a habit, or of how things are now."""
    verb = it.verb.lower()
    is_habit = verb in _GIVEN_UP or (verb in _NOT_DONE and _is_named(it.rest))
    return is_habit or (it.is_now and bool(it.rest))


def _is_named(thing: Sequence[str]) -> bool:
    """Whether a thing is named that one does not do: "a car", but not "that" or "anything"."""
    return bool(thing) and thing[0].lower() not in _UNNAMED


def _is_long_since(phrase: Sequence[str]) -> bool:
    """Whether "I haven't" is said of a habit: "eaten meat since Christmas", not "since Monday"."""
    if "since" not in phrase[:-1] or not phrase[0].lower().endswith(("ed", "en", "had", "drunk")):
        return False
    since = phrase[phrase.index("since") + 1].lower()
    return not since.endswith("day") and since not in ("breakfast", "lunch", "then", "this")


def _is_status(it: Predicate) -> bool:
    """Whether "engaged" and the like are what one is, and not "engaged in a debate"."""
    verb = it.verb.lower()
    return not it.rest or it.rest[0].lower() not in _NOT_STATUS.get(verb, ())


def _being(phrase: Sequence[str]) -> Iterator[Assertion]:
    """What the speaker is, where, with whom, or doing."""
    first = phrase[0].lower()
    if first == "back" and len(phrase) > 1:
        if phrase[1].lower() in _PLACING or phrase[1].endswith("ing"):
            yield from _being(phrase[1:])
    elif first == "going" and phrase[1:2] == ("to",) and _is_at_article(phrase[2:]):
        yield from _habit(phrase)
    elif first in ("done", "through", "finished") and phrase[1:2] == ("with",):
        yield from _stopped("quit", phrase[2:])
    elif first in ("off", "down") and len(phrase) > 1 and phrase[1].lower() not in ("for", "at"):
        if (first == "off") != (phrase[1].lower() == "to"):
            yield Assertion(SELF, "", trimmed(phrase), "holds")
    elif first.endswith("ing"):
        if first not in PROGRESSIVE_NOT or (first == "expecting" and _BABIES & {*phrase}):
            yield from _habit(phrase)
    elif first in STANDING and len(phrase) > 1:
        yield from _habit(phrase)
    elif not first.endswith("ed") or "-" in first:  # "excited" passes, "left-handed" stays
        yield from _be(phrase)


def _is_at_article(words: Sequence[str]) -> bool:
    return bool(words) and words[0].lower() in ARTICLES


def _be(phrase: Sequence[str]) -> Iterator[Assertion]:
    # "Bert is a tuner by trade, chiefly" says what he is before the first comma.
    value = trimmed(phrase)
    is_somewhat = " ".join(phrase[:1]) in ("bit", "little", "lot")
    if value and not is_somewhat and phrase[0].lower() not in _PASSING_STATES:
        yield Assertion(SELF, "", value, "holds")


def _ended(it: Predicate) -> Iterator[Assertion]:
    """An end: "no longer drive", "don't smoke any more", "am not with O2 any longer"."""
    words = trimmed((it.verb, *it.rest))
    words = _NOT_ANY_MORE.sub("", words).strip()
    if words and it.verb.lower() not in _NO_END:
        yield Assertion(SELF, "", words, "ends")


def _done(it: Predicate) -> Iterator[Assertion]:
    """What the speaker did that lasts, or does as a habit."""
    verb, rest = it.verb.lower(), it.rest
    if rest[1:2] == ("with",) and rest[0].endswith("s") and verb in SWAPPED:
        return  # "swapped seats with a lady"
    if verb in SWAPPED and any(word in ("for", "with") for word in rest):
        yield from swapped(rest)
    elif "favour" in rest or "favor" in rest:
        yield from _habit(
            ("have", noun_phrase(rest[rest.index("of") + 1 :] if "of" in rest else ()))
        )
    elif verb in SWITCHED and towards(rest) is not None:
        yield from switched(it)
    elif verb in ("gave", "given", "got", "swore", "cut", "let", "handed", "packed", "put", "done"):
        yield from _parted_phrase(it)
    elif verb == "no" and rest[:1] == ("more",):
        yield from _stopped("quit", rest[1:])
    elif verb in ENDED:
        yield from _stopped(verb, rest)
    elif verb in ("took", "see"):
        if {"job", "post", "role", "position", "one", "another"} & {*rest[:4]} or "".join(rest[:1])[
            :1
        ].isupper():
            yield from _habit((verb, *rest))
    elif verb == "moved" and "with" in rest[:3]:
        yield from _habit((verb, *rest))
    elif verb in CHOSEN:
        yield from _chosen(verb, rest)
    elif verb == "said" and rest[:2] == ("goodbye", "to"):
        yield from gone(noun_phrase(rest[2:]))
    elif verb in ACQUIRED:
        thing = placed(rest[1:] if rest[:1] == ("up",) else rest)
        yield from _habit(("have", thing) if thing else ("have",))
    elif verb == "joined" and not HAPPENING.isdisjoint(word.lower() for word in rest[:2]):
        return
    elif verb == "keep" and not PROGRESSIVE_NOT.isdisjoint(rest[:1]):
        return  # "keep hoping" is what "am hoping" is
    elif verb in TAKEN or (it.auxiliaries & HAVE and verb in DONE):
        yield from _habit((it.verb, *rest))
    elif verb in HAVE:
        yield from _habit(("have", *rest))
    elif not _is_past(verb) and not it.auxiliaries & _BE_OR_HAVE:
        yield from _habit((it.verb, *rest))


def _chosen(verb: str, rest: Sequence[str]) -> Iterator[Assertion]:
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
    return verb in _NOT_DOING or (verb.endswith("ed") and verb not in ("need", "feed"))


def _habit(phrase: Sequence[str]) -> Iterator[Assertion]:
    value = trimmed(phrase)
    if not phrase:  # "ended up"
        return
    if len(phrase) == 1:
        if phrase[0].lower() in HABITS.split():
            yield Assertion(SELF, "", phrase[0], "holds")
    elif phrase[0].lower() in OWNING and phrase[1].lower() in ARTICLES:
        yield Assertion(SELF, "", f"have {trimmed(phrase[1:])}", "holds")
        yield Assertion(SELF, "", value, "holds")
    elif " " in value and phrase[1].lower() not in ("it", "that", "this", "them"):
        yield Assertion(SELF, "", value, "holds")


def swapped(rest: Sequence[str]) -> Iterator[Assertion]:
    """ "the Xbox for a Steam Deck": what is gone, and what is there in its place."""
    at = max((place for place, word in enumerate(rest) if word in ("for", "with")), default=0)
    old, new = noun_phrase(rest[:at]), noun_phrase(rest[at + 1 :])
    if old and new and not new.endswith(" one"):
        yield Assertion(SELF, "", f"have {new}", "holds")
        yield Assertion(SELF, "", f"have {old}", "ends")


def switched(it: Predicate) -> Iterator[Assertion]:
    """ "my major from biology to geology", "from the piano to the cello", "over to Giffgaff"."""
    rest = it.rest
    at = towards(rest)
    if at is None:
        return
    new = noun_phrase(rest[at + 1 :])
    if not new:  # "we went to…"
        return
    turned = {"from", "over", "across", "back", *(("up", "down") if new[:1].isdigit() else ())}
    is_trip = it.verb.lower() in GOING and not turned & {*rest[:at]}
    is_trip |= it.verb.lower() in ("went", "gone") and _is_travel(rest[at + 1 :])
    old = noun_phrase(rest[rest.index("from") + 1 : at]) if "from" in rest[:at] else ""
    is_trip |= "from" in rest[:at] and rest[at + 1 : at + 2] == ("my",)  # one has both
    is_trip |= old.lower() == new.lower() or not PASSING.isdisjoint(old.lower().split())
    if is_trip:
        return
    is_thing = rest[0].lower() in ("my", "our") or rest[:2] == ("the", "rent")
    kinds = [KINDS[word.lower()] for word in rest[:at] if word.lower() in KINDS]
    thing = noun_phrase(rest) if is_thing else kinds[-1] if kinds else ""
    thing = re.sub(r" (?:up|down|back|over)$", "", thing)
    thing = thing.removeprefix("the ")
    if thing:
        yield Assertion(SELF, thing, new, "begins")
        return
    if it.verb in ("moved", "relocated") and rest[0] == "the" and is_telling(new.split()):
        yield Assertion(SELF, noun_phrase(rest[1:]), new, "begins")
    if it.verb in ("moved", "relocated"):
        return  # to a place or a team, as the forms know
    yield Assertion(SELF, "", f"use {new}", "holds")
    if old:
        yield Assertion(SELF, "", f"use {old}", "ends")


def _is_travel(goal: Sequence[str]) -> bool:
    """Whether one went to what these words begin with, and came back: "Lyon by train"."""
    if len(goal[0]) == 1:  # "from A to B"
        return True
    if goal[0].lower() == "the":
        return not goal[1:2] or goal[1].islower()
    ways = ("by", "on", "via", "yesterday", "today", "in")
    return goal[0][:1].isupper() and any(word in ways for word in goal[1:4])


def towards(rest: Sequence[str]) -> int | None:
    """Where the "to" stands that brings what somebody switched to."""
    for place, word in enumerate(rest[:9]):
        if word == "to":
            return place
        is_end = word == "," and rest[place + 1 : place + 2] != ("from",)
        if is_end or word in ("because", "since"):
            return None
    return None


def _parted_phrase(it: Predicate) -> Iterator[Assertion]:
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
        yield from gone(noun_phrase(rest[2:]))
    elif verb == "let" and lower[-1:] in (["go"], ["lapse"]):
        yield from gone(noun_phrase(rest[:-1]))
    elif verb in ("gave", "given") and "to" in lower and lower[0] in ARTICLES:
        receiver = rest[lower.index("to") + 1 :][:1]
        if receiver and (receiver[0].lower() in _GIVEN_TO or receiver[0].istitle()):
            yield from gone(noun_phrase(rest[: lower.index("to")]))
    elif verb == "got" and len(rest) > 0 and lower[0] not in ("a", "an") and lower[0] in STATUSES:
        yield from of_speaker(replace(it, verb=rest[0], rest=rest[1:]))
    elif (
        verb == "got"
        and rest
        and (
            lower[:1] in (["a"], ["an"], ["my"], ["two"], ["three"], ["four"]) or rest[0].istitle()
        )
    ):
        yield from _habit(("have", *rest))


def _stopped(verb: str, rest: Sequence[str]) -> Iterator[Assertion]:
    """ "stopped taking sugar in my tea", "quit the gym", "sold the Corsa"."""
    if not rest or rest[0] == "up":
        return
    if rest[0].lower().endswith("ing"):
        value = trimmed(rest)
        if value:
            yield Assertion(SELF, "", value, "ends")
        return
    if rest[0].lower() == "with":  # "stopped with the coffee"
        rest = rest[1:]
    thing = noun_phrase(rest)
    if not thing or rest[0] in PREPOSITIONS or thing.split()[0].lower() in _NO_THINGS:
        return
    is_thing = verb == "quit" and rest[0].lower() in ARTICLES
    if verb in PARTED or is_thing:
        yield from gone(thing)
    elif verb in ("quit", "stopped"):
        yield Assertion(SELF, "", OBJECTS.get(thing.casefold(), thing), "ends")


def gone(thing: str) -> Iterator[Assertion]:
    """That a thing is not had any more, unless a pronoun stands for it."""
    if thing and thing.lower() not in _PRONOUNS:
        yield Assertion(SELF, "", f"have {thing}", "ends")
