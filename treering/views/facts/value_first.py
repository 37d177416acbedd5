"""Forms in which the value stands first or is pointed to: "Priya is my manager now". A table.

Notes are of this kind, too: "New phone: Pixel 8".
"""

from __future__ import annotations

from typing import Final

from treering.views.facts.form import DOES, form
from treering.views.facts.phrases import PROPER, TELLING
from treering.views.facts.verbs import CHOICE_NOUNS, ROLES, THINGS

_NOBODY = r"(?!(?:Some|Any|Every|No)(?:body|one)\b|They\b|Who\b)"
_FIRST = rf"^{_NOBODY}(?P<value>(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?{PROPER})"
_NOTED = "|".join(sorted(ROLES | CHOICE_NOUNS | THINGS))
_OF_MINE = rf"(?:my|our) (?P<new>new )?(?P<slot>(?:[a-z-]+ )??(?i:{_NOTED}))\b"
_MEASURED = (
    r"(?:blood (?:type|group)|(?:shoe|dress|ring|shirt|hat|collar|bra|waist) size|height|weight|"
    r"birthday|date of birth|dob|postcode|zip code|pin|extension|inside leg)"
)
_SHORT = r"(?:[A-Z\d][\w.+'-]*|neg\w*|pos\w*|cm|kg|kilos|stone)"
_COMMON = "|".join(sorted(CHOICE_NOUNS))

VALUE_FIRST: Final = (
    form(
        "",
        "holds",
        "is are",
        rf"{_FIRST}(?: is| are|['’]s)(?: actually| officially)?(?P<now> now)? {_OF_MINE}(?! ?['’]s)"
        r"(?: now| these days)?(?=[.,!;]|$| since| instead| and| as)",
        "Priya is my manager now.",
        "Priya",
        who="",
    ),
    form(
        "",
        "begins",
        "became become took stepped replaced replaces",
        rf"{_FIRST} (?:has |have )?(?:become|became|taken over as|took over as|stepped in as|"
        rf"replaced [\w’'. -]{{2,30}} as|taken on as) {_OF_MINE}",
        "Dr Chen took over as my GP in May.",
        "Dr Chen",
        who="",
    ),
    form(
        "employer",
        "begins",
        "hired employs recruited poached taken took signed",
        rf"{_FIRST} (?:has |have )?(?:just )?(?:hired|employs|recruited|poached|taken|took|signed) "
        r"me\b(?! to| for| out| home| back| up)(?: on)?",
        "Bosch hired me last month.",
        "Bosch",
        who="",
    ),
    form(
        f"{DOES}have",
        "holds",
        "replaced place",
        r"^(?:[Aa]n? |[Tt]he )?(?P<value>[\w’'-]+(?: [\w’'-]+){0,3}?) (?:has |have )?(?:now )?"
        r"(?:replaced|taken the place of|took the place of) (?:my |our |the )?(?:old )?"
        r"(?P<gone>[\w’'-]+(?: (?!in\b|as\b|for\b|at\b|on\b)[\w’'-]+){0,2})",
        "A Brompton has taken the place of my old bike.",
        "Brompton",
        who="",
    ),
    form(
        "home",
        "holds",
        "home",
        rf"^[Hh]ome ?(?:is|:)(?P<now> now)? {TELLING}",
        "Home: Lisbon.",
        "Lisbon",
        who="",
    ),
    form(
        "",
        "holds",
        ":",
        rf"^(?:[Mm]y )?(?P<new>[Nn]ew )?(?i:(?P<slot>(?:[a-z-]+ )??(?:{_NOTED}))) ?: {TELLING}",
        "New phone: Pixel 8.",
        "Pixel 8",
        who="",
    ),
    form(
        "",
        "holds",
        "size type group height weight birthday birth dob postcode code pin extension leg",
        rf"^(?:[Mm]y )?(?i:(?P<slot>{_MEASURED})) "
        rf"(?P<value>(?:{_SHORT})(?: {_SHORT}){{0,2}})[.!]?$",
        "Shoe size 43",
        "43",
        who="",
    ),
    form(
        "",
        "holds",
        ":",
        rf"^(?:[Mm]y )?(?P<new>[Nn]ew )?(?i:(?P<slot>(?:[a-z-]+ )??(?:{_COMMON})))(?: of "
        rf"choice)? ?: "
        r"(?P<value>[\w’'-]+(?: [\w’'-]+){0,3})(?=[.,;(]|$)",
        "Job title: staff engineer.",
        "staff engineer",
        who="",
    ),
)
"""Forms of this kind, in the order in which they are tried."""
