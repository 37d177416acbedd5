"""``make docs``: the pages become a site that asks for nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT

TIMEOUT_S = 100


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site; a page that is left out, or a link that leads nowhere, would be an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_a_page_of_the_site(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        assert (site / page.relative_to(DOCS)).with_suffix(".html").is_file()


def test_no_page_of_the_site_asks_for_anything_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        loaded = re.findall(r'<(?:script|img|iframe)[^>]*\ssrc="([^"]*)"', text)
        loaded += re.findall(r'<link[^>]*rel="(?:stylesheet|preconnect)"[^>]*href="([^"]*)"', text)
        loaded += re.findall(r'<link[^>]*href="([^"]*)"[^>]*rel="(?:stylesheet|preconnect)"', text)
        assert [address for address in loaded if "//" in address] == [], page.name


def test_a_link_out_of_the_pages_is_no_dead_link(site: Path) -> None:
    index = (site / "index.html").read_text("utf-8")
    assert "<strong>README</strong>" in index
    assert "README.md" not in index
