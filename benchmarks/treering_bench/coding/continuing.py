"""A base model that continues a text: llama.cpp's ``/completion``, without any chat template."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urldefrag

from treering.errors import InputError, LLMReplyError, LLMUnavailable, MissingExtra
from treering.llm.contract import Message, Reply, Usage
from treering.llm.openai_compatible import without_credentials
from treering.llm.tokens import estimate_tokens
from treering_bench.kept_replies import WholeReplies

try:
    import httpx2
except ModuleNotFoundError as missing:
    raise MissingExtra.of("httpx2", "llm") from missing

SECONDS = 600.0
WINDOW = 4096
"""The paper's; how much a server really reads is its own setting."""


class ContinuingModel(WholeReplies):
    """The model behind ``http://HOST:PORT`` or ``http://HOST:PORT#NAME``.

    The texts of the messages are what it continues, one after another.
    """

    def __init__(self, address: str) -> None:
        if not address.startswith(("http://", "https://")):
            raise InputError(
                f"a raw continuation needs the address of a llama.cpp server, not {address!r}"
            )
        url, name = urldefrag(address)
        self._url = f"{url.rstrip('/').removesuffix('/v1')}/completion"
        self._shown = without_credentials(self._url)
        self.model = name or "base"
        self.context_window = WINDOW
        self._client = httpx2.Client(timeout=SECONDS, trust_env=False)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        stop: Sequence[str] | None = None,
        seed: int | None = None,
    ) -> Reply:
        """The continuation. Raises LLMUnavailable, LLMReplyError."""
        prompt = "".join(message.content for message in messages)
        asked = {"prompt": prompt, "n_predict": max_tokens, "temperature": temperature}
        asked |= {"cache_prompt": False, **({"stop": [*stop]} if stop else {})}
        asked |= {"seed": seed} if seed is not None else {}
        try:
            response = self._client.post(self._url, json=asked)
            if response.status_code >= httpx2.codes.INTERNAL_SERVER_ERROR:
                raise LLMUnavailable(f"{self._shown} answered {response.status_code}")
            answer = response.json()
        except httpx2.HTTPError as error:
            raise LLMUnavailable(f"no continuation from {self._shown}: {error}") from None
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or not isinstance(answer.get("content"), str):
            raise LLMReplyError(
                f"{self._shown} sent no continuation; is it llama.cpp's /completion?"
            )
        text = answer["content"]
        finish = "length" if answer.get("stop_type") == "limit" else "stop"
        usage = Usage(1, estimate_tokens(prompt), estimate_tokens(text))
        return Reply(text, usage, self.model, finish)

    def count_tokens(self, text: str) -> int:
        """An estimate."""
        return estimate_tokens(text)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()
