"""Claims on requests with an idempotency key."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from treering.errors import InputError, JournalBusy, RequestUnderWay
from treering.journal import claims
from treering.journal.claims import RequestClaim, StoredReply, claim_request
from treering.journal.open import open_database
from treering.journal.space import Space

pytestmark = pytest.mark.both_engines

REPLY = StoredReply(200, b"Hello.")
REQUEST = ("key", b"Hi?")


@pytest.fixture
def space(path: Path) -> Iterator[Space]:
    with closing(open_database(path)) as database:
        yield Space(database, "default")


def complete(space: Space, claim: RequestClaim | StoredReply) -> None:
    assert isinstance(claim, RequestClaim)
    with space.write() as writer:
        claims.complete(writer, claim, REPLY, quotes=True)


def rows(space: Space) -> int:
    with space.read() as reader:
        row = reader.row("SELECT count(*) FROM claim")
        assert row is not None
        return int(row[0])


def test_a_reply_takes_the_place_of_its_claim(space: Space) -> None:
    with claim_request(space, *REQUEST) as claim:
        assert rows(space) == 1
        complete(space, claim)
    assert rows(space) == 0
    with claim_request(space, *REQUEST) as reply:
        assert reply == REPLY


def test_what_is_claimed_is_claimed_by_nobody_else(space: Space) -> None:
    under_way = pytest.raises(RequestUnderWay)
    with claim_request(space, *REQUEST), under_way, claim_request(space, *REQUEST):
        pass
    with claim_request(space, "another key", b"Hi?") as claim:
        assert isinstance(claim, RequestClaim)
    with claim_request(Space(space.database, "ben"), "key", b"Hi?") as claim:
        assert isinstance(claim, RequestClaim)


def test_a_claim_with_another_request_is_refused(space: Space) -> None:
    refused = pytest.raises(InputError, match="use a new key")
    with claim_request(space, *REQUEST), refused, claim_request(space, "key", b"Ho?"):
        pass


def test_a_request_that_failed_is_claimed_again(space: Space) -> None:
    with pytest.raises(ZeroDivisionError), claim_request(space, *REQUEST):
        raise ZeroDivisionError
    assert rows(space) == 0
    with claim_request(space, *REQUEST) as claim:
        assert isinstance(claim, RequestClaim)


def test_what_was_taken_over_stores_nothing_any_more(space: Space) -> None:
    """On Windows another process may take over what is not seen to be at work there."""
    with claim_request(space, *REQUEST) as first:
        with space.write() as writer:
            writer.execute("UPDATE claim SET claimer = NULL")
        with claim_request(space, *REQUEST) as second:
            with pytest.raises(RequestUnderWay):
                complete(space, first)
            complete(space, second)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of lost locks")
def test_a_claim_holds_while_its_request_is_done_although_locks_were_lost_and_taken_again(
    space: Space, path: Path
) -> None:
    with claim_request(space, *REQUEST) as first:
        presence = space.database.presence()
        path.read_bytes()  # as other code of a program may do; POSIX drops all locks then
        with space.read():
            assert space.database.presence() != presence
        with pytest.raises(RequestUnderWay), claim_request(space, *REQUEST):
            pass
        complete(space, first)
    with claim_request(space, *REQUEST) as reply:
        assert reply == REPLY


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process cannot be forked here")
def test_a_forked_process_does_not_take_the_requests_of_its_parent_for_its_own(
    space: Space,
) -> None:
    with claim_request(space, *REQUEST):
        if (child := os.fork()) == 0:
            os._exit(len(claims._at_work))
        assert os.waitpid(child, 0)[1] == 0
        assert len(claims._at_work) == 1


class Broken:
    """A space that another process writes to for long."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self.busy = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._space, name)

    def write(self) -> object:
        if self.busy:
            raise JournalBusy("busy")
        return self._space.write()


def test_a_claim_that_could_not_be_given_up_is_void(
    space: Space, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Broken(space)
    with pytest.raises(ZeroDivisionError), claim_request(broken, *REQUEST):  # type: ignore[arg-type]
        broken.busy = True
        raise ZeroDivisionError
    assert "is void" in caplog.text
    assert rows(space) == 1
    with claim_request(space, *REQUEST) as claim:
        complete(space, claim)
    assert rows(space) == 0
