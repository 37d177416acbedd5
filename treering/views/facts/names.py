"""Gives the names in a text without capitals theirs, where their place gives them away. No I/O."""

from __future__ import annotations

import re
from typing import Final

from treering.views.facts.tokens import words
from treering.views.facts.verbs import NO_VALUES, ROLES, word_set

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

# A text has one of these words wherever the expression beside them matches.
_TITLES: Final = word_set("dr mr mrs ms miss prof professor st")
_OWNERS: Final = word_set("my our home")
_BY_WORDS: Final = (
    (word_set("called named name"), _CALLED),
    (word_set("named"), _NAMED),
    (_OWNERS, _ROLE),
    (_OWNERS, _FIRST),
)
_PLACING: Final = frozenset(words(word)[0] for word in _OF_PLACES)
NAMING: Final = _PLACING.union(_JOINING, _TITLES, _OWNERS, *(needed for needed, _ in _BY_WORDS))


def named(text: str) -> str:
    """A text without capitals, with those of the names that their place in it gives away."""
    spoken = frozenset(words(text))
    if not _TITLES.isdisjoint(spoken):
        text = _TITLED.sub(lambda m: m[1].capitalize() + m[2] + m[3].upper() + m[4], text)
    for needed, pattern in _BY_WORDS:
        if not needed.isdisjoint(spoken):
            text = pattern.sub(_capitalised, text)
    is_placed = not _PLACING.isdisjoint(spoken) and not _TOWARDS.isdisjoint(spoken)
    return _led_to(text) if is_placed or not _JOINING.isdisjoint(spoken) else text


def _led_to(text: str) -> str:
    """A text with the capitals of names behind the words that lead to one."""
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
    return f"{lead}{capital(name) if _may_be_name(name) else name}"


def _may_be_name(word: str) -> bool:
    return (
        word not in _NO_NAME
        and word not in NO_VALUES
        and word[:2].isalpha()
        and _ENDING.search(word) is None
    )


def capital(word: str) -> str:
    """A word with a capital."""
    return word[:1].upper() + word[1:]
