"""The text of a summary: the aggregate of the texts below it (MemTree, section 3.1 and A.1.2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes
from treering.llm.contract import LLM, Message, Reply, Usage
from treering.llm.prompts import load
from treering.llm.tokens import estimate_tokens
from treering.search.terms import terms

LENGTH_POWER: Final = 0.5
"""How strongly a sentence's length counts against it: at 1 greetings win, at 0 monologues."""

_SENTENCE_BREAK = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|\n+|(?<=[。！？])")

Count = Callable[[str], int]


def central_sentences(texts: Sequence[str], limit: int, count: Count) -> str:
    """The sentences of ``texts`` that cover most of them within ``limit`` tokens, in their order.

    Everything is kept if it fits. If not even one sentence fits, the best is cut after a word.
    ``count`` counts the tokens of a text.
    """
    sentences = list(dict.fromkeys(s for text in texts for s in _sentences(text)))
    lengths = np.array([count(sentence) for sentence in sentences], dtype=np.int64)
    if lengths.sum() <= limit:
        return " ".join(sentences)
    row, word, weights = _words(sentences)
    divisor = np.maximum(lengths, 1) ** LENGTH_POWER

    def worth() -> NDArray[np.float64]:
        said = np.bincount(row, weights[word], minlength=len(sentences)).astype(np.float64)
        return said / divisor

    best_alone = int(worth().argmax())
    chosen: list[int] = []
    while True:
        left = limit - int(lengths[chosen].sum())
        gains = np.where(lengths <= left, worth(), 0.0)
        index = int(gains.argmax())
        if gains[index] <= 0:
            break
        chosen.append(index)
        # The words of this sentence are said: another sentence gains nothing by them.
        weights[word[row == index]] = 0.0
    if not chosen:
        return _cut(sentences[best_alone], limit, count)
    return " ".join(sentences[index] for index in sorted(chosen))


def _sentences(text: str) -> list[str]:
    return [stripped for part in _SENTENCE_BREAK.split(text) if (stripped := part.strip())]


def _words(sentences: Sequence[str]) -> tuple[Codes, Codes, NDArray[np.float64]]:
    """Pairs of a sentence and a word that it has, and in how many sentences each word is."""
    hashes = [terms(sentence)[:, 0] for sentence in sentences]
    row = np.repeat(np.arange(len(sentences)), [len(words) for words in hashes])
    _, word = np.unique(np.concatenate(hashes), return_inverse=True)
    return row, word, np.bincount(word).astype(np.float64)


def _cut(sentence: str, limit: int, count: Count) -> str:
    """As many leading words as fit, at least one."""
    words = sentence.split()
    low, high = 1, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if count(" ".join(words[:middle])) <= limit else (low, middle - 1)
        )
    return " ".join(words[:low])


EXTRACTIVE: Final = "extractive"

MEDIAN_TOKENS: Final = 200
"""Of the paper's summaries at depth 1 (figure 4). Deeper ones are longer, as the texts below are
few; sentences that are taken from them need not be."""

CUT: Final = "length"
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*(?=\s|$)|[。！？]|\n")

PROMPT_SHARE: Final = 0.75
"""Of the context window, for the texts to merge; the rest is for the instructions and the reply."""

REPLY_SHARE: Final = 0.2
"""Of the context window, for a reply without another limit."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A new summary, its maker (a model's name or ``extractive``), and its cost."""

    text: str
    made_by: str
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Aggregator:
    """Makes one text of many: the language model by the paper's prompt, else central sentences.

    Safe to use from many threads.
    """

    llm: LLM | None

    @property
    def made_by(self) -> str:
        """The maker's name, which is stored with every summary."""
        return EXTRACTIVE if self.llm is None else self.llm.model

    @property
    def incremental(self) -> bool:
        """Whether a summary is made from its last version and new texts, as in the paper.

        If not, it is always made from the node's children.
        """
        return self.llm is not None

    def aggregate(
        self, current: str | None, news: Sequence[str], entries: int, limit: int | None
    ) -> Aggregate:
        """Merge ``news`` (at least one) into ``current``, a summary of ``entries`` texts.

        The result has at most ``limit`` tokens; None means no limit for a model, and else
        the median of the paper. A model is asked once for all news that fit the window, then
        for the next.
        Raises LLMError.
        """
        if self.llm is None:
            texts = [*([current] if current else []), *news]
            most = MEDIAN_TOKENS if limit is None else limit
            return Aggregate(central_sentences(texts, most, estimate_tokens), EXTRACTIVE)
        waiting = list(news)
        if current is None:
            current, entries = waiting.pop(0), 1
        usage = Usage()
        most = int(self.llm.context_window * REPLY_SHARE) if limit is None else limit
        while waiting:
            batch = _first_that_fit(self.llm, current, waiting)
            del waiting[: len(batch)]
            prompt = load("aggregate").fill(
                n_children=str(entries), new_content="\n\n".join(batch), current_content=current
            )
            asked = [Message("user", prompt)]
            reply = self.llm.complete(asked, max_tokens=most, temperature=0.0)
            current, usage = _whole(reply), usage + reply.usage
            entries += len(batch)
        return Aggregate(current, self.llm.model, usage)


def _first_that_fit(llm: LLM, current: str, waiting: Sequence[str]) -> list[str]:
    """The first texts that fit the window beside ``current``; at least one."""
    room = int(llm.context_window * PROMPT_SHARE) - llm.count_tokens(current)
    for size, text in enumerate(waiting):
        room -= llm.count_tokens(text)
        if room < 0 and size:
            return list(waiting[:size])
    return list(waiting)


def _whole(reply: Reply) -> str:
    """A reply without the sentence that its limit cut off. A reply of one sentence stays whole."""
    text = reply.text.strip()
    if reply.finish_reason != CUT:
        return text
    ends = [end.end() for end in _SENTENCE_END.finditer(text)]
    return text[: ends[-1]].rstrip() if ends else text
