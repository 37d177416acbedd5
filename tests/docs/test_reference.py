"""The reference is written from what it describes."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.docs.pages import ROOT
from tools.document_reference import FOLDER, PAGES, document

SETTINGS = (FOLDER / "settings.md").read_text("utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_the_reference_is_up_to_date(page: str) -> None:
    text = (FOLDER / page).read_text("utf-8")
    assert text == document(page, text), "run: python -m tools.document_reference"


def test_every_variable_that_is_read_is_among_the_settings() -> None:
    sources = (path.read_text("utf-8") for path in (ROOT / "treering").rglob("*.py"))
    read = {name for text in sources for name in re.findall(r"\bTREERING_[A-Z_]+[A-Z]\b", text)}
    assert read
    assert sorted(name for name in read if f"`{name}`" not in SETTINGS) == []


def test_every_extra_is_among_the_settings() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    table = SETTINGS[SETTINGS.index("## Extras") :]
    assert [extra for extra in extras if f"`{extra}`" not in table] == []
