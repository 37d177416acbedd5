"""The OpenAPI document: its names are a promise to generated clients, and are chosen here.

A body is called after its operation, ``…Request``. What is answered is called as its class, unless
that name says too little to somebody who sees the document alone, or two classes share it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI

from treering.chat.policy import Evidence as ChatEvidence
from treering.chat.policy import Materials
from treering.llm.contract import Message, Usage
from treering.records import Forgotten, Newer, Skipped, Spent
from treering.serve import problems
from treering.views.code.guard.report import Reversal, SourceLine
from treering.views.code.index.map import Neighbour, Neighbourhood
from treering.views.code.index.names import About
from treering.views.code.parse.statements import CodeDelta
from treering.views.code.write.context_memory import Judgement
from treering.views.facts.view import Change as FactChange
from treering.views.memos.record import Choice, Claim, MemoEvidence, Span
from treering.views.tree.levels import Level, Shape
from treering.views.tree.settings import Settings as TreeSettings
from treering.views.tree.settings import Threshold

NAMES: Final[Mapping[type, str]] = {
    About: "CodeBackground",
    ChatEvidence: "ChatEvidence",
    Choice: "MemoChoice",
    Claim: "MemoClaim",
    CodeDelta: "CodeChange",
    FactChange: "FactChange",
    Forgotten: "ForgetReceipt",
    Judgement: "ContextJudgement",
    Level: "TreeLevel",
    Materials: "PromptMaterials",
    MemoEvidence: "MemoEvidence",
    Message: "PromptMessage",
    Neighbour: "CodeNeighbour",
    Neighbourhood: "CodeNeighbourhood",
    Newer: "NewerStatement",
    Reversal: "UndoneFix",
    Shape: "TreeShape",
    Skipped: "SkippedFile",
    Span: "MemoSpan",
    SourceLine: "CodeLine",
    Spent: "ModelCost",
    Threshold: "TreeThreshold",
    TreeSettings: "TreeSettings",
    Usage: "ModelUsage",
}
"""What classes are called in the document, where that is not their own name."""

_REFERENCE: Final = "#/components/schemas/"


class DescribedAPI(FastAPI):
    """An application whose description has chosen names and knows problems and keys."""

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document."""
        if self.openapi_schema is None:
            document = _renamed(super().openapi())
            parts = document.setdefault("components", {})
            parts.setdefault("schemas", {})["Problem"] = problems.SCHEMA
            parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{"key": []}, {}]  # without keys on the loopback interface
            self.openapi_schema = document
        return self.openapi_schema


def _renamed(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the names of ``NAMES``."""
    schemas = document["components"]["schemas"]
    new_names = {_generated(kind, schemas): name for kind, name in NAMES.items()}
    references = {_REFERENCE + old: _REFERENCE + new for old, new in new_names.items()}
    document["components"]["schemas"] = {
        new_names.get(old, old): schema | ({"title": new_names[old]} if old in new_names else {})
        for old, schema in sorted(schemas.items())
    }
    replaced: dict[str, Any] = _with_references(document, references)
    return replaced


def _generated(kind: type, schemas: Mapping[str, Any]) -> str:
    """The name that FastAPI gives a class: with its module if two classes share a name."""
    qualified = f"{kind.__module__}.{kind.__qualname__}".replace(".", "__")
    return qualified if qualified in schemas else kind.__name__


def _with_references(part: Any, references: Mapping[str, str]) -> Any:
    if isinstance(part, dict):
        return {
            key: references.get(value, value)
            if key == "$ref"
            else _with_references(value, references)
            for key, value in part.items()
        }
    if isinstance(part, list):
        return [_with_references(item, references) for item in part]
    return part
