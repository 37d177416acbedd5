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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from treering.bench.policy.raptor import build
from treering.embed.minilm import MiniLM
from treering.llm.contract import Message
from treering.llm.scripted import Request, ScriptedLLM
from treering.memory import Memory
from treering.relate.contract import Floats
from treering.tree.aggregate import SUMMARY_TOKENS
from treering.tree.settle import CALLS_IN_FLIGHT

SUMMARY_CHARS = 4 * SUMMARY_TOKENS


class Clock:
    """A scripted model that takes its time and knows how many of its calls ran at once."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._running = 0
        self.most = 0
        self.llm = ScriptedLLM(
            lambda request: request.text[-SUMMARY_CHARS:],
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


def one_more(memory: Memory, clock: Clock, said: Sequence[str]) -> None:
    """Print what it takes to add each text and to settle."""
    calls, seconds = [], []
    for text in said:
        before, started = clock.calls, time.perf_counter()
        memory.add(text, source="more")
        memory.settle()
        calls.append(clock.calls - before)
        seconds.append(time.perf_counter() - started)
    print(
        f"tree, one more: {np.mean(calls):.2f} ± {np.std(calls):.2f} calls,"
        f" {np.mean(seconds):.2f} s"
    )


def inserts(memory: Memory, said: Iterator[str], go_on: Callable[[], bool]) -> list[float]:
    """Milliseconds of adding each text and giving it its leaf, as long as there is reason to."""
    taken = []
    while go_on() and (text := next(said, None)):
        started = time.perf_counter()
        memory.add(text, source="meanwhile")
        memory.tree._grow()
        taken.append(1000 * (time.perf_counter() - started))
    return taken


def meanwhile(memory: Memory, clock: Clock, said: Sequence[str]) -> None:
    """Print what an insert takes while nothing happens, and while all summaries are being made."""
    waiting = iter(said)
    turns = iter(range(len(said) // 4))
    idle = inserts(memory, waiting, lambda: next(turns, None) is not None)
    settling = threading.Thread(target=memory.settle)
    started = time.perf_counter()
    settling.start()
    busy = inserts(memory, waiting, settling.is_alive)
    settling.join()
    print(
        f"settle: {clock.calls} calls, {time.perf_counter() - started:.1f} s,"
        f" {clock.most} calls in flight at most\n"
        f"insert, idle: p50 {np.median(idle):.1f} ms, most {max(idle):.0f} ms (n={len(idle)});"
        f" while settling: p50 {np.median(busy):.1f} ms, most {max(busy):.0f} ms (n={len(busy)})"
    )


def main() -> None:
    """Print calls and seconds of both sides."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--more", type=int, default=20, help="texts added, one at a time")
    parser.add_argument("--meanwhile", type=int, default=400, help="texts added while it settles")
    options = parser.parse_args()
    said = texts(options.data, options.texts + options.more + options.meanwhile)
    first, more = said[: options.texts], said[options.texts :]
    model = MiniLM()
    clock = Clock(options.seconds)
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory.open(Path(folder) / "memory.db", embedder=model, llm=clock.llm) as memory,
    ):
        memory.add([{"role": "user", "content": text} for text in first])
        meanwhile(memory, clock, more[options.more :])
        memory.settle()
        one_more(memory, clock, more[: options.more])
    rebuilt = Clock(options.seconds)
    vectors = model.embed(said[: options.texts + 1])
    started = time.perf_counter()
    raptor(said[: options.texts + 1], vectors, model, rebuilt)
    print(f"RAPTOR-style, one more: {rebuilt.calls} calls, {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
