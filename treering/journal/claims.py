"""Requests with an idempotency key, and messages that wait for a reply: who works on them.

A process claims a request before it works on it; the claim holds the presence of the process. The
reply replaces the claim in the transaction that stores the result. If the process is gone, or has
failed, the next attempt takes the claim over. Every attempt has its own number, so an attempt whose
claim was taken over can no longer store anything.

Neither the key nor the request is stored. The row is found by the digest of the key, and the digest
of the request is keyed with it, so that a guessed request cannot be compared with it.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from treering import forks
from treering.errors import InputError, JournalError, RequestUnderWay
from treering.journal import entries, sources
from treering.journal.contract import Database, Writer
from treering.journal.space import UNNAMED, Space, SpaceReader, SpaceWriter

log = logging.getLogger("treering")

KEPT: Final = timedelta(days=7)
"""The life of claims and replies; no client retries after so many days."""

UNDER_WAY: Final = (
    "a request with this idempotency key is still being done; send the same request again later, "
    "and it gets the reply of that one"
)

_ATTEMPT_BITS: Final = 62
_EXPIRING: Final = ("reply", "claim")
# Space by space, because the index begins with the space.
_PAST: Final = "space IN (SELECT id FROM space) AND at < ?"


_at_work: set[int] = set()
"""The attempts of this process that have not ended."""
forks.call_in_child(_at_work.clear)  # the attempts of the parent end with the parent


@dataclass(frozen=True, slots=True)
class RequestClaim:
    """The right to do a request. ``key`` and ``request`` are digests."""

    key: bytes
    request: bytes
    attempt: int


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A reply. ``body`` is None once an entry that it may quote was forgotten."""

    status: int
    body: bytes | None


@contextmanager
def claim_request(space: Space, key: str, request: bytes) -> Iterator[RequestClaim | StoredReply]:
    """The claim on a request for the time of the block, or the reply that the request already got.

    A claim without a reply is void when the block ends. A block that raises gives it up at once.

    Raises RequestUnderWay while another attempt works on it, InputError if the key came with
    another request.
    """
    secret = key.encode("utf-8", "surrogateescape")
    digest = hashlib.sha256(secret).digest()
    attempt = secrets.randbits(_ATTEMPT_BITS)
    _at_work.add(attempt)
    try:
        claim = _begin(space, RequestClaim(digest, hmac.digest(secret, request, "sha256"), attempt))
        try:
            yield claim
        except BaseException:
            if isinstance(claim, RequestClaim):
                _give_up(space, claim)
            raise
    finally:
        _at_work.discard(attempt)


def complete(writer: SpaceWriter, claim: RequestClaim, reply: StoredReply, *, quotes: bool) -> None:
    """Replace the claim by the reply; ``quotes``: it may hold text of entries.

    Raises RequestUnderWay if the claim was taken over, to undo what is stored with it.
    """
    ended = writer.execute(
        "DELETE FROM claim WHERE space = ? AND key = ? AND attempt = ?",
        (writer.id, claim.key, claim.attempt),
    )
    if not ended:
        raise RequestUnderWay(UNDER_WAY)
    now = datetime.now(UTC)
    writer.execute(
        "DELETE FROM reply WHERE space = ? AND at < ?", (writer.id, entries.micros(now - KEPT))
    )
    writer.execute(
        "INSERT INTO reply (space, key, request, status, body, quotes, at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            *(writer.id, claim.key, claim.request),
            *(reply.status, reply.body, quotes, entries.micros(now)),
        ),
    )


def change_reply(writer: SpaceWriter, claim: RequestClaim, reply: StoredReply) -> None:
    """Replace the reply of a completed claim, unless its body was dropped."""
    writer.execute(
        "UPDATE reply SET status = ?, body = ? WHERE space = ? AND key = ? AND body IS NOT NULL",
        (reply.status, reply.body, writer.id, claim.key),
    )


def note_message(writer: SpaceWriter, claim: RequestClaim, message: Collection[str]) -> None:
    """Note the entries of the request's message; no other request has them from now on."""
    space = writer.id
    seqs = entries.seqs_of(writer, space, message)
    erase_messages(writer, seqs)
    writer.many(
        "INSERT INTO claim_entry (space, entry, key) VALUES (?, ?, ?)",
        ((space, seq, claim.key) for seq in seqs),
    )


def message(reader: SpaceReader, claim: RequestClaim) -> list[int]:
    """Return the entries of the message that an earlier attempt has stored, in order."""
    rows = reader.rows(
        "SELECT entry FROM claim_entry WHERE space = ? AND key = ? ORDER BY entry",
        (reader.id, claim.key),
    )
    return [int(row[0]) for row in rows]


def erase_messages(writer: Writer, seqs: Collection[int]) -> None:
    """Forget that entries that are about to be erased or changed were messages of requests."""
    space = writer.space
    writer.many(
        "DELETE FROM claim_entry WHERE space = ? AND entry = ?", ((space, seq) for seq in seqs)
    )


def erase_replies(writer: Writer, seqs: Sequence[int]) -> None:
    """Drop the bodies of replies that may quote entries; the replies still count as given."""
    if seqs:
        writer.execute("UPDATE reply SET body = NULL WHERE space = ? AND quotes", (writer.space,))


def expire(database: Database) -> None:
    """Drop the expired claims and replies of all spaces.

    A space in use drops its own with the next request; this is for the other spaces.
    """
    before = (entries.micros(datetime.now(UTC) - KEPT),)
    with database.read() as reader:
        tables = [t for t in _EXPIRING if reader.row(f"SELECT 1 FROM {t} WHERE {_PAST}", before)]
    if not tables:
        return
    # A transaction of no space does not wait for writers; rows that they hold go with the next one.
    with database.write(UNNAMED) as writer:
        for table in tables:
            rows = f"SELECT space, key FROM {table} WHERE {_PAST}{writer.dialect.unlocked}"
            writer.execute(f"DELETE FROM {table} WHERE (space, key) IN ({rows})", before)


def _begin(space: Space, claim: RequestClaim) -> RequestClaim | StoredReply:
    with space.read() as reader:  # a reply, or another attempt, is seen without writing
        reply = _reply(reader, space.database, claim)
    if reply is None:
        with space.write() as writer:
            reply = _reply(writer, space.database, claim)  # another thread may have been faster
            if reply is None:
                _take(writer, space.database, claim)
    return reply or claim


def _reply(reader: SpaceReader, database: Database, claim: RequestClaim) -> StoredReply | None:
    """Return the reply that a request got. Raise RequestUnderWay, InputError."""
    row = reader.row(
        "SELECT request, status, body FROM reply WHERE space = ? AND key = ?",
        (reader.id, claim.key),
    )
    if row is not None:
        _refuse_another(bytes(row[0]), claim)
        return StoredReply(int(row[1]), None if row[2] is None else bytes(row[2]))
    row = reader.row(
        "SELECT request, claimer, attempt FROM claim WHERE space = ? AND key = ?",
        (reader.id, claim.key),
    )
    if row is not None:
        _refuse_another(bytes(row[0]), claim)
        if row[1] is not None and _is_at_work(database, int(row[1]), int(row[2])):
            raise RequestUnderWay(UNDER_WAY)
    return None


def _is_at_work(database: Database, presence: int, attempt: int) -> bool:
    """Return whether an attempt has not ended, by its number and the presence of its process."""
    # Asked first: a process that lost its locks and took them again has another presence since.
    if attempt in _at_work:
        return True
    return presence != database.presence() and database.is_present(presence)


def _refuse_another(first: bytes, claim: RequestClaim) -> None:
    """Raise InputError unless the key came with the same request before."""
    if not hmac.compare_digest(first, claim.request):
        raise InputError("this idempotency key was sent with another request; use a new key")


def _take(writer: SpaceWriter, database: Database, claim: RequestClaim) -> None:
    now = datetime.now(UTC)
    expired = entries.micros(now - KEPT)
    writer.execute("DELETE FROM claim WHERE space = ? AND at < ?", (writer.id, expired))
    writer.execute(
        "INSERT INTO claim (space, key, request, attempt, claimer, at) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (space, key) DO UPDATE SET"
        " attempt = excluded.attempt, claimer = excluded.claimer, at = excluded.at",
        (
            *(writer.id, claim.key, claim.request, claim.attempt),
            *(database.presence(), entries.micros(now)),
        ),
    )


def _give_up(space: Space, claim: RequestClaim) -> None:
    """Let the next attempt begin at once; the message that this one stored stays noted."""
    try:
        with space.write() as writer:
            if not writer.is_there:  # removed with the claim
                return
            values = (writer.id, claim.key, claim.attempt)
            writer.execute(
                "UPDATE claim SET claimer = NULL WHERE space = ? AND key = ? AND attempt = ?",
                values,
            )
            writer.execute(
                "DELETE FROM claim WHERE space = ? AND key = ? AND attempt = ? AND NOT EXISTS"
                " (SELECT 1 FROM claim_entry e WHERE e.space = claim.space AND e.key = claim.key)",
                values,
            )
    except JournalError as error:  # the caller must see the error that stopped the request
        log.warning("the claim on a request stays noted, and is void: %s", error)


# ------------------------------------------------------------------- messages without a reply

# A message is marked when it is stored, before a model is asked, and the mark goes with the reply:
# a killed process leaves it. The same message, sent again, is then not stored twice. While the
# process that asks is present and has not given up, the same words are another message.


def await_reply(writer: Writer, space: int, message: Collection[str], asker: int) -> None:
    """Mark the entries of a message: the process of that presence asks a model for a reply."""
    seqs = entries.seqs_of(writer, space, message)
    writer.many(
        "INSERT INTO unanswered (entry, space, message, asker) VALUES (?, ?, ?, ?)",
        ((seq, space, min(seqs), asker) for seq in seqs),
    )


def stop_waiting(writer: Writer, space: int, message: Collection[str], asker: int) -> None:
    """Note that this process gets no reply to a message, unless it is sent again."""
    writer.many(
        "UPDATE unanswered SET asker = NULL WHERE space = ? AND entry = ? AND asker = ?",
        ((space, seq, asker) for seq in entries.seqs_of(writer, space, message)),
    )


def mark_answered(writer: Writer, space: int, message: Collection[str]) -> None:
    """Drop the mark of a message, in the transaction that stores the reply."""
    unmark(writer, entries.seqs_of(writer, space, message))


def take_unanswered(
    writer: Writer, space: int, source: str, is_present: Callable[[int], bool]
) -> frozenset[str]:
    """Return the ids of the newest message of a conversation that lacks a reply and an asker.

    All such messages lose their marks: the next message comes after them.
    """
    rows = writer.rows(
        "SELECT u.entry, u.message, e.id, u.asker FROM unanswered u"
        " JOIN entry e ON e.space = u.space AND e.seq = u.entry"
        " JOIN source s ON s.space = e.space AND s.id = e.source WHERE u.space = ? AND s.hash = ?",
        sources.key(space, source),
    )
    waiting = [row for row in rows if row[3] is None or not is_present(int(row[3]))]
    unmark(writer, [int(row[0]) for row in waiting])
    newest = max((row[1] for row in waiting), default=None)
    return frozenset(str(row[2]) for row in waiting if row[1] == newest)


def unmark(writer: Writer, seqs: Sequence[int]) -> None:
    """Drop the marks of entries that have a reply, or are about to be erased or changed."""
    space = writer.space
    writer.many(
        "DELETE FROM unanswered WHERE space = ? AND entry = ?", ((space, seq) for seq in seqs)
    )
