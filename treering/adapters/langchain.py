"""A memory as a LangChain retriever."""

from __future__ import annotations

from typing import Any, cast

from treering.errors import MissingExtra
from treering.ingest.where import Where
from treering.memory import Memory
from treering.records import Hit

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import Field
except ModuleNotFoundError as missing:
    raise MissingExtra.of(missing.name or "langchain-core", "langchain") from missing


class TreeringRetriever(BaseRetriever):
    """The k fragments that answer a query best, relations included, as documents.

    ``where`` are filters as ``Memory.search`` takes them. A document's metadata tells where it is
    from, and in ``why`` the terms that its score is the sum of.
    """

    memory: Memory
    k: int = 10
    where: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        del run_manager  # a search has no steps to report
        where = cast(Where, self.where)  # pydantic cannot check it, Memory does
        return [_document(hit) for hit in self.memory.search(query, k=self.k, **where)]


def _document(hit: Hit) -> Document:
    own = {
        "source": hit.source,
        "entry_id": hit.entry_id,
        "start": hit.start,
        "end": hit.end,
        "at": hit.at.isoformat() if hit.at else None,
        "speaker": hit.speaker,
        "score": hit.score if hit.why.is_scored else None,
        "why": dict(hit.why.terms),
    }
    return Document(page_content=hit.text, metadata={**hit.metadata, **own})
