"""Leaves out of a message what is played, made up or quoted in it. No I/O.

"Let's role-play: I'm a baker from Lyon" states nothing of its writer, nor does a line of a film
whose maker is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from treering.views.facts.tokens import has_any, letter_runs, runs, table, telling, words
from treering.views.facts.verbs import word_set

_BOUNDARY = re.compile(
    # The sign or letter that it begins with stands first, for which a text is searched quickly.
    r"[.!?,;:\nSsOoLl](?:(?<=[.!?,;:])\s+|(?<=\n)\s*|(?:(?<=\b[Ss])o|(?<=\b[Oo])k(?:ay)?|"
    r"(?<=\b[Ll])ol)\s+)"
)
"""Where a request may stand: first in a sentence or behind a comma."""

_WORK = (
    r"(?:role-?\s?play|play|skit|sketch|scene|novel|story|stories|short story|script|screenplay|"
    r"poem|song|lyrics|monologue|dialogue|fanfic|fiction|film|movie|musical|panto|game|campaign|"
    r"d&d|dnd|larp|character|improv|pantomime|sitcom|comic|ad|advert|radio play|audition|parody|"
    r"demo|mock-?up|tutorial)"
)
_PLAYED = re.compile(
    rf"(?:let(?:'|’)?s (?:play|pretend|role|say|imagine|do an?|make believe|act|improvise|"
    r"suppose)|pretend|imagine|suppose|supposing|role-?\s?play|act (?:as|like)|play (?:an? |"
    r"the (?:role|part|character)\b)"
    r"|you(?:'re| are|’re) (?:(?:going to play|playing|now an?)\b|(?:an?|my|"
    r"the) [^.!?\n]*(?:\band|,) "
    r"(?:I|you|I'm|we)\b)"
    r"|(?:say|assume|picture) (?:that )?(?:I|we|you|my|this|a|someone|somebody)\b"
    r"|(?:I'll|I will|I’ll|let me) (?:be|play) (?:the|an?|your) [^.!?\n]*\byou\b|knock,? knock|"
    r"once upon a time|april fools?"
    r"|rumou?r has it|what if|hypothetically|theoretically|for (?:the sake of argument|argument's "
    r"sake)|in an? (?:alternate|alternative|parallel|different|"
    r"other) (?:timeline|universe|world|life|dimension|"
    r"reality|galaxy)|in (?:another|my next|my previous|my past|my dream) (?:life|timeline|"
    r"universe|world)s?|plot idea|story idea"
    rf"|(?:for|in|from) (?:the|my|our|a|an|this|his|her|their) "
    rf"(?:[\w'’-]+ ){{0,2}}{_WORK}\b|(?:my|the|a|our) {_WORK} ?:"
    r"|(?:in|on) (?:the|a|an|this|that|my) (?:[\w'’-]+ ){0,2}(?:show|series|book|podcast|episode|"
    r"programme|soap|drama|thriller|anime|manga|audiobook)"
    r"(?: that)?,? (?:I|we)(?:['’]?m| am|['’]?re| are|['’]?ve been| have been)?"
    r"(?: (?:just|currently|still))? (?:watch|read|listen|bing|hear|saw)"
    rf"|(?:my|the|our|his|her) (?:[\w'’-]+ ){{0,2}}(?:character|protagonist|narrator|heroine|hero|"
    r"avatar|alter ego|villain|dream self)\b"
    rf"|I(?:'m|’m| am) (?:playing|writing|reading|directing|auditioning|"
    rf"rehearsing)\b[^.!?\n]*\b{_WORK}\b"
    r")",
    re.IGNORECASE,
)
"""From where on a message is a game, a story or a supposition."""

_TOO_MUCH = re.compile(
    r"\b(?:lol|haha\w*|lmao|rofl|jk|kidding|joking)\b.*\b(?:basically|literally|practically|"
    r"virtually|"
    r"totally|officially|legally|technically|emotionally|spiritually)\b"
    r"|\b(?:basically|literally|practically|virtually|spiritually|emotionally) (?:\d{3,}|dead|"
    r"dying|"
    r"married to (?:my|the)|in love with (?:my|the)|an? (?:ghost|zombie|robot|vampire|hermit|"
    r"goblin))\b"
    r"|\bI(?:'m| am) [^.!?\n]*\b\d{3,} years old\b"
    r"|^\W*(?:lol|haha\w*|lmao|rofl)\b[^.!?\n]*\b(?:is|are|am|'m|'s) (?:now |basically |"
    r"officially )?"
    r"(?:just )?an? (?:[a-z]+ ){0,2}(?:of|zone|scene|disaster|joke|meme|museum|graveyard|jungle|"
    r"swamp|"
    r"comedy|tragedy|legend|potato|raccoon|goblin|zombie)\b",
    re.IGNORECASE,
)
"""What is said for a laugh: "lol I'm basically 900 years old"."""

_WHOSE_LINE = re.compile(
    r"(?:^|[.!?,;\n] *)(?:so |and |but )?(?:who|what|which|where)\b[^?.!]{0,50}\b(?:line|lines|"
    r"quote|song|"
    r"lyrics?|film|movie|book|poem|sketch|said (?:that|this|it)|sang|sings|wrote (?:that|this|"
    r"it)|from|"
    r"saying|reference)\b[^?.!]{0,30}\?\s*$"
    r"|\b(?:name that (?:film|tune|song|movie)|guess the (?:film|song|movie|quote))\b",
    re.IGNORECASE,
)
"""A question whose words stand before it: "who wrote that line?"."""

_OF_PLAY: Final = word_set(
    "pretend imagine suppose supposing role roleplay role-play act play playing let's lets say "
    "assume picture knock once april rumour rumor hypothetically plot idea character protagonist "
    "theoretically sake narrator heroine hero avatar villain timeline universe dream dreams "
    "dimension reality skit "
    "demo mockup mock-up tutorial "
    "sketch scene novel story stories script screenplay poem song lyrics monologue dialogue fanfic "
    "fiction film movie musical panto pantomime game campaign d&d dnd larp improv sitcom comic ad "
    "show series drama book podcast episode programme soap thriller anime manga audiobook "
    "advert audition parody another alternate alternative parallel alter you're i'll"
)
"""Words of which each match of ``_PLAYED`` has one, but for "you are", "what if" and "I will"."""

_LAUGHED: Final = word_set(
    "basically literally practically virtually totally officially legally technically emotionally "
    "spiritually old lol haha hahaha lmao rofl"
)
"""Words of which each match of ``_TOO_MUCH`` has one."""

_OF_JOKES: Final = word_set("seriously seriousness serious aside course right")
"""Words of which each match of ``_JOKED`` and ``_MOCKED`` has one."""

_SIGNS: Final = ("you are", "ou’re", "what if", "i will", "i’ll", "let me", "let’s")
_WORD: Final = table("&'-")
_IF: Final = "what if"
_ANY: Final = telling(
    _OF_PLAY | _LAUGHED | _OF_JOKES.union(_SIGNS) - {_IF}, word_set("you ou what me")
)
"""What a message without play, laughter and jokes has none of; of "what ifs" it may have."""

_LINES: Final = word_set(
    "line lines quote song lyric lyrics film movie book poem sketch said sang sings wrote from "
    "saying reference name guess"
)
"""Words of which each match of ``_WHOSE_LINE`` has one."""


_JOKED = re.compile(
    r"(?<=[.!?\n] )(?:but |no |ok |okay )?(?:seriously|jok(?:es?|ing) aside|in all seriousness|"
    r"on a serious note)\b[,:]? ",
    re.IGNORECASE,
)
"""Where a joke ends: "I drive a Ferrari. Seriously, …"."""

_MOCKED = re.compile(
    r"^(?:(?:ha|haha\w*|lol|lmao|oh|yeah|yes|sure|well|ah)[,.!]? )+(?:of course|yeah right|"
    r"right)\b,? "
    r"[^.!?\n]*[.!?\n]?",
    re.IGNORECASE,
)
"""A mocking answer: "haha yes of course, my car is a Ferrari"."""


def own_life(text: str, spoken: Sequence[str] | None = None) -> str:
    """A message up to where it is played, made up or asked about; empty where all of it is.

    ``spoken`` are its runs of letters, or those of a text of which it is a part.
    """
    is_asked = text.rstrip().endswith("?")
    lower = text.lower()
    if _ANY.isdisjoint(letter_runs(text) if spoken is None else spoken) and _IF not in lower:
        return "" if is_asked and _asks_whose_line(text) else text
    words_ = frozenset(runs(lower, _WORD))
    if not _OF_JOKES.isdisjoint(words_):
        jokes = list(_JOKED.finditer(text))
        if jokes:
            text = _blank(text[: jokes[-1].end()]) + text[jokes[-1].end() :]
        text = _MOCKED.sub(lambda match: _blank(match[0]), text)
    if not _LAUGHED.isdisjoint(words_) and _TOO_MUCH.search(text):
        return ""
    if is_asked and _asks_whose_line(text):
        return ""
    if _OF_PLAY.isdisjoint(words_) and not has_any(lower, _SIGNS):
        return text
    return _unplayed(text)


def _asks_whose_line(text: str) -> bool:
    return not _LINES.isdisjoint(words(text)) and _WHOSE_LINE.search(text) is not None


def _unplayed(text: str) -> str:
    """A message up to where a game, a story or a supposition begins."""
    first = len(text) - len(text.lstrip())
    if _PLAYED.match(text, first):
        return ""
    for boundary in _BOUNDARY.finditer(text, first):
        if _PLAYED.match(text, boundary.end()):
            return text[: boundary.start()]
    return text


def _blank(text: str) -> str:
    return " " * len(text)
