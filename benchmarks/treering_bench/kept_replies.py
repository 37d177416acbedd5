"""Language models for measurements, with kept replies and an optional time limit.

A measurement that stops, or runs out of time, goes on when it is started again.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from treering.errors import LLMUnavailable
from treering.llm.contract import LLM, Message, Reply, ReplyStream, Usage
from treering.llm.settings import open_llm
from treering.llm.tokens import estimate_tokens
from treering_bench.results import drop_unfinished_line


@contextmanager
def kept_model(
    spec: str | LLM | None,
    replies: Path,
    minutes: float | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    estimating: bool = True,
) -> Iterator[KeptReplies]:
    """The model that ``spec`` names, with its replies kept in ``replies``. It is closed at the end.

    With ``minutes`` it raises LLMUnavailable instead of starting a reply after that time; what was
    replied by then is kept. Its tokens are estimated, unless ``estimating`` is False.
    """
    with closing(open_llm(spec, environ=environ)) as model:
        limited = model if minutes is None else TimeLimitedModel(model, 60 * minutes)
        yield KeptReplies(EstimatingModel(limited) if estimating else limited, replies)


class WholeReplies:
    """A model that streams a reply as one piece."""

    complete: Any
    """The method that replies."""

    def stream(self, messages: Sequence[Message], **sampling: Any) -> ReplyStream:
        """The whole reply as one piece."""
        return ReplyStream.in_one_piece(lambda: self.complete(messages, **sampling))


class _ModelWrapper:
    """A model that passes everything on to another one."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    def __getattr__(self, name: str) -> Any:
        return getattr(self._llm, name)


class RenamedModel(_ModelWrapper):
    """A model under another name, by which its replies are told from those of others."""

    def __init__(self, llm: LLM, name: str) -> None:
        super().__init__(llm)
        self._name = name

    @property
    def model(self) -> str:
        """The name that was given."""
        return self._name


class EstimatingModel(_ModelWrapper):
    """A model whose tokens are estimated, so that texts are cut alike whichever model it is."""

    def count_tokens(self, text: str) -> int:
        """An estimate: memos are then due at the same lines whichever model writes them."""
        return estimate_tokens(text)


class TimeLimitedModel(_ModelWrapper):
    """A model that refuses to start a reply after so many seconds."""

    def __init__(self, llm: LLM, seconds: float) -> None:
        super().__init__(llm)
        self._end = time.monotonic() + seconds

    def complete(self, messages: Sequence[Message], **sampling: Any) -> Reply:
        """The model's reply. Raises LLMUnavailable if the time is up."""
        if time.monotonic() >= self._end:
            raise LLMUnavailable("time is up; run the same command again to go on")
        reply: Reply = self._llm.complete(messages, **sampling)
        return reply


class KeptReplies(_ModelWrapper, WholeReplies):
    """``llm``, asked once for each request; after that its reply is read from ``path``.

    Replies are kept, errors are not. Model, messages and sampling tell one request from another.
    Usage is kept as it was measured, so that a repeated run reports what the first one cost. Safe
    to call from several threads; of two processes, one should write.
    """

    def __init__(self, llm: LLM, path: Path) -> None:
        super().__init__(llm)
        self._path = path
        self._lock = threading.Lock()
        self._kept = _read(path)

    def complete(self, messages: Sequence[Message], **sampling: Any) -> Reply:
        """The kept reply to this request; else the model's reply, which is then kept."""
        how = {"stop": None, "seed": None} | sampling
        asked = [self.model, [asdict(message) for message in messages], how]
        key = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
        if key not in self._kept:
            self._keep(key, self._llm.complete(messages, **how))
        return self._kept[key]

    def _keep(self, key: str, reply: Reply) -> None:
        line = json.dumps({"key": key, "reply": asdict(reply)}, ensure_ascii=False)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._lock, self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(line + "\n")
            self._kept[key] = reply


def _read(path: Path) -> dict[str, Reply]:
    if not path.exists():
        return {}
    drop_unfinished_line(path)
    replies = {}
    for line in path.read_text("utf-8").split("\n"):
        if line:
            row = json.loads(line)
            usage = Usage(**row["reply"].pop("usage"))
            replies[row["key"]] = Reply(usage=usage, **row["reply"])
    return replies
