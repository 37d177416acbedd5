"""Texts and OpenAI-style messages to drafts. Everything is checked before anything is stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from treering.errors import EmptyText, InputError
from treering.ingest.secrets import Cleaner
from treering.journal.fields import checked_name, metadata_json, parse_time
from treering.journal.writing import Draft
from treering.records import JSON, KINDS, Kind, Receipt
from treering.split.stream import MAX_ENTRY_CHARS, pieces
from treering.text import check_text

PRIVATE_ONLY = "[private]"
"""Stands for a message of which nothing may be stored: a conversation keeps its turns."""

_CONTENT = Draft._fields.index("key")
"""The fields of a draft before its key are its content."""

_ENVELOPE = frozenset({"role", "name", "content", "at", "session", "metadata"})


@dataclass(frozen=True, slots=True)
class Envelope:
    """Fields of all entries of one ``add``, unless a message has its own."""

    kind: Kind | None = None
    at: datetime | None = None
    speaker: str | None = None
    session: str | None = None
    metadata: Mapping[str, JSON] = field(default_factory=dict)
    cleaner: Cleaner | None = None
    """Takes secrets out of texts; None where they are stored as they are."""
    expires: datetime | None = None
    pinned: bool = False
    encoding: str | None = None
    """Of text files that are not UTF-8."""

    @classmethod
    def check(
        cls,
        kind: Kind | None,
        at: object,
        speaker: str | None,
        session: str | None,
        metadata: Mapping[str, JSON] | None,
        mask: bool = False,
        expires: object = None,
        pin: bool = False,
        encoding: str | None = None,
    ) -> Envelope:
        """Checked values. Raises InputError."""
        _metadata_json(metadata or {})
        return cls(
            kind=_kind(kind),
            at=None if at is None else parse_time(at, "at"),
            speaker=checked_name(speaker, "speaker"),
            session=checked_name(session, "session"),
            metadata=metadata or {},
            cleaner=Cleaner() if mask else None,
            expires=None if expires is None else _future(expires),
            pinned=pin,
            encoding=None if encoding is None else _codec(encoding),
        )

    def clean(self, text: str) -> str:
        """A text as it is to be stored."""
        return self.cleaner.clean(text) if self.cleaner else text

    def count(self, receipt: Receipt) -> Receipt:
        """Return a receipt with the counts of ``clean``."""
        return self.cleaner.count(receipt) if self.cleaner else receipt

    def without_counts(self) -> Envelope:
        """The same, for a reading that stores nothing: its masked secrets are not counted."""
        return replace(self, cleaner=Cleaner()) if self.cleaner else self

    def canonical(self) -> str:
        """The same text for the same values, for a digest."""
        shared = [self.kind, self.at, self.speaker, self.session, metadata_json(self.metadata)]
        others = [self.cleaner is not None, self.expires, self.pinned, self.encoding]
        return json.dumps([*shared, *others], ensure_ascii=False, default=str)


def text_drafts(blocks: Iterable[str], envelope: Envelope, what: str) -> Iterator[Draft]:
    """A text of any length as drafts. Raises EmptyText if there is nothing but white space."""
    draft = Draft(
        text="",
        kind=envelope.kind or "text",
        at=envelope.at,
        speaker=envelope.speaker,
        session=envelope.session,
        metadata=metadata_json(envelope.metadata),
        expires=envelope.expires,
        pinned=envelope.pinned,
    )
    if envelope.cleaner is not None:
        blocks = [envelope.clean("".join(blocks))]  # whole: a private passage may be of any length
    blank = True
    for piece in pieces(blocks):
        blank = blank and piece.isspace()
        yield draft._replace(text=piece)
    if blank:
        raise EmptyText(f"{what} is empty; give at least one character that is not white space")


def message_drafts(
    messages: Iterable[Mapping[str, Any]], envelope: Envelope, origin: str = ""
) -> Iterator[Draft]:
    """OpenAI-style messages as drafts, one a message (a very long one becomes several).

    Keys: ``role``, ``content`` (a text or a list of text parts), and optionally ``name``, ``at``
    (ISO 8601, a datetime or seconds since the epoch), ``session`` and ``metadata``. Other keys,
    such as ``tool_calls``, are kept in the metadata. Raises InputError naming the message, and the
    ``origin`` that they are of, such as a file.
    """
    number = -1
    for number, message in enumerate(messages):
        what = f"{origin}: message {number}" if origin else f"message {number}"
        if not isinstance(message, Mapping):
            raise InputError(f"{what} is a {type(message).__name__}; give a mapping with 'content'")
        draft = _message(message, envelope, what)
        if len(draft.text) <= MAX_ENTRY_CHARS:  # nearly all are
            yield draft
            continue
        for piece in pieces([draft.text]):
            yield draft._replace(text=piece)
    if number < 0:
        raise EmptyText(f"{origin or 'the list'} has no messages; give at least one")


def _metadata_json(metadata: Mapping[str, JSON]) -> str:
    text = metadata_json(metadata)
    if "" in metadata:
        raise InputError("a key of the metadata is empty; give it a name")
    return text


def _message(message: Mapping[str, Any], envelope: Envelope, what: str) -> Draft:
    role = checked_name(message.get("role"), f"{what}: role")
    name = checked_name(message.get("name"), f"{what}: name")
    at = message.get("at")
    text = envelope.clean(check_text(_content(message, what), what))
    return Draft(
        text=text if text.strip() else PRIVATE_ONLY,
        kind=envelope.kind or "chat",
        at=envelope.at if at is None else parse_time(at, what),
        speaker=name or envelope.speaker or role,
        role=role,
        session=checked_name(message.get("session", envelope.session), f"{what}: session"),
        metadata=_metadata_of(message, envelope, what),
        expires=envelope.expires,
        pinned=envelope.pinned,
    )


def _metadata_of(message: Mapping[str, Any], envelope: Envelope, what: str) -> str:
    given = message.get("metadata") or {}
    if not isinstance(given, Mapping):
        raise InputError(f"{what}: metadata is a {type(given).__name__}; give a mapping")
    if message.keys() <= _ENVELOPE and not envelope.metadata and not given:
        return _metadata_json(given)
    extra = {key: value for key, value in message.items() if key not in _ENVELOPE}
    own = {**extra, **given}
    if envelope.cleaner:  # a call of a tool may quote a password
        own = clean_values(own, envelope.clean)
    return _metadata_json({**envelope.metadata, **own})


def clean_values(value: Any, clean: Callable[[str], str], key: str = "") -> Any:
    """Clean the texts of metadata, each behind its key: some secrets are known by their name."""
    if isinstance(value, str):
        name = f"{key}: " if key else ""
        return clean(f"{name}{value}").removeprefix(name)
    if isinstance(value, Mapping):
        return {each: clean_values(part, clean, str(each)) for each, part in value.items()}
    if isinstance(value, list | tuple):
        return [clean_values(part, clean, key) for part in value]
    return value


def _content(message: Mapping[str, Any], what: str) -> str:
    content = message.get("content")
    if isinstance(content, list):
        content = "\n".join(_part(part, what) for part in content)
    if content is None and message.get("tool_calls"):
        content = json.dumps(message["tool_calls"], ensure_ascii=False)
    if content is None:
        raise InputError(f"{what} has no content; give a text")
    if not isinstance(content, str):
        raise InputError(f"{what}: content is a {type(content).__name__}; give a text")
    if not content.strip():
        raise EmptyText(f"{what} is empty; leave it out, or give it a text")
    return content


def _part(part: object, what: str) -> str:
    """The text of a content part; for an image or a sound, its type in brackets."""
    text = part.get("text") if isinstance(part, Mapping) else part
    if isinstance(text, str):
        return text
    if isinstance(part, Mapping) and isinstance(part.get("type"), str):
        return f"[{part['type']}]"
    raise InputError(
        f"{what}: a content part is a {type(part).__name__}; give a mapping with 'type'"
    )


class Numbering:
    """Gives equal drafts of one source different keys, so that the second "ok" of a chat stays.

    The n-th of equal drafts gets the key n, whatever comes between: adding a longer version of
    the same chat finds those that are there.
    """

    def __init__(self) -> None:
        self._seen: set[int] = set()  # hashes: a file may have millions of messages
        self._again: dict[int, int] = {}

    def number(self, draft: Draft, source: str) -> Draft:
        """The draft with its key."""
        content = hash((source, draft[:_CONTENT]))
        if content not in self._seen:
            self._seen.add(content)
            return draft
        self._again[content] = count = self._again.get(content, 0) + 1
        return draft._replace(key=str(count))


def with_keys(drafts: Iterable[Draft], source: str) -> Iterator[Draft]:
    """The drafts of one source with their keys."""
    numbering = Numbering()
    return (numbering.number(draft, source) for draft in drafts)


def _future(expires: object) -> datetime:
    end = parse_time(expires, "expires")
    if end <= datetime.now(UTC):
        raise InputError(f"expires: {end.isoformat()} has passed; give a time to come")
    return end


def _codec(encoding: str) -> str:
    try:
        "".encode(encoding)
    except (LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"encoding {encoding!r} is unknown; give one such as cp1252, shift_jis or utf-16-le",
            param="encoding",
        ) from error
    return encoding


def _kind(kind: Kind | None) -> Kind | None:
    if kind is not None and kind not in KINDS:
        raise InputError(f"kind is {kind!r}; it can be {', '.join(KINDS)}", param="kind")
    return kind
