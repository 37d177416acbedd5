"""Turns of phrase that say what a plainer sentence says, as a table with examples. No I/O."""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Final

from treering.views.facts.idioms import IDIOMS
from treering.views.facts.paraphrase import Paraphrase
from treering.views.facts.tokens import has_any, runs, table, telling, words
from treering.views.facts.verbs import CHOICE_NOUNS, ROLES

_ATTRIBUTES = "|".join(
    sorted(
        (ROLES | CHOICE_NOUNS) - {"hint", "topic", "commute"}
        | {"address", "name", "e-?mail", "email address", "number", "postcode", "preference"}
        | {"next of kin", "emergency contact", "username", "birthday", "date of birth", "plan"}
        | {"tariff", "status", "employer", "phone", "plate", "registration", "pin", "height"}
        | {"weight", "age", "marital status", "allergies", "contact", "bank", "account"}
    )
)
_OWNED = rf"(?P<thing>(?:[a-z-]+ ){{0,2}}?(?:{_ATTRIBUTES}))"
_KINDLY = r"^(?:please |kindly |do |could you |can you |would you )*"

PARAPHRASES: Final = (
    Paraphrase(
        "that's",
        r"\bthat's me (?=(?:now |officially |finally )*(?:an? |[a-z]+ed\b|single|vegan|with |at ))",
        "I'm ",
        "The papers came, so that's me officially divorced",
        "The papers came, so I'm officially divorced",
    ),
    Paraphrase(
        "divorce",
        r"^(?:my |our |the )?divorce (?:(?:has |is |was )?(?:now |just |finally )*)(?:came through|"
        r"come through|went through|gone through|final\b|finali[sz]ed|granted)",
        "I'm divorced",
        "My divorce came through on Friday",
        "I'm divorced on Friday",
    ),
    Paraphrase(
        "put mark count list register note",
        r"\b(?:please |kindly )?(?:put|mark|count|list|register|note) me (?:down )?(?:as|in as) ",
        "I'm ",
        "Put me down as pescatarian.",
        "I'm pescatarian.",
    ),
    Paraphrase(
        "update amend change correct alter",
        rf"{_KINDLY}(?:update|amend|change|correct|alter) (?:my|our) {_OWNED}(?: (?:on|in) (?:my|"
        r"your|the|our) [a-z]+)? (?:to read|to show|to|as) ",
        r"my \g<thing> is now ",
        "Please amend my surname to Brown.",
        "my surname is now Brown.",
    ),
    Paraphrase(
        "record records file files system systems database",
        r" (?:in|on) (?:your|my|the) (?:records?|files?|systems?|database)\b",
        "",
        "Please change the name on your system.",
        "Please change the name.",
    ),
    Paraphrase(
        "should",
        rf"\b(?:the|my|our) {_OWNED}(?: (?:on|in|for|of) (?:my|our|your|the) [a-z]+(?: [a-z]+)?)? "
        r"should (?:now )?(?:read|be|say|show) ",
        r"my \g<thing> is now ",
        "The postcode on my file should read SY8 1ZZ.",
        "my postcode is now SY8 1ZZ.",
    ),
    Paraphrase(
        "friends mates together married engaged roommates flatmates housemates neighbours "
        "neighbors partners dating",
        r"^(?:me and (?P<with>[\w'-]+)|(?P<also>[\w'-]+) and I)(?P<not> aren't| are not|"
        r"(?: are)? no longer| are)(?P<now> now)? "
        r"(?P<what>(?:best |good )?(?:friends|mates|together|married|engaged|roommates|flatmates|"
        r"housemates|neighbou?rs|partners|dating))",
        r"I\g<not>\g<now> \g<what> with \g<with>\g<also>",
        "me and Lexi aren't friends anymore",
        "I aren't friends with Lexi anymore",
    ),
    Paraphrase(
        "call calls know knows",
        rf"{_KINDLY}(?:you (?:can|may|should) |(?:everyone|everybody|people|friends|most people|my "
        r"friends) )?(?:just )?(?:calls?|knows?) me (?:as )?(?=(?:(?:Dr|Mr|Mrs|Ms|Miss|"
        r"Prof) )?(?-i:[A-Z])\w+(?:[.!,]|$| (?:now|"
        r"please|because|these|for short)))(?!\w+day\b)",
        "I'm called ",
        "Everyone calls me Kit.",
        "I'm called Kit.",
    ),
    Paraphrase(
        "name name's",
        r"^the name(?:'s| is) ",
        "my name is ",
        "The name's Kit.",
        "my name is Kit.",
    ),
    Paraphrase(
        "never",
        r"\b(?P<who>I|we) never (?=(?:eat|drink|smoke|drive|wear|use|speak|play|watch|read|take|"
        r"touch|buy|"
        r"fly|cook|swim|run|go|"
        r"ride|bake|dance|sing)\b)",
        r"\g<who> don't ",
        "I never drink on weeknights.",
        "I don't drink on weeknights.",
    ),
    Paraphrase(
        "got",
        r"\b(?P<who>I|we)'ve got (?!to\b)",
        r"\g<who> have ",
        "I've got type 1 diabetes.",
        "I have type 1 diabetes.",
    ),
    Paraphrase(
        "down",
        r"\b(?:I|we)(?:'ve| have)? (?:stepped|stood|stand|step)(?:ped)? down as ",
        "I'm no longer ",
        "I've stepped down as secretary.",
        "I'm no longer secretary.",
    ),
    Paraphrase(
        "use see drive",
        r"\b(?:the|our) (?P<thing>[a-z]+(?: [a-z]+)??) (?:that |who |which )?(?:I|we)(?:'re|'m)? "
        r"(?:use|have|see|go to|like|drive|bank with|are with|go with)(?P<now> now|"
        r" these days)? (?P<is>is|are)\b",
        r"my \g<thing> \g<is>\g<now>",
        "The plumber we use these days is Gus Petrakis.",
        "my plumber is these days Gus Petrakis.",
    ),
    Paraphrase(
        "word",
        r"(?:\b(?:I guess|I suppose|I think|so) )*(?P<what>\w[\w-]*(?: \w+)?) is the word\b",
        r"I'm \g<what>",
        "I guess pescatarian is the word.",
        "I'm pescatarian.",
    ),
    Paraphrase(
        "hard",
        r"\b(?:I'm|I am) (?:a bit |quite |very |slightly )?hard of hearing\b",
        "I have bad hearing",
        "I'm hard of hearing in my left ear.",
        "I have bad hearing in my left ear.",
    ),
    Paraphrase(
        "everything",
        r"(?:^|(?<=[,;] )|(?<=days )|(?<=now ))everything (?:now )?(?:goes|runs) (?:through|via|"
        r"by|over|on) (?=(?-i:\w*[A-Z]))",
        "I use ",
        "Everything goes through Wave.",
        "I use Wave.",
    ),
    Paraphrase(
        "meant mean",
        r"^I (?:meant|mean) (?=my |our |I )",
        "",
        "I meant my flight is at 7.40.",
        "my flight is at 7.40.",
    ),
    Paraphrase(
        "spelled spelt",
        r"\b(?P<thing>my (?:sur)?name)(?:'s| is) (?:spelled|spelt) ",
        r"\g<thing> is ",
        "My name is spelled Kathryn with a y.",
        "My name is Kathryn with a y.",
    ),
    Paraphrase(
        "code number pin flat plot room gate size extension platform seat ward locker bay row "
        "grade band level",
        r"^it's (?:actually |now )?(?P<thing>(?:[a-z]+ )?(?:code|number|pin|flat|plot|room|gate|"
        r"size|extension|"
        r"platform|seat|ward|locker|bay|row|grade|band|level)) (?=\S*\d)",
        r"my \g<thing> is ",
        "It's gate code 4471.",
        "my gate code is 4471.",
    ),
    Paraphrase(
        "having",
        r"\b(?P<who>I|we)(?:'m| am|'re| are) having (?=(?:diabetes|asthma|thyroid|high|low|two|"
        r"three|four|one|an? (?:son|"
        r"daughter|dog|cat|house|flat|car|shop|business|allergy))\b)",
        r"\g<who> have ",
        "I am having diabetes.",
        "I have diabetes.",
    ),
    Paraphrase(
        "where that",
        r"^it's (?P<place>(?-i:[A-Z])[\w'-]+(?: (?-i:[A-Z])[\w'-]+)?) (?:where|"
        r"that) (?P<what>(?:I|we) "
        r"(?:live|work|study|am|go|teach)\b[^,.]*)",
        r"\g<what> in \g<place>",
        "It's Worthing where I live.",
        "I live in Worthing.",
    ),
    Paraphrase(
        "when that",
        r"^it's (?P<day>(?:on )?\w+day)s? (?:when|that) (?P<what>(?:I|we) (?:have|go|work|play|"
        r"train|meet)"
        r"\b[^,.]*)",
        r"\g<what> on \g<day>",
        "It's Wednesday that I have my German class.",
        "I have my German class on Wednesday.",
    ),
    Paraphrase(
        "turned",
        r"^(?P<thing>my [a-z]+(?: [a-z]+)??) (?:has )?turned out to be ",
        r"\g<thing> is ",
        "My allergy turned out to be kiwi.",
        "My allergy is kiwi.",
    ),
    Paraphrase("can", r"\bcan not ", "cannot ", "I can not eat pork", "I cannot eat pork"),
    Paraphrase(
        "stand bear abide",
        r"\bI (?:really |just )?(?:can't|cannot) (?:stand|bear|abide) (?=\w)",
        "I hate ",
        "I can't stand coriander.",
        "I hate coriander.",
    ),
    Paraphrase(
        "not don't",
        r"\bI(?:'m| am|) (?:not|don't|do not) (?:really |much of |exactly |all that |that )?"
        r"(?:(?:a |an )?(?:big |huge |massive )?fan of|big on|keen on|into|like) "
        r"(?!(?:it|that|this|them|how|when|to)\b)(?!.*\b(?:any ?more|any longer)\b)",
        "I dislike ",
        "I'm not a fan of jazz.",
        "I dislike jazz.",
    ),
    Paraphrase(
        "mine",
        r"(?P<lead>^|, |; )(?:the|a|an) (?!last\b|first\b|next\b)(?P<thing>[\w' -]{3,40}?) is "
        r"(?:now |finally |all |officially )*mine\b",
        r"\g<lead>I have the \g<thing>",
        "The little red Fiat 500 is all mine",
        "I have the little red Fiat 500",
    ),
    Paraphrase(
        "notice",
        r"\b(?:gave|given|handed|put)(?: in)? (?:my |our )?notice(?: in)? (?:at|to|with)\b",
        "quit",
        "I handed in my notice at Tesco.",
        "I quit Tesco.",
    ),
    Paraphrase(
        "redundant sacked furloughed dismissed",
        r"\b(?P<was>was|were|been|got) (?:made redundant|sacked|furloughed|dismissed) "
        r"(?:from|by|at)\b",
        r"\g<was> laid off from",
        "I was made redundant by Ford.",
        "I was laid off from Ford.",
    ),
    Paraphrase(
        "born",
        r"^(?:I was |I'm )?born (?:in|on) (?P<date>(?:[a-z\d]+ ){0,2}(?:19|20)\d\d)(?P<place>,? in "
        r"(?-i:[A-Z])\w+)?",
        r"my date of birth is \g<date>, I was born\g<place>",
        "I was born in 1989 in Porto",
        "my date of birth is 1989, I was born in Porto",
    ),
    Paraphrase(
        "since",
        r"\bsince (?:[a-z]+ )?(?:19|20)\d\d\b",
        "since then",
        "I live in Porto since 2015",
        "I live in Porto since then",
    ),
    Paraphrase(
        "graduated qualified",
        r"\b(?P<did>graduated|qualified) (?P<what>[^.]*?) in (?:19|20)\d\d\b",
        r"\g<did> \g<what>",
        "I graduated from Leeds in 2015.",
        "I graduated from Leeds.",
    ),
    Paraphrase(
        "off out removed",
        r"\b(?:got|had) (?P<thing>my [a-z]+(?: [a-z]+)?) (?:off|out|removed)\b"
        r"(?: today| yesterday)?",
        r"got rid of \g<thing>",
        "I got my braces off today",
        "I got rid of my braces",
    ),
    Paraphrase(
        "say says said told tells asks asked saying",
        r"(?:,? (?:and|but|because|so|which|who|though)(?: \w+,?)?|,(?= \w+ \w+ \w+ \w))"
        r" (?:she|he|they|it|(?:the|my|our) (?!new\b)\w+|everyone|people|no one|"
        r"nobody)(?: \w+)? (?:says?|said|"
        r"told|tells|asks|asked|keeps saying)\b(?!,? (?:me |us )?(?:that )?(?:I|we|my)\b)[^\"“]*$",
        "",
        "My therapist is Ruth and she asks good questions",
        "My therapist is Ruth",
    ),
    Paraphrase(
        "?",
        r"^(?P<said>(?!(?:is|are|am|was|were|do|does|did|can|could|would|should|shall|will|have|"
        r"has|what|where|which|who|whose|how|why|when|any)\b)[^?]*?\w)[,;–—]? (?:so |and |but )?"
        r"(?:(?:can|could|would|will) (?:you|u|we|i|someone|anyone)|"
        r"(?<=[,;–—] )(?:please |so )?(?:what|where|"
        r"which|how|who|why|any|got any|know any|is there|are there|do you|have you|shall we|"
        r"should (?:I|we|she|he|they|it|the|that|this|my|our)|do (?:I|we|they|the)|"
        r"does (?:it|that|the|my|this|anyone)|"
        r"is (?:it|that|this|the)|am I|are (?:they|the|these|those)|did I|"
        r"will (?:it|that|the|they)|"
        r"(?:can|could|would) (?:it|that|they|the)|may I|right|ok|okay))\b"
        r"[^?]*\?+$",
        r"\g<said>",
        "I'm vegan now, can you plan my lunches?",
        "I'm vegan now",
    ),
    Paraphrase(
        "me",
        r"^(?P<thing>[a-z-]+(?: [a-z-]+)?) (?P<is>is|are) (?P<value>[^,;]*?\d[^,;]*?) for me\b",
        r"my \g<thing> \g<is> \g<value>",
        "Bedtime is 9.30 for me these days",
        "my Bedtime is 9.30 these days",
    ),
    Paraphrase(
        "name",
        r"\b(?:that goes |who goes |going )?by the name of ",
        "called ",
        "We have a whippet by the name of Brunel",
        "We have a whippet called Brunel",
    ),
    Paraphrase(
        "is are",
        r"^the (?P<thing>[a-z]+) (?:in|on|of|at|for) (?:my|our) [a-z]+ (?P<is>is|are) ",
        r"my \g<thing> \g<is> ",
        "The layout in my loft is N gauge now.",
        "my layout is N gauge now.",
    ),
    Paraphrase(
        "she he she's he's",
        r"^(?P<thing>my [a-z]+)(?P<did> [^,;]*)[,;] (?:and )?s?he(?: is|'s) now ",
        r"\g<thing>\g<did>; it is now ",
        "My boat was renamed; she is now the Lady Jane.",
        "My boat was renamed; it is now the Lady Jane.",
    ),
    Paraphrase(
        "my our",
        r"^(?P<thing>(?:my|our) [a-z]+(?: [a-z]+)?), (?:following|after|since|due to|as of|as from|"
        r"with effect|on|upon|by|for|incidentally)\b[^,]{2,50}, (?=(?:is|are|has|was)\b)",
        r"\g<thing> ",
        "My surname, following my marriage, is now Ashworth.",
        "My surname is now Ashworth.",
    ),
    Paraphrase(
        "wish want care",
        r"\b(?P<not>no longer|don't|do not) (?:wish|want|care) to "
        r"(?=.*\b(?:any ?more|any longer)|(?<=longer wish to )|(?<=longer want to )|"
        r"(?<=longer care to ))",
        r"\g<not> ",
        "I no longer wish to receive the newsletter.",
        "I no longer receive the newsletter.",
    ),
    Paraphrase(
        "now",
        r"^(?:my )?(?P<thing>(?:new )?(?:[a-z]+ )?(?:e-?mail|number|address|phone|postcode|"
        r"username|surname|name|gp|dentist|doctor|bank|gym|car|employer|boss)) now "
        r"(?=(?-i:[A-Z]|\S*[\d@]))",
        r"my \g<thing> is now ",
        "email now h.brandt@post.example",
        "my email is now h.brandt@post.example",
    ),
    Paraphrase(
        "cancelled canceled sold scrapped returned",
        r"^(?P<thing>(?!I |we |my |our |the |he |she |it |they )(?-i:[a-z]+ )??"
        r"(?!meeting|gig|concert|class|lesson|flight|trip|appointment|party|game|match|event|show|"
        r"train|call|order)(?-i:[a-z]+)) "
        r"(?P<did>cancell?ed|sold|scrapped|returned)(?=[.,;]|$)",
        r"I \g<did> my \g<thing>",
        "gym membership cancelled, swimming instead",
        "I cancelled my gym membership, swimming instead",
    ),
    Paraphrase(
        "-> => →",
        r"(?P<lead>[:=]) ?[^:;]{1,40}? ?(?:->|=>|→) ?",
        r"\g<lead> ",
        "gym: PureGym -> Oasis",
        "gym: Oasis",
    ),
    Paraphrase(
        "-> => → =",
        r"^(?:my )?(?P<thing>(?:new )?[a-z-]+(?: [a-z-]+)?) ?(?:->|=>|→| = ) ?",
        r"my \g<thing> is ",
        "dentist = Dr Falk",
        "my dentist is Dr Falk",
    ),
    *IDIOMS,
)

_TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)?|[-=]>|→|=|\?")
_WORD: Final = table("'")
_SIGNS: Final = ("=", "?", "->", "→")
_BY_HINT: Final = {
    hint: frozenset(place for place, row in enumerate(PARAPHRASES) if hint in row.hints.split())
    for hint in " ".join(row.hints for row in PARAPHRASES).split()
}
_NO_PLACES: Final[frozenset[int]] = frozenset()

HINTS: Final = frozenset(_BY_HINT)
"""What a sentence holds one of if a turn of phrase is in it."""

_TELLING: Final = telling(filter(words, HINTS))


def paraphrased(sentence: str, spoken: Set[str] | None = None) -> str:
    """A sentence in the plain wording of the turns of phrase that it uses.

    ``spoken`` are its words, and maybe more, if they are known.
    """
    if spoken is not None and _TELLING.isdisjoint(spoken) and not has_any(sentence, _SIGNS):
        return sentence
    small = sentence.lower()
    hints = HINTS.intersection(_tokens(small))
    for place in sorted(_NO_PLACES.union(*map(_BY_HINT.__getitem__, hints))):
        row = PARAPHRASES[place]
        if row.may_apply(small) or not small.isascii():
            sentence = row.applied(sentence)
            small = sentence.lower()
    return sentence


def _tokens(small: str) -> list[str]:
    """The words and signs of a sentence in small letters, as ``_TOKEN`` finds them."""
    if has_any(small, _SIGNS):
        return _TOKEN.findall(small)
    tokens = runs(small, _WORD)
    for token in [token for token in tokens if "'" in token]:
        tokens += _TOKEN.findall(token)  # "'tis" is "tis"; that the run itself stays does no harm
    return tokens
