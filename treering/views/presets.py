"""Presets: the settings that a paper prints, all at once and by name.

A preset sets everything: what its paper does not speak of has our own default. Beside each value
stands the section of the paper that prints it. docs/explanation/papers.md has a row for each
component, and what no setting can give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final

from treering.errors import InputError, UnknownName
from treering.journal.contract import Reader
from treering.journal.ledger import CHOICES
from treering.records import KINDS, Kind
from treering.search.relations.decay import ContextRelation
from treering.search.relations.plan import Weighted
from treering.search.relations.registry import CONFIGURED, as_json, without_fitted
from treering.search.relations.semantic import Semantic
from treering.views import settings
from treering.views.settings import OWN, SpaceSettings
from treering.views.tree.settings import Settings as TreeSettings
from treering.views.tree.settings import with_tree_settings

DEFAULT: Final = "default"


@dataclass(frozen=True, slots=True)
class PrintedValue:
    """A value and where it is printed."""

    value: Any
    section: str


@dataclass(frozen=True, slots=True)
class Preset:
    """The settings of one experiment of a paper.

    ``kinds`` are the kinds of content it is for. ``relations`` are those of each kind, None for our
    own; ``choices`` are ``settings.CHOICES`` by name.
    """

    name: str
    about: str
    kinds: tuple[Kind, ...] = KINDS
    choices: Mapping[str, PrintedValue] = field(default_factory=dict)
    relations: PrintedValue | None = None
    tree: PrintedValue | None = None

    def as_settings(self) -> dict[str, Any]:
        """The settings of a space that has this preset and nothing else."""
        stored: dict[str, Any] = {}
        if self.relations is not None:
            related: Mapping[Kind, Sequence[Weighted]] = self.relations.value
            stored[CONFIGURED] = {kind: as_json(weighted) for kind, weighted in related.items()}
        if self.tree is not None:
            stored = with_tree_settings(stored, self.tree.value)
        if self.choices:
            stored[CHOICES] = {name: given.value for name, given in self.choices.items()}
        return stored


_COSINE: Final = PrintedValue("dense", "FragRel eq. 4: the cosine of query and fragment")
_STORY: Final[Mapping[str, PrintedValue]] = {
    "mode": _COSINE,
    "fragment": PrintedValue("500 words", "FragRel 4.1; 800, too"),
    "order": PrintedValue("score", "FragRel eq. 11: the best first, as many as the window holds"),
    "budget": PrintedValue("4000 words", "FragRel 4.1: from 1,000 to 28,000 words"),
    "prompt": PrintedValue("fragrel", "FragRel prompt 1"),
    "temperature": PrintedValue(1.0, "FragRel B.1: the temperature is 1.0"),
}
_MEMTREE_TREE: Final = PrintedValue(
    TreeSettings(
        base=0.4,
        rate=0.5,
        route="content",
        summary_tokens=0,
        settle="each",
        claims="all",
    ),
    "MemTree 3.1, A.1.2 and A.1.3: compared by the embedding of a text as it was written, and "
    "without a limit; written after each insert",
)
_MEMTREE_CHAT: Final = PrintedValue(
    replace(_MEMTREE_TREE.value, chat_unit="rounds"),
    "MemTree A.2.1: each round individually, without any chunking; the rest as for documents",
)
_COLLAPSED: Final[Mapping[str, PrintedValue]] = {
    "mode": PrintedValue("dense", "MemTree 3.2: cosine against every node"),
    "level": PrintedValue("all", "MemTree 3.2: collapsed retrieval"),
    "order": PrintedValue("score", "MemTree 3.2: sorted by similarity"),
    "prompt": PrintedValue("memtree", "MemTree A.2.2"),
    "policy": PrintedValue("nodes", "MemTree A.2.2: based solely on the retrieved content"),
}
_LONG: Final[Mapping[str, PrintedValue]] = {
    **_COLLAPSED,
    "k": PrintedValue(10, "MemTree A.1.4: k = 10"),
    "budget": PrintedValue("8192 tokens", "MemTree A.1.4: a context length of 8192 tokens"),
}
_UNRELATED: Final = PrintedValue(
    dict.fromkeys(KINDS, ()), "MemTree 3.2: no node counts for another"
)

_ALL: Final = (
    Preset(DEFAULT, "Our own settings, chosen by measurement."),
    Preset(
        "fragrel-a-story",
        "FragRel on stories with the semantic relation (A-FragRel).",
        kinds=("text",),
        choices=_STORY,
        relations=PrintedValue(
            {"text": (Weighted(Semantic(), 0.5),)}, "FragRel eq. 6 and 4.1: α 0.5"
        ),
    ),
    Preset(
        "fragrel-b-story",
        "FragRel on stories with the context relation (B-FragRel).",
        kinds=("text",),
        choices=_STORY,
        relations=PrintedValue(
            {"text": (Weighted(ContextRelation(w=0.3), 0.5),)},
            "FragRel eq. 7 and 4.1: w_rel 0.3, α 0.5",
        ),
    ),
    Preset(
        "fragrel-chat",
        "FragRel in long conversations, with the context relation.",
        kinds=("chat",),
        choices={
            "mode": _COSINE,
            "k": PrintedValue(8, "FragRel B.3: the top 8"),
            "chat_unit": PrintedValue("rounds", "FragRel B.3: a fragment is a round"),
            "policy": PrintedValue("fragments", "FragRel B.3: related fragments in order of time"),
            "budget": PrintedValue("2000 tokens", "FragRel B.3: constrained to 2K tokens"),
            "whole_tokens": PrintedValue(1_000, "FragRel B.3: once the record exceeds 1K tokens"),
            "whole_rounds": PrintedValue(10, "FragRel B.3: or the rounds surpass 10"),
            "prompt": PrintedValue("fragrel", "FragRel prompt 3"),
        },
        relations=PrintedValue(
            {"chat": (Weighted(ContextRelation(w=0.8), 0.5),)}, "FragRel 4.3: w_rel 0.8, α 0.5"
        ),
    ),
    Preset(
        "fragrel-code",
        "FragRel on code: windows of lines, BM25, the graph of the repository.",
        kinds=("code",),
        choices={
            "unit": PrintedValue("windows", "FragRel B.2: 20 lines, 10 of them overlapping"),
            "aside": PrintedValue(False, "FragRel eq. 10: every fragment counts alike"),
        },
    ),
    Preset(
        "memtree",
        "MemTree on long documents (MultiHop-RAG).",
        kinds=("text",),
        choices={
            **_LONG,
            "fragment": PrintedValue("1024 tokens", "MemTree A.2.1: MultiHop RAG"),
        },
        relations=_UNRELATED,
        tree=_MEMTREE_TREE,
    ),
    Preset(
        "memtree-story",
        "MemTree on a single document (QuALITY).",
        kinds=("text",),
        choices={
            **_LONG,
            "fragment": PrintedValue("512 tokens", "MemTree A.2.1: QuALITY"),
        },
        relations=_UNRELATED,
        tree=_MEMTREE_TREE,
    ),
    Preset(
        "memtree-chat",
        "MemTree on a conversation of 15 rounds (MSC).",
        kinds=("chat",),
        choices={
            **_COLLAPSED,
            "k": PrintedValue(3, "MemTree A.1.4: k = 3"),
            "budget": PrintedValue("1000 tokens", "MemTree A.1.4: a context length of 1000 tokens"),
            "chat_unit": PrintedValue("rounds", "MemTree A.2.1: each round individually"),
        },
        relations=_UNRELATED,
        tree=_MEMTREE_CHAT,
    ),
    Preset(
        "memochat",
        "MemoChat: memos written, chosen and answered from by its own prompts.",
        kinds=("chat",),
        choices={
            "policy": PrintedValue("memo", "MemoChat 3.2: memorise, retrieve, respond"),
            "wording": PrintedValue("printed", "MemoChat tables 6 and 8"),
            "noto": PrintedValue("random", "MemoChat 3.2: randomly inserted"),
            "memo_lines": PrintedValue(10, "MemoChat's repository: 10 lines"),
            "memo_tokens": PrintedValue(1_024, "MemoChat's repository: half the window"),
            "temperature": PrintedValue(0.2, "MemoChat table 2: Gen Temperature=0.2"),
        },
    ),
    Preset(
        "codemem",
        "CodeMEM: code written in rounds, with its judge and its detector.",
        kinds=("code",),
        choices={
            "judge": PrintedValue("llm", "CodeMEM eq. 3 and appendix E"),
            "detector": PrintedValue("printed", "CodeMEM eq. 8 to 10"),
            "alike": PrintedValue(0.95, "CodeMEM 4.2: the similarity threshold"),
            "block_alpha": PrintedValue(0, "CodeMEM 4.2: BM25 for code context retrieval"),
            "documents": PrintedValue(5, "CodeMEM 4.2: 5 documents"),
            "aside": PrintedValue(False, "CodeMEM 4.2: BM25 alone"),
        },
    ),
)

PRESETS: Final[Mapping[str, Preset]] = {preset.name: preset for preset in _ALL}


def preset_of(name: str) -> Preset:
    """The preset of that name. Raises UnknownName."""
    if name not in PRESETS:
        raise UnknownName(f"no preset {name!r}; there are {', '.join(PRESETS)}", param="preset")
    return PRESETS[name]


@cache
def _settings_of(name: str) -> SpaceSettings:
    return settings.read(PRESETS[name].as_settings())


def read(stored: Mapping[str, Any]) -> SpaceSettings:
    """The settings as they are stored with a space, with the preset that gives all of them.

    What ``fit`` found for the relations of a preset leaves its name.

    Raises InputError for what this version cannot read.
    """
    now = settings.read(stored)
    before = settings.read(without_fitted(stored))
    same = (name for name in PRESETS if _settings_of(name) == before)
    return replace(now, preset=next(same, OWN))


def configure(
    stored: Mapping[str, Any], preset: str | None, given: Mapping[str, Any]
) -> dict[str, Any]:
    """The settings of a space after a preset, if one is named, and other values for ``CHOICES``.

    Raises UnknownName, InputError.
    """
    start = stored if preset is None else preset_of(preset).as_settings()
    return settings.with_choices(start, given) if given else dict(start)


def check_fit(preset: str, reader: Reader, space: int) -> None:
    """Raises InputError if a space has content, and none that the preset is for."""
    kinds = preset_of(preset).kinds
    there = {str(row[0]) for row in reader.rows(_KINDS_THERE, (space,))}
    if reader.row("SELECT 1 FROM code_repository WHERE space = ? LIMIT 1", (space,)):
        there.add("code")
    if there and there.isdisjoint(kinds):
        raise InputError(
            f"the preset {preset!r} is for {' and '.join(kinds)}, and this space holds "
            f"{' and '.join(sorted(there))}; choose another, or keep what it is for in a space of "
            "its own"
        )


_KINDS_THERE: Final = "SELECT DISTINCT kind FROM entry WHERE space = ?"
