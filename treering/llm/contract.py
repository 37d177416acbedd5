"""The contract of a language model.

Several threads may call an implementation at a time: pending work is settled in parallel.
Implementations raise only errors of ``treering.errors``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NotRequired, Protocol, Self, TypedDict, Unpack, runtime_checkable

from treering.records import Spent

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt; its content is plain text, never markup of a chat template."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """The cost of calls in the model's own tokens; ``estimated`` if the server reported none."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.calls + other.calls,
            self.estimated or other.estimated,
        )

    def spent(self, operation: str, model: str) -> Spent:
        """The entry of the ledger for these calls."""
        return Spent(operation, model, self.calls, self.prompt_tokens, self.completion_tokens)


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's whole reply; ``text`` holds at least one character that is not white space.

    ``finish_reason`` is the server's: ``stop``, or ``length`` when ``max_tokens`` cut the reply.
    """

    text: str
    usage: Usage
    model: str
    finish_reason: str


class ReplyStream(Iterator[str]):
    """A reply as it is written: iterate over its pieces, then read ``reply``.

    Closing it early (or leaving its ``with`` block) stops the model.
    """

    def __init__(self, pieces: Generator[str, None, Reply]) -> None:
        self._pieces = pieces
        self._reply: Reply | None = None

    def __next__(self) -> str:
        try:
            return next(self._pieces)
        except StopIteration as end:
            # A generator's value comes with its first StopIteration only.
            self._reply = self._reply or end.value
            raise StopIteration from None

    @property
    def reply(self) -> Reply | None:
        """The whole reply with its usage; ``None`` until the last piece has been read."""
        return self._reply

    def close(self) -> None:
        """Stop the model."""
        self._pieces.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Sampling(TypedDict):
    """How a model writes a reply.

    ``max_tokens`` bounds the reply; ``temperature`` 0 is greedy; ``stop`` are strings that end the
    reply and are not part of it; ``seed`` asks for the same reply again where the server can.
    """

    max_tokens: int
    temperature: float
    stop: NotRequired[Sequence[str] | None]
    seed: NotRequired[int | None]


@runtime_checkable
class LLM(Protocol):
    """A language model that completes a conversation."""

    @property
    def model(self) -> str:
        """The model's name as it is reported with every reply."""
        ...

    @property
    def context_window(self) -> int:
        """Tokens that prompt and reply share."""
        ...

    def complete(self, messages: Sequence[Message], **sampling: Unpack[Sampling]) -> Reply:
        """The reply to ``messages``.

        Raises ``LLMUnavailable`` (retrying later may help), ``LLMReplyError`` (refused or unusable)
        or ``LLMNotConfigured`` (key, model or address is wrong).
        """
        ...

    def stream(self, messages: Sequence[Message], **sampling: Unpack[Sampling]) -> ReplyStream:
        """As ``complete``, piece by piece; errors are raised while iterating."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of ``text``, by the model's tokenizer or estimated."""
        ...

    def close(self) -> None:
        """Release what the model holds; a second call does nothing."""
        ...


@runtime_checkable
class AdaptedLLM(LLM, Protocol):
    """A language model that has an adapter for prompts about memos."""

    @property
    def for_memos(self) -> LLM:
        """The same model with the adapter; closing it closes nothing."""
        ...


def memo_model(llm: LLM) -> LLM:
    """The model for prompts about memos: with its adapter, if it has one."""
    return llm.for_memos if isinstance(llm, AdaptedLLM) else llm


LLMFactory = Callable[[str], LLM]
"""An entry point of the group ``treering.llms``. It gets the text after ``#``, or ``""``."""
