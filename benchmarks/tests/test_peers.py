"""Other systems, where their packages are installed; else the message that says how."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from treering.errors import MissingExtra, UnknownName
from treering_bench.peers.contract import LivePeer, Peer
from treering_bench.peers.registry import PEERS, peer
from worlds import SAID, BagOfWords

TEXTS = [text for _, text in SAID]
WITHOUT_FILTER = {"llamaindex", "llamaindex-hybrid"}
"""Peers that cannot forget, either."""


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


@pytest.mark.parametrize("system", sorted(PEERS.keys() - WITHOUT_FILTER), indirect=True)
def test_a_live_peer_filters_by_speaker_and_forgets_one_text(system: Peer) -> None:
    assert isinstance(system, LivePeer)
    system.add_said(TEXTS, ["Ana", *("Ben" for _ in TEXTS[1:])])
    assert system.search_said(TEXTS[1], 3, "Ana") == [0]
    assert system.search(TEXTS[1], 1) == [1]
    system.forget(1)
    assert 1 not in system.search(TEXTS[1], len(TEXTS))


def test_an_unknown_peer_is_named_along_with_those_there_are() -> None:
    with pytest.raises(UnknownName, match="no peer 'oracle'; there are chroma, lancedb"):
        peer("oracle")
