"""Workers that are processes of this machine, each asked through its pipes.

Standard input brings, pickled, the module search path and the model, then one task after the other;
standard output takes the result of each, or the error. A worker ends when its input does: with the
process that asks, however that ends.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import IO, Any, BinaryIO, Final, Self

from treering.bulk.worker import MAX_LOST, Derived, Worker, WorkerTask
from treering.embed.contract import Embedder
from treering.errors import InputError, TreeringError, WorkersLost

_PROGRAM: Final = "from treering.bulk.processes import run_worker; run_worker()"
_COMMAND: Final = (sys.executable, "-B", "-P", "-c", _PROGRAM)
# -P: no module is imported from the folder that treering was called in. -B: no file is written.

_END_TIMEOUT_S: Final = 10.0

HUNG_S: Final = 900.0
"""A worker that has not answered for so long counts as lost. A task is a fraction of a second of
work; loading a model, and an endpoint's time-outs with all repetitions, take some minutes."""


class Processes:
    """A ``WorkerPool`` of local processes. A context manager: they end with it."""

    def __init__(self, embedder: str | Embedder, size: int) -> None:
        self.size = size
        self._closed = False
        # The model is unpickled after the path is set: its module may be found there.
        self._setup = pickle.dumps((list(sys.path), pickle.dumps(embedder)))
        self._workers = [_Process(self._setup) for _ in range(size)]
        self._idle: queue.SimpleQueue[_Process] = queue.SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="treering-ingest")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.end()
        self._threads.shutdown()
        for worker in self._workers:  # one that was being started meanwhile
            worker.end()

    def submit(self, task: WorkerTask) -> Future[Derived]:
        """See ``WorkerPool``."""
        return self._threads.submit(self._run_task, task)

    def collect(self, pending: Future[Derived]) -> Derived:
        """See ``WorkerPool``."""
        return pending.result()

    def pids(self) -> list[int]:
        """Return the numbers of the processes that run."""
        return [pid for worker in self._workers if (pid := worker.pid) is not None]

    def _run_task(self, task: WorkerTask) -> Derived:
        """Let a worker do a task; a worker that is killed is replaced."""
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
        """Do a task. Raise the worker's error, and EOFError or OSError if it was killed, as one
        that hangs is.
        """
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
        assert self._process is not None
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
                except OSError:  # nobody reads unsent data any more
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


# ---------------------------------------------------------------------- in the other process


def run_worker() -> None:
    """Do the tasks of another process until its end."""
    # Ctrl-C goes to all processes of a terminal: the one that asks ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # output of a library is not an answer
    sys.path[:], model = pickle.load(requests)
    worker = _open_worker(model)
    while (task := _next_task(requests)) is not None:
        try:
            pickle.dump(_answer(worker, task), answers, pickle.HIGHEST_PROTOCOL)
            answers.flush()
        except BrokenPipeError:
            os._exit(1)  # the reader is gone; Python would try to write again on the way out


def _open_worker(model: bytes) -> Worker | InputError:
    try:
        return Worker(pickle.loads(model))
    except Exception as error:  # any error of a model's own module
        return InputError(f"a worker cannot open the embedder: {type(error).__name__}: {error}")


def _next_task(requests: BinaryIO) -> WorkerTask | None:
    try:
        task: WorkerTask = pickle.load(requests)
    except (EOFError, pickle.UnpicklingError):  # the writer is gone, perhaps amid a task
        return None
    return task


def _answer(worker: Worker | InputError, task: WorkerTask) -> object:
    if isinstance(worker, InputError):
        return worker
    try:
        return worker.derive(task)
    except TreeringError as error:
        return error
