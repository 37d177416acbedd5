"""``memory.code.generate``: whole rounds with a scripted model (CodeMEM, figure 2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.code.repositories import SHOP, write_files
from treering import Memory
from treering.errors import InputError, LLMReplyError, ReplyDiscarded, UnknownName
from treering.llm.scripted import FakeLLM, Request
from treering.views.choices import DetectorName
from treering.views.code.write.generate import code_of

pytestmark = pytest.mark.usefixtures("bundled_model")

PLAIN = "def half(n):\n    return n / 2\n"
GUARDED = """\
def half(n):
    if n < 0:
        raise ValueError("n is negative")
    return n / 2
"""
ASKED = (
    "Write a function called 'half' that halves a number.",
    "The function should raise a ValueError if the input is negative.",
    "The function should return an integer where the input is even.",
)


def fenced(code: str) -> str:
    return f"Here it is:\n```python\n{code}```\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_files(tmp_path / "repo", SHOP)


def opened(file: Path, *script: str) -> tuple[Memory, FakeLLM]:
    llm = FakeLLM(script)
    return Memory.open(file, llm=llm), llm


@pytest.fixture
def rounds(file: Path) -> Iterator[tuple[Memory, Sequence[Request]]]:
    """Two rounds on one function, and what the model was asked."""
    memory, llm = opened(file, fenced(PLAIN), "Halves; errors are wanted.", fenced(GUARDED))
    with memory:
        for instruction in ASKED[:2]:
            memory.code.generate(instruction, definition="m.py::half")
        yield memory, llm.requests


def test_a_round_is_written_and_recorded(rounds: tuple[Memory, Sequence[Request]]) -> None:
    memory, _ = rounds
    first, second = memory.code.log("half")
    assert [first.instruction, second.instruction] == list(ASKED[:2])
    assert second.code == GUARDED.rstrip("\n")
    assert {s.type for s in second.change.added} == {"if_statement", "raise_statement"}


def test_the_next_round_tells_the_note_of_the_one_before(
    rounds: tuple[Memory, Sequence[Request]],
) -> None:
    memory, asked = rounds
    assert memory.code.log("half")[0].note == "Halves; errors are wanted."
    assert ASKED[1] in asked[1].text
    assert "Note: Halves; errors are wanted." in asked[2].text
    assert "return n / 2" in asked[2].text


@pytest.mark.parametrize("detector", ["rules", "printed"])
def test_a_draft_that_undoes_a_round_is_written_again_with_what_it_loses(
    file: Path, detector: DetectorName
) -> None:
    script = (fenced(PLAIN), "note", fenced(GUARDED), "note", fenced(PLAIN), fenced(GUARDED))
    memory, llm = opened(file, *script)
    with memory:
        made = [
            memory.code.generate(one, definition="m.py::half", detector=detector) for one in ASKED
        ]
        spent = {one.operation: one.calls for one in memory.stats().spent}
    assert spent == {"code": 4, "code note": 2}
    assert [one.regenerated for one in made] == [False, False, True]
    assert made[2].draft == PLAIN.rstrip("\n")
    assert made[2].code == GUARDED.rstrip("\n")
    assert not made[2].undone
    last = llm.requests[-1].text
    assert f"undoes this earlier instruction, which still holds: {ASKED[1]}" in last
    assert "Missing: raise ValueError" in last


def test_what_is_undone_still_is_told(file: Path) -> None:
    script = (fenced(PLAIN), "note", fenced(GUARDED), "note", fenced(PLAIN), fenced(PLAIN))
    memory, _ = opened(file, *script)
    with memory:
        for one in ASKED[:2]:
            memory.code.generate(one, definition="m.py::half")
        made = memory.code.generate(ASKED[2], definition="m.py::half")
    assert ASKED[1] in {loss.instruction for loss in made.undone}


def test_the_model_sees_the_code_that_matters_and_what_it_changes(file: Path, root: Path) -> None:
    total = "def total(self):\n    return vat(sum(map(price, self.items)))\n"
    memory, llm = opened(file, fenced(total))
    with memory:
        memory.code.index(root)
        made = memory.code.generate("Write total with price and vat.", definition="Cart.total")
        found, written = memory.code.log("Cart.total")
    assert made.judgement.mode == "ADD"
    assert "vat" in {block.qualified for block in made.context}
    assert "def vat(amount):" in llm.requests[0].text
    assert "for item in self.items:" in llm.requests[0].text  # as it was found
    assert found.instruction == ""
    assert written.code == "class Cart:\n    def total(self):\n" + (
        "        return vat(sum(map(price, self.items)))"
    )


def test_a_block_of_which_the_model_sees_no_code_is_not_said_to_be_shown(
    file: Path, root: Path
) -> None:
    total = "def total(self):\n    return 0\n"
    memory, llm = opened(file, fenced(total), fenced(total))
    asked = "Write total with price and vat."
    with memory:
        memory.code.index(root)
        whole = memory.code.generate(asked, definition="shop/a.py::total")
        few = memory.code.generate(asked, definition="shop/b.py::total", budget=100)
    code = {block.qualified: block.value for block in whole.context}
    assert "vat" in code
    shown = [block.qualified for block in few.context]
    assert 0 < len(shown) < len(code)
    assert shown == [name for name, value in code.items() if value in llm.requests[-1].text]


def test_forgetting_a_round_takes_the_note_that_quotes_it(file: Path) -> None:
    script = (fenced(PLAIN), "The user wants marmalade errors.", fenced(GUARDED))
    memory, _ = opened(file, *script)
    with memory:
        memory.code.generate(ASKED[0], definition="m.py::half")
        second = memory.code.generate("Raise marmalade errors.", definition="m.py::half")
        memory.forget(second.block.id)
        (left,) = memory.code.log("half")
    assert (left.instruction, left.note) == (ASKED[0], "")
    assert b"marmalade" not in file.read_bytes()


def test_what_quotes_a_round_that_was_forgotten_meanwhile_is_not_recorded(file: Path) -> None:
    def answer(request: Request) -> str:
        del request
        if script:
            return script.pop(0)
        memory.forget(memory.code.log("half")[-1].id)
        return fenced(GUARDED.replace("n is negative", "marmalade"))

    script = [fenced(PLAIN), "Halves.", fenced(GUARDED), "The user wants marmalade errors."]
    with Memory.open(file, llm=FakeLLM(answer)) as memory:
        memory.code.generate(ASKED[0], definition="m.py::half")
        memory.code.generate("Raise marmalade errors.", definition="m.py::half")
        with pytest.raises(ReplyDiscarded):
            memory.code.generate(ASKED[2], definition="m.py::half")
        (left,) = memory.code.log("half")
    assert (left.instruction, left.note) == (ASKED[0], "")
    assert b"marmalade" not in file.read_bytes()


def test_a_reply_without_the_definition_is_refused_and_nothing_recorded(file: Path) -> None:
    memory, _ = opened(file, "I cannot do that.")
    with memory:
        with pytest.raises(LLMReplyError):
            memory.code.generate(ASKED[0], definition="m.py::half")
        with pytest.raises(UnknownName):
            memory.code.log("half")


def test_a_definition_that_cannot_be_placed_is_refused(file: Path) -> None:
    memory, _ = opened(file)
    with memory:
        with pytest.raises(UnknownName, match="nothing is known of 'half'"):
            memory.code.generate(ASKED[0], definition="half")
        for path in ("../m.py", "notes.txt"):
            with pytest.raises(InputError, match="not the path of a source file"):
                memory.code.generate(ASKED[0], definition=f"{path}::half")


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("x = 1", "x = 1"),
        ("Say:\n```\nx = 1\n```\nand\n```python\ny = 2\nz = 3\n```", "y = 2\nz = 3\n"),
        ("```python\ncut off", "cut off"),
    ],
)
def test_the_code_of_a_reply_is_its_longest_fenced_block(reply: str, code: str) -> None:
    assert code_of(reply) == code


def test_what_was_removed_and_is_there_again_is_told_as_the_rule_finds_it(file: Path) -> None:
    printing = "def half(n):\n    print(n)\n    return n / 2\n"
    script = (fenced(printing), "note", fenced(PLAIN), "note", fenced(printing), fenced(PLAIN))
    memory, llm = opened(file, *script)
    asked = (ASKED[0], "Print nothing.", "Say what it is for.")
    with memory:
        memory.configure("codemem", judge="names")
        for instruction in asked:
            memory.code.generate(instruction, definition="m.py::half")
    assert llm.left == 0
    assert "There again: print(n)" in llm.requests[-1].text


@pytest.mark.parametrize(
    ("context", "modes"),
    [("static", ["ADD", "KEEP"]), ("added", ["ADD", "KEEP"]), ("selected", ["ADD", "ADD"])],
)
def test_parts_of_the_context_memory_can_be_left_out(
    file: Path, root: Path, context: str, modes: list[str]
) -> None:
    bare = "def total(self):\n    return 0\n"
    memory, _ = opened(file, fenced(bare), "note", fenced(bare))
    with memory:
        memory.code.index(root)
        memory.configure(context=context, detector="none")  # type: ignore[arg-type]
        rounds = [
            memory.code.generate(asked, definition="shop/cart.py::Cart.total")
            for asked in ("Sum up with vat.", "Sum up with price.")
        ]
    assert [written.judgement.mode for written in rounds] == modes
    shown = [{block.qualified for block in written.context} for written in rounds]
    if context == "static":  # what the second instruction names is not looked up
        assert shown[0] == shown[1]
    if context == "added":  # nothing is dropped, though the code calls nothing of it
        assert shown[0] <= shown[1]


def test_the_least_cosine_of_instructions_with_one_intent_can_be_set(file: Path) -> None:
    asked = [f"Handle case {n} of halving numbers." for n in range(6)]
    codes = [PLAIN.replace("n / 2", f"n / 2 + {n} - {n}") for n in range(6)]
    script = [fenced(codes[0])]
    for code in codes[1:]:
        script += ["note", fenced(code)]
    memory, _ = opened(file, *script)
    with memory:
        memory.configure(detector="none", alike=1.0)
        rounds = [memory.code.generate(text, definition="m.py::half") for text in asked[:5]]
        assert [len(written.memory) for written in rounds] == [0, 1, 1, 1, 1]
        memory.configure(alike=0.0)
        written = memory.code.generate(asked[5], definition="m.py::half")
    assert len(written.memory) > 3


def test_codemem_retrieves_by_bm25_alone(file: Path, root: Path) -> None:
    memory, _ = opened(file)
    with memory:
        memory.code.index(root)
        query = "Sum up with vat."
        related = memory.code.blocks(query)
        memory.configure("codemem")
        plain = memory.code.blocks(query)
        by_bm25 = memory.code.search(query, k=20, alpha=0)
        names = dict.fromkeys(hit.definition for hit in by_bm25 if hit.definition)
        assert [block.qualified for block in plain] == [*names][: len(plain)]
        assert {block.qualified for block in related}
