"""Language models for measurements: their replies are kept, and their time can be limited.

A measurement that stops, or runs out of time, goes on when it is started again.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from treering.errors import LLMUnavailable
from treering.llm.contract import LLM, Message, Reply, ReplyStream, Usage
from treering.llm.settings import open_llm
from treering.llm.tokens import estimate_tokens
from treering_bench.results import drop_unfinished_line


class TimeUp(LLMUnavailable):
    """The time that a measurement may ask models is over."""


def in_one_piece(complete: Callable[[], Reply]) -> ReplyStream:
    """The reply of a model that does not write in pieces; the first read calls ``complete``."""

    def pieces() -> Generator[str, None, Reply]:
        reply = complete()
        yield reply.text
        return reply

    return ReplyStream(pieces())


class KeptModel:
    """A model that is asked once for each request; after that its reply is read from ``path``.

    Replies are kept, errors are not. Model, messages and sampling tell one request from another.
    ``usage`` counts each reply that was used once, with the tokens that it cost when it was made,
    so that a repeated run reports the cost of the first. With ``minutes`` no reply is begun after
    that time. Tokens of texts are estimated, unless ``estimating`` is False, so that texts are cut
    alike whichever model it is. Safe to call from several threads; of two processes, one should
    write.
    """

    def __init__(
        self,
        llm: LLM,
        path: Path,
        *,
        minutes: float | None = None,
        estimating: bool = True,
        name: str | None = None,
    ) -> None:
        self._llm = llm
        self._path = path
        self._end = None if minutes is None else time.monotonic() + 60 * minutes
        self._estimating = estimating
        self.model = name or llm.model
        self.usage = Usage()
        self._lock = threading.Lock()  # protects the file, the replies and the usage
        self._kept = _read(path)
        self._used: set[str] = set()

    @property
    def context_window(self) -> int:
        """Tokens that prompt and reply share."""
        return self._llm.context_window

    def __getattr__(self, name: str) -> Any:
        return getattr(self._llm, name)

    def complete(self, messages: Sequence[Message], **sampling: Any) -> Reply:
        """The kept reply to this request; else the model's, which is then kept. Raise TimeUp."""
        how = {"stop": None, "seed": None} | sampling
        asked = [self.model, [asdict(message) for message in messages], how]
        key = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
        reply = self._kept.get(key)
        if reply is None:
            if self._end is not None and time.monotonic() >= self._end:
                raise TimeUp("the time is up; run the same command again to go on")
            reply = self._llm.complete(messages, **how)
        with self._lock:
            if key not in self._kept:
                self._write(key, reply)
            if key not in self._used:
                self._used.add(key)
                self.usage += reply.usage
        return reply

    def stream(self, messages: Sequence[Message], **sampling: Any) -> ReplyStream:
        """The whole reply as one piece."""
        return in_one_piece(lambda: self.complete(messages, **sampling))

    def count_tokens(self, text: str) -> int:
        """The tokens of a text, or an estimate of them."""
        return estimate_tokens(text) if self._estimating else self._llm.count_tokens(text)

    def _write(self, key: str, reply: Reply) -> None:
        line = json.dumps({"key": key, "reply": asdict(reply)}, ensure_ascii=False)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(line + "\n")
        self._kept[key] = reply


@contextmanager
def kept_model(
    spec: str | LLM | None,
    replies: Path,
    minutes: float | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    estimating: bool = True,
) -> Iterator[KeptModel]:
    """The model that ``spec`` names, with its replies kept in ``replies``; closed at the end."""
    with closing(open_llm(spec, environ=environ)) as model:
        yield KeptModel(model, replies, minutes=minutes, estimating=estimating)


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
