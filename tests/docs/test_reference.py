"""The reference is generated from signatures, docstrings and settings."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from dataclasses import fields

import pytest

from tests.docs.pages import ROOT
from tools.document_reference import FOLDER, PAGES, document
from treering import Receipt, memory
from treering.views.code import memory as code
from treering.views.facts import view as facts
from treering.views.memos import view as memos
from treering.views.tree import view as tree

SETTINGS = (FOLDER / "settings.md").read_text("utf-8")
DEFINED = set[str]().union(*map(vars, (memory, code, facts, memos, tree)))
"""The names in the modules of classes with methods for users."""


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_the_reference_is_up_to_date(page: str) -> None:
    text = (FOLDER / page).read_text("utf-8")
    assert text == document(page, text), "run: python -m tools.document_reference"


def test_every_signature_is_python_and_its_defaults_exist() -> None:
    signatures = re.findall(
        r"^### memory\.[\w.]+\n\n```python\n(.+?)\n```",
        (FOLDER / "python.md").read_text("utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    assert signatures
    for signature in signatures:
        [function] = ast.parse(f"def {signature}: ...").body
        assert isinstance(function, ast.FunctionDef)
        defaults = [*function.args.defaults, *function.args.kw_defaults]
        named = {node.id for node in defaults if isinstance(node, ast.Name)}
        assert named <= DEFINED, signature


def test_the_answer_of_the_first_request_has_all_its_fields() -> None:
    page = (ROOT / "docs" / "how-to" / "serve.md").read_text("utf-8")
    found = re.search(r'^\{"ids":.*?\}$', page, re.MULTILINE | re.DOTALL)
    assert found is not None
    assert list(json.loads(found[0])) == [field.name for field in fields(Receipt)]


def test_the_settings_list_every_variable() -> None:
    sources = (path.read_text("utf-8") for path in (ROOT / "treering").rglob("*.py"))
    read = {name for text in sources for name in re.findall(r"\bTREERING_[A-Z_]+[A-Z]\b", text)}
    assert read
    assert sorted(name for name in read if f"`{name}`" not in SETTINGS) == []


def test_the_settings_list_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    table = SETTINGS[SETTINGS.index("## Extras") :]
    assert [extra for extra in extras if f"`{extra}`" not in table] == []
