"""The plain forms of sentences that state a fact: patterns, the slot they fill, and their sense.

The group ``value`` holds what is stated, ``subject`` the person or thing. A form without a slot of
its own names it in the group ``slot``. Names of places and firms must be capitalised: "moved to a
flat" does not say where somebody lives.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

Sense = Literal["holds", "begins", "ends"]
"""What a statement speaks of: how things are, a change to that, or the end of it."""

DOES: Final = "does:"
"""The prefix of the slots of habits and states; the verb follows. Only an end supersedes them."""


@dataclass(frozen=True, slots=True)
class Form:
    """One form. A sentence must hold one of the ``hints`` (lower-case words) to have it."""

    hints: frozenset[str]
    expression: str
    slot: str
    sense: Sense

    @property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled when a sentence first has a hint: of most texts few do."""
        return _compiled(self.expression)


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


_NAME = r"(?!I['’])[A-Z][\w’'-]*[\w]"
_SUBJECT = (
    r"(?:^|(?<=[,;—-] )|(?<=\band )|(?<=\bbut )|(?<=\bso )|(?<=[Yy]eah )"
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
_ANY_MORE = r"(?:any\s?more|any longer)(?=\s*(?:$|[.,!;]|and\b|but\b|because\b|since\b))"
_DAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\w*"
_PLACE = (
    rf"(?P<value>(?!{_DAY})(?:the )?[A-Z][\w.’'-]*"
    r"(?:(?:,? )(?:[A-Z][\w.’'-]*|(?:de|da|do|del|la|of)(?= [A-Z])))*)"
    r"(?! (?:team|department|room|floor|class|\d))"
)
_NO_HOME = (
    r"(?!(?:Marketing|Sales|Engineering|Support|Finance|Product|Design|Research|Legal|Operations|"
    r"HR|IT|Slack|Teams|Zoom|Discord|Notion|Jira|GitHub|GitLab|Spotify|Netflix|Gmail|Outlook|"
    r"Linux|Ubuntu|Windows|Mac|Android|iOS|Python|Rust|Java|Kotlin|TypeScript|React|Postgres|"
    r"Plan|Phase|Stage|Chapter|Part|Level|Version)\b)"
)
"""What people move to that is not a place: departments, tools, the next step."""
_THING = r"(?P<value>[\w’'@.+:/-]+(?: [\w’'@.+:/-]+){0,4})"
_WORDS = r"(?P<value>\w+(?:[ -]\w+){0,3})"
_END = r"(?=\s*(?:$|[.,!;]|\band\b|\bbut\b|\bnow\b|\bagain\b|\bthese days\b|\bsince\b))"
_DIET = r"(?P<value>vegetarian|vegan|pescatarian|omnivore)"
_CONTACT = (
    r"(?P<slot>(?:phone |mobile |cell )?number|e-?mail(?: address)?|address|name|surname|"
    r"last name|birthday|boss|manager|landlord|doctor|dentist)"
)
_EVENT = (
    r"(?P<slot>(?:meeting|appointment|flight|interview|exam|deadline|call|lesson|train|wedding|"
    r"party|review|surgery|check-?up)(?: with [A-Z]\w+)?)"
)
_WHEN = (
    rf"(?P<value>(?:next )?{_DAY}(?: (?!at\b)\w+)?(?: at [\d:]+ ?\w*)?|"
    rf"(?:the )?\d+\w* (?:of )?{_MONTH}|{_MONTH} \d+\w*|"
    rf"\d{{1,2}}(?::\d\d)? ?[ap]\.?m\.?|\d{{1,2}}:\d\d|tomorrow)"
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
    return Form(frozenset(hints.split()), whole, slot, sense)


_HOME = (
    _form(
        "moved relocated",
        rf"{_TENSE}\s+(?:moved back|moved over|relocated(?: back)?) to {_NO_HOME}{_PLACE}",
        "home",
        "begins",
    ),
    # What "we" moved to is as often a tool.
    _form("moved", rf"(?<![Ww]e){_TENSE}\s+moved to {_NO_HOME}{_PLACE}", "home", "begins"),
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
        rf"{_TENSE}\s+(?:quit|left)(?: (?:my|his|her|their) job at)? {_PLACE}"
        r"(?=[.,;!]|$| (?:in|after|last|for good)\b)",
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
        "number email mail address name surname birthday boss manager landlord doctor dentist",
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
        # Without a verb first, "the meeting on Friday" tells which one is meant.
        rf"\b(?:[Tt]he|[Mm]y|[Oo]ur) {_EVENT}"
        r"(?= (?:was|is|has been|got|were|moved|rescheduled|postponed|pushed)\b|['’]s\b)"
        r"(?: (?:was|is|has been|got|were)|['’]s)?"
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
_NAMED = re.compile(r"(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?[A-Z]")
_COUNTED = re.compile(r".*\d")
_AT = re.compile(r".*@")
_DATED = re.compile(rf".*(?:\d|{_MONTH})")
VALUES: Final = (
    dict.fromkeys(("number", "phone number", "mobile number", "cell number", "address"), _COUNTED)
    | dict.fromkeys(("email", "e-mail", "email address", "e-mail address"), _AT)
    | dict.fromkeys(("name", "surname", "last name", "boss", "manager"), _NAMED)
    | dict.fromkeys(("landlord", "doctor", "dentist"), _NAMED)
    | {"birthday": _DATED}
)
"""Patterns of the values of slots: "my email is not working" does not give an address."""

COMMON: Final = frozenset(
    ["color", "food", "drink", "dish", "fruit", "animal", "season", "day", "number"]
)
"""Kinds of favourites whose values are common words. Those of other kinds are names."""

SEVERAL: Final = frozenset(
    {"friend", "colleague", "coworker", "neighbour", "neighbor", "cousin", "uncle", "aunt"}
    | {"classmate", "roommate", "teacher", "student", "kid", "child", "children", "parents"}
    | {"friends", "colleagues", "neighbours", "neighbors", "cousins", "kids"}
)
"""People of whom one has several: "my friend" need not be the same person on two days."""

OBJECTS: Final = {
    "coffee": "drink coffee",
    "alcohol": "drink alcohol",
    "meat": "eat meat",
    "sugar": "eat sugar",
    "gluten": "eat gluten",
}
"""Things one gives up, with the habit that ends: who quits coffee drank coffee."""

FORMS: Final = (*_HOME, *_WORK, *_PERSON, *_OWN, *_HABIT)
"""All forms in the order in which they are tried. The first that matches a sentence counts."""
