"""The chat prompt: evidences, recent dialogue and the user's input (MemoChat, table 8). No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from treering.chat.policy import JOIN, Layout, Materials, Policy, Sources, Turn, indented, line
from treering.llm.ask import printed
from treering.llm.contract import Message
from treering.llm.prompts import load
from treering.records import Entry
from treering.search.context import CountTokens
from treering.views.memos.record import speaker_line
from treering.views.settings import SpaceSettings

MESSAGE_TOKENS = 5  # what a chat template puts around a message
NOTHING = "None."
DEFAULTS = SpaceSettings()
_ATTEMPTS = 8
"""Each attempt has less room, by as much as the last was over; one is the rule, two are rare."""


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """What a model is shown for a message: send ``messages``, then remember both sides.

    ``tokens`` is the length of the whole prompt. ``entries`` are the ids of what is shown of the
    memory, ``whole`` those among them whose text is shown as it stands.
    """

    policy: str
    messages: tuple[Message, ...]
    materials: Materials
    tokens: int

    @property
    def entries(self) -> frozenset[str]:
        """Ids of the entries that are shown, or that what is shown stands for."""
        recalled = (entry for evidence in self.materials.evidences for entry in evidence.entries)
        return frozenset(recalled) | {entry.id for entry in self.materials.recent}

    @property
    def whole(self) -> frozenset[str]:
        """Ids of the entries whose texts are shown as they stand."""
        recalled = (entry for evidence in self.materials.evidences for entry in evidence.whole)
        return frozenset(recalled) | {entry.id for entry in self.materials.recent}

    def __str__(self) -> str:
        return "\n\n".join(message.content for message in self.messages)


def build(
    message: str,
    history: Sequence[Entry],
    policy: Policy,
    sources: Sources,
    budget: int,
    count: CountTokens,
    settings: SpaceSettings = DEFAULTS,
) -> ChatPrompt:
    """The prompt for a message, of at most ``budget`` tokens if the message alone has no more.

    The message itself is never cut.
    """
    # A policy counts texts, and the prompt also has what stands around them. So the prompt is built
    # and counted as a whole, and built again with less room if it is too long.
    room, over = budget - least_tokens(message, count), 0
    layout: Layout = "tagged" if settings.prompt == "own" else settings.prompt
    for _ in range(_ATTEMPTS):
        room -= over
        limits = (settings.whole_tokens, settings.whole_rounds)
        turn = Turn(message, tuple(history), room, count, *limits, layout)
        materials = policy.materials(turn, sources) if room > 0 else Materials()
        if layout != "tagged":
            materials = replace(materials, layout=layout)
        messages = render(message, materials)
        over = _tokens(messages, count) - budget
        if over <= 0 or room <= 0:
            break
    else:
        materials = Materials()
        messages = render(message, materials)
    return ChatPrompt(policy.name, tuple(messages), materials, _tokens(messages, count))


def least_tokens(message: str, count: CountTokens) -> int:
    """Tokens of a prompt with nothing in it but the message."""
    return _tokens(render(message, Materials()), count)


def render(message: str, materials: Materials) -> list[Message]:
    """The prompt: MemoChat's table 8 as printed, or ours.

    Ours is FragRel's prompt 3, then evidences, recent dialogue and user input, each in its place.

    Beside what is printed ours says that evidences are data. MemTree's prompt has no place for
    recent dialogue.
    """
    if materials.layout == "memtree":
        results = "\n\n".join(evidence.text for evidence in materials.evidences)
        return [Message("user", printed("memtree", message, results))]
    separator = "\n" if materials.layout == "printed" else "\n\n"
    evidences = separator.join(
        f"({number}) {indented(evidence.text)}"
        for number, evidence in enumerate(materials.evidences, 1)
    )
    if materials.layout == "printed":
        recent = (speaker_line(entry, "printed") for entry in materials.recent)
        table_8 = load("memochat_chat").fill(
            evidences=evidences, recent=JOIN.join(recent), turn=f"user: {message}"
        )
        return [Message("user", table_8)]
    is_printed = materials.layout == "fragrel"
    turn = load("fragrel_chat_turn" if is_printed else "chat_turn").fill(
        evidences=evidences or NOTHING,
        recent=JOIN.join(map(line, materials.recent)) or NOTHING,
        input=message,
    )
    if is_printed:
        return [Message("system", load("fragrel_chat").fill()), Message("user", turn)]
    return [Message("system", load("fragrel_chat", version=2).fill()), Message("user", turn)]


def _tokens(messages: Sequence[Message], count: CountTokens) -> int:
    return sum(count(message.content) + MESSAGE_TOKENS for message in messages)
