"""``make docs`` turns the pages into a site that loads nothing from other hosts."""

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
    """Build the site; a missing page or a broken link is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_a_page_of_the_site(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        assert (site / page.relative_to(DOCS)).with_suffix(".html").is_file()


def test_no_page_of_the_site_loads_from_other_hosts(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        loaded = re.findall(r'<(?:script|img|iframe)[^>]*\ssrc="([^"]*)"', text)
        loaded += re.findall(r'<link[^>]*rel="(?:stylesheet|preconnect)"[^>]*href="([^"]*)"', text)
        loaded += re.findall(r'<link[^>]*href="([^"]*)"[^>]*rel="(?:stylesheet|preconnect)"', text)
        assert [address for address in loaded if "//" in address] == [], page.name


def test_a_link_out_of_the_pages_is_not_dead(site: Path) -> None:
    index = (site / "index.html").read_text("utf-8")
    assert "<strong>README</strong>" in index
    assert "README.md" not in index
