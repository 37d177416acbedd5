"""Keys are rotated while many clients ask: no request with a valid key is refused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import httpx2

from tests.faults.conftest import Note
from tests.serve.conftest import bearer
from tests.serve.live import serving
from treering.journal.open import open_database
from treering.serve import keys

CLIENTS = 4


def test_no_client_is_shut_out_while_keys_rotate(
    path: Path, rounds: Callable[[int], int], note: Note
) -> None:
    rotations = rounds(3)
    over, answered, refused = threading.Event(), [0] * CLIENTS, list[int]()
    with closing(open_database(path)) as database, serving(url=path, requests_per_s=1e6) as url:
        text, made = keys.add(database, "ana", roles=["read", "add"])
        current = [text]

        def ask(place: int) -> None:
            with httpx2.Client(base_url=url, timeout=30) as client:
                while not over.is_set():
                    status = client.get("/v1/spaces", headers=bearer(current[0])).status_code
                    answered[place] += status == 200
                    if status not in (200, 429):
                        refused.append(status)

        threads = [threading.Thread(target=ask, args=(place,)) for place in range(CLIENTS)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(rotations):
                before = sum(answered)
                # The old key is valid for a day, so clients may change over when they like.
                text, made = keys.rotate(database, made.id)
                while sum(answered) < before + 2 * CLIENTS and not refused:
                    over.wait(0.01)
                current[0] = text
        finally:
            over.set()
            for thread in threads:
                thread.join(timeout=30)
        assert refused == []
        assert len({key.id for key in keys.list_keys(database)}) == rotations + 1
    note("keys rotated under load", rotations=rotations, answered=sum(answered), refused=0)
