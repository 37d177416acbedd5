"""Forms of what people are, and of what is theirs: numbers, names, dates, belongings."""

from __future__ import annotations

from typing import Final

from treering.views.facts.form import form
from treering.views.facts.phrases import (
    AGE,
    BE,
    CONTACT,
    DAY,
    DEMONYM,
    DIET,
    END,
    EVENT,
    MONTH,
    NOT,
    OWNED,
    TELLING,
    TENSE,
    THING,
    WHEN,
)

PERSON: Final = (
    form(
        "diet",
        "ends",
        "vegetarian vegan pescatarian omnivore keto paleo gluten dairy",
        rf"(?:{NOT} (?:eats?|am|be|being)?\s*(?:an? )?|{TENSE}\s+(?:stopped|quit|gave up|given up) "
        rf"(?:being|eating|going) (?:an? )?){DIET}",
        "I don't eat vegetarian any more, I eat fish again.",
        "vegetarian",
    ),
    form(
        "diet",
        "ends",
        "vegetarian vegan pescatarian omnivore keto paleo gluten dairy",
        rf"{BE}?(?: no longer| not)(?: an?)? {DIET}",
        "I'm no longer vegetarian.",
        "vegetarian",
    ),
    form(
        "diet",
        "holds",
        "vegetarian vegan pescatarian omnivore keto paleo gluten dairy",
        rf"{BE}(?: now| still| strictly| mostly)?(?: an?)? {DIET}",
        "I'm vegetarian.",
        "vegetarian",
    ),
    form(
        "diet",
        "begins",
        "vegetarian vegan pescatarian omnivore keto paleo gluten dairy",
        rf"{TENSE}\s+(?:became|become|turned|went|gone)(?: fully)?(?: an?)? {DIET}",
        "I went vegan in January.",
        "vegan",
    ),
    form(
        "diet",
        "begins",
        "meat fish chicken dairy eggs",
        rf"{TENSE}\s+(?:started )?eat(?:s|ing)? (?P<value>meat|fish|chicken|dairy|eggs) "
        r"(?:again|now)",
        "I started eating meat again.",
        "meat",
    ),
    form(
        "status",
        "holds",
        "single married engaged divorced widowed separated",
        rf"(?:{BE}|{TENSE}\s+(?:got(?:ten)?|was|were))(?: now| recently| finally| happily| newly| "
        r"still)? (?P<value>single|married|engaged(?! in\b| with\b)|divorced|widowed|separated)"
        rf"{END}",
        "I got married!",
        "married",
    ),
    form(
        "age",
        "holds",
        "old turned i'm am is",
        rf"(?:{BE}|(?: just)?(?: have)? turned)(?: now)? (?P<value>\d{{1,2}}|{AGE})"
        r"(?= years old| and (?:I|my|still)\b|"
        r" yesterday| today| last| this| in| on| now|[,!]|\.(?!\d)|$)",
        "I turned 32 yesterday.",
        "32",
    ),
    form(
        "called",
        "holds",
        "i'm am",
        rf"(?:['’]m| am) {DEMONYM}(?P<value>(?!(?i:an?\b)|[A-Z]+\b(?<!\b[A-Z]))[A-Z][a-zà-ÿ]+)"
        r"(?=[.!]|$|, (?:and|\d|your|the|a)\b)",
        "I'm Ana.",
        "Ana",
        who=r"^(?:(?:[Hh]i|[Hh]ello|[Hh]ey)[,!]? )?(?P<subject>I)",
    ),
    form(
        "status",
        "holds",
        "married",
        rf"{TENSE}\s+(?P<value>married) (?=[A-Z]|my )",
        "I married Tom in May.",
        "married",
    ),
)

_CHANGED = r"(?: (?:has|have|was|just|recently|now|been))*"

OWN: Final = (
    form(
        "",
        "holds",
        "number email e-mail mail address name surname birthday boss manager landlord doctor "
        "dentist",
        rf"\b[Mm]y (?P<new>new |current )?{CONTACT}(?: is|['’]s)(?: now)? (?!in |at |from ){THING}",
        "My email is ana@a.org.",
        "ana@a.org",
        who="",
    ),
    form(
        "",
        "begins",
        "changed switched went moved dropped increased rose",
        rf"\b(?:[Mm]y|[Oo]ur) {OWNED}{_CHANGED} "
        r"(?:changed|switched|went (?:up|down)|moved(?= to [A-Z\d]| from)|dropped|increased|rose)"
        rf"(?: from [\w@.:/+$€£%-]+)? to (?:an? |the )?{THING}",
        "My e-mail changed to b@x.org.",
        "b@x.org",
        who="",
    ),
    form(
        "",
        "begins",
        "changed switched updated set renamed moved",
        rf"{TENSE}\s+(?:changed|switched|updated|set|renamed|reset) (?:my|our) {OWNED}"
        rf"(?: from [\w@.:/+$€£%-]+)? to (?:an? |the )?{THING}",
        "I changed my locker code to 9920.",
        "9920",
    ),
    form(
        "",
        "holds",
        "favorite favourite",
        rf"\b[Mm]y (?P<new>new )?(?P<slot>favou?rite \w+)(?: is|['’]s)(?: now)? {THING}",
        "My favourite colour is blue.",
        "blue",
        who="",
    ),
    form(
        "",
        "holds",
        "meeting appointment flight interview exam deadline call lesson train wedding party review "
        "surgery check checkup class rehearsal practice",
        # Without a verb first, "the meeting on Friday" tells which one is meant.
        rf"\b(?:[Tt]he|[Mm]y|[Oo]ur) {EVENT}"
        r"(?= (?:was|is|has been|has|got|were|moved|rescheduled|postponed|pushed)\b|['’]s\b)"
        r"(?: (?:was|is|has been|has|got|were)|['’]s)?"
        r"(?P<new> now|(?: been)? (?:moved|changed) (?:from [\w :]+? )?to|"
        r"(?: been)? rescheduled (?:to|for)| postponed (?:to|until)|"
        rf" pushed (?:back )?to)?(?: set)?(?: for| on| at)? {WHEN}",
        "The meeting was moved to Thursday.",
        "Thursday",
        who="",
    ),
    form(
        "",
        "holds",
        "my our",
        rf"\b(?:[Mm]y|[Oo]ur) (?P<new>new |current |latest )?{OWNED}(?:['’]s name is| is (?:called|"
        rf"named)) (?P<value>[A-Z][\w’'-]+)",
        "My cat is called Miu.",
        "Miu",
        who="",
    ),
    form(
        "",
        "holds",
        "my our",
        rf"\b(?:[Mm]y|[Oo]ur) (?P<new>new |current |latest )?{OWNED}(?: is|['’]s| are| costs)"
        rf"(?P<now> now| currently)?(?: set to| up to| down to)? {TELLING}{END}",
        "My locker code is now 9920.",
        "9920",
        who="",
    ),
    form(
        "",
        "begins",
        "changed reissued renewed reset replaced updated",
        rf"\b(?:[Mm]y|[Oo]ur) {OWNED}{_CHANGED}(?: got)? (?:changed|reissued|renewed|reset|"
        rf"replaced|"
        rf"updated)\W+(?:it is |it[’']s |to )?(?:now )?{TELLING}",
        "My phone number changed; it's 555-0199 now.",
        "555-0199",
        who="",
    ),
    form(
        "",
        "begins",
        "now",
        rf"\b[Tt]he {OWNED} is now(?: set to| at| on| in)? {TELLING}{END}",
        "The office is now on Elm Street.",
        "Elm Street",
        who="",
    ),
    form(
        "",
        "holds",
        "ends starts begins expires renews runs due",
        rf"\b(?:[Mm]y|[Oo]ur) (?P<new>new )?(?P<slot>[A-Za-z][a-z’'-]*(?: [a-z]+)?? "
        rf"(?:now )?(?:ends|starts|begins|expires|renews|runs out|is due))"
        rf"(?: on| in| at)? (?P<value>(?:the )?\d+\w* (?:of )?{MONTH}(?: 20\d\d)?|"
        rf"{MONTH}(?: \d+\w*)?|"
        rf"(?:next )?{DAY}|"
        r"the \d+(?:st|nd|rd|th)|\d{1,2}(?::\d\d)? ?[ap]\.?m\.?|\d{1,2}(?::\d\d)?(?= now|[.,!]|$))",
        "My lease ends in June.",
        "June",
        who="",
    ),
    form(
        "",
        "holds",
        "named called renamed",
        rf"{TENSE}\s+(?:named|called|renamed) (?:our|my|the)(?: new)? {OWNED} (?P<value>[A-Z]\w+)",
        "We named our son Leo.",
        "Leo",
    ),
)
