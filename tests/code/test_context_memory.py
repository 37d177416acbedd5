"""Context memory across rounds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.code.repositories import SHOP
from treering.errors import InputError, LLMReplyError
from treering.llm.scripted import FakeLLM
from treering.views.code.index.blocks import CodeBlock, code_block
from treering.views.code.index.code_index import index_file
from treering.views.code.write.context_memory import ContextMemory, llm_judge, name_judge

CART = index_file(SHOP["shop/cart.py"], "shop/cart.py", "python", "blocks")
PRICES = index_file(SHOP["shop/prices.py"], "shop/prices.py", "python", "blocks")
TOTAL = code_block("shop/cart.py", CART, 3)
PRICE = code_block("shop/prices.py", PRICES, 0)
VAT = code_block("shop/prices.py", PRICES, 1)


class Shelf:
    """Hands out blocks in order and remembers what was asked."""

    def __init__(self, *blocks: CodeBlock) -> None:
        self.blocks = blocks
        self.queries: list[str] = []

    def __call__(self, query: str) -> Sequence[CodeBlock]:
        self.queries.append(query)
        return self.blocks


def names(memory: ContextMemory) -> list[str]:
    return [block.name for block in memory.blocks]


def test_add_merges_what_is_retrieved_for_all_instructions_so_far() -> None:
    shelf = Shelf(PRICE, VAT)
    llm = FakeLLM(['{"mode": "ADD", "action": "prices", "target_context": ["vat"]}'] * 2)
    memory = ContextMemory(shelf, llm_judge(llm), [TOTAL])
    assert memory.begin("sum up the prices").mode == "ADD"
    assert names(memory) == ["total", "price", "vat"]
    memory.begin("and the tax")
    assert shelf.queries[1] == "sum up the prices\nand the tax\nvat"
    assert TOTAL.key in llm.requests[0].text
    assert "total += price(item)" not in llm.requests[0].text


def test_a_reply_that_is_neither_add_nor_keep_is_an_error_and_changes_nothing() -> None:
    memory = ContextMemory(Shelf(PRICE), llm_judge(FakeLLM(["maybe", '{"mode": "MAYBE"}'])))
    with pytest.raises(LLMReplyError):
        memory.begin("do it")
    assert names(memory) == []


def test_the_judge_without_a_model_asks_whether_keys_cover_the_names() -> None:
    judge = name_judge({"price", "vat", "total"}.__contains__)
    assert judge(["use price"], []).mode == "ADD"
    assert judge(["use price and vat"], [PRICE.key]).target_context == ("vat",)
    assert judge(["use vat", "use price twice"], [PRICE.key]).mode == "KEEP"


def test_the_selector_keeps_blocks_whose_apis_the_code_calls() -> None:
    memory = ContextMemory(Shelf(), name_judge(lambda _: False), [TOTAL, PRICE, VAT])
    memory.end("def sum_up(items):\n    return [price(item) for item in items]\n", "python")
    # eq. 2: price itself, and total, which calls it too
    assert names(memory) == ["total", "price"]


def test_an_empty_instruction_is_refused() -> None:
    with pytest.raises(InputError, match="empty"):
        ContextMemory(Shelf(), name_judge(lambda _: True)).begin("  ")
