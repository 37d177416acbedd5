"""Export and import: an equal memory, or an error that names the line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from treering import Memory
from treering.errors import InputError
from treering.ingest import exchange
from treering.search.relations.contract import Weighted
from treering.search.relations.group import Speaker

names = st.sampled_from(["Ana", "Ben", "名前"])
texts = st.one_of(
    st.sampled_from(["ok", "Porto", "The river in Porto."]),
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30
    ).filter(str.strip),
)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | names,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=4,
)
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]), "content": texts},
    optional={
        "name": names,
        "at": st.datetimes(timezones=st.just(UTC)),
        "session": names,
        "metadata": st.dictionaries(names, json_values, max_size=2),
    },
)
additions = st.lists(
    st.tuples(st.sampled_from(["chat", "diary"]), st.lists(messages, min_size=1, max_size=4)),
    max_size=5,
)


def found(memory: Memory, query: str) -> dict[tuple[str, int], tuple[Any, ...]]:
    """Hits by their place: a replaced text comes later in ties and in sums of floats."""
    return {
        (hit.entry_id, hit.start): (hit.text, hit.metadata, pytest.approx(hit.score, abs=1e-4))
        for hit in memory.search(query, k=50)
    }


@given(adds=additions, forgotten=st.sets(st.integers(0, 19)), replaced=st.integers(0, 19))
def test_an_import_of_an_export_is_an_equal_memory(
    tmp_path_factory: pytest.TempPathFactory,
    adds: list[tuple[str, list[dict[str, Any]]]],
    forgotten: set[int],
    replaced: int,
) -> None:
    folder = tmp_path_factory.mktemp("memory")
    with (
        Memory.open(folder / "one.db", embedder=HashingEmbedder()) as one,
        Memory.open(folder / "other.db", embedder=HashingEmbedder()) as other,
    ):
        ids: list[str] = []
        for source, said in adds:
            ids += one.add(said, source=source).ids
        for number, entry in enumerate(ids):
            if number in forgotten:
                one.forget(entry)
            elif number == replaced:
                one.replace(entry, "ok")
        lines = list(one.export())
        other.import_(lines)
        assert list(other.entries()) == list(one.entries())
        for query in ("Porto river", "ok"):
            assert found(other, query) == found(one, query)
        assert list(other.export()) == lines
        again = other.import_(lines)
        assert (again.added, again.unchanged) == (0, len(list(one.entries())))
        if not forgotten and replaced >= len(ids):
            for source, said in adds:
                assert other.add(said, source=source).added == 0


def test_files_stay_unchanged_after_an_import(open_memory: Open, tmp_path: Path) -> None:
    note = tmp_path / "porto.md"
    note.write_text("Ana moved to Porto.", "utf-8")
    one, other = open_memory(), open_memory(tmp_path / "other.db")
    one.add(note)
    other.import_(one.export())
    assert other.add(note).added == 0
    note.write_text("Ana moved to Lisbon.", "utf-8")
    assert other.add(note).removed == 1


def test_what_fit_found_is_exported(open_memory: Open, tmp_path: Path) -> None:
    header = {
        "format": "treering",
        "version": 1,
        "settings": {"relations": {"text": ["speaker @ 0.25"]}},
    }
    memory = open_memory()
    memory.import_([json.dumps(header)])
    memory.add("Porto.", speaker="Ana")
    assert memory._views.planner.defaults()["text"] == [Weighted(Speaker(), 0.25)]
    assert json.loads(next(memory.export()))["settings"] == header["settings"]


def a_line(**fields: Any) -> str:
    entry = {
        "id": "a",
        "source": "s",
        "position": 0,
        "kind": "text",
        "added": "2026-05-03T10:00:00Z",
        "text": "Porto.",
    }
    return json.dumps(entry | fields)


HEADER = '{"format": "treering", "version": 1}'


def test_an_export_that_cannot_be_read_is_refused_and_nothing_is_imported(memory: Memory) -> None:
    cases: list[tuple[list[str], str]] = [  # the line and the field that it names
        ([], "line 1"),
        (["not JSON"], "line 1"),
        (["[]"], "line 1 is not a JSON object"),
        (['{"format": "other", "version": 1}'], "line 1"),
        (['{"format": "treering", "version": 2}'], "line 1"),
        ([HEADER, a_line()[:-3]], "line 2"),
        ([HEADER, a_line(), "7"], "line 3 is not a JSON object"),
        ([HEADER, '{"n": ' + "1" * 5_000 + "}"], "line 2"),
        ([HEADER, "[" * 5_000], "line 2"),
        ([HEADER, '{"text": "x"}'], "line 2: .*source"),
        ([HEADER, a_line(id=None)], "line 2: .*id"),
        ([HEADER, a_line(id="a\nb")], "line 2: id"),
        ([HEADER, a_line(text=5)], "line 2: text"),
        ([HEADER, a_line(text="a\0")], "line 2: text"),
        ([HEADER, a_line(text="")], "line 2: text"),
        ([HEADER, a_line(text="\ud800")], "line 2: text"),
        ([HEADER, a_line(text="x" * 40_000)], "line 2: text"),
        ([HEADER, a_line(kind="poem")], "line 2: kind"),
        ([HEADER, a_line(kind=["text"])], "line 2: kind"),
        ([HEADER, a_line(position="0")], "line 2: position"),
        ([HEADER, a_line(position=2**40)], "line 2: position"),
        ([HEADER, a_line(position=-1)], "line 2: position"),
        ([HEADER, a_line(added="soon")], "line 2: added"),
        ([HEADER, a_line(at=[])], "line 2: at"),
        ([HEADER, a_line(metadata=[])], "line 2: metadata"),
        ([HEADER, a_line(metadata={"x": float("nan")})], "line 2: "),
        ([HEADER, a_line(source=5)], "line 2: source"),
        ([HEADER, '{"source": "", "digest": "00"}'], "line 2: source"),
        ([HEADER, '{"source": "s", "digest": "xy"}'], "line 2: digest"),
        ([HEADER, '{"source": "s", "digest": 5}'], "line 2: digest"),
        ([HEADER, a_line(), a_line(text="Lisbon.")], "'a'"),
        (['{"format": "treering", "version": 1, "settings": []}'], "settings"),
        (['{"format": "treering", "version": 1, "settings": {"relations": 5}}'], "settings"),
        (
            [
                '{"format": "treering", "version": 1, "settings": {"relations":'
                ' {"text": ["kinship @ 1"]}}}'
            ],
            "settings.*kinship",
        ),
        (
            [
                '{"format": "treering", "version": 1, "settings": {"relations":'
                ' {"text": ["context(w=7) @ 1"]}}}'
            ],
            "settings.*w is 7",
        ),
        (
            ['{"format": "treering", "version": 1, "settings": {"choices": {"tree_depth": null}}}'],
            "tree_depth is None",
        ),
        (
            ['{"format": "treering", "version": 1, "settings": {"choices": {"mode": ["dense"]}}}'],
            "mode is",
        ),
    ]
    for export, message in cases:
        with pytest.raises(InputError, match=message):
            memory.import_(export)
        assert memory.spaces() == []
    memory.add("The memory still works.")
    assert memory.search("memory works")


def test_an_export_is_a_state_that_streams(memory: Memory) -> None:
    """Entries added while an export is read neither fail it nor hold it up."""
    memory.add([{"role": "user", "content": f"message {n}"} for n in range(700)], source="chat")
    lines: Iterator[str] = memory.export()
    taken = [next(lines) for _ in range(10)]
    memory.add("Later.", source="notes")
    taken += list(lines)
    assert len(taken) >= 701
    assert all(json.loads(line) for line in taken)


def test_an_import_whose_entries_are_here_makes_no_source(memory: Memory, path: Path) -> None:
    memory.add("Ana keeps bees.", source="diary")
    lines = [line.replace('"diary"', '"Zebediah"') for line in memory.export()]
    assert memory.import_(lines).unchanged == 1
    assert memory.stats().sources == 1
    memory.forget(source="diary")
    assert b"Zebediah" not in path.read_bytes()


def exported(**settings: Any) -> list[str]:
    """An export whose header somebody else has written."""
    return [exchange.header(settings)]


@pytest.mark.both_engines
def test_the_settings_of_an_export_are_for_a_space_without_entries(open_memory: Open) -> None:
    settings = {"choices": {"k": 3, "policy": "window", "fragment": "100 words"}}
    memory, other = open_memory(), open_memory(space="other", create=True)
    memory.add("In use.")
    before = memory.configure(k=7)
    [reason] = memory.import_(exported(**settings)).omitted
    assert "settings" in reason
    assert memory.configure() == before
    assert memory.import_(exported()).omitted == {}
    assert other.import_(exported(**settings)).omitted == {}
    assert (other.configure().k, other.configure().policy) == (3, "window")
    other.add("In use, too.")
    assert other.import_(exported(**settings)).omitted == {}  # they are its own
    assert memory.import_(exported(**settings), settings=True).omitted == {}
    assert memory.configure() == other.configure()


def test_settings_that_no_space_may_have_refuse_the_export(memory: Memory) -> None:
    cases: list[dict[str, Any]] = [{"k": 10**9}, {"k": 0}, {"policy": "none such"}]
    for choices, settings in product(cases, (True, False)):
        with pytest.raises(InputError):
            memory.import_(exported(choices=choices), settings=settings)
        assert memory.spaces() == []
