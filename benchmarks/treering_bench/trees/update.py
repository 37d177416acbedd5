"""One more text: the tree against rebuilding offline, in the manner of RAPTOR.

A scripted language model takes its time for every call, and both sides have as many calls in
flight. RAPTOR clusters all vectors (:mod:`treering_bench.policy.raptor`), summarises each cluster,
and does the same with the summaries until one is left; taking in one more text means doing all of
it again. Also measured is how long an insert takes while the summaries are being made.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from treering.embed.contract import Embedder
from treering.errors import InputError
from treering.llm.contract import Message
from treering.llm.scripted import Request, ScriptedLLM
from treering.memory import Memory
from treering.views.tree.settings import SUMMARY_TOKENS
from treering.views.tree.settle import CALLS_IN_FLIGHT
from treering_bench.policy.raptor import build

SUMMARY_CHARS = 4 * SUMMARY_TOKENS


class SlowModel:
    """A scripted model that takes its time and counts how many of its calls run at once."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._running = 0
        self.most_at_once = 0
        self.llm = ScriptedLLM(
            lambda request: request.text[-SUMMARY_CHARS:],
            context_window=32_768,
            before_reply=self._wait,
        )

    @property
    def calls(self) -> int:
        """Calls so far."""
        return len(self.llm.requests)

    def summarise(self, group: Sequence[str]) -> str:
        """One call."""
        prompt = Message("user", "\n\n".join(group))
        return self.llm.complete([prompt], max_tokens=SUMMARY_TOKENS, temperature=0.0).text

    def _wait(self, _: Request) -> None:
        with self._lock:
            self._running += 1
            self.most_at_once = max(self.most_at_once, self._running)
        time.sleep(self._seconds)
        with self._lock:
            self._running -= 1


@dataclass(frozen=True, slots=True)
class UpdateOptions:
    """How many texts are there first, come while it settles, and come afterwards one by one.

    ``seconds`` is what a call of the model takes.
    """

    first: int = 1000
    meanwhile: int = 400
    more: int = 20
    seconds: float = 0.2


def update_figures(
    texts: Sequence[str], options: UpdateOptions, embedder: Embedder
) -> dict[str, Any]:
    """Calls and seconds of both sides, and milliseconds of inserts."""
    needed = options.first + options.more + options.meanwhile
    if len(texts) < needed:
        raise InputError(f"there are {len(texts)} texts, and {needed} are needed; ask for fewer")
    first, rest = texts[: options.first], texts[options.first : needed]
    model = SlowModel(options.seconds)
    with (
        TemporaryDirectory(prefix="treering-bench-") as folder,
        Memory.open(Path(folder) / "memory.db", embedder=embedder, llm=model.llm) as memory,
    ):
        memory.add([{"role": "user", "content": text} for text in first])
        figures = _while_settling(memory, model, rest[options.more :])
        memory.settle()
        figures["one more"] = _one_more(memory, model, rest[: options.more])
    figures["one more, rebuilt"] = _rebuilt(texts[: options.first + 1], options.seconds, embedder)
    return figures


def _while_settling(memory: Memory, model: SlowModel, texts: Sequence[str]) -> dict[str, Any]:
    """What an insert takes while nothing happens, and while all summaries are being made."""
    waiting = iter(texts)
    quarter = iter(range(len(texts) // 4))
    idle = _inserts(memory, waiting, lambda: next(quarter, None) is not None)
    settling = threading.Thread(target=memory.settle)
    started = time.perf_counter()
    settling.start()
    busy = _inserts(memory, waiting, settling.is_alive)
    settling.join()
    return {
        "settle": {
            "calls": model.calls,
            "seconds": round(time.perf_counter() - started, 2),
            "calls at once": model.most_at_once,
        },
        "insert, idle": _milliseconds(idle),
        "insert while settling": _milliseconds(busy),
    }


def _inserts(memory: Memory, texts: Iterator[str], go_on: Callable[[], bool]) -> list[float]:
    """Milliseconds of adding each text and giving it its leaf, while ``go_on`` says so."""
    taken = []
    while go_on() and (text := next(texts, None)):
        started = time.perf_counter()
        memory.add(text, source="meanwhile")
        memory.tree._grow()
        taken.append(1000 * (time.perf_counter() - started))
    return taken


def _milliseconds(taken: Sequence[float]) -> dict[str, float]:
    if not taken:
        return {"n": 0}
    return {"p50_ms": round(float(np.median(taken)), 1), "max_ms": max(taken), "n": len(taken)}


def _one_more(memory: Memory, model: SlowModel, texts: Sequence[str]) -> dict[str, float]:
    """The cost of adding one text and settling."""
    calls, seconds = [], []
    for text in texts:
        before, started = model.calls, time.perf_counter()
        memory.add(text, source="more")
        memory.settle()
        calls.append(model.calls - before)
        seconds.append(time.perf_counter() - started)
    return {
        "calls": round(float(np.mean(calls)), 2),
        "calls, deviation": round(float(np.std(calls)), 2),
        "seconds": round(float(np.mean(seconds)), 3),
    }


def _rebuilt(texts: Sequence[str], seconds: float, embedder: Embedder) -> dict[str, float]:
    """Building the whole tree of summaries, with as many calls in flight as treering has."""
    model = SlowModel(seconds)
    vectors = embedder.embed(texts)
    started = time.perf_counter()
    with ThreadPoolExecutor(CALLS_IN_FLIGHT) as pool:
        build(
            texts, vectors, lambda groups: list(pool.map(model.summarise, groups)), embedder.embed
        )
    return {"calls": model.calls, "seconds": round(time.perf_counter() - started, 2)}
