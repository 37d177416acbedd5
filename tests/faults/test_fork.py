"""A memory in processes that were forked after it was opened: they must open it themselves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.processes import run_script, texts_in

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing can be forked here")

_BEGIN = """
import os, sys, threading
from tests.embedders import HashingEmbedder
from treering import Memory
path = sys.argv[1]
memory = Memory.open(path, embedder=HashingEmbedder(), llm="none")
memory.add("Before.", source="parent")
"""

CHILD_OPENS = (
    _BEGIN
    + """
from treering.errors import JournalError
ended, end = os.pipe()
if os.fork() == 0:
    os.close(end)
    for use in (lambda: memory.add("Refused."), lambda: memory.search("Before", k=1)):
        try:
            use()
        except JournalError as error:
            assert "open it again here" in str(error), error
        else:
            raise AssertionError("the child may not use the memory of its parent")
    memory.close()
    memory = Memory.open(path, embedder=HashingEmbedder(), llm="none")
    for number in range(4):
        memory.add(f"Child {number}.", source="child")
    os.write(1, b"added\\n")
    os.read(ended, 1)  # until the parent has ended
    for number in range(4, 8):
        memory.add(f"Child {number}.", source="child")
    assert memory.search("Child", k=1)
    ENDING
if sys.argv[2] == "closes":
    memory.close()
"""
)


@pytest.mark.parametrize("ending", ["os._exit(0)", "memory.close(); sys.exit()"])
@pytest.mark.parametrize("parent", ["closes", "ends"])
def test_a_child_opens_the_memory_again_and_survives_its_parent(
    path: Path, parent: str, ending: str
) -> None:
    """The output is read until the child has ended too, which holds it open."""
    run_script(CHILD_OPENS.replace("ENDING", ending), path, parent)
    assert texts_in(path) == ["Before.", *(f"Child {number}." for number in range(8))]


THREADS = (
    _BEGIN
    + """
from treering.errors import JournalError
def add(name):
    for number in range(6):
        memory.add(f"{name} {number}.", source=name)
        memory.search("number", k=1)
threads = [threading.Thread(target=add, args=(f"thread{one}",)) for one in range(8)]
for thread in threads:
    thread.start()
children = []
for child in range(3):
    if (pid := os.fork()) == 0:
        try:
            with Memory.open(path, embedder=HashingEmbedder(), llm="none") as own:
                own.add(f"child{child}.", source="children")
        except JournalError as error:
            assert "when this process was forked" in str(error), error
        else:
            print(f"child{child}.")
        sys.exit()
    children.append(pid)
    memory.add(f"parent {child}.", source="parent")
for thread in threads:
    thread.join()
assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0, 0]
"""
)


def test_children_forked_while_eight_threads_add_are_refused_or_lose_nothing(path: Path) -> None:
    stored = run_script(THREADS, path).splitlines()
    expected = {f"thread{name} {number}." for name in range(8) for number in range(6)}
    expected |= {"Before.", *(f"parent {child}." for child in range(3)), *stored}
    texts = texts_in(path)
    assert set(texts) == expected
    assert len(texts) == len(expected)


INSIDE = (
    _BEGIN
    + """
from treering.errors import JournalError
with memory._database.write() as writer:
    writer.execute("INSERT INTO space (name) VALUES ('ana')")
    if (pid := os.fork()) == 0:
        for attempt in (lambda: memory.add("Child."), lambda: Memory.open(path)):
            try:
                attempt()
            except JournalError as error:
                assert "when this process was forked" in str(error), error
            else:
                raise AssertionError("the child may not use the file")
        memory.close()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
memory.add("After.", source="parent")
with memory._database.read() as reader:
    assert reader.row("SELECT count(*) FROM space WHERE name = 'ana'") == (1,)
"""
)


def test_a_child_forked_inside_a_transaction_is_told_and_harms_nothing(path: Path) -> None:
    run_script(INSIDE, path)
    assert texts_in(path) == ["Before.", "After."]


UNUSABLE = (
    _BEGIN
    + """
os.dup2(1, 2)
if sys.argv[2] == "closed":
    memory.close()
else:
    os.unlink(path)
if (pid := os.fork()) == 0:
    sys.exit()
assert os.waitpid(pid, 0)[1] == 0
"""
)


@pytest.mark.parametrize("memory", ["closed", "removed"])
def test_a_child_prints_nothing_of_a_memory_that_cannot_be_read(path: Path, memory: str) -> None:
    assert run_script(UNUSABLE, path, memory) == ""


BUNDLED_MODEL = """
import os, sys
from treering.embed.minilm import MiniLM
model = MiniLM()
before = model.embed(["Ana moved to Porto."])
if (pid := os.fork()) == 0:
    assert (model.embed(["Ana moved to Porto."]) == before).all()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
"""


def test_the_bundled_model_works_in_a_child(path: Path) -> None:
    run_script(BUNDLED_MODEL)
