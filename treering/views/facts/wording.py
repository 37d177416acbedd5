"""Brings informal English into the plain wording that forms and clauses are read by. No I/O.

"sold the corsa, im at ocado now" is "I sold the Corsa, I'm at Ocado now" to a reader. What is put
right here is what people leave out when they type: the subject, apostrophes, capitals.
"""

from __future__ import annotations

import re
from typing import Final

from treering.views.facts.framing import FRAMING_WORDS, tidied, unframed, without_openers
from treering.views.facts.paraphrases import HINTS, paraphrased
from treering.views.facts.tokens import has_any, telling, words
from treering.views.facts.verbs import (
    CHOICE_NOUNS,
    KIN,
    NO_VALUES,
    PARTNERS,
    PETS,
    ROLES,
    THINGS,
    word_set,
)

_CONTRACTED: Final = {
    "im": "I'm",
    "ive": "I've",
    "id": "I'd",
    "ill": "I'll",
    "i": "I",
    "i'm": "I'm",
    "i've": "I've",
    "i'd": "I'd",
    "i'll": "I'll",
    "dont": "don't",
    "doesnt": "doesn't",
    "cant": "can't",
    "isnt": "isn't",
    "wont": "won't",
    "weve": "we've",
    "thats": "that's",
    "cos": "because",
    "cuz": "because",
    "cause": "because",
    "bc": "because",
    "u": "you",
    "n": "and",
    "w": "with",
    "hes": "he's",
    "shes": "she's",
    "theyre": "they're",
    "fav": "favourite",
    "fave": "favourite",
    "bday": "birthday",
    "gf": "girlfriend",
    "bf": "boyfriend",
    "arent": "aren't",
    "wasnt": "wasn't",
    "havent": "haven't",
    "didnt": "didn't",
}
_ALWAYS = re.compile(
    r"(?<![\w@.'-])(?:i|i'(?:m|ve|d|ll)|[Ii]m|[Ii]ve|(?:[Dd]o|[Dd]oes|[Cc]a|[Ii]s|[Ww]o|[Aa]re|"
    r"[Ww]as|"
    r"[Hh]ave|[Dd]id)nt|[Ww]eve|[Tt]hats|[Hh]es|[Ss]hes|[Tt]heyre)(?![\w@'-]|\.\w)"
)
_TYPED = re.compile(
    rf"(?<![\w@.'’-])(?:{'|'.join(sorted(_CONTRACTED, key=len, reverse=True))})(?![\w@'’-]|\.\w)"
)
_UNMARKED = re.compile(
    r"(?:(?<=\bnow it)|(?<=\bdays it)|(?<=\bbut it)|(?<=\bso it)|(?<=, it)|(?<=^it)(?=s (?:[A-Z]|"
    r"\S*\d|now\b|called\b))|(?<=\bhis name)|"
    r"(?<=\bher name)|(?<=\bmy name))(?=s\b)"
)
"""Where an apostrophe is left out: "now its Fontaines", "her names Priya"."""

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

_NOTED_NOUNS: Final = (ROLES | KIN | CHOICE_NOUNS | THINGS | PETS) - {
    "breakfast", "name", "kids", "children", "parents", "in-laws", "friend", "mate"
}  # fmt: skip
_NOTED = "|".join(sorted(_NOTED_NOUNS))
_NOTED += "|wedding|standup|exam|interview|surgery|operation|course|commute|rent|internet"
_NOTED += "|electricity|(?:bin|wash|pay) day"
_NOTED += (
    r"|[a-z]+ (?:practice|club|class|group|training|rehearsal|meeting|code|day)"
    r"|favou?rite [a-z]+|preferred [a-z]+|usual [a-z]+"
)
_IS_MINE = re.compile(r"^(?P<who>[A-Z][\w-]+)'s (?=(?:my|our) (?!own\b))")
"""A name that is short for "is": "Lucy's my manager now"."""

_ME = re.compile(rf"\bme (?=(?:new |old )?(?:favou?rite|name|mam|da|{_NOTED})\b)", re.IGNORECASE)
"""Where "me" is written for "my": "me favourite biscuit"."""

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
    rf"(?!{_OF_THE_WORLD})(?=(?:new )?(?:[a-z-]+ )??(?:{_NOTED})(?: at (?:home|work))?"
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

_RUN_ON = re.compile(
    r"(?<=\w)(?P<end> (?:any ?more|any longer|again|lately|now|these days)) "
    r"(?=(?:I'm|I am|I've|we're|we've|now I)\b)"
)
"""Where a sentence goes on without a comma: "not at Google any more I'm at Stripe"."""

_NAMED_TWICE = re.compile(r"^(my [a-z]+), (?:she|he|it|they) (?=is|'s|has|are)", re.IGNORECASE)
_NAMED_BESIDE = re.compile(
    rf"\b(?P<who>(?:my|our) (?:[a-z]+ )?(?:{'|'.join(sorted(ROLES | KIN | PETS | PARTNERS))})), "
    r"(?P<name>(?:(?-i:Dr|Mr|Mrs|Ms) )?(?-i:[A-Z])[\w'-]+(?: (?-i:[A-Z])[\w'-]+)?), "
    r"(?!(?:who|whom|which|and|is)\b(?<!is))(?=[a-z'])",
    re.IGNORECASE,
)
"""A name between commas: "My partner, Sasha, is vegan"."""

_DONE_TO = re.compile(
    r"^(?=(?:promoted|diagnosed|transferred|reassigned|relocated|accepted) (?:to|with|into|as)\b)",
    re.IGNORECASE,
)
_HAD_TO = re.compile(r"\bhad to (?P<verb>give up|stop|quit|sell|leave|let)\b", re.IGNORECASE)
_DID = {"give up": "gave up", "stop": "stopped", "sell": "sold", "leave": "left"}
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

_NO_NAME = word_set(
    "bus train tram car bike bicycle foot boat plane taxi mail post email phone work home bed "
    "school uni university college hospital church town court class jail prison love fear hope "
    "debt peace style trouble pain tears bits time fact case general private public order person "
    "bulk cash advance common particular total touch charge need sync sales marketing engineering "
    "support finance product design research legal operations hr it slack teams zoom discord "
    "notion jira github gitlab spotify gmail outlook linux ubuntu windows mac android ios python "
    "rust java kotlin typescript javascript react postgres mysql sqlite kubernetes docker aws "
    "azure figma linear asana trello signal whatsapp telegram firefox chrome vim emacs obsidian "
    "evernote go swift plan phase stage chapter part level version night nights weekends weekend "
    "lunch dinner breakfast tea coffee first last least most best worst once all both free ease "
    "risk rest sea noon midnight dawn dusk half january february march april may june july august "
    "september october november december spring summer autumn winter fall monday tuesday "
    "wednesday thursday friday saturday sunday today tomorrow yesterday next this that these "
    "those here there now then me you him her us them i we he she they my our your his its their "
    "is are was were the a an some any no one two three four five six seven eight nine ten eleven "
    "twelve good bad better being doing going getting having and or but not never just so as if "
    "of on in at to from by with for about over up down off out back again more less full please "
    "ever what which who where when how why people everyone someone anyone nothing something "
    "everything anything friends family mum mom dad work. remote home-office meat fish dairy "
    "gluten new old another other each every several many few lots stuff things fun luck health "
    "stress kids sleep bread politics money music software code science art history law"
)
"""Words after a preposition that are no names, though they have no article."""

_OF_PLACES = word_set(
    "live lives living based moved relocated back work works working worked job settled employed "
    "am i'm we're are over born grew position role shift switched started starting apprenticeship "
    "studying masters degree studied graduated renting"
)
"""Words after which a preposition brings a place or a firm."""

_PARTS = word_set("tier plan level row seat mode server branch account list lane group team")
"""Words after which the word before is no place: "moved to gold tier"."""

_TOWARDS = frozenset(["in", "to", "at", "for", "from", "by", "with"])
_JOINING = frozenset(["joined", "left", "leaving", "quit"])
_PIECE = re.compile(r"[\w'&@.+-]+|[^\w\s]")
_CALLED = re.compile(
    r"\b(?P<lead>(?:called|named|name is|name's|i'm called)) (?P<name>[a-z][\w'’-]*)"
)
_NAMED = re.compile(r"\b(?P<lead>named (?:my|our|the)(?: new)? [a-z]+) (?P<name>[a-z][\w'’-]*)")
_ROLE = re.compile(
    rf"(?P<lead>\b(?:my|our)(?: new)? (?:{'|'.join(sorted(ROLES))})(?: is|'s)(?: now)?) "
    r"(?P<name>[a-z][\w'’-]*)(?= now\b|[,.;!]|$| and\b| since\b| because\b)"
)
_FIRST = re.compile(
    r"^(?P<lead>)(?P<name>[a-z][\w'’-]*)(?= (?:is|has become|became) (?:now )?(?:my|our|home)\b)"
)
_TITLED = re.compile(r"\b(dr|mr|mrs|ms|miss|prof|professor|st)(\.? )([a-z])([\w'’-]*)")
_ENDING = re.compile(r"(?:ing|ed|ly|tion|ness|ment|able|ful|ous)$")


# A text has one of these words wherever the expression in front of which they are asked for
# matches. An expression is tried at every place of a text, and most texts have none of the words.
_CONTRACTED_FIRSTS: Final = frozenset(words(word)[0] for word in _CONTRACTED)
_UNMARKED_WORDS: Final = word_set("its names")
_ALWAYS_WORDS: Final = frozenset(filter(_ALWAYS.fullmatch, _CONTRACTED)) & _CONTRACTED_FIRSTS
_SMALL_I = re.compile(r"i(?<![\w@.'-]i)(?![\w@-])")
_OWNERS: Final = word_set("my our me")
_NOTED_WORDS: Final = telling(_NOTED_NOUNS) | word_set(
    "wedding standup exam interview surgery operation course commute rent internet electricity "
    "practice club class group training rehearsal meeting code day favourite favorite preferred "
    "usual name mam da"
)
_RUN_ON_WORDS: Final = word_set("anymore more longer again lately now days")
_ONESELF: Final = word_set("i we")
_NAMING: Final = frozenset(words(word)[0] for word in _OF_PLACES | _JOINING) | word_set(
    "dr mr mrs ms miss prof professor st called named name my our home"
)

_SIGNS: Final = tuple(hint for hint in HINTS if not words(hint))
_CHANGING: Final = frozenset(words(hint)[0] for hint in HINTS.difference(_SIGNS)).union(
    _CONTRACTED_FIRSTS, _UNMARKED_WORDS, FRAMING_WORDS, _RUN_ON_WORDS, _NAMING
) | {"had"}
"""A sentence without these words and signs is plain as it stands, after an opener."""


def plain(sentence: str) -> str:
    """A sentence as it would be written out: openers gone, subject and capitals put in."""
    given = tidied(sentence)
    spoken = frozenset(words(given))
    if _CHANGING.isdisjoint(spoken) and not has_any(given, _SIGNS):
        opened = without_openers(given, spoken)
        if _with_subject(opened, spoken) == opened:
            return opened
    casual = is_casual(sentence)
    text = _with_owner(_contracted(given, spoken, is_casual=casual), spoken)
    if text != given:
        spoken = frozenset(words(text))
    text = _put_plainly(unframed(text, spoken))
    if not _RUN_ON_WORDS.isdisjoint(spoken):
        text = _RUN_ON.sub(r"\g<end>, ", text)
    return _names(text) if casual and not _NAMING.isdisjoint(spoken) else text


def _with_owner(text: str, spoken: frozenset[str]) -> str:
    """A text with "my" where "me" is written for it, and with "is" behind a name."""
    if _OWNERS.isdisjoint(spoken):
        return text
    if "'s my " in text or "'s our " in text:
        text = _IS_MINE.sub(r"\g<who> is ", text)
    if "me" in spoken and not _NOTED_WORDS.isdisjoint(spoken):
        text = _ME.sub("my ", text)
    return text


def _put_plainly(text: str) -> str:
    """A sentence in plain turns of phrase, with its subject."""
    text = paraphrased(text)
    spoken = frozenset(words(text))
    if ", " in text and not _OWNERS.isdisjoint(spoken):
        text = _NAMED_BESIDE.sub(r"\g<who> \g<name> ", text)
    if "had" in spoken:
        text = _HAD_TO.sub(lambda m: _DID.get(m["verb"].lower(), m["verb"]), text)
    return _with_subject(text, spoken)


def _contracted(text: str, spoken: frozenset[str], *, is_casual: bool) -> str:
    """A text with its apostrophes, and the capitals of "I"."""
    if is_casual:
        if not _CONTRACTED_FIRSTS.isdisjoint(spoken):
            text = _TYPED.sub(lambda match: _CONTRACTED[match[0]], text)
        return text if _UNMARKED_WORDS.isdisjoint(spoken) else _UNMARKED.sub("'", text)
    has_small = "i" in spoken and _SMALL_I.search(text) is not None
    if has_small or not _ALWAYS_WORDS.isdisjoint(spoken):
        text = _ALWAYS.sub(lambda match: _spelt_out(match[0]), text)
    return text


def _at_start(pattern: re.Pattern[str], template: str, text: str) -> str:
    """``pattern.sub(template, text)`` for a pattern that begins with ``^``, tried there alone."""
    match = pattern.match(text)
    return text if match is None else match.expand(template) + text[match.end() :]


_SUBJECTS_LEFT_OUT: Final = (
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

_BEING: Final = word_set("is are")
_CHANGED: Final = word_set("changed switched moved increased gone went renamed")
"""Each match of ``_NOTE_OF_NOW`` has one of these, and "now", "days" or "to"."""

_LEAVES_OUT = re.compile(
    "|".join(pattern.pattern for pattern, _ in _SUBJECTS_LEFT_OUT), re.IGNORECASE
)


def _with_subject(text: str, spoken: frozenset[str]) -> str:
    """A sentence with the subject that its writer left out, if any."""
    if text.partition(" ")[0] in _SUBJECTS:
        return text
    if not _may_leave_out(text, spoken) or _LEAVES_OUT.match(text) is None:
        is_note = _may_be_note(spoken) and _NOTE_OF_NOW.match(text)
        return (
            f"My {text[0].lower() if text[1:2].islower() else text[0]}{text[1:]}"
            if is_note
            else text
        )
    if text[1:2].islower():
        text = text[0].lower() + text[1:]  # it begins the sentence no more
    for pattern, template in _SUBJECTS_LEFT_OUT:
        text = _at_start(pattern, template, text)
    return text


def _may_leave_out(text: str, spoken: frozenset[str]) -> bool:
    first = _WORD.search(text)
    if first is not None and first[0].lower() in _FIRST_WITHOUT:
        return True
    return not (_NOTED_WORDS.isdisjoint(spoken) or _OF_NOTES.isdisjoint(spoken))


def _may_be_note(spoken: frozenset[str]) -> bool:
    if not _BEING.isdisjoint(spoken) and ("now" in spoken or "days" in spoken):
        return True
    return "to" in spoken and not _CHANGED.isdisjoint(spoken)


def _spelt_out(word: str) -> str:
    """A contraction with its apostrophe, and the capital that it had: "Dont" is "Don't"."""
    written_out = _CONTRACTED[word.lower()]
    return _capital(written_out) if word[0].isupper() else written_out


def is_casual(sentence: str) -> bool:
    """Whether a sentence is typed without capitals, or but for those of some names."""
    first = next(filter(str.isalpha, sentence), "")
    return first.islower() and re.search(r"\bI\b", sentence) is None


def _names(text: str) -> str:
    """A text without capitals, with those of the names that their place in it gives away."""
    text = _TITLED.sub(lambda m: m[1].capitalize() + m[2] + m[3].upper() + m[4], text)
    for pattern in (_CALLED, _NAMED, _ROLE, _FIRST):
        text = pattern.sub(_capitalised, text)
    pieces = list(_PIECE.finditer(text))
    of_places, capitals = False, set[int]()
    for place, piece in enumerate(pieces[:-1]):
        word, after = piece[0].lower(), pieces[place + 1][0]
        of_places = (of_places and word not in ",;:—–") or word in _OF_PLACES
        leads = (of_places and word in _TOWARDS) or word in _JOINING
        follows = place in capitals and len(capitals & {place - 1, place - 2}) == 0
        part = pieces[place + 2][0] if place + 2 < len(pieces) else ""
        if (
            part not in _PARTS
            and (leads or (follows and not after.endswith("s")))
            and _may_be_name(after)
        ):
            capitals.add(place + 1)
    for place in capitals:
        at = pieces[place].start()
        text = text[:at] + text[at].upper() + text[at + 1 :]
    return text


def _capitalised(match: re.Match[str]) -> str:
    name = match["name"]
    lead = f"{match['lead']} " if match["lead"] else ""
    return f"{lead}{_capital(name) if _may_be_name(name) else name}"


def _may_be_name(word: str) -> bool:
    return (
        word not in _NO_NAME
        and word not in NO_VALUES
        and word[:2].isalpha()
        and _ENDING.search(word) is None
    )


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]
