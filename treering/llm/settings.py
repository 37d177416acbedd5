"""Which language model to use: as the caller says, else as the environment says.

The caller or ``TREERING_LLM_*`` must name the model. So an ``OPENAI_API_KEY`` for other programs
never sends a memory anywhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import urldefrag

from treering import files
from treering.errors import LLMNotConfigured, UnknownName
from treering.hints import Hint
from treering.llm.contract import LLM, LLMFactory
from treering.plugins import plugins

ENTRY_POINTS = "treering.llms"

GGUF = "TREERING_LLM_GGUF"
BASE_URL = "TREERING_LLM_BASE_URL"
MODEL = "TREERING_LLM_MODEL"
API_KEY = "TREERING_LLM_API_KEY"
CONTEXT_WINDOW = "TREERING_LLM_CONTEXT_WINDOW"
THREADS = "TREERING_LLM_THREADS"
MEMO_ADAPTER = "TREERING_MEMO_ADAPTER"
OPENAI_BASE_URL = "OPENAI_BASE_URL"
OPENAI_API_KEY = "OPENAI_API_KEY"

_MAGIC = b"GGUF"

NONE = "none"
"""The specification of no model at all, such as where a run must be the same everywhere."""

_OPENAI_URL = "https://api.openai.com/v1"

HOW_TO_CONFIGURE = f"""no language model is configured. Choose one of:
  a server    {BASE_URL}=http://localhost:11434/v1  {MODEL}=qwen2.5:7b   (Ollama, vLLM, llama.cpp)
  OpenAI      {OPENAI_API_KEY}=...  {MODEL}=gpt-4o-mini
  a file      {GGUF}=/path/to/model.gguf   (pip install 'treering[local]')
or name the model: --llm on the command line, llm= in Python, such as
  http://localhost:11434/v1#qwen2.5:7b or model.gguf"""


def open_llm(spec: str | LLM | None = None, *, environ: Mapping[str, str] | None = None) -> LLM:
    """The language model that ``spec`` names, or the environment's if it is ``None``.

    ``spec`` is a model object (returned as it is), the path of a ``*.gguf`` file, an address
    ``http://host:port/v1#model``, or ``name`` or ``name#model`` of a model registered under the
    entry point group ``treering.llms``; ``none`` disables the model, whatever the environment
    names. No connection is opened yet.

    Raises ``LLMNotConfigured`` with what to set, ``UnknownName``, or ``MissingExtra``.
    """
    environ = os.environ if environ is None else environ
    if spec is None:
        return _from_environment(environ)
    if not isinstance(spec, str):
        return spec
    if spec == NONE:
        message = "the specification 'none' disables the language model, but this call needs one"
        raise LLMNotConfigured(message, hint=Hint.CHOOSE_LLM, param="llm")
    return _find_opener(spec, environ)()


def ensure_meaningful(spec: str | LLM | None) -> None:
    """Raise the error of ``open_llm`` for a specification that cannot name a model.

    Nothing is loaded. The environment is not checked: a memory works without its model.
    """
    if isinstance(spec, str) and spec != NONE:
        _find_opener(spec, os.environ)


def _find_opener(spec: str, environ: Mapping[str, str]) -> Callable[[], LLM]:
    if "://" in spec:
        return partial(_remote, *_address_and_model(spec, environ), environ)
    if spec.lower().endswith(".gguf"):
        return partial(_local, existing_gguf(Path(spec).expanduser()), environ)
    name, _, model = spec.partition("#")
    return partial(_find_factory(name), model)


def is_configured(
    spec: str | LLM | None = None, *, environ: Mapping[str, str] | None = None
) -> bool:
    """Whether ``spec``, or else the environment, names a language model; it need not work."""
    environ = os.environ if environ is None else environ
    if spec is not None:
        return spec != NONE
    return bool(environ.get(GGUF) or environ.get(BASE_URL) or _names_openai(environ))


def _names_openai(environ: Mapping[str, str]) -> bool:
    where = environ.get(OPENAI_BASE_URL) or environ.get(OPENAI_API_KEY)
    return bool(environ.get(MODEL) and where)


def _from_environment(environ: Mapping[str, str]) -> LLM:
    gguf, base_url = environ.get(GGUF), environ.get(BASE_URL)
    if gguf and base_url:
        raise LLMNotConfigured(f"both {GGUF} and {BASE_URL} are set; unset one of them")
    if gguf:
        return _local(existing_gguf(Path(gguf).expanduser()), environ)
    if base_url or _names_openai(environ):
        url = base_url or environ.get(OPENAI_BASE_URL) or _OPENAI_URL
        return _remote(*_address_and_model(url, environ), environ)
    raise LLMNotConfigured(HOW_TO_CONFIGURE)


def _local(file: Path, environ: Mapping[str, str]) -> LLM:
    adapter = environ.get(MEMO_ADAPTER)
    if adapter:
        existing_gguf(Path(adapter).expanduser())
    threads = _count(environ, THREADS, "threads; set one such as 4")
    from treering.llm.local import DEFAULT_CONTEXT_WINDOW, LocalLLM

    window = _context_window(environ) or DEFAULT_CONTEXT_WINDOW
    return LocalLLM(
        file,
        context_window=window,
        threads=threads,
        memo_adapter=Path(adapter).expanduser() if adapter else None,
    )


def _remote(base_url: str, model: str, environ: Mapping[str, str]) -> LLM:
    from treering.llm.openai_compatible import DEFAULT_CONTEXT_WINDOW, OpenAICompatible

    return OpenAICompatible(
        base_url,
        model,
        api_key=_key_for(base_url, environ),
        context_window=_context_window(environ) or DEFAULT_CONTEXT_WINDOW,
    )


def existing_gguf(path: Path) -> Path:
    """``path``, which is a GGUF file. Raises LLMNotConfigured if it is not."""
    try:
        with files.open_file(path) as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise LLMNotConfigured(
            f"cannot read the model {str(path)!r} ({error.strerror}); give the path of a GGUF file"
        ) from error
    if magic != _MAGIC:
        raise LLMNotConfigured(f"{str(path)!r} is not a GGUF file; give the path of one")
    return path


def _address_and_model(spec: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """The address of a server and the model. Raises LLMNotConfigured if nothing names one."""
    base_url, model = urldefrag(spec)
    model = model or environ.get(MODEL, "")
    if model:
        return base_url, model
    from treering.llm.openai_compatible import without_credentials

    shown = without_credentials(base_url)
    raise LLMNotConfigured(f"which model of {shown}? Set {MODEL}, or write {shown}#model")


def _key_for(base_url: str, environ: Mapping[str, str]) -> str | None:
    """The key to send; OpenAI's goes only where OpenAI's variables say, never to another server."""
    openai_url = environ.get(OPENAI_BASE_URL) or _OPENAI_URL
    if environ.get(API_KEY):
        return environ[API_KEY]
    if base_url.rstrip("/") in {openai_url.rstrip("/"), _OPENAI_URL}:
        return environ.get(OPENAI_API_KEY) or None
    return None


def _context_window(environ: Mapping[str, str]) -> int | None:
    return _count(environ, CONTEXT_WINDOW, "tokens; set one such as 8192")


def _count(environ: Mapping[str, str], name: str, what: str) -> int | None:
    """The number that a variable holds, from 1 on; None if it is not set."""
    value = environ.get(name)
    if not value:
        return None
    if not value.isdecimal() or int(value) == 0:
        raise LLMNotConfigured(f"{name}={value!r} is not a number of {what}")
    return int(value)


def _find_factory(name: str) -> LLMFactory:
    points = plugins(ENTRY_POINTS)
    if name not in points.names:
        names = ", ".join(sorted(points.names)) or "none is installed"
        raise UnknownName(
            f"no language model is registered as {name!r} (registered: {names}); "
            "give a *.gguf path or an address such as http://localhost:11434/v1#model"
        )
    factory: LLMFactory = points[name].load()
    return factory
