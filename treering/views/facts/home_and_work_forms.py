"""Forms of where people live, and of what they work, study and earn."""

from __future__ import annotations

from typing import Final

from treering.views.facts.form import form
from treering.views.facts.phrases import (
    AT_WORK,
    BE,
    END,
    FIRMS,
    NO_HOME,
    NOT,
    OCCUPATION,
    PLACE,
    PROPER,
    SINCE,
    TENSE,
    THING,
    WORDS,
)

_AWAY = r"(?: (?:house|home|out|down|up|over|back|here|across the country|all the way))*"


HOME: Final = (
    form(
        "home",
        "begins",
        "moved relocated emigrated",
        rf"{TENSE}\s+(?:moved|relocated|emigrated){_AWAY} (?:from {NO_HOME}(?:my |our |the )?"
        rf"[\w’'. -]{{2,40}}? ){_AWAY}\s?(?:in)?to {NO_HOME}{PLACE}",
        "Big news: I moved from Porto to Lisbon last week!",
        "Lisbon",
    ),
    form(
        "home",
        "begins",
        "moved relocated emigrated",
        rf"{TENSE}\s+(?:moved(?: back| over| out| down| up| away| home)+|relocated(?: back)?|"
        rf"emigrated) to {NO_HOME}{PLACE}",
        "We relocated to Bergen in May.",
        "Bergen",
    ),
    form(
        "home",
        "begins",
        "moved",
        rf"(?<![Ww]e){TENSE}\s+moved to {NO_HOME}{PLACE}",
        "I've moved to Porto.",
        "Porto",
    ),
    form(
        "home",
        "begins",
        "moved",
        rf"(?<=[Ww]e){TENSE}\s+moved to {NO_HOME}{PLACE}{SINCE}",
        "We moved to Lisbon in May.",
        "Lisbon",
    ),
    form(
        "home",
        "begins",
        "settled",
        rf"{TENSE}\s+(?:settled(?: down)?) in {NO_HOME}{PLACE}",
        "We finally settled down in Ghent.",
        "Ghent",
    ),
    form(
        "home",
        "holds",
        "bought rented renting got",
        rf"{TENSE}\s+(?:bought|rented|renting|got) an?(?: [a-z]+){{0,2}} "
        rf"(?:house|flat|apartment|home|place|condo|cottage|studio|room) in {PLACE}",
        "We bought a small house in Evora.",
        "Evora",
    ),
    form(
        "home",
        "holds",
        "live lives living based reside resides",
        rf"{TENSE}\s+(?:lives?|living|based|resides?)(?: over| up| down| out| back)? in {PLACE}",
        "I live in Madrid.",
        "Madrid",
    ),
    form(
        "home",
        "begins",
        "where home",
        rf"(?:^|(?<=[,;:] )|(?<=[Nn]ow )){PLACE} (?:is|has become) (?:where (?:I|we) live|"
        r"(?:my |our )?(?:new )?home)(?: now| these days)?",
        "Porto is where I live now.",
        "Porto",
        who="",
    ),
    form(
        "home",
        "begins",
        "address home place flat apartment house",
        rf"\b[Mm]y new (?:address|home|place|flat|apartment|house) is in {PLACE}",
        "My new address is in Lisbon.",
        "Lisbon",
        who="",
    ),
    form(
        "home",
        "holds",
        "address home place flat apartment house",
        rf"\b(?:[Mm]y|[Oo]ur) (?:address|home|place|flat|apartment|house) is(?: now)? in {PLACE}",
        "My flat is in Lisbon.",
        "Lisbon",
        who="",
    ),
    form(
        "home",
        "begins",
        "back",
        rf"{BE}(?: now)? back in {PLACE} for good",
        "We're back in Porto for good.",
        "Porto",
    ),
    form(
        "home",
        "ends",
        "live lives living",
        rf"{NOT} (?:lives?|living) in {PLACE}",
        "I don't live in Porto any more.",
        "Porto",
    ),
    form(
        "home",
        "ends",
        "moved left",
        rf"{TENSE}\s+left {PLACE} (?:for good|behind)",
        "I left Porto for good.",
        "Porto",
    ),
    form(
        "home",
        "ends",
        "moved",
        rf"{TENSE}\s+moved (?:away from|out of) {PLACE}",
        "I moved away from Porto.",
        "Porto",
    ),
    form(
        "origin",
        "holds",
        "from grew born raised",
        rf"(?:{BE}(?: originally)? from|{TENSE}\s+(?:grew up|was born|were born|raised) in) "
        rf"{PLACE}",
        "I grew up in Bergen.",
        "Bergen",
    ),
    form(
        "household",
        "holds",
        "live lives living moved",
        rf"{TENSE}\s+(?P<new>moved in |moved back in |moved back )?"
        r"(?:lives?|living|(?<=in )|(?<=back ))"
        r"\s?with (?P<value>my \w+(?: and \w+)?|[A-Z]\w+)",
        "I'm living with my parents again.",
        "my parents",
    ),
)

_JOB = (
    r"(?: (?:a|the|my|his|her|their)(?: [a-z]+){0,2}? "
    r"(?:job|position|role|offer|post|internship|work))"
)
_MONEY = r"[£$€]? ?\d[\d.,]*k?(?: ?(?:euros?|pounds?|dollars?|quid|EUR|GBP|USD|CHF|kr))?"
_RATE = r"(?: (?:an?|per|each|every) (?:hour|week|month|year|annum)| pcm| pa| p/m)"

WORK: Final = (
    form(
        "employer",
        "begins",
        "moved",
        rf"{TENSE}\s+moved(?: over)? from (?=[^,.;]*\b{FIRMS}){PROPER} to {AT_WORK}",
        "I moved from Siemens to Bosch.",
        "Bosch",
    ),
    form(
        "rent",
        "holds",
        "pay pays paying",
        rf"{TENSE}\s+(?:pay|pays|paying)(?: now)? (?P<value>{_MONEY}{_RATE}?) (?:in |for |of )?"
        r"(?:my |our |the )?rent",
        "I pay £700 rent.",
        "£700",
    ),
    form(
        "salary",
        "holds",
        "earn earns earning make makes making",
        rf"{TENSE}\s+(?:earn|earns|earning|make|makes|making)(?: now)? (?P<value>{_MONEY}{_RATE})",
        "I earn 40000 a year.",
        "40000 a year",
    ),
    form(
        "employer",
        "begins",
        "left quit",
        rf"{TENSE}\s+(?:left|quit)(?:{_JOB} at)? (?:{PROPER}|(?:the|my)(?: [a-z]+){{1,3}}?)"
        r"(?:,? (?:and|to)(?: have| now)?(?: just)? (?:joined|join|started at|start at|"
        rf"am at|work at|work for|working at|moved to|went to)|,? for) {AT_WORK}",
        "I left Siemens and joined Bosch.",
        "Bosch",
    ),
    form(
        "employer",
        "begins",
        "switched jobs",
        rf"{TENSE}\s+(?:switched|changed) (?:jobs|employers)(?: from {PROPER})? to {AT_WORK}",
        "I switched jobs from Siemens to Bosch.",
        "Bosch",
    ),
    form(
        "employer",
        "begins",
        "started begun began got have joined hired accepted took landed",
        rf"{TENSE}\s+(?:(?:started|begun|began)(?: a new job| working| work|{_JOB})?(?: as an? "
        rf"[a-z ]+?)? (?:at|for|with)|(?:got|have|accepted|took|taken|landed){_JOB}"
        r"(?: as an? [a-z ]+?)?"
        r" "
        rf"(?:at|for|with|from)|joined(?= [\w’' ]+ as an?\b)|"
        rf"(?:was |got )?hired (?:by|at)) {AT_WORK}",
        "I just started a new job at Netflix.",
        "Netflix",
    ),
    form(
        "employer",
        "holds",
        "work works working employed",
        rf"{TENSE}\s+(?:works?|working|employed)(?: part-time| full-time| remotely)?"
        rf"(?: as an? [a-z ]+?)? (?:at|for|by) {AT_WORK}",
        "I work for Siemens as an engineer.",
        "Siemens",
    ),
    form(
        "employer",
        "begins",
        "employer",
        rf"\b[Mm]y new employer is {AT_WORK}",
        "My new employer is Bosch.",
        "Bosch",
        who="",
    ),
    form(
        "employer",
        "ends",
        "quit left fired laid let resigned retired",
        rf"{TENSE}\s+(?:(?:quit|left|resigned from|retired from)(?:{_JOB} (?:at|with))?|"
        rf"(?:was |were |got )?(?:fired|laid off|let go)(?: from{_JOB}?(?: at)?| by)) {AT_WORK}"
        r"(?=[.,;!]|$| (?:in|after|last|for good|this|yesterday|on|today|to)\b)",
        "I quit my job at the hospital.",
        "the hospital",
    ),
    form(
        "employer",
        "ends",
        "work works working",
        rf"{NOT} (?:works?|working) (?:at|for) {AT_WORK}",
        "I no longer work at Google.",
        "Google",
    ),
    form(
        "occupation",
        "begins",
        "promoted",
        rf"{TENSE}\s+(?:got |was )?promoted to {WORDS}{END}",
        "I got promoted to head nurse.",
        "head nurse",
    ),
    form(
        "occupation",
        "begins",
        "became become retrained trained qualified",
        rf"{TENSE}\s+(?:became|become|(?:re)?trained as|qualified as) (?:an? )?{OCCUPATION}",
        "I became a teacher.",
        "teacher",
    ),
    form(
        "occupation",
        "holds",
        "work works working",
        rf"{TENSE}\s+(?:works?|working) as an? {WORDS}{END}",
        "I work as a nurse.",
        "nurse",
    ),
    form(
        "occupation",
        "ends",
        "retired stopped",
        rf"{TENSE}\s+(?:retired (?:as|from being)|stopped (?:working as|being)) an? {OCCUPATION}",
        "I stopped working as a nurse.",
        "nurse",
    ),
    form(
        "occupation",
        "holds",
        "i'm am is are we're",
        rf"{BE}(?: now| currently| actually)? an? {OCCUPATION}{END}"
        rf"(?: (?:at|for|with) (?P<at>{PROPER}))?",
        "I'm a software engineer.",
        "software engineer",
    ),
    form(
        "studies",
        "begins",
        "switched changed transferred enrolled",
        rf"{TENSE}\s+(?:(?:switched|changed) (?:my |her |his )?(?:major|degree|studies)"
        rf"(?: from [\w ]+?)? to|transferred to|enrolled (?:in|at)) (?:the )?{THING}{END}",
        "I changed my major from history to law.",
        "law",
    ),
    form(
        "studies",
        "holds",
        "study studies studying major majoring",
        rf"(?:{TENSE}\s+(?:study|studies|studying|majoring in)|{BE} a student of) "
        rf"(?P<value>[\w’'-]+(?: (?!at\b|in\b|for\b|and\b|now\b)[\w’'-]+){{0,2}})",
        "I'm studying marine biology in Bergen.",
        "marine biology",
    ),
    form(
        "education",
        "holds",
        "graduated degree",
        rf"{TENSE}\s+(?:graduated from|(?:got|have|earned|took|did) (?:a|my) [\w’' ]*?degree "
        rf"(?:from|at|in)) {PLACE}",
        "I graduated from MIT.",
        "MIT",
    ),
    form(
        "occupation",
        "begins",
        "retired",
        rf"{TENSE}\s+(?P<value>retired)(?=\s*(?:[.,!]|$|last\b|in\b|this\b|early\b|after\b|now\b))",
        "I retired last spring.",
        "retired",
    ),
)
