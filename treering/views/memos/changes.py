"""A person's changes to memos: each is an entry of the journal that holds the whole new memo.

So the history stays, an export carries the changes, and applying them again gives the same memos.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

from treering.errors import InputError
from treering.hints import Hint
from treering.journal import entries, sources, work, writing
from treering.journal.contract import Reader, Writer
from treering.journal.fields import metadata_json
from treering.journal.writing import Draft
from treering.text import check_text
from treering.views.memos import store
from treering.views.memos.record import Claim, Memo
from treering.views.memos.store import NewVersion

SOURCE: Final = f"{entries.OWN_SOURCES}memos"
"""The source of the entries of changes. It is not a conversation, and takes nothing else."""

VIEW: Final = "memo:change"
"""Work whose targets are entries of changes that no memo follows yet."""

MAX_TOPIC_CHARS: Final = 200  # one line of a list
MAX_SUMMARY_CHARS: Final = 4_000  # half of a 2,048-token window

_KEY: Final = "memo"


def refuse(source: str | None) -> None:
    """Raise InputError for the source that only ``memory.memos`` writes to."""
    if source == SOURCE:
        message = f"source {SOURCE!r} is that of changes to memos, not of entries of your own"
        raise InputError(message, hint=Hint.EDIT_MEMO, param="source")


def say(writer: Writer, space: int, memo: Memo, seen: Sequence[int]) -> None:
    """Append the entry that holds a memo as it is from now on.

    ``seen`` are the entries that its text may be drawn from, beside the lines it stands for.
    """
    stands_for: dict[str, Any] = {
        "id": memo.id,
        "topic": memo.topic,
        "claims": [[claim.text, claim.supported] for claim in memo.claims],
        "pinned": memo.pinned,
        "deleted": memo.deleted,
        "lines": list(memo.entry_ids),
        "seen": entries.identities(writer, seen),
    }
    text = "A memo was deleted." if memo.deleted else f"Memo: {memo.topic}. {memo.summary}".strip()
    identity = secrets.token_hex(8)
    draft = Draft(
        text=text,
        kind="text",
        metadata=metadata_json({_KEY: stands_for}),
        key=identity,  # pinned, unpinned and pinned again are three changes
        id=identity,
    )
    place = sources.source_id(writer, space, SOURCE)
    writing.append(writer, space, place, [draft], VIEW)


def check(metadata: str) -> None:
    """Raise InputError if the metadata of an entry, as JSON, hold no change."""
    _read(json.loads(metadata).get(_KEY))


def apply(writer: Writer, space: int) -> None:
    """Apply every queued change to the memos. Raises InputError for an entry without a change.

    Lines that are missing (or were erased) are left out. A model's memo goes if a person's memos
    stand for all of its lines: it was written before the person's memos were imported.
    """
    queued = work.queued(writer, space, VIEW, store.ALL)
    # In the order of the journal: of two changes to one memo the later one must win.
    for seq in sorted(work.claim(writer, space, VIEW, queued)):
        entry = entries.there(writer, [seq])[seq]
        change = _read(entry.metadata.get(_KEY))
        new = NewVersion(
            topic=change["topic"],
            claims=change["claims"],
            origin="edited",
            made=entries.micros(entry.added),
            covered=_seqs(writer, space, change["lines"]),
            seen=_seqs(writer, space, change["seen"]),
            pinned=change["pinned"],
            deleted=change["deleted"],
            change=seq,
        )
        store.add_version(writer, store.create(writer, space, change["id"]), new)
        store.drop_repeated(writer, new.covered)


def _seqs(reader: Reader, space: int, identities: Sequence[str]) -> tuple[int, ...]:
    rows = (
        reader.row("SELECT seq FROM entry WHERE space = ? AND id = ?", (space, identity))
        for identity in identities
    )
    return tuple(int(row[0]) for row in rows if row is not None)


def _read(change: object) -> dict[str, Any]:
    """The change that ``say`` wrote. It may come from an import, so every field is checked."""
    if not isinstance(change, Mapping):
        raise InputError(f"an entry of {SOURCE!r} has no {_KEY!r} in its metadata; it is no change")
    claims = change.get("claims")
    if not isinstance(claims, list) or not all(
        isinstance(claim, list) and len(claim) == 2 for claim in claims
    ):
        raise InputError(f"a change of memo {change.get('id')!r} has claims {claims!r}; give pairs")
    return {
        "id": _text(change.get("id"), "id", MAX_TOPIC_CHARS),
        "topic": checked_topic(change.get("topic")) if not change.get("deleted") else "",
        "claims": tuple(
            Claim(_text(text, "claim", MAX_SUMMARY_CHARS), bool(held)) for text, held in claims
        ),
        "lines": _names(change, "lines"),
        "seen": _names(change, "seen"),
        "pinned": bool(change.get("pinned")),
        "deleted": bool(change.get("deleted")),
    }


def _names(change: Mapping[str, Any], key: str) -> list[str]:
    identities = change.get(key)
    if not isinstance(identities, list) or not all(
        isinstance(identity, str) for identity in identities
    ):
        raise InputError(
            f"a change of memo {change.get('id')!r} has {key} {identities!r}; give ids"
        )
    return identities


def checked_topic(topic: object) -> str:
    """A topic on one line. Raises InputError."""
    return _text(topic, "topic", MAX_TOPIC_CHARS)


def checked_summary(summary: object) -> str:
    """A summary on one line. Raises InputError."""
    return _text(summary, "summary", MAX_SUMMARY_CHARS)


def _text(value: object, what: str, limit: int) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"the memo's {what} is {value!r}; give a text that is not empty")
    text = " ".join(check_text(value, f"the memo's {what}").split())
    if len(text) > limit:
        raise InputError(f"the memo's {what} has {len(text)} characters; at most {limit}")
    return text
