"""The OpenAPI document, whose names are a promise to generated clients.

A body has the name of its operation, ``…Request``. An answer has the name of its class, unless that
says too little to a reader of the document alone, or two classes share it.
"""

from __future__ import annotations

import json
import re
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
from treering.views.code.memory import About
from treering.views.code.rounds.session import CodeDelta
from treering.views.code.write.context_memory import Judgement
from treering.views.memos.record import Choice, Claim, MemoEvidence, Span
from treering.views.tree.settings import Settings as TreeSettings

NAMES: Final[Mapping[type, str]] = {
    About: "CodeBackground",
    ChatEvidence: "ChatEvidence",
    Choice: "MemoChoice",
    Claim: "MemoClaim",
    CodeDelta: "CodeChange",
    Forgotten: "ForgetReceipt",
    Judgement: "ContextJudgement",
    Materials: "PromptMaterials",
    MemoEvidence: "MemoEvidence",
    Message: "PromptMessage",
    Neighbour: "CodeNeighbour",
    Neighbourhood: "CodeNeighbourhood",
    Newer: "NewerStatement",
    Reversal: "UndoneFix",
    Skipped: "SkippedFile",
    Span: "MemoSpan",
    SourceLine: "CodeLine",
    Spent: "ModelCost",
    TreeSettings: "TreeSettings",
    Usage: "ModelUsage",
}
"""The names of classes in the document, where they differ from their own."""

_REFERENCE: Final = "#/components/schemas/"

_NONE: Final = re.compile(r"\bNone\b(?! of)")  # in the documentation of methods and records
_ANY_JSON: Final = re.compile(rf'{{"\$ref": "{_REFERENCE}JSON-\w+"}}')
"""References to the recursive type of JSON, which generators of clients cannot read."""


class DescribedAPI(FastAPI):
    """An application whose OpenAPI document has chosen names, problems and keys."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        if self.openapi_schema is None:
            document = _rename(super().openapi())
            parts = document.setdefault("components", {})
            parts.setdefault("schemas", {})["Problem"] = problems.SCHEMA
            parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{"key": []}, {}]  # without keys on the loopback interface
            self.openapi_schema = document
        return self.openapi_schema


def _rename(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document in terms of JSON, with the names of ``NAMES``."""
    schemas = document["components"]["schemas"]
    new_names = {_generated_name(kind, schemas): name for kind, name in NAMES.items()}
    document["components"]["schemas"] = {
        new_names.get(old, old): schema | ({"title": new_names[old]} if old in new_names else {})
        for old, schema in sorted(schemas.items())
        if not old.startswith("JSON-")
    }
    text = _NONE.sub("null", _ANY_JSON.sub("{}", json.dumps(document)))
    for old, new in new_names.items():
        text = text.replace(f'"{_REFERENCE}{old}"', f'"{_REFERENCE}{new}"')
    renamed: dict[str, Any] = json.loads(text)
    return renamed


def _generated_name(kind: type, schemas: Mapping[str, Any]) -> str:
    """Return FastAPI's name of a class: with its module if two classes share a name."""
    qualified = f"{kind.__module__}.{kind.__qualname__}".replace(".", "__")
    return qualified if qualified in schemas else kind.__name__
