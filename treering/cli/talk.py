"""A chat in the shell: its rounds, and on a terminal a banner and commands with a slash."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
    TreeringError,
)
from treering.memory import Memory, memory_parts
from treering.records import Entry
from treering.views.choices import PolicyName

LOOKED_BACK_TOKENS = 20_000  # the last round is in so many tokens of a conversation's end
SHOWN_CHARS = 60
HELP = """\
/context        what the model was shown for your last message
/context TEXT   what it would be shown for TEXT, which is not sent
/forget         erase your last message and its reply for good
/quit           leave, as Ctrl-D does
A message that begins with a slash is sent with a space before it. Commands are not remembered."""


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
            if line.startswith("/"):
                name, _, rest = line[1:].strip().partition(" ")
                if name == "quit":
                    return
                self._command(name, rest.strip())
                continue
            try:
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
            f"{self.run.space!r} of {place}. /help lists commands, /quit or Ctrl-D leaves."
        )

    def _command(self, name: str, rest: str) -> None:
        commands: dict[str, Callable[[str], None]] = {
            "help": lambda _: note(HELP),
            "context": self._context,
            "forget": lambda _: self._forget(),
        }
        if name not in commands:
            note(f"there is no command /{name}, and nothing was sent; /help lists them")
            return
        try:
            commands[name](rest)
        except TreeringError as error:
            note(error.worded("cli"))

    def _context(self, message: str) -> None:
        if message:
            prompt = self.memory.chat_prompt(
                message,
                policy=self.policy,
                source=self.source,
                budget=self.budget,
                spaces=self.spaces,
            )
            note(f"{prompt}\n\n{prompt.tokens} tokens; nothing was sent")
        elif self._last is None:
            note("nothing was sent yet; /context TEXT shows what would be")
        elif self.run.is_served:  # a server keeps the prompt, and sends what it took from memory
            evidences = self._last.answer.evidences if self._last.answer else ()
            shown = "\n\n".join(evidence.text for evidence in evidences)
            note(shown or "nothing but the recent dialogue")
        else:
            note(f"{self._last.prompt}\n\n{self._last.prompt.tokens} tokens")

    def _forget(self) -> None:
        entries = self._last_round()
        if not entries:
            note(f"no round in {self.source!r} to forget")
            return
        text = " ".join(entries[0].text.split())
        shown = text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 1]}…"
        note(f"“{shown}” and its reply will be erased for good.")
        if _answer_to("Erase? [y/N] ").lower() not in ("y", "yes"):
            note("nothing was erased")
            return
        done = self.memory.forget(*(entry.id for entry in entries))
        self._last = None
        rest = "" if done.scrubbed else "; its bytes go with the next `treering settle`"
        note(f"forgot {len(done.entries)} messages{rest}")

    def _last_round(self) -> list[Entry]:
        """Return the last message of the person, in all its pieces, with the reply."""
        prompt = self.memory.chat_prompt(
            "?", policy="window", source=self.source, budget=LOOKED_BACK_TOKENS
        )
        recent = prompt.materials.recent
        places = [place for place, entry in enumerate(recent) if entry.role == "user"]
        if not places:
            return []
        start = places[-1]
        # A long message is several entries, said at one time.
        while start > 0 and _is_one_message(recent[start - 1], recent[start]):
            start -= 1
        return list(recent[start:])


def _is_one_message(earlier: Entry, later: Entry) -> bool:
    return (earlier.role, earlier.at) == (later.role, later.at)


def _typed_lines() -> Iterator[str]:
    with suppress(ImportError):  # it gives input() editing and a history, where there is one
        import readline  # noqa: F401
    while True:
        try:
            yield input("> ")
        except EOFError:
            return


def _answer_to(question: str) -> str:
    try:
        return input(question).strip()
    except EOFError:
        return ""
