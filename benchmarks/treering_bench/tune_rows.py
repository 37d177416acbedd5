"""Instruction rows from dialogues whose topics are known (MemoChat, section 4.1).

Two tasks of the paper's three, those that memos ask for. *Writing*: conversations joined end to
end, to be cut into their topics again. *Retrieval*: sentences of one to three topics as the query,
the topics of a longer conversation as options, "None of the others" at a random place and the
answer in every tenth row.

The prompts are those that treering asks with, so that a model learns the prompts that it is asked.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from treering.errors import InputError
from treering.views.choices import Wording
from treering.views.memos.choose import NONE_OF_THE_OTHERS, choose_prompt
from treering.views.memos.write import write_prompt
from treering_bench.dialogues import Dialogue, DialogueTopic

Task = Literal["writing", "retrieval", "chatting"]
TASKS: Final[tuple[Task, ...]] = ("writing", "retrieval")
"""The tasks whose rows this module makes; rows of chats are taken from a file as they are."""

NONE_SHARE: Final = 0.1
"""Of the retrieval rows, whose query is about none of the options."""

JOINED: Final[Mapping[int, float]] = {1: 0.15, 2: 0.6, 3: 0.25}
"""Topics of a conversation that is to be cut, with the share of the rows that have so many.

MemoChat's own rows from DialogSum: 16, 67 and 31 of 114. Without conversations on one topic, a
model learns to cut every one."""

OPTIONS: Final = (2, 5)
"""Topics to choose from, beside "None of the others"."""

FEWEST_TOPICS: Final = OPTIONS[1] + 2
"""That rows are made of: the most options, one that is none of them, and one to spare."""

QUERIED: Final = (1, 3)
"""Topics that a query is about."""

QUERY_LINES: Final = 2
"""Successive lines of each topic in a query."""

MOST_LINES: Final = 30
"""Of a conversation that is to be cut, unless one topic alone has more."""


@dataclass(frozen=True, slots=True)
class InstructionRow:
    """A prompt, and the reply that a model is to learn."""

    task: Task
    text: str
    answer: str

    def as_json(self) -> str:
        """The row as one line, in the form of MemoChat's own test file."""
        fields = {"type": f"{self.task}_joined", "text": self.text, "answer": self.answer}
        return json.dumps(fields, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class RowOptions:
    """How many rows of each task, in whose wording, drawn by which seed.

    ``most_lines`` bounds the conversations that are to be cut.
    """

    count: int = 300
    tasks: tuple[Task, ...] = TASKS
    wording: Wording = "plain"
    seed: int = 0
    most_lines: int = MOST_LINES


def instruction_rows(
    dialogues: Sequence[Dialogue], options: RowOptions = RowOptions()
) -> Iterator[InstructionRow]:
    """Rows of every task in turn, so that any first part of them is balanced.

    The same dialogues and options give the same rows. Raises InputError where there are too few
    topics to make a task of.
    """
    if sum(map(len, dialogues)) < FEWEST_TOPICS:
        raise _too_few(dialogues)
    rng = random.Random(options.seed)
    for _ in range(options.count):
        for task in options.tasks:
            yield _MAKERS[task](dialogues, options, rng)


def _too_few(dialogues: Sequence[Dialogue]) -> InputError:
    names = [topic.name.casefold() for dialogue in dialogues for topic in dialogue]
    return InputError(
        f"too few topics (dialogues: {len(dialogues)}, topics: {len(names)}, different names: "
        f"{len(set(names))}); rows need {FEWEST_TOPICS} topics, and {OPTIONS[1] + 1} dialogues "
        "whose topics have different names: give more dialogues, or --rejoin"
    )


def _writing(
    dialogues: Sequence[Dialogue], options: RowOptions, rng: random.Random
) -> InstructionRow:
    count = rng.choices(list(JOINED), list(JOINED.values()))[0]
    topics = _joined(dialogues, count, options.most_lines, rng)
    lines = [line for topic in topics for line in topic.lines]
    if options.wording != "printed":
        # Memos are asked for with summaries whatever the dialogue is like: the same is learned.
        topics = [replace(topic, summary=topic.summary or topic.lines[0]) for topic in topics]
    with_summaries = all(topic.summary for topic in topics)
    text = write_prompt(lines, options.wording, summaries=with_summaries)
    return InstructionRow("writing", text, _borders(topics, with_summaries))


def _borders(topics: Sequence[DialogueTopic], with_summaries: bool) -> str:
    entries: list[dict[str, object]] = []
    end = 0
    for topic in topics:
        start, end = end + 1, end + len(topic.lines)
        summary = {"summary": topic.summary} if with_summaries else {}
        entries.append({"topic": topic.name, **summary, "start": start, "end": end})
    return json.dumps(entries, ensure_ascii=False)


def _joined(
    dialogues: Sequence[Dialogue], count: int, most_lines: int, rng: random.Random
) -> list[DialogueTopic]:
    """Topics end to end: those of a conversation on several, or of conversations on one each."""
    topics: list[DialogueTopic] = []
    for dialogue in rng.sample(dialogues, len(dialogues)):
        if len(dialogue) > 1 and not topics:
            return list(dialogue)
        whole = len(dialogue) == 1
        lines = sum(len(topic.lines) for topic in (*topics, *dialogue))
        if whole and (not topics or lines <= most_lines):
            topics += dialogue
        if len(topics) == count:
            break
    return topics


def _retrieval(
    dialogues: Sequence[Dialogue], _options: RowOptions, rng: random.Random
) -> InstructionRow:
    count = rng.randint(*OPTIONS)
    drawn = _distinct(dialogues, count + 1, rng)
    stranger, shown = drawn[0], drawn[1:]
    about = (
        [] if rng.random() < NONE_SHARE else rng.sample(shown, min(count, rng.randint(*QUERIED)))
    )
    query = " ".join(_sentences(topic, rng) for topic in about or [stranger])
    noto_at = rng.randint(0, len(shown))
    listed = [_option(topic) for topic in shown]
    listed.insert(noto_at, NONE_OF_THE_OTHERS)
    right = {_option(topic) for topic in about} or {NONE_OF_THE_OTHERS}
    numbers = [str(n) for n, option in enumerate(listed, 1) if option in right]
    return InstructionRow("retrieval", choose_prompt(query, listed), "#".join(numbers))


def _option(topic: DialogueTopic) -> str:
    return f"{topic.name}. {topic.summary}" if topic.summary else topic.name


def _distinct(dialogues: Sequence[Dialogue], count: int, rng: random.Random) -> list[DialogueTopic]:
    """Topics of different names, each of a dialogue drawn anew."""
    by_name: dict[str, DialogueTopic] = {}
    for dialogue in rng.sample(dialogues, len(dialogues)):
        topic = rng.choice(dialogue)
        by_name.setdefault(topic.name.casefold(), topic)
        if len(by_name) == count:
            return list(by_name.values())
    raise _too_few(dialogues)


def _sentences(topic: DialogueTopic, rng: random.Random) -> str:
    """A few successive lines of a topic, without who said them."""
    begin = rng.randint(0, max(len(topic.lines) - QUERY_LINES, 0))
    lines = topic.lines[begin : begin + QUERY_LINES]
    return " ".join(line.partition(": ")[2] or line for line in lines)


_MAKERS: Final[
    Mapping[Task, Callable[[Sequence[Dialogue], RowOptions, random.Random], InstructionRow]]
] = {"writing": _writing, "retrieval": _retrieval}
