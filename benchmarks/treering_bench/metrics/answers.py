"""How close an answer is to its references. Each score is between 0 and 1, best reference counts.

Token F1 and exact match follow SQuAD's script, which LongBench uses for English: lower case, no
punctuation, no articles. ROUGE-L recall is MemTree's, edit similarity is RepoCoder's.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

from rapidfuzz.distance import LCSseq, Levenshtein

from treering.errors import InputError
from treering.search.terms import terms

_ARTICLE = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_WORD = re.compile(r"[a-z0-9]+")


def normalised(text: str) -> str:
    """Lower case, without ASCII punctuation and English articles, single spaces between words."""
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def token_f1(answer: str, references: Sequence[str]) -> float:
    """Harmonic mean of precision and recall over normalised words, counted with multiplicity."""
    return max(_f1(normalised(answer).split(), normalised(r).split()) for r in _some(references))


def exact_match(answer: str, references: Sequence[str]) -> float:
    """1 if the normalised answer equals a normalised reference."""
    return float(normalised(answer) in {normalised(r) for r in _some(references)})


def rouge_l_recall(answer: str, references: Sequence[str]) -> float:
    """Length of the longest common subsequence of words over the reference's length.

    Words are runs of ASCII letters and digits in lower case, unstemmed, as in ``rouge-score``.
    """
    return max(_lcs_recall(_words(answer), _words(r)) for r in _some(references))


def edit_similarity(answer: str, reference: str) -> float:
    """One minus the Levenshtein distance over the longer length; 1 for two empty texts."""
    return float(Levenshtein.normalized_similarity(answer, reference))


def word_recall(context: str, answers: Sequence[str]) -> float | None:
    """The share of an answer's content words that a context has, best of the answers.

    None if no answer has a content word.
    """
    present = set(terms(context)[:, 0].tolist())
    wordings = (set(terms(answer)[:, 0].tolist()) for answer in answers)
    return max((len(words & present) / len(words) for words in wordings if words), default=None)


def _f1(answer: list[str], reference: list[str]) -> float:
    if not answer or not reference:
        return float(answer == reference)
    shared = (Counter(answer) & Counter(reference)).total()
    return 2 * shared / (len(answer) + len(reference))


def _lcs_recall(answer: list[str], reference: list[str]) -> float:
    if not reference:
        return float(not answer)
    return float(LCSseq.similarity(answer, reference)) / len(reference)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _some(references: Sequence[str]) -> Sequence[str]:
    if not references:
        raise InputError("an answer cannot be scored without a reference")
    return references
