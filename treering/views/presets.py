"""Presets: the settings given in a paper, all together and by name.

Settings that a paper does not give have our own default. docs/explanation/papers.md has a row for
each component, and the parts that no setting can give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from treering.errors import InputError, UnknownName
from treering.journal.contract import Reader
from treering.journal.ledger import CHOICES
from treering.records import KINDS, Kind
from treering.search.relations.contract import Weighted
from treering.search.relations.decay import ContextRelation
from treering.search.relations.registry import CONFIGURED, without_fitted
from treering.search.relations.semantic import Semantic
from treering.views import settings
from treering.views.choices import OWN, SpaceSettings

DEFAULT: Final = "default"


class Printed(NamedTuple):
    """A value and its place in the paper."""

    value: Any
    section: str


@dataclass(frozen=True, slots=True)
class Preset:
    """The settings of one experiment of a paper.

    ``kinds`` are the kinds of content it is for. ``relations`` are those of each kind, None for our
    own; ``choices`` are those of ``CHOICES``.
    """

    name: str
    kinds: tuple[Kind, ...] = KINDS
    choices: Mapping[str, Printed] = field(default_factory=dict)
    relations: Printed | None = None

    def as_settings(self) -> dict[str, Any]:
        """The settings of a space that has this preset and nothing else."""
        stored: dict[str, Any] = {}
        if self.relations is not None:
            related: Mapping[Kind, Sequence[Weighted]] = self.relations.value
            stored[CONFIGURED] = {kind: [*map(str, weighted)] for kind, weighted in related.items()}
        if self.choices:
            stored[CHOICES] = {name: given.value for name, given in self.choices.items()}
        return stored


_COSINE: Final = Printed("dense", "FragRel eq. 4: the cosine of query and fragment")
_STORY: Final[Mapping[str, Printed]] = {
    "mode": _COSINE,
    "fragment": Printed("500 words", "FragRel 4.1; 800, too"),
    "order": Printed("score", "FragRel eq. 11: the best first, as many as the window holds"),
    "budget": Printed("4000 words", "FragRel 4.1: from 1,000 to 28,000 words"),
    "prompt": Printed("fragrel", "FragRel prompt 1"),
    "temperature": Printed(1.0, "FragRel B.1: the temperature is 1.0"),
}
_COLLAPSED: Final[Mapping[str, Printed]] = {
    "mode": Printed("dense", "MemTree 3.2: cosine against every node"),
    "level": Printed("all", "MemTree 3.2: collapsed retrieval"),
    "order": Printed("score", "MemTree 3.2: sorted by similarity"),
    "prompt": Printed("memtree", "MemTree A.2.2"),
    "policy": Printed("nodes", "MemTree A.2.2: based solely on the retrieved content"),
    "tree_base": Printed(0.4, "MemTree A.1.3: the base threshold is 0.4"),
    "tree_rate": Printed(0.5, "MemTree A.1.3: the rate is 0.5"),
    "tree_route": Printed("content", "MemTree 3.1: compared by the embedding of a text"),
    "tree_tokens": Printed(0, "MemTree A.1.2: without a limit"),
    "tree_settle": Printed("each", "MemTree 3.1: written after each insert"),
    "tree_claims": Printed("all", "MemTree 3.1: the text as it was written"),
}
_LONG: Final[Mapping[str, Printed]] = {
    **_COLLAPSED,
    "k": Printed(10, "MemTree A.1.4: k = 10"),
    "budget": Printed("8192 tokens", "MemTree A.1.4: a context length of 8192 tokens"),
}
_UNRELATED: Final = Printed(dict.fromkeys(KINDS, ()), "MemTree 3.2: no node counts for another")

_ALL: Final = (
    Preset(DEFAULT),
    Preset(
        "fragrel-a-story",
        kinds=("text",),
        choices=_STORY,
        relations=Printed({"text": (Weighted(Semantic(), 0.5),)}, "FragRel eq. 6 and 4.1: α 0.5"),
    ),
    Preset(
        "fragrel-b-story",
        kinds=("text",),
        choices=_STORY,
        relations=Printed(
            {"text": (Weighted(ContextRelation(w=0.3), 0.5),)},
            "FragRel eq. 7 and 4.1: w_rel 0.3, α 0.5",
        ),
    ),
    Preset(
        "fragrel-chat",
        kinds=("chat",),
        choices={
            "mode": _COSINE,
            "k": Printed(8, "FragRel B.3: the top 8"),
            "chat_unit": Printed("rounds", "FragRel B.3: a fragment is a round"),
            "policy": Printed("fragments", "FragRel B.3: related fragments in order of time"),
            "budget": Printed("2000 tokens", "FragRel B.3: constrained to 2K tokens"),
            "whole_tokens": Printed(1_000, "FragRel B.3: once the record exceeds 1K tokens"),
            "whole_rounds": Printed(10, "FragRel B.3: or the rounds surpass 10"),
            "prompt": Printed("fragrel", "FragRel prompt 3"),
        },
        relations=Printed(
            {"chat": (Weighted(ContextRelation(w=0.8), 0.5),)}, "FragRel 4.3: w_rel 0.8, α 0.5"
        ),
    ),
    Preset(
        "fragrel-code",
        kinds=("code",),
        choices={
            "unit": Printed("windows", "FragRel B.2: 20 lines, 10 of them overlapping"),
            "aside": Printed(False, "FragRel eq. 10: every fragment counts alike"),
        },
    ),
    Preset(
        "memtree",
        kinds=("text",),
        choices={
            **_LONG,
            "fragment": Printed("1024 tokens", "MemTree A.2.1: MultiHop RAG"),
        },
        relations=_UNRELATED,
    ),
    Preset(
        "memtree-story",
        kinds=("text",),
        choices={
            **_LONG,
            "fragment": Printed("512 tokens", "MemTree A.2.1: QuALITY"),
        },
        relations=_UNRELATED,
    ),
    Preset(
        "memtree-chat",
        kinds=("chat",),
        choices={
            **_COLLAPSED,
            "k": Printed(3, "MemTree A.1.4: k = 3"),
            "budget": Printed("1000 tokens", "MemTree A.1.4: a context length of 1000 tokens"),
            "chat_unit": Printed("rounds", "MemTree A.2.1: each round, without any chunking"),
        },
        relations=_UNRELATED,
    ),
    Preset(
        "memochat",
        kinds=("chat",),
        choices={
            "policy": Printed("memo", "MemoChat 3.2: memorise, retrieve, respond"),
            "wording": Printed("printed", "MemoChat tables 6 and 8"),
            "noto": Printed("random", "MemoChat 3.2: randomly inserted"),
            "memo_lines": Printed(10, "MemoChat's repository: 10 lines"),
            "memo_tokens": Printed(1_024, "MemoChat's repository: half the window"),
            "temperature": Printed(0.2, "MemoChat table 2: Gen Temperature=0.2"),
        },
    ),
    Preset(
        "codemem",
        kinds=("code",),
        choices={
            "judge": Printed("llm", "CodeMEM eq. 3 and appendix E"),
            "detector": Printed("printed", "CodeMEM eq. 8 to 10"),
            "alike": Printed(0.95, "CodeMEM 4.2: the similarity threshold"),
            "block_alpha": Printed(0, "CodeMEM 4.2: BM25 for code context retrieval"),
            "documents": Printed(5, "CodeMEM 4.2: 5 documents"),
            "aside": Printed(False, "CodeMEM 4.2: BM25 alone"),
        },
    ),
)

PRESETS: Final[Mapping[str, Preset]] = {preset.name: preset for preset in _ALL}


def preset_of(name: str) -> Preset:
    """The preset of that name. Raises UnknownName."""
    if name not in PRESETS:
        raise UnknownName(f"no preset {name!r}; there are {', '.join(PRESETS)}", param="preset")
    return PRESETS[name]


def read(stored: Mapping[str, Any]) -> SpaceSettings:
    """The settings as they are stored with a space, with the preset that gives all of them.

    What ``fit`` found for the relations of a preset leaves its name.

    Raises InputError for what this version cannot read.
    """
    now = settings.read(stored)
    before = replace(settings.read(without_fitted(stored)), agents="add")
    same = (one.name for one in _ALL if settings.read(one.as_settings()) == before)
    return replace(now, preset=next(same, OWN))


def configure(
    stored: Mapping[str, Any], preset: str | None, given: Mapping[str, Any]
) -> dict[str, Any]:
    """The settings of a space after a preset, if one is named, and other values for ``CHOICES``.

    A preset leaves alone whether agents may add. Raises UnknownName, InputError.
    """
    start = stored if preset is None else preset_of(preset).as_settings()
    if preset is not None and (agents := settings.read(stored).agents) != "add":
        given = {"agents": agents} | dict(given)
    return settings.with_choices(start, given) if given else dict(start)


def check_fit(preset: str, reader: Reader, space: int) -> None:
    """Raise InputError if a space has content, and none that the preset is for."""
    kinds = preset_of(preset).kinds
    rows = reader.rows(
        "SELECT DISTINCT kind FROM entry WHERE space = ?"
        " UNION SELECT 'code' FROM code_repository WHERE space = ?",
        (space, space),
    )
    there = {str(row[0]) for row in rows}
    if there and there.isdisjoint(kinds):
        raise InputError(
            f"the preset {preset!r} is for {' and '.join(kinds)}, and this space holds "
            f"{' and '.join(sorted(there))}; choose another, or use a space of its own"
        )
