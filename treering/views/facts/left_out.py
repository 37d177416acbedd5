"""Puts in the subject that people leave out when they type: "sold the Corsa". No I/O."""

from __future__ import annotations

import re
from typing import Final

from treering.views.facts.tokens import telling
from treering.views.facts.verbs import CHOICE_NOUNS, KIN, PETS, ROLES, THINGS, word_set

_DROPPED = re.compile(
    r"^(?=(?:(?:just|finally|recently|officially|no longer|never) )*(?:sold|bought|switched|"
    r"swapped|traded|moved|gave up|given up|got|gone|went|quit|stopped|started|joined|left|turned|"
    r"dropped|changed|replaced|retired|adopted|became|become|took up|taken up|picked up|ditched|"
    r"cancelled|canceled|relocated|exchanged|upgraded|used to|learning|living in|working (?:at|for|"
    r"as)|studying|resigned|no longer \w+|lost my|enrolled|signed up|broke up|split up|began|"
    r"begun|finished|completed|ended up|closed on|took|"
    r"haven't (?:\w+ed|eaten|drunk|had|driven|worn|flown)(?=.* since )|"
    r"had (?:the|my|an?|our)(?! (?:lovely|great|good|nice|bad|rough|blast|fun|chat|look|thought|"
    r"time))|"
    r"renewed|declared|enlisted|hung up|inherited|rescued|welcomed|downsized|"
    r"signed (?:up|with|for)|passed|chose|opted|went|"
    r"downgraded|handed in|landed|accepted|settled)\b"
    r"|(?:don't|do not) (?!forget|worry|ask|tell|call|use|send|put|give|let|say|be)\w+"
    r"(?=.*\b(?:any ?more|any longer|these days|nowadays)\b))",
    re.IGNORECASE,
)
"""A sentence that begins with what its speaker did."""

_NOUNS: Final = (ROLES | KIN | CHOICE_NOUNS | THINGS | PETS) - {
    "breakfast", "name", "kids", "children", "parents", "in-laws", "friend", "mate"
}  # fmt: skip
NOTED = "|".join(sorted(_NOUNS))
NOTED += "|wedding|standup|exam|interview|surgery|operation|course|commute|rent|internet"
NOTED += "|electricity|(?:bin|wash|pay) day"
NOTED += (
    r"|[a-z]+ (?:practice|club|class|group|training|rehearsal|meeting|code|day)"
    r"|favou?rite [a-z]+|preferred [a-z]+|usual [a-z]+"
)

_OF_THE_WORLD = (
    r"(?:unemployment|inflation|version|score|loading|progress|kick-?off|bitcoin|ethereum|petrol|"
    r"diesel|gas|oil|gold|(?:minimum|living|average) \w+|(?:interest|base|exchange|"
    r"mortgage) rates?|(?:state )?pension age|retirement age|vat|population|"
    r"(?:font|file|page|sample|batch|image) size|(?:page|word|line|head) count) "
    r"(?:is|are|was|has|have|had|went|changed|rose|fell|now)"
)
"""What is everybody's, or a text's, where nobody calls it their own."""

_DROPPED_MY = re.compile(
    r"^(?!(?:my|our|the|an?|his|her|your|their|its|this|that|these|those|every|each|no|some) )"
    rf"(?!{_OF_THE_WORLD})(?=(?:new )?(?:[a-z-]+ )??(?:{NOTED})(?: at (?:home|work))?"
    r"(?: is\b| are\b|'s\b| used to be\b| changed\b|"
    r" has\b| was changed| moved\b| now\b| got\b| goes\b| lives\b|"
    r" works\b| started\b| died\b| passed\b| turned\b))",
    re.IGNORECASE,
)
"""A note about something of the speaker's: "Dentist is Dr Wu as of this week"."""

_BEEN = re.compile(
    r"^(?=been (?:moved|transferred|promoted|switched|changed|bumped) "
    r"|been (?:\w+ly )?(?:\w+ing|on|in|at|with) "
    r".*\b(?:since (?!our last|we )|years?\b|months\b|ages\b))",
    re.IGNORECASE,
)
_STATE = re.compile(
    r"^(?=(?:(?:vegan|vegetarian|pescatarian|single|married|engaged|divorced|separated|widowed|"
    r"retired|pregnant|sober|self-employed|unemployed|left-handed|colou?r-?blind|coeliac|celiac|"
    r"dyslexic|autistic|epileptic|"
    r"asthmatic|teetotal)"
    r"(?: now| again| since| for good| to| as of| last|[.,!]|$)|"
    r"(?:allergic|addicted|married|engaged|related|based|employed|registered|enrolled|subscribed|"
    r"diabetic|afraid|scared|used|deaf|blind) (?:to|in|at|by|with|of|on)\b|"
    r"(?:living|working|learning|studying|training|teaching|playing|driving|riding|renting|dating|"
    r"seeing|taking|wearing|drinking|eating|growing|keeping|running|volunteering|commuting|saving|"
    r"sharing|reading|writing) "
    r"(?!.* (?:is|are|was|makes?|means|helps?|seems|feels|can|would|has)\b)))",
    re.IGNORECASE,
)
"""A note of what its speaker is or does: "allergic to nuts", "learning the cello"."""

_HABIT = re.compile(
    r"^(?=(?:(?:still|now|also|only|always|usually|mostly|literally|totally|absolutely|really|"
    r"genuinely|honestly|secretly|kinda|lowkey|just|don't|do not|can't|cannot|haven't) )*"
    r"(?:have|love|hate|adore|dislike|detest|support|prefer|speak|live|work|drive|own|"
    r"teach|study|drink|eat|commute|belong|"
    r"volunteer|smoked?|stand) (?!me\b|it\b|up\b))",
    re.IGNORECASE,
)
_NEW = re.compile(r"^new (?P<thing>[a-z]+(?: [a-z]+)?) (?P<where>at|in|with|on) ", re.IGNORECASE)
_NEW_ALONE = re.compile(
    r"^(?:(?:I've )?got )?(?:an? |my )?new (?P<what>[a-z-]+(?: [a-z-]+)?)(?=[.! ]*$)", re.IGNORECASE
)
"""A heading of what comes next: "new gamertag!! its MossyKettle88"."""

_NOTE_OF_NOW = re.compile(
    r"^(?=(?!(?:i|you|he|she|it|we|they|this|that|these|those|there|here|who|what|which|when|where|"
    r"how|why|the|an?|my|our|your|his|her|its|their|some|any|every|each|no|all|everything|everyone|"
    rf"nothing|someone|people|now|so|if|as|half|most|many|both|one|two|{_OF_THE_WORLD})\b)"
    r"(?:\d+[ -]?)?[a-z][a-z-]+(?: (?!(?:is|"
    r"are|has|have|now|the|of|an?|my|our|to|and)\b)[a-z-]+){0,2}? "
    r"(?:(?:is|are) (?:officially |actually )?now|now (?:is|are)|(?:has |have )?(?:just |now |"
    r"been )*"
    r"(?:changed|switched|moved|increased|gone up|gone down|went up|went down|renamed)"
    r"(?: from [^,.]{1,30}?)? to)(?: (?:on|at|in|the|an?|every|valid|good|due|set|fixed|booked|"
    r"paid|until|till|to|for|from))*"
    r" (?:(?-i:[A-Z])|\S*\d)"
    r"|(?!(?:i|you|he|she|it|we|they|this|that|these|those|there|here|who|what|the|an?|my|our|"
    r"your|his|"
    r"her|its|their|some|any|every|each|no|all)\b)(?-i:[a-z])[a-z-]+(?: [a-z-]+)? (?:is|are)"
    r"(?: (?:on|at|in|with|the))* (?:(?-i:[A-Z])[\w'-]+|\S*\d\S*)(?: [\w:'-]+){0,3} "
    r"(?:now|these days|from now on)\b)",
    re.IGNORECASE,
)
"""A note of what has changed, whosever it is: "office days changed to Tuesday"."""

_NAMED_TWICE = re.compile(r"^(my [a-z]+), (?:she|he|it|they) (?=is|'s|has|are)", re.IGNORECASE)
_DONE_TO = re.compile(
    r"^(?=(?:promoted|diagnosed|transferred|reassigned|relocated|accepted) (?:to|with|into|as)\b)",
    re.IGNORECASE,
)
_NO_MORE = re.compile(r"^(?:no more (?P<habit>[\w' -]+?) for (?:me|us))(?=[.!]|$)", re.IGNORECASE)
_DROPPED_BE = re.compile(
    r"^(?=(?:now|currently|officially|lowkey|back|not|no longer)(?: (?:at|in|with|on|\w+ing|a|"
    r"an|the)\b)(?! (?:at|in|with|on) \d+(?:[:.]\d+)?(?: |$))(?!.*, (?:I|we)\b))",
    re.IGNORECASE,
)

_SUBJECTS = word_set(
    "I I'm I've I'd I'll We We're We've You You're It It's That That's This The He She They There "
    "We'll We'd You'll You've You'd It'll That'll They're They've They'll He's She's There's "
    "Here's "
    "What What's How How's Who When Where Why If Your His Her Their These Those Let's Let Thanks "
    "Wow Glad Sounds Sure Great Good Congrats Maybe A An Any Some Every Each Nothing Something "
    "Everything Can Could Would Should Did Does Is Are Was Were Will Who's It'd Hope Hoping Cool "
    "Awesome Nice Absolutely Definitely Totally Yay Hmm Please Looks Looking Very Even"
)
"""First words of most sentences that leave out no subject."""

NOTED_WORDS: Final = telling(_NOUNS) | word_set(
    "wedding standup exam interview surgery operation course commute rent internet electricity "
    "practice club class group training rehearsal meeting code day favourite favorite preferred "
    "usual name mam da"
)
"""Words of which each match of ``NOTED`` has one."""


def _at_start(pattern: re.Pattern[str], template: str, text: str) -> str:
    """``pattern.sub(template, text)`` for a pattern that begins with ``^``, tried there alone."""
    match = pattern.match(text)
    return text if match is None else match.expand(template) + text[match.end() :]


_LEFT_OUT: Final = (
    # In this order: what one puts in, the next ones see.
    (_STATE, "I'm "),
    (_DONE_TO, "I was "),
    (_BEEN, "I've "),
    (_DROPPED, "I "),
    (_DROPPED_BE, "I'm "),
    (_NAMED_TWICE, r"\1 "),
    (_DROPPED_MY, "My "),
    (_HABIT, "I "),
    (_NEW, r"My new \g<thing> is \g<where> "),
    (_NEW_ALONE, r"My \g<what> has changed"),
    (_NO_MORE, r"I quit \g<habit>"),
)


_WORD = re.compile(r"\w+")
_FIRST_WITHOUT: Final = word_set(
    "vegan vegetarian pescatarian single married engaged divorced separated widowed retired "
    "pregnant sober self unemployed left color colour colorblind colourblind coeliac celiac "
    "dyslexic autistic epileptic asthmatic teetotal allergic addicted related based employed "
    "registered enrolled subscribed diabetic afraid scared used deaf blind living working learning "
    "studying training teaching playing driving riding renting dating seeing taking wearing "
    "drinking eating growing keeping running volunteering commuting saving sharing reading writing "
    "promoted diagnosed transferred reassigned relocated accepted been just finally recently "
    "officially no never sold bought switched swapped traded moved gave given got gone went quit "
    "stopped started joined turned dropped changed replaced adopted became become took taken "
    "picked ditched cancelled canceled exchanged upgraded resigned lost signed broke split began "
    "begun finished completed ended closed haven had renewed declared enlisted hung inherited "
    "rescued welcomed downsized passed chose opted downgraded handed landed settled don do now "
    "currently lowkey back not my still also only always usually mostly literally totally "
    "absolutely really genuinely honestly secretly kinda can cannot have love hate adore dislike "
    "detest support prefer speak live work drive own teach study drink eat commute belong "
    "volunteer smoke smoked stand new i a an"
)
"""First words of which each match of ``_LEAVES_OUT`` has one, but for notes of what is "my"."""

_OF_NOTES: Final = word_set(
    "is are s used changed has was moved now got goes lives works started died passed turned"
)
"""What such notes go on with."""

LEAVING_OUT: Final = NOTED_WORDS | _FIRST_WITHOUT | word_set("now days to")
"""Words of which a sentence has one that leaves out its subject."""

_BEING: Final = word_set("is are")
_CHANGED: Final = word_set("changed switched moved increased gone went renamed")
"""Each match of ``_NOTE_OF_NOW`` has one of these, and "now", "days" or "to"."""

_BUT_NOTES: Final = tuple(row for row in _LEFT_OUT if row[0] is not _DROPPED_MY)
"""For a sentence without ``NOTED_WORDS``. Of all, the one that is left out here takes longest."""

_LEAVES_OUT, _LEAVES_OUT_BUT_NOTES = (
    re.compile("|".join(pattern.pattern for pattern, _ in rows), re.IGNORECASE)
    for rows in (_LEFT_OUT, _BUT_NOTES)
)


def with_subject(text: str, spoken: frozenset[str]) -> str:
    """A sentence with the subject that its writer left out, if any. ``spoken`` are its words."""
    if not may_leave_out(text, spoken):
        return text
    is_noted = not NOTED_WORDS.isdisjoint(spoken)
    if (_LEAVES_OUT if is_noted else _LEAVES_OUT_BUT_NOTES).match(text) is None:
        is_small = " now" in text or " days" in text or " to " in text
        is_note = is_small and _may_be_note(spoken) and _NOTE_OF_NOW.match(text)
        return f"My {_small(text)}" if is_note else text
    text = _small(text)
    for pattern, template in _LEFT_OUT if is_noted else _BUT_NOTES:
        text = _at_start(pattern, template, text)
    return text


def _small(text: str) -> str:
    """A text that begins the sentence no more."""
    return text[0].lower() + text[1:] if text[1:2].islower() else text


def may_leave_out(text: str, spoken: frozenset[str]) -> bool:
    """Whether a sentence has words of those that leave out their subject, as few have."""
    if text.partition(" ")[0] in _SUBJECTS:
        return False
    first = _WORD.match(text)
    if first is not None and first[0].lower() in _FIRST_WITHOUT:
        return True
    is_of_own = not (NOTED_WORDS.isdisjoint(spoken) or _OF_NOTES.isdisjoint(spoken))
    return is_of_own or _may_be_note(spoken) or not text.isascii()


def _may_be_note(spoken: frozenset[str]) -> bool:
    if not _BEING.isdisjoint(spoken) and ("now" in spoken or "days" in spoken):
        return True
    return "to" in spoken and not _CHANGED.isdisjoint(spoken)
