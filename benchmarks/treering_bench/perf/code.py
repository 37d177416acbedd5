"""The index of code at any size, on its own."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory

from treering.memory import Memory
from treering.views.code.parse.language import language_of
from treering.views.code.parse.source_files import SourceFile, scan
from treering.views.code.parse.syntax import syntax_root
from treering_bench.perf.timing import FEW_ROUNDS, LIMIT, OURS, Timing, in_turn

CODE_MOST = 300_000
"""Lines of the standard library, of which there are about half a million."""
_NOT_CODE = ("test/", "idlelib/", "lib2to3/", "site-packages/")


def code(n: int) -> list[Timing]:
    """Indexing ``n`` lines of the standard library, against parsing them with tree-sitter."""
    if n > CODE_MOST:
        return []
    with TemporaryDirectory(prefix="treering-perf-") as folder:
        repository = Path(folder) / "repository"
        sources = _copied(repository, n)

        def parse() -> None:
            for source in sources:
                syntax_root(source, "python")

        def index() -> None:
            with (
                TemporaryDirectory(dir=folder) as fresh,
                Memory.open(Path(fresh) / "memory.db") as memory,
            ):
                memory.code.index(repository)

        return in_turn("code", n, {LIMIT: parse, OURS: index}, FEW_ROUNDS)


def _copied(to: Path, lines: int) -> list[bytes]:
    """Copy files of the standard library until they have so many lines; their contents."""
    sources: list[bytes] = []
    left = lines
    for file in scan(Path(sysconfig.get_paths()["stdlib"])):
        if not isinstance(file, SourceFile) or file.path.startswith(_NOT_CODE):
            continue
        if language_of(file.path) == "python" and left > 0:
            target = to / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.content)
            sources.append(file.content)
            left -= file.content.count(b"\n")
    return sources
