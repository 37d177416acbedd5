"""One run of a command: which memory it works on and where its output goes."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Self

import typer

from treering.agents.project import (
    SpaceChoice,
    agent_memory,
    agent_space,
    command_memory,
    command_space,
    working_folder,
)
from treering.cli.output import Output, note, plural
from treering.errors import UnknownMemory, UnknownName, UnknownSpace
from treering.hooks.places import make_private, user_memory
from treering.text import composed, nearest_told

if TYPE_CHECKING:
    from treering.journal.contract import Database
    from treering.llm.contract import LLM
    from treering.memory import Memory

_SQLITE = "sqlite:///"


@dataclass(frozen=True, slots=True)
class Globals:
    """Options of every command; they may be before or after its name."""

    memory: str | None = None
    space: str | None = None
    embedder: str | None = None
    llm: str | None = None
    as_json: bool = False

    def over(self, outer: Globals) -> Globals:
        """Return these options; those that are not given are taken from ``outer``.

        Raise BadParameter for an empty one: its default might be another memory.
        """
        for name, value in asdict(self).items():
            if value == "":
                raise typer.BadParameter(
                    "it is empty; give a value, or leave the option out for the default",
                    param_hint=f"--{name}",
                )
        return Globals(**asdict(outer) | {k: v for k, v in asdict(self).items() if v})

    @classmethod
    def from_environment(cls) -> Self:
        """Return the options that environment variables set."""
        memory, space, embedder = (
            os.environ.get(f"TREERING_{name}") or None for name in ("MEMORY", "SPACE", "EMBEDDER")
        )
        return cls(memory, space, embedder)


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a command: which memory it works on and where its output goes."""

    url: str
    space: str
    embedder: str | None
    llm: str | None
    out: Output
    is_named: bool = True
    """Whether the user chose the memory, by an option or the environment."""
    named_space: str | None = None

    @classmethod
    def from_options(cls, options: Globals) -> Self:
        """Return the run with these options and the defaults of the others."""
        url = options.memory or command_memory(working_folder())
        named = options.space and composed(options.space)
        space = named or command_space(url, working_folder())
        out = Output(options.as_json)
        return cls(url, space, options.embedder, options.llm, out, bool(options.memory), named)

    def in_space(self, name: str) -> Self:
        """The same run on another space of the same memory."""
        return replace(self, space=name, named_space=name)

    def for_agent(self, file: Path | None = None) -> Self:
        """The same run on the memory and space of agents; ``file`` names the memory.

        Never on a ``treering.db`` of the working folder. A server's key opens one space: its own.
        """
        named = str(file) if file else self.url if self.is_named else None
        run = replace(self, url=named or str(user_memory()), is_named=True)
        has_key = run.is_served and os.environ.get("TREERING_API_KEY")
        return run if has_key else replace(run, space=self.agent_space.name)

    def with_own(self, memory: Memory, also: list[str] | None) -> list[str] | None:
        """Return the spaces to ask: the own one and ``also``; None for the own one alone."""
        if not also:
            return None
        # A server's key does not name its space here.
        return [memory.stats().space if self.is_served else self.space, *also]

    @property
    def agent_space(self) -> SpaceChoice:
        """The space of an agent that works in this folder."""
        return agent_space(self.named_space, working_folder())

    @property
    def hook_memory(self) -> str:
        """The memory of hooks: the one named, else the user's own; a path, or a server's URL."""
        return agent_memory(self.url if self.is_named else None)

    @property
    def path(self) -> Path | None:
        """The memory's file; None if the memory is on a server, or in PostgreSQL."""
        if "://" in self.url and not self.url.startswith(_SQLITE):
            return None
        return Path(self.url.removeprefix(_SQLITE))

    @property
    def is_served(self) -> bool:
        """Whether a treering server has the memory: it has its own models then, and an owner."""
        return self.url.startswith(("http://", "https://"))

    @property
    def is_there(self) -> bool:
        """Whether the memory has been made; of one on a server it is taken for granted."""
        if self.is_served:
            return True
        if self.path is not None:
            return self.path.exists()
        from treering.journal.open import open_database

        try:
            open_database(self.url, create=False).close()
        except UnknownName:
            return False
        return True

    @property
    def place(self) -> str:
        """Where the memory is, as it may be shown: without a password."""
        from treering.journal.open import shown_url

        return shown_url(self.url)

    @contextmanager
    def memory(
        self,
        *,
        create: bool = False,
        talks: bool = False,
        whole: bool = False,
        begins: bool = False,
        may_be_empty: bool = False,
    ) -> Iterator[Memory]:
        """Open the memory. Raise UnknownName if it, or its space, is missing.

        ``create`` makes both with the first entry, and ``begins`` makes the space now. ``whole``
        takes a missing space for an empty one. ``may_be_empty`` ends the command with a note if
        the project of the current folder has no space yet. ``talks`` raises LLMNotConfigured
        without a language model, before a file is made; a server has its own model.
        """
        if may_be_empty and self._is_by_folder and not self.is_there:
            self._end_as_empty([])
        self.ensure_there(create)
        from treering.embed.minilm import MiniLM
        from treering.memory import Memory

        MiniLM.may_be_brief = True
        with ExitStack() as stack:
            llm: str | LLM | None = self.llm
            if talks and not self.is_served:
                from treering.llm.settings import open_llm

                llm = stack.enter_context(closing(open_llm(llm)))
            opened = Memory.open(
                self.url,
                space=self.space,
                embedder=self.embedder,
                llm=llm,
                create=True if begins else None,
            )
            memory = stack.enter_context(opened)
            if not create and not whole:
                self._ensure_space(memory, may_be_empty=may_be_empty)
            try:
                yield memory
            except KeyboardInterrupt as interrupt:
                if not hasattr(interrupt, "__notes__"):  # of two open memories one reports it
                    interrupt.add_note("The user has read a message.")
                    if create:
                        _say_what_is_durable(memory, talks)
                    else:
                        note("interrupted")
                raise

    @contextmanager
    def database(self, *, create: bool = False) -> Iterator[Database]:
        """The open database, without loading a model. Raises UnknownName as ``memory`` does."""
        self.ensure_there(create)
        from treering.journal.open import open_database

        with closing(open_database(self.url)) as database:
            yield database

    def ensure_there(self, create: bool) -> None:
        """Raise UnknownMemory unless the memory exists or may be made; its folder exists then."""
        if (self.path is None and create) or self.is_there:
            return
        if not create:
            raise UnknownMemory(f"there is no memory at {self.place}")
        if self.path is not None and self.path == user_memory():
            make_private(self.path.parent)
            note(f"your own memory is made: {self.path}; -m or TREERING_MEMORY names another")

    def _ensure_space(self, memory: Memory, *, may_be_empty: bool) -> None:
        """Raise UnknownSpace if the space is not in the file: "nothing found" would hide a typo.

        The working folder chose the space where no option names one: that is not a typo. A server
        is not asked: it does not tell its callers which other spaces it has.
        """
        if self.is_served:
            return
        from treering.memory import memory_parts

        with memory_parts(memory).space.read() as reader:
            if reader.is_there or reader.is_keyed:
                return
        if may_be_empty and self._is_by_folder:
            self._end_as_empty(memory.spaces())
        meant = nearest_told(self.space, memory.spaces())
        raise UnknownSpace(f"there is no space {self.space!r} in {self.place}{meant}")

    @property
    def _is_by_folder(self) -> bool:
        """Whether the working folder chose memory and space, and no option or variable did."""
        return not self.is_named and self.named_space is None

    def _end_as_empty(self, spaces: Collection[str]) -> NoReturn:
        hint = self.agent_space.moving_hint(self.url, spaces)
        note(hint or f"the space {self.space!r} is empty; `treering spaces` lists what there is")
        raise typer.Exit


def _say_what_is_durable(memory: Memory, talks: bool) -> None:
    stats = memory.stats()
    waiting = sum(count for view, count in stats.pending.items() if view != "memo")
    rest = f"; {waiting} wait to be indexed: `treering settle` goes on" if waiting else ""
    lost = (
        "a message without a reply is stored: say it again for an answer"
        if talks
        else "the text that was being read was not added"
    )
    held = plural(stats.entries, "entry", "entries")
    note(f"interrupted. Space {stats.space!r} holds {held}, all durable; {lost}{rest}")
