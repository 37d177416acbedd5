"""A server removes from its file what somebody who was reading it prevented."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.memory.test_forget import SECRET, bytes_of
from tests.serve.conftest import Serve
from treering.journal.contract import Database
from treering.journal.open import open_database
from treering.journal.sqlite import scrub
from treering.serve import spaces
from treering.views import erase

TIMEOUT_S = 30.0


def test_it_does_what_is_left_while_it_runs(
    serve: Serve, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = threading.Semaphore(0)

    def counted(database: Database) -> None:
        erase.retry(database)
        attempts.release()

    monkeypatch.setattr(spaces, "retry", counted)
    monkeypatch.setattr(spaces, "SCRUB_PAUSE_S", 0.01)
    for module in (erase, scrub):
        monkeypatch.setattr(module, "WAIT_S", 0.01)
    monkeypatch.setattr(erase, "RETRY_WAIT_S", 0.01)
    client = serve()
    client.post("/v1/entries", json={"text": SECRET, "source": "notes"})
    with closing(open_database(path)) as other, other.read() as reader:
        reader.row("SELECT count(*) FROM entry")
        assert not client.post("/v1/forget", json={"source": "notes"}).json()["scrubbed"]
        assert b"flowerpot" in bytes_of(path)
    while attempts.acquire(blocking=False):
        pass  # attempts from before the reader had ended
    assert attempts.acquire(timeout=TIMEOUT_S)
    assert attempts.acquire(timeout=TIMEOUT_S)
    assert b"flowerpot" not in bytes_of(path)
