"""Leaves out of a message what is played, made up or quoted in it. No I/O.

"Let's role-play: I'm a baker from Lyon" states nothing of its writer, nor does a line of a film
whose maker is asked for.
"""

from __future__ import annotations

import re
from typing import Final

from treering.views.facts.verbs import word_set

_STARTS = r"(?:^|(?<=[.!?\n] )|(?<=\n)|(?<=[,;:] )|(?<=\bso )|(?<=\bok )|(?<=\bokay )|(?<=\blol ))"
"""Where a request stands: first in a sentence or behind a comma."""

_WORK = (
    r"(?:role-?\s?play|play|skit|sketch|scene|novel|story|stories|short story|script|screenplay|"
    r"poem|song|lyrics|monologue|dialogue|fanfic|fiction|film|movie|musical|panto|game|campaign|"
    r"d&d|dnd|larp|character|improv|pantomime|sitcom|comic|ad|advert|radio play|audition|parody)"
)
_PLAYED = re.compile(
    rf"{_STARTS}(?:let(?:'|’)?s (?:play|pretend|role|say|imagine|do an?|make believe|act|improvise|"
    r"suppose)|pretend|imagine|suppose|supposing|role-?\s?play|act (?:as|like)|play (?:an? |the (?:role|part|character)\b)"
    r"|you(?:'re| are|’re) (?:(?:going to play|playing|now an?)\b|(?:an?|my|the) [^.!?\n]*(?:\band|,) "
    r"(?:I|you)\b)"
    r"|(?:say|assume|picture) (?:that )?(?:I|we|you|my|this|a|someone|somebody)\b"
    r"|(?:I'll|I will|I’ll|let me) (?:be|play) (?:the|an?|your) [^.!?\n]*\byou\b|knock,? knock|once upon a time|april fools?"
    r"|rumou?r has it|what if|hypothetically|in an? (?:alternate|alternative|parallel|different|other) (?:timeline|universe|world|life|dimension|"
    r"reality|galaxy)|in (?:another|my next|my previous|my past|my dream) (?:life|timeline|universe|world)s?|plot idea|story idea"
    rf"|(?:for|in|from) (?:the|my|our|a|an|this|his|her|their) (?:[\w'’-]+ ){{0,2}}{_WORK}\b"
    rf"|(?:my|the|our|his|her) (?:[\w'’-]+ ){{0,2}}(?:character|protagonist|narrator|heroine|hero|"
    r"avatar|alter ego|villain|dream self)\b"
    rf"|I(?:'m|’m| am) (?:playing|writing|reading|directing|auditioning|rehearsing)\b[^.!?\n]*\b{_WORK}\b"
    r")",
    re.IGNORECASE,
)
"""From where on a message is a game, a story or a supposition."""

_TOO_MUCH = re.compile(
    r"\b(?:lol|haha\w*|lmao|rofl|jk|kidding|joking)\b.*\b(?:basically|literally|practically|virtually|"
    r"totally|officially|legally|technically|emotionally|spiritually)\b"
    r"|\b(?:basically|literally|practically|virtually|spiritually|emotionally) (?:\d{3,}|dead|dying|"
    r"married to (?:my|the)|in love with (?:my|the)|an? (?:ghost|zombie|robot|vampire|hermit|goblin))\b"
    r"|\bI(?:'m| am) [^.!?\n]*\b\d{3,} years old\b",
    re.IGNORECASE,
)
"""What is said for a laugh: "lol I'm basically 900 years old"."""

_WHOSE_LINE = re.compile(
    r"(?:^|[.!?,;\n] *)(?:so |and |but )?(?:who|what|which|where)\b[^?.!]{0,50}\b(?:line|lines|quote|song|"
    r"lyrics?|film|movie|book|poem|sketch|said (?:that|this|it)|sang|sings|wrote (?:that|this|it)|from|"
    r"saying|reference)\b[^?.!]{0,30}\?\s*$"
    r"|\b(?:name that (?:film|tune|song|movie)|guess the (?:film|song|movie|quote))\b",
    re.IGNORECASE,
)
"""A question whose words stand before it: "who wrote that line?"."""

_OF_FICTION: Final = word_set(
    "pretend imagine suppose supposing role roleplay role-play act play plays playing say assume "
    "picture knock once april rumour rumor hypothetically plot idea character protagonist "
    "narrator heroine hero avatar villain lol lmao rofl basically literally practically virtually "
    "spiritually emotionally legally technically line lines quote song lyric lyrics film movie said sang "
    "sings wrote saying reference skit sketch scene novel story stories script screenplay poem "
    "monologue dialogue fanfic fiction musical panto game campaign d&d dnd larp improv sitcom comic "
    "ad advert audition parody timeline universe dream dreams dimension reality old you're let's lets from reading writing"
) | {"i'll"}
_WORD = re.compile(r"[a-z&'-]+")


def own_life(text: str) -> str:
    """A message up to where it is played, made up or asked about; empty where all of it is."""
    words = frozenset(_WORD.findall(text.lower().replace("’", "'")))
    if words.isdisjoint(_OF_FICTION) and "you are" not in text and "what if" not in text.lower():
        return text
    if _TOO_MUCH.search(text) or _WHOSE_LINE.search(text):
        return ""
    played = _PLAYED.search(text)
    return text if played is None else text[: played.start()]
