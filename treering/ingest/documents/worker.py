"""The process that reads documents, so that libraries handle foreign bytes within limits.

Its only argument is the limits as JSON. Requests come on standard input: a line of JSON, then the
bytes of the document. Answers go out as lines of JSON: the parts, then the end with its reason.
The process uses no network, writes no file and starts no other program. It ends when a document
takes too long.
"""

from __future__ import annotations

import faulthandler
import json
import os
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any, BinaryIO, TextIO

from treering.ingest.documents.formats import DocumentGap, DocumentPart, Limits, Unreadable

MAX_DEPTH = 10_000
"""Nested calls, for nested elements: pages of people nest some hundred."""

_WRITING_FLAGS = os.O_WRONLY | os.O_RDWR
_FORBIDDEN_EVENTS = (
    *("socket.", "urllib.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.startfile"),
    *("os.system", "os.remove", "os.rename", "os.rmdir", "os.mkdir", "shutil."),
)


def main() -> None:
    """Answer requests until standard input ends."""
    limits = Limits(**json.loads(sys.argv[1]))
    requests, answers = sys.stdin.buffer, sys.stdout
    sys.stdout = sys.stderr  # a library may print: that is not an answer
    sys.setrecursionlimit(MAX_DEPTH)
    warnings.simplefilter("ignore")  # libraries warn of common faults in documents
    _limit_memory(limits.memory)
    sys.addaudithook(_forbid)
    answer_all(requests, answers, limits)


def answer_all(requests: BinaryIO, answers: TextIO, limits: Limits) -> None:
    """Answer requests until they end."""
    while line := requests.readline():
        request = json.loads(line)
        faulthandler.dump_traceback_later(limits.seconds, exit=True)
        content = requests.read(request["bytes"])
        if len(content) < request["bytes"]:  # the parent has gone
            sys.exit(1)
        for answer in _answers(request["format"], content, limits):
            answers.write(json.dumps(answer) + "\n")
        answers.flush()
        faulthandler.cancel_dump_traceback_later()  # the next document may come much later


def _answers(name: str, content: bytes, limits: Limits) -> Iterator[dict[str, Any]]:
    try:
        read: Callable[[bytes, Limits], Iterator[DocumentPart | DocumentGap]]
        read = pkgutil.resolve_name(f"treering.ingest.documents.{name}")
        for part in read(content, limits):
            yield {"part" if isinstance(part, DocumentPart) else "gap": asdict(part)}
        yield {"end": None}
    except Unreadable as error:
        yield {"end": str(error)}
    except MemoryError:
        yield {"end": limits.exhaustion}
    except Exception as error:  # a library may raise anything at odd bytes
        yield {"end": f"is broken: its reader failed with {type(error).__name__}"}


def _limit_memory(memory: int) -> None:
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _forbid(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        mode, flags = arguments[1], arguments[2]
        writes = set("wax+") & set(mode) if isinstance(mode, str) else flags & _WRITING_FLAGS
        if not writes:
            return
    elif not event.startswith(_FORBIDDEN_EVENTS):
        return
    raise PermissionError(f"{event} is not for readers of documents")


if __name__ == "__main__":
    main()
