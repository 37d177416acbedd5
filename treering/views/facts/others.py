"""Tells what others did from what is the speaker's life. No I/O.

"My cousin moved to Perth" and "my brother-in-law left Telstra" are news of the cousin and of the
brother-in-law, in passing. What they are and do now is kept under their name; what they changed is
not, unless they are of the speaker's household.
"""

from __future__ import annotations

import re
from typing import Final

from treering.views.facts.phrases import SEVERAL
from treering.views.facts.record import Statement
from treering.views.facts.verbs import word_set

_OTHERS: Final = SEVERAL | word_set(
    "mate mates pal buddy bloke acquaintance brother-in-law sister-in-law mother-in-law "
    "father-in-law in-laws"
)
_LEFT_BEHIND: Final = word_set("flatmate roommate housemate boss manager teacher landlord partner")
"""Who is "my old" one is mine no more."""

_BEHIND = re.compile(r" (?:on|at|in|of|from|with|down|up|next|who|that)\b")
_CHANGED: Final = word_set(
    "moved left joined sold bought switched changed swapped traded replaced quit became got gave "
    "took started stopped relocated transferred"
)
_HAVE_GONE = re.compile(
    r"\b(?:[Mm]y|[Oo]ur) [^,;:]+?(?:'s|'ve| has| have)?(?: been| just| finally)* "
    r"(?:moved|switched|changed|swapped|relocated|transferred|went|gone) "
)


def is_of_others(statement: Statement, sentence: str) -> bool:
    """Whether a statement tells what somebody outside of the speaker's household changed."""
    owned = statement.subject.partition("'s ")[2]
    owners = (word[:-2] for word in f"{owned} {statement.slot}".split() if word.endswith("'s"))
    if not _OTHERS.isdisjoint(owners):
        return True
    if words := owned.split():
        is_former = words[0] == "old" and words[-1] in _LEFT_BEHIND
        done = statement.value.removeprefix("has ").removeprefix("have ").removeprefix("been ")
        has_changed = done.partition(" ")[0] in _CHANGED
        has_changed |= statement.slot in ("home", "employer") and _has_gone(sentence)
        return is_former or (has_changed and _names_another(owned))
    return _names_another(statement.slot) and _has_gone(sentence)


def _has_gone(sentence: str) -> bool:
    return _HAVE_GONE.search(sentence) is not None


def _names_another(owned: str) -> bool:
    """Whether words name a person outside of the household: "mate on the night crew"."""
    return not _OTHERS.isdisjoint(_BEHIND.split(owned)[0].split())
