"""A person's changes to memos: each is an entry of the journal that holds the whole new memo.

So an export carries the changes, and applying them again gives the same memos.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from typing import Any, Final

from treering.errors import InputError
from treering.hints import Hint
from treering.journal import entries, sources, work, writing
from treering.journal.contract import Writer
from treering.journal.fields import metadata_json
from treering.journal.space import SpaceWriter
from treering.journal.writing import Draft
from treering.text import check_text
from treering.views.memos import store
from treering.views.memos.record import Claim, Memo
from treering.views.memos.store import NewMemo

SOURCE: Final = f"{entries.OWN_SOURCES}memos"
"""The source of the entries of changes. It is not a conversation, and takes nothing else."""

VIEW: Final = "memo:change"
"""Work whose targets are entries of changes that no memo follows yet."""

MAX_TOPIC_CHARS: Final = 200  # one line of a list
MAX_SUMMARY_CHARS: Final = 4_000  # half of a 2,048-token window

_KEY: Final = "memo"


def refuse(source: str | None) -> None:
    """Raise InputError for a source that only treering writes to."""
    if source == SOURCE:
        message = f"source {SOURCE!r} is that of changes to memos, not of entries of your own"
        raise InputError(message, hint=Hint.EDIT_MEMO, param="source")
    if source == entries.HISTORY:
        message = f"source {source!r} is that of corrections, not of entries of your own"
        raise InputError(message, param="source")


def record(writer: SpaceWriter, memo: Memo, seen: Sequence[int], *, deleted: bool = False) -> None:
    """Append the entry of a memo's new state, and apply it.

    ``seen`` are the entries that its text may be drawn from, beside the lines it stands for.
    """
    state: dict[str, Any] = {
        "id": memo.id,
        "topic": "" if deleted else memo.topic,
        "claims": [] if deleted else [[claim.text, claim.supported] for claim in memo.claims],
        "pinned": memo.pinned and not deleted,
        "deleted": deleted,
        "lines": list(memo.entry_ids),
        "seen": entries.identities(writer, seen),
    }
    text = "A memo was deleted." if deleted else f"Memo: {memo.topic}. {memo.summary}".strip()
    identity = secrets.token_hex(8)
    draft = Draft(
        text=text,
        kind="text",
        metadata=metadata_json({_KEY: state}),
        key=identity,  # pinned, unpinned and pinned again are three changes
        id=identity,
    )
    place = sources.source_id(writer, writer.space, SOURCE)
    writing.append(writer, writer.space, place, [draft], VIEW, is_checked=False)
    apply(writer)


def check(metadata: str) -> None:
    """Raise InputError if the metadata of an entry, as JSON, hold no change."""
    _read(json.loads(metadata).get(_KEY))


def apply(writer: Writer) -> None:
    """Apply every queued change to the memos. Raises InputError for an entry without a change.

    Lines that are missing (or were erased) are left out. A model's memo goes if a person's memos
    stand for all of its lines: it was written before the person's memos were imported.
    """
    queued = work.targets(writer, writer.space, VIEW, 1 << 62)
    # In the order of the journal: of two changes to one memo the later one must win.
    for seq in sorted(work.claim(writer, writer.space, VIEW, queued)):
        entry = entries.there(writer, [seq])[seq]
        change = _read(entry.metadata.get(_KEY))
        new = NewMemo(
            topic=change["topic"],
            claims=change["claims"],
            origin="edited",
            made=entries.micros(entry.added),
            covered=tuple(entries.seqs_of(writer, writer.space, change["lines"])),
            seen=tuple(entries.seqs_of(writer, writer.space, change["seen"])),
            pinned=change["pinned"],
            deleted=change["deleted"],
            change=seq,
        )
        store.put(writer, change["id"], new)
        store.drop_repeated(writer, new.covered)


def _read(change: Any) -> dict[str, Any]:
    """Read what ``record`` wrote. It may come from an import, so every field is checked."""
    try:
        is_deleted = bool(change["deleted"])
        return {
            "id": clean_topic(change["id"], "id"),
            "topic": "" if is_deleted else clean_topic(change["topic"]),
            "claims": tuple(Claim(clean_summary(text), bool(ok)) for text, ok in change["claims"]),
            "lines": [str(identity) for identity in change["lines"]],
            "seen": [str(identity) for identity in change["seen"]],
            "pinned": bool(change["pinned"]),
            "deleted": is_deleted,
        }
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"an entry of {SOURCE!r} has {change!r} as {_KEY!r} in its metadata, which is no "
            "change of a memo; import an export as it was written"
        ) from error


def clean_topic(topic: object, what: str = "topic") -> str:
    """Return a topic on one line. Raises InputError."""
    return _clean(topic, what, MAX_TOPIC_CHARS)


def clean_summary(summary: object) -> str:
    """Return a summary on one line. Raises InputError."""
    return _clean(summary, "summary", MAX_SUMMARY_CHARS)


def _clean(value: object, what: str, limit: int) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"the memo's {what} is {value!r}; give a text that is not empty")
    text = " ".join(check_text(value, f"the memo's {what}").split())
    if len(text) > limit:
        raise InputError(f"the memo's {what} has {len(text)} characters; at most {limit}")
    return text
