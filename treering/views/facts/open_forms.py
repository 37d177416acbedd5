"""Reads the plainest shapes of statements over noun phrases of any words. No I/O.

"My NP is now NP", "I moved from NP to NP", "my NP expires in 2031": the shape says what is stated,
so that no list has to know the nouns. What stands behind the value is cut off, not understood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from treering.views.facts.assertion import Assertion
from treering.views.facts.clauses import SELF
from treering.views.facts.phrases import DAY, MONTH, SEVERAL
from treering.views.facts.phrasing import is_telling
from treering.views.facts.things import TAKES
from treering.views.facts.tokens import parted
from treering.views.facts.verbs import (
    ADJECTIVES,
    KIN,
    NO_VALUES,
    PARTNERS,
    PASSING,
    PETS,
    RELATIVES,
    RIDES,
    ROLES,
    THOUGHTS,
    word_set,
)

MAX_OPEN_WORDS: Final = 8
_WORD = re.compile(r"[\w'-]+")

_I = (
    r"(?:I|[Ww]e)(?:'ve| have)?(?: (?:just|recently|finally|now|also|both|already|since|actually))*"
)
_OWNER = r"(?:[Mm]y|[Oo]ur)"
_NOUN = (
    r"(?P<noun>(?!own\b|dear\b)(?:(?!(?:is|are|was|were|and|or|but|that|which|who|I|has|have|had|"
    r"to|will|would|not|than|said|says|when|if)\b)[\w&'-]+ ){0,4}?(?!(?:is|are|was|were)\b)[\w&-]+"
    r"(?: to (?:the )?[A-Z][\w-]+)?)"
)
_IS = r"(?: is|'s| are)"
_NOWADAYS = r"(?: now| currently| officially| actually| these days| nowadays| still| once again)"

_FROM_TO = re.compile(
    rf"{_I} (?P<verb>moved|swapped|switched|changed|migrated|transferred|converted|upgraded|"
    r"downgraded|shifted|defected|downsized|went|gone|crossed)(?: \w+)? from "
    r"(?P<old>[^,;:.!?]{2,50}?) (?:over )?to (?P<new>.+)"
)
_CHANGED_TO = re.compile(
    rf"{_OWNER} {_NOUN}(?: (?:has|have|was|were|got|just|recently|now|been|finally))* "
    r"(?P<verb>changed|switched|went|gone|moved|dropped|increased|rose|renamed|doubled|halved|"
    r"raised|"
    r"lowered|cut|reduced|extended|renewed|upgraded|downgraded|bumped|transferred|reset|pushed|"
    r"shifted|"
    r"brought|put)(?: (?:up|down|over|"
    r"back|forward))?(?: from (?P<old>[^,;:.!?]{1,40}?))? to (?P<new>.+)"
)
_IS_NOW = re.compile(
    rf"{_OWNER}(?P<fresh> (?:new|current|latest|brand new|newest))? {_NOUN}{_IS}"
    rf"(?P<now>{_NOWADAYS})? (?P<value>.+)"
)
_DATE = (
    rf"(?P<value>(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {MONTH}(?:,? \d{{4}})?|"
    rf"(?:(?:early|late|mid|the end of|mid-) ?)?{MONTH}(?: \d{{1,2}}(?:st|nd|rd|th)?)?"
    rf"(?:,? \d{{4}})?|(?:20|19)\d\d|the \d{{1,2}}(?:st|nd|rd|th)|(?:next )?{DAY}s?|"
    r"\d{1,2}[:.]\d\d(?: ?[ap]\.?m\.?)?|\d{1,2} ?[ap]\.?m\.?|half past \w+|noon|midnight|"
    r"\d{1,2}/\d{1,2}(?:/\d{2,4})?)(?![\w/:]| (?:minutes|hours|days|weeks|months|years)\b)"
)
_DUE = (
    r"(?P<verb>expires|starts|begins|ends|finishes|opens|closes|renews|runs out|is due|are due|"
    r"is (?:now |only |again )?(?:valid|good|up|due)|falls|takes place|runs|lasts|matures|leaves|"
    r"departs|arrives|go out|"
    r"start|end|is booked|is scheduled|is set|are valid)"
)
_DATED = re.compile(
    rf"{_OWNER} {_NOUN}(?: now| only| actually)? {_DUE}(?: for \w+)?"
    rf"(?: (?:in|on|at|until|till|through|to|by|for|from))? {_DATE}"
)
_IT_IS_VALID = re.compile(
    rf"[Ii]t(?:'s| is) (?:now )?(?:valid|good|due|up)(?: again)? (?:until|till|to|in|on) "
    rf"{_DATE}"
)
_OWNED = re.compile(rf"(?:[Mm]y|[Oo]ur|[Tt]he) {_NOUN}(?: (?:got|was|has|is|had)\b)")
_BOUGHT = re.compile(
    r"\b(?:I|[Ww]e)\b(?:(?!\b(?:he|she|they|it|who|you|my \w+ \w+ed)\b)[^.!?])*?"
    r"\b(?:bought|got|adopted|picked up|acquired|inherited|rescued|leased|rented) "
    r"(?:myself |us |ourselves )?(?:an?|another|the) (?P<kind>[^,;.!?]{2,40}), "
    r"(?:an? |the |it's an? )?"
    r"(?P<value>(?!I\b|I'|We\b|My\b|So\b|Any\b)[A-Z].*)"
)
RELATIVE: Final = "|".join(
    sorted(KIN | PARTNERS | {"grandad", "granddad", "gran", "granny", "nan", "nana", "papa", "mam"})
)
_OF_RELATIVE = re.compile(
    rf"(?:(?:[Mm]y|[Oo]ur) )?(?P<who>(?i:{RELATIVE}))'s {_NOUN}{_IS}(?P<now>{_NOWADAYS})? "
    r"(?P<value>.+)"
)
_RELATIVE_DID = re.compile(
    rf"(?:[Mm]y|[Oo]ur) (?P<who>{RELATIVE})(?: [A-Z][\w-]+)?(?: has| just| recently| finally)* "
    r"(?P<verb>started at|joined|starts at|got into|transferred to|switched to|works at|goes to|"
    r"enrolled at|graduated from) (?P<value>(?:the )?[A-Z].*)"
)
_ONLY = re.compile(
    r"(?:[Tt]he|[Mm]y|[Oo]ur) only (?P<noun>[\w-]+(?: [\w-]+)?) (?:left|remaining|I have left|"
    r"we have left|I have|we have|I own)(?: now)? is (?:now )?(?P<value>.+)"
)
_GIVEN = re.compile(
    r"(?:[Tt]hey|[Hh]e|[Ss]he|[Mm]y (?:boss|manager|doctor|gp))(?:'ve|'s| have| has)? "
    r"(?:given|gave|assigned|put) me (?:on )?(?P<value>[^,;.!?]+?) (?:now|instead|these days)\b"
)

_CUT = re.compile(
    r"\s*[,;:.!?()](?!\d|\w+[@.]|\w)|\s+(?:but|so|because|since|as|like|which|who|that|where|when|"
    r"while|if|though|although|after|before|until|till|instead|now|today|yesterday|tonight|these|"
    r"nowadays|this|last|next|with|by|via|due|recently|already|again|too|also|anyway|then|"
    r"finally|thanks|please|pls|cos|rather|over|about|for|every|lol|haha|should|can|could|would|"
    r"only|once|per|given|cuz|thank|right)\b"
    r"|\s+and\s+(?!(?:[A-Z](?!['\w]* (?:is|am|are|have|was))(?!'m|'ve| )|[\d]))"
    r"|\s+at\s+(?![A-Z]|\d)|\s+(?:in|on|near|to)\s+(?!(?:the )?[A-Z]|\d)"
    rf"|\s+from\s+(?![A-Z])|\s+(?:in|on|from)\s+(?:{MONTH}|{DAY})\b|\s+in\s+(?:19|20)\d\d"
)
"""Where a value ends: at punctuation, and at words that begin what is said about it."""

_LEAD = re.compile(
    r"(?:(?:called|named|at|on|in|set to|up to|down to|with|actually|just|only|officially|a|an|"
    r"the|my|our|some|now|brand|new|used|proper|lovely|little|small|big|tiny)\s+)+",
    re.IGNORECASE,
)
_LOW_END = re.compile(r"(?:ed|ing|able|ible|ful|ous|ly|less|ish)$")
_NO_OPEN_VALUES: Final = (NO_VALUES - {"the", "a", "an"}) | word_set(
    "being having doing getting kind sort one that something someone somebody what where how why "
    "when i we you he she they it everything nothing anything there here due top first last second "
    "enemy nemesis "
    "mine yours ours theirs his hers pretty fairly super extra such way beyond between among under "
    "asking saying telling acting playing making driving causing growing coming becoming turning "
    "part because both either neither each everyone better than about through time nowhere "
    "somewhere everywhere kinda totally completely fully half almost definitely probably maybe "
    "supposed meant likely able unable unlikely worth behind ahead against onto set"
)
_PEOPLE: Final = KIN | ROLES
_OTHERS: Final = KIN | SEVERAL
_HOMES: Final = word_set(
    "house flat apartment farmhouse cottage houseboat studio bungalow villa condo barn bedsit loft "
    "terrace townhouse home caravan maisonette dorm mansion cabin chalet duplex place town city "
    "village suburb suburbs country countryside coast"
)
_WHILE = re.compile(
    r"\b(?:temporar\w+|for now|for (?:\w+ )?(?:days?|weeks?|months?|nights?|a bit|a while)|"
    r"for the (?:weekend|week|day|night|month|summer|winter|moment|season|holidays?|time being)|"
    r"until|till|tomorrow|tonight|soon|almost|nearly|basically|practically|once|ago|back then|"
    r"as a (?:kid|child|boy|girl|teenager|student)|when I was|sometimes|in my (?:youth|"
    r"twenties|teens|childhood)|in (?:19|20)\d\d|next (?:week|month|year|spring|summer|autumn|"
    r"winter)|"
    r"if|unless|when|before|wish|wonder|would|might|could|should|may|maybe|perhaps|probably|"
    r"will|won't|going to|gonna|hop(?:e|ing)|plan(?:s|ning)?|think|thinking|want|wants|never|"
    r"not|isn't|aren't|didn't|don't|hasn't|haven't|says?|said|told|asked|pretend|imagine|"
    r"suppose|supposedly|allegedly|dream\w*|joke\w*|kidding|jk|"
    r"considering|about to|meant to|supposed to)\b|'ll\b|'d\b|[\"“”?]"
)
"""What makes a clause one of a while, of the past or of the mind."""

_TAIL_UNMEANT = re.compile(
    r"\b(?:if|unless|wish(?! (?:us|me) luck)|kidding|jk|joke|joking|pretend\w*|imagin\w*|"
    r"supposedly|allegedly|says|dream|dreams|dreamt|maybe|perhaps|hopefully|if only|"
    r"not really|for (?:\w+ )?(?:days|weeks|nights|a week|the (?:day|week|weekend|"
    r"night))|temporarily|for now)\b"
)
_SPLIT = re.compile(
    r"(?:,|;|:)\s+(?=(?:and |but |so |then |now )*(?:I\b|[Mm]y\b|[Ww]e\b|[Oo]ur\b|[Ii]t\b|[Tt]he\b|"
    r"[Tt]hey\b))|,?\s+(?:but|and)\s+(?=(?:now )?(?:I|my|our|we)\b)"
)
_PARTING: Final = (",", ";", ":", "but", "and")
"""One of these stands in each match of ``_SPLIT``."""


def open_value(text: str) -> str:
    """The noun phrase that a text begins with, without its article; empty where there is none."""
    lead = _LEAD.match(text)
    text = text[lead.end() :] if lead else text
    text = re.sub(r"^(?:man|woman|guy|girl|lady|bloke|dog|cat) (?:called|named) ", "", text)
    end = _CUT.search(text)
    value = (text[: end.start()] if end else text).strip(" .,;:!'")
    words = value.split()
    if not words or len(words) > MAX_OPEN_WORDS:
        return ""
    return value


def _is_telling(value: str) -> bool:
    return is_telling(value.split())


def _is_thing(value: str, *, is_fresh: bool) -> bool:
    """Whether a value names something, rather than saying how something is."""
    words = value.lower().split()
    if is_fresh and words[0] in ADJECTIVES and _is_telling(" ".join(value.split()[1:])):
        return True  # "low FODMAP", "open D"
    if words[0] in _NO_OPEN_VALUES or (words[0] == "the" and len(words) == 1):
        return False
    if value.split()[0] == "I" or any(w in ("i", "you", "he", "she", "they") for w in words):
        return False
    if value[0].isupper() or value[0].isdigit():
        return True
    last = words[-1]
    if last in ADJECTIVES or _LOW_END.search(words[0]) or words[0] in ADJECTIVES:
        return False
    return is_fresh and len(words) <= 4 and (not _LOW_END.search(last) or len(words) > 1)


def _of_change(match: re.Match[str]) -> Iterator[Assertion]:
    """ "I moved from Windows to Fedora": what is there now, and what is gone."""
    verb = match["verb"]
    old, new = open_value(match["old"]), open_value(match["new"])
    has_both = match["old"].startswith("my ") and match["new"].startswith("my ")
    if not old or not new or has_both or old.split()[0] == "one":
        return
    if f"{new.casefold()} ".startswith(f"{old.casefold()} "):
        return  # "from stall to stall without buying a thing"
    is_passing = not PASSING.isdisjoint(_WORD.findall(old.lower()))
    if is_passing or new.split()[0].lower() in _NO_OPEN_VALUES:
        return
    is_telling = _is_telling(old) and _is_telling(new)
    is_counted = any(map(str.isdigit, old)) and any(map(str.isdigit, new))
    is_travel = is_telling and not is_counted
    if verb in ("went", "gone", "crossed") and (is_travel or match["new"].startswith("the ")):
        return  # a trip
    if verb in ("moved", "changed", "shifted") and not is_telling and match["old"][:4] == "the ":
        return  # "from the sofa to the bed"
    homes = _HOMES & {*_WORD.findall(f"{match['old']} {match['new']}".lower())}
    if verb in ("moved", "downsized", "upgraded") and homes:
        yield Assertion(SELF, "home", new, "begins")
    elif verb in ("went", "gone", "transferred", "shifted") or (verb == "moved" and not is_telling):
        yield Assertion(SELF, "", f"{verb} to {new}", "holds")
    else:
        yield Assertion(SELF, "", f"use {new}", "holds")
        yield Assertion(SELF, "", f"use {old}", "ends")


def _of_thing(match: re.Match[str]) -> Iterator[Assertion]:
    noun = _bare(match["noun"])
    value = open_value(match["new"])
    if not value or not _is_owned(noun) or match["noun"].split()[-1].lower() in _PEOPLE:
        return
    if match["verb"] in ("moved", "went", "gone", "rose", "dropped") and not _is_telling(value):
        return
    if match["verb"] in ("went", "gone") and not any(map(str.isdigit, value)):
        return  # "my dog went to Leeds"
    if value.split()[0].lower() not in _NO_OPEN_VALUES:
        yield Assertion("my", noun, value, "begins")


def _of_being(match: re.Match[str]) -> Iterator[Assertion]:
    noun, text = _bare(match["noun"]), match["value"]
    is_now = bool(match["now"]) or bool(re.search(r"\b(?:now|these days|nowadays)\b", text))
    is_fresh = bool(match["fresh"]) or is_now
    is_called = re.match(r"(?:called|named) (?=[A-Z])", text) is not None
    if not _is_owned(noun) or (text[:3] in ("in ", "at ", "on ") and not is_fresh):
        return
    value = open_value(text)
    if _is_placed_for_now(noun, text, value):
        return
    if noun.split()[-1].lower() == "address":
        value = _address(text) or value
    if not value or not _is_thing(value, is_fresh=is_fresh):
        if value and not is_fresh and _is_described(text):
            yield Assertion(f"my {noun}", "", value, "holds")
        return
    of_kin = noun.split()[-1].lower() in RELATIVES
    if of_kin and not (is_called or (value[0].isupper() and not text.startswith(("a ", "an ")))):
        return
    if is_fresh or is_called or _is_telling(value):
        placed = re.match(r"(?:now )?(in|on|at) ", text)
        slot = f"{noun} {placed[1]}" if placed else noun
        yield Assertion("my", slot, value, "begins" if is_fresh else "holds")


def _is_placed_for_now(noun: str, text: str, value: str) -> bool:
    """Whether something is somewhere for a moment: "my cat is now on the roof"."""
    is_placed = text.startswith(("in ", "on ", "at "))
    is_moving = noun.lower() in RIDES or (noun.lower() in PETS and not _is_telling(value))
    is_taking = is_placed and TAKES.search(text) is not None
    return is_placed and is_moving and not is_taking and not value[:1].isdigit()


def _address(text: str) -> str:
    """An address with its town: "14 Tamarind Close, Bristol"."""
    match = re.match(r"(?:now )?(?P<all>\S*\d\S* [A-Z][^,;!?]*?(?:, (?!I\b)[A-Z\d][\w' -]*?)*)"
                     r"(?=\.?$|[,;!?.]| (?:so|and|since|from|as)\b)", text)  # fmt: skip
    return match["all"] if match else ""


def _is_described(text: str) -> bool:
    """Whether something is said to be of a kind: "heavy clay", but not "heavy these days"."""
    words = _WORD.findall(_CUT.split(text)[0])
    if len(words) != 2 or words[0].lower() not in _KINDS_OF:
        return False
    return words[1].islower() and words[1] not in ADJECTIVES and not _LOW_END.search(words[1])


_KINDS_OF: Final = word_set(
    "heavy light dark bright solid pure raw thick thin hard soft cold hot dry wet deep low high "
    "cheap real black white red blue green grey gray brown yellow orange purple pink sandy oak "
    "double single electric natural fake open closed old new plain fine coarse short long"
)


def _bare(noun: str) -> str:
    return re.sub(r"^(?:new|old|current|latest|own|brand new) ", "", noun)


def _is_owned(noun: str) -> bool:
    """Whether a noun is of a thing or person that has a value, not of a thought."""
    words = noun.lower().split()
    return (
        not THOUGHTS & {words[-1], words[0]}
        and words[-1] not in SEVERAL
        and not (len(words) > 1 and words[0].endswith("'s"))
        and not any(word.endswith("'s") and word[:-2] in _OTHERS for word in words)
    )


def _of_date(match: re.Match[str]) -> Iterator[Assertion]:
    if _is_owned(match["noun"]):
        yield Assertion("my", f"{_bare(match['noun'])} {match['verb']}", match["value"], "holds")


def _of_relative(match: re.Match[str]) -> Iterator[Assertion]:
    value = open_value(match["value"])
    noun = match["noun"]
    if value and _is_telling(value) and _is_owned(noun) and _is_thing(value, is_fresh=False):
        sense = "begins" if match["now"] else "holds"
        yield Assertion(f"my {match['who'].lower()}", noun, value, sense)  # type: ignore[arg-type]


def _of_relative_doing(match: re.Match[str]) -> Iterator[Assertion]:
    value = open_value(match["value"])
    if value:
        yield Assertion(f"my {match['who']}", "", f"{match['verb']} {value}", "holds")


def _of_only(match: re.Match[str]) -> Iterator[Assertion]:
    value = open_value(match["value"])
    named = re.search(r", (?:called )?(?P<name>[A-Z][\w'-]+)(?=[.,!]|$)", match["value"])
    if value and value.split()[0].lower() not in _NO_OPEN_VALUES and match["noun"] != "thing":
        noun = match["noun"].split()[-1] if match["noun"].split()[-1] in PETS else match["noun"]
        whole = f"{value}, {named['name']}" if named else value
        yield Assertion("my", noun, whole, "holds")


def _of_kind(match: re.Match[str]) -> Iterator[Assertion]:
    value = re.sub(r" (?:to be (?:exact|precise|specific)|actually|no less)$", "", match["value"])
    value = open_value(re.sub(r" to be (?:exact|precise|specific).*", "", value))
    if value and value.split()[0] not in ("I", "My", "We"):
        yield Assertion(SELF, "", f"have {value}", "holds")


def _of_given(match: re.Match[str]) -> Iterator[Assertion]:
    value = open_value(match["value"])
    if value and value.split()[0].lower() not in _NO_OPEN_VALUES:
        yield Assertion(SELF, "", value, "holds")


_Reader = Callable[[re.Match[str]], Iterator[Assertion]]
_Rules = tuple[tuple[re.Pattern[str], _Reader], ...]
_OF_ONESELF: Final[_Rules] = ((_FROM_TO, _of_change),)
_OF_OWNED: Final[_Rules] = (
    (_CHANGED_TO, _of_thing),
    (_DATED, _of_date),
    (_IS_NOW, _of_being),
    (_OF_RELATIVE, _of_relative),
    (_RELATIVE_DID, _of_relative_doing),
    (_ONLY, _of_only),
    (_GIVEN, _of_given),
)
_RULES: Final[dict[str, _Rules]] = {
    "i": _OF_ONESELF,
    "we": _OF_ONESELF,
    "my": _OF_OWNED,
    "our": _OF_OWNED,
    "the": ((_ONLY, _of_only),),
    "they": ((_GIVEN, _of_given),),
    "he": ((_GIVEN, _of_given),),
    "she": ((_GIVEN, _of_given),),
    **{f"{who}'s": ((_OF_RELATIVE, _of_relative),) for who in RELATIVE.split("|")},
}
"""Expressions with their readers by the first word of a clause."""

_LEADING = re.compile(
    r"(?:(?:and|so|but|then|now|also|yesterday|today|finally|recently|last (?:week|month|"
    r"year)),? )*"
)
_FIRST = re.compile(r"[A-Za-z]+(?:'s)?")


def open_statements(sentence: str) -> Iterator[Assertion]:
    """What a plain sentence of the speaker's states in one of the plainest shapes."""
    stated = list(_stated(sentence))
    if stated and _TAIL_UNMEANT.search(sentence) is None:
        yield from stated


def _stated(sentence: str) -> Iterator[Assertion]:
    owned = None
    for clause in parted(sentence, _SPLIT, _PARTING):
        clause = clause[_LEADING.match(clause).end() :]  # type: ignore[union-attr]
        first = _FIRST.match(clause)
        for pattern, read in _RULES.get(first[0].lower(), ()) if first else ():
            match = pattern.match(clause)
            if match is not None and not _WHILE.search(_head(match)):
                yield from read(match)
        valid = _IT_IS_VALID.match(clause) if owned else None
        if valid and owned:
            yield Assertion("my", f"{_bare(owned['noun'])} is valid", valid["value"], "holds")
        owned = _OWNED.match(clause)
    if ", " in sentence:
        match = _BOUGHT.search(sentence)
        if match is not None and not _WHILE.search(sentence[: match.start("value")]):
            yield from _of_kind(match)


def _head(match: re.Match[str]) -> str:
    """A clause up to the comma behind its value; up to the verb where a date follows."""
    if match.re is _DATED:
        return match.string[: match.start("verb")]
    end = match.string.find(",", match.end() - len(match.groups()[-1] or ""))
    return match.string[: end if end >= 0 else None]
