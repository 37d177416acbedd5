"""The parts that forms of statements are made of: patterns of subjects and values, lists of words.

Names of places and firms must be capitalised: "moved to a flat" does not say where somebody lives.
"""

from __future__ import annotations

import re
from typing import Final

NAME: Final = (
    r"(?!I['’]|(?:My|Our|We|The|This|That|It|You|They|There|He|She|Who|What|Everyone|No|Not|Some|"
    r"Many|Most|Each|Every|Both|All|Any|If|When|Just|Here|"
    r"Someone|Nobody|People)\b)[A-Z][\w’'-]*[\w]"
)
_NO_VERB = r"(?!(?:has|have|had|is|are|was|were|just|also|now|got|does|do|never|still)\b)"
_BEFORE = (
    "^", "[,;:—–-] ", r"\band ", r"\bbut ", r"\bso ", "[Yy]eah ", "[Aa]ctually ", r"\b[Nn]ow ",
    "[Yy]esterday ", "[Tt]oday ",
)  # fmt: skip
_BEGINS = f"(?:{'|'.join(f'(?<={before})' for before in _BEFORE)})"
"""Where the subject of a clause may stand."""

_SOMEBODY = rf"[Mm]y (?:\w+ )?{_NO_VERB}\w+|{NAME}['’]s \w+|{NAME}(?: {NAME})?"
SUBJECT: Final = rf"{_BEGINS}(?P<subject>I|[Ww]e|{_SOMEBODY})"
ONESELF: Final = rf"{_BEGINS}(?P<subject>I|[Ww]e)"
OTHER: Final = rf"{_BEGINS}(?P<subject>(?!(?:I|[Ww]e)\b)(?:{_SOMEBODY}))"
STARTS: Final = re.compile(
    # A blank stands before it, if anything does: most letters are inside of words.
    rf"[A-Zwm](?<!\S.)(?:{'|'.join(f'(?<={before}.)' for before in _BEFORE)})"
)
"""Where a subject may begin. A text is searched for its first letters, which is quick."""

_ADVERB = (
    r"just|recently|finally|now|already|actually|currently|officially|still|also|both|really|since|"
    r"then|eventually|happily|soon"
)
TENSE: Final = (
    rf"(?:\s+(?:{_ADVERB}|have|has|am|is|are))*(?:['’](?:ve|m|s|re))?(?:\s+(?:{_ADVERB}|been))*"
)
BE: Final = r"(?:['’](?:m|s|re)| am| is| are)"
NOT: Final = r"(?:\s+no longer|(?:\s+(?:am|is|are|do|does))?(?:\s+not|n['’]t))"
ANY_MORE: Final = r"(?:any\s?more|any longer)(?=\s*(?:$|[.,!;]|and\b|but\b|because\b|since\b))"
DAY: Final = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\w*"
PROPER: Final = (
    rf"(?!{DAY})(?:the (?!{DAY}))?[A-Z][\w.’'-]*"
    r"(?:(?:,? )(?:[A-Z][\w.’'-]*|(?:de|da|do|del|la|of|&)(?= [A-Z])))*"
)
NO_THING: Final = (
    r"(?![\w’'-])(?! (?i:team|department|room|floor|class|tier|plan|level|row|seat|mode|server|"
    r"branch|account|list|shift|lane|group|block|wing|\d))"
)
PLACE: Final = rf"(?P<value>{PROPER}){NO_THING}"
FIRMS: Final = (
    r"(?:Siemens|Bosch|Google|Amazon|Apple|Microsoft|Meta|Facebook|Netflix|IBM|Intel|Oracle|SAP|"
    r"Deloitte|KPMG|PwC|EY|Accenture|McKinsey|Tesco|Sainsbury['’]s|Asda|Aldi|Lidl|Waitrose|Ikea|"
    r"IKEA|"
    r"Nokia|Ericsson|Airbus|Boeing|Ford|Toyota|BMW|Audi|Volkswagen|VW|Daimler|Renault|Volvo|Pfizer|"
    r"Novartis|Roche|Bayer|AstraZeneca|GSK|Unilever|Nestl[eé]|Shell|BP|BBC|ITV|NHS|Uber|Lyft|"
    r"Airbnb|"
    r"Stripe|Salesforce|Adobe|Nvidia|AMD|Samsung|Sony|Philips|Infosys|Wipro|TCS|Capgemini|Cisco|"
    r"Dell|"
    r"HP|Goldman|JPMorgan|Zalando|Klarna|DHL|UPS|FedEx|Ryanair|Lufthansa|Nestle|Walmart|Target|"
    r"Starbucks|Tesla|SpaceX|Huawei|Bloomberg|Reuters|Rolls-Royce|BASF|Maersk|Nike|Adidas)\b"
)
"""Firms that many work for, and nobody lives in. Who moves from one goes to another job."""

NO_HOME: Final = (
    r"(?!(?:Marketing|Sales|Engineering|Support|Finance|Product|Design|Research|Legal|Operations|"
    r"HR|IT|Slack|Teams|Zoom|Discord|Notion|Jira|GitHub|GitLab|Spotify|Netflix|Gmail|Outlook|"
    r"Linux|Ubuntu|Windows|Mac|Android|iOS|Python|Rust|Java|Kotlin|TypeScript|JavaScript|React|"
    r"Postgres|MySQL|SQLite|Kubernetes|Docker|AWS|Azure|Figma|Linear|Asana|Trello|Signal|WhatsApp|"
    r"Telegram|Firefox|Chrome|Vim|Emacs|Obsidian|Evernote|Fastmail|Tidal|Go|Swift|Vue|Svelte|"
    rf"{FIRMS}|"
    r"Plan|Phase|Stage|Chapter|Part|Level|Version)\b)"
)
"""What people move to that is not a place: departments, tools, the next step."""

SINCE: Final = (
    rf"(?=\s*(?:,\s*)?(?:in (?:{MONTH}|the (?:spring|summer|autumn|fall|winter))|last\b|this\b|"
    r"yesterday|with (?:the|our|my)|for good|for (?:work|my|her|his|a job)|a (?:week|month|year)|"
    r"two|three|over the))"
)
"""When or why somebody moved. What "we" moved to without it is as often a tool."""

INSTITUTION: Final = (
    r"hospital|school|university|college|bank|library|bakery|post office|airport|factory|clinic|"
    r"restaurant|caf[eé]|coffee shop|bookshop|bookstore|museum|police|fire department|kindergarten|"
    r"nursery|pharmacy|supermarket|hotel|zoo|gym|start-?up|law firm|agency|farm|brewery|shop|store|"
    r"garage|lab|laboratory|city council|town hall|council|embassy|theatre|theater|publisher|"
    r"newspaper|radio station|shelter|non-?profit|charity|company|firm|studio|warehouse|bar|pub"
)
NO_MORE_NOUN: Final = (
    r"(?! (?!(?:in|on|at|as|and|last|this|after|for|to|near|from|because|by|but|so|today|now|of|"
    r"with|yesterday|where|which|who|that|when|instead|again|full|part|recently|over|down|up|since|"
    r"called|then|these|next|here|there|just|any|until|before|if|or|ago|like|around|across)\b)"
    r"[a-z])"
)
"""Where a noun ends: "the food bank", but not that of "the food bank committee"."""

AT_WORK: Final = (
    rf"(?P<value>(?:{PROPER}|(?:the|an?)(?: (?!moment|best|weekend)[a-z-]+){{0,2}}? "
    rf"(?:{INSTITUTION})\b{NO_MORE_NOUN}(?: called {PROPER})?)){NO_THING}"
)
_TOKEN = r"(?:[\w’'@.+:/£$€%-]|(?<=\d),(?=\d))+"
THING: Final = rf"(?P<value>{_TOKEN}(?: (?:{_TOKEN}|&(?= [A-Z]))){{0,4}})"
WORDS: Final = r"(?P<value>\w+(?:[ -]\w+){0,3})"
END: Final = (
    r"(?=\s*(?:$|[.,!;]|\band\b|\bbut\b|\bnow\b|\bagain\b|\bthese days\b|\bsince\b|\bat\b|"
    r"\bin\b|\bfor\b|\bwith\b|\bwho\b|\bto\b|\bfrom\b|\bafter\b|\blast\b))"
)
DIET: Final = (
    r"(?P<value>vegetarian|vegan|pescatarian|omnivore|gluten[- ]free|dairy[- ]free|keto|paleo)"
    r"(?!-| (?:friendly|curious|options?|food|restaurants?|recipes?|cheese|dish(?:es)?)\b)"
)
CONTACT: Final = (
    r"(?P<slot>(?:phone |mobile |cell )?number|e-?mail(?: address)?|address|name|surname|"
    r"last name|birthday|boss|manager|landlord|doctor|dentist)"
)
EVENT: Final = (
    r"(?P<slot>(?:meeting|appointment|flight|interview|exam|deadline|call|lesson|train|wedding|"
    r"party|review|surgery|check-?up|class|rehearsal|practice)"
    r"(?: (?:with|at) (?:(?:the|my|our|an?|Dr|Mr|Mrs|Ms) \w+|[A-Z]\w+))?)"
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_UNITS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
NUMBERS: Final = {
    f"{ten}-{unit}".rstrip("-"): 10 * tens + units
    for tens, ten in enumerate(_TENS, start=2)
    for units, unit in enumerate(_UNITS)
}
"""Ages in words."""

NUMBERS.update(
    (word, number)
    for number, word in enumerate(
        [
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ],
        start=10,
    )
)

AGE: Final = "|".join(sorted(NUMBERS, key=len, reverse=True))
WHEN: Final = (
    rf"(?P<value>(?:next )?{DAY}s?(?: (?!at\b)\w+)?(?: at [\d:]+ ?\w*)?|"
    rf"(?:the )?\d+\w* (?:of )?{MONTH}(?: (?:19|20)\d\d)?|{MONTH} \d+\w*(?:,? (?:19|20)\d\d)?|"
    r"the \d+(?:st|nd|rd|th)|"
    rf"\d{{1,2}}(?::\d\d)? ?[ap]\.?m\.?|\d{{1,2}}:\d\d|tomorrow)"
)
_OWNED_WORD = r"(?:[a-z][a-z’'-]*|[A-Z]{2,4}\b)"
OWNED: Final = rf"(?P<slot>(?!own\b|old\b|new\b){_OWNED_WORD}(?: {_OWNED_WORD}){{0,2}}?)"
"""What is called after its owner, such as "locker code"."""

_TELLING_WORD = r"(?:[\w.+-]+@[\w.-]+\w|[A-Z][\w’'&.-]*|[\w@.:/+$€£-]*\d(?:[\w@.:/+%-]|,(?=\d))*)"
TELLING: Final = (
    rf"(?P<value>(?:an? |the )?{_TELLING_WORD}"
    rf"(?: (?:{_TELLING_WORD}|(?:of|de|the|and)(?= [A-Z])|(?:to|till|until)(?= \d)))*"
    r"(?: (?:an?|per|each|every) (?:hour|day|night|week|month|quarter|year|annum)\b)?)"
)
"""A value that is told from an adjective: a name, a number, a code."""

HABITS: Final = (
    "love like enjoy play eat drink smoke run swim drive use take attend teach own have prefer "
    "practice practise collect volunteer train study speak wear follow watch"
)
STATES: Final = (
    "allergic afraid scared addicted into on learning training taking dating seeing renting "
    "studying working writing building reading planning saving pregnant diabetic asthmatic lactose "
    "unemployed self-employed sober left-handed colour-blind color-blind"
)
_NO_HABIT = (
    "am is are was were be been have has had do does did can could will would shall should "
    "may might must need want wish hope think guess suppose believe know feel mean see say "
    "said went go going gonna wanna got get came come made make took gave found left lost "
    "felt thought knew told saw heard met ran ate drank sat stood spent paid bought sold kept "
    "held slept woke wrote just never really still also only even always usually often mostly "
    "now then actually finally recently already probably maybe almost agree disagree "
    "understand remember forget promise bet doubt notice mind care swear apologise apologize "
    "ask seem look sound hear not no quit stopped started began begun became moved used tried "
    "broke split put set let cut hurt read understood sent lent won drove rode flew grew drew "
    "threw chose spoke wore taught caught fell sang swam and or but so if as to of in on at "
    "by for with the a an my our your this that it he she they"
)
NO_HABIT: Final = frozenset(_NO_HABIT.split())
"""Words after "I" that begin no habit: auxiliaries, what one thinks, and forms of the past."""

OCCUPATION: Final = (
    r"(?P<value>(?:[a-z]+(?:[ -]))?(?:[a-z]+ )?"
    r"(?!(?:beginner|lover|believer|(?:grand)?father|(?:grand)?mother|brother|sister|daughter|"
    r"member|owner|user|"
    r"number|matter|winner|loser|early riser|talker|thinker|widower|bachelor|reader|fighter|"
    r"survivor|visitor|"
    r"regular|character|minor|neighbou?r|stranger|leader|partner|person|parent|patient|resident|"
    r"adult|participant|giant|loner|newcomer|traveller|traveler|customer|bother|former|"
    r"vegetarian|christian|human|woman|man|fan|bit)\b)"
    r"(?:[a-z]{3,}(?:er|or|ist|ian|ant|ent|eur|man|woman)|nurse|chef|cook|pilot|judge|clerk|coach|"
    r"guide|chemist|vet|athlete|scribe|monk|priest|nanny|au pair|ceo|cto|midwife|model|intern|"
    r"freelance|trainee|apprentice|head nurse|civil servant))\b(?!['’])"
)
DEMONYM: Final = (
    r"(?!(?:American|German|French|Italian|Spanish|Portuguese|English|British|Irish|Scottish|Welsh|"
    r"Dutch|Belgian|Swiss|Austrian|Polish|Czech|Greek|Turkish|Russian|Ukrainian|Swedish|Danish|"
    r"Norwegian|Finnish|Indian|Chinese|Japanese|Korean|Brazilian|Mexican|Canadian|Australian|"
    r"Hungarian|Romanian|Iranian|Israeli|Egyptian|Nigerian|Catholic|Protestant|Christian|Muslim|"
    r"Jewish|Hindu|Buddhist|Sorry|Sure|Fine|Not|Good|Ok|Okay|Glad|Happy|So|In|On|At|From|The|"
    rf"{DAY}|{MONTH})\b)"
)
"""What one is by nation or faith, which is no name."""

_NAMED = re.compile(r"(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?[A-Z]")
_COUNTED = re.compile(r".*\d")
_AT = re.compile(r".*@")
_DATED = re.compile(rf".*(?:\d|{MONTH})")
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
    | {"classmate", "roommate", "teacher", "student", "kid", "child"}
    | {"friends", "colleagues", "neighbours", "neighbors", "cousins"}
)
"""People of whom one has several: "my friend" need not be the same person on two days."""

NUMBERED: Final = frozenset(
    {"size", "number", "code", "pin", "rating", "score", "weight", "height", "age", "budget"}
    | {"rent", "salary", "limit", "pace", "shift"}
)
"""What has a number that is no age."""

OBJECTS: Final = {
    "coffee": "drink coffee",
    "alcohol": "drink alcohol",
    "meat": "eat meat",
    "sugar": "eat sugar",
    "gluten": "eat gluten",
}
"""Things one gives up, with the habit that ends: who quits coffee drank coffee."""
