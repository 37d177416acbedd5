"""Other systems, where their packages are installed; else the message that says how."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from treering.errors import MissingExtra
from treering_bench.peers.contract import Peer
from treering_bench.peers.registry import PEERS, peer
from worlds import SAID, BagOfWords

TEXTS = [text for _, text in SAID]


@pytest.fixture(params=PEERS)
def system(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Peer]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what others' packages warn of is theirs to mend
        try:
            opened = peer(request.param)(tmp_path, BagOfWords())
        except MissingExtra as error:
            pytest.skip(str(error))
        with closing(opened):
            yield opened


def test_a_peer_numbers_texts_in_their_order_over_several_adds(system: Peer) -> None:
    system.add(TEXTS[:4])
    system.add(TEXTS[4:])
    for number, text in enumerate(TEXTS):
        assert system.search(text, 3)[0] == number
