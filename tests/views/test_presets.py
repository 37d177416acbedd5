"""Settings of a space, and presets: each against a small worked example of its paper."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.conftest import Open
from tests.raised import raises
from treering import Memory
from treering.errors import InputError, UnknownName
from treering.views.choices import CHOICES, settings_by_name
from treering.views.presets import PRESETS


def test_each_preset_is_recognised_by_what_it_sets(memory: Memory) -> None:
    assert memory.configure().preset == "default"
    for name in PRESETS:
        assert memory.configure(name).preset == name
        assert memory.configure().preset == name


def test_a_value_on_top_of_a_preset_is_no_preset_any_more(memory: Memory) -> None:
    settings = memory.configure("memtree", k=7)
    assert (settings.preset, settings.k, settings.level) == ("own", 7, "all")
    assert memory.configure(k=10).preset == "memtree"


def test_every_value_of_a_preset_names_what_prints_it() -> None:
    for preset in PRESETS.values():
        assert preset.choices.keys() <= set(CHOICES)
        printed = [*preset.choices.values(), preset.relations]
        assert all(len(value.section) > 8 for value in printed if value is not None)


def test_settings_stay_with_the_space_and_go_with_an_export(
    open_memory: Open, tmp_path: Path
) -> None:
    memory = open_memory()
    memory.configure("fragrel-b-story", k=4)
    memory.add("Porto.", kind="text")
    settings = memory.configure()
    assert open_memory().configure() == settings
    other = open_memory(tmp_path / "other.db")
    other.import_(memory.export())
    assert other.configure() == settings


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"preset": "memtrees"}, UnknownName, "no preset 'memtrees'; there are default"),
        ({"policy": "moods"}, UnknownName, "no chat policy 'moods'"),
        ({"edges": "call=2"}, InputError, "edges is 'call=2'"),
        ({"edges": "hops=1"}, InputError, "edges is 'hops=1'; write it like 'syntax=0.5, "),
        ({"edges": "folder=1"}, InputError, "edges is 'folder=1'"),
        ({"fragment": "0 words"}, InputError, "the size of fragments is '0 words'"),
        ({"fragment": f"{'9' * 5000} words"}, InputError, "from 1 to 999999999"),
    ],
)
def test_bad_settings_are_refused_and_change_nothing(
    memory: Memory, given: dict[str, str], error: type[Exception], said: str
) -> None:
    before = memory.configure(k=3)
    with pytest.raises(error, match=said):
        memory.configure(**given)  # type: ignore[arg-type]
    assert memory.configure() == before


def test_of_every_setting_a_value_that_means_nothing_is_refused(memory: Memory) -> None:
    before = memory.configure(k=3)
    for name, (kind, _) in settings_by_name().items():
        for value in ("nonsense", -(10**9), 10**30, math.nan, 2.5 if kind is int else b"", 0j):
            with pytest.raises((InputError, UnknownName)) as caught:
                memory.configure(**{name: value})  # type: ignore[arg-type]
            assert caught.value.param in (name, None)
        if kind is not bool:
            with raises(InputError, param=name):
                memory.configure(**{name: True})  # type: ignore[arg-type]
    assert memory.configure() == before


def test_a_preset_for_other_content_than_the_space_holds_is_refused(memory: Memory) -> None:
    memory.add([{"role": "user", "content": "Hello."}])
    with pytest.raises(
        InputError, match="'fragrel-b-story' is for text, and this space holds chat"
    ):
        memory.configure("fragrel-b-story")
    assert memory.configure().preset == "default"
    memory.configure("memochat")


def test_relations_are_chosen_by_kind_with_their_parameters_and_weights(memory: Memory) -> None:
    memory.configure("fragrel-b-story", relations="text: context(w=0.7) @ 0.2; chat: none")
    relations = memory.configure().relations
    assert relations["text"] == ("context(w=0.7, within=document) @ 0.2",)
    assert relations["chat"] == ()
    again = "; ".join(f"{kind}: {', '.join(names) or 'none'}" for kind, names in relations.items())
    assert memory.configure(relations=again).relations == relations
    assert memory.configure(relations="text: context(w=0.3) @ 1000000").relations["text"] == (
        "context(w=0.3, within=document) @ 1e+06",
    )


def test_the_weights_of_chats_between_people_are_shown_and_read_again(memory: Memory) -> None:
    shown = memory.configure().relations["chat"]
    assert "context(w=0.6, within=session) @ 1 among people 2.32" in shown
    assert memory.configure(relations=f"chat: {', '.join(shown)}").relations["chat"] == shown


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("context @ 1", InputError),
        ("texts: context @ 1", InputError),
        ("text: ", InputError),
        ("text: context(w=2) @ 1", InputError),
        ("text: context(v=1)", InputError),
        ("text: context @ 1.1.1", InputError),
        ("text: nearby @ 1", UnknownName),
    ],
)
def test_relations_that_cannot_be_read_change_nothing(
    memory: Memory, given: str, error: type[Exception]
) -> None:
    before = memory.configure("fragrel-b-story")
    with pytest.raises(error):
        memory.configure(relations=given)
    assert memory.configure() == before
