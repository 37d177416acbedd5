"""Reads facts from plain English sentences without a language model: a table of forms. No I/O.

A sentence is cut into clauses, and a form must match a clause from its first word to its last. So
wishes, conditions and reports match no form. A missed fact costs a mark; a wrong one hides a truth.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from treering.records import Entry
from treering.views.facts.change import Sense, Statement, attribute_key, is_single, speaker_of

MAX_SENTENCE_CHARS: Final = 300

_VERBS: Final = (
    *("drink", "eat", "smoke", "play", "drive", "use", "speak"),
    *("study", "teach", "take", "watch", "wear", "own"),
)

_CAPITAL: Final = r"[a-z]?[A-Z][\w'’.&+-]*"
_NAME: Final = (
    rf"(?:(?:Dr|Mr|Mrs|Ms|Prof|St)\.? )?{_CAPITAL}"
    rf"(?: (?:(?:de|del|da|la|le|of|the|upon|am|&) ){{0,2}}(?:{_CAPITAL}|\d+\b))*"
)
_KIN: Final = (
    "(?:sister|brother|mother|father|mum|mom|dad|son|daughter|wife|husband|partner|girlfriend|"
    "boyfriend)"
)
_PRONOUN: Final = "(?:He|She|It|They|You|We|I|My|This|That|There|What|Who|Which|Everyone|Nobody)"
_WORDS: Final = r"[\w'’&.+-]+(?: [\w'’&.+-]+)"
_PIECES: Final = {
    "{I}": r"(?:I|i|[Ww]e)",
    "{did}": r"(?:(?:I|i|[Ww]e)(?:['’]ve| have)? )?(?:(?:just|finally|recently|now|also) )*",
    "{am}": r"(?:(?:I|i)(?:['’]m| am)|[Ww]e(?:['’]re| are))(?: now| currently)?",
    "{my}": r"(?:[Mm]y|[Oo]ur)(?: new| current)?",
    "{who}": rf"(?P<who>I|i|[Ww]e|[Mm]y {_KIN}|(?!{_PRONOUN}\b){_NAME})(?: {_CAPITAL})?"
    r"(?:['’]ve| have| has)?(?: now| just| finally| currently| still)*",
    "{kin}": r"(?P<who>[Mm]y [a-z][\w-]*)",
    "{slot}": r"(?P<attribute>(?!guess|error|name|\S+-in-law)[a-z][\w-]*"
    r"(?: (?!is\b|in\b|at\b|for\b)[a-z][\w-]*){0,2}?)(?: (?:in|at|for) [\w' ]{2,20})?",
    "{verb}": rf"(?:{'|'.join(_VERBS)})",
    "{verbing}": rf"(?:{'|'.join(v.removesuffix('e') + 'ing' for v in _VERBS)})",
    "{object}": rf"(?: {_WORDS}{{0,4}}?)?",
    "{Name}": rf"(?:the )?(?P<value>{_NAME})",
    "{number}": r"(?P<value>\d{1,3})",
    "{thing}": r"(?:my |the |an? )?(?!(?:it|that|this|them|you|to|on|in|at|for|of|now|no|not)\b)"
    rf"(?P<value>{_WORDS}{{0,4}}?)",
    "{some}": rf"(?!(?:it|that|this|them|you|to|how|when|your)\b)(?P<value>{_WORDS}{{0,2}}?)",
    "{exact}": rf"(?:an? |the |with )?(?P<value>{_NAME}|[^\s@]+@[^\s@]+\w|[£$€#+(]?\d[^\s,;]*"
    r"(?: (?!now\b|any\b)[\w.:/%£$€-]+){0,3}?)",
    "{things}": rf"{_WORDS}{{0,7}}?",
    "{from}": rf"from {_WORDS}{{0,4}}",
}
"""Pieces of patterns by name. The groups `who`, `attribute` and `value` make the statement."""


@dataclass(frozen=True, slots=True)
class Form:
    """One form of a clause, with an example that it reads and a text that it must not read.

    A clause must have one of the ``cues``, words in lower case. Where ``attribute`` is empty, the
    clause names it. ``value`` is the value that the example gives.
    """

    attribute: str
    sense: Sense
    cues: str
    pattern: str
    example: str
    value: str
    counter: str


FORMS: Final = (
    Form("home", "holds", "live lives living based home",
         r"(?:{who} lives?|{am} (?:living|based)|{my} home is) in {Name}",
         "I live in Porto now.", "Porto", "I live in hope."),
    Form("home", "holds", "moved relocated",
         r"(?:{who} |{did})(?:[Rr]elocated|[Mm]oved (?:house|home|flat|here))(?: back| {from})?"
         r" to {Name}",
         "We finally relocated to Bergen.", "Bergen", "We moved to Slack."),
    Form("home", "ended", "live",
         r"{I} (?:no longer|(?:do not|don['’]?t)(?=.* any ?more)) live in {Name}",
         "I no longer live in Graz.", "Graz", "They no longer live in Graz."),
    Form("home", "planned", "relocate relocating house live",
         r"{am} (?:going to (?:relocate to|live in)|relocating to|moving house to) {Name}",
         "We're relocating to Lisbon.", "Lisbon", "We're moving to Kubernetes."),
    Form("employer", "holds", "work works", r"{who} works? (?:at|for) {Name}",
         "I work at Bosch.", "Bosch", "I work at home today."),
    Form("employer", "holds", "joined job",
         r"{did}(?:(?:[Ll]eft|[Qq]uit) {things} and joined(?: an? [\w -]+ called)?|"
         r"(?:[Ss]tarted|[Gg]ot) (?:a|my) (?:new )?job (?:at|with)) {Name}",
         "I left Siemens and joined Bosch.", "Bosch", "They left Sky and joined Virgin."),
    Form("employer", "ended", "quit left resigned longer", r"(?:{who} no longer works? (?:at|for)|"
         r"{did}(?:quit|left|resigned from) {my} (?:job|post) (?:at|with)) {Name}",
         "I no longer work at Google.", "Google", "I left Amazon a bad review."),
    Form("job", "holds", "work works", r"{who} works? as an? {thing}",
         "I now work as a teacher.", "teacher", "The plan works as it should."),
    Form("name", "holds", "name called",
         r"(?:[Mm]y name(?:['’]s| is)|{kin}(?:['’]s name is|(?:['’]s| is) called)) {Name}",
         "My cat is called Miu.", "Miu", "My cat is called every morning."),
    Form("age", "holds", "i'm i’m am turned", r"(?:{am}|{did}turned) {number}(?: years old)?",
         "I'm 31 years old.", "31", "I'm 5 minutes away."),
    Form("diet", "holds", "vegan vegetarian pescatarian",
         r"{am} (?:an? )?(?P<value>vegan|vegetarian|pescatarian)",
         "I am a vegetarian.", "vegetarian", "My brother is not vegetarian."),
    Form("diet", "ended", "vegan vegetarian pescatarian",
         r"{am} (?:no longer|not) (?:an? )?(?P<value>vegan|vegetarian|pescatarian)",
         "I'm no longer vegetarian.", "vegetarian", "The cake is no longer vegan."),
    Form("allergy", "holds", "allergic", r"{am} allergic to {thing}",
         "I'm allergic to penicillin.", "penicillin", "My cat is allergic to work."),
    Form("relationship", "holds", "single married divorced engaged widowed",
         r"(?:{am}|{did}got) (?P<value>single|married|divorced|engaged|widowed)(?! in)",
         "I got married!", "married", "My sister is single."),
    Form("", "holds", "favourite favorite",
         r"{my} (?P<attribute>favou?rite colou?r)(?:['’]s| is)(?: now)? {thing}",
         "My favourite colour is blue.", "blue", "My favourite book is now overdue."),
    Form("", "holds", "my our", r"{my} {slot}(?:['’]s| is| are)(?: now)?(?: on| called)? {exact}",
         "My dentist is now Dr. Falk.", "Dr. Falk", "My PR is now merged."),
    Form("", "holds", "changed moved", r"{my} {slot}(?:(?: has)? changed|"
         r" (?:was|got|has been) (?:changed|moved))(?: {from})? to {exact}",
         "My interview was moved to 4 May.", "4 May", "My thesis topic changed to nonsense."),
    Form("", "holds", "changed switched moved",
         r"{did}(?:changed|switched|moved) {my} {slot}(?: {from})? to {exact}",
         "I changed my locker code to 9920.", "9920", "I changed my mind."),
    Form("has", "holds", "sold", r"{did}[Ss]old {things} and (?:bought|got) {thing}",
         "I sold the Skoda and bought a Fiat.", "Fiat", "He sold the Skoda and bought a Fiat."),
    Form("likes", "holds", "like love prefer likes loves prefers",
         r"(?:{I} (?:like|love|prefer)|{who} (?:likes|loves|prefers)) {some}",
         "Ana likes green tea.", "green tea", "It looks like rain."),
    Form("likes", "ended", "more anymore",
         r"{I} (?:do not|don['’]?t) (?:like|love) {thing} any ?more",
         "I don't like river 7 any more.", "river 7", "I don't like rivers."),
    Form("habit", "holds", " ".join(_VERBS), r"{I} (?P<value>{verb}{object})",
         "I play tennis every Sunday.", "play tennis", "We could play tennis."),
    Form("habit", "ended", "longer", r"{I} no longer (?P<value>[a-z]+{object})",
         "I no longer eat meat.", "eat meat", "No longer than that."),
    Form("habit", "ended", "more anymore longer", r"(?:{I} )?(?:[Dd]o not|[Dd]on['’]?t) "
         r"(?P<value>(?!know|feel|think|care|mind)[a-z]+{object}) any ?(?:more|longer)",
         "I don't drink coffee any more.", "drink coffee", "I don't eat any more cake."),
    Form("habit", "ended", "stopped quit gave",
         r"(?!.* (?:at|to|for|during) ){did}(?:stopped|quit|gave up) (?P<value>{verbing}{object})",
         "I stopped drinking coffee.", "drinking coffee", "I stopped eating at noon to play."),
    Form("", "holds", "of",
         rf"[Tt]he (?P<attribute>[a-z]+(?: [a-z]+)?) of (?P<who>{_NAME}) is {{Name}}",
         "The capital of Australia is Canberra.", "Canberra", "The end of the day is near."),
)  # fmt: skip
"""The first form that matches a clause counts."""

_TAIL: Final = (
    r"(?:,? (?:now|again|instead|already|today|yesterday|too|as well|these days|nowadays|at last|"
    r"any ?more|fyi|btw|(?:last|every) [A-Za-z]+|"
    r"(?:in|on|at|over|near|by|beside|as|with|after|from|since|for (?:my|our|an?)|because|cos)\b.*"
    r"))*[.!\s]*"
)
"""Words after a value that change nothing about it."""

_OPENER = re.compile(
    r"(?:[\w'’]+ ){0,3}(?:update|correction|news|thing|note|reminder|fyi|ps|info)[:,]\s+|"
    r"(?:(?:hi|hey|hello|oh|ok|okay|so|well|and|but|btw|by the way|actually|also|anyway|now|"
    r"guess what|heads up|just so you (?:know|have it)|for your (?:records|information)|no|yes|"
    r"sorry)\b[\s,.:!-]+)*",
    re.IGNORECASE,
)
_TITLED = "|".join(rf"(?<=\b{title})" for title in ("Dr", "Mr", "Mrs", "Ms", "Prof", "St"))
_SENTENCE = re.compile(rf"(?:[^.!?\n]|\.(?=\w)|(?:{_TITLED})\.(?= [A-Z]))+[.!?]*")
_PART = re.compile(
    r"[,;]\s+|\s+[–—-]\s+|\s+(?:and|but|so|because|since|which|where|who|though|although|while)\s+"
    r"(?=(?:now |then )?(?:I|i|we|my|our|it|the|he|she|they|work|like|love|have|am|play)\b)"
)
"""Where one clause ends and the next begins, with a subject of its own."""

_NOT_OWN = re.compile(
    r"[\"“”„«»]|\b(?:translat|draft|rewrite|rephrase|proofread|role.?play|pretend|imagin|poem|"
    r"lyric|song|novel|fiction|character|dialogue|how do (?:you|i) say|write (?:me|a|an|us)|"
    r"sentence|joke|kidding|story|script|knock knock|(?:that|this) line|act as|advert|headline)",
    re.IGNORECASE,
)
"""Signs of a text that is not its writer's own statement: quoted, played, or to be worked on."""

_UNSURE = re.compile(
    r"\b(?:if|whether|would|could|might|(?-i:may)|should|wish\w*|hop(?:e|ing)|want\w*|suppos\w+|"
    r"assum\w+|maybe|perhaps|probably|almost|nearly|think|thought|believe\w*|say|says|said|tells?|"
    r"told|asked|claims?|lol|haha|guess(?! what)|goes|dream\w*|never|when|once|until|unless|"
    r"temporarily|for (?:now|a while|the \w+)|in (?:19|20)\d\d|back in|used to|not true)\b|"
    r"['’](?:d|ll)\b",
    re.IGNORECASE,
)
"""Words that make a sentence a wish, a report, a condition, or the past."""

_CHANGE = re.compile(
    r"\b(?:now|new|moved|changed|switched|joined|these days|nowadays)\b|^The", re.I
)
"""Words that say that a value replaces others: "my boss is now", "the author of … is"."""

_WORD = re.compile(r"[\w'’]+")


def read_forms(entry: Entry) -> list[Statement]:
    """Return the statements that forms find in an entry's text, in their order."""
    text, speaker = entry.text, speaker_of(entry)
    if _words_of(text).isdisjoint(_CUES) or _NOT_OWN.search(text):
        return []
    found = (_match(text[start:stop], start, speaker) for start, stop in _clauses(text))
    return [statement for statement in found if statement is not None]


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    """The spans of the clauses of sentences that assert something, without openers."""
    for sentence in _SENTENCE.finditer(text):
        said, (begin, end) = sentence[0], sentence.span()
        if said.endswith("?") or len(said) > MAX_SENTENCE_CHARS or _UNSURE.search(said):
            continue
        lead, colon, _ = said.partition(": ")
        if colon and not _OPENER.fullmatch(f"{lead.lstrip()}: "):
            continue  # "A customer wrote: my address is …"
        for cut in (*(part.span() for part in _PART.finditer(text, begin, end)), (end, end)):
            clause = text[begin : cut[0]]
            said = _OPENER.sub("", clause.lstrip(), count=1)
            if said.strip():
                yield begin + len(clause) - len(said), begin + len(clause.rstrip())
            begin = cut[1]


def _match(clause: str, start: int, speaker: str) -> Statement | None:
    places = sorted({place for cue in _words_of(clause) & _CUES for place in _BY_CUE[cue]})
    for place in places:
        form, match = FORMS[place], _compile(place).fullmatch(clause)
        if match is None:
            continue
        groups = match.groupdict()
        attribute = attribute_key(form.attribute or groups["attribute"])
        is_change = form.sense == "holds" and _CHANGE.search(clause) is not None
        replaces = is_change and form.attribute not in ("allergy", "habit", "likes")
        subject, value = _subject(groups.get("who") or "I", speaker), groups["value"].rstrip(".")
        single = replaces or is_single(attribute)
        stop = start + len(clause)
        return Statement(subject, attribute, value, form.sense, start, stop, single, speaker)
    return None


def _subject(who: str, speaker: str) -> str:
    """A subject in lower case: the speaker for "I", "ana's sister" for Ana's "my sister"."""
    who = who.casefold()
    if who in ("i", "we"):
        return speaker
    return f"{speaker}'s {who[3:]}" if who.startswith("my ") else who


def _words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


@cache
def _compile(place: int) -> re.Pattern[str]:
    """A form's pattern with its pieces, compiled when a clause first has one of its cues."""
    pattern = FORMS[place].pattern
    for name, piece in _PIECES.items():
        pattern = pattern.replace(name, piece)
    return re.compile(pattern + _TAIL)


_BY_CUE: Final = {
    cue: [place for place, form in enumerate(FORMS) if cue in form.cues.split()]
    for cue in " ".join(form.cues for form in FORMS).split()
}
_CUES: Final = frozenset(_BY_CUE)
