"""Other systems as policies: each holds the fragments of a space and ranks them its own way."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory

from treering_bench.metrics.evidence import RetrievedPassage
from treering_bench.peers.contract import Peer, PeerFactory
from treering_bench.peers.registry import peer
from treering_bench.policy.contract import RetrievalPolicy
from treering_bench.space import DEPTH, ScoredPassage, TaskSpace
from treering_bench.task import TaskQuestion

PREFIX = "peer:"


def peer_policy(name: str) -> RetrievalPolicy:
    """The policy ``peer:NAME``. Raises UnknownName."""
    return searching_with(name, peer(name.removeprefix(PREFIX)))


def searching_with(name: str, factory: PeerFactory) -> RetrievalPolicy:
    """A policy that asks a peer.

    The peer gets treering's fragments as treering embeds them and treering's vectors, so what is
    compared is what it does with them.
    """

    def pick(space: TaskSpace, question: TaskQuestion) -> Sequence[RetrievedPassage]:
        fragments = space.scored(question)
        system = space.once(name, lambda opened: _filled(factory, space, fragments, opened))
        return [fragments[n].passage for n in system.search(question.text, DEPTH)]

    return RetrievalPolicy(name, pick)


def _filled(
    factory: PeerFactory, space: TaskSpace, fragments: Sequence[ScoredPassage], opened: ExitStack
) -> Peer:
    texts = [fragment.embedded for fragment in fragments]
    space.embedder.embed(texts)  # in one batch, also for peers that embed text by text
    folder = Path(opened.enter_context(TemporaryDirectory(prefix="treering-peer-")))
    system = opened.enter_context(closing(factory(folder, space.embedder)))
    system.add(texts)
    return system
