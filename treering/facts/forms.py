"""The plain forms of sentences that state a fact: patterns, the slot they fill, and their sense.

``value`` is what is stated, ``subject`` of whom; a form without a slot of its own names it in the
group ``slot``. Names of places and firms must be capitalised: "moved to a flat" says nothing of
where somebody lives.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

Sense = Literal["holds", "begins", "ends"]
"""How a statement speaks: of how things are, of a change to that, or of the end of it."""

DOES: Final = "does"
"""The slot of habits and states: of these only an end supersedes what it names."""


@dataclass(frozen=True, slots=True)
class Form:
    """One form. A sentence without any of the ``hints`` (lower-case words) cannot have it."""

    hints: frozenset[str]
    pattern: re.Pattern[str]
    slot: str
    sense: Sense


_NAME = r"(?!I['’])[A-Z][\w’'-]*[\w]"
_SUBJECT = (
    r"(?:^|(?<=[,;—-] )|(?<=\band )|(?<=\bbut )|(?<=\bso )|(?<=\bthat )|(?<=[Yy]eah )"
    r"|(?<=[Aa]ctually )|(?<=\b[Nn]ow )|(?<=[Yy]esterday )|(?<=[Tt]oday ))"
    rf"(?P<subject>I|[Ww]e|[Mm]y (?:\w+ )?\w+|{_NAME}['’]s \w+|{_NAME}(?: {_NAME})?)"
)
_ADVERB = (
    r"just|recently|finally|now|already|actually|currently|officially|still|also|both|really|since"
)
_TENSE = (
    rf"(?:\s+(?:{_ADVERB}|have|has|am|is|are))*(?:['’](?:ve|m|s|re))?(?:\s+(?:{_ADVERB}|been))*"
)
_BE = r"(?:['’](?:m|s|re)| am| is| are)"
_NOT = r"(?:\s+no longer|(?:\s+(?:am|is|are|do|does))?(?:\s+not|n['’]t))"
_ANY_MORE = r"(?:any\s?more|any longer)\b"
_DAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\w*"
_PLACE = (
    rf"(?P<value>(?!{_DAY})(?:the )?[A-Z][\w.’'-]*"
    r"(?:(?:,? )(?:[A-Z][\w.’'-]*|de|da|do|del|la|of))*)(?! (?:team|department|room|floor|class))"
)
_THING = r"(?P<value>[\w’'@.+:/-]+(?: [\w’'@.+:/-]+){0,4})"
_WORDS = r"(?P<value>\w+(?:[ -]\w+){0,3})"
_END = r"(?=\s*(?:$|[.,!;]|\band\b|\bbut\b|\bnow\b|\bagain\b|\bthese days\b|\bsince\b))"
_DIET = r"(?P<value>vegetarian|vegan|pescatarian|omnivore)"
_CONTACT = (
    r"(?P<slot>(?:phone |mobile |cell )?number|e-?mail(?: address)?|address|name|surname|"
    r"last name|birthday|boss|manager|landlord|doctor|dentist|job title)"
)
_EVENT = (
    r"(?P<slot>(?:meeting|appointment|flight|interview|exam|deadline|call|lesson|train|wedding|"
    r"party|review|surgery|check-?up)(?: with [A-Z]\w+)?)"
)
_WHEN = (
    rf"(?P<value>(?:next )?{_DAY}(?: \w+)?(?: at [\d:]+ ?\w*)?|(?:the )?\d+\w* (?:of )?{_MONTH}|"
    rf"{_MONTH} \d+\w*|\d{{1,2}}(?::\d\d)? ?[ap]\.?m\.?|\d{{1,2}}:\d\d|tomorrow)"
)
_HABITS = (
    "love like enjoy play eat drink smoke run swim drive use take attend teach own have prefer "
    "practice practise collect volunteer train study speak wear follow watch"
)
_STATES = (
    "allergic afraid scared addicted into on learning training taking dating seeing renting "
    "studying working"
)


def _form(hints: str, pattern: str, slot: str, sense: Sense, *, subject: bool = True) -> Form:
    whole = _SUBJECT + pattern if subject else pattern
    return Form(frozenset(hints.split()), re.compile(whole), slot, sense)


_HOME = (
    _form(
        "moved relocated",
        rf"{_TENSE}\s+(?:moved|relocated)(?: back)?(?: over)? to {_PLACE}",
        "home",
        "begins",
    ),
    _form(
        "live lives living based reside resides",
        rf"{_TENSE}\s+(?:lives?|living|based|resides?)(?: over)? in {_PLACE}",
        "home",
        "holds",
    ),
    _form("live lives", rf"{_NOT} lives? in {_PLACE}", "home", "ends"),
    _form("moved", rf"{_TENSE}\s+moved (?:away from|out of) {_PLACE}", "home", "ends"),
)
_WORK = (
    _form(
        "work works working",
        rf"{_TENSE}\s+(?:works?|working) (?:at|for) {_PLACE}",
        "employer",
        "holds",
    ),
    _form(
        "started begun began got",
        rf"{_TENSE}\s+(?:(?:started|begun|began)(?: a new job| working| work)?|"
        rf"got (?:a|the) (?:new )?job) (?:at|for) {_PLACE}",
        "employer",
        "begins",
    ),
    _form(
        "quit left",
        rf"{_TENSE}\s+(?:quit|left)(?: (?:my|his|her|their) job at)? {_PLACE}(?=[ .,!]|$)"
        r"(?! (?:early|behind|at|on|alone|yesterday))",
        "employer",
        "ends",
    ),
    _form("work works", rf"{_NOT} works? (?:at|for) {_PLACE}", "employer", "ends"),
    _form("work works", rf"{_TENSE}\s+works? as an? {_WORDS}{_END}", "occupation", "holds"),
    _form(
        "promoted",
        rf"{_TENSE}\s+(?:got |was )?promoted to {_WORDS}{_END}",
        "occupation",
        "begins",
    ),
)
_PERSON = (
    _form(
        "vegetarian vegan pescatarian omnivore",
        rf"{_BE}(?: now| still)?(?: an?)? {_DIET}",
        "diet",
        "holds",
    ),
    _form(
        "vegetarian vegan pescatarian omnivore",
        rf"{_TENSE}\s+(?:became|turned|went)(?: an?)? {_DIET}",
        "diet",
        "begins",
    ),
    _form(
        "vegetarian vegan pescatarian omnivore",
        rf"{_BE}?(?: no longer| not)(?: an?)? {_DIET}",
        "diet",
        "ends",
    ),
    _form(
        "meat",
        rf"{_TENSE}\s+(?:started )?eat(?:s|ing)? (?P<value>meat) (?:again|now)",
        "diet",
        "begins",
    ),
    _form(
        "single married engaged divorced widowed",
        rf"(?:{_BE}|{_TENSE}\s+got(?:ten)?)(?: now| recently| finally)? "
        rf"(?P<value>single|married|engaged|divorced|widowed){_END}",
        "status",
        "holds",
    ),
    _form(
        "old turned i'm am is",
        rf"(?:{_BE}|(?: just)? turned)(?: now)? (?P<value>\d{{1,2}})"
        r"(?= years old| yesterday| today| last|[.,!]|$)",
        "age",
        "holds",
    ),
)
_OWN = (
    _form(
        "number email mail address name surname birthday boss manager landlord doctor dentist job",
        rf"\b[Mm]y (?P<new>new |current )?{_CONTACT}(?: is|['’]s)(?: now)? {_THING}",
        "",
        "holds",
        subject=False,
    ),
    _form(
        "favorite favourite",
        rf"\b[Mm]y (?P<new>new )?(?P<slot>favou?rite \w+)(?: is|['’]s)(?: now)? {_THING}",
        "",
        "holds",
        subject=False,
    ),
    _form(
        "meeting appointment flight interview exam deadline call lesson train wedding party review "
        "surgery check checkup",
        rf"\b(?:[Tt]he|[Mm]y|[Oo]ur) {_EVENT}(?: (?:was|is|has been|got|were)|['’]s)?"
        r"(?P<new> now| moved to| rescheduled (?:to|for)| postponed (?:to|until)|"
        rf" pushed (?:back )?to)?(?: set)?(?: for| on| at)? {_WHEN}",
        "",
        "holds",
        subject=False,
    ),
)
_HABIT = (
    _form(
        "anymore more longer",
        rf"(?:\s+(?:do|does))?(?:\s+not|n['’]t) (?P<value>[\w’' -]+?) {_ANY_MORE}",
        DOES,
        "ends",
    ),
    _form("longer", r"\s+no longer (?P<value>\w+(?:[ -]\w+){0,4})", DOES, "ends"),
    _form(
        "anymore more longer",
        rf"(?:{_BE}) not (?P<value>[\w’' -]+?) {_ANY_MORE}",
        DOES,
        "ends",
    ),
    _form(
        "stopped quit gave given",
        rf"{_TENSE}\s+(?:stopped|quit|gave up|given up) "
        r"(?P<value>\w+ing(?: [\w’'-]+){0,4}|(?:coffee|alcohol|meat|sugar|smoking|gluten)\b)",
        DOES,
        "ends",
    ),
    _form(
        f"{_HABITS} {' '.join(verb + 's' for verb in _HABITS.split())} has",
        r"(?:\s+(?:still|really|usually|often|always|also|mostly))?\s+"
        rf"(?P<value>(?:{'|'.join(_HABITS.split())}|has)s?(?:\s+[\w’'-]+){{0,5}})",
        DOES,
        "holds",
    ),
    _form(
        _STATES,
        rf"{_BE}(?: still)? (?P<value>(?:an? )?(?:{'|'.join(_STATES.split())})\b"
        r"(?:\s+[\w’'-]+){0,4})",
        DOES,
        "holds",
    ),
)
FORMS: Final = (*_HOME, *_WORK, *_PERSON, *_OWN, *_HABIT)
"""In the order in which they are tried; the first that a sentence has is what it states."""
