"""The code index: search with relation, upkeep, blocks, map."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy

import pytest
from hypothesis import given, settings

from tests.code.repositories import SHOP, made_up
from tests.raised import raises
from treering.errors import EmptyText, InputError, UnknownName
from treering.llm.tokens import estimate_tokens
from treering.views.code.index.blocks import code_block
from treering.views.code.index.code_index import (
    CodeIndex,
    IndexedFile,
    code_terms,
    index_file,
)
from treering.views.code.index.map import by_calls, repository_map
from treering.views.code.parse.language import language_of


def indexed(texts: Mapping[str, str]) -> dict[str, IndexedFile]:
    return {
        path: index_file(text, path, language_of(path), "blocks") for path, text in texts.items()
    }


def shop() -> CodeIndex:
    index = CodeIndex()
    index.update(indexed(SHOP))
    return index


def test_an_identifier_is_found_by_any_of_its_words() -> None:
    whole = {int(term) for term, _ in code_terms("getUserName HTTPServer max_size")}
    for part in ("user", "getusername", "http", "server", "httpserver", "size", "max_size"):
        assert {int(term) for term, _ in code_terms(part)} <= whole


def test_search_finds_the_definition_that_is_asked_for() -> None:
    best = shop().search("add the tax to an amount", k=1)[0]
    assert (best.path, best.definition) == ("shop/prices.py", "vat")
    assert "def vat" in best.text
    assert best.score == pytest.approx(sum(best.why.terms.values()))


def test_the_relation_lifts_what_the_best_hits_call() -> None:
    texts = {
        "a/order.py": "from b.stock import deduct\n\ndef place_order(order):\n    deduct(order)",
        "b/stock.py": "def deduct(thing):\n    return 1\n",
        "c/other.py": "def unrelated(thing):\n    return 1\n",
    }
    index = CodeIndex()
    index.update(indexed(texts))
    with_relation = [hit.path for hit in index.search("place an order", k=9)]
    assert with_relation.index("b/stock.py") < with_relation.index("c/other.py")
    alone = {hit.path: hit.score for hit in index.search("place an order", k=9, alpha=0)}
    assert alone["b/stock.py"] == alone["c/other.py"]


def test_near_prefers_what_is_related_to_the_place() -> None:
    index = shop()
    place = "shop/log.py:2"
    assert index.search("nothing", k=1, near=place)[0].path == "shop/log.py"
    assert index.search("nothing", k=1)[0].path != "shop/log.py"
    assert index.nearness(place).max() == 1
    with pytest.raises(UnknownName, match="nowhere"):
        index.search("item", near="nowhere.py")


def test_bad_queries_are_refused() -> None:
    index = shop()
    with pytest.raises(EmptyText):
        index.search(" ")
    with raises(InputError, param="k"):
        index.search("x", k=0)
    with pytest.raises(InputError, match="not embedded"):
        index.search("x", mode="dense")
    assert CodeIndex().search("anything") == []


@settings(max_examples=15, deadline=None)
@given(made_up, made_up)
def test_an_updated_index_answers_as_one_built_anew(
    old: dict[str, str], new: dict[str, str]
) -> None:
    updated = CodeIndex()
    updated.update(indexed(old))
    changed = {path: text for path, text in new.items() if old.get(path) != text}
    updated.update(indexed(changed), removed=[path for path in old if path not in new])
    rebuilt = CodeIndex()
    rebuilt.update(indexed({path: new[path] for path in updated.files}))
    assert updated.calls == rebuilt.calls
    found, expected = (index.search("f g x", k=99) for index in (updated, rebuilt))
    assert [hit.score for hit in found] == pytest.approx([h.score for h in expected], abs=1e-4)
    assert {(hit.path, hit.text) for hit in found} == {(hit.path, hit.text) for hit in expected}


def test_an_index_stays_as_it_is_while_its_copy_is_updated() -> None:
    index = shop()
    before = index.search("price of an item", k=5)
    twin = copy(index)
    fewer = indexed({"shop/prices.py": "def weight(item):\n    return item.price\n"})
    twin.update(fewer, ["shop/log.py"])
    assert index.search("price of an item", k=5) == before
    assert "shop/log.py" in index.files
    assert "shop/log.py" not in twin.files
    assert "weight" in {hit.definition for hit in twin.search("weight", k=50)}


def test_the_key_of_a_class_names_its_attributes_and_methods() -> None:
    index = shop()
    cart = code_block("shop/cart.py", index.files["shop/cart.py"], 0)
    assert cart.key == (
        "shop/cart.py: class Cart\n    What is bought.\n    attributes: items\n"
        "    methods: __init__, add, total, again"
    )
    assert cart.value.startswith("class Cart:")
    assert cart.calls == {"append", "note", "price", "vat", "add", "total"}
    assert cart.apis == cart.calls | {"Cart", "__init__", "again"}


def test_the_map_keeps_within_its_budget() -> None:
    index = shop()
    for budget in (1, 20, 60, 1000):
        assert estimate_tokens(repository_map(index, budget)) <= budget
    whole = repository_map(index, 1000)
    assert "shop/cart.py:\n  5: class Cart\n    8: def __init__(self)" in whole


def test_the_most_called_definition_comes_first() -> None:
    index = CodeIndex()
    text = "def rare():\n    often()\n\ndef other():\n    often()\n\ndef often():\n    return 1\n"
    index.update(indexed({"a.py": text}))
    assert index.definition(by_calls(index)[0]).name == "often"


def test_a_map_without_a_budget_is_refused_and_one_of_nothing_is_empty() -> None:
    with pytest.raises(InputError, match="budget"):
        repository_map(shop(), 0)
    assert repository_map(CodeIndex(), 100) == ""
