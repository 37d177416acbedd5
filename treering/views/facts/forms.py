"""The forms of sentences that state a fact, as a table: each with an example that it reads.

The group ``value`` of a pattern holds what is stated, ``subject`` the person or thing. A form
without a slot of its own names it in the group ``slot``. Tests read every example.
"""

from __future__ import annotations

from typing import Final

from treering.views.facts.form import DOES, form
from treering.views.facts.phrases import (
    AGE,
    ANY_MORE,
    AT_WORK,
    BE,
    CONTACT,
    DAY,
    DEMONYM,
    DIET,
    END,
    EVENT,
    FIRMS,
    HABITS,
    MONTH,
    NO_HOME,
    NOT,
    OCCUPATION,
    ONESELF,
    OTHER,
    OWNED,
    PLACE,
    PROPER,
    SINCE,
    TELLING,
    TENSE,
    THING,
    WHEN,
    WORDS,
)
from treering.views.facts.value_first import VALUE_FIRST

_AWAY = r"(?: (?:house|home|out|down|up|over|back|here|across the country|all the way))*"


_HOME = (
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
_WORK = (
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
_PERSON = (
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
_OWN = (
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
_STOPPED = (
    r"(?:stopped|quit|gave up|given up|dropped|got tired of|grew out of|done with|"
    r"cut out|cancel(?:l)?ed|lost interest in|swore off)"
)
_NOT_MIND = r"(?!(?:care|mind|know|think|believe|feel|want|remember|see|understand|worry|doubt)\b)"
_HABIT = (
    form(
        DOES,
        "ends",
        "anymore more longer",
        rf"(?:\s+(?:do|does|can|have|has))?(?:\s+(?:not|can['’]t|cannot)|"
        rf"n['’]t) {_NOT_MIND}(?P<value>[\w’' -]+?) "
        rf"{ANY_MORE}",
        "I don't play tennis anymore.",
        "play tennis",
    ),
    form(
        DOES,
        "ends",
        "longer",
        rf"\s+(?:can |do |does )?no longer {_NOT_MIND}(?P<value>\w+(?:[ -]\w+){{0,6}})",
        "I no longer drive to work.",
        "drive to work",
    ),
    form(
        DOES,
        "ends",
        "anymore more longer",
        rf"(?:{BE}) (?:not|no longer) (?![^.]*\bbut\b)(?P<value>[\w’' -]+?)(?: {ANY_MORE}|"
        rf"(?=[.!]|$))",
        "I'm not dating Sam anymore.",
        "dating Sam",
    ),
    form(
        DOES,
        "ends",
        "can't cannot can’t",
        r"(?:\s+(?:can[’']t|cannot)) (?P<value>(?:eat|drink|have|swim|drive|use|run|smoke|wear)"
        r"(?: [\w’'-]+){1,4})",
        "I can't eat nuts.",
        "eat nuts",
    ),
    form(
        DOES,
        "ends",
        "stopped quit gave given dropped tired grew done cut canceled cancelled lost swore",
        rf"{TENSE}\s+{_STOPPED} (?:going to |my |the )?"
        r"(?P<value>\w+ing(?: [\w’'-]+){0,4}|(?:coffee|alcohol|meat|sugar|smoking|gluten|caffeine|"
        r"soda|chocolate|bread|dairy)\b)",
        "I stopped drinking coffee.",
        "drinking coffee",
    ),
    form(
        f"{DOES}use",
        "holds",
        "switched changed converted upgraded moved swapped",
        rf"{TENSE}\s+(?:switched|changed|converted|upgraded)(?: over| back)? "
        rf"(?:from (?:an? |my |the )?(?P<gone>[\w’'-]+(?: [\w’'-]+){{0,2}}?) )?"
        r"to (?:an? |my |the )?"
        r"(?!my\b)(?P<value>[\w’'-]+"
        r"(?: (?!last\b|in\b|for\b|and\b|this\b|because\b)[\w’'-]+){0,2})",
        "I switched from Android to an iPhone.",
        "iPhone",
        who=ONESELF,
    ),
    form(
        f"{DOES}have",
        "holds",
        "traded swapped exchanged replaced",
        rf"{TENSE}\s+(?:traded(?: in)?|swapped|exchanged|replaced) (?:my|our|the) (?:old )?"
        r"(?P<gone>[\w’'-]+(?: [\w’'-]+){0,2}?) (?:for|with) (?:an? |my )?(?:new )?"
        r"(?P<value>[\w’'-]+(?: (?!last\b|in\b|and\b|this\b|because\b)[\w’'-]+){0,2})",
        "I traded my truck for a hybrid.",
        "hybrid",
    ),
    form(
        f"{DOES}have",
        "ends",
        "died passed ran",
        r"\b(?:[Mm]y|[Oo]ur) (?P<value>[a-z]+(?: [a-z]+)?) (?:just |recently )?"
        r"(?:died|passed away|was put down|ran away)",
        "My dog passed away.",
        "dog",
        who="",
    ),
    form(
        f"{DOES}have",
        "ends",
        "sold gave got lost returned traded cancelled canceled sublet",
        rf"{TENSE}\s+(?:sold|gave away|got rid of|lost|returned|traded in|cancel(?:l)?ed) "
        r"(?:my|our|the|his|her) "
        r"(?:old )?(?P<value>[\w’'-]+(?: (?!and\b|as\b|for\b|to\b|last\b|in\b|on\b|this\b|"
        r"because\b)"
        r"[\w’'-]+){0,2})",
        "I sold the Skoda and bought a Fiat.",
        "Skoda",
    ),
    form(
        f"{DOES}have",
        "holds",
        "bought got adopted acquired rescued",
        rf"{TENSE}\s+(?:bought|got|adopted|acquired|rescued)"
        r"(?: myself| us| ourselves)? an?(?: new| used| second)? "
        r"(?P<value>(?!job\b|raise\b|promotion\b|divorce\b|cold\b|call\b|"
        r"haircut\b|message\b|ticket\b|coffee\b|lot\b|bit\b)[\w’'-]+"
        r"(?: (?!and\b|for\b|to\b|last\b|in\b|on\b|this\b|from\b|because\b|named\b|called\b)"
        r"[\w’'-]+){0,2})",
        "I adopted a greyhound last week.",
        "greyhound",
    ),
    form(
        f"{DOES}date",
        "ends",
        "broke split",
        rf"{TENSE}\s+(?:broke up|split up|split) with (?P<value>[A-Z]\w+|my \w+)",
        "I broke up with Sam.",
        "Sam",
    ),
    form(
        DOES,
        "holds",
        "started began begun took taken picked",
        rf"{TENSE}\s+(?:(?:started|began|begun)(?: to)?|(?:took|taken|picked) up) "
        r"(?P<value>(?!an?\b|the\b|my\b|at\b|with\b|as\b|for\b)[a-z]+(?:ing)?(?:\s+(?!last\b|"
        r"this\b|again\b|in\b|because\b)[\w’'-]+){0,4})",
        "I started learning Danish.",
        "learning Danish",
    ),
    form(
        DOES,
        "holds",
        f"{HABITS} {' '.join(verb + 's' for verb in HABITS.split())} has",
        r"(?:\s+(?:still|really|usually|often|always|also|mostly|now|currently|just))*\s+"
        rf"(?P<value>(?!like (?:you|me|us|this|that|these)\b)(?:{'|'.join(HABITS.split())}|"
        rf"has(?= an?\b| the\b| \d| two\b| "
        rf"three\b))s?(?:\s+[\w’'-]+){{0,5}})",
        "Ana plays tennis every Sunday.",
        "plays tennis every Sunday",
        who=OTHER,
    ),
)

FORMS: Final = (*_HOME, *_WORK, *_PERSON, *_OWN, *_HABIT, *VALUE_FIRST)
"""All forms in the order in which they are tried. The first that matches a clause counts."""
