"""The settings of a space as a table: the name, type, limits and help of each.

``Memory.configure``, ``treering configure`` and ``POST /v1/configure`` take ``Choices``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import NoneType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    TypedDict,
    get_args,
    get_origin,
    get_type_hints,
)

from treering.errors import InputError
from treering.records import ChatUnit, Level, Mode, Order
from treering.split.text import OVERLAP_LINES, WINDOW_LINES

PolicyName = Literal["auto", "window", "fragments", "nodes", "memo"]

PromptName = Literal["own", "fragrel", "memtree"]
"""The prompt of answers and chats: ours, FragRel's 1 and 3, or MemTree's of A.2.2. Only ours asks
for citations."""

TreeMethod = Literal["collapsed", "traversal"]

Wording = Literal["plain", "printed"]
"""``plain`` are our prompts. ``printed`` are MemoChat's: table 6, made for models tuned on it, and
table 8 for a chat, in which a text can pass for an instruction. An untuned model of 0.5 billion
parameters copied the banana and mango of the example of table 6 in five of five replies; with our
prompt it gave valid ranges at once in three of three."""

NotoPlace = Literal["first", "random"]
"""Where "None of the others" is: as in the authors' repository, or as the paper says."""

AgentWrites = Literal["add", "propose"]
"""``propose``: texts of agents wait for approval, and agents may neither replace nor forget."""

JudgeName = Literal["names", "llm"]
"""``names`` asks whether the keys hold the names of the instruction, ``llm`` is the paper's."""

DetectorName = Literal["rules", "printed", "none"]
"""``rules`` are the guard's, ``printed`` is the rule of eq. 8 to 10; without SessAST ``none``."""

ContextName = Literal["selected", "added", "static"]
"""``selected`` is the whole context memory. The paper's ablations: ``added`` drops nothing that was
once merged in (without CtxAST), ``static`` keeps what the first round retrieved (without CtxMem).
"""

Unit = str
"""``blocks`` along definitions, ``windows`` of 20 lines that overlap by 10, or others, such as
``windows 30/15``."""

_WINDOWS: Final = re.compile(r"windows(?: ([0-9]{1,4})/([0-9]{1,4}))?")

MAX_K: Final = 1_000
"""Hits of a search that does not say how many: to get all entries, page through them."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The help of a setting, and the least and the most of a number."""

    help: str
    least: float | None = None
    most: float | None = None
    metavar: str | None = None


class Choices(TypedDict, total=False):
    """The settings of a space that have one value each. None leaves a setting as it is."""

    fragment: Annotated[
        str | None, Setting("The most of a fragment of text, such as '500 words'.", metavar="SIZE")
    ]
    mode: Annotated[Mode | None, Setting("How search scores a text itself.")]
    level: Annotated[Level | None, Setting("Whether texts are found, summaries, or all.")]
    method: Annotated[
        TreeMethod | None,
        Setting("Find the best nodes of the whole tree, or of each level below the last best."),
    ]
    least: Annotated[
        float | None, Setting("The least cosine of nodes of the tree that are found.", -1, 1)
    ]
    k: Annotated[
        int | None,
        Setting(
            "Hits of a search, 10 if it is not set, and the most that a prompt shows.", 1, MAX_K
        ),
    ]
    order: Annotated[
        Order | None, Setting("Show passages in reading order, or the best first and each whole.")
    ]
    budget: Annotated[
        str | None,
        Setting("The most that passages or a prompt have, such as '4000 words'.", metavar="SIZE"),
    ]
    relations: Annotated[
        str | None,
        Setting(
            "Relations and weights by kind: 'chat: context(w=0.8) @ 0.5; text: none'.",
            metavar="SPEC",
        ),
    ]
    prompt: Annotated[PromptName | None, Setting("The prompt of answers and chats.")]
    chat_unit: Annotated[
        ChatUnit | None, Setting("What search ranks of chats: messages, or each with its replies.")
    ]
    policy: Annotated[
        PolicyName | None, Setting("What a chat shows the model besides the message.")
    ]
    whole_tokens: Annotated[
        int | None, Setting("Tokens up to which a chat is shown whole.", 0, 1_000_000)
    ]
    whole_rounds: Annotated[
        int | None, Setting("Rounds up to which a chat is shown whole.", 0, 1_000)
    ]
    wording: Annotated[
        Wording | None, Setting("The prompts that memos are written and answered from by.")
    ]
    noto: Annotated[
        NotoPlace | None,
        Setting('Where "None of the others" is when a model chooses memos.'),
    ]
    memo_lines: Annotated[
        int | None, Setting("Lines of a conversation that need no memo yet.", 1, 1_000)
    ]
    memo_tokens: Annotated[
        int | None, Setting("Tokens of a conversation that need no memo yet.", 1, 1_000_000)
    ]
    temperature: Annotated[float | None, Setting("Of answers, replies in a chat, and memos.", 0, 2)]
    agents: Annotated[
        AgentWrites | None,
        Setting("Whether texts that agents remember over MCP are added, or wait for approval."),
    ]
    judge: Annotated[JudgeName | None, Setting("What decides whether a round is shown more code.")]
    detector: Annotated[
        DetectorName | None, Setting("What finds that a draft of code undoes earlier rounds.")
    ]
    context: Annotated[ContextName | None, Setting("The context memory of rounds, or parts of it.")]
    alike: Annotated[
        float | None, Setting("The least cosine of two instructions with one intent.", 0, 1)
    ]
    block_alpha: Annotated[
        float | None, Setting("The code relation's weight in the code that rounds see.", 0, 10)
    ]
    documents: Annotated[int | None, Setting("Definitions that a round of code looks up.", 1, 100)]
    aside: Annotated[
        bool | None,
        Setting("Whether code search counts tests, and files without code, half."),
    ]
    unit: Annotated[
        Unit | None,
        Setting(
            "How files of code are cut when first indexed: blocks, windows, or 'windows 30/15'.",
            metavar="UNIT",
        ),
    ]
    edges: Annotated[
        str | None,
        Setting(
            "Weights of the code graph when it is next indexed: 'syntax=0.5, folder=0.3, root=1, "
            "call=0.8'.",
            metavar="SPEC",
        ),
    ]


@cache
def window_of(unit: Unit) -> tuple[int, int] | None:
    """The lines of a window and of an overlap; None for blocks. Raise InputError for others."""
    if unit == "blocks":
        return None
    match = _WINDOWS.fullmatch(unit)
    if match is not None:
        size, overlap = int(match[1] or WINDOW_LINES), int(match[2] or OVERLAP_LINES)
        if overlap < size:
            return size, overlap
    raise InputError(
        f"unit is {unit!r}; it can be blocks, windows, or windows of so many lines that overlap by "
        "fewer, such as 'windows 30/15'"
    )


class EdgeWeights(NamedTuple):
    """The weights of the edges of the code graph, by default FragRel's (appendix A).

    ``syntax`` and ``folder`` join a node or a path to the one around it, ``root`` a file to its
    code, ``call`` a call to a definition.
    """

    syntax: float = 0.5
    folder: float = 0.3
    root: float = 1.0
    call: float = 0.8

    def __str__(self) -> str:
        """As ``parse_edges`` reads it."""
        return ", ".join(f"{name}={value:g}" for name, value in self._asdict().items())


@cache
def parse_edges(text: str) -> EdgeWeights:
    """Return the weights that a text gives, and FragRel's for others. Raises InputError."""
    try:
        pairs = [part.split("=") for part in text.split(",")]
        weights = EdgeWeights(**{name.strip(): float(value) for name, value in pairs})
    except (TypeError, ValueError) as error:
        raise InputError(f"edges is {text!r}; write it like '{EdgeWeights()}'") from error
    if not all(0 < weight <= 1 for weight in weights) or max(weights.syntax, weights.folder) == 1:
        raise InputError(
            f"edges is {text!r}; a weight is above 0 and at most 1, those of syntax and folder "
            "below 1"
        )
    return weights


@cache
def settings_by_name(table: type = Choices) -> Mapping[str, tuple[Any, Setting]]:
    """The type of each setting of a table, without None, and its limits and help."""
    found = {}
    for name, hint in get_type_hints(table, include_extras=True).items():
        optional, setting = get_args(hint)
        [kind] = [part for part in get_args(optional) if part is not NoneType]
        found[name] = kind, setting
    return found


def check_setting(name: str, value: object, table: type = Choices) -> None:
    """Raise InputError unless ``value`` fits the type and limits of a setting of a table."""
    kind, setting = settings_by_name(table)[name]
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise InputError(
                f"{name} is {value!r}; it can be {', '.join(get_args(kind))}", param=name
            )
        return
    is_right = isinstance(value, int | float if kind is float else kind)
    if isinstance(value, bool):
        is_right = kind is bool
    elif is_right and isinstance(value, int | float) and setting.least is not None:
        is_right = setting.least <= value <= (setting.most or value)
    if not is_right:
        raise InputError(
            f"{name} is {value!r}; it must be {_KINDS[kind]}{_limits(setting)}", param=name
        )


_KINDS: Final[Mapping[type, str]] = {
    bool: "true or false",
    float: "a number",
    int: "a whole number",
    str: "a text",
}


def _limits(setting: Setting) -> str:
    if setting.least is None:
        return ""
    return f" from {setting.least:,}" + (f" to {setting.most:,}" if setting.most else "")
