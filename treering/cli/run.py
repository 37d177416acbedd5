"""One run of a command: which memory it works on and where its output goes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from treering.cli.output import Output, note
from treering.errors import UnknownName

if TYPE_CHECKING:
    from treering.journal.contract import Database
    from treering.memory import Memory

DEFAULT_MEMORY = "treering.db"
"""In the current folder, where it can be seen, copied and deleted like any other file."""

_SQLITE = "sqlite:///"


@dataclass(frozen=True, slots=True)
class Run:
    """The options of every command, with their defaults filled in."""

    url: str
    space: str
    embedder: str | None
    llm: str | None
    out: Output

    @classmethod
    def of(
        cls,
        memory: str | None = None,
        space: str | None = None,
        embedder: str | None = None,
        llm: str | None = None,
        as_json: bool = False,
    ) -> Self:
        """The run that options mean."""
        return cls(memory or DEFAULT_MEMORY, space or "default", embedder, llm, Output(as_json))

    def at(self, path: Path) -> Self:
        """The same run on another memory."""
        return replace(self, url=str(path))

    @property
    def path(self) -> Path | None:
        """The memory's file; None if it is somewhere else than in a file."""
        if "://" in self.url and not self.url.startswith(_SQLITE):
            return None
        return Path(self.url.removeprefix(_SQLITE))

    @contextmanager
    def memory(self, *, create: bool = False) -> Iterator[Memory]:
        """The open memory. Raises UnknownName if there is none and the command makes none."""
        self._ensure_there(create)
        from treering.memory import Memory

        opened = Memory.open(self.url, space=self.space, embedder=self.embedder, llm=self.llm)
        with opened as memory:
            try:
                yield memory
            except KeyboardInterrupt:
                _say_what_is_durable(memory)
                raise

    @contextmanager
    def database(self, *, create: bool = False) -> Iterator[Database]:
        """The open database, without any model. Raises UnknownName as ``memory`` does."""
        self._ensure_there(create)
        from treering.journal.open import open_database

        with closing(open_database(self.url)) as database:
            yield database

    def _ensure_there(self, create: bool) -> None:
        if not create and self.path is not None and not self.path.exists():
            raise UnknownName(
                f"there is no memory at {self.path}; `treering add` makes one, "
                "--memory or TREERING_MEMORY names another"
            )


def _say_what_is_durable(memory: Memory) -> None:
    stats = memory.stats()
    waiting = sum(stats.pending.values())
    rest = f"; {waiting} wait to be indexed: `treering settle` goes on" if waiting else ""
    note(
        f"interrupted. Space {stats.space!r} holds {stats.entries} entries, all durable; what was "
        f"being read just then was not added{rest}"
    )
