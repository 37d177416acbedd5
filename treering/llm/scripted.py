"""A language model that plays a script, for tests of treering and of programs that use it."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Unpack

from treering.llm.contract import Message, Reply, ReplyStream, Sampling, Usage
from treering.llm.tokens import estimate_tokens


@dataclass(frozen=True, slots=True)
class Request:
    """One call of the model: its prompt and its options."""

    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float
    stop: tuple[str, ...] | None
    seed: int | None

    @property
    def text(self) -> str:
        """All message contents, one after another."""
        return "\n".join(message.content for message in self.messages)


Line = str | Reply | Exception
"""A reply's text, a whole reply, or an error to raise."""


class ScriptExhausted(AssertionError):
    """There were more calls than lines in the script."""


class FakeLLM:
    """A language model for tests: give it as ``llm`` when a memory is opened.

    It replies with the lines of ``script`` in order, or with the result of calling ``script`` with
    the ``Request``. A line is a text, a ``Reply``, or an exception to raise; a call after the last
    line raises an AssertionError. A stream gives the text word by word.

    ``requests`` holds every call in order of arrival, ``requests[0].text`` the first prompt.
    ``before_reply`` gets each request and may block to play a slow model. Calls may come from
    several threads; if they race, use a callable script.
    """

    def __init__(
        self,
        script: Iterable[Line] | Callable[[Request], Line],
        *,
        model: str = "scripted",
        context_window: int = 4096,
        before_reply: Callable[[Request], None] | None = None,
    ) -> None:
        self._answer = script if callable(script) else None
        self._lines = deque(() if callable(script) else script)
        self._model = model
        self._window = context_window
        self._before_reply = before_reply
        self._lock = threading.Lock()
        self.requests: list[Request] = []
        self.closed = False

    @property
    def model(self) -> str:
        """The name given to the script."""
        return self._model

    @property
    def context_window(self) -> int:
        """Tokens, as given; not enforced."""
        return self._window

    @property
    def left(self) -> int:
        """Lines not yet played; 0 for a callable script."""
        return len(self._lines)

    def complete(self, messages: Sequence[Message], **sampling: Unpack[Sampling]) -> Reply:
        """The next line, or ``ScriptExhausted``."""
        stop = sampling.get("stop")
        request = Request(
            messages=tuple(messages),
            max_tokens=sampling["max_tokens"],
            temperature=sampling["temperature"],
            stop=tuple(stop) if stop else None,
            seed=sampling.get("seed"),
        )
        line = self._next(request)
        if self._before_reply:
            self._before_reply(request)
        if isinstance(line, Exception):
            raise line
        return line if isinstance(line, Reply) else self._reply(line, request)

    def stream(self, messages: Sequence[Message], **sampling: Unpack[Sampling]) -> ReplyStream:
        """The next line, word by word."""

        def pieces() -> Generator[str, None, Reply]:
            reply = self.complete(messages, **sampling)
            yield from re.findall(r"\s*\S+\s*$|\s*\S+", reply.text)
            return reply

        return ReplyStream(pieces())

    def count_tokens(self, text: str) -> int:
        """An estimate."""
        return estimate_tokens(text)

    def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True

    def _next(self, request: Request) -> Line:
        with self._lock:
            self.requests.append(request)
            if self._answer is None and not self._lines:
                raise ScriptExhausted(
                    f"request {len(self.requests)} is one more than scripted: {request.text!r}"
                )
            if self._answer is None:
                return self._lines.popleft()
        return self._answer(request)

    def _reply(self, text: str, request: Request) -> Reply:
        usage = Usage(estimate_tokens(request.text), estimate_tokens(text), calls=1)
        return Reply(text, usage, self._model, "stop")
