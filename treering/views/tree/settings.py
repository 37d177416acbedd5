"""How a tree grows: its threshold, its settings, and these as JSON among those of a space."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal, get_args

from treering.errors import InputError
from treering.journal import ledger
from treering.journal.space import SpaceReader
from treering.records import CHAT_UNITS, ChatUnit

Form = Literal["scaled", "current", "printed"]
FORMS: Final[tuple[Form, ...]] = get_args(Form)

LIMITS: Final[Mapping[str, tuple[float, float]]] = {
    "base": (-1.0, 1.0),
    "rate": (0.0, 10.0),
    "max_depth": (1, 1000),
}
"""The least and the most of each number. A base is a cosine; with a rate below 0 the threshold
would fall with the depth; trees of texts are seldom deeper than 20."""


_STEEPEST: Final = 700.0  # e to a higher power is more than a float holds; no cosine comes near


def _is_within(name: str, value: object) -> bool:
    least, most = LIMITS[name]
    return isinstance(value, int | float) and value is not True and least <= value <= most


@dataclass(frozen=True, slots=True)
class Threshold:
    """θ(depth): the least cosine at which an insert descends from a node into its best child.

    ``form="scaled"`` is A.1.3's ``base · e^(rate · depth / max_depth)``. "The maximum depth of the
    tree" can also be read as the depth that the tree has by now: that is ``form="current"``, which
    begins strict and grows milder as the tree gets deeper. ``form="printed"`` is the
    main text's ``base · e^(rate · depth)``; with the paper's own 0.4 and 0.5 it passes 1 at depth
    2, so nothing ever gets below depth 3, against the depth of 13 that the paper reports.

    ``max_depth`` also bounds the tree: an insert that would go below it becomes a sibling instead,
    which keeps an insert's cost bounded when thousands of texts are nearly the same. The paper
    gives no value; its deepest tree has 15 levels, so 16 leaves its trees as they are.
    """

    base: float = 0.4
    rate: float = 0.5
    max_depth: int = 16
    form: Form = "scaled"

    def __post_init__(self) -> None:
        if not _is_within("base", self.base):
            raise InputError(
                f"the base threshold is {self.base!r}; it is a cosine from -1 to 1, such as 0.4"
            )
        if not _is_within("rate", self.rate):
            raise InputError(
                f"the threshold's rate is {self.rate!r}; it is from 0, the same threshold at every "
                "depth, to 10, such as 0.5"
            )
        if not _is_within("max_depth", self.max_depth) or type(self.max_depth) is not int:
            raise InputError(
                f"max_depth is {self.max_depth!r}; it is a whole number from 1, a flat tree, to "
                "1000",
                param="max_depth",
            )
        if self.form not in FORMS:
            raise InputError(f"the threshold's form is {self.form!r}; use {', '.join(FORMS)}")

    def at(self, depth: int, deepest: int = 1) -> float:
        """θ for leaving a node of this depth downwards; the root has depth 0.

        ``deepest`` is the depth of the tree by now, which the form ``current`` asks for.
        """
        exponent = self.rate * depth
        if self.form == "scaled":
            exponent /= self.max_depth
        elif self.form == "current":
            exponent /= max(deepest, 1)
        return self.base * math.exp(min(exponent, _STEEPEST))


Route = Literal["content", "leaves"]
Receiver = Literal["merged", "kept"]
Settling = Literal["later", "each"]
Claims = Literal["supported", "all"]

_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "route": get_args(Route),
    "receiver": get_args(Receiver),
    "chat_unit": CHAT_UNITS,
    "settle": get_args(Settling),
    "claims": get_args(Claims),
}

SUMMARY_TOKENS: Final = 128
"""A summary's limit. The bundled embedder reads 256 tokens and represents short texts best."""

MOST_TOKENS: Final = 1_000_000
"""More than any model writes."""


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

    ``settle`` says when the summaries above a new leaf are written. ``"later"`` inserts all texts
    at once and queues their summaries. ``"each"`` is the paper's online tree: ``settle()`` inserts
    one text, writes and embeds all summaries above it, and only then inserts the next. Until then
    a text is found as a text, outside of the tree.

    ``claims`` says which sentences of a model's summary are stored: ``"supported"`` drops those
    that the texts below do not support, ``"all"`` stores the reply as it is written.
    """

    threshold: Threshold = field(default_factory=Threshold)
    route: Route = "leaves"
    receiver: Receiver = "merged"
    summary_tokens: int = SUMMARY_TOKENS
    deeper_tokens: int = 0
    chat_unit: ChatUnit = "messages"
    settle: Settling = "later"
    claims: Claims = "supported"

    def __post_init__(self) -> None:
        for name, values in _CHOICES.items():
            if (value := getattr(self, name)) not in values:
                raise InputError(
                    f"{name} is {value!r}; use {' or '.join(map(repr, values))}", param=name
                )
        for tokens in (self.summary_tokens, self.deeper_tokens):
            if type(tokens) is not int or not 0 <= tokens <= MOST_TOKENS:
                raise InputError(
                    f"summaries have {self.summary_tokens!r} tokens and {self.deeper_tokens!r} "
                    f"more a level; both are whole numbers from 0 to {MOST_TOKENS}, and the first "
                    "is 0 for no limit"
                )

    def changed(self, given: Mapping[str, Any]) -> Settings:
        """These settings with other values for those that are not None. Raises InputError."""
        values = {name: value for name, value in given.items() if value is not None}
        of_threshold = {name: values.pop(name) for name in asdict(self.threshold) if name in values}
        return replace(self, threshold=replace(self.threshold, **of_threshold), **values)

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
    """Whether somebody chose how the tree of a space grows, which counts as using it."""
    return KEY in ledger.settings(reader)


def tree_settings(reader: SpaceReader) -> Settings:
    """How the tree of a space grows."""
    return load_tree_settings(ledger.settings(reader))


def load_tree_settings(settings: Mapping[str, Any]) -> Settings:
    """The settings of a space for its tree; the defaults if it has none. Raises InputError."""
    stored = settings.get(KEY)
    if stored is None:
        return Settings()
    try:
        others = {name: value for name, value in stored.items() if name != "threshold"}
        return Settings(Threshold(**stored["threshold"]), **others)
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(f"the settings {stored!r} are none of a tree: {error}") from error
