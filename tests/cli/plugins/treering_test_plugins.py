"""Models for tests, found through entry points as those of any other package are."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from tests.embedders import HashingEmbedder
from tests.embedders import down as refuses
from treering.arrays import Floats
from treering.errors import LLMUnavailable
from treering.llm.scripted import FakeLLM, Line, Request


class ForgetfulEmbedder(HashingEmbedder):
    """One that keeps no texts, so that its process takes no more main memory with each."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        vectors = super().embed(texts, query=query)
        self.texts.clear()
        return vectors


def embedder(argument: str) -> HashingEmbedder:
    """The embedder of most tests."""
    return ForgetfulEmbedder("hashing")


def failing(argument: str) -> HashingEmbedder:
    """A model that cannot be reached."""
    return HashingEmbedder("failing", tamper=refuses)


def waiting(argument: str) -> HashingEmbedder:
    """A model that says that it was asked and never answers."""

    def wait(texts: Sequence[str], vectors: Floats) -> Floats:
        print("embedding", flush=True)
        threading.Event().wait()
        return vectors

    return HashingEmbedder("waiting", tamper=wait)


def pausing(argument: str) -> HashingEmbedder:
    """A model that says that it was asked and answers once a line comes."""

    def pause(texts: Sequence[str], vectors: Floats) -> Floats:
        print("embedding", flush=True)
        sys.stdin.readline()
        return vectors

    return HashingEmbedder("pausing", tamper=pause)


def llm(script: str) -> FakeLLM:
    """A model that says the lines of a file."""
    return FakeLLM(Path(script).read_text("utf-8").splitlines())


def down(argument: str) -> FakeLLM:
    """A language model that cannot be reached."""

    def line(request: Request) -> Line:
        return LLMUnavailable("nobody answers")

    return FakeLLM(line)


def silent(argument: str) -> FakeLLM:
    """A language model that says that it was asked and never answers."""

    def line(request: Request) -> Line:
        print("asked", flush=True)
        threading.Event().wait()
        return ""

    return FakeLLM(line)
