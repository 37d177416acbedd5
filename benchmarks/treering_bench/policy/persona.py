"""MPC's memory (Lee et al. 2023): speakers' statements about themselves, by cosine.

Its summariser is a language model. Without one, a turn's summary are its sentences in the first
person; a turn without one is not remembered, and that is the method.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treering_bench.metrics.evidence import RetrievedPassage
from treering_bench.policy.contract import RetrievalPolicy
from treering_bench.policy.fusing import ranked
from treering_bench.space import TaskSpace
from treering_bench.task import TaskQuestion

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y|[Mm]ine|[Mm]e|[Ww]e|[Oo]ur)\b")


def mpc() -> RetrievalPolicy:
    """Persona summaries, ranked by the cosine of the turns they are made of."""

    def pick(space: TaskSpace, question: TaskQuestion) -> Sequence[RetrievedPassage]:
        personal = [
            replace(scored, passage=short)
            for scored in space.scored(question)
            if (short := _persona(space, scored.passage)) is not None
        ]
        return ranked(space, personal, np.array([scored.cosine for scored in personal]))

    return RetrievalPolicy("mpc", pick)


def _persona(space: TaskSpace, passage: RetrievedPassage) -> RetrievedPassage | None:
    """A passage's sentences about its speaker, with its length; None if there are none."""
    sentences = [
        sentence for sentence in _SENTENCE.findall(passage.text) if _FIRST_PERSON.search(sentence)
    ]
    text = " ".join(sentence.strip() for sentence in sentences)
    return replace(passage, text=text, tokens=space.count(text)) if sentences else None
