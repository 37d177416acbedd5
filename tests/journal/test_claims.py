"""Claims on requests with an idempotency key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from treering.errors import InputError, JournalBusy, RequestUnderWay
from treering.journal import claims
from treering.journal.claims import RequestClaim, claimed
from treering.journal.contract import Database
from treering.journal.open import open_database
from treering.journal.replies import Reply

REPLY = Reply(200, b"Hello.")
REQUEST = ("default", "key", b"Hi?")


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    with closing(open_database(path)) as database:
        yield database


def complete(database: Database, claim: RequestClaim | Reply) -> None:
    assert isinstance(claim, RequestClaim)
    with database.write() as writer:
        claims.complete(writer, claim, REPLY, quotes=True)


def rows(database: Database) -> int:
    with database.read() as reader:
        row = reader.row("SELECT count(*) FROM claim")
        assert row is not None
        return int(row[0])


def test_a_reply_takes_the_place_of_its_claim(database: Database) -> None:
    with claimed(database, *REQUEST) as claim:
        assert rows(database) == 1
        complete(database, claim)
    assert rows(database) == 0
    with claimed(database, *REQUEST) as reply:
        assert reply == REPLY


def test_what_is_claimed_is_claimed_by_nobody_else(database: Database) -> None:
    under_way = pytest.raises(RequestUnderWay, match="send the same request")
    with claimed(database, *REQUEST), under_way, claimed(database, *REQUEST):
        pass
    with claimed(database, "default", "another key", b"Hi?") as claim:
        assert isinstance(claim, RequestClaim)
    with claimed(database, "ben", "key", b"Hi?") as claim:
        assert isinstance(claim, RequestClaim)


def test_a_claim_with_another_request_is_refused(database: Database) -> None:
    refused = pytest.raises(InputError, match="use a new key")
    with claimed(database, *REQUEST), refused, claimed(database, "default", "key", b"Ho?"):
        pass


def test_a_request_that_failed_is_claimed_again(database: Database) -> None:
    with pytest.raises(ZeroDivisionError), claimed(database, *REQUEST):
        raise ZeroDivisionError
    assert rows(database) == 0
    with claimed(database, *REQUEST) as claim:
        assert isinstance(claim, RequestClaim)


def test_what_was_taken_over_stores_nothing_any_more(database: Database) -> None:
    """On Windows another process may take over what is not seen to be at work there."""
    with claimed(database, *REQUEST) as first:
        with database.write() as writer:
            writer.execute("UPDATE claim SET claimer = NULL")
        with claimed(database, *REQUEST) as second:
            with pytest.raises(RequestUnderWay):
                complete(database, first)
            complete(database, second)


class Broken:
    """A database that another process writes to for long."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.busy = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._database, name)

    def write(self) -> object:
        if self.busy:
            raise JournalBusy("busy")
        return self._database.write()


def test_a_claim_that_could_not_be_given_up_is_void(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Broken(database)
    with pytest.raises(ZeroDivisionError), claimed(broken, *REQUEST):  # type: ignore[arg-type]
        broken.busy = True
        raise ZeroDivisionError
    assert "is void" in caplog.text
    assert rows(database) == 1
    with claimed(database, *REQUEST) as claim:
        complete(database, claim)
    assert rows(database) == 0
