"""Models for tests, found through entry points as those of any other package are."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from treering.errors import EmbeddingError, LLMUnavailable
from treering.llm.scripted import Line, Request, ScriptedLLM
from treering.relate.contract import Floats


class Hashing:
    """Bags of hashed words: texts that share words are alike."""

    name = "hashing"
    dimension = 64

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        vectors = np.full((len(texts), self.dimension), 0.01, dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                digest = hashlib.sha256(word.encode()).digest()
                vectors[row, digest[0] % self.dimension] += 1
        return vectors


class Failing(Hashing):
    """A model that is not there."""

    name = "failing"

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        raise EmbeddingError("the embedding server is asleep")


class Waiting(Hashing):
    """A model that says that it was asked and never answers."""

    name = "waiting"

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        print("embedding", flush=True)
        threading.Event().wait()
        raise AssertionError("nothing sets the event")


def embedder(argument: str) -> Hashing:
    return Hashing()


def failing(argument: str) -> Failing:
    return Failing()


def waiting(argument: str) -> Waiting:
    return Waiting()


def llm(script: str) -> ScriptedLLM:
    """A model that says the lines of a file."""
    return ScriptedLLM(Path(script).read_text("utf-8").splitlines())


def down(argument: str) -> ScriptedLLM:
    """A model that cannot be reached."""

    def line(request: Request) -> Line:
        return LLMUnavailable("nobody answers")

    return ScriptedLLM(line)
