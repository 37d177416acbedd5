"""The page timed and photographed in a real Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.conftest import Bench
from treering.bench import page_speed
from treering.bench.browser import installed
from treering.bench.page_speed import LIMITS_S, LOOKS, VIEWS
from treering.errors import ServerError

playwright = pytest.importorskip("playwright.sync_api")
needs_browser = pytest.mark.skipif(
    installed() is None, reason="no Chromium is installed, so the page was not timed in a browser"
)


@needs_browser
def test_the_steps_of_a_new_user_are_timed_and_each_view_is_photographed(
    with_plugins: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_speed, "LIMITS_S", dict.fromkeys(LIMITS_S, 60.0))
    monkeypatch.setattr(page_speed, "LOOKS", LOOKS[:1])
    monkeypatch.setattr(page_speed, "VIEWS", {name: VIEWS[name] for name in ("tree", "long-entry")})
    shots = ("--shots", tmp_path / "shots")
    measured = with_plugins.object("page", "--entries", 40, "--embedder", "hashing", *shots)
    assert {*LIMITS_S, "newest entries"} == {*measured["seconds"]}
    assert all(seconds > 0 for seconds in measured["seconds"].values())
    assert measured["late"] == []
    names = ["phone-light-tree.png", "phone-light-long-entry.png"]
    assert measured["shots"] == [*names, *(f"empty/{name}" for name in names)]
    assert all((tmp_path / "shots" / name).stat().st_size for name in measured["shots"])


def test_without_a_browser_the_error_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_speed, "installed", lambda _: None)
    with pytest.raises(ServerError, match="playwright install chromium"), page_speed.launched():
        pass
