"""Reads what is said of a speaker's things and people: "my dentist is now Dr Wu". No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from treering.views.facts.assertion import Assertion
from treering.views.facts.clauses import SELF, Clause
from treering.views.facts.phrasing import is_telling, noun_phrase, trimmed
from treering.views.facts.predicate import Predicate
from treering.views.facts.speaker import gone, swapped, switched, towards
from treering.views.facts.tokens import has_any
from treering.views.facts.verbs import (
    ADJECTIVES,
    BE,
    CHANGED,
    CHOICE_NOUNS,
    CHOICES,
    DETERMINERS,
    GONE,
    HAVE,
    JUDGED,
    KIN,
    LEFT,
    MODAL,
    NAMED_ME,
    NO_VALUES,
    PETS,
    PHRASAL,
    PROGRESSIVE_NOT,
    RIDES,
    ROLES,
    THING_VERBS,
    THOUGHTS,
)

_POST = re.compile(r"(?:er|or|ist|ent|ant|ian|man|woman|ary|chair|captain|head|lead|deputy)$")
"""Endings of what one is made: "they made me treasurer", but "it made me laugh"."""

TAKES = re.compile(
    r"^(?:now )?on (?:[\w-]+ ){0,4}?(?:diet|kibble|food|tablets|meds|medication|medicine|"
    r"antibiotics|steroids|raw|"
    r"pills|insulin|formula|milk|solids|drops|biscuits|supplements?|probiotics|painkillers)\b"
)
"""What an animal or a child is on that it gets every day."""

_PASSIVE = BE | {"was", "were", "got"}


_PEOPLE = ROLES | KIN
_BE_OR_HAVE = BE | HAVE
_NOT_TAKEN = DETERMINERS | {"like", "been", "all", "enough"}
_CHANGING = CHANGED | {"used", "was", "were", "not"}
_PUT = CHANGED | {"put"}
_NOT_SO = MODAL | {"not", "never"}
_NO_VALUES = NO_VALUES - {"the"}
_BESIDE_VERB = PHRASAL | {"now", "just"}


def of_it(it: Predicate, topic: str | None) -> Iterator[Assertion]:
    """ "It's Harlow now", after "changed my surname"."""
    phrase = (it.verb, *it.rest)
    if it.verb.lower() in ("all", "only") and it.rest:
        phrase = it.rest
    if it.is_negated or not (it.auxiliaries & _BE_OR_HAVE or it.verb == "became"):
        return
    if it.verb.lower() in ("become", "became"):
        phrase = it.rest
    if not phrase:  # "it's become…"
        return
    value = noun_phrase(phrase[1:] if phrase[0].lower() in ("on", "in", "at") else phrase)
    if not value or value.lower() in NO_VALUES:
        return
    if topic is not None:
        yield Assertion("my", topic, value, "begins")
    elif (it.is_now or _is_for_me(it)) and phrase[0].lower() not in ADJECTIVES:
        yield Assertion(SELF, "", value, "holds")


def _is_for_me(it: Predicate) -> bool:
    """Whether somebody says what they take: "it's curling for me", not "it's like bliss for me"."""
    taken = it.rest[-2:] == ("for", "me") and len(it.rest) <= len(["a", "b", "c", "for", "me"])
    return taken and it.verb.lower() not in _NOT_TAKEN


def _is_post(after: Sequence[str]) -> bool:
    first = after[0].lower()
    return first in DETERMINERS or any(_POST.search(word.lower()) for word in after[:2])


def topic_of(clause: Clause) -> str | None:
    """What a later "it" stands for: the thing of the speaker's that a clause is about."""
    name = clause.subject
    if name.lower().startswith(("my ", "our ")) and name.split()[-1].lower() not in KIN:
        if not {word.lower() for word in clause.words} & _CHANGING:
            return None
        return _bare(name.partition(" ")[2])
    if not has_any(clause.whole, _OF_CHANGES):
        return None
    match = _CHANGED.search(clause.whole) or _MISTAKEN.search(clause.whole)
    return match[1] if match else None


_CHANGED = re.compile(
    r"\b(?:changed|changing|update|updated|switched|reset|note) (?:my|our|the|your) "
    r"([\w'-]+(?: [\w'-]+)??)(?= (?:after|to|from|in|on|when|last|recently|again)\b| ?[,:;]|$)"
)
_MISTAKEN = re.compile(
    r"\b(?:got|get|have|had|spelt|spelled|misspelt|misspelled|wrote|put|called) (?:my|our) "
    r"([\w'-]+(?: [\w'-]+)??) (?:wrong|down|incorrectly|as)\b"
)
"""What a hearer has wrong, and "it" then puts right: "you've got my birthday wrong"."""

_OF_CHANGES = ("chang", "updat", "switch", "reset", "note", "wrong", " down", "incorrect", " as")
"""One of these stands in each match of the two expressions."""


def _bare(noun: str) -> str:
    return re.sub(r"^(?:new|old|current|latest|own) ", "", noun)


def of_others(clause: Clause) -> Iterator[Assertion]:
    """What somebody did to the speaker: "they made me treasurer", "put me on a diet"."""
    words = [word.lower() for word in clause.words]
    for place, word in enumerate(words[:-3]):
        if (
            word in _PUT
            and not set(words) & MODAL
            and (
                words[place + 1] in ("my", "our") or words[place + 1 : place + 3] == ["the", "rent"]
            )
        ):
            yield from switched(Predicate(word, clause.words[place + 1 :]))
            return
    for place, word in enumerate(words[:-2]):
        if words[place + 1] != "me" or word not in NAMED_ME or set(words[:place]) & _NOT_SO:
            continue
        after = clause.words[place + 2 :]
        while after and after[0].lower() in (
            "on",
            "into",
            "as",
            "to",
            "onto",
            "up",
            "down",
            "over",
        ):
            after = after[1:]
        if after[:1] == ("from",) and "to" in after:
            after = after[after.index("to") + 1 :]
        value = noun_phrase(after)
        if (
            value
            and value.lower() not in NO_VALUES
            and not after[0].lower().endswith(("ing", "ed"))
            and (word != "made" or _is_post(after))
        ):
            yield Assertion(SELF, "", value, "holds")
        return


def of_thing(name: str, it: Predicate) -> Iterator[Assertion]:
    """What is said of something: "my dentist is now Dr Wu", "the Raleigh was stolen"."""
    determiner, _, noun = name.partition(" ")
    owned = determiner.lower() in ("my", "our")
    verb = it.verb.lower()
    is_thing = owned or (determiner.lower() == "the" and (it.is_now or it.auxiliaries))
    if not noun or not is_thing or {"to", "that", "which", "who"} & {*noun.lower().split()}:
        return
    if verb in CHANGED and towards(it.rest) is not None and not it.is_negated:
        yield from _moved(noun, owned, it)
    elif verb in ("part-exchanged", "swapped", "traded", "replaced") and it.auxiliaries:
        yield from swapped((noun, *it.rest))
    elif verb in GONE and not it.is_negated and (verb in LEFT or it.auxiliaries & _PASSIVE):
        if verb == "gone" and it.rest and it.rest[0].lower() not in ("at", "for", "now", "forever"):
            return  # "my cat has gone outside"
        if noun.startswith("new ") or noun.split()[-1].lower() in THOUGHTS:
            return  # "my new phone is broken": it is had
        if owned or re.match(r"old |[A-Z]", noun):
            yield from gone(noun_phrase(noun.split()))
    elif it.auxiliaries & BE and (
        owned or noun.startswith("new ") or (it.is_now and is_telling((it.verb, *it.rest[:2])))
    ):
        yield from _is(noun, it)
    elif verb in THING_VERBS and not it.is_negated and (owned or it.is_now):
        yield from _does(noun, it)


def _moved(noun: str, owned: bool, it: Predicate) -> Iterator[Assertion]:
    at = towards(it.rest)
    if at is None:
        return
    new = noun_phrase(it.rest[at + 1 :])
    if not new:
        return
    if it.verb.lower() == "moved" and not is_telling(new.split()):
        return  # "my phone moved to the top drawer"
    if it.verb.lower() in ("gone", "went", "turned") and not it.is_now:
        amount = any(map(str.isdigit, new)) and {"up", "down"} & {*it.rest[:at]}
        if owned and amount:
            yield Assertion("my", _bare(noun), new, "begins")
        elif owned and new.lower() in ("auction", "charity", "the tip", "the dump", "heaven"):
            yield from gone(noun_phrase(noun.split()))
    elif owned and noun.split()[-1].lower() not in _PEOPLE:
        yield Assertion("my", _bare(noun), new, "begins")


def _is(noun: str, it: Predicate) -> Iterator[Assertion]:
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
        yield Assertion("my", _bare(noun), noun_phrase(phrase[1:]), "holds")
        return
    is_new = noun.startswith("new ") or it.is_now
    is_placed = is_new or is_telling(phrase[1:3])
    is_moving = TAKES.search(" ".join(phrase)) is None and (
        noun.split()[-1] in RIDES or (noun in PETS and not is_telling(phrase[1:4]))
    )
    is_counted = any(word[:1].isdigit() for word in phrase[1:2])
    if is_moving and words[0] in {"in", "on", "at", "out"} and not is_counted:
        return  # "my train is at platform 4", "my cat is now on the roof"
    if words[0] in {"in", "on", "at", "with", "for", "to"} and is_placed:
        value = noun_phrase(phrase[1:])
        if value:
            slot = _bare(noun) if words[0] == "with" and not is_new else f"{_bare(noun)} {words[0]}"
            yield Assertion("my", slot, value, "begins" if is_new else "holds")
        return
    if (words[0].endswith("ing") and len(phrase) == 1 and not _is_value(noun, phrase[0])) or words[
        0
    ] in PROGRESSIVE_NOT:
        return
    if "called" in words:  # "is a man called Stefan"
        phrase = phrase[words.index("called") + 1 :]
    value = noun_phrase(phrase)
    if not value:
        return
    new = is_new or "no longer" in it.auxiliaries
    if _is_value(noun, value):
        yield Assertion("my", _bare(noun), value, "begins" if new else "holds")
    elif (
        words[0] not in ADJECTIVES
        and words[0] not in ("our", "my")  # "our kids are our future"
        and words[1:2] != ["me"]
        and value.split()[-1].lower() not in JUDGED
    ):
        yield Assertion(f"my {_bare(noun)}", "", trimmed(phrase), "holds")


def _is_value(noun: str, value: str) -> bool:
    """Whether "my noun is value" gives a value, rather than saying how it is."""
    words, kinds = value.split(), noun.lower().split()
    if words[0].lower() in _NO_VALUES and not words[0].istitle():
        return False
    if words[0][:1].isupper() or any(map(str.isdigit, value)):
        return len(words) == 1 or is_telling(words)
    is_choice = (
        bool(CHOICES & set(kinds[:-1]))
        or kinds[-2:] == ["of", "choice"]
        or kinds[-1] in CHOICE_NOUNS
    )
    return is_choice and re.search(r"(?:ed|able|ful|ous|ly)$", words[0]) is None


def _does(noun: str, it: Predicate) -> Iterator[Assertion]:
    """ "My walking group meets on Fridays now"."""
    words = list(it.rest)
    verb = it.verb.lower()
    while words and words[0].lower() in _BESIDE_VERB:
        words.pop(0)
    value = noun_phrase(words)
    if value and len(it.rest) > len(words):
        sense: Literal["begins", "holds"] = "begins" if it.is_now else "holds"
        yield Assertion("my", f"{_bare(noun)} {verb}", value, sense)
