"""A model for measurements that have to end in time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from treering.errors import LLMUnavailable
from treering.llm.contract import LLM, Message, Reply, ReplyStream
from treering.llm.tokens import estimate_tokens


class Hurried:
    """A model that refuses to start a reply after a time, so that a run ends within it."""

    def __init__(self, llm: LLM, seconds: float) -> None:
        self._llm = llm
        self._end = time.monotonic() + seconds
        self.model = llm.model
        self.context_window = llm.context_window

    def complete(self, messages: Sequence[Message], **how: Any) -> Reply:
        """As the model, in time."""
        if time.monotonic() > self._end:
            raise LLMUnavailable("time is up; run it again to go on")
        return self._llm.complete(messages, **how)

    def stream(self, messages: Sequence[Message], **how: Any) -> ReplyStream:
        """As the model."""
        return self._llm.stream(messages, **how)

    def count_tokens(self, text: str) -> int:
        """An estimate: memos are then due at the same lines whichever model writes them."""
        return estimate_tokens(text)

    def close(self) -> None:
        """Close the model."""
        self._llm.close()
