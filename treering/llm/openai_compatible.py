"""Any OpenAI-compatible endpoint: OpenAI, Ollama, vLLM, llama.cpp's server.

Errors of the client and of the transport become errors of treering here.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeGuard, Unpack
from urllib.parse import urlsplit, urlunsplit

from treering.errors import (
    LLMError,
    LLMNotConfigured,
    LLMReplyError,
    LLMUnavailable,
    MissingExtra,
    TextEncodingError,
)
from treering.llm.contract import Message, Reply, ReplyStream, Sampling, Usage
from treering.llm.tokens import defuse, estimate_tokens
from treering.openai_client import open_client
from treering.text import check_text

try:
    import httpx2
    import openai
except ModuleNotFoundError as missing:
    raise MissingExtra.of(missing.name or "openai", "llm") from missing

DEFAULT_TIMEOUT_S = 120.0
"""Between two bytes from the server: a small model on a CPU reads a 4,000-token prompt in less."""

DEFAULT_ATTEMPTS = 4
"""Waits of at most 0.5, 1 and 2 s lie between them; a failure after that stays pending."""

DEFAULT_CONTEXT_WINDOW = 4096
"""Ollama's default, the smallest of the servers; it cuts longer prompts without an error."""

_SHOWN_DETAIL = 300
_MOST_TOKENS = 10**9  # no window has as many; the ledger adds them up
_MOST_CHARS = 1_000_000  # of a reply: a hundred times the most that a prompt asks for

_REPLACED_PARAMETERS = {"max_tokens": "max_completion_tokens"}
_PREFERENCES = ("temperature", "seed", "stop")
"""Parameters that reasoning models refuse; a request makes sense without them."""

_log = logging.getLogger(__name__)


class OpenAICompatible:
    """The model ``model`` behind ``base_url`` (such as ``http://localhost:11434/v1``).

    Rate limits, server errors, time-outs and lost connections are retried, ``attempts`` times in
    all. ``timeout_s`` bounds connecting and every silence of the server. ``extra_body`` is merged
    into each request. The environment is not read: see ``treering.llm.settings``.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        context_window: int = DEFAULT_CONTEXT_WINDOW,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        attempts: int = DEFAULT_ATTEMPTS,
        extra_body: Mapping[str, object] | None = None,
        trust_proxies: bool = True,
    ) -> None:
        self._url = without_credentials(base_url)
        self._model = model
        self._window = context_window
        self._timeout_s = timeout_s
        self._extra_body = dict(extra_body or {})
        self._secrets = tuple(filter(None, (api_key, urlsplit(base_url).password)))
        if api_key and not (api_key.isascii() and api_key.isprintable()):
            raise LLMNotConfigured(
                "the API key holds characters that no HTTP header can carry; copy it again"
            )
        self._refused: frozenset[str] = frozenset()
        self._client = open_client(
            base_url,
            api_key,
            timeout_s=timeout_s,
            retries=attempts - 1,
            trust_proxies=trust_proxies,
        )

    def __repr__(self) -> str:
        return f"OpenAICompatible({self._url!r}, {self._model!r})"

    @property
    def model(self) -> str:
        """The model's name as requests give it."""
        return self._model

    @property
    def context_window(self) -> int:
        """Tokens that prompt and reply share, as configured."""
        return self._window

    def count_tokens(self, text: str) -> int:
        """An estimate: the protocol cannot count tokens."""
        return estimate_tokens(text)

    def complete(self, messages: Sequence[Message], **sampling: Unpack[Sampling]) -> Reply:
        """The reply to ``messages``; see ``LLM.complete``."""
        request = self._request(messages, sampling)
        with self._translate_errors():
            return self._reply_of(self._send(request), messages)

    def stream(self, messages: Sequence[Message], **sampling: Unpack[Sampling]) -> ReplyStream:
        """The reply as it is written; retried only as long as nothing has arrived."""
        request = self._request(messages, sampling)
        request |= {"stream": True, "stream_options": {"include_usage": True}}
        return ReplyStream(self._pieces(request, messages))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _request(self, messages: Sequence[Message], sampling: Sampling) -> dict[str, Any]:
        return {
            "model": self._model,
            "messages": _to_wire(messages),
            "extra_body": self._extra_body,
            **{name: value for name, value in sampling.items() if value is not None},
        }

    def _send(self, request: Mapping[str, Any]) -> Any:
        """The client's answer: a completion, or a stream of chunks."""
        try:
            return self._client.chat.completions.create(**_without(request, self._refused))
        except openai.BadRequestError as error:
            if not self._learns_from(error, request):
                raise
        return self._send(request)

    def _learns_from(self, refusal: openai.BadRequestError, request: Mapping[str, Any]) -> bool:
        """Whether the model refused a parameter that requests leave out from now on."""
        # Each name is learned once, so asking again ends: with a reply, or another refusal.
        name = refusal.param
        if refusal.code not in {"unsupported_parameter", "unsupported_value"}:
            return False
        if name not in (*_REPLACED_PARAMETERS, *_PREFERENCES) or name in self._refused:
            return False
        _log.warning("%s does not accept %s; asking without it", self._model, name)
        self._refused |= {name}
        return name in request

    def _reply_of(self, completion: Any, messages: Sequence[Message]) -> Reply:
        try:
            choice = completion.choices[0]
            text, finish = choice.message.content, choice.finish_reason
        except (AttributeError, IndexError, TypeError):
            raise self._no_choice_in(completion) from None
        return self._reply(text, finish, completion, messages)

    def _piece_of(self, chunk: Any) -> tuple[str, object]:
        """A chunk's text and finish reason; the last chunk holds the usage only."""
        try:
            choices = [
                (choice.delta.content or "", choice.finish_reason) for choice in chunk.choices
            ]
        except (AttributeError, TypeError):
            raise self._no_choice_in(chunk) from None
        return choices[0] if choices else ("", None)

    def _no_choice_in(self, answer: object) -> LLMReplyError:
        return LLMReplyError(
            f"{self._url} answered without a choice: {self._short(answer)!r}; "
            "is it the address of an OpenAI-compatible API? Most end in /v1"
        )

    def _reply(self, text: object, finish: object, last: Any, messages: Sequence[Message]) -> Reply:
        if not isinstance(text, str) or not text.strip():
            hint = "allow more max_tokens" if finish == "length" else "ask again, or another model"
            raise LLMReplyError(
                f"{self._model} replied with no text (finish reason {finish!r}); {hint}"
            )
        self._check(text)
        usage = _usage(last.usage, messages, text)
        return Reply(text, usage, str(last.model or self._model), str(finish))

    def _check(self, text: str) -> None:
        """Raise LLMReplyError for a text that cannot be stored, or is far too long."""
        if len(text) > _MOST_CHARS:
            raise LLMReplyError(
                f"{self._model} goes on after {_MOST_CHARS:,} characters; is it a language model?"
            )
        try:
            check_text(text, "the reply")
        except TextEncodingError as error:
            raise LLMReplyError(f"a reply of {self._model} cannot be stored: {error}") from error

    def _pieces(
        self, request: Mapping[str, Any], messages: Sequence[Message]
    ) -> Generator[str, None, Reply]:
        text, finish, last = "", None, None
        with self._translate_errors(), self._send(request) as chunks:
            for last in chunks:
                piece, ending = self._piece_of(last)
                text, finish = text + piece, ending or finish
                if len(text) > _MOST_CHARS:
                    break  # the rest is not read; the check below refuses the reply
                if piece:
                    yield piece
        self._check(text)
        if finish is None:
            raise LLMUnavailable(
                f"{self._url} broke off its reply after {len(text)} characters; try again"
            )
        return self._reply(text, finish, last, messages)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except _FOREIGN_ERRORS as error:
            # The original may quote the key (servers echo it), so it is not chained.
            raise self._translate(error) from None
        except RuntimeError:
            if not self._client.is_closed():
                raise
            raise LLMUnavailable(f"{self!r} has been closed; open it again") from None

    def _translate(self, error: Exception) -> LLMError:
        """The error of treering for one of the client or the transport."""
        where, model = self._url, self._model
        detail = self._short(getattr(error, "body", None) or error)
        if isinstance(error, (openai.APITimeoutError, httpx2.TimeoutException)):
            return LLMUnavailable(
                f"{where} sent nothing for {self._timeout_s:g} s; try again later, or allow more "
                "time"
            )
        cause = error.__cause__ or error
        if isinstance(cause, (httpx2.ReadError, httpx2.RemoteProtocolError)):
            return LLMUnavailable(f"{where} broke off its reply ({self._short(cause)}); try again")
        if isinstance(error, (openai.APIConnectionError, httpx2.TransportError)):
            return LLMUnavailable(
                f"no connection to {where} ({detail}); is the server running there?"
            )
        if not isinstance(error, openai.APIStatusError):
            return LLMReplyError(f"{where} answered something unreadable: {detail}")
        if error.response.is_redirect:
            return LLMNotConfigured(
                f"{where} redirects to {error.response.headers['location']!r}; prompts go only to "
                "the address that is configured: give that one, if you trust it"
            )
        match error.status_code:
            case 401:
                return LLMNotConfigured(f"{where} refused the API key; set TREERING_LLM_API_KEY")
            case 403:
                return LLMNotConfigured(f"{where} does not let this key use {model}: {detail}")
            case 404:
                return LLMNotConfigured(
                    f"{where} has no model {model!r}, or is not the address of an "
                    f"OpenAI-compatible API (most end in /v1): {detail}"
                )
            case status if status == 429 or status >= 500:
                return LLMUnavailable(f"{where} answered {status}: {detail}")
            case _:
                return LLMReplyError(f"{where} refused the request: {detail}")

    def _short(self, detail: object) -> str:
        """The server's words, short, printable, and without the key."""
        if isinstance(detail, Mapping):
            detail = detail.get("message", detail)
        text = str(detail)
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return "".join(c if c.isprintable() else " " for c in text[:_SHOWN_DETAIL])


_FOREIGN_ERRORS = (
    openai.OpenAIError,
    httpx2.HTTPError,
    httpx2.StreamError,
    json.JSONDecodeError,
    UnicodeDecodeError,
)


def without_credentials(url: str) -> str:
    """``url`` fit to be shown: no user, password, query or fragment.

    Raises ``LLMNotConfigured`` if it is not an http(s) address.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.scheme not in {"http", "https"} or not host:
        raise LLMNotConfigured(
            f"{url.rpartition('@')[2]!r} is not the address of a language model; "
            "give one such as http://localhost:11434/v1"
        )
    shown_host = f"[{host}]" if ":" in host else host
    return urlunsplit(
        (parts.scheme, f"{shown_host}:{port}" if port else shown_host, parts.path, "", "")
    )


def _to_wire(messages: Sequence[Message]) -> list[dict[str, str]]:
    """The messages as JSON. Raises TextEncodingError for lone surrogates."""
    return [
        {"role": each.role, "content": defuse(check_text(each.content, "the prompt"))}
        for each in messages
    ]


def _without(request: Mapping[str, Any], refused: frozenset[str]) -> dict[str, Any]:
    return {
        _REPLACED_PARAMETERS.get(name, name) if name in refused else name: value
        for name, value in request.items()
        if name not in refused or name in _REPLACED_PARAMETERS
    }


def _is_count(value: object) -> TypeGuard[int]:
    """Whether a reported value is a plausible count: some servers send nonsense."""
    return type(value) is int and 0 <= value <= _MOST_TOKENS


def _usage(reported: object, messages: Sequence[Message], text: str) -> Usage:
    prompt = getattr(reported, "prompt_tokens", None)
    completion = getattr(reported, "completion_tokens", None)
    if _is_count(prompt) and _is_count(completion):
        return Usage(prompt, completion, calls=1)
    asked = sum(estimate_tokens(message.content) for message in messages)
    return Usage(asked, estimate_tokens(text), calls=1, estimated=True)
