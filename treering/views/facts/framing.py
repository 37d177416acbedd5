"""Takes off what a sentence says around its statement: openers, and turns to its hearer. No I/O.

"Quick update: we moved to Leeds, in case you need it" states that they moved to Leeds. Openers are
phrases in lists, put together by a small grammar, so that a phrase more is a line more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Final

from treering.views.facts.tokens import has_any, telling, words
from treering.views.facts.verbs import word_set

_WORD = re.compile(r"[a-z]+(?:['-][a-z]+)*")


def _phrases(rows: str) -> list[str]:
    """Phrases between slashes and lines, the longest first: an alternation takes the first."""
    split = (phrase.strip() for phrase in rows.replace("\n", "/").split("/"))
    return sorted({*filter(None, split)}, key=len, reverse=True)


_SAID_FIRST = _phrases("""
    ok / okay / so / um / umm / uh / er / erm / like / nope / yeah no / oh / oh and / ah / aw
    ha / well / right / also / and / but / lol / haha / hehe / fyi / tbh / ngl / btw
    by the way / yeah / yes / yep / yup / aye / hey / hi / hiya / hello / heya / hi there
    hello there / hey there / hi all / hi everyone / hi again / hello again / hey again / anyway
    and anyway / anyway so / so anyway
    anyways / anyhow / honestly / actually / incidentally / apparently / finally / remember
    don't forget / as it happens / believe it or not / joking aside / no joke / not kidding
    fun fact / true story / in other news / long story short / turns out / it turns out
    turns out that / it turns out that / guess what / by way of news / welp / just so you know
    just so you are aware / so you know / for the record / for your records
    for your information / for context / for reference / for what it's worth / fwiw / nb / ps
    pps / alas / sadly / happily / luckily / thankfully / fortunately / seriously
    unfortunately / to be honest / to tell the truth / to tell you the truth / as i said
    mind you / as i told you / as i mentioned / as i say / like i said / like i told you
    like i mentioned / like i say / i told you / fun fact about me / ooh / phew / ugh / wow
    omg / yay / gosh / hooray / woohoo / blimey / crikey / cheers / thanks / thank you
    good news / bad news / sad news / news / big news / great news / exciting news / happy news
    update / i'm afraid / i am afraid / reminder / as you know / as you may know
    before i forget / while i remember / while i think of it / before we start / one thing
    one more thing / another thing / on another note / on that note / on a different note
    on a personal note / in case i forget / in case i forgot / in case it helps
    in case i never said / in case i didn't say / in case i didn't mention
    in case i haven't said / in case i haven't mentioned / in case it matters
    in case you missed it / if it helps / if it matters / at long last / at last
    speaking of which / as an aside / in fact / to be fair / to be clear / just to be clear
    for clarity / come to think of it / since you ask / now that you mention it
    since you asked / in the end / all in all / and yes / what's more / oops / whoops
    please note / note / kindly note / i confess / i admit / i must admit / admittedly
    obviously / would you believe / big change / small change / major news / slight change
    also also / dear assistant / dear all / just so you have it right / so you have it right
    just so you have it / just so it is right / just so it's right
    just for the record / just for info / just fyi
""")
"""What a sentence opens with; a comma after it may be left out."""

_MARKED_FIRST = _phrases("""
    no / correction / sorry / apologies / my mistake / my bad / scratch that / strike that
    actually no / no wait / wait / hang on / hold on / no sorry / sorry no / ignore that
    never mind / nevermind / let me correct that / let me correct myself / typo / typo above
    sorry typo / oops typo above / i misspoke / i was wrong / i got that wrong
    i said that wrong / wrong one / sorry wrong one / edit / amendment / erratum / notice / memo
    confession / status / announcement / note to self / life update / look / listen / see
    folks / guys / everyone / all / team / morning / good morning / afternoon / good afternoon
    evening / good evening / dear all / friends / other news / plot twist / quick one
    quick thing / small thing / next / first / first of all / lastly / second / secondly
    meanwhile / hmm / i take that back / silly me / that said / i was mistaken
    not that it matters / admin / housekeeping / personal news / in short / in brief
    as promised / clarification / to clarify / done / i meant / i mean / to whom it may concern
    p.s / p.p.s / n.b / for info / quick question / same again / how exciting
""")
"""What a sentence opens with only where a comma, a colon or a dash follows."""

_HEADING = (
    r"(?:(?:quick|small|little|another|brief|short|minor|tiny|slight|important|final|last|one|big|"
    r"further|general|personal|the|a|an|my|just|more|happy|late|early|latest|great|good|two|few|"
    r"couple of|some|change|contact|account|life) )*"
    r"(?:updates?|notes?|changes?|heads[- ]?up|corrections?|reminder|clarification|amendment|fyi|"
    r"announcement|addition|notice|newsflash|news flash|alert|details?|point|aside|confession)"
    r"(?: (?:for|from|to|on|about|of|re|regarding|before|after|while|in)(?: [a-z'-]+){1,6}?)?"
    r"|(?:an? |the |my |small |ok )*(?:typo|error|mistake|slip)(?: (?:in|from|of|on|with|"
    r"about)(?: [a-z'-]+){1,6}?)?"
    r"|(?:an? |the )?(?:funny|true|long|short|sad|weird|quick|crazy|small) (?:story|thing)(?: "
    r"short)?"
    r"|(?:just )?(?:an? )?(?:quick|small|little|last|final|other) (?:one|thing|word|question) "
    r"(?:before|while|since|as|for|about|on|from)(?: [a-z'-]+){1,6}?"
)
"""A heading: "Quick update", "One small correction for your records"."""

_SAYING = (
    r"(?:say|tell you|tell you all|mention|let you know|add|note|point out|share|inform you|"
    r"notify you|advise you|inform|notify|advise|tell|remind you|report|record|record that|"
    r"register|flag|"
    r"update you|confirm|"
    r"certify|declare|announce|clarify|be aware|be advised|be informed|bear in mind|take note|"
    r"remember|know|noting|mentioning|saying|knowing|said|mentioned|told you|explain|warn you|"
    r"set the record straight|keep in mind)"
)
_TO_SAY = (
    r"(?:(?:i|we|it|that|this|you|can|could|do|would|should|must|ought|might|may|will|have|has|"
    r"i've|i'd|i'll|i'm|it's|am|is|as|be|to|just|also|only|thought|wanted|want|meant|need|needed|"
    r"like|forgot|you'd|you'll|you might|wish(?= to\b)|write|writing|hereby|let|me|please|kindly|"
    r"probably|best|good|well|worth|"
    r"better|happy|quickly|here) )*"
    rf"{_SAYING}(?: (?:here|too|also|first|again|now|you|before|already|earlier|this|yet))*"
)
"""An introduction: "I just wanted to let you know"."""

_DOUBT = (
    r"(?:(?:i'm |i am )?not sure (?:if |whether )|i (?:don't|can't|do not) (?:know|think|remember|"
    r"recall) (?:if |whether |that )?|i )(?:(?:i've|i have|i|may|might|have|ever|already|not) )*"
    r"(?:said|mentioned|told you|told|mention|say|tell you|tell)"
    r"(?: (?:this|it|that|already|before|yet|anyone))*,? (?:but|so|though)\b"
)
"""A doubt about having said so: "Not sure if I mentioned it but"."""

_FEELING = (
    r"(?:i'm|i am|we're|we are)(?: very| so| really| just| both)? (?:afraid|happy|pleased|glad|"
    r"sorry|delighted|proud|thrilled|excited|relieved|sad|chuffed) to (?:say|report|announce|"
    r"tell you|share|inform you|let you know)(?: that)?"
)
_SAID_ELSE = (
    r"(?:i|we)(?:'ve| have|'d)? (?:said|wrote|put|told you|typed|mentioned)(?: [\w:'-]+){1,5}?"
)
"""What is taken back: "I said Tuesday but …"."""

_LEAPT = (
    r"(?:i|we)(?:'ve| have)? (?:(?:finally|actually|only|really|just|gone and) )*(?:did it|done it|"
    r"did the thing|bit the bullet|took the plunge|taken the plunge|pulled the trigger|caved(?: "
    r"in)?|"
    r"made the (?:leap|jump|switch|move)|cracked|gave in|made (?:a|my|the) (?:decision|mind up|"
    r"choice)|decided|went for it|sorted it)"
)
"""What says that something was done, before it says what: "I finally did it, …"."""

_MARK = r"(?:[,:!;.–—]+|(?<=\s)-) +"
_OF_SPEAKER = ("i", "i'm", "it")
"""First words of phrases that begin as most statements do: they are looked for apart."""


def _alternatives(phrases: Callable[[str], bool]) -> str:
    """Those of the phrases that a condition holds for, with what follows them."""
    said, marked = (
        "|".join(re.escape(phrase) for phrase in kind if phrases(phrase))
        for kind in (_SAID_FIRST, _MARKED_FIRST)
    )
    ways = (rf"(?:{said})(?:{_MARK}| +)" if said else "", rf"(?:{marked}) ?{_MARK}" * bool(marked))
    return "|".join(filter(None, ways))


def _is_of_speaker(phrase: str) -> bool:
    return phrase.split()[0] in _OF_SPEAKER


def _first(phrase: str) -> str:
    return phrase.split()[0].split(".")[0].rstrip(",")


@cache
def _call(first: str) -> re.Pattern[str]:
    """The calls and headings that begin with a word; all of them if it is empty.

    There are hundreds. To try those of one word takes a tenth of the time.
    """
    calls = _alternatives(
        lambda phrase: not _is_of_speaker(phrase) and first in ("", _first(phrase))
    )
    heading = rf"(?:{_HEADING}) ?{_MARK}" if not first or first in _HEADS else ""
    return re.compile("|".join(filter(None, (calls, heading))), re.IGNORECASE)


_INTRODUCTION = re.compile(
    rf"{_alternatives(_is_of_speaker)}|(?:{_DOUBT}|{_FEELING}),? +"
    rf"|{_LEAPT}(?:,| and|:) +|{_SAID_ELSE},? but +|{_TO_SAY}(?: that)?(?:{_MARK}| but +|"
    rf"(?<=that) +| +(?=(?:I|we|my|our)\b))",
    re.IGNORECASE,
)
_HEADED = (
    "typo error mistake slip ok funny true sad weird crazy quick small little another brief short "
    "minor tiny slight important final last one big further "
    "general personal the a an my just more happy late early latest great good two few couple some "
    "change contact account life update updates note notes changes heads heads-up headsup "
    "correction corrections reminder clarification amendment fyi announcement addition notice "
    "newsflash news alert detail details point aside confession"
)
_LONGEST_FIRST: Final = 20  # characters of the first word of an opener, and more
_HEADS: Final = word_set(f"{_HEADED} long other")
"""First words of headings."""

_CALLS: Final = _HEADS.union(map(_first, (*_SAID_FIRST, *_MARKED_FIRST))) - {*_OF_SPEAKER}
"""First words of calls and headings."""

_INTRODUCERS: Final = word_set(
    "i i'm i've i'd i'll we we're we've it it's that this you can could do would should "
    "please kindly let best good worth let's to not have did as is forgot thought wanted "
    "need just only also better happy quickly here write writing may might must will "
    "remember"
)
"""First words of introductions. A sentence that begins with neither has no opener."""

_TOLD: Final = telling(filter(_is_of_speaker, (*_SAID_FIRST, *_MARKED_FIRST))) | word_set(
    "say tell mention mentioned let add note point share inform notify advise remind report record "
    "register flag update confirm certify declare announce clarify aware advised informed bear "
    "take remember know noting mentioning saying knowing said told explain warn set keep did done "
    "bit took taken pulled caved made cracked gave decided went sorted wrote put typed"
)
"""Words of which each introduction has one."""

_TAIL = re.compile(
    r"(?:, | )(?:in case (?:you|anyone|anybody|it)\b|if (?:you(?:'re)?|anyone|anybody|that helps|"
    r"that matters|it matters|that's ok|that makes|"
    r"it helps|i'm honest|i'm being honest|i remember|u)\b|(?:as|like) i (?:said|mentioned|told)\b|"
    r"i (?:suppose|guess|think|must say|have to say)$|"
    r"(?:so )?remind me\b|which you\b|(?:so|and) if (?:i|you|we)\b|so (?:please|pls|plz|kindly|"
    r"ignore|you|u|can you|no need|use|"
    r"stop|don't|do not|bear|keep in)\b|just so (?:you|u)\b|as you (?:may|might|know)\b|"
    r"(?:for|in) your (?:records?|files?|notes?|information|calendar|diary|system|reference)\b|"
    r"for (?:the record|future reference|reference|context|what it's worth)\b|"
    r"(?:so )?(?:please|pls|plz) (?:bear|note|remember|use|update|don't|do not|change|amend|make|"
    r"can|let|keep|stop)\b|i'm sorry to say|believe it or not(?!, (?:is|are)\b)|"
    r"would you believe(?!, (?:is|are)\b)|(?:please|"
    r"xx?)[.! ]*$|"
    r"(?<=, )(?:thanks|thank you|cheers|ta|folks)[.! ]*$|"
    r"I am (?:proud|sorry|pleased|happy|glad|afraid) to say).*$",
    re.IGNORECASE,
)
"""Where a statement goes on to its hearer: "…, in case you need it"."""

_TAIL_ALONE: Final = word_set(
    "case if guess suppose think say said mentioned told remind which reference context record "
    "worth please pls plz believe thanks thank cheers ta x xx folks"
)
_TAIL_BESIDE: Final = {
    "so": word_set("please pls plz kindly ignore you u can no use stop don do bear keep"),
    "as": frozenset(["you"]),
    "your": word_set("record records file files note notes information calendar diary system")
    | {"reference"},
}
"""Each tail has one of the words that stand alone, or one of these and one beside it."""

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
_MOMENT = (
    rf"(?:now(?: on)?|today|yesterday|(?:(?:this|last) )?{_DAY}(?: just gone)?|"
    r"(?:this|last|the other) (?:morning|night|week|month|year|term|semester|spring|summer|autumn|"
    rf"fall|winter|quarter|weekend)|(?:the )?\d{{1,2}}(?:st|nd|rd|"
    rf"th)?(?: of)? {_MONTH}(?: \d{{4}})?|"
    rf"{_MONTH}(?: the)?(?: \d{{1,2}}(?:st|nd|rd|th)?)?(?:,? (?:19|20)\d\d)?|the \d{{1,2}}"
    rf"(?:st|nd|rd|th)|(?:the )?(?:start|beginning|end|middle) of (?:the|this|last) (?:week|month|"
    rf"year|term)|(?:the )?(?:start|beginning|end|middle) of {_MONTH})"
)
_SINCE = r"(?:as of|as from|from|starting|beginning|effective(?: from| as of)?|with effect from)"
_SINCE_THEN = re.compile(
    rf"(?<=\w) {_SINCE} {_MOMENT}(?: onwards?| on| forwards?)?(?=[.,!;:]|$| (?:and|because|so|i|"
    rf"we)\b)",
    re.I,
)
_FROM_THEN = re.compile(rf"^{_SINCE} {_MOMENT}(?: onwards?)?[,:]? (?=\w)", re.IGNORECASE)
_ASIDE_THEN = re.compile(rf", {_SINCE} {_MOMENT}, ", re.IGNORECASE)
_SINCE_WORDS: Final = word_set("as from starting beginning effective with")
"""From when on something holds: for a reader of facts it holds now."""

_DIGIT = re.compile(r"\d")
_MOMENT_WORDS: Final = word_set(
    "now today yesterday monday tuesday wednesday thursday friday saturday sunday morning night "
    "week month year term semester spring summer autumn fall winter quarter weekend jan january "
    "feb february mar march apr april may jun june jul july aug august sep sept september oct "
    "october nov november dec december start beginning end middle"
)
"""A moment has one of these words or a number."""

_TO_WHOM = re.compile(
    r"(?<=\w)(?:,? (?:folks|guys|all|everyone|team|mate|love|people|y'all|lads|friends)|"
    r" for (?:me|us)"
    r"| here| below| as follows)+(?= ?:)",
    re.IGNORECASE,
)
"""Whom a note is for: "New email for me: …"."""

_SMILE = re.compile(
    r"(?:\s*(?:[:;]['-]?[()DPp/]|<3|\bx+(?:o+x*)*|\bxd))+(?=[.!\s]*$)", re.IGNORECASE
)
_PICTURE = re.compile("[\u2190-\u2bff\U0001f000-\U0001faff\ufe0f\u200d]+")
_ARROWS = re.compile("[\u2192]")
_DOTS = re.compile(r"\s*(?:…|\s[–—]\s|—|\s-{1,2}\s)\s*")


def tidied(text: str) -> str:
    """A sentence with straight apostrophes, commas for dashes, and no pictures or smiles."""
    text = text.replace("’", "'")
    if not text.isascii():
        text = _PICTURE.sub(lambda m: m[0] if _ARROWS.search(m[0]) else "", text)
    if "-" in text or not text.isascii():
        text = _DOTS.sub(", ", text)
    if " & " in text:
        text = _AMPERSAND.sub(" and ", text)
    if text[-1:] in "()DPp/3xXoO":
        text = _SMILE.sub("", text)
    if ":" in text:
        text = _TO_WHOM.sub("", text)
    return text.strip(" ,")


_AMPERSAND = re.compile(
    r" & (?=(?:(?:I|i|we|my|our)\b|(?:have |has |just |now )?[a-z]+(?:ed|ght)\b|(?:got|took|sold|"
    r"left|went|became)\b))"
)
"""Where "&" brings a clause: "sold the flat & bought a bungalow", but not "Marks & Spencer"."""

_NOTICE = re.compile(
    r"^(?:(?:please|kindly|pls) (?:note|be (?:advised|informed|aware)|take note)|(?:this is|"
    r"(?:I am|I'm|we are) writing) to (?:inform|notify|advise|tell) you|"
    r"(?:I|we) (?:wish|would like|write) "
    r"to (?:inform|notify|advise) you)(?: that)? the "
    r"(?=[^,.]+? (?:has|have) (?:now |been )*(?:moved|changed|switched|transferred|relocated)\b)",
    re.IGNORECASE,
)
"""How one gives notice of what is one's own: "Please note that the shop has moved"."""

_PARENTHESIS = re.compile(
    r"^(?P<thing>(?:my|our) new (?:(?!is\b|are\b)[\w'-]+ ?){1,4}), "
    r"(?!(?:who|which|that|and|but|or|if|called|named|not)\b)"
    r"[a-z][^,.?!]*, (?=(?:is|are)\b)",
    re.IGNORECASE,
)
"""What is said between a new thing and what it is: "my new hobby, believe it or not, is"."""

_LOOKS_BACK = re.compile(
    r",? (?:and|but) (?:I |we )?(?:(?:have |I've |we've )?never (?:looked|went|gone|going|felt|"
    r"been|slept|"
    r"regretted)|haven't (?:looked|regretted|felt|been)|(?:couldn't|can't|could not|cannot) (?:be|"
    r"go|"
    r"wait|believe|complain|get over|imagine|recommend)|won't (?:go|be going)|wouldn't (?:go|"
    r"change|"
    r"swap|be without))\b[^,;]*$"
)
"""How glad one is of a change: "… and never looked back"."""

_THAT = re.compile(r"^[Tt]hat (?=(?:I|we|my|our)(?:'\w+)? )")
_CORRECTED = re.compile(
    r"^(?:(?:oh|ah|um|oops|no|actually|sorry|wait|apologies|hang on|hmm|well),? )*"
    r"(?:scratch that|strike that|correction|my mistake|my bad|typo|i misspoke|i was wrong|"
    r"actually no|no wait|sorry|wait|no|ignore that|i got that wrong|i take that back|i meant|"
    r"wrong one|make that|sorry no|edit)\W+"
    r"(?:it's|it is|that's|that should (?:be|read|say)|it should (?:be|read|say)|make that|i "
    r"meant) "
    r"(?:actually |now )?(?=(?-i:[A-Z])[a-z]|\S*\d)(?!\w+day\b)",
    re.IGNORECASE,
)
"""A correction of something that is not named: "Scratch that, it's Lindqvist with a q"."""


_SPELT_SO = re.compile(
    r"^(?:(?:for the record|actually|btw|by the way|fyi|ps|also|and|oh|no|sorry|well),? )*it's "
    r"(?=(?-i:[A-Z])[\w'-]+(?: (?-i:[A-Z])[\w'-]+)?,? (?:not|with an?|spelt|spelled|and not)\b)",
    re.IGNORECASE,
)
"""How a name is put right that is not named: "it's Siobhan, not Shavonne"."""

_CORRECTING: Final = (
    "it's ",
    "it is ",
    "that's ",
    " should ",
    "make that ",
    "i meant ",
    "I meant ",
)
_CORRECTION_WORDS: Final = word_set(
    "scratch strike correction mistake bad typo misspoke wrong no wait ignore back meant make edit "
    "sorry not with spelt spelled"
)
"""Words of which each match of ``_CORRECTED`` and ``_SPELT_SO`` has one."""

_NOTICING: Final = word_set("note advised informed aware inform notify advise tell")
_NEVER: Final = word_set("never t not cannot")
"""Words of which each match of ``_NOTICE`` and ``_LOOKS_BACK`` has one."""


FRAMED: Final = _CORRECTION_WORDS | _NOTICING | _SINCE_WORDS
"""Words of which a sentence has one of which :func:`unframed` does more than to cut it."""


def unframed(text: str, spoken: frozenset[str] | None = None) -> str:
    """A sentence without its openers and without what it says to its hearer at the end.

    ``spoken`` are its words, if they are known.
    """
    spoken = frozenset(words(text)) if spoken is None else spoken
    if not _CORRECTION_WORDS.isdisjoint(spoken) and has_any(text, _CORRECTING):
        corrected = _CORRECTED.match(text) or _SPELT_SO.match(text)
        text = f"For me it's now {text[corrected.end() :]}" if corrected else text
    if "the" in spoken and not _NOTICING.isdisjoint(spoken):
        text = _NOTICE.sub("our ", text)
    text = without_openers(text, spoken)
    if ", " in text and " new " in text:
        text = _PARENTHESIS.sub(r"\g<thing> ", text)
    if _may_have_tail(spoken):
        text = _TAIL.sub("", text)
    if (" and " in text or " but " in text) and not _NEVER.isdisjoint(spoken):
        text = _LOOKS_BACK.sub("", text)
    if not _SINCE_WORDS.isdisjoint(spoken) and _may_have_moment(text, spoken):
        text = _since_then(text)
    return text


def _may_have_tail(spoken: frozenset[str]) -> bool:
    if not _TAIL_ALONE.isdisjoint(spoken):
        return True
    for word, beside in _TAIL_BESIDE.items():
        if word in spoken and not beside.isdisjoint(spoken):
            return True
    return False


def _may_have_moment(text: str, spoken: frozenset[str]) -> bool:
    return not _MOMENT_WORDS.isdisjoint(spoken) or _DIGIT.search(text) is not None


def _since_then(text: str) -> str:
    """A sentence with "now" for the moment since when something holds."""
    text = _ASIDE_THEN.sub(" now ", text)
    text = _SINCE_THEN.sub(" now", text)
    first = _FROM_THEN.match(text)
    return f"Now {text[first.end() :]}" if first else text


def without_openers(text: str, spoken: Iterable[str]) -> str:
    """A sentence without its openers. ``spoken`` are its words."""
    is_told = not _TOLD.isdisjoint(spoken)
    while True:
        first = _WORD.match(text[:_LONGEST_FIRST].lower())
        if first is None:
            return text
        opener = None
        if first[0] in _CALLS:
            opener = _call(first[0] if text.isascii() else "").match(text)
        if opener is None and is_told and first[0] in _INTRODUCERS:
            opener = _INTRODUCTION.match(text)
        if opener is None or opener.end() == len(text):
            is_bare = first[0] == "that" and _THAT.match(text)
            return text[len("that ") :] if is_bare else text
        text = text[opener.end() :]
