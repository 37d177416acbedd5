"""A chat in the shell: its rounds, and on a terminal a banner and commands with a slash."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

from treering.chat.stream import ChatStream
from treering.cli.output import note
from treering.cli.run import Run
from treering.errors import (
    InputError,
    LLMReplyError,
    LLMUnavailable,
    ReplyDiscarded,
)
from treering.memory import Memory, memory_parts
from treering.views.choices import PolicyName

HELP = """\
/context   what the model was shown for your last message
/quit      leave, as Ctrl-D does
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
            if line == "/quit":
                return
            try:
                if line == "/context":
                    self._show_context()
                elif line.startswith("/"):
                    note(HELP)
                else:
                    self.answer(line)
            except (LLMUnavailable, LLMReplyError, ReplyDiscarded) as error:
                note(error.worded("cli"))
                note("Your message is stored; say it again for an answer.")
            except InputError as error:
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
            f"{self.run.space!r} of {place}. /help lists commands, Ctrl-D leaves."
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


def _typed_lines() -> Iterator[str]:
    with suppress(ImportError):  # it gives input() editing and a history, where there is one
        import readline  # noqa: F401
    while True:
        try:
            yield input("> ")
        except EOFError:
            return
