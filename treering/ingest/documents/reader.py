"""Read documents from files, in a process that starts with the first one."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Self

from treering import files
from treering.errors import InputError, MissingExtra
from treering.ingest.documents.formats import (
    EXTRA,
    FORMAT_BY_SUFFIX,
    LIBRARIES_BY_FORMAT,
    PDF,
    PDF_MAGIC,
    DocumentGap,
    DocumentPart,
    Limits,
    Unreadable,
)

_COMMAND = (sys.executable, "-B", "-P", "-m", "treering.ingest.documents.worker")
# -P: no module is imported from the folder that treering was called in. -B: no file is written.


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The parts of a document in order, and the places that could not be read."""

    parts: tuple[DocumentPart, ...]
    gaps: tuple[DocumentGap, ...]


def format_of(path: Path) -> str | None:
    """Return the format of a document, by its suffix or its first bytes; None for other files.

    Raise OSError, and InputError for the memory itself.
    """
    if (by_suffix := FORMAT_BY_SUFFIX.get(path.suffix.lower())) is not None:
        return by_suffix
    with files.open_file(path) as stream:
        return PDF if stream.read(len(PDF_MAGIC)) == PDF_MAGIC else None


class DocumentReader:
    """Reads documents, one at a time. A context manager: its process ends with it."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._end()

    def read(self, path: Path) -> DocumentText:
        """Return the text of a document.

        Raise InputError with the reason if it cannot be read, MissingExtra, OSError.
        """
        name = format_of(path)
        if name is None:
            raise InputError(f"{path} is none of {', '.join(sorted(FORMAT_BY_SUFFIX))}")
        for module in LIBRARIES_BY_FORMAT[name]:
            if find_spec(module) is None:
                raise MissingExtra.of(module, EXTRA)
        try:
            return self._read(name, path)
        except Unreadable as error:
            raise InputError(f"{path} {error}") from error
        except BaseException:
            self._end()  # its other answers would be taken for those to the next request
            raise

    def _read(self, name: str, path: Path) -> DocumentText:
        size = path.stat().st_size
        if size > self._limits.file:
            raise Unreadable(
                f"has {size >> 20:,} MiB, over the limit of {self._limits.file >> 20:,}: split it"
            )
        content = files.read_bytes(path)
        return self._answer(self._running_process(), name, content)

    def _answer(self, process: subprocess.Popen[bytes], name: str, content: bytes) -> DocumentText:
        requests, answers = process.stdin, process.stdout
        assert requests is not None  # ``Popen`` was given both pipes
        assert answers is not None
        began = time.monotonic()
        with suppress(BrokenPipeError):  # the process died: it sends no last answer
            requests.write(json.dumps({"format": name, "bytes": len(content)}).encode() + b"\n")
            requests.write(content)
            requests.flush()
        parts: list[DocumentPart] = []
        gaps: list[DocumentGap] = []
        room = self._limits.text
        for line in answers:
            if not line.endswith(b"\n"):  # the process died while it wrote
                break
            answer = json.loads(line)
            if "part" in answer:
                parts.append(DocumentPart(**answer["part"]))
                room -= len(parts[-1].text)
            elif "gap" in answer:
                gaps.append(DocumentGap(**answer["gap"]))
            elif (reason := answer["end"]) is None:
                return DocumentText(tuple(parts), tuple(gaps))
            else:
                raise Unreadable(reason)
            if room < 0:
                self._end()
                raise Unreadable(f"has over {self._limits.text:,} characters: split it")
        self._end()
        if time.monotonic() - began >= self._limits.seconds:  # then it ends itself
            raise Unreadable(f"takes longer than {self._limits.seconds:g} s to read: split it")
        raise Unreadable(self._limits.exhaustion)

    def _running_process(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = subprocess.Popen(
                [*_COMMAND, json.dumps(asdict(self._limits))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(OSError), process:  # waits and closes the pipes, with unsent bytes
                process.kill()
