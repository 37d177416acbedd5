"""The page as a place to live in: to add, correct, ask and look around, before all work is done."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import expect

from tests.embedders import HashingEmbedder
from tests.serve.live import serving
from tests.serve.page.conftest import Visit
from treering import Memory
from treering.llm.scripted import FakeLLM
from treering.views.tree import grow

START = datetime(2026, 1, 3, 9, tzinfo=UTC)
RECIPE = """# Sourdough

Mix **flour** and water.

- fold
- bake [in this oven](https://example.org/oven) or [not](javascript:alert(1))

| step | hours |
|---|---|
| rise | 4 |

<b onclick="document.title='pwned'">markup</b> ![picture](https://example.org/spy.gif)
"""


@pytest.fixture
def life(path: Path) -> Path:
    """A memory of a few notes, a chat with facts, and a second space."""
    statements = ["I live in Porto.", "I relocated to Lisbon.", "My phone number is 555 1234."]
    with Memory.open(path, embedder=HashingEmbedder()) as memory:
        memory.add(
            [
                {"role": "user", "name": "Ana", "content": text, "at": START + timedelta(days=day)}
                for day, text in enumerate(statements)
            ]
        )
        memory.add(RECIPE, source="kitchen", kind="text")
        memory.add("The boat needs a new sail.", source="harbour")
    with Memory.open(path, space="work", embedder=HashingEmbedder()) as memory:
        memory.add("The release is on Friday.")
    return path


def test_where_nothing_is_asked_for_the_newest_entries_come_first(visit: Visit, life: Path) -> None:
    with serving(url=life) as url:
        page = visit(url, "search")
        expect(page.locator(".brief .text").first).to_have_text("The boat needs a new sail.")
        page = visit(url, "entries")
        sources = page.locator(".brief header a").all_inner_texts()
        assert sources == ["harbour", "kitchen", "chat", "chat", "chat"]


def test_the_words_of_a_query_are_marked_in_whatever_form_they_stand(
    visit: Visit, life: Path
) -> None:
    with serving(url=life) as url:
        page = visit(url, "search?q=who needed the sails for boats")
        expect(page.locator(".hit").first.locator("mark")).to_have_text(["boat", "needs", "sail"])


def test_an_entry_is_added_and_shown_and_not_twice(visit: Visit, life: Path) -> None:
    with serving(url=life) as url:
        page = visit(url, "entries")
        for _ in range(2):
            page.get_by_text("Add an entry").click()
            page.get_by_label("Text to remember").fill("The key is under the mat.")
            page.get_by_label("its source").fill("home")
            page.get_by_role("button", name="Remember").click()
            if _ == 0:
                expect(page.locator(".text.whole")).to_have_text("The key is under the mat.")
                expect(page.locator(".about")).to_contain_text("home #0")
                visit(url, "entries")
        expect(page.get_by_role("alert")).to_have_text("It is remembered already, in this source.")


def test_an_entry_is_corrected_in_its_place(visit: Visit, life: Path) -> None:
    with serving(url=life) as url:
        page = visit(url, "search")
        page.locator(".brief a").first.click()
        page.get_by_role("button", name="Correct…").click()
        page.get_by_label("The corrected text").fill("The boat has a new sail.")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".text.whole")).to_have_text("The boat has a new sail.")
        page.get_by_role("button", name="Correct…").click()
        page.get_by_label("The corrected text").fill(" ")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("alert")).to_contain_text("the text is empty")
        page.get_by_role("button", name="Cancel").click()
        expect(page.locator(".text.whole")).to_have_text("The boat has a new sail.")


def test_a_proposal_is_accepted_on_the_page(visit: Visit, life: Path) -> None:
    with Memory.open(life, embedder=HashingEmbedder()) as memory:
        memory.add("The lease ends in May.", source="lease", propose="agent")
    with serving(url=life) as url:
        page = visit(url, "entries")
        page.get_by_role("button", name="Accept").click()
        expect(page.locator("ol.entries")).to_contain_text("The lease ends in May.")
    with Memory.open(life, embedder=HashingEmbedder()) as memory:
        assert memory.withheld() == []


def test_markdown_is_formatted_and_nothing_in_it_acts(visit: Visit, life: Path) -> None:
    with serving(url=life) as url:
        page = visit(url, "entries?source=kitchen")
        page.locator(".brief a").click()
        text = page.locator(".text.whole")
        expect(text.locator("h1")).to_have_text("Sourdough")
        expect(text.locator("strong")).to_have_text("flour")
        expect(text.locator("li")).to_have_count(2)
        expect(text.locator("td")).to_have_text(["rise", "4"])
        assert text.locator("b, img, script").count() == 0
        expect(text.locator("a")).to_have_attribute("href", "https://example.org/oven")
        expect(text).to_contain_text("<b onclick=")
        page.get_by_role("button", name="As it is written").click()
        assert page.locator(".text.whole").inner_text() == RECIPE


def test_a_question_is_answered_with_its_prompt_and_where_it_comes_from(
    visit: Visit, life: Path
) -> None:
    llm = FakeLLM(["A **new sail** [1]."])
    with serving(url=life, llm=llm) as url:
        page = visit(url, "chat")
        page.get_by_label("Your question or message").fill("What does the boat need?")
        page.get_by_role("button", name="Show the prompt").click()
        expect(page.locator("pre.prompt")).to_contain_text("The boat needs a new sail.")
        assert not llm.requests
        page.get_by_label("Your question or message").press("Enter")
        expect(page.locator(".formatted strong")).to_have_text("new sail")
        page.locator(".talk > li").last.get_by_text("What the model is shown").click()
        expect(page.locator("pre.prompt").last).to_contain_text("The boat needs a new sail.")
        page.locator(".cited a").click()
        expect(page.locator(".about")).to_contain_text("#0")
    with Memory.open(life, embedder=HashingEmbedder()) as memory:
        assert memory.stats().entries == 5


def test_a_chat_is_remembered_and_shown_again(visit: Visit, life: Path) -> None:
    with serving(url=life, llm=FakeLLM(["Faro is lovely."])) as url:
        page = visit(url, "chat?how=chat&source=holidays")
        page.get_by_label("Your question or message").fill("I am in Faro.")
        page.get_by_role("button", name="Send").click()
        expect(page.locator(".talk .formatted")).to_have_text("Faro is lovely.")
        page.reload()
        expect(page.locator(".talk .text")).to_have_text(["I am in Faro.", "Faro is lovely."])


def test_without_a_model_the_prompt_is_shown_and_the_error_says_what_to_do(
    visit: Visit, life: Path
) -> None:
    with serving(url=life, llm="none") as url:
        page = visit(url, "chat")
        page.get_by_label("Your question or message").fill("What does the boat need?")
        page.get_by_role("button", name="Send").click()
        expect(page.locator(".talk .problem")).to_contain_text("language model")
        page.get_by_text("What the model is shown").click()
        expect(page.locator("pre.prompt")).to_contain_text("The boat needs a new sail.")


def test_facts_stand_by_subject_with_what_changed_on_a_time_line(visit: Visit, life: Path) -> None:
    with serving(url=life) as url:
        page = visit(url, "facts")
        expect(page.locator(".lane .topic")).to_have_text(["ana · home"])
        expect(page.locator(".lane .span")).to_have_count(2)
        expect(page.locator(".slots .past")).to_have_text(["Porto"])
        expect(page.locator(".subject")).to_contain_text("last stated")
        page.get_by_label("about whom").fill("ben")
        page.get_by_role("button", name="Show").click()
        expect(page.locator(".nothing")).to_have_text("Nothing was stated of that.")


def test_a_space_is_removed_after_a_look_and_the_others_stay(visit: Visit, life: Path) -> None:
    with serving(url=life) as url:
        page = visit(url, "status")
        page.get_by_label("Space").select_option("work")
        expect(page.locator(".meta")).to_contain_text("space work")
        page.get_by_role("button", name="Remove this space…").click()
        expect(page.locator(".warn")).to_contain_text("Its 1 entry from 1 source go")
        page.get_by_role("button", name="Keep").click()
        expect(page.locator(".warn")).to_have_count(0)
        page.get_by_role("button", name="Remove this space…").click()
        page.get_by_role("button", name="Remove for good").click()
        expect(page.locator(".card")).to_contain_text("Removed the space work with 1 entry.")
        expect(page.locator("label.space")).to_be_hidden()  # one space is no choice
        page.get_by_role("link", name="Go on to the search").click()
        expect(page.locator(".brief .text").first).to_have_text("The boat needs a new sail.")
    with Memory.open(life, embedder=HashingEmbedder()) as memory:
        assert memory.spaces() == ["default"]


def test_the_tree_is_shown_while_it_grows_and_before_its_summaries_are_written(
    visit: Visit, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(path, embedder=HashingEmbedder()) as memory:
        memory.add(
            [
                {"role": "user", "content": f"The {color} boat number {number} needs a sail."}
                for number in range(20)
                for color in ("red", "blue")
            ]
        )
    monkeypatch.setattr(grow, "SHORT_BATCH_VECTORS", 4)
    monkeypatch.setattr("treering.serve.page.route.PLACING_S", 1e-6)
    with serving(url=path) as url:
        page = visit(url, "tree")  # the first answer is there with four texts of forty
        expect(page.locator("details").first).to_contain_text("boat number")
        expect(page.locator(".note")).to_contain_text("Some summaries are not written yet")
        counts = [int(text) for text in page.locator(".count").all_inner_texts()]
        leaves = page.locator("main > section > .branches > .leaf").count()
        assert sum(counts) + leaves == 40
        expect(page.locator("summary .typical").first).to_be_visible()
        page.get_by_role("button", name="Write them now").click()
        expect(page.locator("summary .typical")).to_have_count(0)
        expect(page.locator("details").first).to_contain_text("extractive")


def test_looking_at_an_entry_does_not_wait_for_the_tree(visit: Visit, life: Path) -> None:
    with serving(url=life) as url:
        page = visit(url, "search")
        page.locator(".brief a").first.click()
        expect(page.get_by_text("It is not in the tree yet.")).to_be_visible()
    with Memory.open(life, embedder=HashingEmbedder()) as memory:
        assert memory.stats().pending.get("tree") is None


def test_forgetting_tells_what_a_model_said_of_it_and_why_it_fails(
    visit: Visit, path: Path
) -> None:
    llm = FakeLLM(["Ann lives in Porto, by the river."])
    with Memory.open(path, embedder=HashingEmbedder(), llm=llm) as memory:
        [entry_id] = memory.add("Ann lives in Porto.").ids
        memory.chat("Where does Ann live?")
        reply = list(memory.entries())[-1].id
    with serving(url=path) as url:
        page = visit(url, f"entry/{entry_id}")
        page.get_by_role("button", name="Forget this entry…").click()
        page.get_by_role("button", name="Forget for good").click()
        expect(page.locator(".forgetting .warn a")).to_have_text([reply])
        page.locator(".forgetting .warn a").click()
        page.get_by_role("button", name="Forget this entry…").click()
        httpx2.post(
            f"{url}/v1/forget", json={"ids": [reply]}
        ).raise_for_status()  # by somebody else
        page.get_by_role("button", name="Forget for good").click()
        expect(page.locator(".forgetting .problem")).to_contain_text(f"no entry '{reply}'")
