"""Pages of the documentation, and a reader that runs their examples and compares the output."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from treering import Memory
from treering.cli.failures import FOUND
from treering.cli.main import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_BLOCK = re.compile(r"^(?P<fence>```+)(?P<language>\w*)\n(?P<text>.*?)^(?P=fence)$", re.M | re.S)
_NOT_RUN = ("pip install", "make ", "python3 -m venv", "git clone", "treering import ~")
_OF_A_SHELL = re.compile(r"[|<>$`]|&&| &$")
_OF_A_COMMAND = re.compile(r"export (?P<name>\w+)=\$\((?P<command>.*)\)")
_WITH_A_VARIABLE = re.compile(r"(?P<name>[A-Z_]+)=\$(?P<other>[A-Z_]+) (?P<command>.*)")
_SERVED = re.compile(r"treering serve (?P<file>\S+) &")
ADDRESS = "http://127.0.0.1:7373"
_ID = re.compile("[0-9a-f]{24}")
_LOOSE = re.compile(r"…|\b[0-9a-f]{24}\b|[+-]?\b\d+\.\d+\b|\s+")
TIMEOUT_S = 60
TOLERANCE = 0.15


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and whether it directly follows another one."""

    language: str
    text: str
    is_next: bool


@dataclass(frozen=True)
class Command:
    """A line of a transcript and its output, in which ``…`` matches anything."""

    line: str
    prints: str


def examples(page: str, language: str) -> list[str]:
    """Return the blocks of a page in one language."""
    return [block.text for block in blocks(DOCS / page) if block.language == language]


def entry_points(page: str, number: int = 0) -> str:
    """Return an example for pyproject.toml as the ``entry_points.txt`` of its package."""
    groups = tomllib.loads(examples(page, "toml")[number])["project"]["entry-points"]
    sections = (
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in groups.items()
    )
    return "".join(sections)


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    text, end, found = page.read_text("utf-8"), 0, []
    for match in _BLOCK.finditer(text):
        is_next = not text[end : match.start()].strip()
        found.append(Block(match["language"], match["text"], is_next))
        end = match.end()
    return found


def commands(transcript: str) -> Iterator[Command]:
    """Yield the commands of a transcript; a backslash continues a line."""
    parts = re.split(r"^\$ ", transcript, flags=re.M)
    assert not parts[0], f"a transcript begins with a command, not {parts[0]!r}"
    for part in parts[1:]:
        line, _, rest = part.partition("\n")
        while line.endswith("\\"):
            more, _, rest = rest.partition("\n")
            line = line[:-1] + more.lstrip()
        yield Command(re.sub(r"\s+# .*", "", line), rest)


def fits(printed: str, expected: str) -> bool:
    """Compare lines with the expected ones.

    ``…`` matches some characters, and lines if it is alone. Ids match any id. A number with a point
    may differ by ``TOLERANCE``, because models round differently on other processors.
    """
    numbers: list[float] = []
    pattern = "".join(_line_pattern(line, numbers) for line in expected.strip().splitlines())
    match = re.fullmatch(pattern, f"{printed.strip()}\n")
    if match is None:
        return False
    pairs = zip(map(float, match.groups()), numbers, strict=True)
    return all(
        abs(is_number - expected_number) <= TOLERANCE for is_number, expected_number in pairs
    )


def _line_pattern(line: str, numbers: list[float]) -> str:
    """Return the pattern of a line, with a group for each number; append these to ``numbers``."""
    if line.strip() == "…":
        return r"(?:.*\n)*?"
    pattern, end = "", 0
    for match in _LOOSE.finditer(line.strip()):
        pattern += re.escape(line.strip()[end : match.start()]) + _looser(match[0], numbers)
        end = match.end()
    return r"[ ]*" + pattern + re.escape(line.strip()[end:]) + r"[ ]*\n"


def _looser(text: str, numbers: list[float]) -> str:
    if text == "…":
        return ".*"
    if _ID.fullmatch(text):
        return "[0-9a-f]{24}"
    if text.isspace():
        return r"\s+"
    numbers.append(float(text))
    return r"([+-]?\d+\.\d+)"


@dataclass(frozen=True)
class Printed:
    """The output of a command; the order of the two streams is not recorded."""

    stdout: str = ""
    stderr: str = ""

    def in_some_order(self) -> tuple[str, ...]:
        """Return the texts that a terminal may have shown; a page may leave notes out."""
        return self.stdout, self.stderr + self.stdout, self.stdout + self.stderr


@dataclass
class Reader:
    """Runs the examples of one page in one folder, in order."""

    folder: Path
    environment: pytest.MonkeyPatch
    instead: dict[str, str] = field(default_factory=dict)
    serve: Callable[[Path], str] | None = None
    names: dict[str, Any] = field(default_factory=dict)
    only: set[str] = field(default_factory=lambda: {"console", "python"})
    printed: list[str] = field(default_factory=list)
    """The output of each Python block."""

    def read(self, page: Path) -> int:
        """Run and compare every Python and console block; return the number of examples."""
        self.environment.chdir(self.folder)
        try:
            return self._read(page)
        finally:
            for value in self.names.values():
                if isinstance(value, Memory):
                    value.close()

    def _read(self, page: Path) -> int:
        count = 0
        for block in blocks(page):
            if block.language == "console" and "console" in self.only:
                count += sum(map(self._type, commands(block.text)))
            elif block.language == "python" and "python" in self.only:
                self.printed.append(self._python(block.text))
                count += 1
            elif block.language == "" and block.is_next and self.printed:
                shown = fits(self.printed[-1], block.text)
                assert shown, f"{block.text}\nis to be printed, not\n{self.printed[-1]}"
        return count

    def _type(self, command: Command) -> bool:
        if command.line.startswith(_NOT_RUN):
            return False
        line = command.line
        for text, other in self.instead.items():
            line = line.replace(text, other)
        printed = self._run(line)
        if command.prints.strip():
            expected = command.prints
            shown = any(fits(text, expected) for text in printed.in_some_order())
            assert shown, f"$ {line}\n{expected}\nis expected, not\n{printed}"
        return True

    def _run(self, line: str) -> Printed:
        if assigned := _OF_A_COMMAND.fullmatch(line):
            self.environment.setenv(assigned["name"], self._run(assigned["command"]).stdout.strip())
            return Printed()
        if served := _SERVED.fullmatch(line):
            assert self.serve is not None
            self.instead[ADDRESS] = self.serve(Path(served["file"]))
            return Printed(f"serving {served['file']} on {ADDRESS}")
        if line.startswith("export "):
            for word in shlex.split(line)[1:]:
                self.environment.setenv(*word.split("=", 1))
            return Printed()
        if given := _WITH_A_VARIABLE.fullmatch(line):
            with self.environment.context() as for_one:
                for_one.setenv(given["name"], os.environ[given["other"]])
                return self._run(given["command"])
        if line.startswith("treering ") and not _OF_A_SHELL.search(line):
            done = CliRunner().invoke(app, shlex.split(line)[1:])
            assert done.exit_code in (0, FOUND), f"$ {line}\n{done.output}"
            return Printed(done.stdout, done.stderr)
        return self._shell(line)

    def _shell(self, line: str) -> Printed:
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        done = subprocess.run(
            ["sh", "-c", line],
            capture_output=True,
            text=True,
            env=os.environ | {"PATH": path},
            timeout=TIMEOUT_S,
        )
        assert not done.stderr, f"$ {line}\n{done.stderr}"  # `grep -c` fails where it counts 0
        return Printed(done.stdout)

    def _python(self, text: str) -> str:
        for part, other in self.instead.items():
            text = text.replace(part, other)
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(text, "example", "exec"), self.names)
        return printed.getvalue()
