"""How a tree grows: its settings, kept among those of a space, and the paper's threshold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Final, Literal, TypedDict

from treering.errors import InputError
from treering.journal import ledger
from treering.journal.space import SpaceReader
from treering.records import ChatUnit
from treering.views.choices import Setting, check_setting

Form = Literal["scaled", "current", "printed"]
Route = Literal["content", "leaves"]
Receiver = Literal["merged", "kept"]
Settling = Literal["later", "each"]
Claims = Literal["supported", "all"]

SUMMARY_TOKENS: Final = 128
"""The bundled embedder reads 256 tokens and represents short texts best."""

MOST_TOKENS: Final = 1_000_000
"""More than any model writes."""

_STEEPEST: Final = 700.0  # e to a higher power is more than a float holds; no cosine comes near


class TreeChoices(TypedDict, total=False):
    """How a tree grows. None leaves a setting as it is."""

    base: Annotated[
        float | None, Setting("The threshold at the root, a cosine; lower is deeper.", -1, 1)
    ]
    rate: Annotated[float | None, Setting("How much the threshold rises with the depth.", 0, 10)]
    max_depth: Annotated[int | None, Setting("Levels at most.", 1, 1_000)]
    form: Annotated[
        Form | None,
        Setting(
            "Of the threshold: printed is of the paper's main text; scaled, by max_depth, and "
            "current, by the depth that the tree has, are of its appendix."
        ),
    ]
    route: Annotated[
        Route | None,
        Setting("Compare texts with a summary's own text, or with the leaves below it."),
    ]
    receiver: Annotated[
        Receiver | None,
        Setting("Whether the node that gets a new leaf merges it into its own text."),
    ]
    summary_tokens: Annotated[
        int | None, Setting("Tokens of a topmost summary; 0 for no limit.", 0, MOST_TOKENS)
    ]
    deeper_tokens: Annotated[
        int | None, Setting("As many more for each level below.", 0, MOST_TOKENS)
    ]
    chat_unit: Annotated[
        ChatUnit | None,
        Setting("What a leaf of a chat is: a message, or one with the replies to it."),
    ]
    settle: Annotated[
        Settling | None,
        Setting("Insert all texts at once, or each after the summaries of the last."),
    ]
    claims: Annotated[
        Claims | None,
        Setting("Store the supported sentences of a model's summary, or all of them."),
    ]


@dataclass(frozen=True, slots=True)
class Settings:
    """How a tree grows; ``TreeChoices`` says what each setting does.

    ``form="scaled"`` is the threshold of A.1.3. "The maximum depth of the tree" can also be read as
    the depth that the tree has by now: ``"current"``. ``"printed"`` is that of the main text; with
    the paper's own 0.4 and 0.5 it passes 1 at depth 2, against the depth of 13 that the paper
    reports. ``max_depth`` also bounds the tree: a deeper insert becomes a sibling. The paper gives
    no value; its deepest tree has 15 levels.

    ``route="content"`` is the paper's. ``"leaves"`` takes the mean cosine to the leaves below a
    summary (appendix B), so that the shape depends on nothing but the leaves and their order.
    ``receiver="merged"`` is that of section 3.1, ``"kept"`` that of algorithm 1 as printed.
    Without a limit and without a model, summaries have the median length of the paper's.
    ``settle="each"`` is the paper's online tree: ``settle()`` inserts one text, writes and embeds
    all summaries above it, and then inserts the next.
    """

    base: float = 0.4
    rate: float = 0.5
    max_depth: int = 16
    form: Form = "scaled"
    route: Route = "leaves"
    receiver: Receiver = "merged"
    summary_tokens: int = SUMMARY_TOKENS
    deeper_tokens: int = 0
    chat_unit: ChatUnit = "messages"
    settle: Settling = "later"
    claims: Claims = "supported"

    def __post_init__(self) -> None:
        for name in TreeChoices.__annotations__:
            check_setting(name, getattr(self, name), TreeChoices)

    def threshold(self, depth: int, deepest: int = 1) -> float:
        """θ(depth): the least cosine at which an insert descends from a node into its best child.

        The root has depth 0. ``deepest`` is the depth of the tree by now, for ``form="current"``.
        """
        exponent = self.rate * depth
        if self.form == "scaled":
            exponent /= self.max_depth
        elif self.form == "current":
            exponent /= max(deepest, 1)
        return self.base * math.exp(min(exponent, _STEEPEST))

    def summary_limit(self, depth: int) -> int | None:
        """The most tokens of a summary at a depth; None for no limit."""
        if not self.summary_tokens:
            return None
        return self.summary_tokens + self.deeper_tokens * (depth - 1)


KEY: Final = "tree"


def with_tree_settings(settings: Mapping[str, Any], chosen: Settings) -> dict[str, Any]:
    """The settings of a space whose tree is to grow so."""
    return {**settings, KEY: asdict(chosen)}


def is_chosen(reader: SpaceReader) -> bool:
    """Whether the settings of the space's tree were chosen, which counts as using it."""
    return KEY in ledger.settings(reader)


def tree_settings(reader: SpaceReader) -> Settings:
    """How the tree of a space grows."""
    return load_tree_settings(ledger.settings(reader))


def load_tree_settings(settings: Mapping[str, Any]) -> Settings:
    """The settings of a space for its tree; the defaults if it is not set. Raises InputError."""
    stored = settings.get(KEY, {})
    try:
        return Settings(**stored)
    except TypeError as error:
        raise InputError(f"the settings {stored!r} are none of a tree: {error}") from error
