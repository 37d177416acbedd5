"""Groups of options that choose entries, rank them, or describe them; and ``KEY=VALUE``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from treering.cli.moments import FORMS
from treering.cli.options import Moment, opt, option_group
from treering.errors import InputError
from treering.records import JSON, Kind
from treering.text import nearest_told

if TYPE_CHECKING:
    from treering.memory import Memory

NO_RELATION = "none"
SHOWN_CHARS = 80


@dataclass(frozen=True, slots=True)
class Filters:
    """Which entries are meant."""

    source: str | None = None
    speaker: str | None = None
    session: str | None = None
    kind: Kind | None = None
    since: Moment = None
    until: Moment = None
    as_of: Moment = None
    meta: list[str] | None = None

    def where(self, memory: Memory) -> dict[str, Any]:
        """Return the filters as methods of ``memory`` take them.

        A path in ``source`` selects the file or folder that was added by it, unless a source has
        that very name.
        """
        given = {key: value for key, value in asdict(self).items() if value is not None}
        if meta := given.pop("meta", None):
            given["metadata"] = _metadata(meta)
        if self.source is not None:
            names = _path_names(self.source)
            there = (name for name in names if memory.page(limit=1, source=name).entries)
            given["source"] = next(there, self.source)
        return given

    def why_nothing(self, memory: Memory) -> Iterator[str]:
        """Yield possible reasons why no entry meets these filters."""
        given = self.where(memory)
        for name in ("source", "speaker", "session"):
            value = given.get(name)
            if value and not memory.page(limit=1, **{name: value}).entries:
                names = {getattr(entry, name) for entry in memory.entries()} - {None}
                yield f"no entry has the {name} {value!r}{nearest_told(value, names)}"
        if self.since or self.until:
            undated = sum(entry.at is None for entry in memory.entries())
            if undated:
                have = "entry has" if undated == 1 else "entries have"
                yield f"{undated:,} {have} no time: --since and --until do not match it"


option_group(
    Filters,
    "Filters (all must hold)",
    source="Only from this source, as `treering list --sources` shows it, or a file or folder that "
    "was added. If it ends in /, everything below that folder.",
    speaker="Only texts of this speaker.",
    session="Only from this session.",
    kind="Only content of this kind.",
    since=f"Only from this time on: {FORMS}. Entries without a time do not match.",
    until="Only before this time. Entries without a time do not match.",
    as_of=f"Only entries dated before this time, as they were marked then: {FORMS}. Those without "
    "a time count from the time they were added.",
    meta=opt(
        "Only with this metadata; may be repeated. A value is read as JSON if it is valid JSON: 7 "
        "is a number, '\"7\"' a text, '{\"$in\": [7, 8]}' one of several, '{\"$gte\": 7}' a "
        "condition.",
        metavar="KEY=VALUE",
    ),
)


@dataclass(frozen=True, slots=True)
class RankingOptions:
    """How candidates are scored."""

    mode: Literal["hybrid", "lexical", "dense"] | None = None
    relation: list[str] | None = None
    alpha: list[str] | None = None
    min_confidence: float = 0.0

    def arguments(self) -> dict[str, Any]:
        """Return the choice as methods of ``Memory`` take it. Raise InputError."""
        least = self.min_confidence
        if not 0.0 <= least <= 1.0:  # "nan", too, which no range of an option sees
            raise InputError(f"--min-confidence {least:g}; give a number from 0 to 1")
        return {
            "mode": self.mode,
            "relations": self._relations(),
            "alpha": self._alpha(),
            "min_confidence": least,
        }

    def _relations(self) -> tuple[str, ...] | None:
        if not self.relation or NO_RELATION not in self.relation:
            return tuple(self.relation) if self.relation else None
        if len(self.relation) > 1:
            raise InputError(f"--relation {NO_RELATION} cannot go with other relations")
        return ()

    def _alpha(self) -> float | dict[str, float] | None:
        if not self.alpha:
            return None
        if len(self.alpha) == 1 and "=" not in self.alpha[0]:
            return _number(self.alpha[0])
        pairs = (_pair(weight, "--alpha", "NAME=NUMBER") for weight in self.alpha)
        return {name: _number(value) for name, value in pairs}


option_group(
    RankingOptions,
    "Ranking",
    mode="How a text itself is scored: hybrid (words and meaning), lexical (BM25) or dense "
    "(cosine).",
    relation=opt(
        "Also count how well related fragments score. Relations: context, time, semantic, session, "
        "speaker, agents, same(key=KEY), cites, message, named, mention, when, role, wish, parts, "
        "source, reply, topic, tree; with parameters and weight: 'context(w=0.7) @ 0.2'; may be "
        "repeated; 'none' for plain search. Default: those that suit each kind of content.",
        metavar="NAME",
    ),
    alpha=opt(
        "The weight of relations: a number for all, or NAME=NUMBER; may be repeated.",
        metavar="WEIGHT",
    ),
    min_confidence=opt(
        "Leave out hits that are less sure than this. 0.1 keeps nearly all right hits; with 0.25, "
        "most questions that the memory cannot answer find nothing; a quarter of those that it "
        "can answer lose their right hits.",
        metavar="0..1",
    ),
)


@dataclass(frozen=True, slots=True)
class EntryOptions:
    """Properties of new entries."""

    kind: Kind | None = None
    at: Moment = None
    speaker: str | None = None
    session: str | None = None
    meta: list[str] | None = None
    mask: bool = False
    encoding: str | None = None

    def arguments(self) -> dict[str, Any]:
        """Return the options as ``Memory.add`` takes them. Raise InputError."""
        given = asdict(self)
        return given | {"metadata": _metadata(given.pop("meta") or [])}


option_group(
    EntryOptions,
    kind="The kind of content. Default: by the file's name and content.",
    at=f"When it was said or written: {FORMS}.",
    speaker="The speaker or author.",
    session="The conversation it belongs to.",
    meta=opt(
        "Metadata; may be repeated. A value is read as JSON if it is valid JSON, else it is text.",
        metavar="KEY=VALUE",
    ),
    mask="Store no keys, passwords and <private> passages.",
    encoding=opt("Of text files that are not UTF-8, such as cp1252.", metavar="NAME"),
)


def _path_names(source: str) -> tuple[str, ...]:
    """Return the names that a source may have: as it is, and the path of a file or a folder."""
    if not source:  # a variable that is not set does not mean the current folder
        return ()
    path = source
    with suppress(RuntimeError):  # there is no such user, or links lead in a circle
        path = str(Path(source).expanduser().resolve())
    return source, f"{path}/" if source.endswith("/") else path, f"{path}/"


# ---------------------------------------------------------------------- KEY=VALUE


def _metadata(pairs: Iterable[str]) -> dict[str, JSON]:
    """Return values by key. Raise InputError for a repeated key, and for ``KEY>=VALUE``."""
    by_key: dict[str, JSON] = {}
    for pair in pairs:
        key, text = _pair(pair, "--meta", "KEY=VALUE")
        if key.endswith(("<", ">", "!")):
            raise InputError(
                f"--meta {_cut(pair)!r} compares; give a condition as JSON, such as "
                f"{key.rstrip('<>!')}='{{\"$gte\": 7}}'"
            )
        if key in by_key:
            raise InputError(f"--meta gives {key!r} twice; give it once, such as {key}='[1, 2]'")
        by_key[key] = _value(text)
    return by_key


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise InputError(f"{option} {text!r}; give {form}")
    return key, value


def _value(text: str) -> JSON:
    try:
        value: JSON = json.loads(text)
    except (ValueError, RecursionError) as error:
        # As a text, a mistyped condition would silently find nothing.
        if text.lstrip().startswith(("{", "[", '"')):
            shown = _cut(text)
            reason = getattr(error, "msg", "it is too long or too deep")
            raise InputError(
                f"--meta: the value {shown!r} begins like JSON but is not: {reason}; correct it, "
                f"or write a text that begins so as JSON: {json.dumps(shown, ensure_ascii=False)}"
            ) from error
        return text
    return value


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f"--alpha {text!r} is not a number; give one such as 0.5") from error
