"""The settings of a space: the name, type, default, limits and help of each.

``Memory.configure``, ``treering configure`` and ``POST /v1/configure`` take ``Choices``. A preset
(``treering.views.presets``) sets all of them to the values of a paper.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
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
from treering.records import ChatUnit, Kind, Level, Mode, Order
from treering.split.text import OVERLAP_LINES, WINDOW_LINES, FragmentSize
from treering.views.code.rounds.session import SAME_INTENT

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

TreeForm = Literal["scaled", "current", "printed"]
"""Of MemTree's threshold. ``scaled`` is that of A.1.3; "the maximum depth of the tree" can also be
read as the depth that the tree has by now: ``current``. ``printed`` is that of the main text; with
the paper's own 0.4 and 0.5 it passes 1 at depth 2, against the depth of 13 that the paper reports.
"""

TreeRoute = Literal["content", "leaves"]
"""``content`` is the paper's. ``leaves`` takes the mean cosine to the leaves below a summary
(appendix B), so that the shape depends on nothing but the leaves and their order."""

TreeReceiver = Literal["merged", "kept"]
"""Of section 3.1, and of algorithm 1 as printed."""

TreeSettling = Literal["later", "each"]
"""``each`` is the paper's online tree: ``settle()`` inserts one text, writes and embeds all
summaries above it, and then inserts the next."""

TreeClaims = Literal["supported", "all"]

Unit = str
"""``blocks`` along definitions, ``windows`` of 20 lines that overlap by 10, or others, such as
``windows 30/15``."""

_WINDOWS: Final = re.compile(r"windows(?: ([0-9]{1,4})/([0-9]{1,4}))?")

MOST_TOKENS: Final = 1_000_000
"""More than any model writes."""

SUMMARY_TOKENS: Final = 128
"""The bundled embedder reads 256 tokens and represents short texts best."""

OWN: Final = "own"

MAX_K: Final = 1_000
"""Hits of a search that does not say how many: to get all entries, page through them."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The help of a setting, and the least and the most of a number."""

    help: str
    least: float | None = None
    most: float | None = None
    metavar: str | None = None


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


@dataclass(frozen=True, slots=True)
class SpaceSettings:
    """How a space is searched, talked with and written, with the help of each setting.

    ``preset`` is the preset that gives all of these, or ``own``. If it is None, ``k`` is 10 for a
    search, and as many as fit for a prompt; ``budget`` is that of each call; ``temperature`` is 0,
    and 0.2 for chats. ``relations`` are written ``name(parameters) @ weight``, by kind of content.

    A tree is not deeper than ``tree_depth``: a deeper insert becomes a sibling. The paper gives no
    value; its deepest tree has 15 levels. Without a limit and without a model, summaries have the
    median length of the paper's.
    """

    preset: str = OWN
    fragment: Annotated[
        str, Setting("Maximum length of a fragment, such as '500 words'.", metavar="SIZE")
    ] = str(FragmentSize())
    mode: Annotated[Mode, Setting("Base score of a search: words and meaning, or one of them.")] = (
        "hybrid"
    )
    level: Annotated[Level, Setting("Find texts, summaries, or both.")] = "texts"
    method: Annotated[
        TreeMethod,
        Setting("Search the whole tree, or level by level below the best nodes."),
    ] = "collapsed"
    least: Annotated[float | None, Setting("Minimum cosine of found nodes.", -1, 1)] = None
    k: Annotated[
        int | None, Setting("Hits of a search (10 if not set); maximum in a prompt.", 1, MAX_K)
    ] = None
    order: Annotated[Order, Setting("Order of passages: as in the source, or best first.")] = (
        "reading"
    )
    budget: Annotated[
        str | None,
        Setting("Maximum size of passages or a prompt, such as '4000 words'.", metavar="SIZE"),
    ] = None
    relations: Annotated[
        Mapping[Kind, tuple[str, ...]],
        Setting(
            "Relations and weights by kind: 'chat: context(w=0.8) @ 0.5; text: none'.",
            metavar="SPEC",
        ),
    ] = field(default_factory=dict)
    prompt: Annotated[PromptName, Setting("The prompt of answers and chats.")] = "own"
    chat_unit: Annotated[
        ChatUnit,
        Setting("A text of a chat, in search and tree: a message, or one with its replies."),
    ] = "messages"
    policy: Annotated[PolicyName, Setting("What a chat shows besides the message.")] = "auto"
    whole_tokens: Annotated[
        int, Setting("Largest chat that is shown whole, in tokens.", 0, MOST_TOKENS)
    ] = 1_000
    whole_rounds: Annotated[
        int, Setting("Largest chat that is shown whole, in rounds.", 0, 1_000)
    ] = 10
    wording: Annotated[Wording, Setting("The prompts for memos and answers from them.")] = "plain"
    noto: Annotated[
        NotoPlace, Setting('Where "None of the others" is when a model chooses memos.')
    ] = "first"
    memo_lines: Annotated[
        int, Setting("Write memos when more lines than this have none.", 1, 1_000)
    ] = 10
    memo_tokens: Annotated[
        int, Setting("Write memos when the lines without one have more tokens.", 1, MOST_TOKENS)
    ] = 1_024
    temperature: Annotated[
        float | None, Setting("Temperature of answers, chats and memos.", 0, 2)
    ] = None
    agents: Annotated[
        AgentWrites, Setting("Whether texts of agents are added, or wait for approval.")
    ] = "add"
    tree_base: Annotated[float, Setting("Threshold at the root; lower is deeper.", -1, 1)] = 0.4
    tree_rate: Annotated[float, Setting("How the threshold rises with depth.", 0, 10)] = 0.5
    tree_depth: Annotated[int, Setting("Maximum levels of the tree.", 1, 1_000)] = 16
    tree_form: Annotated[
        TreeForm,
        Setting(
            "Formula of the threshold: printed is from the paper's main text; scaled (by "
            "tree_depth) and current (by the present depth) are from its appendix."
        ),
    ] = "scaled"
    tree_route: Annotated[
        TreeRoute, Setting("Compare texts with a summary's text, or with its leaves.")
    ] = "leaves"
    tree_receiver: Annotated[
        TreeReceiver, Setting("Whether the node that gets a leaf merges it into its text.")
    ] = "merged"
    tree_tokens: Annotated[
        int, Setting("Maximum tokens of a topmost summary; 0 for no limit.", 0, MOST_TOKENS)
    ] = SUMMARY_TOKENS
    tree_deeper_tokens: Annotated[
        int, Setting("Extra tokens for each deeper level.", 0, MOST_TOKENS)
    ] = 0
    tree_settle: Annotated[
        TreeSettling, Setting("Write summaries after all texts are inserted, or after each one.")
    ] = "later"
    tree_claims: Annotated[
        TreeClaims, Setting("Store a summary's supported sentences, or all of them.")
    ] = "supported"
    judge: Annotated[
        JudgeName, Setting("Decide by names, or by a model, if a round needs more code.")
    ] = "names"
    detector: Annotated[
        DetectorName, Setting("The rule that finds drafts of code that undo a round.")
    ] = "rules"
    context: Annotated[ContextName, Setting("The context memory of rounds, or part.")] = "selected"
    alike: Annotated[float, Setting("Minimum cosine of equal intents.", 0, 1)] = SAME_INTENT
    block_alpha: Annotated[
        float, Setting("The code relation's weight in the code that rounds see.", 0, 10)
    ] = 0.5
    documents: Annotated[int, Setting("Definitions that a round of code looks up.", 1, 100)] = 5
    aside: Annotated[
        bool, Setting("Whether code search counts tests, and files without code, half.")
    ] = True
    unit: Annotated[
        Unit,
        Setting(
            "How files of code are cut when first indexed: blocks, windows, or 'windows 30/15'.",
            metavar="UNIT",
        ),
    ] = "blocks"
    edges: Annotated[
        str,
        Setting(
            "Weights of the code graph when it is next indexed: 'syntax=0.5, folder=0.3, root=1, "
            "call=0.8'.",
            metavar="SPEC",
        ),
    ] = str(EdgeWeights())

    def __post_init__(self) -> None:
        for name in CHOICES:
            if (value := getattr(self, name)) is not None:
                check_setting(name, value)
        FragmentSize.parse(self.fragment)
        window_of(self.unit)
        parse_edges(self.edges)
        if self.budget is not None:
            FragmentSize.parse(self.budget, "the budget")

    @property
    def growth(self) -> tuple[object, ...]:
        """The settings that shape the tree: with others, it is rebuilt from the first text."""
        return self.chat_unit, *(getattr(self, name) for name in TREE)


class Choices(TypedDict, total=False):
    """The settings of a space. None leaves a setting as it is."""

    fragment: str | None
    mode: Mode | None
    level: Level | None
    method: TreeMethod | None
    least: float | None
    k: int | None
    order: Order | None
    budget: str | None
    relations: str | None
    prompt: PromptName | None
    chat_unit: ChatUnit | None
    policy: PolicyName | None
    whole_tokens: int | None
    whole_rounds: int | None
    wording: Wording | None
    noto: NotoPlace | None
    memo_lines: int | None
    memo_tokens: int | None
    temperature: float | None
    agents: AgentWrites | None
    tree_base: float | None
    tree_rate: float | None
    tree_depth: int | None
    tree_form: TreeForm | None
    tree_route: TreeRoute | None
    tree_receiver: TreeReceiver | None
    tree_tokens: int | None
    tree_deeper_tokens: int | None
    tree_settle: TreeSettling | None
    tree_claims: TreeClaims | None
    judge: JudgeName | None
    detector: DetectorName | None
    context: ContextName | None
    alike: float | None
    block_alpha: float | None
    documents: int | None
    aside: bool | None
    unit: Unit | None
    edges: str | None


CHOICES: Final = tuple(name for name in Choices.__annotations__ if name != "relations")
"""The settings that have one value each."""

TREE: Final = tuple(name for name in CHOICES if name.startswith("tree_"))
"""The settings that, once one of them is chosen, begin a tree."""


@cache
def settings_by_name() -> Mapping[str, tuple[Any, Setting]]:
    """The type of each setting that ``configure`` takes, without None, and its limits and help."""
    helps = get_type_hints(SpaceSettings, include_extras=True)
    found = {}
    for name, hint in get_type_hints(Choices).items():
        [kind] = [part for part in get_args(hint) if part is not NoneType]
        found[name] = kind, helps[name].__metadata__[0]
    return found


def check_setting(name: str, value: object) -> None:
    """Raise InputError unless ``value`` fits the type and limits of a setting."""
    kind, setting = settings_by_name()[name]
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
