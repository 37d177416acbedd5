"""How a tree grows, and how long its summaries are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from treering.errors import InputError
from treering.search.rounds import CHAT_UNITS, ChatUnit
from treering.views.tree.threshold import Threshold

Route = Literal["content", "leaves"]
Receiver = Literal["merged", "kept"]

MICROS_AN_HOUR: Final = 3_600_000_000

SUMMARY_TOKENS: Final = 128
"""A summary's limit. The bundled embedder reads 256 tokens and represents short texts best."""

MOST_TOKENS: Final = 1_000_000
"""More than any model writes."""

MOST_HOURS: Final = 10_000 * 366 * 24
"""Between the first and the last moment that a text can have; its microseconds are exact."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a tree grows.

    ``route`` says what stands for a summary node when an insert compares itself with it.
    ``"content"`` is the paper's algorithm: the embedding of its text, once it has one. ``"leaves"``
    is the paper's theory (appendix B): the mean cosine to the leaves below it, exact at every
    moment. The shape then depends on nothing but the leaves and their order, whatever a language
    model does and whenever it does it; on real text the two give trees of nearly the same depths.

    ``receiver`` says what becomes of the text of the node that a new leaf is attached to:
    ``"merged"`` with it, as section 3.1 has it, or ``"kept"``, as algorithm 1 is printed.

    A summary at depth 1 has at most ``summary_tokens``, and ``deeper_tokens`` more for each level
    below. With ``summary_tokens=0`` it is as long as the model writes it, as in the paper; without
    a model as long as the paper's are in the median.

    ``chat_unit`` says what a leaf of a chat is: a message, or, as in the paper, a whole round.

    With ``gap_hours`` the tree is in order of time: a text never joins what was last spoken of
    longer ago than that before it, however alike. 0 is no such limit; what has no time has none.
    """

    threshold: Threshold = field(default_factory=Threshold)
    route: Route = "leaves"
    receiver: Receiver = "merged"
    summary_tokens: int = SUMMARY_TOKENS
    deeper_tokens: int = 0
    chat_unit: ChatUnit = "messages"
    gap_hours: float = 0.0

    def __post_init__(self) -> None:
        if self.route not in ("content", "leaves"):
            raise InputError(f"route is {self.route!r}; use 'content' or 'leaves'")
        if self.receiver not in ("merged", "kept"):
            raise InputError(f"receiver is {self.receiver!r}; use 'merged' or 'kept'")
        if self.chat_unit not in CHAT_UNITS:
            raise InputError(f"chat_unit is {self.chat_unit!r}; use 'messages' or 'rounds'")
        for tokens in (self.summary_tokens, self.deeper_tokens):
            if type(tokens) is not int or not 0 <= tokens <= MOST_TOKENS:
                raise InputError(
                    f"summaries have {self.summary_tokens!r} tokens and {self.deeper_tokens!r} "
                    f"more a level; both are whole numbers from 0 to {MOST_TOKENS}, and the first "
                    "is 0 for no limit"
                )
        if not 0 <= self.gap_hours <= MOST_HOURS:
            raise InputError(
                f"gap_hours is {self.gap_hours}; give hours from 0 to {MOST_HOURS}, 0 for no limit"
            )

    @property
    def gap(self) -> int:
        """The gap in microseconds; 0 for none."""
        return round(self.gap_hours * MICROS_AN_HOUR)

    def summary_limit(self, depth: int) -> int | None:
        """The most tokens of a summary at a depth; None for no limit."""
        if not self.summary_tokens:
            return None
        return self.summary_tokens + self.deeper_tokens * (depth - 1)
