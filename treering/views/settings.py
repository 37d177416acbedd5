"""The settings of a space: the defaults of its calls, kept with the space.

A preset (``treering.views.presets``) sets all of them as a paper prints it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

from treering.errors import InputError
from treering.journal import ledger
from treering.journal.space import Space
from treering.records import KINDS, ChatUnit, Kind, Level, Mode, Order
from treering.search.context import Budget, Layout
from treering.search.relations.registry import ALPHA, as_texts, load_plan, with_relations
from treering.split import FragmentSize
from treering.views.choices import (
    AgentWrites,
    Choices,
    ContextName,
    DetectorName,
    EdgeWeights,
    JudgeName,
    NotoPlace,
    PolicyName,
    PromptName,
    TreeMethod,
    Unit,
    Wording,
    check_setting,
    parse_edges,
    window_of,
)
from treering.views.code.rounds.session import SAME_INTENT
from treering.views.tree.settings import Settings as TreeSettings
from treering.views.tree.settings import load_tree_settings

OWN: Final = "own"


@dataclass(frozen=True, slots=True)
class SpaceSettings:
    """How a space is searched, talked with and written; ``Choices`` says what each setting does.

    ``preset`` is the preset that gives all of these, or ``own``. If it is None, ``k`` is 10 for a
    search, and as many as fit for a prompt; ``budget`` is that of each call; ``temperature`` is 0,
    and 0.2 for chats. ``relations`` are written ``name(parameters) @ weight``, by kind of content.
    ``tree`` is how the tree grows.
    """

    preset: str = OWN
    fragment: str = str(FragmentSize())
    mode: Mode = "hybrid"
    level: Level = "texts"
    method: TreeMethod = "collapsed"
    least: float | None = None
    k: int | None = None
    order: Order = "reading"
    agents: AgentWrites = "add"
    budget: str | None = None
    prompt: PromptName = "own"
    chat_unit: ChatUnit = "messages"
    policy: PolicyName = "auto"
    whole_tokens: int = 1_000
    whole_rounds: int = 10
    temperature: float | None = None
    wording: Wording = "plain"
    noto: NotoPlace = "first"
    memo_lines: int = 10
    memo_tokens: int = 1_024
    judge: JudgeName = "names"
    detector: DetectorName = "rules"
    context: ContextName = "selected"
    alike: float = SAME_INTENT
    block_alpha: float = ALPHA
    documents: int = 5
    aside: bool = True
    unit: Unit = "blocks"
    edges: str = str(EdgeWeights())
    relations: Mapping[Kind, tuple[str, ...]] = field(default_factory=dict)
    tree: TreeSettings = field(default_factory=TreeSettings)

    def __post_init__(self) -> None:
        for name in CHOICES:
            if (value := getattr(self, name)) is not None:
                check_setting(name, value)
        FragmentSize.parse(self.fragment)
        window_of(self.unit)
        parse_edges(self.edges)
        if self.budget is not None:
            Budget.parse(self.budget)

    def layout(self, cites: bool = True) -> Layout:
        """Return the form of a context, with citations or without."""
        return Layout(self.k, self.order, cites)


CHOICES: Final = tuple(name for name in Choices.__annotations__ if name != "relations")
"""The settings that have one value each."""


def choices_of(stored: Mapping[str, Any]) -> SpaceSettings:
    """Parse those of ``CHOICES`` among the settings stored with a space. Raises InputError."""
    choices = stored.get(ledger.CHOICES, {})
    if not isinstance(choices, dict) or not choices.keys() <= set(CHOICES):
        raise InputError(
            f"the settings {choices!r} are not this version's, which has {', '.join(CHOICES)}"
        )
    return _check_once(tuple(sorted(choices.items())))


@lru_cache(maxsize=64)
def _check_once(choices: tuple[tuple[str, Any], ...]) -> SpaceSettings:
    return SpaceSettings(**dict(choices))  # checked when they were stored; searches need a few


def read(stored: Mapping[str, Any]) -> SpaceSettings:
    """The settings stored with a space; ``preset`` is not looked for. Raises InputError."""
    plan = load_plan(stored)
    return replace(
        choices_of(stored),
        relations={kind: tuple(as_texts(plan[kind])) for kind in KINDS},
        tree=load_tree_settings(stored),
    )


def with_choices(stored: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a space with other values for some of ``CHOICES``. Raises InputError."""
    choices = {**stored.get(ledger.CHOICES, {}), **given}
    changed = {**stored, ledger.CHOICES: choices}
    if (relations := choices.pop("relations", None)) is not None:
        check_setting("relations", relations)
        changed = with_relations(changed, relations)
    read(changed)
    return changed


def settings_of(space: Space) -> SpaceSettings:
    """The defaults of the calls in a space: see ``choices_of``."""
    with space.read() as reader:
        return choices_of(ledger.settings(reader))
