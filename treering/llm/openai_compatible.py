"""Any OpenAI-compatible endpoint: OpenAI, Ollama, vLLM, llama.cpp's server.

The one place where the client's and the transport's errors become errors of treering.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeGuard
from urllib.parse import urlsplit, urlunsplit

from treering.errors import (
    LLMNotConfigured,
    LLMReplyError,
    LLMUnavailable,
    MissingExtra,
    TextEncodingError,
)
from treering.http import retry_after_s
from treering.llm.contract import Message, Reply, ReplyStream, Usage
from treering.llm.tokens import estimate_tokens
from treering.llm.wire import to_wire
from treering.text import check_text

try:
    import httpx2
    import openai
    import tenacity
except ModuleNotFoundError as missing:
    raise MissingExtra.of(missing.name or "openai", "llm") from missing

OPENAI_HOST = "api.openai.com"

DEFAULT_TIMEOUT_S = 120.0
"""Between two bytes from the server: a small model on a CPU reads a 4,000-token prompt in less."""

DEFAULT_ATTEMPTS = 4
"""Waits of at most 0.5, 1 and 2 s lie between them; what fails then is tried later, as pending."""

DEFAULT_CONTEXT_WINDOW = 4096
"""Ollama's default, the smallest of the servers; it cuts longer prompts without saying so."""

_MAX_WAIT_S = 20.0
_SHOWN_DETAIL = 300
_MOST_TOKENS = 10**9  # no window has as many; the ledger adds them up
_MOST_CHARS = 1_000_000  # of a reply: a hundred times what is ever asked for
_NO_KEY = "no-key"
"""Sent where none is configured: with no key at all the client would take OPENAI_API_KEY."""

_REPLACED_PARAMETERS = {"max_tokens": "max_completion_tokens"}
_PREFERENCES = ("temperature", "seed", "stop")
"""Parameters that reasoning models refuse; a request makes sense without them."""

_log = logging.getLogger(__name__)


class OpenAICompatible:
    """The model ``model`` behind ``base_url`` (such as ``http://localhost:11434/v1``).

    Rate limits, server errors, time-outs and lost connections are retried ``attempts`` times in
    all, waiting as long as the server asks or else exponentially. ``timeout_s`` bounds connecting
    and every silence of the server. ``extra_body`` is merged into each request. The environment is
    not read: see ``treering.llm.settings``.
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
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._url = without_credentials(base_url)
        self._model = model
        self._window = context_window
        self._timeout_s = timeout_s
        self._attempts = attempts
        self._extra_body = dict(extra_body or {})
        self._sleep = sleep
        self._secrets = tuple(filter(None, (api_key, urlsplit(base_url).password)))
        if api_key and not (api_key.isascii() and api_key.isprintable()):
            raise LLMNotConfigured(
                "the API key holds characters that no HTTP header can carry; copy it again"
            )
        self._refused: frozenset[str] = frozenset()
        self._client = openai.OpenAI(
            base_url=base_url,
            api_key=api_key or _NO_KEY,
            max_retries=0,
            # A redirect could send prompts to another host than the one that was configured.
            http_client=openai.DefaultHttpx2Client(
                timeout=timeout_s, trust_env=trust_proxies, follow_redirects=False
            ),
        )
        if urlsplit(base_url).hostname != OPENAI_HOST:
            # Taken from OPENAI_ORG_ID and OPENAI_PROJECT_ID; nobody else's business.
            self._client.organization = self._client.project = None

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
        """An estimate: the protocol has no call that counts."""
        return estimate_tokens(text)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        stop: Sequence[str] | None = None,
        seed: int | None = None,
    ) -> Reply:
        """The reply to ``messages``; see ``LLM.complete``."""
        request = self._request(messages, max_tokens, temperature, stop, seed)
        with self._translated():
            return self._reply_of(self._send(request), messages)

    def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        stop: Sequence[str] | None = None,
        seed: int | None = None,
    ) -> ReplyStream:
        """The reply as it is written; retried only as long as nothing has arrived."""
        request = self._request(messages, max_tokens, temperature, stop, seed)
        request |= {"stream": True, "stream_options": {"include_usage": True}}
        return ReplyStream(self._pieces(request, messages))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _request(
        self,
        messages: Sequence[Message],
        max_tokens: int,
        temperature: float,
        stop: Sequence[str] | None,
        seed: int | None,
    ) -> dict[str, Any]:
        optional = {"stop": list(stop) if stop else None, "seed": seed}
        return {
            "model": self._model,
            "messages": to_wire(messages),
            "max_tokens": max_tokens,
            "temperature": temperature,
            "extra_body": self._extra_body,
            **{name: value for name, value in optional.items() if value is not None},
        }

    def _send(self, request: Mapping[str, Any]) -> Any:
        """The client's answer, after retries: a completion, or a stream of chunks."""
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(_worth_retrying),
            stop=tenacity.stop_after_attempt(self._attempts),
            wait=_wait,
            sleep=self._sleep,
            reraise=True,
        )
        return retrying(self._send_once, request)

    def _send_once(self, request: Mapping[str, Any]) -> Any:
        try:
            return self._client.chat.completions.create(**_without(request, self._refused))
        except openai.BadRequestError as error:
            if not self._learns_from(error, request):
                raise
        return self._send_once(request)

    def _learns_from(self, refusal: openai.BadRequestError, request: Mapping[str, Any]) -> bool:
        """Whether the model refused a parameter that it can be asked without, from now on."""
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
        """A chunk's text and finish reason; the last chunk has no choice, only the usage."""
        try:
            choices = [
                (choice.delta.content or "", choice.finish_reason) for choice in chunk.choices
            ]
        except (AttributeError, TypeError):
            raise self._no_choice_in(chunk) from None
        return choices[0] if choices else ("", None)

    def _no_choice_in(self, answer: object) -> LLMReplyError:
        return LLMReplyError(
            f"{self._url} answered without a choice: {self._shown(answer)!r}; "
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
        """Raises LLMReplyError for a text that cannot be stored, or is beyond all that is asked."""
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
        with self._translated(), self._send(request) as chunks:
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
                f"{self._url} broke off after {len(text)} characters of its reply; try again"
            )
        return self._reply(text, finish, last, messages)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except _FOREIGN_ERRORS as error:
            # The original may quote the key (servers echo it), so it is not chained.
            raise self._ours(error) from None
        except RuntimeError:
            if not self._client.is_closed():
                raise
            raise LLMUnavailable(f"{self!r} has been closed; open it again") from None

    def _ours(self, error: Exception) -> LLMNotConfigured | LLMReplyError | LLMUnavailable:
        where, detail = self._url, self._shown(getattr(error, "body", None) or error)
        match error:
            case openai.APITimeoutError() | httpx2.TimeoutException():
                return LLMUnavailable(
                    f"{where} sent nothing for {self._timeout_s:g} s; "
                    "try again later, or allow more time"
                )
            case openai.AuthenticationError():
                return LLMNotConfigured(f"{where} refused the API key; set TREERING_LLM_API_KEY")
            case openai.PermissionDeniedError():
                return LLMNotConfigured(
                    f"{where} does not let this key use {self._model}: {detail}"
                )
            case openai.NotFoundError():
                return LLMNotConfigured(
                    f"{where} has no model {self._model!r}, or is not the address of an "
                    f"OpenAI-compatible API (most end in /v1): {detail}"
                )
            case openai.RateLimitError() | openai.InternalServerError():
                return LLMUnavailable(f"{where} answered {error.status_code}: {detail}")
            case openai.APIConnectionError() | httpx2.TransportError():
                return LLMUnavailable(
                    f"no connection to {where} ({detail}); is the server running there?"
                )
            case openai.APIStatusError() if error.response.is_redirect:
                return LLMNotConfigured(
                    f"{where} redirects to {error.response.headers['location']!r}; prompts go only "
                    "to the address that is configured: give that one, if you trust it"
                )
            case openai.APIStatusError():
                return LLMReplyError(f"{where} refused the request: {detail}")
            case _:
                return LLMReplyError(f"{where} answered something unreadable: {detail}")

    def _shown(self, detail: object) -> str:
        """What the server said, short, printable, and without the key."""
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


def _without(request: Mapping[str, Any], refused: frozenset[str]) -> dict[str, Any]:
    return {
        _REPLACED_PARAMETERS.get(name, name) if name in refused else name: value
        for name, value in request.items()
        if name not in refused or name in _REPLACED_PARAMETERS
    }


def _worth_retrying(error: BaseException) -> bool:
    if isinstance(error, openai.RateLimitError):
        return error.code != "insufficient_quota"  # no waiting refills an account
    return isinstance(error, (openai.APIConnectionError, openai.InternalServerError))


_backoff = tenacity.wait_random_exponential(multiplier=0.5, max=_MAX_WAIT_S)


def _wait(state: tenacity.RetryCallState) -> float:
    """Seconds until the next attempt: as the server asks (Retry-After), else longer each time."""
    error = state.outcome.exception() if state.outcome else None
    headers = error.response.headers if isinstance(error, openai.APIStatusError) else {}
    asked = retry_after_s(headers.get("retry-after"))
    return _backoff(state) if asked is None else min(asked, _MAX_WAIT_S)


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
