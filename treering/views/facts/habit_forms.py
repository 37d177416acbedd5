"""Forms of what people do and have, by habit, and of what they have given up."""

from __future__ import annotations

from typing import Final

from treering.views.facts.form import DOES, form
from treering.views.facts.phrases import ANY_MORE, BE, HABITS, ONESELF, OTHER, TENSE

_STOPPED = (
    r"(?:stopped|quit|gave up|given up|dropped|got tired of|grew out of|done with|"
    r"cut out|cancel(?:l)?ed|lost interest in|swore off)"
)
_NOT_MIND = r"(?!(?:care|mind|know|think|believe|feel|want|remember|see|understand|worry|doubt)\b)"

HABIT: Final = (
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
