from __future__ import annotations

import pytest

from treering import Memory

pytest.importorskip("langchain_core", reason="langchain-core is not installed")

from langchain_core.runnables import RunnableLambda

from treering.adapters.langchain import TreeringRetriever


def test_a_chain_retrieves_documents_that_say_where_they_are_from_and_why(memory: Memory) -> None:
    memory.add("Miu the cat sleeps upstairs.", source="home", metadata={"room": "attic"})
    memory.add("The harbour freezes in January.", source="town")
    chain = TreeringRetriever(memory=memory, k=1) | RunnableLambda(lambda found: found[0])
    document = chain.invoke("where does the cat sleep")
    [hit] = memory.search("where does the cat sleep", k=1)
    assert document.page_content == "Miu the cat sleeps upstairs."
    assert document.metadata["source"] == "home"
    assert document.metadata["room"] == "attic"
    assert document.metadata["entry_id"] == hit.entry_id
    assert sum(document.metadata["why"].values()) == pytest.approx(document.metadata["score"])


def test_a_single_text_has_no_score_instead_of_a_zero(memory: Memory) -> None:
    memory.add("Miu the cat sleeps upstairs.")
    [alone] = TreeringRetriever(memory=memory).invoke("where does the cat sleep")
    assert alone.metadata["score"] is None


def test_invoke_takes_another_number_of_documents(memory: Memory) -> None:
    for number in range(4):
        memory.add(
            f"A cat sleeps in room {number} of the house by the harbour.", source=str(number)
        )
    retriever = TreeringRetriever(memory=memory, k=3)
    assert len(retriever.invoke("cat sleeps")) > len(retriever.invoke("cat sleeps", k=1)) == 1
