"""Workers that are processes of this machine, each asked through its pipes."""

from __future__ import annotations

import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from types import TracebackType
from typing import IO, Any, Final, Self

from treering.bulk.worker import MAX_LOST, Derived, WorkerTask
from treering.embed.contract import Embedder
from treering.errors import WorkersLost

_COMMAND: Final = (sys.executable, "-B", "-P", "-m", "treering.bulk.process")
# -P: no module is imported from the folder that treering was called in. -B: no file is written.

_END_TIMEOUT_S: Final = 10.0

HUNG_S: Final = 900.0
"""A worker that has not answered for so long is taken for lost. A task is a fraction of a second of
work; loading a model, and an endpoint's time-outs with all repetitions, take some minutes."""


class Processes:
    """A ``WorkerPool`` of local processes. A context manager: they end with it."""

    def __init__(self, embedder: str | Embedder, size: int) -> None:
        self.size = size
        self._closed = False
        # What is pickled is opened after the path is set: it may be from a module found there.
        self._setup = pickle.dumps((list(sys.path), pickle.dumps(embedder)))
        self._workers = [_Process(self._setup) for _ in range(size)]
        self._idle: queue.SimpleQueue[_Process] = queue.SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="treering-ingest")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.end()
        self._threads.shutdown()
        for worker in self._workers:  # one that was being started meanwhile
            worker.end()

    def submit(self, task: WorkerTask) -> Future[Derived]:
        """See ``WorkerPool``."""
        return self._threads.submit(self._done, task)

    def collect(self, pending: Future[Derived]) -> Derived:
        """See ``WorkerPool``."""
        return pending.result()

    def pids(self) -> list[int]:
        """The numbers of the processes that run."""
        return [pid for worker in self._workers if (pid := worker.pid) is not None]

    def _done(self, task: WorkerTask) -> Derived:
        """Have a worker do a task; one that is killed over it is replaced."""
        worker = self._idle.get()
        try:
            for _ in range(MAX_LOST):
                if self._closed:
                    break
                try:
                    return worker.ask(task)
                except (EOFError, OSError, pickle.UnpicklingError):
                    worker.end()
            raise WorkersLost.over(MAX_LOST)
        finally:
            self._idle.put(worker)


class _Process:
    """One process, started when it is first asked."""

    def __init__(self, setup: bytes) -> None:
        self._setup = setup
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        process = self._process
        return None if process is None else process.pid

    def ask(self, task: WorkerTask) -> Derived:
        """Do a task. Raises what the worker raised, and EOFError or OSError if it was killed, as
        one is that hangs."""
        requests, answers = self._pipes()
        with self._killed_if_hung():
            pickle.dump(task, requests)
            requests.flush()
            answer: Any = pickle.load(answers)
        if isinstance(answer, Derived):
            return answer
        raise answer

    @contextmanager
    def _killed_if_hung(self) -> Iterator[None]:
        assert self._process is not None  # it was started to be asked
        watch = threading.Timer(HUNG_S, self._process.kill)
        watch.daemon = True
        watch.start()
        try:
            yield
        finally:
            watch.cancel()

    def end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait(_END_TIMEOUT_S)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:  # what was not sent yet has no reader any more
                    continue

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process is None:
            self._process = subprocess.Popen(
                _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            assert self._process.stdin is not None
            self._process.stdin.write(self._setup)
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        return requests, answers
