"""A base model that continues a text: an endpoint's ``/completions``, without a chat template."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urldefrag

from treering.errors import InputError, LLMReplyError, LLMUnavailable, MissingExtra
from treering.llm.contract import Message, Reply, ReplyStream, Usage
from treering.llm.openai_compatible import without_credentials
from treering.llm.tokens import estimate_tokens
from treering_bench.models import in_one_piece

try:
    import openai
except ModuleNotFoundError as missing:
    raise MissingExtra.of("openai", "llm") from missing

SECONDS = 600.0


class ContinuingModel:
    """The model behind ``http://HOST/v1#MODEL``; it continues the texts of the messages."""

    context_window = 4096
    """The paper's; how much a server really reads is its own setting."""

    def __init__(self, address: str) -> None:
        if not address.startswith(("http://", "https://")):
            raise InputError(
                f"a raw continuation needs an address, not {address!r}; start a server"
            )
        url, name = urldefrag(address)
        self._shown = without_credentials(url)
        self.model = name or "base"
        self._client = openai.OpenAI(base_url=url, api_key="none", timeout=SECONDS, max_retries=0)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        stop: Sequence[str] | None = None,
        seed: int | None = None,
    ) -> Reply:
        """The continuation. Raise LLMUnavailable, LLMReplyError."""
        prompt = "".join(message.content for message in messages)
        try:
            answer = self._client.completions.create(
                model=self.model,
                prompt=prompt,
                max_tokens=max_tokens,
                temperature=temperature,
                stop=list(stop) if stop else openai.omit,
                seed=openai.omit if seed is None else seed,
            )
        except openai.OpenAIError as error:
            raise LLMUnavailable(f"no continuation from {self._shown}: {error}") from None
        if not answer.choices or not isinstance(answer.choices[0].text, str):
            raise LLMReplyError(f"{self._shown} sent no continuation; does it have /completions?")
        [choice, *_] = answer.choices
        usage = Usage(estimate_tokens(prompt), estimate_tokens(choice.text), 1, estimated=True)
        return Reply(choice.text, usage, self.model, choice.finish_reason)

    def stream(self, messages: Sequence[Message], **sampling: object) -> ReplyStream:
        """The whole continuation as one piece."""
        return in_one_piece(lambda: self.complete(messages, **sampling))  # type: ignore[arg-type]

    def count_tokens(self, text: str) -> int:
        """An estimate."""
        return estimate_tokens(text)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()
