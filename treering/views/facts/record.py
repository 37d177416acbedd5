"""A statement, and which entries may state anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

from treering.journal.entries import OWN_SOURCES
from treering.records import Entry

Sense = Literal["holds", "ended", "planned"]
"""Whether a statement says that something is so, is so no longer, or is to be so."""

SENSES: Final[tuple[Sense, ...]] = get_args(Sense)

FORMS_READER: Final = "forms"
"""The reader that needs no model. A model's statements have the model's name."""

MAX_NOTE_CHARS: Final = 600
"""A longer text without a speaker is read as a story or an article, not as a person's note."""

_BOTS: Final = frozenset({"assistant", "system", "tool"})


@dataclass(frozen=True, slots=True)
class Statement:
    """A clause that gives an ``attribute`` of a ``subject`` a ``value``.

    ``start`` and ``stop`` are the clause's character offsets in its entry. A ``single`` statement
    replaces other values of the attribute. ``speaker`` made the statement, and ``reader`` found it.
    """

    subject: str
    attribute: str
    value: str
    sense: Sense
    start: int
    stop: int
    single: bool
    speaker: str
    reader: str = FORMS_READER


def states_facts(entry: Entry) -> bool:
    """Whether an entry is a person's own words: no bot's, no code, no long text of no speaker."""
    if entry.kind == "code" or entry.role in _BOTS or entry.source.startswith(OWN_SOURCES):
        return False
    return entry.speaker is not None or len(entry.text) <= MAX_NOTE_CHARS


def speaker_of(entry: Entry) -> str:
    """The name of an entry's speaker in lower case; its role or source if it names no speaker."""
    return (entry.speaker or entry.role or entry.source).casefold()
