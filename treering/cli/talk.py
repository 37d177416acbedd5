"""A chat in the shell: its rounds, and on a terminal a banner and commands with a slash."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import takewhile

import typer

from treering.chat.stream import ChatStream
from treering.cli import stdin
from treering.cli.entries import STILL_READ
from treering.cli.output import note, plural
from treering.cli.run import Run
from treering.errors import (
    LLMReplyError,
    LLMUnavailable,
    ReplyDiscarded,
    TreeringError,
)
from treering.memory import Memory, memory_parts
from treering.records import Entry
from treering.text import first_line
from treering.views.choices import PolicyName

ROUND_ENTRIES = 1_000
"""A message and its reply in pieces: more than a model reads."""
HELP = """\
/context     what the model was shown for your last message
/forget      erase your last message and its reply for good
/name NAME   be called so, for facts about you
/quit        leave, as Ctrl-D does
A message that begins with a slash is sent with a space before it; this line was not sent."""


@dataclass
class Talk:
    """A conversation of one person with the model of a memory."""

    run: Run
    memory: Memory
    source: str
    policy: PolicyName | None
    budget: str | None
    speaker: str | None = None
    spaces: list[str] | None = None
    _last: ChatStream | None = field(default=None, init=False)

    def hold(self) -> None:
        """Answer what is typed, until the person leaves. Errors end a round, not the chat."""
        self._greet()
        for line in _typed_lines():
            command, _, rest = line.partition(" ")
            if command == "/quit":
                return
            try:
                if command == "/context":
                    self._show_context()
                elif command == "/forget":
                    self._forget()
                elif command == "/name":
                    self.speaker = rest.strip() or None
                    note(f"your name is {self.speaker}" if self.speaker else "you have no name")
                elif line.startswith("/"):
                    note(HELP)
                else:
                    self.answer(line)
            except (LLMUnavailable, LLMReplyError, ReplyDiscarded) as error:
                note(error.worded("cli"))
                note("Your message is stored; say it again for an answer.")
            except TreeringError as error:
                note(error.worded("cli"))

    def answer(self, line: str) -> None:
        """Print the reply to a message as it is written; ignore an empty line."""
        message = line.strip()
        if not message:
            return
        with self.memory.chat_stream(
            message,
            policy=self.policy,
            source=self.source,
            budget=self.budget,
            speaker=self.speaker,
            spaces=self.spaces,
        ) as reply:
            self.run.out.stream(reply)
        self._last = reply
        if self.run.out.as_json and reply.answer is not None:
            self.run.out.emit(replace(reply.answer, context=None))

    def _greet(self) -> None:
        place = self.run.path.name if self.run.path is not None else self.run.place
        model = (
            "the server's model"
            if self.run.is_served
            else memory_parts(self.memory).account.llm().model
        )
        called = f", as {self.speaker}" if self.speaker else ""
        note(
            f"treering: a chat with {model}{called}. Conversation {self.source!r} in space "
            f"{self.run.space!r} of {place}. /help lists commands, /quit or Ctrl-D leaves."
        )

    def _show_context(self) -> None:
        if self._last is None:
            note("nothing was sent yet")
        elif self.run.is_served:  # a server keeps the prompt, and sends what it took from memory
            evidences = self._last.answer.evidences if self._last.answer else ()
            shown = "\n\n".join(evidence.text for evidence in evidences)
            note(shown or "nothing but the recent dialogue")
        else:
            note(f"{self._last.prompt}\n\n{self._last.prompt.tokens} tokens")

    def _forget(self) -> None:
        entries = self._last_round()
        if not entries:
            note(f"conversation {self.source!r} is empty")
            return
        count = plural(len(entries), "entry", "entries")
        note(f"{count} will be erased for good, from “{first_line(entries[0].text)}” on")
        with suppress(typer.Exit, typer.Abort):  # the answer is no, and the chat goes on
            stdin.confirm()
            done = self.memory.forget(*(entry.id for entry in entries))
            self._last = None
            note(f"forgot {count}")
            if not done.scrubbed:
                note(STILL_READ)

    def _last_round(self) -> list[Entry]:
        """Return the last message of the person, whose pieces have one time, and its reply."""
        newest = self.memory.page(limit=ROUND_ENTRIES, source=self.source, newest=True).entries
        after = [*takewhile(lambda entry: entry.role != "user", newest)]
        message = newest[len(after) :]
        pieces = takewhile(lambda piece: (piece.role, piece.at) == ("user", message[0].at), message)
        reply = (entry for entry in after if entry.role == "assistant")
        return [*pieces, *reply] if message else []


def _typed_lines() -> Iterator[str]:
    with suppress(ImportError):  # it gives input() editing and a history, where there is one
        import readline  # noqa: F401
    while True:
        try:
            yield input("> ")
        except EOFError:
            return
