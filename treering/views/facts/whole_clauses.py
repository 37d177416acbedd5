"""Reads a clause that tells of a change as a whole, whatever its noun phrases are like. No I/O.

"I moved my beehives from the allotment to my uncle's orchard last weekend": the subject is the
speaker or theirs, the verb is one of change, and nothing stands between that negates or supposes.
Then what follows the verb is what holds now, however long it is. What was before is cut out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from treering.views.facts.assertion import Assertion
from treering.views.facts.clauses import SELF
from treering.views.facts.phrases import SEVERAL
from treering.views.facts.phrasing import is_telling
from treering.views.facts.verbs import (
    ADJECTIVES,
    DANGLING,
    DETERMINERS,
    HAPPENING,
    JUDGED,
    KIN,
    PARTNERS,
    PASSING,
    PETS,
    RIDES,
    THOUGHTS,
    TRAILING,
    WORKED,
    word_set,
)

_INTO: Final = word_set(
    "moved switched changed swapped traded exchanged replaced transferred converted upgraded "
    "downgraded migrated relocated shifted graduated progressed went gone came come turned swung "
    "rolled crossed swopped downsized upsized promoted bumped raised lowered reduced increased cut"
)
"""Verbs of going from one thing to another: which one it is now stands behind a preposition."""

_PARTED: Final = word_set("sold ditched scrapped binned dumped rehomed donated cancelled canceled")
_ACQUIRED: Final = word_set("bought got adopted purchased acquired picked rescued leased")
_TAKEN: Final = word_set("joined became become rejoined left quit gave given took taken")
_VERBS: Final = _INTO | _PARTED | _ACQUIRED | _TAKEN
_SIGNS: Final = _VERBS | word_set("now new been")
"""A sentence without any of these words tells of no change."""

_OF_THINGS: Final = word_set(
    "went gone came come cut raised lowered reduced increased turned rolled"
)
"""What a thing does, or is done to it, and a person only on a trip: "my dose went to 20 mg"."""

_VERB = "|".join(sorted(_VERBS - _OF_THINGS))
_HEDGED = r"(?:near|hard|bare|scarce|possib|probab|supposed|alleged|apparent|like|on|ear)ly\b"
_ADVERBS = (
    rf"(?: (?:(?!{_HEDGED})[a-z]+ly|just|now|also|at last|at long last|since|then|already|both|"
    r"all|even|only just|in the end|gone and|went and|up and|sort of|kind of|pretty much))*"
)
_SUBJECT = r"(?:(?:(?:[Mm]y|[Tt]he) [\w'-]+|[A-Z][\w'-]+) and )?(?:I|[Ww]e)"
_SPEAKER = re.compile(
    rf"(?:(?P<front>[\w'-]+(?: [\w'-]+)+) )??{_SUBJECT}(?: both| all)?"
    rf"(?:'ve| have|'m| am|'re| are)?{_ADVERBS}(?: (?:been|was|were|got|being))?{_ADVERBS} "
    rf"(?P<verb>{_VERB}),?{_ADVERBS} (?P<rest>.+)"
)
"""The speaker, an auxiliary and adverbs, none of which negates or supposes, and a verb."""

_FRONT: Final = word_set(
    "with after since in on at for from by as last this over during following thanks due because "
    "these late early yesterday the and so then but"
)
_OF_FAMILY = r"[Tt]he (?:kids'|boys'|girls'|twins'|children's|baby's|dog's|cat's)"
_OWN = re.compile(
    rf"(?:[Mm]y|[Oo]ur|{_OF_FAMILY}|(?:Mum|Mom|Dad|Gran|Nan|Grandma|Grandad)'s) (?P<noun>.+?)"
    rf"(?:(?:'s|'ve| has| have| was| were| got| is being))?{_ADVERBS}(?: been| got)?{_ADVERBS} "
    rf"(?P<verb>{'|'.join(sorted(_INTO))}|put back|put forward|brought forward|rescheduled|"
    r"pushed back|renamed|reset) (?P<rest>(?:.+ )?(?:to|into|from|onto) .+)"
)
_FOR_ME = re.compile(
    r"(?!(?:[Yy]ou|[Hh]e|[Ss]he|[Ii]t|[Tt]hat|[Tt]his|[Ww]h\w+|I|[Ww]e)\b)"
    rf"(?P<who>[A-Za-z][\w' -]*?)(?:'ve|'s| have| has)?{_ADVERBS} "
    rf"(?P<verb>{'|'.join(sorted(_INTO - {'went', 'gone', 'came'}))}) "
    r"(?P<rest>(?:my|our)\b.+)"
)
"""What others did to what is the speaker's: "they moved my one-to-one to Thursdays"."""

_OWNER = re.compile(rf"(?:my|our|mum|mom|dad|gran|nan|{_OF_FAMILY}) ?", re.IGNORECASE)
_IS_NOW = re.compile(
    rf"(?:[Mm]y|[Oo]ur|{_OF_FAMILY}) (?P<noun>.+?)"
    r"(?:'s| is| are)(?: now (?P<value>.+)|(?: (?P<later>.+) now))"
)
_AT_HOME = re.compile(
    r"[Tt]he (?P<noun>[a-z'-]+(?: [a-z'-]+){0,4}?)(?:(?:'s| is| are| lives?| sits?| stands?|"
    r" hangs?)"
    r"(?: now (?P<value>.+)|(?: (?P<later>.+) now))| now (?:live|sit|stand|hang)s? (?P<there>.+))"
)
_HOME = re.compile(
    r"\b(?:kitchen|bathroom|bedroom|hall|hallway|lounge|living room|sitting room|dining room|"
    r"box room|spare room|utility room|front room|back room|garage|shed|attic|loft|cellar|"
    r"basement|garden|porch|balcony|conservatory|study|pantry|larder|landing|windowsill|drawer|"
    r"cupboard|wardrobe|cabinet|shelf|shelves|closet|hook|freezer|fridge|barn|greenhouse|yard|"
    r"nursery|patio|stairs|mantelpiece)\b"
)
"""Where things of one's home are: "the monstera is now in the bathroom"."""

_IS_MADE = re.compile(
    r"[Tt]he (?P<noun>[a-z'-]+(?: [a-z'-]+){0,4}?)(?:'s| is| are) now "
    r"(?P<value>(?:my|our|the (?:kids|boys|girls|twins|children|baby|dog|cat)'s?) .+)"
)
_ROOM = re.compile(
    r"\b(?:room|studio|office|gym|workshop|nursery|den|library|playroom|bedroom|darkroom|store|bar|"
    r"study|workspace|kitchen|larder)$"
)
"""What a part of one's home may be used as: "the spare room is now my pottery studio"."""

_NEW = re.compile(
    r"(?:[Mm]y|[Oo]ur) new (?P<noun>[^,]+?)(?:'s| is| are) (?:now )?(?P<value>(?:called )?.+)"
)
_BEEN = re.compile(
    rf"(?:{_SUBJECT}(?:'ve| have)|[Ii]) been(?P<value> \w+ing .+?) (?:since (?:last|my|the|"
    r"we|I|[A-Z])|for (?:\w+ )?(?:years|months|ages)\b).*"
)
_PLACED = re.compile(
    r"(?:in|on|at|with|from|by|under|near|between|above|behind|next to|opposite|over|inside|"
    r"outside|down|up|through|via) (?:the|an?|my|our|his|her|their|unit|room|number|[A-Z\d])"
)
_NUMBER = re.compile(r"(?:an? )?[-+±£$€#]?\d")
_NOTED = re.compile(
    r"(?!(?:it|that|this|which|what|there|the|an?|he|she|they|you|your|his|her|their|its|and|but)\b)"
    r"[a-z-]+(?: [a-z-]+){0,2} (?:is|are) now (?:an? )?[£$€]?\d.*"
)
"""What is noted behind a clause about oneself: "my feet have spread, shoe size is now a 7"."""

_ABOUT_ONESELF = re.compile(r"\b(?:I|[Mm]y|[Ww]e|[Oo]ur)\b")

_CLAUSES = re.compile(
    r"[;:]\s+|,\s+(?!(?:over |down |up |out |back |all the way )*(?:from|to|into|onto)\b|"
    r"(?:an?|the) [^,]+$|[a-z]+ \d[\w/-]*(?:[.!]|$))"
    r"|,? (?:and|but|so|then|because|since|though|although|which|who)(?: then| now| also)* "
    r"(?=(?:I|[Ww]e|my|our|the|it|it's|that|that's|he|she|they|there|no|not|am)\b"
    rf"|(?:[\w'-]+ ){{1,5}}(?:I|we)(?:'ve)? |(?:[a-z]+ly |just |finally )?(?:{_VERB})\b)"
)
_BETWEEN = re.compile(
    r"^(?P<who>(?:(?:[Mm]y|[Oo]ur) [^,]+|I|[Ww]e)), (?!(?:and|or|but|so|I|we|my|our)\b)[^,]+, "
    rf"(?=(?:is|are|has|have|now|was|were|just|finally|{_VERB}|{'|'.join(_OF_THINGS)})\b)"
)
"""What stands between a subject and its verb: "my new physio, the one at the gym, is …"."""

_LEAD = re.compile(
    r"(?:(?:and|so|but|then|now|also|yesterday|finally|recently|anyway|well|still|because|since|"
    r"today|tonight|this morning|last (?:week|weekend|month|year|night)|by the way),? )*",
    re.IGNORECASE,
)
_NOT_MEANT_BEFORE = re.compile(
    r"\b(?:if|unless|whether|thinks?|thinking|thought|reckons?|assumes?|wish\w*|wonder\w*|hop(?:e|"
    r"es|ing)|kidding|jk|jok(?:e|es|ed|ing)|pretend\w*|imagin\w*|suppos\w*|dream\w*|would|could|"
    r"should|might|may|maybe|perhaps|almost|nearly|before|when|while|once|until|said|says|saying|"
    r"told|tells?|asked|asks|claims?|wrote|how|story|novel|going to|about to|used to|the day|"
    r"the (?:year|week|month|time|night|moment)|years? ago|rumou?r\w*|lyrics?|song)\b"
    r"|[?\"“”]|'d\b|'ll\b|n't\b",
    re.IGNORECASE,
)
"""What stands before a clause that is supposed, reported or of another time."""

_NOT_MEANT_AFTER = re.compile(
    r"\b(?:if only|unless|jk|(?:just |only )?kidding|jok(?:e|es|ed|ing)|imagin\w*|pretend\w*|"
    r"suppos\w*|dream\w*|in my dreams|not really|lies?|lying|(?:fell|falls|fallen) through|"
    r"pulled out|changed (?:my|our) minds?|wish\w*|would have|(?:he|she|they|people|everyone|"
    r"[A-Z]\w+) (?:said|says|say|claims?|reckons?|told \w+)|so (?:they|he|she|people) (?:say|"
    r"says|claim|claims|said)|moved back|came back|went back|changed back|switched back|"
    r"put a stop|stopped me|talked (?:me|us) out|apparently|true)\b|[\"“”]"
)
"""What is said behind a clause that was not meant, or did not come about."""

_OF_THEN = re.compile(
    r"\b(?:when|while|(?<!\d )until|(?<!\d )till|if|unless|before (?:I|we|my|the)|ago|as an? "
    r"(?:kid|child|boy|girl|student|teenager|baby)|"
    r"(?:in|by|since|during|around) (?:19|20)\d\d|back then|in the (?:end I|\w+ties)|for now|"
    r"temporar\w+|for (?:the|a|an|one|two|three|this) (?:few |couple of |whole |long )?"
    r"(?:day|days|week|weeks|"
    r"weekend|night|nights|month|months|summer|winter|spring|autumn|semester|fortnight|moment|"
    r"while|bit|time being|hour|hours|minute|minutes|holidays?|visit)|tomorrow|tonight|next "
    r"(?:week|month|year|spring|summer)|in my (?:dreams?|head|mind|twenties|teens|thirties|youth|"
    r"childhood|novel|story|game)|and back(?: again)?|in (?:the|that|this|my|a) (?:game|"
    r"dream|story|film|movie|"
    r"novel|book|play|level|song|simulation|series|show)|(?:chapter|scene|episode|act) \w+|"
    r"not|never|by mistake|accidentally|nothing|nowhere)\b"
    r"|\?|n't\b"
)
"""What makes a change one of the past, of a while, of a game or none."""

_VALUE_END = re.compile(
    r"\s+(?:so|because|since|as (?:I|we|my|it|the)|thanks|please|pls|"
    r"without \w+ing|btw|lol|haha|in case|after|following|due to|effective|as of|with effect)\b.*$"
    r"|\s+(?:last|this|next) \w+.*$|\s+(?:on|in|since|from) (?:Mon|Tues|Wednes|Thurs|Fri|Satur|"
    r"Sun|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*.*$"
    r"|\s+(?:today|yesterday|recently|at last|for good)\b.*$"
)
_BESIDE = re.compile(r", (?![a-z]+ \d)")
_FROM_TO = re.compile(
    r"^(?P<thing>.*?)(?:, )?\b(?:(?:over|down|up|out|across|back|straight|all the way) )*from "
    r"(?P<old>.+?),? (?:(?:over|down|up|out|across|back|through|straight|on|all the way) )*"
    r"(?P<into>to|into|onto) (?P<new>.+)$"
)
_TOWARDS = re.compile(r"(?:^|.*? )(?:to|into|onto|for|with|out of|in with) (?P<new>.+)$")
_FURTHER = re.compile(
    r"(?:over|back|up|down|across|out) (?:to|into) "
    r"|(?:out of .+? )?(?:to|into|in with|onto) (?:an?|my|our)\b(?! pyjamas)"
)
_AIM = re.compile(r" to (?!(?:the|an?|my|our|his|her|their)\b)[a-z]{2,}\b.*$")
"""What a change is for, behind what it went to: "to the box room to make space"."""

_DETERMINED = re.compile(r"(?:the|an?|my|our|his|her|both|all|half|two|three|four|[A-Z\d])\b")
_THING = re.compile(r"(?:my|our)\b")
_MOMENTARY: Final = (
    PASSING
    | DETERMINERS
    | word_set("the one next other first last new same hand hands foot pocket lap knee gate aisle")
    | word_set("platform seat window")
)
_NO_THINGS: Final = THOUGHTS | WORKED | SEVERAL | RIDES
_PERSONS: Final = KIN | PARTNERS | PETS
_NO_THINGS_OR_PERSONS: Final = _NO_THINGS | _PERSONS
_MOMENTS: Final = HAPPENING | THOUGHTS
_ENDS: Final = TRAILING | DANGLING
_UP: Final = {"gave": "up", "given": "up", "took": "up", "taken": "up", "picked": "up"}


def whole_clauses(sentence: str, spoken: Collection[str]) -> Iterator[Assertion]:
    """What a plain sentence tells of changes to its speaker and what is theirs, clause by clause.

    The value of an assertion begins with the verb, "moved to a little house in Évora"; of "my X is
    now Y" it is Y. ``spoken`` are the words of the sentence.
    """
    if _SIGNS.isdisjoint(spoken) or _SIGNS.isdisjoint(_words(sentence)):
        return
    if sentence.count(", ") > 1:
        sentence = _BETWEEN.sub(r"\g<who> ", sentence)
    start, is_of_speaker, has_parted = 0, False, False
    for stop, after in _bounds(sentence):
        clause = sentence[start:stop].rstrip(" .!,")
        lead = _LEAD.match(clause)
        text = clause[lead.end() :] if lead else clause
        if is_of_speaker and text.partition(" ")[0] in _VERBS:
            text = f"I {text}"
        if _NOTED.fullmatch(text) and _ABOUT_ONESELF.search(sentence, 0, start):
            text = f"my {text}"
        has_sign = not _SIGNS.isdisjoint(_words(text))
        change = _change(text) if has_sign else None
        is_of_speaker = change is not None or text.startswith(("I ", "I'", "We", "we"))
        changes = [*_of_clause(text, change, has_parted=has_parted)] if has_sign else []
        if changes and _OF_THEN.search(text) is None and _is_meant(sentence, start, stop):
            yield from changes
        has_parted |= change is not None and change["verb"] not in _ACQUIRED
        start = after


def _change(text: str) -> re.Match[str] | None:
    """A change that the speaker tells of, with nothing in front that makes it another's."""
    change = _SPEAKER.fullmatch(text)
    front = change["front"] if change else None
    if not front:
        return change
    is_told = front.split()[0].lower() in _FRONT and _NOT_MEANT_BEFORE.search(front) is None
    return change if is_told else None


def _words(text: str) -> list[str]:
    return text.lower().replace(",", " ").split()


def _is_meant(sentence: str, start: int, stop: int) -> bool:
    """Whether nothing around a clause says that it is supposed, reported or did not come about."""
    is_told = _NOT_MEANT_BEFORE.search(sentence, 0, start) is None
    return is_told and _NOT_MEANT_AFTER.search(sentence, stop) is None


def _bounds(sentence: str) -> Iterator[tuple[int, int]]:
    """Where each clause of a sentence ends, and the next one begins."""
    for match in _CLAUSES.finditer(sentence):
        yield match.span()
    yield len(sentence), len(sentence)


def _of_clause(text: str, change: re.Match[str] | None, *, has_parted: bool) -> Iterator[Assertion]:
    if change:
        value = _value(change["verb"], change["rest"], has_parted=has_parted)
        if value:
            yield Assertion(SELF, "", value, "holds")
    elif been := _BEEN.fullmatch(text):
        yield Assertion(SELF, "", been["value"].strip(), "holds")
    elif _OWNER.match(text):
        yield from _of_own(text)
    elif (into := _IS_MADE.fullmatch(text)) and _is_room(into):
        yield Assertion(f"my {into['noun']}", "", f"is {_tidy(into['value'])}", "holds")
    elif home := _AT_HOME.fullmatch(text):
        place = _tidy(home["value"] or home["later"] or home["there"])
        if _HOME.search(place) and _is_thing(home["noun"], _NO_THINGS_OR_PERSONS):
            yield Assertion(f"my {home['noun']}", "", f"is {place}", "holds")
    elif done := _FOR_ME.fullmatch(text):
        value = _into(done["verb"], done["rest"])
        if value and _NOT_MEANT_BEFORE.search(done["who"]) is None:
            yield Assertion(SELF, "", value, "holds")


def _value(verb: str, rest: str, *, has_parted: bool) -> str:
    """What holds after a change, from its verb on; empty where it lasts for a moment only."""
    first = "".join(rest.split()[:1]).lower()  # empty where no more than odd blanks follow
    if verb in _UP:
        is_change = first == _UP[verb] and " " in rest
    elif verb in _INTO:
        return _into(verb, rest)
    elif verb in _ACQUIRED:
        is_change = has_parted and _DETERMINED.match(rest) is not None
    else:
        is_change = _DETERMINED.match(rest) is not None and (verb != "left" or has_parted)
        is_change &= re.match(r"an? (?:bit|little|lot)\b", rest) is None
    nouns = _tidy(rest).lower().split()
    if not is_change or not HAPPENING.isdisjoint((*nouns[:3], *nouns[-1:])):
        return ""
    return f"{verb} {_tidy(rest)}"


def _into(verb: str, rest: str) -> str:
    """What something was changed to, without what it was before."""
    moved = _FROM_TO.match(rest)
    if moved:
        old, new = _tidy(moved["old"]), _tidy(_AIM.sub("", moved["new"]))
        if old.lower() == new.lower() or _passes(old) or _passes(new) or not new:
            return ""
        thing = moved["thing"].strip(" ,")
        if not WORKED.isdisjoint(thing.lower().split()):
            return ""  # "moved the cursor from line 3 to line 9"
        return f"{verb} {thing} {moved['into']} {new}".replace("  ", " ")
    towards = _TOWARDS.match(rest)
    if towards is None or not (_THING.match(rest) or _is_swap(verb, rest)):
        return ""
    new = _tidy(_AIM.sub("", towards["new"]))
    is_moment = _passes(new) or rest.split()[1].lower() in _MOMENTS
    return "" if is_moment or not new else f"{verb} {_tidy(rest[: towards.start('new')] + new)}"


def _is_swap(verb: str, rest: str) -> bool:
    """Whether "for" or "with" brings what is there in place of something."""
    if verb in ("swapped", "traded", "exchanged", "swopped"):  # one swaps "with" somebody
        return " for " in rest
    if verb == "replaced":
        return re.search(r" (?:for|with) (?!.* one$)", rest) is not None
    if verb in ("moved", "relocated", "changed"):  # to a name, as the forms know, or to a tool
        return _FURTHER.match(rest) is not None
    return re.match(r"(?:[a-z]+ )?(?:to|into|onto) ", rest) is not None


def _passes(words: str) -> bool:
    """Whether something is where one is for a moment: "the sofa", "the left lane"."""
    if words.lower().startswith(("another", "other ", "others")):
        return True
    return all(word in _MOMENTARY or word.isdigit() for word in words.lower().split())


def _of_own(text: str) -> Iterator[Assertion]:
    if new := _NEW.fullmatch(text):
        value = _tidy(new["value"])
        is_read = _NUMBER.match(value) or is_telling(value.split()[:2])
        if is_read and _is_thing(new["noun"], _NO_THINGS) and _is_value(value):
            yield Assertion("my", new["noun"], value, "begins")
    elif now := _IS_NOW.fullmatch(text):
        value = _tidy(_of_now(now))
        is_placed = _PLACED.match(value) and _is_thing(now["noun"], _PERSONS)
        if (is_placed or _NUMBER.match(value)) and _is_thing(now["noun"], _NO_THINGS):
            yield Assertion(f"my {now['noun']}", "", f"is {value}", "holds")
    elif own := _OWN.fullmatch(text):
        value = _into(own["verb"], own["rest"]) or _into(own["verb"], f"my {own['rest']}")
        value = value.replace(f"{own['verb']} my ", f"{own['verb']} ")
        is_meant = _NOT_MEANT_BEFORE.search(own["noun"]) is None
        if value and is_meant and _is_thing(own["noun"], _NO_THINGS):
            yield Assertion(f"my {own['noun']}", "", value, "holds")


def _is_room(match: re.Match[str]) -> bool:
    """Whether a part of one's home is now used as another, or as some room."""
    value = _tidy(match["value"])
    is_home = _HOME.search(match["noun"]) or _ROOM.search(match["noun"]) or _ROOM.search(value)
    is_meant = JUDGED.isdisjoint(value.lower().split()) and "favourite" not in value
    return is_home is not None and is_meant and _is_thing(value.partition(" ")[2], _NO_THINGS)


def _of_now(match: re.Match[str]) -> str:
    return match["value"] or match["later"]


def _is_thing(noun: str, others: frozenset[str] | set[str]) -> bool:
    """Whether the head of a noun phrase is none of some nouns, and no subject has come between."""
    words = re.split(r" (?:that|which|at|in|on|of|for|with) ", noun.lower())[0].split()
    return bool(words) and words[-1].removesuffix("'s") not in others and "i" not in words[:1]


def _is_value(value: str) -> bool:
    words = value.lower().split()
    return words[0] not in ADJECTIVES and words[-1] not in JUDGED


def _tidy(phrase: str) -> str:
    """A phrase without what follows it, and without words at its end that only say "now"."""
    words = _VALUE_END.sub("", _BESIDE.split(phrase)[0]).strip(" .!,").split()
    while words and (words[-1].lower() in _ENDS or words[-1].lower() == "now"):
        words.pop()
    return " ".join(words)
