"""A language model whose replies are kept in a file: a measurement that stops can go on."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Generator, Sequence
from dataclasses import asdict
from pathlib import Path

from treering.bench.results import drop_unfinished_line
from treering.llm.contract import LLM, Message, Reply, ReplyStream, Usage


class KeptReplies:
    """``llm``, asked once for each request; what it answered is read from ``path`` after that.

    Kept are replies, not errors. A request is told by model, messages, and sampling; usage is
    kept as it was measured, so that a repeated run reports what the first one cost. Safe to call
    from several threads; of two processes, one should write.
    """

    def __init__(self, llm: LLM, path: Path) -> None:
        self._llm = llm
        self._path = path
        self._lock = threading.Lock()
        self._kept = _read(path)

    @property
    def model(self) -> str:
        """The model's own name."""
        return self._llm.model

    @property
    def context_window(self) -> int:
        """The model's own window."""
        return self._llm.context_window

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        stop: Sequence[str] | None = None,
        seed: int | None = None,
    ) -> Reply:
        """The kept reply to this request, else the model's, which is kept."""
        how = {"max_tokens": max_tokens, "temperature": temperature, "stop": stop, "seed": seed}
        asked = [self.model, [asdict(message) for message in messages], how]
        key = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
        if key not in self._kept:
            reply = self._llm.complete(
                messages, max_tokens=max_tokens, temperature=temperature, stop=stop, seed=seed
            )
            self._keep(key, reply)
        return self._kept[key]

    def stream(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        stop: Sequence[str] | None = None,
        seed: int | None = None,
    ) -> ReplyStream:
        """The whole reply as one piece."""

        def pieces() -> Generator[str, None, Reply]:
            reply = self.complete(
                messages, max_tokens=max_tokens, temperature=temperature, stop=stop, seed=seed
            )
            yield reply.text
            return reply

        return ReplyStream(pieces())

    def count_tokens(self, text: str) -> int:
        """The model's own count."""
        return self._llm.count_tokens(text)

    def close(self) -> None:
        """Close the model."""
        self._llm.close()

    def _keep(self, key: str, reply: Reply) -> None:
        line = json.dumps({"key": key, "reply": asdict(reply)}, ensure_ascii=False)
        with self._lock, self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(line + "\n")
            self._kept[key] = reply


def _read(path: Path) -> dict[str, Reply]:
    if not path.exists():
        return {}
    drop_unfinished_line(path)
    kept = {}
    for line in path.read_text("utf-8").split("\n"):
        if line:
            row = json.loads(line)
            usage = Usage(**row["reply"].pop("usage"))
            kept[row["key"]] = Reply(usage=usage, **row["reply"])
    return kept
