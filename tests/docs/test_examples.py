"""The examples of the pages run, one after another, and print the shown output."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from contextlib import ExitStack, closing
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.docs.pages import ADDRESS, DOCS, ROOT, Reader, blocks, examples, fits
from tests.llm.chat_server import USAGE_CHUNK, Act, chunk, playing, says, streams
from tests.serve.live import serving
from treering import Memory
from treering.llm.scripted import FakeLLM, Request

pytestmark = pytest.mark.usefixtures("no_llm", "bundled_model")


_RUN_BY_READERS = ("console", "python", "sh")
_FILE = re.compile(r"(?<![\w/~.-])[\w-]+\.(?:db|jsonl)\b")

READ_WHOLE = ("memory", "facts", "operations")
"""Pages under how-to whose examples run without a model or a server."""

MODEL = "http://localhost:11434/v1"  # the address that the pages name


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    return Reader(tmp_path, monkeypatch)


def test_the_readme_shows_figures_of_the_page_on_figures() -> None:
    readme, page = (ROOT / "README.md").read_text("utf-8"), (DOCS / "figures.md").read_text("utf-8")
    rows = re.findall(r"^\| ([\w-]+) \([\w ]+\) \| (.*) \|$", readme, re.MULTILINE)
    assert len(rows) == 6
    for name, values in rows:
        [row] = re.findall(rf"^\| {name} \| (.*) \|$", page, re.MULTILINE)
        assert values.split(" | ") == [pair.split(" / ")[0] for pair in row.split(" | ")[2:6]], name


@pytest.mark.parametrize("page", READ_WHOLE)
def test_the_examples_of_a_page_run(reader: Reader, page: str) -> None:
    assert reader.read(DOCS / "how-to" / f"{page}.md")


def files_of(page: Path) -> set[str]:
    """Return the memories and JSON lines in the current folder that the examples name."""
    examples = [block.text for block in blocks(page) if block.language in _RUN_BY_READERS]
    return {name for text in examples for name in _FILE.findall(text)}


def test_no_two_pages_create_a_file_of_the_same_name() -> None:
    pages = [ROOT / "README.md", *DOCS.glob("*.md"), *DOCS.glob("how-to/*.md")]
    pages += [*DOCS.glob("explanation/*.md"), *DOCS.glob("reference/*.md")]
    owners = Counter(name for page in pages for name in files_of(page))
    assert len(owners) > 20
    assert [name for name, count in owners.items() if count > 1] == []


def stream_reply(text: str) -> Act:
    return streams(chunk(text), chunk(finish="stop"), USAGE_CHUNK)


def test_the_first_hour_runs_after_the_readme(reader: Reader) -> None:
    assert reader.read(ROOT / "README.md") >= 8
    replies = (
        stream_reply("I will remember that you are allergic to nuts."),
        stream_reply("No: marzipan is made of almonds, and you are allergic to nuts."),
        says("You are allergic to nuts."),
    )
    with ExitStack() as running, playing(*replies) as model:
        reader.instead[MODEL] = model.url
        reader.serve = lambda file: running.enter_context(serving(url=file, embedder=None))
        assert reader.read(DOCS / "start.md") >= 30
        assert not model.acts
        shown = str(model.requests[1].body["messages"])
    assert "I am allergic to nuts." in shown  # said to another process


RUN_ELSEWHERE = {
    "how-to/adapters.md": "tests/adapters, against the frameworks",
    "how-to/chat.md": "tests/chat/test_page.py",
    "how-to/tree.md": "tests/tree/test_docs.py",
    "how-to/relations.md": "tests/relate/test_docs.py, tests/views/test_docs.py",
}


@pytest.mark.parametrize("page", ["agents", "code"])
def test_the_python_of_a_page_runs(reader: Reader, page: str) -> None:
    reader.only = {"python"}
    assert reader.read(DOCS / "how-to" / f"{page}.md") == 1


def topic(title: str, summary: str, start: int, end: int) -> dict[str, object]:
    return {"topic": title, "summary": summary, "start": start, "end": end}


def test_the_page_on_memos_runs(reader: Reader) -> None:
    topics = (
        topic("Ines in Porto", "My sister Ines moved to Porto.", 1, 7),
        topic("boat", "The boat leaks at the bow.", 8, 10),
    )

    def reply(request: Request) -> str:
        if "Divide these" in request.text:
            return json.dumps(topics)
        return "1#0" if "N#M" in request.text else "A summary."

    opened = 'Memory.open("memos.db", llm="http://localhost:11434/v1#qwen2.5:7b")'
    reader.only = {"python"}
    reader.instead[opened] = 'Memory.open("memos.db", llm=llm)'
    reader.names["llm"] = FakeLLM(reply)
    assert reader.read(DOCS / "how-to" / "memos.md") == 3
    assert "Ines in Porto - My sister Ines moved to Porto. [" in reader.printed[0]


GUARDED = "def half(n):\n    if n < 0:\n        raise ValueError(n)\n    return n / 2\n"


def test_the_page_of_the_four_methods_runs(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "ada@example.org")
    topics = (
        topic("leaking boat", "The boat of user leaks at the bow. user is sad.", 1, 6),
        topic("cooking", "user does not eat fish.", 7, 10),
    )
    keep = json.dumps({"mode": "KEEP", "action": "-", "target_context": []})
    rules = {
        "Task Conversation": json.dumps(topics),
        "Topic Options": "1#2",
        "<user_instructions>": keep,
        "<next_instruction>": "It refuses negative numbers.",
        "must not be used": f"```python\n{GUARDED.replace('n / 2', 'n // 2')}```",
        "Return a whole number.": "```python\ndef half(n):\n    return n // 2\n```",
        "Refuse negative numbers.": f"```python\n{GUARDED}```",
        "mends boats?": "A sailmaker in Lagos.",
        "": "[]",
    }

    def answer(handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
        asked = str(model.requests[-1].body)
        says(next(reply for part, reply in rules.items() if part in asked))(handler, over)

    with playing(*[answer] * 30) as model:
        reader.instead[MODEL] = model.url
        assert reader.read(DOCS / "methods.md") > 20


def test_the_page_on_how_it_works_runs(reader: Reader) -> None:
    """how-it-works.md"""
    memory = Memory.open(reader.folder / "life.db")
    memory.add([{"role": "user", "content": text} for text in ("I like tea.", "The otter sleeps.")])
    reader.only, reader.names["memory"] = {"python"}, memory
    with closing(memory):
        assert reader.read(DOCS / "explanation" / "how-it-works.md") == 1
        assert str(reader.names["context"]) == ""


def test_the_page_on_documents_runs(reader: Reader) -> None:
    """Its first Python block is a reader of another format: tests/ingest/test_transcripts.py."""
    assert reader.read(DOCS / "how-to" / "documents.md") >= 8


def test_the_page_on_the_server_runs(reader: Reader) -> None:
    reader.only = {"python"}
    with serving(url=reader.folder / "life.db", embedder=None) as address:
        reader.instead[ADDRESS] = address
        assert reader.read(DOCS / "how-to" / "serve.md") == 2
    assert "Ana moved to Porto.\n" in reader.printed


def test_the_page_on_web_applications_runs(reader: Reader) -> None:
    reader.only = {"python"}
    assert reader.read(DOCS / "how-to" / "web-app.md") == 4
    tests = [part for name, part in reader.names.items() if name.startswith("test_")]
    assert len(tests) == 1
    tests[0](reader.folder)


PROXY = "OpenAI(base_url="


def test_the_example_of_the_proxy_runs(reader: Reader) -> None:
    with playing(says("Nice."), says("Miu.")) as model:
        options = {"upstream": model.url, "upstream_key": "none", "embedder": None}
        with serving(url=reader.folder / "life.db", **options) as address:
            [example] = [text for text in examples("how-to/adapters.md", "python") if PROXY in text]
            exec(example.replace(ADDRESS, address), {})
        assert "My cat is called Miu." in str(model.requests[1].body["messages"])


def test_no_example_is_left_out() -> None:
    tested = Path(__file__).read_text("utf-8")
    for page in sorted((DOCS / "how-to").glob("*.md")) + sorted(
        (DOCS / "explanation").glob("*.md")
    ):
        name = str(page.relative_to(DOCS))
        if any(block.language == "python" for block in blocks(page)):
            assert name in RUN_ELSEWHERE or f'"{page.stem}' in tested, f"{name} is run by no test"


@pytest.mark.parametrize(
    ("is_equal", "printed", "expected"),
    [
        (True, "added 1 entry\n", "added 1 entry"),
        (True, f" 1   3.11  chat #0  {'0123456789ab' * 2}\n", f" 1  3.20  chat #0  {'a' * 24}"),
        (True, "one\ntwo\nthree\n", "one\n…\nthree"),
        (True, "forgot 1 entry, 2 vectors", "forgot 1 entry, …"),
        (False, "added 2 entries\n", "added 1 entry"),
        (False, " 1   3.61  chat #0", " 1   3.11  chat #0"),
        (False, "one\ntwo\n", "one"),
        (False, "one\n", "one\ntwo"),
        (False, "two\n…", "one\n…"),
    ],
)
def test_output_may_differ_in_ids_and_roundings(
    is_equal: bool, printed: str, expected: str
) -> None:
    assert fits(printed, expected) == is_equal
