"""Reads statements of fact from what people say: a subject, a slot and a value. No I/O.

Only sentences of a few plain forms are read ("I moved to Porto", "my number is …", "I don't eat
meat any more"). Questions, wishes, plans, suppositions and the past are left out: a missed
statement costs a mark, a wrong one hides what is true.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from treering.journal.entries import OWN_SOURCES
from treering.records import Entry
from treering.search.terms import stem
from treering.views.facts.asides import is_aside, is_unasserted
from treering.views.facts.assertion import Assertion
from treering.views.facts.clauses import SELF, Clause, clauses, unnamed
from treering.views.facts.fiction import own_life
from treering.views.facts.form import DOES, Form
from treering.views.facts.forms import FORMS
from treering.views.facts.framing import tidied
from treering.views.facts.gate import may_come_to_state, may_ever_state, may_state
from treering.views.facts.mentions import called, mentions
from treering.views.facts.merging import merged
from treering.views.facts.open_forms import RELATIVE, open_statements
from treering.views.facts.others import is_of_others
from treering.views.facts.phrases import (
    COMMON,
    NUMBERED,
    NUMBERS,
    OBJECTS,
    SEVERAL,
    STARTS,
    VALUES,
)
from treering.views.facts.predicate import is_person
from treering.views.facts.readings import asserted, readings
from treering.views.facts.record import BOTS, Statement
from treering.views.facts.remaining import remaining
from treering.views.facts.requests import own_words
from treering.views.facts.things import topic_of
from treering.views.facts.tokens import has_any, letter_runs, parted, runs, table, telling, words
from treering.views.facts.verbs import KIN, PASSING, THOUGHTS, WORKED, word_set
from treering.views.facts.whole_clauses import whole_clauses
from treering.views.facts.wording import bare, is_casual, reworded

MAX_NOTE_CHARS: Final = 600
"""A text without a speaker is read as someone's note up to here, not as a story or an article."""

MAX_SENTENCE_CHARS: Final = 300
_USES: Final = DOES + "use"
_TITLE = "|".join(
    rf"(?<=\b{title})"
    for title in ("Dr", "Mr", "Mrs", "Ms", "Prof", "St", "P\\.O", "dr", "mr", "mrs", "prof")
)
_BEGINS = "(?:I|We|You|He|She|It|They|My|Our|Your|His|Her|Its|Their|The|An?|This|That|These|Those)"
"""No name begins so: "Oak St. I work …" are two sentences, "St. Louis" is one name."""
_SENTENCE = re.compile(rf"(?:[^.!?\n]+|\.(?=\w)|(?:{_TITLE})\.(?= (?!{_BEGINS}\b)[A-Z]))+[.!?]*")
_SENTENCE_ENDS: Final = (".", "!", "?", "\n")
_AROUND = re.compile(
    r"^(?:on|in|at)\s+|(?:\s+(?:now|too|again|nowadays|these days|as well|instead|fyi|lol|tbh|"
    r"haha|btw|last week|last month|last year|"
    r"with|the|an?|of|in|on|at|to|for|from|and))+$"
)
"""Words around a value that are not part of it: "Tom now"."""
_GOES_ON = re.compile(
    r"\s+(?:and|but|because|since|so|who|which)\s+"
    r"(?:(?:I|we|he|she|it|they|you)(?:['’]|\s+[a-z])|(?:the|my|his|her)\s+[a-z]+\s+(?:is|are)\b"
    r"|(?:please\s+)?call me\b|(?:joined|left|started|bought|sold|got|now)\b)"
    r"|\s+(?:now\s+)?(?:because|rather than|instead of|these days|so no)\b|\s+now\s+(?:that|as|"
    r"since)\b"
)
"""Where a sentence goes on after a value: "Ana and I like tea", but not "The King and I"."""
_OWNS = re.compile(r"^(?:owns?|drives?|rides?) (?=(?:an?|the|my|our|her|his)\b)")
"""Verbs of having: who sells the Skoda neither owns nor drives it any more."""

_OF_VERB = re.compile(r"(?:['’]s|(?: (?:got|has|have|was|were|been|just))+)$")
_SPELT = re.compile(r"(?<=\bcol)our|(?<=\bfav)our|(?<=\bneighb)our|(?<=\bflav)our")
"""British endings: a favourite colour is a favorite color."""

_ARTICLE = re.compile(r"^an? ")
_PLACING = re.compile(r" (?:at|on|in|to|for)$")
_EMAIL = re.compile(r"e-?mail(?: address)?")
_PHONE = re.compile(r"(?:(?:tele)?phone |mobile |cell )?number|mobile|telephone")
_PHONE_DIGITS: Final = 6
_UNHINTED = frozenset(place for place, form in enumerate(FORMS) if not form.hints)
_BY_HINT = {
    hint: frozenset(place for place, form in enumerate(FORMS) if hint in form.hints)
    for hint in frozenset().union(*(form.hints for form in FORMS))
}
"""The places of the forms by each word that hints at them."""

_HINT: Final = table("'")
_COLON: Final = frozenset([":"])
_HINTS: Final = frozenset(_BY_HINT)
_OF_HINTS: Final = telling(filter(words, _HINTS))

_ELSEWHERE = re.compile(
    r"\b(?:would|might|could|should|used to|almost|nearly|consider\w*|thinking|think|plan|plans|"
    r"planned|planning to|want\w*|hop(?:e|es|ed|ing)|going to|gonna|will|won't|about to|"
    r"decided against|as soon as|once (?:I|my|we)|tried to|trying to|refuse\w*|never)\b|'ll\b|'d\b",
    re.IGNORECASE,
)
"""What makes a clause a wish, a plan or the past, and says nothing of the next one."""

_GOES_OFF = re.compile(
    r"[,;] (?:so|which|who|what|how|like|but|and|the|they|it|there|he|she|people|"
    r"everyone|hence|thus|though)\b"
    r"| (?:because|as they|since they|which|so that)\b",
    re.IGNORECASE,
)
"""Where a clause goes on to reasons and consequences, which may be wishes or plans."""

_CLAUSES = re.compile(
    r"(?:,|;|:| [—–-])\s+(?=(?:and |but |so |then )?(?:I\b|[Mm]y\b|[Ww]e\b|[Oo]ur\b|[Nn]ow\b))"
    r"|,?\s+(?:but|and now|so now|though)\s+(?=(?:I\b|my\b|we\b|our\b|now\b|am\b))"
)
"""Where one clause ends and the next one begins, with a subject of its own."""

_PARTING: Final = (",", ";", ":", "—", "–", " -", "but", "and now", "so now", "though")
"""One of these stands in each match of ``_CLAUSES``."""

_OF_ONESELF = re.compile(
    # The first letter stands first, for which a text is searched quickly.
    r"[IWwMmOo](?<!\w.)(?:(?<=I)|(?<=[Ww])e|(?<=[Mm])y|(?<=[Oo])ur|(?<=m)e)(?!\w)"
)
_OF_THINGS = re.compile(r"^[Tt]he\b|\b(?:[Hh]is|[Hh]er|[Ii]ts) name\b")
_ONESELF: Final = word_set("i we my our me")
_OF_THEIRS = re.compile(rf"(?:{RELATIVE})'s ", re.IGNORECASE)
_NAMES_IT = re.compile(r"(?:He|She|It)(?:'s| is) (?:called|named) [A-Z]")
_ASKS = re.compile(
    r"(?:is|are|am|was|were|do|does|did|can|could|would|should|shall|will|have|has|what|where|"
    r"which|"
    r"who|whose|how|why|when|any)\b",
    re.IGNORECASE,
)
_BEFORE_QUESTION = re.compile(r"[,;–—]| (?:can|could|would|will) ")
_ASKED_LAST = re.compile(
    r"(?<=\w), (?:so |and |but )?(?:what|when|where|how|which|who|why|do|does|can|could|should|"
    r"will|any) (?:[^,?]+\?)$"
)
"""What is asked behind a statement: "…, when do I start feeding them?"."""

_LOOSE_TAIL = re.compile(
    r"(?<=\w), (?!(?:if|when|before|while|or|as|but only|only|just|although|unless|until|though|"
    r"(?:so|and|but) (?:I|we|my|our))\b)"
    r"(?=[^,]*\b(?:when|before|while|if (?:they|you|there|it|the|all|everything)|"
    r"(?:in|since|from) (?:19|20)\d\d)\b)"
    r"(?![^,]*\b(?:would|wish|maybe|said|says|until|unless)\b).*$",
    re.IGNORECASE,
)
"""A last part that is of another time, behind a comma: "…, found out when I was nine"."""

_LOOSE_WORDS: Final = (" when ", " before", " while ", " if ", " 19", " 20")
_REMARK = re.compile(
    r"[,;] (?:which (?:(?:the|my|our|his|her) [\w ]+ (?:says?|said|thinks?|reckons?) )?"
    r"(?:is|was|isn't|means|makes|takes|took|has|I|we)\b|I (?:said|wrote|meant) "
    r"(?!to\b|that\b|so\b|it\b|no\b|yes\b|but\b|and\b)[a-z])"
    r"(?!.*\b(?:lie|lies|true|joke|joking|kidding|made up|fiction|wish|if)\b).*$"
)
"""A remark behind a statement: "…, which is a dream", "…, I said tenor"."""

_IT = re.compile(r"(?:[Nn]ow )?[Ii]t(?:'s| is)\b")
_CHANGE = re.compile(r"\b(?:now|these days|nowadays|instead|switched|changed)\b", re.IGNORECASE)


def statements(entry: Entry) -> list[Statement]:
    """The statements of an entry in their order; empty for bots, code and long texts."""
    if entry.kind == "code" or entry.role in BOTS or entry.source.startswith(OWN_SOURCES):
        return []
    if entry.speaker is None and len(entry.text) > MAX_NOTE_CHARS:
        return []
    if not may_ever_state(entry.text, words(entry.text)):
        return []
    speaker = (entry.speaker or entry.role or entry.source).casefold()
    spoken = letter_runs(entry.text)
    return list(_read(own_life(own_words(entry.text, spoken), spoken), speaker))


def _read(text: str, speaker: str) -> Iterator[Statement]:
    before: list[Clause] = []  # of the last sentence: "We got a kitten! Her name is Pickle."
    for start, written in _sentences(text):
        if len(written) > MAX_SENTENCE_CHARS or _is_question(written):
            continue
        stop = start + len(written)
        casual = is_casual(written)
        plain = _in_plain_words(written, is_casual=casual, goes_on=bool(before))
        if plain is None:
            before = []
            continue
        sentence, spoken = plain
        if sentence.endswith("?"):
            continue
        if not may_state(sentence):
            before = []
            continue
        of_oneself = _is_of_oneself(sentence, spoken, before)
        read = clauses(sentence, before) if of_oneself else []
        stated = [*_by_forms(sentence, spoken, speaker)]
        if of_oneself:
            stated += _by_clauses(sentence, read, before, speaker, is_casual=casual)
            stated += _by_shapes(sentence, stated, speaker, is_casual=casual)
        if of_oneself or _names_oneself(sentence, spoken):
            unread = (*remaining(sentence, spoken), *whole_clauses(sentence, spoken))
            stated += _stated_by(unread, speaker, is_casual=casual)
        before = read
        for statement in merged(stated):
            if is_of_others(statement, sentence):
                continue
            value = _as_written(statement.value, written)
            yield replace(statement, value=value, start=start, stop=stop)


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of a text without the blanks around them, and where each begins."""
    if has_any(text, _SENTENCE_ENDS):
        spans = [match.span() for match in _SENTENCE.finditer(text)]
    else:
        spans = [(0, len(text))]
    for start, stop in spans:
        written = text[start:stop].lstrip()
        yield stop - len(written), written.rstrip()


def _in_plain_words(
    written: str, *, is_casual: bool, goes_on: bool
) -> tuple[str, frozenset[str]] | None:
    """A sentence put plainly, and its words; None where it is seen before that it states nothing.

    There may be more words than the sentence has, of what was cut off.
    """
    given = tidied(written)
    spoken = words(given)
    if not may_ever_state(given, spoken):
        return None
    text, known = bare(given, frozenset(spoken), is_casual=is_casual)
    if not may_come_to_state(text, known, is_casual=is_casual, goes_on=goes_on):
        return None
    plain, known = reworded(text, known, is_casual=is_casual)
    return _without_tail(plain), known


def _without_tail(sentence: str) -> str:
    """A plain sentence without what is remarked, asked or told of another time at its end."""
    if has_any(sentence, _LOOSE_WORDS):
        sentence = _LOOSE_TAIL.sub("", sentence)
    if " which " in sentence or ", I " in sentence:
        sentence = _REMARK.sub("", sentence)
    if sentence.endswith("?"):
        sentence = _ASKED_LAST.sub("", sentence)
    return sentence


def _is_question(written: str) -> bool:
    """Whether a sentence asks from its beginning to its end: nothing is stated before "can you"."""
    if not written.endswith("?"):
        return False
    return _ASKS.match(written) is not None or _BEFORE_QUESTION.search(written) is None


def _sentence_of(clause: Clause) -> str:
    """A clause about the speaker as a sentence of its own, which forms read."""
    return f"I {' '.join(clause.words)}".replace(" '", "'").replace(" ,", ",")


def _as_written(value: str, written: str) -> str:
    """A value with the capitals of the sentence it was read in."""
    at = written.lower().find(value.lower())
    same = at >= 0 and len(written.lower()) == len(written)
    return written[at : at + len(value)] if same else value


def _by_forms(sentence: str, spoken: Collection[str], speaker: str) -> Iterator[Statement]:
    if _OF_HINTS.isdisjoint(spoken) and ":" not in sentence and not _UNHINTED:
        return
    hints = _HINTS.intersection(runs(sentence.lower(), _HINT))
    if "'s" in sentence:
        stems = [word[:-2] for word in runs(sentence.lower(), _HINT) if word.endswith("'s")]
        hints |= _HINTS.intersection(stems)
    if ":" in sentence:
        hints |= _COLON
    places = _UNHINTED.union(*map(_BY_HINT.__getitem__, hints))
    if places and not is_aside(sentence, spoken):
        yield from _of_sentence(sentence, [FORMS[place] for place in sorted(places)], speaker)


def _is_of_oneself(sentence: str, spoken: Collection[str], before: Sequence[Clause]) -> bool:
    """Whether a sentence speaks of its speaker, or of theirs as "it", and as of what is so."""
    is_of_oneself = _names_oneself(sentence, spoken) or (
        _IT.match(sentence) is not None and any(map(topic_of, before))
    )
    is_of_oneself = is_of_oneself or (
        sentence.startswith(("He", "She")) and any(is_person(clause.subject) for clause in before)
    )
    is_of_oneself = is_of_oneself or (bool(before) and _NAMES_IT.match(sentence) is not None)
    is_of_oneself = is_of_oneself or ("'s " in sentence and _OF_THEIRS.match(sentence) is not None)
    if not is_of_oneself:
        return False
    return not is_unasserted(sentence, spoken)


def _names_oneself(sentence: str, spoken: Collection[str]) -> bool:
    if not _ONESELF.isdisjoint(spoken) and _OF_ONESELF.search(sentence) is not None:
        return True
    is_of_thing = sentence.startswith(("The", "the")) or "name" in spoken
    return is_of_thing and _OF_THINGS.search(sentence) is not None


def _by_clauses(
    sentence: str,
    read: Sequence[Clause],
    before: Sequence[Clause],
    speaker: str,
    *,
    is_casual: bool,
) -> Iterator[Statement]:
    """What the clauses of a sentence state of the speaker and of what is theirs."""
    holding = asserted(read)
    for clause in holding:
        if clause.subject == SELF and (clause.goes_on or clause is not read[0]):
            own = _sentence_of(clause)
            yield from _by_forms(own, words(own), speaker)
    assertions = (*mentions(sentence), *readings(read, holding, before), *called(sentence))
    yield from _stated_by(assertions, speaker, is_casual=is_casual)


def _by_shapes(
    sentence: str, stated: Sequence[Statement], speaker: str, *, is_casual: bool
) -> list[Statement]:
    """What a sentence states in the plainest shapes, beside what has been read of it already."""
    shaped = [*_stated_by(open_statements(sentence), speaker, is_casual=is_casual)]
    if any(statement.slot in ("home", "employer") for statement in (*stated, *shaped)):
        # "From Graz to Vienna" has the shape of "from Slack to Teams", which are used.
        shaped = [each for each in shaped if (each.slot, each.sense) != (_USES, "ends")]
    return shaped


def _stated_by(
    assertions: Iterable[Assertion], speaker: str, *, is_casual: bool
) -> Iterator[Statement]:
    """Assertions as statements of a speaker, those that may be kept."""
    for assertion in assertions:
        subject = _subject("I" if assertion.subject == "my" else assertion.subject, speaker)
        named = _slot(assertion.slot, assertion.value) if assertion.slot else ""
        slot = named or DOES + verb_of(assertion.value)
        if _is_of_now(subject, slot):
            continue
        if not _is_of_many(subject, slot) and _may_fill(slot, assertion.value, is_casual):
            yield Statement(subject, slot, assertion.value, assertion.sense, 0, 0)


def _of_sentence(sentence: str, forms: Sequence[Form], speaker: str) -> Iterator[Statement]:
    """What the forms find in the clauses of a sentence."""
    for clause in parted(sentence, _CLAUSES, _PARTING):
        for form_match, form in _matches(clause, forms):
            after = _GOES_OFF.search(clause, form_match.end())
            if _ELSEWHERE.search(clause[: after.start() if after else None]) is None:
                yield from _stated(form_match, form, speaker)


def _matches(clause: str, forms: Sequence[Form]) -> Iterator[tuple[re.Match[str], Form]]:
    """The matches of forms in a clause that do not overlap; of two the earlier form counts."""
    taken: list[tuple[int, int]] = []
    starts = [match.start() for match in STARTS.finditer(clause)]
    for form in forms:
        match = form.search(clause, starts)
        if match is None or any(
            match.start() < stop and start < match.end() for start, stop in taken
        ):
            continue
        taken.append(match.span())
        yield match, form


def _stated(match: re.Match[str], form: Form, speaker: str) -> Iterator[Statement]:
    """The statement of a sentence that matches a form, unless its value does not fit the slot."""
    groups = {name: value for name, value in match.groupdict().items() if value}
    subject = _subject(groups.get("subject", "I"), speaker)
    slot = form.slot or _slot(groups["slot"], groups["value"])
    # The pattern of a value may run on into the next clause, so the value is cut there.
    goes_on = _GOES_ON.search(match.string, match.start("value"))
    stop = min(match.end("value"), goes_on.start() if goes_on else len(match.string))
    stated = match.string[match.start("value") : stop].strip(" .")
    value = _AROUND.sub("", stated) or groups["value"]
    if not slot.startswith(DOES):
        value = _ARTICLE.sub("", value)
    if slot == "age" and subject.rpartition(" ")[2] in NUMBERED:
        return  # "my shoe size is 43"
    if slot == "age":
        value = str(NUMBERS.get(value, value))
    elif slot == DOES:
        value = OBJECTS.get(value.casefold(), value)
        value = _OWNS.sub("have ", value)
        slot += verb_of(value)
    elif slot.startswith(DOES):
        value = f"{slot.removeprefix(DOES)} {value}"
    if _is_of_many(subject, slot) or _is_of_now(subject, slot) or not _fits(slot, value):
        return
    of_both = "gone" in groups and " from my " in match[0] and " to my " in match[0]
    if of_both or not PASSING.isdisjoint(groups.get("gone", "").lower().split()):
        return  # "from the left lane to the right one", "from my phone to my laptop"
    if form.sense == "begins" and slot in SEVERAL:
        return  # "my colleague moved from Slack to Zulip"
    sense = form.sense
    if sense == "holds" and ("new" in groups or _CHANGE.search(match.string)):
        sense = "begins"
    yield Statement(subject, slot, value, sense, 0, 0)
    if "at" in groups:
        yield Statement(subject, "employer", groups["at"], sense, 0, 0)
    if "gone" in groups:
        was = f"{slot.removeprefix(DOES)} {groups['gone']}"
        yield Statement(subject, slot, was, "ends", 0, 0)


def _is_of_many(subject: str, slot: str) -> bool:
    """Whether a statement is about one of many, or theirs: "my colleague's husband"."""
    if subject in _ANYBODY or _OF_THE_WORLD.match(slot):
        return True
    words = subject.partition("'s ")[2].replace("'s", "").split()
    owners = [word[:-2] for word in slot.split() if word.endswith("'s")]
    many = slot.rpartition(" ")[2]
    return not SEVERAL.isdisjoint((*words, *owners)) or (many in SEVERAL and many[-1] == "s")


def _is_of_now(subject: str, slot: str) -> bool:
    """Whether a statement is of a thought, or of what is worked on: "my guess", "my output"."""
    owned = subject.rpartition("'s ")[2] if "'s " in subject else ""
    head = _PLACING.sub("", slot) if not slot.startswith(DOES) else ""
    if not _UNREAL.isdisjoint((owned.partition(" ")[0], head.partition(" ")[0])):
        return True
    return not _OF_NOW.isdisjoint((owned, head)) or head.rpartition(" ")[2] in WORKED


_OF_NOW: Final = THOUGHTS | WORKED
_ANYBODY: Final = frozenset(
    ["kids", "people", "children", "men", "women", "teenagers", "students", "parents"]
)
_OF_THE_WORLD = re.compile(
    r"(?:capital|president|population|mayor|king|queen|prime minister|price|currency) of "
)
"""What everybody may know: "the capital of Kazakhstan is now Astana"."""
_UNREAL: Final = frozenset(
    ["dream", "ideal", "imaginary", "fantasy", "fictional", "pretend", "fake", "hypothetical"]
)
"""What a thing is called that one has not: "my dream job"."""


def _slot(words: str, value: str) -> str:
    """A slot by the words for it: "phone's" and "phone has been" are the phone's."""
    slot = _SPELT.sub("or", _OF_VERB.sub("", words.lower()))
    if _EMAIL.fullmatch(slot):
        return "email"
    is_number = _PHONE.fullmatch(slot) and sum(map(str.isdigit, value)) >= _PHONE_DIGITS
    return "phone number" if is_number else slot


def verb_of(value: str) -> str:
    """The stem of the verb with which a habit or state begins."""
    first = _ARTICLE.sub("", value).partition(" ")[0].casefold().rstrip(",")
    return "have" if first in ("has", "having") else stem(first)


def _may_fill(slot: str, value: str, is_casual: bool) -> bool:
    """Whether a value of a clause, which may be a common word, can fill a slot."""
    if is_casual:  # who writes no capitals writes none in names
        value = value[:1].upper() + value[1:]
    return slot.startswith("favorite ") or _fits(slot, value)


def _fits(slot: str, value: str) -> bool:
    """Whether a value can fill a slot."""
    if slot.startswith("favorite "):
        common = slot.removeprefix("favorite ") in COMMON
        return value[:1].isupper() or (common and not value.endswith(("ed", "ing")))
    if slot.rpartition(" ")[2] in KIN and not value[:1].isupper():
        return False  # "my mother is now 83" is her age
    pattern = VALUES.get(slot)
    return pattern is None or pattern.match(value) is not None


def _subject(words: str, speaker: str) -> str:
    """The subject: Ana's "I" is Ben's "Ana", but each one's "my sister" is another person."""
    plain = words.replace("’", "'").casefold()
    if plain in ("i", "we"):
        return speaker
    if plain.startswith(("my ", "our ")):
        return f"{speaker}'s {unnamed(plain.split()).partition(' ')[2]}"
    return plain
