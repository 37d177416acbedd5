"""A GGUF file on this machine, through llama.cpp (the ``xllamacpp`` package).

xllamacpp runs llama.cpp's server on a loopback port, so the client for OpenAI-compatible endpoints
talks to it: one implementation of requests, streaming and errors. The port asks for a random key,
because other users of the machine can reach it too.
"""

from __future__ import annotations

import secrets
import signal
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from treering.errors import LLMNotConfigured, LLMUnavailable, MissingExtra
from treering.llm import processors
from treering.llm.contract import LLM, Message, Reply, ReplyStream, TokenSurprisal
from treering.llm.gguf import existing_gguf
from treering.llm.surprisal import surprisals
from treering.llm.wire import defuse

try:  # before the client, which asks for less than a model in a file does
    import httpx2
    import xllamacpp
except ModuleNotFoundError as missing:
    raise MissingExtra.of("xllamacpp", "local") from missing

from treering.llm.openai_compatible import OpenAICompatible

DEFAULT_CONTEXT_WINDOW = 4096
"""Room for a 2,000-token context and its answer; a window costs memory whether used or not."""

_TIMEOUT_S = 1800.0
"""Requests queue for the one model, and a CPU may read 100 tokens a second."""

_QUIET = -1


class LocalLLM:
    """The model in the GGUF file ``path``, its own chat template applied.

    Requests are answered one at a time, those of other threads queue. Nothing of an earlier request
    is reused, so that the same request with temperature 0 (or a seed) gets the same reply.
    Create it in the main thread where you can: llama.cpp takes over Ctrl+C, and Python lets only
    the main thread take it back.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        context_window: int = DEFAULT_CONTEXT_WINDOW,
        threads: int | None = None,
        memo_adapter: str | Path | None = None,
    ) -> None:
        """``threads`` compute; by default as many as there are processors that may be kept busy.

        ``memo_adapter`` is a LoRA adapter of this model in a GGUF file (``treering tune memos``).
        It serves prompts about memos only: see ``for_memos``.
        """
        self._path = existing_gguf(Path(path))
        self._adapter = None if memo_adapter is None else existing_gguf(Path(memo_adapter))
        self._window = context_window
        key = secrets.token_urlsafe()
        self._server = _serve(
            self._path, self._adapter, context_window, key, threads or processors.usable()
        )
        self._address = self._server.listening_address
        self._tokenizer = httpx2.Client(
            base_url=self._address, headers={"Authorization": f"Bearer {key}"}, trust_env=False
        )
        self._chat = self._client(key, self._path.stem)
        # The server has the adapter's scale at 0 and applies it where a request asks for it. A
        # tuned model has forgotten how to do anything else.
        self._memos = self._chat
        if self._adapter is not None:
            name = f"{self._path.stem}+{self._adapter.stem}"
            self._memos = self._client(key, name, lora=[{"id": 0, "scale": 1.0}])

    def _client(self, key: str, name: str, **body: object) -> OpenAICompatible:
        return OpenAICompatible(
            f"{self._address}/v1",
            name,
            api_key=key,
            context_window=self._window,
            timeout_s=_TIMEOUT_S,
            attempts=1,  # within one process, asking again changes nothing
            extra_body={"cache_prompt": False, **body},
            trust_proxies=False,
        )

    def __repr__(self) -> str:
        return f"LocalLLM({str(self._path)!r})"

    @property
    def model(self) -> str:
        """The file's name without its suffix."""
        return self._path.stem

    @property
    def context_window(self) -> int:
        """Tokens that prompt and reply share."""
        return self._window

    @property
    def for_memos(self) -> LLM:
        """The model with its adapter for memos; the model itself if it has none."""
        return self if self._adapter is None else _MemoWriter(self, self._memos)

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
        return self._chat.complete(
            messages, max_tokens=max_tokens, temperature=temperature, stop=stop, seed=seed
        )

    def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        stop: Sequence[str] | None = None,
        seed: int | None = None,
    ) -> ReplyStream:
        """The reply as it is written; closing the stream stops the model."""
        return self._chat.stream(
            messages, max_tokens=max_tokens, temperature=temperature, stop=stop, seed=seed
        )

    def count_tokens(self, text: str) -> int:
        """Exactly what the model's tokenizer makes of ``text``."""
        return len(self._post("/tokenize", {"content": defuse(text)})["tokens"])

    def surprisals(self, text: str) -> list[TokenSurprisal]:
        """How hard each token of ``text`` is to guess; see ``ReadingLLM``."""
        return surprisals(self._post, self._window, text)

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        if self._tokenizer.is_closed:
            raise LLMUnavailable(f"{self!r} has been closed; open it again")
        try:
            answer = self._tokenizer.post(path, json=dict(body), timeout=_TIMEOUT_S)
            answer.raise_for_status()
            return answer.json()
        except httpx2.HTTPError as error:
            raise LLMUnavailable(f"{self!r} cannot read a text: {error}") from None

    def close(self) -> None:
        """Stop the server and free the model's memory."""
        self._chat.close()
        self._memos.close()
        self._tokenizer.close()
        self._server = None


class _MemoWriter:
    """A model with its adapter applied: asked by another client, else the model itself."""

    def __init__(self, llm: LocalLLM, chat: OpenAICompatible) -> None:
        self._llm = llm
        self._chat = chat
        self.model = chat.model
        self.context_window = llm.context_window
        self.stream = chat.stream
        self.count_tokens = llm.count_tokens

    def __repr__(self) -> str:
        return f"{self._llm!r}.for_memos"

    def complete(self, messages: Sequence[Message], **sampling: Any) -> Reply:
        """The reply with the adapter; the server names only the model itself."""
        return replace(self._chat.complete(messages, **sampling), model=self.model)

    def close(self) -> None:
        """The model closes itself; whoever asks it about memos has only borrowed it."""


def _serve(path: Path, adapter: Path | None, context_window: int, key: str, threads: int) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = {path.stem}
    params.n_ctx = context_window
    params.n_parallel = 1
    params.cpuparams.n_threads = threads
    params.api_keys = [key]
    params.ui = False
    params.warmup = False
    params.verbosity = _QUIET
    if adapter is not None:
        params.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(str(adapter), 0.0)]
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        if adapter is not None:
            raise LLMNotConfigured(
                f"{str(path)!r} cannot be loaded with the adapter {str(adapter)!r}; give one that "
                "was tuned on this model, or none, and see whether the model alone can be loaded"
            ) from error
        raise LLMNotConfigured(
            f"{str(path)!r} cannot be loaded; it may be cut off, of a newer format, or too large "
            f"for this machine's memory with a context window of {context_window} tokens"
        ) from error
    finally:
        _restore_signal_handlers()


def _restore_signal_handlers() -> None:
    """Give Ctrl+C and termination back to Python, which llama.cpp's server took them from."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.getsignal(number))
