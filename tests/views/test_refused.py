"""An entry that a view of treering's own fails on holds up nothing but itself."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from tests.conftest import Open
from tests.views.pictures import picture
from treering import Memory
from treering.errors import ViewError
from treering.journal import work
from treering.records import Entry
from treering.views.contract import reread_kind
from treering.views.facts import forms, view
from treering.views.facts.change import Statement

BAD = "I relocated to Perth. CRASH."


@pytest.fixture
def mend(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Texts with CRASH are more than the facts can read, until this is called."""
    mended = forms.read_forms

    def read(entry: Entry) -> list[Statement]:
        if "CRASH" in entry.text:
            raise ZeroDivisionError("no statement of anybody's")
        return mended(entry)

    monkeypatch.setattr(view, "read_forms", read)
    return lambda: monkeypatch.setattr(view, "read_forms", mended)


def _homes(memory: Memory) -> list[str]:
    return [fact.value for fact in memory.facts.all("ana")]


def _tell(memory: Memory, *texts: str) -> list[str]:
    messages = [{"role": "user", "name": "Ana", "content": text} for text in texts]
    return list(memory.add(messages, source="chat").ids)


@pytest.mark.both_engines
@pytest.mark.parametrize("at_once", [True, False])
def test_an_entry_that_a_view_fails_on_stays_queued_and_all_others_go_on(
    open_memory: Open,
    mend: Callable[[], None],
    caplog: pytest.LogCaptureFixture,
    at_once: bool,
) -> None:
    memory = open_memory()
    texts = ["I relocated to Oslo.", BAD, "I relocated to Rome."]
    with caplog.at_level(logging.WARNING, "treering"):
        ids = [*_tell(memory, *texts)] if at_once else [_tell(memory, text)[0] for text in texts]
    why = f"view 'facts' failed on entry {ids[1]}: ZeroDivisionError: no statement of anybody's"
    assert [record.message.startswith(why) for record in caplog.records] == [True]
    assert memory.stats().pending == {"facts": 1}
    assert _homes(memory) == ["Oslo", "Rome"]
    assert memory.get(ids[0]).superseded_by is not None
    for _ in range(2):
        with pytest.raises(ViewError, match=why):
            memory.settle()
        assert memory.stats().pending == {"facts": 1}
    mend()
    assert memory.settle().pending == {}
    assert _homes(memory) == ["Oslo", "Perth", "Rome"]
    before = picture(memory, "facts")
    memory.rebuild("facts")
    assert picture(memory, "facts") == before


def test_what_was_read_before_is_not_kept_if_a_rebuild_fails_on_it(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    memory = open_memory()
    older, _ = _tell(memory, "I relocated to Oslo.", BAD)
    assert memory.get(older).superseded_by is not None
    mended = forms.read_forms

    def read(entry: Entry) -> list[Statement]:
        return mended(entry) if "CRASH" not in entry.text else [][0]

    monkeypatch.setattr(view, "read_forms", read)
    with (
        caplog.at_level(logging.WARNING, "treering"),
        pytest.raises(ViewError),
    ):
        memory.rebuild()
    assert len(caplog.records) == 1
    assert _homes(memory) == ["Oslo"]
    assert memory.get(older).superseded_by is None
    monkeypatch.setattr(view, "read_forms", mended)
    assert memory.settle().pending == {}
    assert _homes(memory) == ["Oslo", "Perth"]


def test_an_entry_that_a_view_fails_on_can_be_forgotten_and_its_error_with_it(
    open_memory: Open, mend: Callable[[], None]
) -> None:
    memory = open_memory()
    [bad] = _tell(memory, BAD)
    with memory._space.read() as reader:
        assert "failed on entry" in (work.last_error(reader, reader.id, reread_kind("facts")) or "")
    memory.forget(bad)
    assert memory.settle().pending == {}
    with memory._space.read() as reader:
        assert reader.row("SELECT 1 FROM work_error") is None
