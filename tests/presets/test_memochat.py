"""MemoChat from the command line, beside figure 3 as it reads: memorise, retrieve, respond."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

import pytest

from tests.cli.conftest import Treering, records
from tests.presets.conftest import Endpoint

SAID = [
    f"{topic} is what I talk about for the {n}. time."
    for topic in ("Sailing", "Baking", "Hiking")
    for n in range(1, 5)
]
ASKED = ["What did I say about baking?", "And about sailing and hiking?", "Do you like chess?"]
TOPICS = re.compile(r"sailing|baking|hiking", re.IGNORECASE)


def topics(text: str) -> list[str]:
    return list(dict.fromkeys(TOPICS.findall(text.lower())))


def partition(lines: list[str]) -> list[dict[str, object]]:
    """The stand-in's memo: a topic for each run of lines on one; a reply is of its message's."""
    parts: list[dict[str, object]] = []
    for number, line in enumerate(lines, 1):
        about = (topics(line) or [""])[0]
        if about and (not parts or parts[-1]["topic"] != about):
            summary = f"user says that {about} is what they talk about."
            parts.append({"topic": about, "summary": summary, "start": number, "end": number})
        parts[-1]["end"] = number
    parts[0]["start"] = 1
    return parts


def play(prompt: str) -> str:
    """What the stand-in answers to tables 6, 7 and 8."""
    if "Task Conversation" in prompt:
        lines = re.findall(r"^\(line \d+\) (.*)$", prompt, re.MULTILINE)
        return json.dumps(partition(lines))
    if "Topic Options" in prompt:
        query = prompt.split("Query Sentence:\n")[1].split("\n")[0]
        options = re.findall(r"^\((\d+)\) (\w+)\.", prompt, re.MULTILINE)
        chosen = [number for number, topic in options if topic in topics(query)]
        return "#".join(chosen or [number for number, topic in options if topic == "NOTO"])
    return f"I hear of {topics(prompt.rpartition('User Input:')[2]) or 'it'}."


@dataclass
class MemoChat:
    """Figure 3: ``memos`` are topic, summary and lines; ``recent`` has the last exchange."""

    most_lines: int = 10
    memos: list[tuple[str, str, list[str]]] = field(default_factory=list)
    recent: list[str] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    """The middle of each prompt, between the first pair of fences, without the place of NOTO."""

    def say(self, message: str) -> None:
        """One round: choose, answer, and write what has become too long."""
        evidences = []
        if self.memos:
            options = [f"{topic}. {summary}" for topic, summary, _ in self.memos]
            shown = "\n".join(sorted([*options, "NOTO. None of the others."]))
            self.prompts.append(f"Query Sentence:\n{message}\nTopic Options:\n{shown}")
            evidences = [memo for memo in self.memos if memo[0] in topics(message)]
        self.prompts.append(
            "Related Evidences:\n"
            + "\n".join(
                sorted(
                    f"{{'Related Topics': '{topic}', 'Related Summaries': '{summary}', "
                    f"'Related Dialogs': '{' ### '.join(lines)}'}}"
                    for topic, summary, lines in evidences
                )
            )
            + f"\n\nRecent Dialogs:\n{' ### '.join(self.recent)}"
        )
        reply = play(f"User Input:\nuser: {message}")
        self.recent += [f"user: {message}", f"bot: {reply}"]
        if len(self.recent) > self.most_lines:
            lines, self.recent = self.recent[:-2], self.recent[-2:]
            numbered = "\n".join(f"(line {n}) {line}" for n, line in enumerate(lines, 1))
            self.prompts.append(f"Task Conversation:\n{numbered}")
            for part in partition(lines):
                self.keep(part, lines)

    def keep(self, part: dict[str, object], lines: list[str]) -> None:
        """A topic that comes again extends its memo."""
        start, end = int(str(part["start"])), int(str(part["end"]))
        topic, summary, covered = str(part["topic"]), str(part["summary"]), lines[start - 1 : end]
        for place, (known, text, before) in enumerate(self.memos):
            if known == topic:
                self.memos[place] = (topic, text, before + covered)
                return
        self.memos.append((topic, summary, covered))


def middle(prompt: str) -> str:
    """What is between the first fences, options and evidences sorted and without numbers."""
    text = prompt.split("```")[1].strip()
    for head in ("Topic Options:\n", "Related Evidences:\n"):
        before, mark, after = text.partition(head)
        if mark:
            listed, gap, rest = after.partition("\n\n")
            lines = sorted(re.sub(r"^\(\d+\) ", "", line) for line in listed.split("\n"))
            text = before + mark + "\n".join(lines) + gap + rest
    return text


@pytest.mark.parametrize(("options", "most_lines"), [((), 10), (("--memo-lines", "4"), 4)])
def test_a_conversation_runs_as_figure_3_has_it(
    treering: Treering, endpoint: Endpoint, options: tuple[str, ...], most_lines: int
) -> None:
    endpoint.rule = play
    assert treering("configure", "memochat", *options).exit_code == 0
    paper = MemoChat(most_lines)
    for message in SAID + ASKED:
        result = treering("chat", stdin=f"{message}\n")
        assert result.exit_code == 0, result.output
        paper.say(message)
    assert list(map(middle, endpoint.prompts)) == list(map(str.strip, paper.prompts))
    assert {body["temperature"] for body in endpoint.requests} == {0.2}
    assert len(paper.memos) == 3
    listed = records(treering("memo", "--json"))
    assert [memo["topic"] for memo in listed] == [topic for topic, _, _ in paper.memos]


def test_a_prompt_of_table_8_has_one_name_for_the_bot_and_none_of_the_others_at_any_place(
    treering: Treering, endpoint: Endpoint
) -> None:
    endpoint.rule = play
    treering("configure", "memochat")
    for message in SAID + ASKED:
        treering("chat", stdin=f"{message}\n")
    assert not [prompt for prompt in endpoint.prompts if "assistant" in prompt]
    places = {
        re.search(r"\((\d+)\) NOTO", prompt)[1]  # type: ignore[index]
        for prompt in endpoint.prompts
        if "Topic Options" in prompt
    }
    assert len(places) > 1
    asked = endpoint.prompts[-1]
    assert asked.endswith("\n\nUser Input:\nuser: Do you like chess? ### bot: ")
    assert "Related Evidences are data" not in asked


def test_our_prompts_have_one_name_for_the_assistant(
    treering: Treering, endpoint: Endpoint
) -> None:
    def answer(prompt: str) -> str:
        if "Divide these" in prompt:
            lines = re.findall(r"^\(line \d+\) (.*)$", prompt, re.MULTILINE)
            return json.dumps(partition(lines))
        return play(prompt)

    endpoint.rule = answer
    treering("configure", "--policy", "memo")
    for message in SAID + ASKED:
        treering("chat", stdin=f"{message}\n")
    lines = [
        prompt.replace("You are an intelligent dialog bot", "")
        for prompt in endpoint.prompts
        if "assistant: " in prompt
    ]
    assert len(lines) > 3
    assert not [prompt for prompt in lines if "bot: " in prompt]
