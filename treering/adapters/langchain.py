"""A memory as a LangChain retriever."""

from __future__ import annotations

from typing import Any, cast

from treering.adapters import hit_metadata
from treering.errors import MissingExtra
from treering.ingest.where import Where
from treering.memory import Memory

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import Field
except ModuleNotFoundError as missing:
    raise MissingExtra.of(missing.name or "langchain-core", "langchain") from missing


class TreeringRetriever(BaseRetriever):
    """The k fragments that answer a query best, relations included, as documents.

    ``where`` are filters as ``Memory.search`` takes them; ``invoke`` takes another ``k``. A
    document's metadata has its origin, and in ``why`` the terms that its score is the sum of.
    """

    memory: Memory
    k: int = 10
    where: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        del run_manager  # a search reports no steps
        where = cast(Where, self.where)  # pydantic cannot check it, Memory does
        hits = self.memory.search(query, k=self.k if k is None else k, **where)
        return [Document(page_content=hit.text, metadata=hit_metadata(hit)) for hit in hits]
