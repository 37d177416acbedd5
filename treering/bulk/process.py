"""A worker as a process of its own: ``python -m treering.bulk.process``.

Standard input brings, pickled, where modules are found and the model, then one task after the
other; standard output takes what was made of each, or the error. It ends when its input does: with
the process that asks, however that ends.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from typing import BinaryIO

from treering.bulk.worker import Worker, WorkerTask
from treering.errors import InputError, TreeringError


def main() -> None:
    """Do tasks until there are no more."""
    # Ctrl-C goes to all processes of a terminal: who asks ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # what a library prints is not an answer
    sys.path[:], model = pickle.load(requests)
    worker = _worker(model)
    while (task := _next(requests)) is not None:
        try:
            pickle.dump(_answer(worker, task), answers, pickle.HIGHEST_PROTOCOL)
            answers.flush()
        except BrokenPipeError:
            os._exit(1)  # who asked is gone; on the way out Python would try to write once more


def _worker(model: bytes) -> Worker | InputError:
    try:
        return Worker(pickle.loads(model))
    except Exception as error:  # whatever a model's own module raises
        return InputError(f"a worker cannot open the embedder: {type(error).__name__}: {error}")


def _next(requests: BinaryIO) -> WorkerTask | None:
    try:
        task: WorkerTask = pickle.load(requests)
    except (EOFError, pickle.UnpicklingError):  # who asks is gone, perhaps amid a task
        return None
    return task


def _answer(worker: Worker | InputError, task: WorkerTask) -> object:
    if isinstance(worker, InputError):
        return worker
    try:
        return worker.derive(task)
    except TreeringError as error:
        return error


if __name__ == "__main__":
    main()
