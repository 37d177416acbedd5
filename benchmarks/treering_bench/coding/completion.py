"""Repository-level completion: RepoCoder's retrieval and prompt (FragRel, 4.2 and prompt 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from treering.errors import InputError
from treering.views.code.index.code_index import CodeHit
from treering.views.code.parse.cuts import WINDOW_LINES

FRAGMENTS = 10
"""Fragments retrieved (FragRel B.2)."""
_HEADER = "# Here are some relevant code fragments from other files of the repo:"
_RULE = "# " + "-" * 50

Retrieve = Callable[[str], Sequence[CodeHit]]
"""Fragments for a query, best first."""
Complete = Callable[[str], str]
"""A model's continuation of a prompt."""


def query_of(prefix: str, prediction: str = "") -> str:
    """What is searched for: the last lines before the hole, in a window that ends with the
    prediction in RepoCoder's later steps."""
    lines = prefix.splitlines()
    following = prediction.splitlines()[: WINDOW_LINES // 2]
    return "\n".join([*lines[-(WINDOW_LINES - len(following)) :], *following])


def completion_prompt(
    hits: Sequence[CodeHit], prefix: str, budget: int, count_tokens: Callable[[str], int]
) -> str:
    """Prompt 2 within ``budget`` tokens: half for fragments, best last, the rest for the file.

    The file loses its beginning, the fragments their worst. Raises InputError if no line fits.
    """
    head = _HEADER
    blocks: list[str] = []
    for hit in hits:
        commented = "\n".join(f"# {line}" for line in hit.text.splitlines())
        where = "# the below code fragment can be found in:"
        block = f"{where}\n# {hit.path}\n{_RULE}\n{commented}\n{_RULE}"
        if count_tokens("\n".join([head, _RULE, block, *blocks])) > budget // 2:
            break
        blocks.insert(0, block)
    context = "\n".join([head, _RULE, *blocks]) + "\n\n" if blocks else ""
    return context + _tail(prefix, budget - count_tokens(context), count_tokens)


def _tail(text: str, budget: int, count_tokens: Callable[[str], int]) -> str:
    """The last lines of a text that fit the budget."""
    lines = text.splitlines(keepends=True)
    fits, too_many = 0, len(lines) + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if count_tokens("".join(lines[-middle:])) <= budget:
            fits = middle
        else:
            too_many = middle
    if lines and not fits:
        raise InputError(f"not even the last line fits into {budget} tokens; give a larger budget")
    return "".join(lines[-fits:]) if fits else ""


def complete(
    prefix: str,
    retrieve: Retrieve,
    model: Complete,
    *,
    budget: int,
    count_tokens: Callable[[str], int],
    steps: int = 1,
    prediction: str = "",
) -> str:
    """RepoCoder: retrieve and generate ``steps`` times, each step with the last answer's lines.

    ``prediction`` is what the first query ends with: the oracle's is the true code.
    """
    if steps < 1:
        raise InputError(f"steps is {steps}; it must be at least 1")
    for _ in range(steps):
        hits = retrieve(query_of(prefix, prediction))[:FRAGMENTS]
        prediction = model(completion_prompt(hits, prefix, budget, count_tokens))
    return prediction
