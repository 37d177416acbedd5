"""What a summary node says: the aggregate of what is below it (MemTree, section 3.1 and A.1.2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from treering.llm.contract import LLM, Message, Reply, Usage
from treering.llm.prompts import load
from treering.views.tree.extract import Count, central_sentences

EXTRACTIVE: Final = "extractive"

SUMMARY_TOKENS: Final = 128
"""A summary's limit. The bundled embedder reads 256 tokens and represents short texts best; the
paper's own topmost summaries have 200."""

CUT: Final = "length"
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*(?=\s|$)|[。！？]|\n")

PROMPT_SHARE: Final = 0.75
"""Of the context window, for the texts to merge; the rest is for the instructions and the reply."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A new summary, who made it (a model's name or ``extractive``), and what that cost."""

    text: str
    made_by: str
    usage: Usage = field(default_factory=Usage)


class Aggregator(Protocol):
    """Makes one text of many. Called from several threads at once."""

    @property
    def made_by(self) -> str:
        """The name that nodes so made are marked with."""
        ...

    @property
    def incremental(self) -> bool:
        """Whether a summary grows from its last version and the news (the paper), or is always made
        from the node's children."""
        ...

    def aggregate(self, current: str | None, news: Sequence[str], entries: int) -> Aggregate:
        """Merge ``news`` (at least one) into ``current``, a summary of ``entries`` texts.

        Raises LLMError.
        """
        ...


@dataclass(frozen=True, slots=True)
class ExtractiveAggregator:
    """The most central sentences: no model, no cost, the same for the same texts."""

    count: Count
    limit: int = SUMMARY_TOKENS
    made_by: str = EXTRACTIVE
    incremental: bool = False

    def aggregate(self, current: str | None, news: Sequence[str], entries: int) -> Aggregate:  # noqa: ARG002
        """The central sentences of all texts together."""
        texts = [*([current] if current else []), *news]
        return Aggregate(central_sentences(texts, self.limit, self.count), self.made_by)


@dataclass(frozen=True, slots=True)
class LLMAggregator:
    """A language model's summary, by the paper's prompt.

    Texts that do not fit the model's window together are merged in several calls.
    """

    llm: LLM
    limit: int = SUMMARY_TOKENS
    incremental: bool = True

    @property
    def made_by(self) -> str:
        """The model's name."""
        return self.llm.model

    def aggregate(self, current: str | None, news: Sequence[str], entries: int) -> Aggregate:
        """One call of the prompt for all news that fit into it, then the next."""
        waiting = list(news)
        if current is None:
            current, entries = waiting.pop(0), 1
        usage = Usage()
        while waiting:
            batch = self._fitting(current, waiting)
            del waiting[: len(batch)]
            prompt = load("aggregate").fill(
                n_children=str(entries), new_content="\n\n".join(batch), current_content=current
            )
            asked = [Message("user", prompt)]
            reply = self.llm.complete(asked, max_tokens=self.limit, temperature=0.0)
            current, usage = _whole(reply), usage + reply.usage
            entries += len(batch)
        return Aggregate(current, self.made_by, usage)

    def _fitting(self, current: str, waiting: Sequence[str]) -> list[str]:
        """The first texts that fit the window beside ``current``; at least one."""
        room = int(self.llm.context_window * PROMPT_SHARE) - self.llm.count_tokens(current)
        for size, text in enumerate(waiting):
            room -= self.llm.count_tokens(text)
            if room < 0 and size:
                return list(waiting[:size])
        return list(waiting)


def _whole(reply: Reply) -> str:
    """A reply without the sentence that its limit cut off; all of it where there is no other."""
    text = reply.text.strip()
    if reply.finish_reason != CUT:
        return text
    ends = [end.end() for end in _SENTENCE_END.finditer(text)]
    return text[: ends[-1]].rstrip() if ends else text
