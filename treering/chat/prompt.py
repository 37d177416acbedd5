"""The chat prompt: evidences, recent dialogue and the user's input (MemoChat, table 8). No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from treering.chat.policy import JOIN, Layout, Materials, Policy, Sources, Turn, indent, line
from treering.llm.contract import Message
from treering.llm.prompts import load
from treering.records import Entry
from treering.search.context import CountTokens
from treering.views.choices import SpaceSettings
from treering.views.memos.record import speaker_line

MESSAGE_TOKENS: Final = 5  # of a chat template around a message
NOTHING: Final = "None."
DEFAULTS: Final = SpaceSettings()
_ATTEMPTS: Final = 8
"""Each attempt has less room, by as much as the last was over; one is the rule, two are rare."""


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """The prompt for a message.

    Send ``messages``, which have a ``role`` and ``content``, to your model. Then ``add`` the
    message and the reply to the source of the conversation.

    ``tokens`` is the length of the whole prompt. ``entries`` are the ids of the entries that are
    shown, ``whole`` those among them whose text is shown unchanged.
    """

    policy: str
    messages: tuple[Message, ...]
    materials: Materials
    tokens: int

    @property
    def entries(self) -> frozenset[str]:
        """Ids of the entries that are shown, or that the evidences stand for."""
        recalled = (entry for evidence in self.materials.evidences for entry in evidence.entries)
        return frozenset(recalled) | {entry.id for entry in self.materials.recent}

    @property
    def whole(self) -> frozenset[str]:
        """Ids of the entries whose texts are shown unchanged."""
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
    """Build the prompt for a message, of at most ``budget`` tokens unless the message has more."""
    # A policy counts texts, and the prompt also has the words around them. So the prompt is built
    # and counted as a whole, and built again with less room if it is too long.
    room, over = budget - least_tokens(message, count), 0
    layout = _layout(policy, settings)
    for _ in range(_ATTEMPTS):
        room -= over
        limits = (settings.whole_tokens, settings.whole_rounds)
        turn = Turn(message, tuple(history), room, count, *limits, layout)
        materials = policy.materials(turn, sources) if room > 0 else Materials()
        messages = render(message, materials, layout)
        over = _tokens(messages, count) - budget
        if over <= 0 or room <= 0:
            break
    else:
        materials = Materials()
        messages = render(message, materials)
    return ChatPrompt(policy.name, tuple(messages), materials, _tokens(messages, count))


def _layout(policy: Policy, settings: SpaceSettings) -> Layout:
    if settings.prompt != "own":
        return settings.prompt
    return "printed" if policy.writes_memos and settings.wording == "printed" else "tagged"


def least_tokens(message: str, count: CountTokens) -> int:
    """Tokens of a prompt with nothing in it but the message."""
    return _tokens(render(message, Materials()), count)


def render(message: str, materials: Materials, layout: Layout = "tagged") -> list[Message]:
    """The prompt in a layout: MemoChat's table 8, MemTree's A.2.2, FragRel's prompt 3, or ours.

    Ours is FragRel's, and also says that evidences are data. MemTree's does not show recent
    dialogue.
    """
    if layout == "memtree":
        results = "\n\n".join(evidence.text for evidence in materials.evidences)
        return [Message("user", printed_prompt("memtree", message, results))]
    separator = "\n" if layout == "printed" else "\n\n"
    evidences = separator.join(
        f"({number}) {indent(evidence.text)}"
        for number, evidence in enumerate(materials.evidences, 1)
    )
    if layout == "printed":
        recent = JOIN.join(speaker_line(entry, "printed") for entry in materials.recent)
        table_8 = load("memochat_chat")
        prompt = table_8.fill(evidences=evidences, recent=recent, turn=f"user: {message}")
        return [Message("user", prompt)]
    is_printed = layout == "fragrel"
    turn = load("fragrel_chat_turn" if is_printed else "chat_turn").fill(
        evidences=evidences or NOTHING,
        recent=JOIN.join(map(line, materials.recent)) or NOTHING,
        input=message,
    )
    rules = load("fragrel_chat", version=1 if is_printed else 2).fill()
    return [Message("system", rules), Message("user", turn)]


def printed_prompt(prompt: Literal["fragrel", "memtree"], question: str, passages: str) -> str:
    """FragRel's prompt 1, or MemTree's of A.2.2, which ask for no citations."""
    name = "fragrel_story" if prompt == "fragrel" else "memtree_answer"
    return load(name).fill(context=passages, input=question)


def _tokens(messages: Sequence[Message], count: CountTokens) -> int:
    return sum(count(message.content) + MESSAGE_TOKENS for message in messages)
