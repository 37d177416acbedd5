"""The contract that another system must meet to be measured beside treering."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from treering.embed.contract import Embedder
from treering.errors import MissingExtra


def missing_peer(package: str) -> MissingExtra:
    """The error for a system whose package is not installed."""
    return MissingExtra(
        f"{package} is not installed; run in a checkout: pip install './benchmarks[peers]'"
    )


class Peer(Protocol):
    """A system that holds texts and finds them again, with the embedder it was given."""

    def add(self, texts: Sequence[str]) -> None:
        """Add texts. Texts are numbered from 0 in the order of adding."""
        ...

    def search(self, query: str, k: int) -> list[int]:
        """The numbers of the k texts the system finds for a query, best first."""
        ...

    def close(self) -> None:
        """Release files and threads."""
        ...


PeerFactory = Callable[[Path, Embedder], Peer]
"""Opens an empty system whose files, if it has any, lie in a folder."""
