"""Reads assertions whose verbs and nouns no list knows, where nothing else has read any. No I/O.

"My cat Olive now weighs 6.2 kilos", "the council moved my bins to Friday": that somebody asserts
something of their own life is seen by its subject, its tense and a sign of how things are now. What
wishes, asks, supposes or tells of the past has words that give it away, and is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from treering.views.facts.assertion import Assertion
from treering.views.facts.clauses import SELF
from treering.views.facts.phrases import DAY, MONTH, NO_HABIT, SEVERAL
from treering.views.facts.phrasing import is_telling, trimmed
from treering.views.facts.tokens import parted, words
from treering.views.facts.verbs import (
    ADJECTIVES,
    ADVERBS,
    ARTICLES,
    DETERMINERS,
    JUDGED,
    KIN,
    NO_STATE,
    NOT_A_HABIT,
    PARTNERS,
    PETS,
    PHRASAL,
    PREPOSITIONS,
    RIDES,
    THING_VERBS,
    THOUGHTS,
    WORKED,
    word_set,
)

_NOWADAYS = (
    r"(?:now|nowadays|currently|these days|at present|instead|officially|finally|"
    r"once again|so far|from now on|since then|any ?more|as it stands)"
)
_TOLD = re.compile(
    rf"\d|(?<=\s)(?!I\b)[A-Z]|\b{_NOWADAYS}\b"
    r"|(?:'ve| have) (?:gone over|moved|switched|changed|swapped|transferred|taken)\b"
    r"|\b(?:gives?|brings?|off|triggers?|upsets?|with|irritates?|aggravates?) (?:me|my)\b"
)
"""What tells that something lasts: a name, a number, a word like "now". Most clauses have none."""

_MARK = re.compile(r"[\dA-Z](?:(?<=\d)|(?<!I)(?<=\s.)|(?<=\sI)(?=\w))")
"""A name or a number, as in ``_TOLD``: these are found quickly."""

_TELLING: Final = word_set(
    "now nowadays currently these at instead officially finally once so from since any anymore as "
    "gone moved switched changed swapped transferred taken give gives bring brings off trigger "
    "triggers upset upsets with irritate irritates aggravate aggravates"
)
"""Words of which each other match of ``_TOLD`` has one."""

_UNMEANT = re.compile(
    r"\b(?:would|could|should|might|may|must|will|shall|won't|if|unless|whether|when|while|"
    r"until|till|before|once|wish\w*|hop(?:e|es|ed|ing)|want\w*|need\w*|plan\w*|think\w*|thought|"
    r"consider\w*|wonder\w*|imagin\w*|pretend\w*|suppos\w*|dream\w*|almost|nearly|practically|"
    r"basically|maybe|perhaps|probably|possibly|soon|later|about to|going to|gonna|supposed|"
    r"meant|tempted|thinking|deciding|decide|used to|never|ever|not|n't|cannot|"
    r"says?|said|saying|told|tells?|asked|asks?|claims?|heard|hear|reads?|wrote|quote\w*|"
    r"jok(?:e|es|ed|ing)|kidding|jk|story|novel|film|movie|lyrics?|song|character|like an?|"
    r"as a (?:kid|child|student|teenager)|ago|back then|back in|for now|temporar\w+|tonight|"
    r"tomorrow|yet|today|this (?:week|weekend|morning|afternoon|evening)|for (?:the|a) "
    r"(?:day|week|weekend|night|month|fortnight|moment|while|bit)|feels?|felt|seems?|sounds?|"
    r"looks?|guess|on (?:holiday|vacation|leave|a trip)|visiting|everyone|nobody|no one|people|"
    r"someone|somebody|sometimes|next (?:week|month|"
    rf"year|{DAY}))\b|'ll\b|'d\b|n't\b|[?\"“”]",
    re.IGNORECASE,
)
"""What makes a clause a wish, a plan, a report, a likeness, the past or of a while."""

_NOT_OVERALL = re.compile(
    r"\b(?:if|unless|whether|thinks|reckons|assumes|wish\w*|kidding|jk|jok(?:e|es|ed|ing)|"
    r"pretend\w*|imagin\w*|suppos\w*|dream\w*|"
    r"would|maybe|perhaps|said|says|saying|told|asked)\b|[?\"“”]",
    re.IGNORECASE,
)
"""What makes a whole sentence unmeant, in whatever clause it stands."""

_PAST_OF_CHANGE: Final = word_set(
    "moved switched changed swapped bought sold got joined left started quit began became "
    "traded upgraded downgraded opened closed signed enrolled registered finished passed "
    "retired adopted landed accepted settled returned converted replaced dropped picked booked "
    "reached turned hit won earned renewed cancelled transferred gave ended stopped set made "
    "chose built installed planted founded launched published named called broke lost dyed shaved "
    "handed married divorced "
    "separated shifted "
    "ditched wiped put hired taken scrapped deleted binned cut halved doubled raised lowered "
    "reset downsized moved "
    "rejoined reopened migrated relocated swopped renamed deferred graduated qualified certified"
)
_CLAUSES = re.compile(
    r"(?:[,;:]|,? (?:and|but|so|because|since|though|although))\s+(?=(?:now |then )?(?:I\b|[Mm]y\b|"
    r"[Ww]e\b|[Oo]ur\b|[Ii]t\b|[Tt]he\b|[Tt]hey\b|[Hh]e\b|[Ss]he\b|[Tt]hat\b|[Tt]his\b))"
    r"|\s*[;:]\s+|,\s+(?!(?:the |an? |called |named )?(?!I\b)[A-Z][\w'-]+(?: "
    r"[A-Z\d][\w'-]*)*[.!]*$)"
    rf"|,? (?:and|then) (?:then |also |now |just )?(?=(?:{'|'.join(sorted(_PAST_OF_CHANGE))})\b)"
)
_PARTING: Final = (
    *(",", ";", ":", " and", " but", " so", " because", " since", " though", " although", " then"),
)
"""One of these stands in each match of ``_CLAUSES``."""

_LEAD = re.compile(
    r"(?:(?:and|so|but|then|now|also|yesterday|finally|recently|currently|these days|nowadays|"
    r"last (?:week|month|year)|(?:as of|from|since|after) (?:last |the |my |our )?\w+|well|anyway|"
    r"anyhow|so|still|"
    r"because|since),? )*",
    re.IGNORECASE,
)
_CHANGES: Final = (
    r"(?:moved|switched|put|transferred|given|gave|assigned|reassigned|promoted|bumped|upgraded|"
    r"downgraded|changed|shifted|relocated|enrolled|registered|booked|placed|raised|lowered|"
    r"increased|cut|reduced|dropped|renamed|issued|offered|allocated|appointed|elected|added|"
    r"signed|diagnosed|prescribed|extended|converted|swapped|replaced|reset|"
    r"set|rescheduled|merged|split|started|fitted|hired|sponsored|certified|crowned)"
)
_DONE_TO_ME = re.compile(
    rf"(?!(?:[Ii]t|[Tt]h(?:is|at)|[Ww]h\w+|[Tt]heir \w+)\b)[A-Za-z][\w'-]*(?: "
    rf"[\w'-]+){{0,4}}?(?:'ve|'s| have| has)?(?: now| just| finally)* "
    rf"(?P<verb>{_CHANGES}) (?P<value>(?:me|us|my|our)\b .+)",
)
_DOES_TO_ME = re.compile(
    r"(?!(?:[Ii]t|[Tt]h(?:is|at)|[Ww]h\w+|[Tt]hey|[Hh]e|[Ss]he|[Yy]ou)\b)[A-Za-z][\w'-]*(?: "
    r"[\w'-]+){0,4}? "
    r"(?:always |usually |just |really )?(?P<verb>gives? (?=me (?:\w+ ){0,3}(?:\w+aches?|"
    r"\w+itis|rash\w*|hives|migraines?|heartburn|cramps?|spots|eczema|asthma|nausea|reflux|wind|"
    r"indigestion|jitters|palpitations|insomnia|nightmares|blisters|reaction|itch\w*|burn|acne))|"
    r"brings? me out |sends? me to sleep |sets? off |triggers? |upsets? |disagrees? with |"
    r"irritates? |inflames? |aggravates? )(?P<value>(?:me|my)\b.*)"
)
"""What something does to its speaker whenever it is there: "wool gives me eczema"."""

_FOR_LONG = re.compile(r" (?:since|for (?:years|ages|\w+ (?:years|months)))\b")
_DONE = re.compile(
    r"(?:'ve| have| was| were| got|he's on|he's at) |"
    r"\b(?:gave|broke|lost|dyed|shaved|passed|handed|sold|closed) (?:my|our)\b|"
    r"^(?:Mum|Mom|Dad|Nan|Gran) "
)
_OF_DEEDS: Final = word_set(
    "ve have was were got he gave broke lost dyed shaved passed handed sold closed mum mom dad nan "
    "gran"
)
"""Words of which each match of ``_DONE`` has one, but for "she's on"."""

_I_HAVE_DONE = re.compile(
    r"(?:I|[Ww]e)(?:'ve| have)(?: just| now| finally| recently| also| since| officially)*"
    r" (?P<value>(?P<verb>[a-z]+(?:ed|n|t|ne|ept|old|ade|ent|ught|un|um|ut|ad))\b.+)"
)
_I_DO = re.compile(
    r"(?:I|[Ww]e)(?P<be>'m| am|'re| are)?(?: (?:just|now|also|still|mostly|usually|"
    r"mainly|always|only|really|currently|finally|actually|officially|recently|both|all|totally|"
    r"definitely|truly|absolutely|eventually|often|rarely))* "
    r"(?P<value>(?P<verb>[a-z][a-z-]*)\b.+)"
)
_SPOKEN_OF = re.compile(
    rf"\bmy (?:{'|'.join(sorted(KIN | PARTNERS | PETS))})\b|(?<=[a-z] "
    rf")(?!I\b)[A-Z][a-z]+\b(?!day\b)"
)
"""Somebody that a clause speaks of beside its speaker: "we took Mateo out of nursery"."""

_CAPITAL = re.compile(r"[A-Z](?<=[a-z] .)")
"""A capital with which a name may begin. Few clauses have one, and it is found quickly."""

_THEY_DO = re.compile(
    r"(?:[Ss]?[Hh]e|[Ii]t)(?P<is>'s| is)?(?: now| also| only)* (?P<value>(?(is)(?:at|in|on|with|"
    r"\w+ing|an?)|"
    r"(?:goes|attends|lives|works|eats|takes|plays|studies|weighs|needs|sleeps|drinks|has|uses|"
    r"speaks|"
    r"reacts|starts|trains|drives|teaches))\b .+)"
)
_BESIDE = re.compile(
    r"(?:an? |the )?(?!I\b)(?:(?:[A-Z][\w'-]*(?: [A-Z][\w'-]*)+|[A-Z]\w*-[A-Z]\w*|[a-z]+ "
    r"\d[\w/.-]*|"
    r"(?:the|an?) [A-Z][\w'-]*)|[a-z]+ [A-Z][\w'-]*)"
)
"""A name or number that stands alone behind a clause: "diabetic, type 2"."""

_OF_MINE = re.compile(
    r"(?:I|[Ww]e)(?: just| finally| recently)* (?:gave|broke|lost|dyed|shaved|named|passed|handed|"
    r"retired|sold|"
    r"renamed|closed|cancelled) (?:my|our) "
)
"""What one did to what is one's own: "I broke my wrist"."""

_OWN = re.compile(r"(?:[Mm]y|[Oo]ur) (?P<rest>.+)")
_ONESELF = re.compile(r"(?:I|[Ww]e)(?:'\w+)?(?!\w)")
_NO_ACTS: Final = (
    (NO_HABIT - _PAST_OF_CHANGE - word_set("keep go get take make pay meet run"))
    | NOT_A_HABIT
    | word_set(
        "thank love-hate been heard seen read thought felt wondered noticed tried watched "
        "spent talked forgotten forgot learned wanted needed decided considered known"
    )
)
_UNSTATED: Final = (
    NO_STATE
    | JUDGED
    | word_set(
        "here there back home away busy tired happy sad sorry glad trying looking thinking "
        "wondering "
        "going hoping planning feeling having getting being stuck lost confused ready sure at gone "
        "it that this them so very too really such no one all done out off up down"
    )
)
_PASSING: Final = _UNSTATED | ADJECTIVES
_NO_DEEDS: Final = _NO_ACTS | {"got"}
_NOT_OWN: Final = THOUGHTS | SEVERAL | WORKED
_VERB_END = re.compile(r"[a-z-]{2,}(?:[^s]s|es)$|[a-z]{2,}ed$")
_VERBS: Final = THING_VERBS | word_set(
    "has have became runs goes costs rose fell won left sold bought grew hit"
)
_BASES: Final = word_set(
    "go run live take use start finish meet come end open close cost weigh attend need work play "
    "eat drink stay sleep fly depart arrive study have wear ride drive read speak keep stand sit"
)
_PLURAL = re.compile(r"(?:[a-z]{2,}s|children|kids|parents|people|folks|in-laws|twins)$")
_AFTER_VERB: Final = (
    PREPOSITIONS | DETERMINERS | ADVERBS | PHRASAL | word_set("the about around two three")
) - word_set("but or , than so which who whom because if though although")
_POINTING: Final = word_set("it this that them these those him her")
MAX_NOUN_WORDS: Final = 5


def remaining(sentence: str, spoken: Collection[str]) -> Iterator[Assertion]:
    """What a plain sentence asserts of its speaker in whatever words, clause by clause.

    ``spoken`` are its words.
    """
    if not _is_told(sentence, spoken) and not _is_done(sentence, spoken):
        return
    assertions = [*_remaining(sentence)]
    if assertions and _NOT_OVERALL.search(sentence) is None:
        yield from assertions


def _remaining(sentence: str) -> Iterator[Assertion]:
    before, person = "", ""
    for clause in parted(sentence, _CLAUSES, _PARTING):
        lead = _LEAD.match(clause)
        text = clause[lead.end() :].rstrip(" .!") if lead else clause
        if lead and "ince " in lead[0] and "'ve had " in text:
            text = f"{text} since then"
        if text.partition(" ")[0] in _PAST_OF_CHANGE and _ONESELF.match(before):
            text = f"I {text}"
            meant = f"{before} {text}"  # "we nearly sold the boat and bought a camper"
        else:
            meant = text
        assertions = [*_of_clause(text), *_of_person(text, person)]
        is_beside = text.partition(" ")[0] not in _PAST_OF_CHANGE and _BESIDE.fullmatch(text)
        if not assertions and is_beside and (predicate := _predicate(before)):
            yield Assertion(SELF, "", f"{predicate}, {text}", "holds")
        if assertions and _UNMEANT.search(meant) is None:
            yield from assertions
        before, person = text, _person(text) or person


def _predicate(text: str) -> str:
    """What a clause says of its speaker or theirs, which a name or a number may complete."""
    is_own = _ONESELF.match(text) or _OWN.match(text)
    return text.partition(" ")[2] if is_own and not _UNMEANT.search(text) else ""


def _person(text: str) -> str:
    """Whom or what a clause about the speaker or theirs speaks of beside them."""
    if _ONESELF.match(text):
        may_be = "my " in text or _CAPITAL.search(text) is not None
        spoken_of = _SPOKEN_OF.search(text) if may_be else None
        return spoken_of[0] if spoken_of else ""
    own = _OWN.match(text)
    words = own["rest"].split() if own else []
    place = _verb_place(words) if words else 0
    return f"my {' '.join(words[:place])}" if place else ""


def _of_person(text: str, person: str) -> Iterator[Assertion]:
    """ "She goes to Colegio San Isidro", of whom the clause before speaks."""
    does = _THEY_DO.match(text) if person else None
    if does and (text[0] not in "iI" or is_telling(does["value"].split())):
        yield from _stated(does["value"], person)


def _is_done(sentence: str, spoken: Collection[str]) -> bool:
    may_be = not _OF_DEEDS.isdisjoint(spoken) or "he's " in sentence
    return may_be and _DONE.search(sentence) is not None


def _is_told(text: str, spoken: Collection[str] | None = None) -> bool:
    """Whether a text has a name, a number or a word that says how things are now.

    ``spoken`` are its words, if they are known.
    """
    if _MARK.search(text) is not None:
        return True
    spoken = words(text) if spoken is None else spoken
    return not _TELLING.isdisjoint(spoken) and _TOLD.search(text) is not None


def _of_clause(text: str) -> Iterator[Assertion]:
    if _ONESELF.match(text):
        yield from _of_self(text)
    elif own := _OWN.match(text):
        yield from _of_own(own["rest"].split())
    elif done := _done_to_me(text):
        yield from _stated(f"{done['verb'].strip()} {done['value']}")


def _done_to_me(text: str) -> re.Match[str] | None:
    if " me" not in text and " my " not in text and " us" not in text and " our " not in text:
        return None
    return (_DONE_TO_ME.match(text) if _is_told(text) else None) or _DOES_TO_ME.match(text)


def _of_self(text: str) -> Iterator[Assertion]:
    has = "'ve " in text or " have " in text
    done = _I_HAVE_DONE.match(text) if has else None
    if done:
        is_had = done["verb"] == "had" and _FOR_LONG.search(text) is not None
        is_had |= done["value"].startswith(("come off ", "come out of "))
        if is_had or done["verb"] not in _NO_ACTS:
            yield from _stated(done["value"])
        return
    acts = _I_DO.match(text) if _is_told(text) or _OF_MINE.match(text) else None
    if acts is None:
        return
    verb = acts["verb"]
    if acts["be"]:
        if verb not in _PASSING:
            yield from _stated(acts["value"])
    elif verb == "moved" and acts["value"].startswith("moved to "):
        return  # to a place, as the forms know, or to a tool
    elif verb == "do":
        if "".join(acts["value"].split()[1:2]).lower() in ARTICLES and "same" not in text:
            yield from _stated(acts["value"])
    elif verb in _PAST_OF_CHANGE or not (verb.endswith("ed") or verb in _NO_DEEDS):
        yield from _stated(acts["value"])


def _of_own(words: list[str]) -> Iterator[Assertion]:
    """ "My cat Olive now weighs 6.2 kilos": of "my cat Olive", that it weighs that."""
    place = _verb_place(words)
    noun = [word for word in words[:place] if word.lower() not in ADVERBS]
    if not noun or noun[-1].endswith("'s") or "I" in noun:
        return
    if {word.lower() for word in noun} & _NOT_OWN:
        return
    rest = words[place + 1 :]
    if rest and rest[0].lower() not in _UNSTATED:
        yield from _stated(" ".join(words[place:]), f"my {' '.join(noun)}")


def _verb_place(words: list[str]) -> int:
    """Where the verb stands whose subject is "my" and the words before it; 0 if nowhere."""
    places = range(1, min(len(words), MAX_NOUN_WORDS + 1))
    for place in places:
        word = words[place].lower()
        if word in ("but", "and", "or", "than", "who", "which", "that", "to"):
            return 0
        if word in ("is", "are") and _is_placed(words, place):
            return place
        if word in ("is", "are", "was", "were", "had") or word.endswith("'s"):
            return 0  # what something is or was is read elsewhere
        if word in _VERBS or (word in _PAST_OF_CHANGE and word not in _VERBS):
            return place
    for place in places:
        word, after = words[place], words[place + 1] if place + 1 < len(words) else ""
        goes_on = after.lower() in _AFTER_VERB or is_telling([after])
        if word.islower() and goes_on and _VERB_END.match(word) and word not in THOUGHTS:
            return place
        if word in _BASES and goes_on and _PLURAL.match(words[place - 1].lower()):
            return place
    return 0


def _is_placed(words: list[str], place: int) -> bool:
    """Whether "is" brings a name or a number behind a preposition: "is with Nationwide"."""
    rest = words[place + 1 : place + 4]
    leads = rest[:1] and rest[0].lower() in ("with", "by", "from", "at", "called", "through")
    return bool(leads) and is_telling(rest) and words[place - 1].lower() not in RIDES


_VALUE_END = re.compile(
    r"\s+(?:so|because|since|which|who|that|as|thanks|please|pls|btw|lol|haha)\b.*$"
    rf"|\s+(?:in|on|since|from) (?:{MONTH}|{DAY})\b.*$|\s+(?:last|this) \w+.*$"
)


def _stated(value: str, subject: str = SELF) -> Iterator[Assertion]:
    value = re.sub(r", (?:the |an? )?(?=[A-Z])", " , ", _VALUE_END.sub("", value))
    words = value.split()
    phrase = trimmed(words) if words else ""
    if (
        " " in phrase
        and phrase not in ("ended up", "got back", "set up")
        and (
            phrase.split()[1].lower().strip(",") not in _POINTING
            or ("," not in phrase and is_telling(phrase.split()[3:]))
        )
    ):
        yield Assertion(subject, "", phrase, "holds")
