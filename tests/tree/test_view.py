from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.conftest import Open
from tests.raised import raises
from tests.tree.talking import SENTENCES, WordEmbedder, echo
from treering.errors import (
    InputError,
    LLMNotConfigured,
    LLMUnavailable,
    UnknownName,
    UnknownNode,
    ViewError,
)
from treering.llm.scripted import FakeLLM, Line, Request
from treering.memory import Memory
from treering.views.tree.node import TreeNode

WAIT_S = 20.0


pytestmark = pytest.mark.usefixtures("no_llm")


@pytest.fixture(autouse=True)
def no_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the model to the tree: the facts view would ask it about the same entries."""
    for module in ("extract", "view"):
        monkeypatch.setattr(f"treering.views.facts.{module}.states_facts", lambda _: False)


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    with Memory.open(path, embedder=WordEmbedder()) as opened:
        yield opened


def fill(memory: Memory, sentences: tuple[str, ...] = SENTENCES) -> None:
    for number, sentence in enumerate(sentences):
        memory.add(sentence, source=f"note {number}")


def summaries(memory: Memory) -> list[TreeNode]:
    return [node for node in memory.tree.nodes() if not node.leaf]


def test_a_text_is_a_leaf_at_once_and_its_summaries_are_pending(memory: Memory) -> None:
    fill(memory)
    leaves = [node for node in memory.tree.nodes() if node.leaf]
    assert {leaf.text for leaf in leaves} == set(SENTENCES)
    assert all(leaf.source and leaf.entry_id for leaf in leaves)
    waiting = summaries(memory)
    assert waiting
    assert all(node.pending and node.made_by is None for node in waiting)
    assert memory.stats().pending == {"tree": len(waiting)}


def test_without_a_model_settle_extracts_sentences_and_marks_them_so(memory: Memory) -> None:
    fill(memory)
    memory.tree.settle()
    assert memory.settle().pending == {}
    for node in summaries(memory):
        assert node.made_by == "extractive"
        assert not node.pending
        below = {word for leaf in memory.tree.leaves(node.number) for word in leaf.text.split()}
        assert set(node.text.split()) <= below
    assert memory.tree.stats().made_by == {"extractive": len(summaries(memory))}


def test_a_traversal_finds_a_repeated_text_by_the_source_of_its_repetition(memory: Memory) -> None:
    memory.tree.roots()
    for source in ("a", "b"):
        memory.add("The boat waits in the harbour.", source=source)
    memory.settle()
    memory.configure(method="traversal")
    [hit] = memory.search("The boat waits in the harbour.", level="all", source="b")
    assert hit.source == "b"


def test_a_traversal_finds_texts_that_are_not_in_the_tree_yet(memory: Memory) -> None:
    memory.configure("memtree", method="traversal")
    for sentence in (SENTENCES[0], "A quokka sleeps."):
        memory.add(sentence)
        assert memory.search(sentence)[0].text == sentence
        assert sentence in memory.context(sentence).text
        memory.settle()


def test_an_exact_repetition_raises_a_counter(memory: Memory) -> None:
    fill(memory)
    before = len(memory.tree.nodes())
    memory.add(SENTENCES[0], source="again")
    (leaf,) = [node for node in memory.tree.nodes() if node.text == SENTENCES[0]]
    assert leaf.repeats == 1
    assert len(memory.tree.nodes()) == before


def test_two_who_write_in_turn_grow_one_tree(path: Path, memory: Memory, tmp_path: Path) -> None:
    with Memory.open(path, embedder=WordEmbedder()) as second:
        for number, sentence in enumerate(SENTENCES):
            (memory, second)[number % 2].add(sentence, source=f"note {number}")
        assert second.tree.draw() == memory.tree.draw()
    with Memory.open(tmp_path / "alone.db", embedder=WordEmbedder()) as alone:
        fill(alone)
        assert alone.tree.draw() == memory.tree.draw()


def test_a_model_is_asked_once_a_summary_however_many_inserts_touched_it(path: Path) -> None:
    llm = FakeLLM(echo)
    with Memory.open(path, embedder=WordEmbedder(), llm=llm) as memory:
        fill(memory)
        memory.tree.settle()
        made = summaries(memory)
        assert len(llm.requests) == len(made)
        assert all(node.made_by == "scripted" for node in made)
        memory.add("Ana sells her boat at the harbour", source="new")
        touched = [node for node in summaries(memory) if node.pending]
        memory.tree.settle()
        assert len(llm.requests) == len(made) + len(touched)


def test_at_least_six_calls_run_at_once_and_an_add_does_not_wait_for_them(path: Path) -> None:
    together = threading.Barrier(6 + 1)
    go_on = threading.Event()
    held = threading.Semaphore(6)

    def hold(request: Request) -> None:
        if held.acquire(blocking=False):
            together.wait(WAIT_S)
        assert go_on.wait(WAIT_S)

    llm = FakeLLM(echo, before_reply=hold)
    with Memory.open(path, embedder=WordEmbedder(), llm=llm) as memory:
        for topic in range(6):
            for half in ("first", "second"):
                memory.add(f"topic{topic} word{topic} thing{topic} {half}", source="notes")
        settling = threading.Thread(target=memory.tree.settle)
        settling.start()
        together.wait(WAIT_S)
        memory.add("topic0 word0 thing0 third", source="notes")
        go_on.set()
        settling.join(WAIT_S)
        assert not settling.is_alive()
        memory.tree._grower.grow()
        assert memory.stats().pending.get("tree")  # what arrived meanwhile is not forgotten
        memory.tree.settle()
        assert any("third" in node.text for node in summaries(memory))


def test_forgetting_makes_exactly_the_ancestors_anew_and_nothing_erased_is_left(
    path: Path,
) -> None:
    llm = FakeLLM(echo)
    with Memory.open(path, embedder=WordEmbedder(), llm=llm) as memory:
        fill(memory)
        memory.tree.settle()
        entry = next(one for one in memory.entries() if "anchor" in one.text)
        (leaf,) = memory.tree.find(entry.id)
        above = {node.number for node in memory.tree.path(leaf.number)}
        before = {node.number: node.text for node in summaries(memory)}
        assert any("anchor" in before[number] for number in above)
        receipt = memory.forget(entry.id)
        assert receipt.views["summaries"] == len(above)
        assert receipt.scrubbed
        assert b"anchor" not in path.read_bytes()
        memory.tree.settle()
        after = {node.number: node.text for node in summaries(memory)}
        assert not any("anchor" in text for text in after.values())
        assert set(before) - set(after) <= above
        assert {n for n in after if before[n] != after[n]} <= above
    assert b"anchor" not in path.read_bytes()


@contextmanager
def settling_while_asked_about(
    memory: Callable[[FakeLLM], Memory], word: str, answer: Callable[[Request], Line] = echo
) -> Iterator[Memory]:
    """A full memory whose settlement waits in every call that shows the model a word."""
    asked, go_on = threading.Event(), threading.Event()

    def hold(request: Request) -> None:
        if word in request.text:
            asked.set()
            assert go_on.wait(WAIT_S)

    def settle() -> None:
        with suppress(LLMUnavailable):
            opened.tree.settle()

    with memory(FakeLLM(answer, before_reply=hold)) as opened:
        fill(opened)
        settling = threading.Thread(target=settle)
        settling.start()
        assert asked.wait(WAIT_S)
        try:
            yield opened
        finally:
            go_on.set()
            settling.join(WAIT_S)
        assert not settling.is_alive()


@pytest.fixture
def opening(path: Path) -> Callable[[FakeLLM], Memory]:
    return lambda llm: Memory.open(path, embedder=WordEmbedder(), llm=llm)


def test_what_is_forgotten_while_a_summary_is_written_does_not_get_into_it(
    path: Path, opening: Callable[[FakeLLM], Memory]
) -> None:
    with settling_while_asked_about(opening, "anchor") as memory:
        receipt = memory.forget(source="note 11")
        assert receipt.scrubbed
        assert receipt.views["summaries"] > 0
    assert b"anchor" not in path.read_bytes()
    with opening(FakeLLM(echo)) as memory:
        assert not any("anchor" in node.text for node in memory.tree.nodes())
        assert memory.settle().pending == {}
        assert not any("anchor" in node.text for node in memory.tree.nodes())
        assert all(node.text for node in summaries(memory))
    assert b"anchor" not in path.read_bytes()


def test_why_a_call_failed_is_not_noted_if_what_it_was_about_is_forgotten_meanwhile(
    path: Path, opening: Callable[[FakeLLM], Memory]
) -> None:
    def quoting(request: Request) -> Line:
        return LLMUnavailable(f"cannot summarise {request.text[-200:]}")

    with settling_while_asked_about(opening, "anchor", quoting) as memory:
        assert memory.forget(source="note 11").scrubbed
    assert b"anchor" not in path.read_bytes()


def test_an_upgrade_lets_the_model_rewrite_what_was_extracted(path: Path, memory: Memory) -> None:
    fill(memory)
    memory.tree.settle()
    with pytest.raises(LLMNotConfigured):
        memory.settle(upgrade=True)
    with Memory.open(path, embedder=WordEmbedder(), llm=FakeLLM(echo)) as better:
        better.tree.settle()
        assert {node.made_by for node in summaries(better)} == {"extractive"}
        better.settle(upgrade=True)
        assert {node.made_by for node in summaries(better)} == {"scripted"}


def test_another_embedding_model_keeps_the_tree_and_embeds_its_summaries_again(
    memory: Memory,
) -> None:
    fill(memory)
    memory.tree.settle()
    before = memory.tree.draw()
    memory.reembed(WordEmbedder("others", salt="x"))
    memory.tree.settle()
    assert memory.tree.draw() == before
    found = memory.search("boat harbour", k=5, level="all", mode="dense")
    assert any(hit.node for hit in found)
    memory.add("Ana moors the boat at the harbour", source="new")
    assert memory.tree.find(next(memory.entries(source="new")).id)


def test_the_tree_is_a_relation_of_an_ordinary_search(memory: Memory) -> None:
    fill(memory)
    plain = memory.search("anchor", k=12, relations=())
    related = memory.search("anchor", k=12, relations=["tree"], alpha=0.5)
    leaf = {node.text: node.number for node in memory.tree.nodes() if node.leaf}
    topic = {text: [node.number for node in memory.tree.path(leaf[text])][:1] for text in leaf}
    share = {hit.text: hit.why.terms["tree"] for hit in related}
    alone = [text for text in leaf if not topic[text]]
    own = {hit.text: hit.score for hit in plain}
    assert len(plain) == len(related) == len(SENTENCES)
    for text in alone:  # related to itself only
        assert share[text] == pytest.approx(0.5 * own[text], abs=1e-4)
    found = next(text for text in leaf if "anchor" in text)
    for text in leaf:
        if topic[text] and topic[text] == topic[found]:
            assert share[text] > 0.5 * own[text] or text == found


def test_a_search_at_the_level_of_summaries_finds_nodes_of_the_tree(memory: Memory) -> None:
    fill(memory)
    memory.tree.settle()
    texts = memory.search("Ana boat harbour", k=50, level="all")
    own = {hit.entry_id: hit.score for hit in texts if hit.node is None}
    hits = memory.search("Ana boat harbour", k=20, level="summaries")
    assert {hit.node for hit in hits} == {node.number for node in summaries(memory)}
    for hit in hits:
        node = memory.tree.node(hit.node or 0)
        below = [leaf.entry_id or "" for leaf in memory.tree.leaves(node.number)]
        assert (hit.text, hit.level, hit.summary_of) == (node.text, node.depth, node.leaves)
        assert hit.entry_id == max(below, key=lambda entry: own[entry])
        assert (hit.at, hit.speaker, hit.role, hit.session) == (None, None, None, None)
        assert hit.score == pytest.approx(sum(hit.why.terms.values()), rel=1e-4)
        assert "tree" in hit.why.terms
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_a_summary_meets_a_filter_only_if_all_that_it_rests_on_does(memory: Memory) -> None:
    fill(memory)
    memory.tree.settle()
    for source in ("note 0", "note 3"):
        hits = memory.search("Ana boat harbour", k=50, level="all", source=source)
        assert {hit.source for hit in hits} == {source}
        assert not any(hit.summary_of for hit in hits)
    kinds = memory.search("Ana boat harbour", k=50, level="all", kind="text")
    assert len(kinds) == len(memory.tree.nodes())


def test_an_empty_memory_has_an_empty_tree(memory: Memory) -> None:
    assert memory.tree.roots() == []
    assert memory.search("anything", level="all") == []
    assert memory.tree.stats().nodes == 0
    assert memory.tree.draw() == ""


def test_what_is_not_there_is_said(memory: Memory) -> None:
    fill(memory)
    with pytest.raises(UnknownNode):
        memory.tree.node(999)
    with pytest.raises(UnknownName):
        memory.tree.find("nothing")


def test_a_tree_grows_anew_by_other_settings_as_if_it_always_had(
    path: Path, memory: Memory, tmp_path: Path
) -> None:
    fill(memory)
    memory.tree.settle()
    topics = memory.tree.stats().topics
    memory.configure(tree_base=0.05, tree_depth=4)
    deep = memory.tree.draw()
    assert memory.tree.stats().topics < topics
    assert memory.tree.stats().max_depth <= 4
    assert {node.made_by for node in summaries(memory)} == {None}
    memory.tree.settle()
    with Memory.open(path, embedder=WordEmbedder()) as again:
        again.add("Ana moors the boat", source="more")
        assert again.tree.draw() == memory.tree.draw() != deep
    with Memory.open(tmp_path / "other.db", embedder=WordEmbedder()) as other:
        other.configure(tree_base=0.05, tree_depth=4)
        fill(other)
        other.add("Ana moors the boat", source="more")
        shapes = [[node.text for node in one.tree.nodes() if node.leaf] for one in (other, memory)]
        assert shapes[0] == shapes[1]
    memory.configure(tree_base=0.9)
    assert memory.tree.stats().topics > 6


def test_settings_travel_with_an_export_and_nonsense_is_refused(
    memory: Memory, tmp_path: Path
) -> None:
    fill(memory)
    memory.configure(tree_base=0.2, tree_form="printed", tree_route="content")
    with Memory.open(tmp_path / "other.db", embedder=WordEmbedder()) as other:
        lines = list(memory.export())
        other.import_(lines)
        assert other.configure() == memory.configure()
        with pytest.raises(InputError, match="not this version's"):
            other.import_([lines[0].replace('"tree_route"', '"tree_rout"'), *lines[1:]])
    with raises(InputError, param="tree_depth"):
        memory.configure(tree_depth=0)


def test_a_tree_that_nobody_uses_costs_no_call(open_memory: Open) -> None:
    llm = FakeLLM([])
    memory = open_memory(llm=llm)
    fill(memory)
    assert memory.settle().pending == {}
    assert llm.requests == []
    assert memory.tree.stats().pending  # used from now on
    with pytest.raises(ViewError):
        memory.settle()


def test_what_the_texts_do_not_support_is_left_out_of_a_summary(open_memory: Open) -> None:
    said = "Ana is saving for a boat. The boat costs 9000 euros and was built in Trieste."
    memory = open_memory(llm=FakeLLM(lambda _: said))
    memory.add("Ana is saving for a boat with a red sail.", source="a")
    memory.add("Ana is saving for a boat, a small one.", source="b")
    memory.tree.settle()
    [summary] = summaries(memory)
    assert summary.text == "Ana is saving for a boat."
    assert summary.made_by == "scripted"


def test_a_summary_that_no_text_supports_is_drawn_from_the_texts(open_memory: Open) -> None:
    llm = FakeLLM(lambda _: "A critical issue in Trieste necessitates 3 committees.")
    memory = open_memory(llm=llm)
    memory.add("Ana is saving for a boat with a red sail.", source="a")
    memory.add("Ana is saving for a boat, a small one.", source="b")
    memory.tree.settle()
    [summary] = summaries(memory)
    assert "Trieste" not in summary.text
    assert summary.made_by == "extractive"
    assert [(cost.operation, cost.model) for cost in memory.stats().spent] == [("tree", "scripted")]
