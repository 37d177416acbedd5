"""Embedders that do to their worker, or to who asks, what a machine may do to them."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path

from tests.embedders import HashingEmbedder
from treering.arrays import Floats
from treering.errors import EmbeddingError

POISON = "belladonna"


class Counted(HashingEmbedder):
    """Counts in a file how often it was asked, by all of its copies in whatever process."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        with self._file.open("ab") as file:
            file.write(b".")
        self.asked(self._file.stat().st_size)
        return super().embed(texts, query=query)

    def asked(self, times: int) -> None:
        """Called before texts are embedded."""


class Killing(Counted):
    """Kills its process at some of the times it is asked."""

    def __init__(self, file: Path, at: Sequence[int]) -> None:
        super().__init__(file)
        self._at = frozenset(at)

    def asked(self, times: int) -> None:
        if times in self._at:
            os.kill(os.getpid(), signal.SIGKILL)


class Refusing(HashingEmbedder):
    """Refuses batches that have a text in them; another time it takes it."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        if len(texts) > 1 and any(POISON in text for text in texts):
            raise EmbeddingError("a text is poison")
        return super().embed(texts, query=query)
