"""Leaves out of a message what its writer hands over to be worked on, and does not state. No I/O.

That is a text to translate, proofread or answer ("Translate into French: I live in Cardiff"), and
what stands in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from treering.views.facts.tokens import has_any, letter_runs, runs, table, telling
from treering.views.facts.verbs import word_set

_ASKED = (
    r"(?:^|(?<=[.!?\n,;:—–-] )|(?<=\n)|(?<=\bplease )|(?<=\bpls )|(?<=\bplz )|(?<=\byou )|"
    r"(?<=\bme )|(?<=\bto )|(?<=\band )|(?<=\bjust )|(?<=\bthen )|(?<=\bnow )|(?<=\bi )|(?<=\bso )|"
    r"(?<=\bbtw )|(?<=\bthanks ))"
)
"""Where the verb of a request stands: first, or after "please", "can you", "help me", "want to"."""

_TREATED = (
    r"(?:translat(?:e|ing|ion)|proof-?read(?:ing)?|spell-?check|re-?writ(?:e|ing)|re-?word|"
    r"re-?phras(?:e|ing)|paraphras(?:e|ing)|summari[sz](?:e|ing)|tl;?dr|shorten|condense|polish|"
    r"transcribe|simplify|conjugate|punctuate|transliterate|anonymi[sz]e|analy[sz]e|parse|classify|"
    r"pronounce)\b"
)
"""Verbs of working on a text, and on nothing else."""

_WORKED_ON = (
    r"(?:correct|edit|improve|fix|check|format|turn|convert|make|put(?! this in)|render|change|"
    r"review|explain|complete|continue|finish|expand|extend|read|grade|mark|rate|extract|answer|"
    r"reply to|respond to|type|look (?:at|over)|go over|tidy(?: up)?|clean up|tighten|say|"
    r"critique|feedback on|describe|help me with|label|tag|count|repeat|copy|quote|generate|"
    r"create|adapt|reformat|beautify|formali[sz]e)\b"
)
"""Verbs of working on a text, and on much else."""

_WRITTEN = r"(?:write|draft|compose)\b(?! (?:\w+ )?down)"
_TEXT = (
    r"(?:texts?|sentences?|paragraphs?|letters?|e-?mails?|messages?|drafts?|essays?|bios?|posts?|"
    r"headlines?|captions?|reviews?|poems?|stor(?:y|ies)|lyrics|quotes?|examples?|lines?|"
    r"passages?|articles?|cv|resume|summary|translations?|dialogues?|scripts?|speech(?:es)?|"
    r"transcripts?|repl(?:y|ies)|answers?|comments?|tweets?|phrases?|words|wording|statements?|"
    r"intros?|introductions?|profiles?|abstracts?|blurbs?|copy|grammar|spelling|typos?|"
    r"punctuation|tone|english|french|german|spanish|italian|dutch|portuguese|polish|tense|"
    r"invitations?|complaints?|toasts?|adverts?|ads?|listings?|code|snippet)\b"
)
_POINTED = r"(?:this|these|the following|the below|below|what follows)\b"
_UP_TO = r"[^.!?:\n\"“]{0,120}?"
_BEGINS = r"(?:[:\"“]|[.?!]?\s*\n| [-–—] | ['‘](?=\w))"
"""Where the text begins that is handed over."""

_UTTERED = (
    r"(?:shout|yell|scream|mutter|whisper|sing|chant|announc|brag|boast|declar|repeat|proclaim|"
    r"murmur|mumbl|cry|moan|joke|rant|preach|sang|sung|post|tweet|bio|caption|slogan|sticker|"
    r"headline|motto|sign|poster|flyer|leaflet|billboard|label|tattoo|fortune cookie|opening line|"
    r"blurb|listing|horoscope|survey|voicemail|ringtone|banner|t-?shirt|mug)(?:s|ed|ing|es)?"
)
"""How others make themselves heard, and on what words stand that are nobody's own."""

_HANDED_BY: Final = {
    "treated": (
        rf"{_ASKED}(?:{_TREATED}|{_WRITTEN}){_UP_TO}{_BEGINS}"
        rf"|{_ASKED}{_TREATED}{_UP_TO}\b{_POINTED}{_UP_TO}[.!?]"
        rf"|{_ASKED}{_TREATED} (?=(?:I|i|my|My|we|We|our)\b(?! (?:\w+ )?{_TEXT}))"
    ),
    "begun": (
        rf"{_ASKED}{_WRITTEN}[^:\n]{{0,250}}?\b(?:start|begin|open|end|close)\w*(?: (?:it|off|"
        rf"with|by|"
        r"like|this|like this))*:"
    ),
    "worked on": rf"{_ASKED}{_WORKED_ON}{_UP_TO}\b(?:{_TEXT}|{_POINTED}){_UP_TO}{_BEGINS}",
    "pointed": (
        rf"\b(?:this|that|these|following|here(?:'s|’s| is| are| comes)){_UP_TO}{_TEXT}{_UP_TO}"
        r"(?::|\n)(?!\s*\S+@)"
    ),
    "said": (
        rf"\b(?:an?|the|his|her|their|customer|client|tenant|boss|he|she|they|who|{_TEXT})"
        r"(?:'s|’s)? (?:just )?(?:wrote|writes|says|said|reads|goes|begins|starts|texted|emailed|"
        r"replied|sent)(?: (?:me|us|to me|this|with|that|back|as follows))*(?::|\n)"
        r"|(?<!\bi )(?<!\bi just )\b(?:wrote|says|said|goes|went|reads|begins|starts|texted|"
        r"emailed|messaged|replied|whatsapped|rang|told|"
        r"put|left|sent)\b(?! my\b| our\b| you\b| this\b| it\b)[^.!?:\n]{0,40}:(?=\s)"
        r"|\b(?:the|an?|this|that|his|her|their) (?:\w+ )?(?:ad|advert|advertisement|song|lyrics?|"
        r"signs?|poster|slogan|joke|"
        r"chorus|saying|proverb|sticker|voice-?over|jingle|caption|headline|label|leaflet|card|"
        r"t-?shirt|mug|"
        r"tagline|book|article|meme|tune|rhyme|poem|verse) (?:just )?(?:goes|says|said|reads|went|"
        r"claims|starts|begins)\b"
        rf"|(?<![Ii] )(?<![Ii]'m )\b{_UTTERED}\b[^.!?:\n]{{0,50}}:(?=\s)"
    ),
    "sample": (
        r"\b(?:fill in the blanks?|complete the (?:sentence|gap)|finish the (?:joke|sentence))\W|"
        r"\b(?:for )?(?:(?:example|sample|test|practice|model|fake|dummy) \w+|example|instance|"
        r"e\.g\.|sample|original|source text|text|input|prompt|quote|translation)[:\n]"
    ),
    "asked": (
        rf"\b(?:is|are|does|do|how(?:'s|’s| is| does)|what(?:'s|’s| is) wrong with) "
        rf"(?:this|these|the following)\b{_UP_TO}\b(?:ok(?:ay)?|correct|right|fine|sound|reads?|"
        rf"clear|polite|formal|rude|make sense|{_TEXT}){_UP_TO}[?:\n]"
        r"|\b(?:how (?:do|would|can|should) (?:you|i|we|one) (?:say|write|put|spell|translate|"
        r"phrase)|what(?:'s|’s| is| would be) (?:an?|the) \w+ way (?:to say|of saying)|"
        rf"what does)\b{_UP_TO}(?::|[\"“]| ['‘])"
    ),
    "marked": r"^(?:>|```)",
}
_HANDED: Final = {
    kind: re.compile(expression, re.IGNORECASE | re.MULTILINE)
    for kind, expression in _HANDED_BY.items()
}
"""Requests up to where a text begins that is no statement of the one who makes it, by kind.

An expression is tried at every place of a text. So each waits for a text with words of its kind.
"""

_OF_BEFORE = re.compile(
    rf"(?:{_ASKED}{_TREATED} (?:this|that|it|the above|these|all (?:this|that))\b"
    r"|\bhow (?:do|would|can|should) (?:you|i|we|one) (?:say|write|put|spell|phrase) (?:this|that|"
    rf"it|the above)\b|{_ASKED}{_WORKED_ON} (?:the above|that (?:text|sentence|paragraph)))"
    r"[^:\n]*$",
    re.IGNORECASE,
)
"""A request at the end of a message that is about all that stands before it."""

_QUOTED = re.compile(
    r"(?<![\w“\"])\"(?=\S)[^\"]*\"|“[^”]*”|«[^»]*»|„[^“”]*[“”]|```.*?```"
    r"|(?<![\w'’])['‘](?!(?:cause|cos|til|bout|em|twas|n|\d)\b)(?=\w)[^\n'’‘]+"
    r"(?:(?<=\w)['’](?=\w)[^\n'’‘]*)*['’](?!\w)",
    re.DOTALL,
)
_WORD: Final = table("-")
_ASKING: Final = word_set(
    "translate translating translation proofread proof-read proofreading proof-reading spellcheck "
    "spell-check rewrite re-write rewriting re-writing reword re-word rephrase re-phrase "
    "rephrasing paraphrase paraphrasing summarise summarize summarising summarizing tldr shorten "
    "condense polish transcribe simplify conjugate punctuate transliterate anonymise anonymize "
    "analyse analyze parse classify pronounce correct edit improve fix reformat formalise formalize"
)
"""Words of requests that need no sign of where the text begins."""

_TREATING: Final = _ASKING | word_set("tl write draft compose")
_WORKING: Final = word_set(
    "correct edit improve fix check format turn convert make put render change review explain "
    "complete continue finish expand extend read grade mark rate extract answer reply respond type "
    "look go tidy clean tighten say critique feedback describe help label tag count repeat copy "
    "quote generate create adapt reformat beautify formalise formalize"
)
_POINTERS: Final = word_set("this these following below what")
_THIS: Final = word_set("this that these following here")
_SAYING: Final = word_set(
    "wrote writes says said reads goes begins starts texted emailed replied sent claims went goes "
    "messaged whatsapped rang told put left"
)
_SAMPLES: Final = word_set(
    "example sample test practice model fake dummy instance e blank blanks gap joke sentence "
    "original text input prompt quote "
    "translation"
)
_PUT: Final = word_set("say write put spell translate phrase saying")
_ASKED_HOW: Final = _PUT | {"does"}
_WORDED: Final = _TREATING.union(_WORKING, _POINTERS, _THIS, _SAYING, _SAMPLES, _ASKED_HOW)
"""Words of which each request has one."""

_ANY_WORDED: Final = telling(_WORDED)
_TEXT_WORD = re.compile(_TEXT)
_UTTERED_WORD = re.compile(_UTTERED)

_SIGNS: Final = (":", "\n", '"', " '", "`")
_SIGNS_BEYOND_ASCII: Final = ("“", "«", "„", "‘", "–", "—")
"""One of these stands before most texts that are handed over; most messages have none."""

_POINTING: Final = (
    "s this ",
    "s these ",
    "re these ",
    "ow do ",
    "ow would ",
    "the above",
    " goes ",
    " says ",
    " claims ",
)
"""What points at a text that is handed over without a sign."""

_BEFORE: Final = ("the above", "that text", "that sentence", "that paragraph")
_TREATED_BEFORE: Final = _TREATING | {"re-phrasing"}


def own_words(text: str, spoken: Sequence[str] | None = None) -> str:
    """A message without what it hands over, its characters at the places where they were.

    What stands in quotes becomes blanks between the quotation marks; what follows a request to
    work on it is cut off. ``spoken`` are its runs of letters, if they are known.
    """
    # Most messages have no sign and no word of a request: those are done with here.
    has_sign = has_any(text, _SIGNS) or text[:1] in (">", "'")
    has_sign = has_sign or (not text.isascii() and has_any(text, _SIGNS_BEYOND_ASCII))
    if not has_sign and _ANY_WORDED.isdisjoint(letter_runs(text) if spoken is None else spoken):
        return text
    words = frozenset(runs(text.lower(), _WORD))
    is_worded = has_sign or has_any(text, _POINTING)
    is_asked = not words.isdisjoint(_WORDED if is_worded else _ASKING) or ":" in text
    if not has_sign and not is_asked:
        return text
    if is_asked and _may_be_of_before(text, words) and _OF_BEFORE.search(text):
        return ""
    requests = (_HANDED[kind].search(text) for kind in _kinds(text, words))
    text = text[: min((request.start() for request in requests if request), default=len(text))]
    return _QUOTED.sub(_blank, text) if has_sign else text


def _kinds(text: str, words: frozenset[str]) -> Iterator[str]:
    """The kinds of requests of which a text has words."""
    names_text = any(map(_is_of_text, words))
    if not words.isdisjoint(_TREATING):
        yield "treated"
        yield "begun"
    if not words.isdisjoint(_WORKING) and (names_text or not words.isdisjoint(_POINTERS)):
        yield "worked on"
    if names_text and not words.isdisjoint(_THIS):
        yield "pointed"
    if not words.isdisjoint(_SAYING) or (":" in text and any(map(_is_of_sound, words))):
        yield "said"
    if not words.isdisjoint(_SAMPLES):
        yield "sample"
    if not words.isdisjoint(_POINTERS) or not words.isdisjoint(_ASKED_HOW):
        yield "asked"
    if ">" in text or "`" in text:
        yield "marked"


def _may_be_of_before(text: str, words: frozenset[str]) -> bool:
    """Whether a text has words of a request that is about what stands before it."""
    if "how" in words and not words.isdisjoint(_PUT):
        return True
    if "above" in words or "that" in words:
        # Most of what has "that" is no request. To search it for one takes long.
        is_ascii = text.isascii()
        return (
            not is_ascii or not words.isdisjoint(_TREATED_BEFORE) or has_any(text.lower(), _BEFORE)
        )
    return not words.isdisjoint(_TREATING)


@lru_cache(maxsize=1 << 12)
def _is_of_text(word: str) -> bool:
    return _TEXT_WORD.fullmatch(word) is not None


@lru_cache(maxsize=1 << 12)
def _is_of_sound(word: str) -> bool:
    return _UTTERED_WORD.fullmatch(word) is not None


def _blank(quoted: re.Match[str]) -> str:
    return f'"{" " * (len(quoted[0]) - 2)}"'
