"""The first answers of ``treering mcp``, before the SDK and the memory are loaded.

Some clients send their first prompt without the tools of a server that is slow to list them, and
the SDK alone takes a second to import. So a thread with the standard library answers ``initialize``
and then ``ping`` and the lists of tools, prompts and resources. All other lines, and ``initialize``
too, wait for the SDK in a pipe in place of the standard input.
"""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from os import fdopen
from pathlib import Path
from typing import Any, Final

import treering

ANSWERS: Final = Path(__file__).with_name("answers.json")
"""Results of the SDK's server by method. ``python -m tools.generate_answers`` writes it."""


METHODS: Final = (
    "ping",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
)
"""Answered after ``initialize``; clients ask for all lists when they start."""


class Answers:
    """Answers calls as the SDK's server would; ``greeting`` is the id of ``initialize``."""

    def __init__(self) -> None:
        content = json.loads(ANSWERS.read_bytes())
        self._versions: list[str] = content.pop("versions")
        self._results: dict[str, dict[str, Any]] = content
        self.greeting: int | str | None = None

    def answer(self, line: bytes) -> dict[str, Any] | None:
        """Return the answer to a line, or None if only the SDK can tell it."""
        try:
            call = json.loads(line.decode())
            is_plain = b"\\u" not in line and _is_plain_call(call)  # it may be a lone surrogate
        except (ValueError, RecursionError):
            return None
        if not is_plain or (call["method"] == "initialize") != (self.greeting is None):
            return None
        result = self._results[call["method"]]
        if self.greeting is None:
            self.greeting = call["id"]
            named = call["params"]["protocolVersion"]
            version = named if named in self._versions else self._versions[-1]
            server = result["serverInfo"] | {"version": treering.__version__}
            result = result | {"protocolVersion": version, "serverInfo": server}
        return {"jsonrpc": "2.0", "id": call["id"], "result": result}


def _is_plain_call(call: Any) -> bool:
    """Return whether a call is one to answer here, which the SDK would accept, too."""
    match call:
        case {"jsonrpc": "2.0", "id": int() | str() as number, "method": method, **more}:
            params = more.get("params", {})
        case _:
            return False
    if type(number) is bool or type(params) is not dict:
        return False
    match method, params:
        case (
            "initialize",
            {
                "protocolVersion": str(),
                "capabilities": {**capabilities},
                "clientInfo": {"name": str(), "version": str(), **info},
            },
        ):
            return _is_plain(capabilities) and all(type(value) is str for value in info.values())
        case str(), {**more}:
            return method in METHODS and more.keys() <= {"_meta"}
    return False


def _is_plain(capabilities: dict[Any, Any]) -> bool:
    """Return whether all values are objects or flags, as real clients send them."""
    return all(
        _is_plain(value) if type(value) is dict else name == "listChanged" and type(value) is bool
        for name, value in capabilities.items()
    )


class Front(threading.Thread):
    """Reads the standard input to its end; answers until the SDK takes over."""

    def __init__(self) -> None:
        super().__init__(name="treering mcp front", daemon=True)
        self._answers = Answers()
        self._lock = threading.Lock()
        self._is_answering = True
        self._input = os.dup(0)
        waiting, self._pipe = os.pipe()
        os.dup2(waiting, 0)
        os.close(waiting)

    def run(self) -> None:
        """Answer or pass on each line. An output without a reader ends the input, too."""
        with suppress(OSError), fdopen(self._pipe, "wb") as out, fdopen(self._input, "rb") as lines:
            for line in lines:
                if not self._answer(line):
                    out.write(line)
                    out.flush()

    def _answer(self, line: bytes) -> bool:
        """Answer a line if that can be done here; return whether the SDK need not see it."""
        with self._lock:
            was_greeted = self._answers.greeting is not None
            answer = self._answers.answer(line) if self._is_answering else None
            if answer is not None:
                with fdopen(1, "wb", closefd=False) as output:
                    output.write(json.dumps(answer, ensure_ascii=False).encode() + b"\n")
            # A session that begins otherwise is of another protocol, or invalid.
            self._is_answering &= self._answers.greeting is not None
            return was_greeted and answer is not None

    def hand_over(self) -> int | str | None:
        """Answer nothing more; return the id of ``initialize`` if it was answered."""
        with self._lock:
            self._is_answering = False
            return self._answers.greeting


_started: list[Front] = []


def begin() -> None:
    """Answer the first lines of the standard input, unless they are typed."""
    with suppress(OSError):  # standard input is closed
        if not os.isatty(0):
            _started.append(Front())
            _started[0].start()


def hand_over() -> int | str | None:
    """Let the SDK answer from now; return the id of an ``initialize`` that it must not answer."""
    return _started[0].hand_over() if _started else None
