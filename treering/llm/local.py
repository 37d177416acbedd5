"""A GGUF file on this machine, through llama.cpp (the ``xllamacpp`` package).

xllamacpp runs llama.cpp's server on a loopback port, and the client for OpenAI-compatible endpoints
talks to it. The port asks for a random key, because other users of the machine can reach it too.
"""

from __future__ import annotations

import secrets
import signal
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from treering.errors import LLMNotConfigured, MissingExtra
from treering.llm import processors
from treering.llm.contract import LLM, Message, Reply, Sampling
from treering.llm.settings import existing_gguf
from treering.llm.tokens import defuse

try:  # before the client, which asks for less than a model in a file does
    import xllamacpp
except ModuleNotFoundError as missing:
    raise MissingExtra.of("xllamacpp", "local") from missing

from treering.llm.openai_compatible import OpenAICompatible

DEFAULT_CONTEXT_WINDOW = 4096
"""Room for a 2,000-token context and its answer; a window costs memory whether used or not."""

_TIMEOUT_S = 1800.0
"""Requests queue for the one model, and a CPU may read 100 tokens a second."""

_QUIET = -1


class _ServerClient(OpenAICompatible):
    """A client of llama.cpp's server, which also counts tokens."""

    def __init__(self, url: str, name: str, key: str, window: int, **body: object) -> None:
        super().__init__(
            f"{url}/v1",
            name,
            api_key=key,
            context_window=window,
            timeout_s=_TIMEOUT_S,
            attempts=1,  # within one process, asking again changes nothing
            extra_body={"cache_prompt": False, **body},
            trust_proxies=False,
        )
        self._tokenizer = f"{url}/tokenize"

    def count_tokens(self, text: str) -> int:
        """Exactly what the model's tokenizer makes of ``text``."""
        body = {"content": defuse(text)}
        with self._translate_errors():
            answer: Any = self._client.post(self._tokenizer, cast_to=object, body=body)
        return len(answer["tokens"])


class LocalLLM(_ServerClient):
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
        """``threads`` compute; by default one for each usable processor.

        ``memo_adapter`` is a LoRA adapter of this model in a GGUF file (``treering tune memos``).
        It serves prompts about memos only: see ``for_memos``.
        """
        path = existing_gguf(Path(path))
        adapter = None if memo_adapter is None else existing_gguf(Path(memo_adapter))
        key = secrets.token_urlsafe()
        threads = threads or processors.usable_processors()
        self._path = path
        self._server = _serve(path, adapter, context_window, key, threads)
        url = self._server.listening_address
        super().__init__(url, path.stem, key, context_window)
        # The server has the adapter's scale at 0 and applies it where a request asks for it. A
        # tuned model has forgotten how to do anything else.
        self._memos: _MemoWriter | None = None
        if adapter is not None:
            name = f"{path.stem}+{adapter.stem}"
            lora = [{"id": 0, "scale": 1.0}]
            self._memos = _MemoWriter(url, name, key, context_window, lora=lora)

    def __repr__(self) -> str:
        return f"LocalLLM({str(self._path)!r})"

    @property
    def for_memos(self) -> LLM:
        """The model with its adapter for memos, or the model itself."""
        return self._memos or self

    def close(self) -> None:
        """Stop the server and free the model's memory."""
        super().close()
        if self._memos is not None:
            self._memos._client.close()
        self._server = None


class _MemoWriter(_ServerClient):
    """The model with its adapter."""

    def complete(self, messages: Sequence[Message], **sampling: Unpack[Sampling]) -> Reply:
        """The reply with the adapter; the server names only the model itself."""
        return replace(super().complete(messages, **sampling), model=self.model)

    def close(self) -> None:
        """Close nothing: the model, which lent this, closes it."""


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
