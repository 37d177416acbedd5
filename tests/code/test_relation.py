"""The code relation: the sparse operator is eq. 8 over Dijkstra's best paths."""

from __future__ import annotations

import math
from collections.abc import Mapping

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.code.repositories import SHOP, made_up
from treering.views.choices import EdgeWeights, Unit, parse_edges
from treering.views.code.graph.code_graph import EDGES, HUB_CALLS, trunk
from treering.views.code.graph.operator import CUTOFF, CodeRelation
from treering.views.code.graph.paths import LEAST_CUTOFF
from treering.views.code.graph.resolve import Resolver
from treering.views.code.parse.cuts import Lines, cut
from treering.views.code.parse.language import language_of
from treering.views.code.parse.outline import NONE, ParsedFile
from treering.views.code.parse.parser import parse

Texts = Mapping[str, str]


def parsed(texts: Texts) -> dict[str, ParsedFile]:
    return {path: parse(text, language_of(path)) for path, text in texts.items()}


def relation(
    texts: Texts, unit: Unit, cutoff: float = CUTOFF, edges: EdgeWeights = EDGES
) -> CodeRelation:
    files = parsed(texts)
    resolver = Resolver(files)
    trunks = {path: trunk(file, cut(file, unit)) for path, file in files.items()}
    calls = {path: resolver.resolve(path) for path in files}
    return CodeRelation.build(trunks, calls, edges, cutoff=cutoff)


def matrix(made: CodeRelation) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    operator = made.operator
    return operator.propagate(np.eye(len(operator.mass), dtype=np.float32))


class Naive:
    """Eq. 8 by the letter: the whole syntax tree, networkx' Dijkstra, a mean over all pairs."""

    def __init__(self, texts: Texts, cutoff: float, edges: EdgeWeights = EDGES) -> None:
        self.edges = edges
        self.files = parsed(texts)
        self.cutoff = cutoff
        self.tree: nx.DiGraph[object] = nx.DiGraph()
        for path, file in self.files.items():
            self.add_file(path, file)
        self.graph = self.tree.copy()
        self.add_calls()

    def join(self, one: object, other: object, weight: float) -> None:
        self.tree.add_edge(one, other, far=-math.log(weight))
        self.tree.add_edge(other, one, far=-math.log(weight))

    def add_file(self, path: str, file: ParsedFile) -> None:
        folders = path.split("/")[:-1]
        for depth in range(len(folders)):
            above, here = tuple(folders[:depth]), tuple(folders[: depth + 1])
            self.join(above, here, self.edges.folder)
        self.join(tuple(folders), path, self.edges.folder)
        self.join(path, (path, 0), self.edges.root)
        for node in range(1, len(file.tree)):
            self.join((path, int(file.tree.parent[node])), (path, node), self.edges.syntax)

    def add_calls(self) -> None:
        resolver = Resolver(self.files)
        edges: list[tuple[object, object, float]] = []
        for path, file in self.files.items():
            for call, targets in zip(file.calls, resolver.resolve(path), strict=True):
                for target in targets:
                    node = self.files[target.path].definitions[target.place].node
                    weight = self.edges.call / len(targets)
                    edges.append(((path, call.node), (target.path, node), weight))
        callers: nx.DiGraph[object] = nx.DiGraph()
        for start, end, weight in edges:
            self.strengthen(start, end, weight)
            callers.add_edge(start, end)
        for start, end, weight in edges:
            if sum(edge[1] == end for edge in edges) <= HUB_CALLS:
                self.strengthen(end, start, weight)

    def strengthen(self, start: object, end: object, weight: float) -> None:
        far = -math.log(weight)
        if not self.graph.has_edge(start, end) or self.graph[start][end]["far"] > far:
            self.graph.add_edge(start, end, far=far)

    def dis(self) -> dict[object, dict[object, float]]:
        weights: dict[object, dict[object, float]] = {}
        along_tree = dict(nx.all_pairs_dijkstra_path_length(self.tree, weight="far"))
        for start, far in nx.all_pairs_dijkstra_path_length(self.graph, weight="far"):
            weights[start] = {}
            for end, length in far.items():
                best, tree = math.exp(-length), math.exp(-along_tree[start][end])
                weights[start][end] = best if best >= self.cutoff * (1 - 1e-9) else tree
        return weights

    def nodes(self, path: str, lines: Lines) -> list[tuple[tuple[str, int], int]]:
        file = self.files[path]
        first = [file.source[:at].count(b"\n") + 1 for at in file.tree.start]
        last = [file.source[: max(end - 1, at)].count(b"\n") + 1
                for at, end in zip(file.tree.start, file.tree.end, strict=True)]  # fmt: skip
        inside = [lines.first <= a and b <= lines.last for a, b in zip(first, last, strict=True)]
        return [
            ((path, node), int(file.tree.end[node] - file.tree.start[node]))
            for node in range(len(file.tree))
            if inside[node] and file.tree.end[node] > file.tree.start[node]
            if file.tree.parent[node] == NONE or not inside[file.tree.parent[node]]
        ]

    def matrix(self, unit: Unit) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        dis = self.dis()
        covers = [
            self.nodes(path, lines)
            for path, file in self.files.items()
            for lines in cut(file, unit)
        ]
        result = np.zeros((len(covers), len(covers)))
        for i, mine in enumerate(covers):
            for j, theirs in enumerate(covers):
                pairs = [(a, b, m * n) for a, m in mine for b, n in theirs]
                mass = sum(length for _, _, length in pairs)
                if mass:
                    result[i, j] = sum(dis[a][b] * length for a, b, length in pairs) / mass
        return result


@pytest.mark.parametrize("unit", ["windows", "blocks"])
@pytest.mark.parametrize("cutoff", [CUTOFF, LEAST_CUTOFF, 1.0])
def test_the_operator_is_eq_8_over_best_paths(unit: Unit, cutoff: float) -> None:
    expected = Naive(SHOP, cutoff).matrix(unit)
    np.testing.assert_allclose(matrix(relation(SHOP, unit, cutoff)), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "spec",
    ["syntax=0.9, folder=0.2, root=0.7, call=0.6", "syntax=0.6, folder=0.6, root=0.6, call=1"],
)
def test_the_operator_is_eq_8_with_other_weights_of_edges(spec: str) -> None:
    """Where a way through a folder weighs more than the cut-off, that is what counts instead."""
    edges = parse_edges(spec)
    expected = Naive(SHOP, max(CUTOFF, edges.folder**2 * edges.syntax), edges).matrix("windows")
    made = matrix(relation(SHOP, "windows", edges=edges))
    np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(made_up, st.sampled_from(["windows", "blocks"]), st.sampled_from([CUTOFF, LEAST_CUTOFF]))
def test_the_operator_is_eq_8_on_any_repository(texts: Texts, unit: Unit, cutoff: float) -> None:
    expected = Naive(texts, cutoff).matrix(unit)
    np.testing.assert_allclose(
        matrix(relation(texts, unit, cutoff)), expected, rtol=1e-4, atol=1e-6
    )


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(0, 19), min_size=20, max_size=20), st.integers(1, 3))
def test_the_operator_is_eq_8_on_functions_that_windows_cut(called: list[int], body: int) -> None:
    """Here paths cross the module from each function to each other one, and count."""
    texts = {
        "m.py": "".join(
            f"def f{place}():\n" + f"    f{callee}()\n" * body
            for place, callee in enumerate(called)
        )
    }
    expected = Naive(texts, CUTOFF).matrix("windows")
    np.testing.assert_allclose(matrix(relation(texts, "windows")), expected, rtol=1e-4, atol=1e-6)


def test_a_call_relates_a_function_to_the_one_it_calls_in_another_file() -> None:
    texts = {
        "a/x.py": "from b.y import f\nf()\n",
        "b/y.py": "def f():\n    return 1\n",
        "b/z.py": "def g():\n    return 1\n",
    }
    caller, callee, stranger = range(3)
    made = matrix(relation(texts, "blocks"))
    # file - statement - call - definition - file, and file - folder - top - folder - file
    assert made[caller, callee] == pytest.approx(EDGES.syntax**3 * EDGES.call)
    assert made[caller, stranger] == pytest.approx(EDGES.folder**4)


def test_callers_of_a_definition_that_everything_calls_are_not_related_through_it() -> None:
    def repository(callers: int) -> dict[str, str]:
        text = "from q.log import note\nnote()\n" + "x = 1\n" * 29
        made = {f"p{i}/m.py": text for i in range(callers)}
        return made | {"q/log.py": "def note():\n    return 1\n"}

    few = matrix(relation(repository(HUB_CALLS), "windows"))
    many = matrix(relation(repository(HUB_CALLS + 1), "windows"))
    window, same_of_next_file = 0, 3
    share = len("note()") / len("from q.log import note" + "note()" + "x = 1" * 18)
    through_note = EDGES.syntax**2 * (EDGES.call**2 - EDGES.folder**4)
    lost = few[window, same_of_next_file] - many[window, same_of_next_file]
    assert lost == pytest.approx(share**2 * through_note, rel=1e-3)
    assert many[window, -1] == pytest.approx(few[window, -1])


def test_mass_is_what_a_constant_score_propagates_to() -> None:
    operator = relation(SHOP, "windows").operator
    ones = np.ones((len(operator.mass), 2), dtype=np.float32)
    np.testing.assert_allclose(operator.propagate(ones)[:, 1], operator.mass, rtol=1e-6)


def test_a_relation_of_nothing_is_empty() -> None:
    assert len(relation({}, "blocks").operator.mass) == 0
    assert len(relation({"empty.py": ""}, "blocks").operator.mass) == 0
