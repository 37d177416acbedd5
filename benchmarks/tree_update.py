"""One more text after 1,000: the tree against rebuilding offline, in the manner of RAPTOR.

    python -m benchmarks.tree_update DATA [--texts 1000] [--seconds 0.2]

DATA holds ``lihua_world``, whose chat logs' lines are the texts. A scripted language model takes
``--seconds`` a call, and both sides have eight calls in flight. RAPTOR clusters all vectors
(see ``treering.bench.policy.raptor``), summarises each cluster, and does the same with the
summaries until one is left; taking in one more text means doing all of it again.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from treering.bench.policy.raptor import build
from treering.embed.minilm import MiniLM
from treering.llm.contract import Message
from treering.llm.scripted import Request, ScriptedLLM
from treering.llm.tokens import estimate_tokens
from treering.memory import Memory
from treering.relate.contract import Floats
from treering.tree.aggregate import SUMMARY_TOKENS
from treering.tree.extract import central_sentences
from treering.tree.settle import CALLS_IN_FLIGHT


class Clock:
    """A scripted model that takes its time and knows how many of its calls ran at once."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._running = 0
        self.most = 0
        self.llm = ScriptedLLM(
            lambda request: central_sentences([request.text], SUMMARY_TOKENS, estimate_tokens),
            context_window=32_768,
            before_reply=self._wait,
        )

    @property
    def calls(self) -> int:
        """Calls so far."""
        return len(self.llm.requests)

    def _wait(self, _: Request) -> None:
        with self._lock:
            self._running += 1
            self.most = max(self.most, self._running)
        time.sleep(self._seconds)
        with self._lock:
            self._running -= 1


def texts(data: Path, count: int) -> list[str]:
    """Lines of chat logs, without their dates."""
    logs = (data / "lihua_world/docs.jsonl").read_text("utf-8").split("\n")
    said = [line for log in logs if log for line in json.loads(log)["text"].split("\n")[1:]]
    return list(dict.fromkeys(line for line in said if line.strip()))[:count]


def raptor(said: Sequence[str], vectors: Floats, model: MiniLM, clock: Clock) -> None:
    """Build the whole tree of summaries, with as many calls in flight as treering has."""
    with ThreadPoolExecutor(CALLS_IN_FLIGHT) as pool:
        build(
            said,
            vectors,
            lambda groups: list(pool.map(lambda group: summarise(group, clock), groups)),
            model.embed,
        )


def summarise(group: Sequence[str], clock: Clock) -> str:
    """One call."""
    prompt = Message("user", "\n\n".join(group))
    return clock.llm.complete([prompt], max_tokens=SUMMARY_TOKENS, temperature=0.0).text


def main() -> None:
    """Print calls and seconds of both sides."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--more", type=int, default=20, help="texts added, one at a time")
    options = parser.parse_args()
    said = texts(options.data, options.texts + options.more)
    model = MiniLM()
    clock = Clock(options.seconds)
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory.open(Path(folder) / "memory.db", embedder=model, llm=clock.llm) as memory,
    ):
        memory.add([{"role": "user", "content": text} for text in said[: options.texts]])
        started = time.perf_counter()
        memory.settle()
        took = time.perf_counter() - started
        print(f"tree, the first {options.texts}: {clock.calls} calls, {took:.1f} s to settle,")
        print(f"  {clock.most} calls in flight at most")
        calls, seconds, adding = [], [], []
        for text in said[options.texts :]:
            before, started = clock.calls, time.perf_counter()
            memory.add(text, source="more")
            adding.append(time.perf_counter() - started)
            memory.settle()
            calls.append(clock.calls - before)
            seconds.append(time.perf_counter() - started)
        print(
            f"tree, one more: {np.mean(calls):.2f} ± {np.std(calls):.2f} calls,"
            f" {np.mean(seconds):.2f} s, of which add {np.median(adding):.3f} s"
        )
    rebuilt = Clock(options.seconds)
    vectors = model.embed(said[: options.texts + 1])
    started = time.perf_counter()
    raptor(said[: options.texts + 1], vectors, model, rebuilt)
    print(f"RAPTOR-style, one more: {rebuilt.calls} calls, {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
