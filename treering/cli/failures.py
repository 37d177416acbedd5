"""Errors become one line for a person and an exit code for a script."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import typer

from treering.cli.output import note
from treering.errors import (
    CopyMismatch,
    EmbeddingError,
    InputError,
    JournalError,
    LLMError,
    TreeringError,
)

OTHER = 1
INPUT = 2  # also what typer exits with when an option cannot be read
JOURNAL = 3
EMBEDDING = 4
LLM = 5
FOUND = 6
"""A command that checks something exits with this code if it found something. No failure uses it,
so that hooks and scripts can distinguish a finding from a failure (a traceback exits with 1)."""
INTERRUPTED = 130  # as shells report a process ended by SIGINT
PIPE_CLOSED = 141  # and by SIGPIPE

_CODES: tuple[tuple[type[TreeringError], int], ...] = (
    (InputError, INPUT),
    (JournalError, JOURNAL),
    (EmbeddingError, EMBEDDING),
    (LLMError, LLM),
    (CopyMismatch, FOUND),  # all went well, and comparing found a difference
)


def exit_code(error: TreeringError) -> int:
    """Return the exit code of an error."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), OTHER)


class Terminated(KeyboardInterrupt):
    """SIGTERM has come: open files and memories are closed as after Ctrl-C."""


@contextmanager
def _termination() -> Iterator[None]:
    """Let SIGTERM raise Terminated in the block. A second one ends the process at once.

    Once the block has ended by it, the process ends as one that does not handle the signal:
    supervisors take that for a clean end, and no thread is waited for.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(_: int, __: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except Terminated:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        signal.raise_signal(signal.SIGTERM)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def report_errors() -> Iterator[None]:
    """End the process with a message and its exit code; only a bug shows a traceback."""
    with _termination(), _report_errors():
        yield


@contextmanager
def _report_errors() -> Iterator[None]:
    try:
        yield
        sys.stdout.flush()  # here, where a closed pipe still differs from a failure
    except TreeringError as error:
        note(f"treering: {error.worded('cli')}")
        raise typer.Exit(exit_code(error)) from error
    except BrokenPipeError as error:
        _discard_stdout()
        raise typer.Exit(PIPE_CLOSED) from error
    except Terminated:
        raise
    except KeyboardInterrupt as error:
        if not hasattr(error, "__notes__"):  # else the command has said more
            note("interrupted")
        raise typer.Exit(INTERRUPTED) from error
    except OSError as error:
        # A file the user named cannot be read or written; the database translates its own.
        note(f"treering: {error}")
        raise typer.Exit(INPUT) from error


def _discard_stdout() -> None:
    """The reader of the output has gone: drop what is buffered, or Python would raise on exit."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)
