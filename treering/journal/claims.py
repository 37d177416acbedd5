"""Claims on requests with an idempotency key: who works on one, and what attempts left behind.

A process claims a request before it works on it; the claim holds the presence of the process. The
reply takes the place of the claim in the transaction that stores what was done. If the process is
gone, or has failed, the next attempt takes the claim over. Every attempt has its own number, so an
attempt whose claim was taken over can no longer store anything.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from treering.errors import JournalError, RequestUnderWay
from treering.journal import attempts, entries, replies
from treering.journal.contract import Database, Writer
from treering.journal.replies import KEPT, StoredReply
from treering.journal.space import UNNAMED, Space, SpaceReader, SpaceWriter

log = logging.getLogger("treering")

UNDER_WAY: Final = (
    "a request with this idempotency key is still being done; send the same request again later, "
    "and it gets the reply of that one"
)


_EXPIRING: Final = ("reply", "claim")
# Space by space, as an index finds them that begins with it.
_PAST: Final = "space IN (SELECT id FROM space) AND at < ?"


@dataclass(frozen=True, slots=True)
class RequestClaim:
    """The right to do a request. ``key`` and ``request`` are digests."""

    key: bytes
    request: bytes
    attempt: int


@contextmanager
def claimed(space: Space, key: str, request: bytes) -> Iterator[RequestClaim | StoredReply]:
    """The claim on a request for the time of the block, or the reply that the request already got.

    A claim that has no reply when the block ends is void. A block that raises gives it up at once.

    Raises RequestUnderWay while another attempt works on it, InputError if the key came with
    another request.
    """
    digests = replies.digest(key), replies.mac(key, request)
    with attempts.begun() as attempt:
        claim = _begin(space, RequestClaim(*digests, attempt))
        try:
            yield claim
        except BaseException:
            if isinstance(claim, RequestClaim):
                _give_up(space, claim)
            raise


def complete(writer: SpaceWriter, claim: RequestClaim, reply: StoredReply, *, quotes: bool) -> None:
    """Put the reply in the place of the claim; ``quotes``: it may hold text of entries.

    Raises RequestUnderWay if the claim was taken over: what is stored with it must not stay.
    """
    ended = writer.execute(
        "DELETE FROM claim WHERE space = ? AND key = ? AND attempt = ?",
        (writer.id, claim.key, claim.attempt),
    )
    if not ended:
        raise RequestUnderWay(UNDER_WAY)
    replies.keep(writer, writer.id, claim.key, claim.request, reply, quotes=quotes)


def note_message(writer: SpaceWriter, claim: RequestClaim, message: Collection[str]) -> None:
    """Note the entries of the request's message; they stop being those of any other request."""
    space = writer.id
    seqs = entries.seqs_of(writer, space, message)
    erase(writer, seqs)
    writer.many(
        "INSERT INTO claim_entry (space, entry, key) VALUES (?, ?, ?)",
        ((space, seq, claim.key) for seq in seqs),
    )


def message(reader: SpaceReader, claim: RequestClaim) -> list[int]:
    """The entries of the message that an earlier attempt has stored, in order; empty if none."""
    rows = reader.rows(
        "SELECT entry FROM claim_entry WHERE space = ? AND key = ? ORDER BY entry",
        (reader.id, claim.key),
    )
    return [int(row[0]) for row in rows]


def erase(writer: Writer, erased: Collection[int]) -> None:
    """Forget that entries that are about to go or to change were messages of requests."""
    space = writer.space
    writer.many(
        "DELETE FROM claim_entry WHERE space = ? AND entry = ?", ((space, seq) for seq in erased)
    )


def expire(database: Database) -> None:
    """Drop the claims and replies of all spaces whose time has passed.

    A space in use drops its own with the next request; this is for those that are not.
    """
    before = (entries.micros(datetime.now(UTC) - KEPT),)
    with database.read() as reader:
        tables = [t for t in _EXPIRING if reader.row(f"SELECT 1 FROM {t} WHERE {_PAST}", before)]
    if not tables:
        return
    # Of no space, and in nobody's way: what a writer of a space holds goes with that one.
    with database.write(UNNAMED) as writer:
        for table in tables:
            rows = f"SELECT space, key FROM {table} WHERE {_PAST}{writer.dialect.unlocked}"
            writer.execute(f"DELETE FROM {table} WHERE (space, key) IN ({rows})", before)


def _begin(space: Space, claim: RequestClaim) -> RequestClaim | StoredReply:
    with space.read() as reader:  # a reply, or somebody at work, is seen without writing
        reply = _reply(reader, space.database, claim)
    if reply is None:
        with space.write() as writer:
            reply = _reply(writer, space.database, claim)  # again: somebody may have been faster
            if reply is None:
                _take(writer, space.database, claim)
    return reply or claim


def _reply(reader: SpaceReader, database: Database, claim: RequestClaim) -> StoredReply | None:
    """The reply that a request got. Raises RequestUnderWay, InputError."""
    reply = replies.find(reader, reader.id, claim.key, claim.request)
    if reply is not None:
        return reply
    row = reader.row(
        "SELECT request, claimer, attempt FROM claim WHERE space = ? AND key = ?",
        (reader.id, claim.key),
    )
    if row is not None:
        replies.refuse_another(bytes(row[0]), claim.request)
        if row[1] is not None and attempts.is_at_work(database, int(row[1]), int(row[2])):
            raise RequestUnderWay(UNDER_WAY)
    return None


def _take(writer: SpaceWriter, database: Database, claim: RequestClaim) -> None:
    now = datetime.now(UTC)
    expired = entries.micros(now - KEPT)
    writer.execute("DELETE FROM claim WHERE space = ? AND at < ?", (writer.id, expired))
    writer.execute(
        "INSERT INTO claim (space, key, request, attempt, claimer, at) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (space, key) DO UPDATE SET"
        " attempt = excluded.attempt, claimer = excluded.claimer, at = excluded.at",
        (
            writer.id,
            claim.key,
            claim.request,
            claim.attempt,
            database.presence(),
            entries.micros(now),
        ),
    )


def _give_up(space: Space, claim: RequestClaim) -> None:
    """Let the next attempt begin at once; what this one has stored stays noted."""
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
    except JournalError as error:  # what stopped the request is what the caller must hear of
        log.warning("the claim on a request stays noted, and is void: %s", error)
