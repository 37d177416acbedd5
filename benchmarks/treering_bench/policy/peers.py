"""Other systems as policies: each holds the fragments of a space and ranks them its own way.

A system gets treering's fragments as treering embeds them, and treering's vectors, so that its own
ranking is compared. Its package is imported when it is opened.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Protocol

from treering.embed.contract import Embedder
from treering.errors import MissingExtra, UnknownName
from treering_bench.metrics.evidence import RetrievedPassage
from treering_bench.policy.contract import RetrievalPolicy
from treering_bench.space import ScoredPassage, TaskSpace
from treering_bench.task import TaskQuestion

PREFIX: Final = "peer:"


class Peer(Protocol):
    """A system that holds texts and finds them again, with the embedder it was given."""

    def add(self, texts: Sequence[str]) -> None:
        """Add texts. They are numbered from 0 in this order."""
        ...

    def search(self, query: str, k: int) -> list[int]:
        """The numbers of the k texts the system finds for a query, best first."""
        ...

    def close(self) -> None:
        """Release files and threads."""
        ...


PeerFactory = Callable[[Path, Embedder], Peer]
"""Opens an empty system whose files, if it has any, lie in a folder."""


def peer_policy(name: str) -> RetrievalPolicy:
    """The policy ``peer:NAME``. Raise UnknownName."""
    short = name.removeprefix(PREFIX)
    if short not in PEERS:
        raise UnknownName(f"no peer {short!r}; there are {', '.join(PEERS)}")
    return searching_with(name, PEERS[short])


def searching_with(name: str, factory: PeerFactory) -> RetrievalPolicy:
    """A policy that asks a system, filled when a space is first asked."""

    def pick(space: TaskSpace, question: TaskQuestion) -> Sequence[RetrievedPassage]:
        fragments = space.scored(question)
        system = space.once(name, lambda opened: _filled(factory, space, fragments, opened))
        return [fragments[n].passage for n in system.search(question.text, space.most)]

    return RetrievalPolicy(name, pick)


def _filled(
    factory: PeerFactory, space: TaskSpace, fragments: Sequence[ScoredPassage], opened: ExitStack
) -> Peer:
    texts = [fragment.embedded for fragment in fragments]
    space.embedder.embed(texts)  # in one batch, also for systems that embed text by text
    folder = Path(opened.enter_context(TemporaryDirectory(prefix="treering-peer-")))
    try:
        system = opened.enter_context(closing(factory(folder, space.embedder)))
    except ImportError as error:
        raise MissingExtra(
            f"{error.name} is not installed; run in a checkout: pip install './benchmarks[peers]'"
        ) from error
    system.add(texts)
    return system


class Mem0:
    """Mem0 over a local Qdrant, with messages stored as they are.

    Mem0 proper has a language model turn messages into facts, which would measure the model.
    """

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        # Both are read when the package is imported: no telemetry, no files in the home folder.
        os.environ["MEM0_TELEMETRY"] = "False"
        os.environ["MEM0_DIR"] = str(folder)
        from mem0 import Memory

        store = {
            "collection_name": "texts",
            "path": str(folder / "qdrant"),
            "embedding_model_dims": embedder.dimension,
            "on_disk": True,
        }
        never_asked = {"provider": "openai", "config": {"api_key": "none"}}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "llm": never_asked,
                "embedder": never_asked,
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model = _Mem0Embedder(embedder)

    def add(self, texts: Sequence[str]) -> None:
        """One call a text, as Mem0 has no batch without a model."""
        for number, text in enumerate(texts):
            self._memory.add(text, user_id="bench", metadata={"number": number}, infer=False)

    def search(self, query: str, k: int) -> list[int]:
        """What Mem0 finds, without its lower bound on similarity."""
        filters = {"user_id": "bench"}
        answer = self._memory.search(query, top_k=k, filters=filters, threshold=0.0)
        return [int(result["metadata"]["number"]) for result in answer["results"]]

    def close(self) -> None:
        """Release Qdrant's files."""
        self._memory.vector_store.client.close()


class _Mem0Embedder:
    """An embedder in Mem0's form."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """One vector as a list."""
        vector = self._embedder.embed([text], query=memory_action == "search")[0]
        return [float(value) for value in vector]

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        """Several vectors as lists."""
        return [self.embed(text, memory_action) for text in texts]


PEERS: Final[Mapping[str, PeerFactory]] = {"mem0": Mem0}
